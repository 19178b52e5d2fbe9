//! Extensions: which the site has, whether they are enabled, and what registering one brings: its
//! assets, and once, the rules that it suggests. Knows no library and no route.

use host_interface::Description;
use sqlx::{Sqlite, Transaction};

use crate::acl::{self, ROOT};
use crate::error::Error;
use crate::groups;
use crate::site::Site;

/// The built-in extension that tells users by their tokens.
pub const TOKEN_AUTH: &str = "token-auth";

/// An extension as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionEntry {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Whether it is in use.
    pub enabled: bool,
}

impl Site {
    /// All extensions that the site has ever had, by name.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn extensions(&self) -> Result<Vec<ExtensionEntry>, Error> {
        let rows: Vec<(String, String, bool)> =
            sqlx::query_as("SELECT name, version, enabled FROM host_extensions ORDER BY name")
                .fetch_all(self.state().database().readers())
                .await?;
        let entry = |(name, version, enabled)| ExtensionEntry { name, version, enabled };
        Ok(rows.into_iter().map(entry).collect())
    }

    /// Enables or disables an extension.
    ///
    /// # Errors
    /// When there is no such extension, or the database fails.
    pub async fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), Error> {
        let mut transaction = self.state().begin().await?;
        let changed = sqlx::query("UPDATE host_extensions SET enabled = ? WHERE name = ?")
            .bind(enabled)
            .bind(name)
            .execute(&mut *transaction)
            .await?;
        if changed.rows_affected() == 0 {
            return Err(Error::not_found("extension", name));
        }
        self.state().commit(transaction).await
    }
}

/// Writes down what the host brings itself. Gives whether anything changed.
pub(crate) async fn register_built_in(
    transaction: &mut Transaction<'static, Sqlite>,
) -> Result<bool, Error> {
    upsert(transaction, TOKEN_AUTH, env!("CARGO_PKG_VERSION"), true).await.map(|seen| seen.changed)
}

/// Writes down what an extension says of itself. Gives whether anything changed.
pub(crate) async fn register(
    transaction: &mut Transaction<'static, Sqlite>,
    description: &Description,
) -> Result<bool, Error> {
    let wrong = |reason: String| Error::Description { plugin: description.name.clone(), reason };
    let seen = upsert(transaction, &description.name, &description.version, false).await?;
    let mut changed = seen.changed;
    for asset in &description.assets {
        if asset.name == ROOT {
            return Err(wrong("describes the asset root, which is the host's".to_owned()));
        }
        let parent =
            acl::find_asset(transaction, &asset.parent).await.map_err(|error| match error {
                Error::NotFound { .. } => wrong(format!(
                    "describes the asset {:?} below {:?}, which does not exist",
                    asset.name, asset.parent
                )),
                error => error,
            })?;
        let written = sqlx::query(
            "INSERT INTO host_assets (name, title, parent_id) VALUES (?, ?, ?) \
             ON CONFLICT (name) DO UPDATE SET title = excluded.title, \
             parent_id = excluded.parent_id \
             WHERE title <> excluded.title OR parent_id <> excluded.parent_id",
        )
        .bind(&asset.name)
        .bind(&asset.title)
        .bind(parent)
        .execute(&mut **transaction)
        .await?;
        changed |= written.rows_affected() > 0;
    }
    if seen.new {
        suggest(transaction, description).await?;
    }
    Ok(changed)
}

/// Applies the suggested rules. From then on the site decides, so this happens once.
async fn suggest(
    transaction: &mut Transaction<'static, Sqlite>,
    description: &Description,
) -> Result<(), Error> {
    for grant in &description.grants {
        let group = match groups::find(transaction, &grant.group).await {
            Ok(group) => group,
            // A site without that group gives the rule to nobody.
            Err(Error::NotFound { .. }) => continue,
            Err(error) => return Err(error),
        };
        let asset = acl::find_asset(transaction, &grant.asset).await?;
        sqlx::query(
            "INSERT INTO host_rules (asset_id, group_id, action, allowed) VALUES (?, ?, ?, 1) \
             ON CONFLICT DO NOTHING",
        )
        .bind(asset)
        .bind(group)
        .bind(&grant.action)
        .execute(&mut **transaction)
        .await?;
    }
    Ok(())
}

struct Seen {
    new: bool,
    changed: bool,
}

async fn upsert(
    transaction: &mut Transaction<'static, Sqlite>,
    name: &str,
    version: &str,
    built_in: bool,
) -> Result<Seen, Error> {
    let known: Option<(String, bool)> =
        sqlx::query_as("SELECT version, built_in FROM host_extensions WHERE name = ?")
            .bind(name)
            .fetch_optional(&mut **transaction)
            .await?;
    match known {
        Some((_, was_built_in)) if was_built_in != built_in => Err(Error::Description {
            plugin: name.to_owned(),
            reason: "has the name of an extension that is built into the host".to_owned(),
        }),
        Some((known, _)) if known == version => Ok(Seen { new: false, changed: false }),
        Some(_) => {
            sqlx::query("UPDATE host_extensions SET version = ? WHERE name = ?")
                .bind(version)
                .bind(name)
                .execute(&mut **transaction)
                .await?;
            Ok(Seen { new: false, changed: true })
        }
        None => {
            sqlx::query(
                "INSERT INTO host_extensions (name, version, enabled, built_in) \
                 VALUES (?, ?, 1, ?)",
            )
            .bind(name)
            .bind(version)
            .bind(built_in)
            .execute(&mut **transaction)
            .await?;
            Ok(Seen { new: true, changed: true })
        }
    }
}
