//! Backups of a site while it is in use: a folder for each, which gets its name when it is complete. How one
//! is restored is in `restore.rs`. No library is loaded meanwhile, because on SQLite the host itself opens the
//! files of extensions.

use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::macros::format_description;

use crate::base::database_url::DatabaseUrl;
use crate::base::databases::Databases;
use crate::base::error::Error;
use crate::base::{moment, private, text};
use crate::database::{Database, Engine, dump, files, sql};
use crate::secrets::Secrets;
use crate::site::erased::ErasedList;
use crate::site::{copy, file_stem, keys, refuse_unfinished_copy};

/// The file that describes a backup. It is written last.
pub(super) const MANIFEST: &str = "backup.json";

/// The end of the name of a folder that is not complete.
const PARTIAL: &str = ".partial";

/// What a backup consists of.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Manifest {
    /// The version of this form.
    pub(super) form: u32,
    /// The version of the program.
    pub(super) version: String,
    pub(super) engine: String,
    /// The extensions of the site, whether or not they have a part of their own.
    pub(super) extensions: Vec<String>,
    /// In the order in which they are restored, that of the host last.
    pub(super) parts: Vec<Part>,
    /// The id of the key that the secrets in it are encrypted with, if there are any. The key is a file of its own, and
    /// there only on request.
    #[serde(default)]
    pub(super) secret_key: Option<String>,
    /// When it was begun.
    #[serde(default)]
    pub(super) begun_on: Option<String>,
    /// How many persons had been erased. The list of them is not in it.
    #[serde(default)]
    pub(super) erased_persons: usize,
}

/// The tables in one file or of one role.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Part {
    /// The extension; `None` for the host, and what extensions keep in its database.
    pub(super) extension: Option<String>,
    /// The schema or database, on a server.
    pub(super) schema: String,
    /// The modules of PostgreSQL that were installed, each with its schema.
    #[serde(default)]
    pub(super) modules: Vec<(String, String)>,
    pub(super) files: Vec<String>,
}

/// The version of the form of a manifest.
pub(super) const FORM: u32 = 1;

/// What was asked of a backup.
pub(crate) struct Wishes<'a> {
    /// The folder in which it gets one of its own.
    pub(crate) folder: &'a Path,
    /// How many of the newest ones remain; all without a number.
    pub(crate) keep: Option<usize>,
    /// Whether it has the key of secrets, too.
    pub(crate) with_key: bool,
}

/// Makes a backup, and returns the path of its folder.
///
/// # Errors
/// When the database contains no site, is not complete or cannot be read, when a file cannot be written,
/// or when another backup into the same folder is in progress. Then no other backup is removed.
pub(crate) async fn backup(
    databases: &Databases,
    secrets: &Secrets,
    Wishes { folder, keep, with_key }: Wishes<'_>,
) -> Result<PathBuf, Error> {
    copy::has_site(databases.host()).await?;
    private::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
    // Held until the end.
    let _lock = lock(folder)?;
    for leftover in named(folder, |name| name.strip_suffix(PARTIAL).is_some_and(is_backup))? {
        remove(&folder.join(leftover))?;
    }
    let name = free_name(folder).await?;
    let partial = folder.join(format!("{name}{PARTIAL}"));
    private::create_dir_all(&partial).map_err(|error| Error::file(&partial, error))?;
    let made = fill(databases, secrets, &partial, with_key)
        .await
        .and_then(|()| complete(folder, &partial, &name));
    if let Err(error) = made {
        // The next backup removes what cannot be removed now.
        let _ = std::fs::remove_dir_all(&partial);
        return Err(error);
    }
    if let Some(keep) = keep {
        remove_old(folder, &name, keep)?;
    }
    Ok(folder.join(name))
}

/// Makes what was written durable, and gives the folder its name.
fn complete(folder: &Path, partial: &Path, name: &str) -> Result<(), Error> {
    for entry in std::fs::read_dir(partial).map_err(|error| Error::file(partial, error))? {
        let path = entry.map_err(|error| Error::file(partial, error))?.path();
        sync(&path)?;
    }
    sync(partial)?;
    let path = folder.join(name);
    std::fs::rename(partial, &path).map_err(|error| Error::file(path, error))?;
    sync(folder)
}

/// Writes what is in a file or folder to the disk.
pub(super) fn sync(path: &Path) -> Result<(), Error> {
    let synced = File::open(path).and_then(|file| file.sync_all());
    synced.map_err(|error| Error::file(path, error))
}

async fn fill(
    databases: &Databases,
    secrets: &Secrets,
    folder: &Path,
    with_key: bool,
) -> Result<(), Error> {
    let begun_on = Some(moment::show(text::now()));
    let database = Database::open(databases.host())?;
    let engine = database.engine();
    let filled = match engine {
        Engine::Sqlite => fill_with_files(&database, databases.host(), folder).await,
        Engine::Postgres | Engine::MySql => fill_with_dumps(&database, databases, folder).await,
    };
    database.close().await;
    let (extensions, parts) = filled?;
    let (version, engine) = (env!("CARGO_PKG_VERSION").to_owned(), name_of(engine).to_owned());
    let secret_key = keys::back_up(secrets, folder, with_key)?;
    let erased_persons = ErasedList::of(databases).read().await?.len();
    let manifest = Manifest {
        form: FORM,
        version,
        engine,
        extensions,
        parts,
        secret_key,
        begun_on,
        erased_persons,
    };
    let path = folder.join(MANIFEST);
    let text = serde_json::to_vec_pretty(&manifest).map_err(std::io::Error::other);
    let written = text.and_then(|text| private::create_new(&path)?.write_all(&text));
    written.map_err(|error| Error::file(path, error))
}

/// The name of an engine in a manifest.
pub(super) fn name_of(engine: Engine) -> &'static str {
    match engine {
        Engine::Sqlite => "sqlite",
        Engine::Postgres => "postgres",
        Engine::MySql => "mysql",
    }
}

/// Copies the files of the host and of its extensions as they are at one moment.
async fn fill_with_files(
    database: &Database,
    url: &DatabaseUrl,
    folder: &Path,
) -> Result<(Vec<String>, Vec<Part>), Error> {
    refuse_unfinished_copy(database, url).await?;
    let statement =
        sql("SELECT name, has_file FROM host_extensions WHERE NOT built_in ORDER BY name");
    let known: Vec<(String, bool)> = database.fetch_all(statement).await?;
    let (mut copies, mut parts, mut extensions) = (Vec::new(), Vec::new(), Vec::new());
    for (name, has_file) in known {
        let file = url.file_of_extension(file_stem(&name));
        match file.filter(|file| has_file || file.exists()) {
            Some(file) if !file.exists() => {
                return Err(Error::MissingFile { extension: name, file });
            }
            Some(file) => {
                let copied = format!("{}.db", file_stem(&name));
                copies.push((file, folder.join(&copied)));
                let (extension, files) = (Some(name.clone()), vec![copied]);
                parts.push(Part { extension, files, ..Part::default() });
            }
            None => {}
        }
        extensions.push(name);
    }
    let host = url.path().unwrap_or(Path::new(""));
    // No extension has a file of this name.
    let copied = folder.join("site.host.db");
    files::copy_files((host, &copied), copies).await?;
    parts.push(Part { files: vec!["site.host.db".to_owned()], ..Part::default() });
    Ok((extensions, parts))
}

/// Dumps the tables of the extensions with a database of their own, and then those of the host, so that
/// these have every user that the others refer to.
async fn fill_with_dumps(
    database: &Database,
    databases: &Databases,
    folder: &Path,
) -> Result<(Vec<String>, Vec<Part>), Error> {
    refuse_unfinished_copy(database, databases.host()).await?;
    let statement =
        sql("SELECT name, own_database FROM host_extensions WHERE NOT built_in ORDER BY name");
    let known: Vec<(String, bool)> = database.fetch_all(statement).await?;
    let extensions: Vec<String> = known.iter().map(|(name, _)| name.clone()).collect();
    let names: Vec<&str> = extensions.iter().map(String::as_str).collect();
    databases.only_of(&names)?;
    let mut parts = Vec::new();
    for (name, _) in known.iter().filter(|(_, own)| *own) {
        let url = databases.own_of(name).ok_or_else(|| databases.not_given(name))?;
        let own = Database::open(url)?;
        let found =
            async { Ok::<_, Error>((dump::schema(&own).await?, dump::modules(&own).await?)) };
        let found = found.await;
        own.close().await;
        let (schema, modules) = found?;
        let files = dump::dump(url, &schema, folder, &format!("extension-{name}")).await?;
        parts.push(Part { extension: Some(name.clone()), schema, modules, files });
    }
    let (schema, modules) = (dump::schema(database).await?, dump::modules(database).await?);
    let files = dump::dump(databases.host(), &schema, folder, "host").await?;
    parts.push(Part { extension: None, schema, modules, files });
    Ok((extensions, parts))
}

fn lock(folder: &Path) -> Result<File, Error> {
    let path = folder.join("backup.lock");
    let file = private::open_lock(&path).map_err(|error| Error::file(&path, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            let folder = folder.display();
            Err(Error::Invalid(format!("another backup into {folder} is in progress")))
        }
        Err(TryLockError::Error(error)) => Err(Error::file(path, error)),
    }
}

/// A name that no backup has, made of the present moment.
async fn free_name(folder: &Path) -> Result<String, Error> {
    let format = format_description!("[year]-[month]-[day]T[hour][minute][second]Z");
    loop {
        let name = text::now().format(format).unwrap_or_default();
        if !folder.join(&name).exists() {
            return Ok(name);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Whether this is the name of a backup, such as `2026-11-03T040000Z`.
fn is_backup(name: &str) -> bool {
    let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
    name.chars().map(digits).eq("0000-00-00T000000Z".chars())
}

/// The names in a folder that are of a kind, in their order.
fn named(folder: &Path, of: impl Fn(&str) -> bool) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| Error::file(folder, error))? {
        let name = entry.map_err(|error| Error::file(folder, error))?.file_name();
        if let Some(name) = name.to_str().filter(|name| of(name)) {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Removes the oldest complete backups, so that so many remain, and never the one that was just made.
fn remove_old(folder: &Path, made: &str, keep: usize) -> Result<(), Error> {
    let complete = |name: &str| is_backup(name) && folder.join(name).join(MANIFEST).is_file();
    let mut names = named(folder, complete)?;
    names.retain(|name| name != made);
    let remaining = names.len().saturating_sub(keep.saturating_sub(1));
    for name in names.into_iter().take(remaining) {
        // A backup that is only half removed is not taken for a complete one.
        let partial = folder.join(format!("{name}{PARTIAL}"));
        let path = folder.join(name);
        std::fs::rename(&path, &partial).map_err(|error| Error::file(path, error))?;
        remove(&partial)?;
    }
    Ok(())
}

fn remove(folder: &Path) -> Result<(), Error> {
    std::fs::remove_dir_all(folder).map_err(|error| Error::file(folder, error))
}
