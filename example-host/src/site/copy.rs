//! Copying a site to another database: the host's tables, and through the contract those of each
//! extension. The new database is marked until the copy is complete, so that an incomplete site is
//! never served and a new attempt starts over.

use std::path::PathBuf;

use host_interface::{Environment, Progress};
use time::PrimitiveDateTime;

use crate::base::database_url::DatabaseUrl;
use crate::base::databases::Databases;
use crate::base::error::Error;
use crate::base::settings::MailSettings;
use crate::base::text;
use crate::database::{Connection, Database, Engine, sql, transact};
use crate::extensions::{jobs, registry};
use crate::site::{self, Libraries, Site, claims};
use crate::watch::audit::{self, Actor};

/// How many users are read at a time.
const PAGE: i64 = 500;

/// The counts that are compared after the copy.
const COUNTED: [(&str, &str); 9] = [
    ("users", "SELECT count(*) FROM host_users"),
    ("groups", "SELECT count(*) FROM host_groups"),
    ("memberships", "SELECT count(*) FROM host_user_groups"),
    ("assets", "SELECT count(*) FROM host_assets"),
    ("rules", "SELECT count(*) FROM host_rules"),
    ("tokens", "SELECT count(*) FROM host_api_tokens"),
    ("extensions", "SELECT count(*) FROM host_extensions"),
    ("parameters", "SELECT count(*) FROM host_parameters"),
    ("changes", "SELECT count(*) FROM host_audit"),
];

/// The statements that empty a database, referring rows first. Some engines do not allow a table
/// that refers to itself to be emptied, so those references are removed before.
const EMPTY: [&str; 19] = [
    "DELETE FROM host_audit",
    "DELETE FROM host_audit_chain",
    "DELETE FROM host_audit_lasting_chain",
    "DELETE FROM host_parameters",
    "DELETE FROM host_jobs",
    "DELETE FROM host_extensions",
    "DELETE FROM host_sessions",
    "DELETE FROM host_sign_in_failures",
    "DELETE FROM host_api_token_uses",
    "DELETE FROM host_api_token_rates",
    "DELETE FROM host_api_token_secrets",
    "DELETE FROM host_api_tokens",
    "DELETE FROM host_rules",
    "DELETE FROM host_user_groups",
    "DELETE FROM host_users",
    "UPDATE host_assets SET parent_id = NULL",
    "DELETE FROM host_assets",
    "UPDATE host_groups SET parent_id = NULL",
    "DELETE FROM host_groups",
];

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
    copy_on_behalf_of(None, &from, &to, &Libraries::Named(plugins.to_vec()), progress).await
}

/// The same on behalf of an actor, who is recorded in the audit trail of the copy.
pub(crate) async fn copy_on_behalf_of<P: Progress>(
    actor: Option<Actor>,
    from: &Databases,
    to: &Databases,
    libraries: &Libraries,
    mut progress: impl FnMut() -> P,
) -> Result<Vec<String>, Error> {
    let host = from.host();
    if host.is_same(to.host()) {
        return Err(Error::Invalid(format!("{host} cannot be copied to itself")));
    }
    has_site(host).await?;
    let site = Site::load(from, libraries, &MailSettings::default())?.open().await?;
    let source = match actor {
        Some(actor) => site.on_behalf_of(actor),
        None => site,
    };
    let copied = copy_site(&source, from, to, &mut progress).await;
    source.close().await;
    copied
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

/// Copies the host's own tables in one transaction.
async fn copy_host(
    source: &Database,
    target: &Database,
    databases: &Databases,
    progress: &impl Progress,
) -> Result<String, Error> {
    transact!(target, |to| {
        let mut from = source.begin_read().await?;
        for statement in EMPTY {
            to.execute(sql(statement)).await?;
        }
        copy_groups(&mut from, to).await?;
        copy_users(&mut from, to, progress).await?;
        copy_tokens(&mut from, to).await?;
        copy_assets(&mut from, to).await?;
        copy_extensions(&mut from, to, databases).await?;
        jobs::copy(&mut from, to).await?;
        audit::copy(&mut from, to).await?;
        copy_state(&mut from, to).await?;
        let counted = compare(&mut from, to).await?;
        from.commit().await?;
        Ok(counted)
    })
}

/// Groups may refer to groups with higher keys, so all are inserted before their parents are set.
async fn copy_groups(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    type Group = (i64, String, String, Option<i64>);
    let statement = sql("SELECT id, title, title_fold, parent_id FROM host_groups ORDER BY id");
    let groups: Vec<Group> = from.fetch_all(statement).await?;
    for (id, title, fold, _) in &groups {
        let statement = sql("INSERT INTO host_groups (id, title, title_fold) VALUES (?, ?, ?)");
        to.execute(statement.bind(*id).bind(title.as_str()).bind(fold.as_str())).await?;
    }
    let last = groups.last().map_or(0, |(id, ..)| *id);
    for (id, _, _, parent) in groups {
        let statement = sql("UPDATE host_groups SET parent_id = ? WHERE id = ?");
        to.execute(statement.bind(parent).bind(id)).await?;
    }
    let highest = highest(from, "host_groups").await?.max(last);
    if highest > last && to.engine() != Engine::Postgres {
        let statement = sql("INSERT INTO host_groups (id, title, title_fold) VALUES (?, '', '')");
        to.execute(statement.bind(highest)).await?;
        to.execute(sql("DELETE FROM host_groups WHERE id = ?").bind(highest)).await?;
    }
    keep_above(to, "SELECT setval('host_groups_id_seq', ?, TRUE)", highest).await
}

/// Users with their groups, a page at a time. Sessions are not copied, so users sign in
/// again.
async fn copy_users(
    from: &mut Connection,
    to: &mut Connection,
    progress: &impl Progress,
) -> Result<(), Error> {
    type User = (
        i64,
        String,
        String,
        String,
        String,
        String,
        String,
        Option<String>,
        bool,
        PrimitiveDateTime,
    );
    let (total,): (i64,) = from.fetch_one(sql("SELECT count(*) FROM host_users")).await?;
    let (mut done, mut last) = (0, 0);
    loop {
        let statement = sql("SELECT id, username, username_fold, name, email, email_fold, \
             search_fold, password_hash, blocked, created_on FROM host_users \
             WHERE id > ? ORDER BY id LIMIT ?");
        let page: Vec<User> = from.fetch_all(statement.bind(last).bind(PAGE)).await?;
        let Some(end) = page.last().map(|(id, ..)| *id) else { break };
        done += page.len() as u64;
        for (id, username, fold, name, email, email_fold, search, password, blocked, created) in
            page
        {
            let statement =
                sql("INSERT INTO host_users (id, username, username_fold, name, email, \
                 email_fold, search_fold, password_hash, blocked, created_on) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
            let statement = statement.bind(id).bind(username).bind(fold).bind(name).bind(email);
            let statement = statement.bind(email_fold).bind(search).bind(password);
            let statement = statement.bind(blocked).bind(created);
            to.execute(statement).await?;
        }
        let statement = sql("SELECT user_id, group_id FROM host_user_groups \
             WHERE user_id > ? AND user_id <= ?");
        let memberships: Vec<(i64, i64)> = from.fetch_all(statement.bind(last).bind(end)).await?;
        for (user, group) in memberships {
            let statement = sql("INSERT INTO host_user_groups (user_id, group_id) VALUES (?, ?)");
            to.execute(statement.bind(user).bind(group)).await?;
        }
        last = end;
        progress.report("users", done, total.unsigned_abs());
    }
    let highest = highest(from, "host_users").await?.max(last);
    if highest > last && to.engine() != Engine::Postgres {
        // Inserting and deleting a row advances the counter for keys.
        let statement = sql("INSERT INTO host_users \
             (id, username, username_fold, name, email, email_fold, created_on) \
             VALUES (?, '', '', '', '', '', ?)");
        to.execute(statement.bind(highest).bind(text::now())).await?;
        to.execute(sql("DELETE FROM host_users WHERE id = ?").bind(highest)).await?;
    }
    keep_above(to, "SELECT setval('host_users_id_seq', ?, TRUE)", highest).await
}

/// API tokens with their secrets and last uses, a page at a time. The requests of the last minutes, which
/// count towards rates, are not copied.
async fn copy_tokens(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    type Token = (
        i64,
        i64,
        String,
        String,
        Option<String>,
        Option<String>,
        Option<i64>,
        PrimitiveDateTime,
        Option<PrimitiveDateTime>,
        i64,
    );
    let mut last = 0;
    loop {
        let statement = sql("SELECT id, user_id, name, name_fold, scopes, addresses, rate, \
             created_on, expires_on, reminded FROM host_api_tokens \
             WHERE id > ? ORDER BY id LIMIT ?");
        let page: Vec<Token> = from.fetch_all(statement.bind(last).bind(PAGE)).await?;
        let Some(end) = page.last().map(|(id, ..)| *id) else { break };
        for (id, user, name, fold, scopes, addresses, rate, created, expires, reminded) in page {
            let statement = sql("INSERT INTO host_api_tokens (id, user_id, name, name_fold, \
                 scopes, addresses, rate, created_on, expires_on, reminded) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
            let statement = statement.bind(id).bind(user).bind(name).bind(fold).bind(scopes);
            let statement = statement.bind(addresses).bind(rate).bind(created).bind(expires);
            to.execute(statement.bind(reminded)).await?;
        }
        let statement = sql("SELECT hash, token_id, ends_on FROM host_api_token_secrets \
             WHERE token_id > ? AND token_id <= ?");
        let secrets: Vec<(Vec<u8>, i64, Option<PrimitiveDateTime>)> =
            from.fetch_all(statement.bind(last).bind(end)).await?;
        for (hash, token, ends) in secrets {
            let statement = sql("INSERT INTO host_api_token_secrets (hash, token_id, ends_on) \
                 VALUES (?, ?, ?)");
            to.execute(statement.bind(hash.as_slice()).bind(token).bind(ends)).await?;
        }
        let statement = sql("SELECT token_id, used_on, address FROM host_api_token_uses \
             WHERE token_id > ? AND token_id <= ?");
        let uses: Vec<(i64, PrimitiveDateTime, Option<String>)> =
            from.fetch_all(statement.bind(last).bind(end)).await?;
        for (token, used, address) in uses {
            let statement = sql("INSERT INTO host_api_token_uses (token_id, used_on, address) \
                 VALUES (?, ?, ?)");
            to.execute(statement.bind(token).bind(used).bind(address)).await?;
        }
        last = end;
    }
    let highest = highest(from, "host_api_tokens").await?.max(last);
    if highest > last && to.engine() != Engine::Postgres {
        let statement = sql("INSERT INTO host_api_tokens (id, user_id, name, name_fold, \
             created_on) SELECT ?, id, '', '', created_on FROM host_users LIMIT 1");
        to.execute(statement.bind(highest)).await?;
        to.execute(sql("DELETE FROM host_api_tokens WHERE id = ?").bind(highest)).await?;
    }
    keep_above(to, "SELECT setval('host_api_tokens_id_seq', ?, TRUE)", highest).await
}

/// The highest key that was ever given to a row of a table.
async fn highest(connection: &mut Connection, table: &'static str) -> Result<i64, Error> {
    let statement = match (connection.engine(), table) {
        (Engine::Sqlite, _) => sql("SELECT seq FROM sqlite_sequence WHERE name = ?").bind(table),
        (Engine::Postgres, "host_users") => {
            sql("SELECT last_value FROM host_users_id_seq WHERE is_called")
        }
        (Engine::Postgres, "host_api_tokens") => {
            sql("SELECT last_value FROM host_api_tokens_id_seq WHERE is_called")
        }
        (Engine::Postgres, _) => sql("SELECT last_value FROM host_groups_id_seq WHERE is_called"),
        (Engine::MySql, _) => {
            sql("SELECT CAST(AUTO_INCREMENT AS SIGNED) - 1 FROM information_schema.tables \
             WHERE table_schema = DATABASE() AND table_name = ? AND AUTO_INCREMENT IS NOT NULL")
            .bind(table)
        }
    };
    let highest: Option<(i64,)> = connection.fetch_optional(statement).await?;
    Ok(highest.map_or(0, |(highest,)| highest))
}

/// Makes PostgreSQL give new rows only keys that were never used. The other engines do this by
/// themselves when rows with such keys are inserted.
async fn keep_above(
    to: &mut Connection,
    statement: &'static str,
    highest: i64,
) -> Result<(), Error> {
    if to.engine() == Engine::Postgres && highest > 0 {
        let _: (i64,) = to.fetch_one(sql(statement).bind(highest)).await?;
    }
    Ok(())
}

/// Assets with the rules about them.
async fn copy_assets(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    let statement = sql("SELECT id, name, title, parent_id FROM host_assets ORDER BY id");
    let assets: Vec<(i64, String, String, Option<i64>)> = from.fetch_all(statement).await?;
    for (id, name, title, _) in &assets {
        let statement = sql("INSERT INTO host_assets (id, name, title) VALUES (?, ?, ?)");
        to.execute(statement.bind(*id).bind(name.as_str()).bind(title.as_str())).await?;
    }
    for (id, _, _, parent) in assets {
        let statement = sql("UPDATE host_assets SET parent_id = ? WHERE id = ?");
        to.execute(statement.bind(parent).bind(id)).await?;
    }
    if to.engine() == Engine::Postgres {
        let assets = "SELECT setval('host_assets_id_seq', max(id)) FROM host_assets";
        let _: (i64,) = to.fetch_one(sql(assets)).await?;
    }
    let statement = sql("SELECT asset_id, group_id, action, allowed FROM host_rules");
    let rules: Vec<(i64, i64, String, bool)> = from.fetch_all(statement).await?;
    for (asset, group, action, allowed) in rules {
        crate::identity::acl::insert_rule(to, asset, group, &action, allowed).await?;
    }
    Ok(())
}

/// Extensions with their parameters.
async fn copy_extensions(
    from: &mut Connection,
    to: &mut Connection,
    databases: &Databases,
) -> Result<(), Error> {
    let statement = sql("SELECT name, version, enabled, built_in FROM host_extensions");
    let extensions: Vec<(String, String, bool, bool)> = from.fetch_all(statement).await?;
    for (name, version, enabled, built_in) in extensions {
        let own = databases.has_own(&name);
        let statement =
            sql("INSERT INTO host_extensions (name, version, enabled, built_in, own_database) \
             VALUES (?, ?, ?, ?, ?)");
        let statement = statement.bind(name).bind(version).bind(enabled).bind(built_in);
        to.execute(statement.bind(own)).await?;
    }
    let statement = sql("SELECT extension, name, value FROM host_parameters");
    let parameters: Vec<(String, String, String)> = from.fetch_all(statement).await?;
    for (extension, name, value) in parameters {
        let statement =
            sql("INSERT INTO host_parameters (extension, name, value) VALUES (?, ?, ?)");
        to.execute(statement.bind(extension).bind(name).bind(value)).await?;
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
    for (what, statement) in COUNTED {
        let (here,): (i64,) = from.fetch_one(sql(statement)).await?;
        let (there,): (i64,) = to.fetch_one(sql(statement)).await?;
        if here != there {
            return Err(Error::Invalid(format!(
                "the copy has {there} {what} instead of {here}; copy again while nothing writes \
                 to the site"
            )));
        }
        counted.push(format!("{here} {what}"));
    }
    Ok(counted.join(", "))
}
