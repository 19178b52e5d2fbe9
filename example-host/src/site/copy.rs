//! Copying a site to another database: the host's tables, and through the contract those of each
//! extension. The new database is marked until the copy is complete, so that an incomplete site is
//! never served and a new attempt starts over.

use std::path::PathBuf;
use std::sync::Arc;

use host_interface::{Environment, Progress};

use crate::base::database_url::DatabaseUrl;
use crate::base::databases::Databases;
use crate::base::error::Error;
use crate::base::secret_key::SecretKey;
use crate::base::settings::MailSettings;
use crate::database::{Connection, Database, Table, sql, transact};
use crate::extensions::{jobs, registry};
use crate::site::erased::ErasedList;
use crate::site::{self, Libraries, Site, claims, keys};
use crate::watch::audit::{self, Actor};

/// The tables that are copied as they are, those that others refer to first.
const TABLES: [Table; 15] = [
    Table { rows: Some("users"), ..table("host_users", &["id"]) },
    Table { parent: Some("parent_id"), rows: Some("groups"), ..table("host_groups", &["id"]) },
    Table { rows: Some("memberships"), ..table("host_user_groups", &["user_id", "group_id"]) },
    Table { parent: Some("parent_id"), rows: Some("assets"), ..table("host_assets", &["id"]) },
    Table { rows: Some("rules"), ..table("host_rules", &["asset_id", "group_id", "action"]) },
    table("host_second_factors", &["user_id"]),
    table("host_recovery_codes", &["hash"]),
    table("host_second_factor_groups", &["group_id"]),
    table("host_password_links", &["hash"]),
    Table { rows: Some("tokens"), ..table("host_api_tokens", &["id"]) },
    table("host_api_token_secrets", &["hash"]),
    table("host_api_token_uses", &["token_id"]),
    Table { rows: Some("extensions"), ..table("host_extensions", &["name"]) },
    Table { rows: Some("parameters"), ..table("host_parameters", &["extension", "name"]) },
    table("host_jobs", &["extension", "name"]),
];

/// The tables that are emptied only. Users sign in again, and what was asked for in the last hour does not count
/// towards limits.
const EMPTIED: [Table; 4] = [
    table("host_sessions", &["hash"]),
    table("host_sign_in_failures", &["kind", "hash"]),
    table("host_password_requests", &["kind", "hash", "asked_on"]),
    table("host_api_token_rates", &["token_id", "minute"]),
];

/// The trail, whose entries are copied with their chains.
const TRAIL: [Table; 3] = [
    Table { rows: Some("changes"), ..table("host_audit", &["id"]) },
    table("host_audit_chain", &["id"]),
    table("host_audit_lasting_chain", &["id"]),
];

/// The tables that give their rows keys which must not be given again.
const NUMBERED: [&str; 4] = ["host_groups", "host_users", "host_assets", "host_api_tokens"];

const fn table(name: &'static str, key: &'static [&'static str]) -> Table {
    Table { name, key, parent: None, rows: None }
}

/// Copies a site with the data of its extensions to another database, which must be new or contain
/// an unfinished copy. Returns a summary: a line for the host and one for each extension. Nothing
/// may write to the site during the copy.
///
/// # Errors
/// When there is no site, or the new database contains another one; when an extension of the site
/// is not among the plugins, or cannot copy its data; when the counts differ after the copy, or a
/// database fails. The new database then cannot be served.
pub async fn copy<P: Progress>(
    from: &DatabaseUrl,
    to: &DatabaseUrl,
    plugins: &[PathBuf],
    progress: impl FnMut() -> P,
) -> Result<Vec<String>, Error> {
    let [from, to] = [from, to].map(|url| Databases::new(url.clone()));
    let libraries = Libraries::Named(plugins.to_vec());
    copy_on_behalf_of(None, (&from, &to), None, &libraries, progress).await
}

/// Copies a site on behalf of an actor, who is recorded in the audit trail of the copy, and with the key of secrets
/// that both sites have in their environment, if any.
pub(crate) async fn copy_on_behalf_of<P: Progress>(
    actor: Option<Actor>,
    (from, to): (&Databases, &Databases),
    key: Option<SecretKey>,
    libraries: &Libraries,
    mut progress: impl FnMut() -> P,
) -> Result<Vec<String>, Error> {
    let host = from.host();
    if host.is_same(to.host()) {
        return Err(Error::Invalid(format!("{host} cannot be copied to itself")));
    }
    has_site(host).await?;
    let secrets = Arc::new(keys::secrets(from, key.clone()));
    let loaded = Site::load(from, libraries, &MailSettings::default())?.secrets(&secrets);
    let site = loaded.open().await?;
    let source = match actor {
        Some(actor) => site.on_behalf_of(actor),
        None => site,
    };
    let copied = copy_site(&source, from, to, &mut progress).await;
    source.close().await;
    let copied = copied?;
    keys::compare(secrets.key_id()?, &keys::secrets(to, key))?;
    // A backup of the first site may be restored at the place of the second one.
    ErasedList::of(to).add_all_of(&ErasedList::of(from)).await?;
    Ok(copied)
}

/// Fails if the database contains no site; opening it would create one.
pub(super) async fn has_site(url: &DatabaseUrl) -> Result<(), Error> {
    if let Some(path) = url.path() {
        std::fs::metadata(path).map_err(|error| Error::file(path, error))?;
    }
    let database = Database::open(url)?;
    let found: Result<(i64,), Error> =
        database.fetch_one(sql("SELECT revision FROM host_state")).await;
    database.close().await;
    match found {
        Ok(_) => Ok(()),
        Err(Error::Database(error)) if is_missing_table(&error) => {
            Err(Error::Invalid(format!("{url} contains no site")))
        }
        Err(error) => Err(error),
    }
}

/// Whether a database error means that a table is missing. SQLite has no error code for only this
/// case.
fn is_missing_table(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    let code = error.and_then(|error| error.code());
    match code.as_deref() {
        Some("42P01" | "42S02") => true,
        Some("1") => error.is_some_and(|error| error.message().starts_with("no such table")),
        _ => false,
    }
}

async fn copy_site<P: Progress>(
    source: &Site,
    from: &Databases,
    to: &Databases,
    progress: &mut impl FnMut() -> P,
) -> Result<Vec<String>, Error> {
    source.all_served()?;
    every_extension_is_loaded(source).await?;
    let names: Vec<&str> = source.plugins().map(|(of, _)| of.name.as_str()).collect();
    to.only_of(&names)?;
    for name in names {
        to.of_extension(name, site::file_stem(name))?;
        if from.is_same(to, name) {
            let why = format!("the tables of {name} cannot be copied to themselves");
            return Err(Error::Invalid(why));
        }
    }
    let target = Database::open(to.host())?;
    // Held until the end, so that no other process serves the new site or copies into it.
    let start = target.start(to.host()).await?;
    let copied = copy_into(&target, source, from, to, progress).await;
    start.end().await;
    target.close().await;
    copied
}

async fn copy_into<P: Progress>(
    target: &Database,
    source: &Site,
    from: &Databases,
    to: &Databases,
    progress: &mut impl FnMut() -> P,
) -> Result<Vec<String>, Error> {
    let names = || source.plugins().map(|(description, _)| description.name.as_str());
    claim(target, to.host(), names()).await?;
    let own: Vec<&DatabaseUrl> = names().filter_map(|name| to.own_of(name)).collect();
    claims::claim(&own).await?;

    let mut lines = vec![copy_host(source.state().database(), target, to, &progress()).await?];
    for (description, plugin) in source.plugins() {
        let stem = site::file_stem(&description.name);
        let (url, _) = to.of_extension(&description.name, stem)?;
        let environment = Environment::new(url).base_path(site::BASE_PATH);
        let line = plugin.copy(environment, progress()).await.map_err(|source| Error::Plugin {
            plugin: description.name.clone(),
            step: "copy",
            source,
        })?;
        if line.is_empty() {
            keeps_nothing(&description.name, from.host().file_of_extension(stem))?;
        } else {
            lines.push(line);
        }
    }
    claims::release(&own).await?;
    let what = format!("copy the site from {}", from.host());
    let files = site::with_files(to.host(), names());
    transact!(target, |transaction| {
        registry::note_files(transaction, &files).await?;
        transaction.execute(sql("UPDATE host_state SET copying = FALSE")).await?;
        source.record(transaction, "", "", &what).await
    })?;
    Ok(lines)
}

/// Fails if an extension that has copied nothing has tables in a file of its own: its author has forgotten
/// them. On a server, where all extensions share a database, this does not show.
fn keeps_nothing(extension: &str, file: Option<PathBuf>) -> Result<(), Error> {
    let has_tables = |file: &PathBuf| file.metadata().is_ok_and(|file| file.len() > 0);
    match file.filter(has_tables) {
        Some(file) => Err(Error::Invalid(format!(
            "{extension} keeps tables in {}, but cannot copy them",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Fails if an extension of the site is not loaded, because only the extension can copy its data.
async fn every_extension_is_loaded(source: &Site) -> Result<(), Error> {
    let statement = sql("SELECT name FROM host_extensions WHERE NOT built_in ORDER BY name");
    let known: Vec<(String,)> = source.state().database().fetch_all(statement).await?;
    let loaded = |name: &str| source.plugins().any(|(description, _)| description.name == name);
    match known.into_iter().find(|(name,)| !loaded(name)) {
        Some((name,)) => Err(Error::Invalid(format!(
            "the site has the extension {name}, which is not loaded; name its library with \
             --plugin, so that its data is copied too"
        ))),
        None => Ok(()),
    }
}

/// Marks a database as the target of a copy. It is refused if it contains a site, or if the files
/// for the tables of the extensions exist beside it: they belong to another site, which may be the
/// source.
async fn claim(
    target: &Database,
    to: &DatabaseUrl,
    extensions: impl Iterator<Item = &str>,
) -> Result<(), Error> {
    let file = |name| to.file_of_extension(site::file_stem(name));
    let taken = extensions.filter_map(file).find(|file| file.exists());
    transact!(target, |transaction| {
        let (copying,): (bool,) =
            transaction.fetch_one(sql("SELECT copying FROM host_state")).await?;
        // Every installed site has at least the built-in extensions.
        let found: Option<(String,)> =
            transaction.fetch_optional(sql("SELECT name FROM host_extensions LIMIT 1")).await?;
        if found.is_some() && !copying {
            return Err(Error::Invalid(format!(
                "{to} already contains a site; copy to a new database"
            )));
        }
        if let Some(file) = taken.as_ref().filter(|_| !copying) {
            return Err(Error::Invalid(format!(
                "{} exists and may belong to another site; copy to an empty folder",
                file.display()
            )));
        }
        transaction.execute(sql("UPDATE host_state SET copying = TRUE")).await?;
        Ok(())
    })
}

/// Copies the host's own tables in one transaction, and returns how many rows they have.
async fn copy_host(
    source: &Database,
    target: &Database,
    databases: &Databases,
    progress: &impl Progress,
) -> Result<String, Error> {
    let counted = transact!(target, |to| {
        let mut from = source.begin_read().await?;
        for table in TRAIL.iter().chain(&EMPTIED).chain(TABLES.iter().rev()) {
            table.empty(to).await?;
        }
        for table in TABLES {
            table.copy(&mut from, to, progress).await?;
        }
        put_own_databases(to, databases).await?;
        jobs::wake_interrupted(to).await?;
        audit::copy(&mut from, to).await?;
        copy_state(&mut from, to).await?;
        let counted = compare(&mut from, to).await?;
        from.commit().await?;
        Ok::<_, Error>(counted)
    })?;
    let mut from = source.begin_read().await?;
    for table in TABLES.iter().filter(|table| NUMBERED.contains(&table.name)) {
        table.keep_keys(&mut from, target).await?;
    }
    from.commit().await?;
    Ok(counted)
}

/// Notes which extensions have a database of their own at the new place.
async fn put_own_databases(to: &mut Connection, databases: &Databases) -> Result<(), Error> {
    let known: Vec<(String,)> = to.fetch_all(sql("SELECT name FROM host_extensions")).await?;
    for (name,) in known {
        let statement = sql("UPDATE host_extensions SET own_database = ? WHERE name = ?");
        to.execute(statement.bind(databases.has_own(&name)).bind(name)).await?;
    }
    Ok(())
}

async fn copy_state(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    let statement = sql("SELECT revision, demo_filled, quick_start_finished FROM host_state");
    let (revision, filled, finished): (i64, bool, bool) = from.fetch_one(statement).await?;
    let statement = sql("UPDATE host_state \
         SET revision = ?, demo_filled = ?, quick_start_finished = ?");
    to.execute(statement.bind(revision).bind(filled).bind(finished)).await?;
    Ok(())
}

/// Compares the counts of both databases, and returns them as text.
async fn compare(from: &mut Connection, to: &mut Connection) -> Result<String, Error> {
    let mut counted = Vec::new();
    for table in TABLES.iter().chain(&TRAIL) {
        let Some(rows) = table.rows else { continue };
        let (here, there) = (table.count(from).await?, table.count(to).await?);
        if here != there {
            return Err(Error::Invalid(format!(
                "the copy has {there} {rows} instead of {here}; copy again while nothing writes \
                 to the site"
            )));
        }
        counted.push(format!("{here} {rows}"));
    }
    Ok(counted.join(", "))
}
