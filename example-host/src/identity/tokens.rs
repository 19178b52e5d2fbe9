//! API tokens: creating them, and finding the user of one. Only the hash of a token is stored and
//! compared.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use host_interface::User;
use subtle::ConstantTimeEq;
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::secret::{SecretHash, fingerprint, hash, random_text};
use crate::base::text::now;
use crate::database::{Connection, Database, sql, transact};

/// How often the uses of tokens are written to the database.
const WRITE_EVERY: Duration = Duration::from_secs(5);

/// The minimum time between two such writes for one token: its readers want to know the day.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// Replaces a user's token within a transaction.
pub(crate) async fn insert(transaction: &mut Connection, user: i64) -> Result<String, Error> {
    let token = random_text()?;
    remove(transaction, user).await?;
    let statement = sql("INSERT INTO host_tokens (user_id, hash, created_on) VALUES (?, ?, ?)");
    let statement = statement.bind(user).bind(hash(&token).as_slice()).bind(now());
    transaction.execute(statement).await?;
    Ok(token)
}

/// Revokes a user's token within a transaction.
pub(crate) async fn remove(transaction: &mut Connection, user: i64) -> Result<(), Error> {
    transaction.execute(sql("DELETE FROM host_tokens WHERE user_id = ?").bind(user)).await?;
    Ok(())
}

/// The information about a token that may be shown.
#[derive(Clone, Debug)]
pub(crate) struct TokenEntry {
    /// Its identification in the audit trail.
    pub(crate) fingerprint: String,
    pub(crate) created_on: PrimitiveDateTime,
    /// The last use, to the minute; `None` if it was never used.
    pub(crate) used_on: Option<PrimitiveDateTime>,
}

/// The token of a user, if there is one.
pub(crate) async fn of_user(database: &Database, user: i64) -> Result<Option<TokenEntry>, Error> {
    let statement = sql("SELECT t.hash, t.created_on, u.used_on FROM host_tokens t \
         LEFT JOIN host_token_uses u ON u.user_id = t.user_id WHERE t.user_id = ?");
    let row: Option<(Vec<u8>, PrimitiveDateTime, Option<PrimitiveDateTime>)> =
        database.fetch_optional(statement.bind(user)).await?;
    Ok(row.map(|(hash, created_on, used_on)| TokenEntry {
        fingerprint: fingerprint(&hash),
        created_on,
        used_on,
    }))
}

/// The last use of tokens. A request only records it in memory, and a background task writes it to
/// the database; if the host is killed, the uses of the last few seconds are lost.
#[derive(Debug, Default)]
pub(crate) struct Usage {
    /// The tokens with uses to write, and the time of the last use.
    noted: Mutex<HashMap<SecretHash, PrimitiveDateTime>>,
    /// The uses that were written within the last minute.
    written: tokio::sync::Mutex<HashMap<SecretHash, PrimitiveDateTime>>,
}

impl Usage {
    /// Records the use of a token.
    pub(crate) fn note(&self, token: SecretHash) {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner).insert(token, now());
    }

    /// Writes the recorded uses periodically, until the future is dropped.
    pub(crate) async fn follow(&self, database: &Database) {
        loop {
            tokio::time::sleep(WRITE_EVERY).await;
            self.write(database).await;
        }
    }

    /// Writes the recorded uses.
    pub(crate) async fn write(&self, database: &Database) {
        let mut written = self.written.lock().await;
        let now = now();
        written.retain(|_, at| now - *at < NOTED_EVERY);
        let mut due: Vec<(SecretHash, PrimitiveDateTime)> = {
            let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.drain().filter(|(token, _)| !written.contains_key(token)).collect()
        };
        // All hosts lock the rows in the same order, which rules out deadlocks.
        due.sort_unstable();
        match write_uses(database, &due).await {
            Ok(()) => written.extend(due),
            // The date of the last use is then merely too early.
            Err(error) => tracing::debug!(%error, "the last use of tokens could not be recorded"),
        }
    }
}

async fn write_uses(
    database: &Database,
    due: &[(SecretHash, PrimitiveDateTime)],
) -> Result<(), Error> {
    if due.is_empty() {
        return Ok(());
    }
    transact!(database, |transaction| {
        for (token, at) in due {
            // A token that was replaced meanwhile matches no row; its successor was not used.
            let removal = sql("DELETE FROM host_token_uses WHERE user_id IN \
                 (SELECT user_id FROM host_tokens WHERE hash = ?)");
            transaction.execute(removal.bind(token.as_slice())).await?;
            let statement = sql("INSERT INTO host_token_uses (user_id, used_on) \
                 SELECT user_id, ? FROM host_tokens WHERE hash = ?");
            transaction.execute(statement.bind(*at).bind(token.as_slice())).await?;
        }
        Ok(())
    })
}

/// The user with this token, unless blocked.
pub(crate) async fn identify(
    database: &Database,
    hash: &SecretHash,
) -> Result<Option<User>, Error> {
    let statement = sql("SELECT t.hash, u.id, u.username, u.name, u.email FROM host_tokens t \
         JOIN host_users u ON u.id = t.user_id WHERE t.hash = ? AND NOT u.blocked");
    let row: Option<(Vec<u8>, i64, String, String, String)> =
        database.fetch_optional(statement.bind(hash.as_slice())).await?;
    Ok(row.and_then(|(stored, id, username, name, email)| {
        let same = bool::from(stored.as_slice().ct_eq(hash.as_slice()));
        same.then(|| User::new(id, username, name, email))
    }))
}

/// The user with this key, unless blocked; for plugins that authenticate users by key.
pub(crate) async fn by_id(database: &Database, id: i64) -> Result<Option<User>, Error> {
    let statement =
        sql("SELECT username, name, email FROM host_users WHERE id = ? AND NOT blocked");
    let row: Option<(String, String, String)> = database.fetch_optional(statement.bind(id)).await?;
    Ok(row.map(|(username, name, email)| User::new(id, username, name, email)))
}
