//! Restoring a backup into a new place. It never replaces anything, and a site that is not completely restored
//! cannot be opened. The extensions are informed, so that clients with a copy of their data start over.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use host_interface::occasion;

use crate::base::database_url::{DatabaseUrl, Kind};
use crate::base::databases::Databases;
use crate::base::error::Error;
use crate::base::settings::MailSettings;
use crate::base::{moment, private, text};
use crate::database::{Connection, Database, Engine, dump, files, sql, transact};
use crate::identity::password_links;
use crate::secrets::Secrets;
use crate::site::backup::{FORM, MANIFEST, Manifest, Part, name_of, sync};
use crate::site::erased::ErasedList;
use crate::site::{Libraries, Loaded, Site, file_stem, keys};
use crate::watch::audit::Actor;

/// The folder in which files become a site before they are moved to their place.
const STAGING: &str = ".restoring";

/// A backup on its way to a new place.
struct Restoration<'a> {
    backup: &'a Path,
    manifest: Manifest,
    databases: &'a Databases,
    secrets: &'a Arc<Secrets>,
    libraries: &'a Libraries,
    actor: Actor,
}

/// Restores a backup into a database that is empty, or to files that do not exist.
///
/// # Errors
/// When the backup is not complete, was made of another kind of database, or contains extensions that are
/// not loaded; when something is there already; when a database or a file fails.
pub(crate) async fn restore(
    backup: &Path,
    databases: &Databases,
    secrets: &Arc<Secrets>,
    libraries: &Libraries,
    actor: Actor,
) -> Result<(), Error> {
    let manifest = read(backup)?;
    let engine = name_of(engine_of(databases.host()));
    if manifest.engine != engine {
        return Err(Error::Invalid(format!(
            "{} is a backup of a site on {}, not {engine}; restore it to such a database, and then \
             copy that",
            backup.display(),
            manifest.engine
        )));
    }
    ErasedList::of(databases).compare(manifest.erased_persons).await?;
    let restoration = Restoration { backup, manifest, databases, secrets, libraries, actor };
    match databases.host().path() {
        Some(file) => restoration.restore_files(file).await?,
        None => restoration.restore_dumps().await?,
    }
    keys::compare(restoration.manifest.secret_key.as_deref(), secrets)
}

impl Restoration<'_> {
    /// Loads the libraries, which have to be those of all extensions in the backup, for a site with these databases.
    fn load(&self, databases: &Databases) -> Result<Loaded, Error> {
        let loaded = Site::load(databases, self.libraries, &MailSettings::default())?;
        if let Some(name) = self.manifest.extensions.iter().find(|name| !loaded.has(name)) {
            return Err(Error::Invalid(format!(
                "the site has the extension {name}, which is not loaded; name its library with --plugin"
            )));
        }
        // The key, and the list of those who were erased since the backup, are at the new place, also while the files
        // are not.
        let begun_on = self.manifest.begun_on.as_deref().and_then(moment::parse);
        let erased = ErasedList::of(self.databases).restored_from(begun_on);
        Ok(loaded.on_behalf_of(self.actor.clone()).secrets(self.secrets).erased(erased))
    }

    /// The site is opened in a folder of its own and then moved, the file of the host last: without that one
    /// there is no site.
    async fn restore_files(&self, host: &Path) -> Result<(), Error> {
        let folder = host.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        private::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
        let staging = folder.join(STAGING);
        let place = |part: &Part| match &part.extension {
            Some(name) => PathBuf::from(format!("{}.db", file_stem(name))),
            None => PathBuf::from(host.file_name().unwrap_or_default()),
        };
        let taken = self.manifest.parts.iter().flat_map(|part| beside(&folder.join(place(part))));
        if let Some(taken) = taken.into_iter().find(|path| path.exists()) {
            return Err(Error::Invalid(format!(
                "{} exists; move the files of the site that was there away, or restore into another \
                 folder",
                taken.display()
            )));
        }
        for file in self.manifest.parts.iter().flat_map(|part| &part.files) {
            files::check(&self.backup.join(file)).await?;
        }
        if staging.exists() {
            std::fs::remove_dir_all(&staging).map_err(|error| Error::file(&staging, error))?;
        }
        private::create_dir_all(&staging).map_err(|error| Error::file(&staging, error))?;
        let restored = async {
            let loaded = self.load(&self.databases.clone().moved_to(&staging))?;
            keys::restore(self.backup, self.secrets)?;
            for part in &self.manifest.parts {
                for file in &part.files {
                    copy(&self.backup.join(file), &staging.join(place(part)))?;
                }
            }
            note(loaded, self.actor.clone()).await?;
            for part in &self.manifest.parts {
                // The log of a file first: with the file alone there would be an incomplete site.
                for from in beside(&staging.join(place(part))).into_iter().rev() {
                    if from.exists() && !from.as_os_str().to_string_lossy().ends_with("-shm") {
                        sync(&from)?;
                        let to = folder.join(from.file_name().unwrap_or_default());
                        std::fs::rename(&from, &to).map_err(|error| Error::file(to, error))?;
                    }
                }
            }
            sync(folder)
        }
        .await;
        // The next attempt removes what cannot be removed now.
        let _ = std::fs::remove_dir_all(&staging);
        restored
    }

    async fn restore_dumps(&self) -> Result<(), Error> {
        let Self { backup, manifest, databases, .. } = self;
        let loaded = self.load(databases)?;
        let mut parts = Vec::new();
        for part in &manifest.parts {
            let url = match &part.extension {
                Some(name) => databases.own_of(name).ok_or_else(|| databases.not_given(name))?,
                None => databases.host(),
            };
            ensure_empty(url, part).await?;
            parts.push((url, part));
        }
        let has_part =
            |name: &str| parts.iter().any(|(_, part)| part.extension.as_deref() == Some(name));
        let own = |name: &&String| databases.has_own(name) && !has_part(name);
        if let Some(name) = manifest.extensions.iter().find(own) {
            return Err(Error::Invalid(format!(
                "{name} had no database of its own when the backup was made; restore it without one, and \
                 then copy the site"
            )));
        }
        keys::restore(backup, self.secrets)?;
        for (url, part) in parts {
            dump::restore(url, &part.schema, &part.modules, backup, &part.files).await?;
        }
        note(loaded, self.actor.clone()).await
    }
}

fn engine_of(url: &DatabaseUrl) -> Engine {
    match url.kind() {
        Kind::File(_) => Engine::Sqlite,
        Kind::Postgres(_) => Engine::Postgres,
        Kind::MySql(_) => Engine::MySql,
    }
}

fn read(backup: &Path) -> Result<Manifest, Error> {
    let path = backup.join(MANIFEST);
    let text = std::fs::read(&path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::Invalid(format!(
            "{} is not a backup: it has no {MANIFEST}; name the folder that `backup` has printed",
            backup.display()
        )),
        _ => Error::file(&path, error),
    })?;
    let is_partial = backup.extension().is_some_and(|end| end == "partial");
    let manifest: Option<Manifest> = serde_json::from_slice(&text).ok();
    let manifest = manifest.filter(|manifest| manifest.form == FORM && !is_partial);
    manifest.ok_or_else(|| {
        Error::Invalid(format!("{} is not a complete backup of this program", backup.display()))
    })
}

/// Records in the restored site that it was restored, and lets its extensions know.
async fn note(loaded: Loaded, actor: Actor) -> Result<(), Error> {
    let site = loaded.open().await?;
    let noted = async {
        let site = site.on_behalf_of(actor);
        transact!(site.state().database(), |transaction| {
            // Some have been used since the backup.
            password_links::end_all(transaction).await?;
            end_sessions(transaction).await?;
            site.record(transaction, "", "", "restore a backup").await
        })?;
        // Once for all extensions: whatever they do then finds nobody.
        site.erase_again().await?;
        site.run_on(occasion::RESTORED, || ()).await
    };
    let noted = noted.await;
    site.close().await;
    noted
}

/// Ends all sessions, and the trust in all browsers. Some of them have been ended since the backup, which does not know
/// which.
async fn end_sessions(transaction: &mut Connection) -> Result<(), Error> {
    transaction.execute(sql("DELETE FROM host_sessions")).await?;
    // Sessions of a user have ended less often than there are seconds since 1970, and another restore has another
    // moment.
    let seconds = text::now().assume_utc().unix_timestamp();
    let statement = sql("UPDATE host_second_factors SET epoch = epoch + ?");
    transaction.execute(statement.bind(seconds)).await?;
    Ok(())
}

/// The files of a SQLite database, that of the tables first.
fn beside(file: &Path) -> Vec<PathBuf> {
    let with = |end: &&str| {
        let mut name = OsString::from(file);
        name.push(end);
        PathBuf::from(name)
    };
    ["", "-shm", "-wal", "-journal"].iter().map(with).collect()
}

fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    let mut source = std::fs::File::open(from).map_err(|error| Error::file(from, error))?;
    let copied = private::create_new(to).and_then(|mut new| std::io::copy(&mut source, &mut new));
    copied.map(drop).map_err(|error| Error::file(to, error))
}

/// Fails if there are tables, or if the tables would be in another schema of PostgreSQL than they were.
async fn ensure_empty(url: &DatabaseUrl, part: &Part) -> Result<(), Error> {
    let database = Database::open(url)?;
    let found =
        async { Ok::<_, Error>((dump::schema(&database).await?, dump::tables(&database).await?)) };
    let found = found.await;
    let engine = database.engine();
    database.close().await;
    let (schema, tables) = found?;
    if !tables.is_empty() {
        return Err(Error::Invalid(format!("{url} contains tables; restore to an empty database")));
    }
    if name_of(engine) == "postgres" && schema != part.schema {
        return Err(Error::Invalid(format!(
            "the tables were in the schema {}, but those of {url} are in {schema}",
            part.schema
        )));
    }
    Ok(())
}
