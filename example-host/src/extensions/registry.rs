//! The extensions of the site, whether they are enabled, and their registration, which creates
//! their assets and jobs and, the first time, the rules that they suggest.

use std::collections::HashMap;
use std::path::Path;

use host_interface::{Asset, Description};

use crate::base::error::Error;
use crate::database::{Connection, Database, row, select, sql};
use crate::extensions::jobs;
use crate::identity::acl::{self, ROOT};
use crate::identity::groups;

/// The built-in extension that identifies users by their tokens.
pub const TOKEN_AUTH: &str = "token-auth";

row! {
    /// An extension as administrators see it.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct ExtensionEntry {
        /// Its name.
        pub name: String,
        /// Its version.
        pub version: String,
        /// Whether it is enabled.
        pub enabled: bool,
        /// Whether it is part of the host, so that no library is loaded for it.
        pub built_in: bool,
    }
}

/// All extensions that the site has ever had, by name.
pub(crate) async fn all(database: &Database) -> Result<Vec<ExtensionEntry>, Error> {
    database.fetch_all(select::<ExtensionEntry>("FROM host_extensions ORDER BY name")).await
}

/// Enables or disables an extension.
pub(crate) async fn set_enabled(
    transaction: &mut Connection,
    name: &str,
    enabled: bool,
) -> Result<(), Error> {
    // The engines differ in how they count the rows of an update that changes nothing.
    let statement = sql("SELECT name FROM host_extensions WHERE name = ?");
    let known: Option<(String,)> = transaction.fetch_optional(statement.bind(name)).await?;
    if known.is_none() {
        return Err(Error::not_found("extension", name));
    }
    let statement = sql("UPDATE host_extensions SET enabled = ? WHERE name = ?");
    transaction.execute(statement.bind(enabled).bind(name)).await?;
    Ok(())
}

/// Registers the built-in extensions, and returns whether anything changed.
pub(crate) async fn register_built_in(transaction: &mut Connection) -> Result<bool, Error> {
    upsert(transaction, TOKEN_AUTH, env!("CARGO_PKG_VERSION"), true)
        .await
        .map(|registered| registered.changed)
}

/// Notes whether an extension has a database of its own. Fails with `not_given` if it had one and now has
/// none, before it creates tables in the database of the host.
pub(crate) async fn note_database(
    transaction: &mut Connection,
    name: &str,
    own: bool,
    not_given: impl FnOnce() -> Error,
) -> Result<(), Error> {
    let statement = sql("SELECT own_database FROM host_extensions WHERE name = ?");
    let (known,): (bool,) = transaction.fetch_one(statement.bind(name)).await?;
    match (known, own) {
        (true, false) => Err(not_given()),
        (false, true) => {
            let statement = sql("UPDATE host_extensions SET own_database = TRUE WHERE name = ?");
            transaction.execute(statement.bind(name)).await?;
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Fails if an extension has had its tables in a file that is missing now, before it creates an empty
/// one.
pub(crate) async fn ensure_file(
    transaction: &mut Connection,
    name: &str,
    file: &Path,
) -> Result<(), Error> {
    let statement = sql("SELECT has_file FROM host_extensions WHERE name = ?");
    let (known,): (bool,) = transaction.fetch_one(statement.bind(name)).await?;
    if known && !file.exists() {
        return Err(Error::MissingFile { extension: name.to_owned(), file: file.to_owned() });
    }
    Ok(())
}

/// Notes the extensions that keep their tables in a file: not every one does, and a new one has no file
/// until it is installed.
pub(crate) async fn note_files(
    transaction: &mut Connection,
    extensions: &[&str],
) -> Result<(), Error> {
    for name in extensions {
        let statement =
            sql("UPDATE host_extensions SET has_file = TRUE WHERE name = ? AND NOT has_file");
        transaction.execute(statement.bind(*name)).await?;
    }
    Ok(())
}

/// The changes made by registering an extension.
#[derive(Debug, Default)]
pub(crate) struct Registration {
    pub(crate) changed: bool,
    /// The suggested rules that were added, each as text.
    pub(crate) granted: Vec<String>,
}

/// Registers an extension by its description.
pub(crate) async fn register(
    transaction: &mut Connection,
    description: &Description,
) -> Result<Registration, Error> {
    let wrong = |reason: String| Error::Description { plugin: description.name.clone(), reason };
    let registered = upsert(transaction, &description.name, &description.version, false).await?;
    let mut changed = registered.changed;
    jobs::register(transaction, &description.name, &description.jobs).await?;
    let mut known = assets(transaction).await?;
    for asset in &description.assets {
        if asset.name == ROOT {
            return Err(wrong("describes the asset root, which is the host's".to_owned()));
        }
        let Some(parent) = known.get(&asset.parent).map(|parent| parent.id) else {
            return Err(wrong(format!(
                "describes the asset {:?} below {:?}, which does not exist",
                asset.name, asset.parent
            )));
        };
        changed |= write_asset(transaction, asset, parent, &mut known).await?;
    }
    let granted =
        if registered.new { suggest(transaction, description).await? } else { Vec::new() };
    Ok(Registration { changed, granted })
}

row! {
    /// An asset of the site.
    struct KnownAsset {
        id: i64,
        name: String,
        title: String,
        parent_id: Option<i64>,
    }
}

/// All assets, by name: each start registers all assets of each extension, of which hardly any is new.
async fn assets(transaction: &mut Connection) -> Result<HashMap<String, KnownAsset>, Error> {
    let all: Vec<KnownAsset> =
        transaction.fetch_all(select::<KnownAsset>("FROM host_assets")).await?;
    Ok(all.into_iter().map(|asset| (asset.name.clone(), asset)).collect())
}

/// Writes an asset below its parent, also into those that are known, and returns whether anything changed.
async fn write_asset(
    transaction: &mut Connection,
    asset: &Asset,
    parent: i64,
    known: &mut HashMap<String, KnownAsset>,
) -> Result<bool, Error> {
    let id = match known.get(&asset.name) {
        Some(same) if same.title == asset.title && same.parent_id == Some(parent) => {
            return Ok(false);
        }
        Some(other) => {
            let statement = sql("UPDATE host_assets SET title = ?, parent_id = ? WHERE id = ?");
            let statement = statement.bind(asset.title.as_str()).bind(parent).bind(other.id);
            transaction.execute(statement).await?;
            other.id
        }
        None => {
            let statement =
                sql("INSERT INTO host_assets (name, title, parent_id) VALUES (?, ?, ?)");
            let statement =
                statement.bind(asset.name.as_str()).bind(asset.title.as_str()).bind(parent);
            transaction.execute(statement).await?;
            acl::find_asset(transaction, &asset.name).await?
        }
    };
    let (name, title) = (asset.name.clone(), asset.title.clone());
    known.insert(name.clone(), KnownAsset { id, name, title, parent_id: Some(parent) });
    Ok(true)
}

/// Adds the suggested rules. This happens once; afterwards the rules belong to the site.
async fn suggest(
    transaction: &mut Connection,
    description: &Description,
) -> Result<Vec<String>, Error> {
    let mut granted = Vec::new();
    for grant in &description.grants {
        let group = match groups::find(transaction, &grant.group).await {
            Ok(group) => group,
            // A site without that group does not get the rule.
            Err(Error::NotFound { .. }) => continue,
            Err(error) => return Err(error),
        };
        let asset = acl::find_asset(transaction, &grant.asset).await?;
        let statement = sql("SELECT allowed FROM host_rules \
             WHERE asset_id = ? AND group_id = ? AND action = ?");
        let statement = statement.bind(asset).bind(group).bind(grant.action.as_str());
        let known: Option<(bool,)> = transaction.fetch_optional(statement).await?;
        if known.is_none() {
            acl::insert_rule(transaction, asset, group, &grant.action, true).await?;
            granted.push(format!("allow {} on {} for {}", grant.action, grant.asset, grant.group));
        }
    }
    Ok(granted)
}

struct Registered {
    new: bool,
    changed: bool,
}

async fn upsert(
    transaction: &mut Connection,
    name: &str,
    version: &str,
    built_in: bool,
) -> Result<Registered, Error> {
    let statement = sql("SELECT version, built_in FROM host_extensions WHERE name = ?");
    let known: Option<(String, bool)> = transaction.fetch_optional(statement.bind(name)).await?;
    match known {
        Some((_, was_built_in)) if was_built_in != built_in => Err(Error::Description {
            plugin: name.to_owned(),
            reason: "has the name of an extension that is built into the host".to_owned(),
        }),
        Some((known, _)) if known == version => Ok(Registered { new: false, changed: false }),
        Some(_) => {
            let statement = sql("UPDATE host_extensions SET version = ? WHERE name = ?");
            transaction.execute(statement.bind(version).bind(name)).await?;
            Ok(Registered { new: false, changed: true })
        }
        None => {
            let statement = sql("INSERT INTO host_extensions (name, version, enabled, built_in) \
                 VALUES (?, ?, TRUE, ?)");
            transaction.execute(statement.bind(name).bind(version).bind(built_in)).await?;
            Ok(Registered { new: true, changed: true })
        }
    }
}
