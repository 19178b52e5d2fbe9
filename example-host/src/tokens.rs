//! API tokens: making them, and telling the user by one. Only the hash of a token is ever kept or
//! compared. What the user may do is decided elsewhere.

use std::fmt::Write;

use host_interface::{SharedUser, User};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::database::{Connection, Database, sql};
use crate::error::Error;
use crate::site::Site;
use crate::state::change;
use crate::users;

/// What is kept of a token.
pub(crate) type TokenHash = [u8; 32];

impl Site {
    /// Makes a token for a user and gives it, this once. A token that the user had stops at once.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn generate_token(&self, username: &str) -> Result<String, Error> {
        change!(self.state(), |transaction| {
            let user = users::find(transaction, username).await?;
            insert(transaction, user).await
        })
    }

    /// Takes a user's token away. Nothing happens where there is none.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn revoke_token(&self, username: &str) -> Result<(), Error> {
        change!(self.state(), |transaction| {
            let user = users::find(transaction, username).await?;
            remove(transaction, user).await
        })
    }
}

/// Replaces a user's token within a transaction.
pub(crate) async fn insert(transaction: &mut Connection, user: i64) -> Result<String, Error> {
    let token = random_text()?;
    remove(transaction, user).await?;
    let statement = sql("INSERT INTO host_tokens (user_id, hash, created_on) VALUES (?, ?, ?)");
    let statement = statement.bind(user).bind(hash(&token).as_slice()).bind(users::now());
    transaction.execute(statement).await?;
    Ok(token)
}

async fn remove(transaction: &mut Connection, user: i64) -> Result<(), Error> {
    transaction.execute(sql("DELETE FROM host_tokens WHERE user_id = ?").bind(user)).await?;
    Ok(())
}

/// 32 random bytes as text.
pub(crate) fn random_text() -> Result<String, Error> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().fold(String::with_capacity(64), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// What is kept of a token: it has the full strength of 32 random bytes, so a fast hash is enough.
pub(crate) fn hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

/// The user with this token, unless blocked.
pub(crate) async fn identify(
    database: &Database,
    hash: &TokenHash,
) -> Result<Option<SharedUser>, Error> {
    let statement = sql("SELECT t.hash, u.id, u.username, u.name, u.email FROM host_tokens t \
         JOIN host_users u ON u.id = t.user_id WHERE t.hash = ? AND NOT u.blocked");
    let row: Option<(Vec<u8>, i64, String, String, String)> =
        database.fetch_optional(statement.bind(hash.as_slice())).await?;
    Ok(row.and_then(|(stored, id, username, name, email)| {
        let same = bool::from(stored.as_slice().ct_eq(hash.as_slice()));
        same.then(|| SharedUser::new(User::new(id, username, name, email)))
    }))
}

/// The user with this key, unless blocked; for authenticators that answer with a key.
pub(crate) async fn by_id(database: &Database, id: i64) -> Result<Option<SharedUser>, Error> {
    let statement =
        sql("SELECT username, name, email FROM host_users WHERE id = ? AND NOT blocked");
    let row: Option<(String, String, String)> = database.fetch_optional(statement.bind(id)).await?;
    Ok(row.map(|(username, name, email)| SharedUser::new(User::new(id, username, name, email))))
}
