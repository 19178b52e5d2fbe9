//! The second factors of users, which they show beside the password: an app that makes codes, and recovery codes for a
//! device that is lost. Each code is good once. Knows nothing of pages, nor how wrong codes are counted
//! (`failures.rs`).

use crate::base::error::Error;
use crate::base::secret::{self, SecretHash};
use crate::base::text;
use crate::database::{Connection, Database, row, select, sql, transact};
use crate::identity::totp::{self, Key};
use crate::secrets::{Secrets, SecretsError};

/// How many recovery codes a user gets.
const CODES: usize = 10;

/// How many bytes a recovery code has: too many to guess, so that a fast hash is enough.
const CODE: usize = 10;

/// The letters between the hyphens of a recovery code.
const GROUP: usize = 4;

row! {
    /// The second factor of a user.
    #[derive(Clone, PartialEq, Eq)]
    pub(crate) struct SecondFactor {
        user: i64 = "user_id",
        sealed: String,
        last_step: i64,
        /// Grows whenever all sessions of the user end.
        epoch: i64,
    }
}

/// A code that a user has entered, which has not been used up yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// Of the app, with its step.
    App(i64),
    /// A recovery code.
    Recovery(SecretHash),
}

impl SecondFactor {
    /// The second factor of a user.
    pub(crate) async fn of(database: &Database, user: i64) -> Result<Option<Self>, Error> {
        let statement = select::<Self>("FROM host_second_factors WHERE user_id = ?");
        database.fetch_optional(statement.bind(user)).await
    }

    /// The code that an entered text is at this moment; `None` if it is a wrong one.
    pub(crate) fn read(
        &self,
        secrets: &Secrets,
        entered: &str,
        moment: i64,
    ) -> Result<Option<Code>, SecretsError> {
        let entered = plain(entered);
        if !totp::is_code(&entered) {
            return Ok(recovery(&entered).map(Code::Recovery));
        }
        let key = secrets.open("", &purpose(self.user), &self.sealed)?;
        let step = Key::read(&key).and_then(|key| key.step_of(&entered, moment, self.last_step));
        Ok(step.map(Code::App))
    }

    /// What a trusted browser is bound to: it is another text once the sessions have ended, or the key was
    /// replaced.
    pub(crate) fn trust(&self) -> String {
        format!("{} {}", self.epoch, self.sealed)
    }

    /// What a device is bound to on which the user has shown a code, with the hash of the password.
    pub(crate) fn with_password(&self, hash: &str) -> String {
        format!("{hash} {}", self.sealed)
    }

    /// Whether this still is the second factor of its user, in the transaction of a sign-in.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.trust() == other.trust()
    }
}

/// The second factor of a user, within a transaction.
pub(crate) async fn find(
    transaction: &mut Connection,
    user: i64,
) -> Result<Option<SecondFactor>, Error> {
    let statement = select::<SecondFactor>("FROM host_second_factors WHERE user_id = ?");
    Ok(transaction.fetch_optional(statement.bind(user)).await?)
}

/// A key as it is kept.
pub(crate) fn seal(secrets: &Secrets, user: i64, key: &Key) -> Result<String, SecretsError> {
    secrets.seal("", &purpose(user), &key.text())
}

/// Gives a user a second factor, whose first code was that of this step. Returns `false` if there is one.
pub(crate) async fn add(
    transaction: &mut Connection,
    user: i64,
    sealed: &str,
    step: i64,
) -> Result<bool, Error> {
    if find(transaction, user).await?.is_some() {
        return Ok(false);
    }
    let statement =
        sql("INSERT INTO host_second_factors (user_id, sealed, last_step, created_on) \
         VALUES (?, ?, ?, ?)");
    let statement = statement.bind(user).bind(sealed).bind(step).bind(text::now());
    transaction.execute(statement).await?;
    Ok(true)
}

/// Removes the second factor of a user with its recovery codes. Returns whether there was one.
pub(crate) async fn remove(transaction: &mut Connection, user: i64) -> Result<bool, Error> {
    put_codes(transaction, user, &[]).await?;
    let removal = sql("DELETE FROM host_second_factors WHERE user_id = ?").bind(user);
    Ok(transaction.execute(removal).await? > 0)
}

/// Uses a code up. Of several requests with one code, this returns `true` to one.
pub(crate) async fn use_up(database: &Database, user: i64, code: Code) -> Result<bool, Error> {
    transact!(database, |transaction| {
        let statement = match code {
            Code::App(step) => sql(
                "UPDATE host_second_factors SET last_step = ? WHERE user_id = ? AND last_step < ?",
            )
            .bind(step)
            .bind(user)
            .bind(step),
            Code::Recovery(hash) => {
                sql("DELETE FROM host_recovery_codes WHERE hash = ? AND user_id = ?")
                    .bind(hash.as_slice())
                    .bind(user)
            }
        };
        Ok(transaction.execute(statement).await? > 0)
    })
}

/// Ends the trust in browsers, with the sessions of a user.
pub(super) async fn trust_no_browser(transaction: &mut Connection, user: i64) -> Result<(), Error> {
    let statement = sql("UPDATE host_second_factors SET epoch = epoch + 1 WHERE user_id = ?");
    transaction.execute(statement.bind(user)).await?;
    Ok(())
}

/// New recovery codes, which are shown once.
pub(crate) fn new_codes() -> Result<Vec<String>, Error> {
    (0..CODES)
        .map(|_| {
            let mut bytes = [0; CODE];
            getrandom::fill(&mut bytes)?;
            let text = totp::base_32(&bytes).to_lowercase();
            let groups: Vec<_> =
                text.as_bytes().chunks(GROUP).map(String::from_utf8_lossy).collect();
            Ok(groups.join("-"))
        })
        .collect()
}

/// Replaces the recovery codes of a user.
pub(crate) async fn put_codes(
    transaction: &mut Connection,
    user: i64,
    codes: &[String],
) -> Result<(), Error> {
    let removal = sql("DELETE FROM host_recovery_codes WHERE user_id = ?");
    transaction.execute(removal.bind(user)).await?;
    for hash in codes.iter().filter_map(|code| recovery(&plain(code))) {
        let statement = sql("INSERT INTO host_recovery_codes (hash, user_id) VALUES (?, ?)");
        transaction.execute(statement.bind(hash.as_slice()).bind(user)).await?;
    }
    Ok(())
}

/// How many recovery codes a user has left.
pub(crate) async fn codes_left(database: &Database, user: i64) -> Result<i64, Error> {
    let statement = sql("SELECT count(*) FROM host_recovery_codes WHERE user_id = ?").bind(user);
    let (left,): (i64,) = database.fetch_one(statement).await?;
    Ok(left)
}

/// The purpose that the key of a user is encrypted for.
fn purpose(user: i64) -> String {
    format!("second factor {user}")
}

/// A code without what people put between its characters.
fn plain(entered: &str) -> String {
    let separates = |c: &char| c.is_whitespace() || *c == '-';
    entered.chars().filter(|c| !separates(c)).take(2 * CODE).collect::<String>().to_lowercase()
}

/// The hash of a recovery code, if the text has the form of one.
fn recovery(plain: &str) -> Option<SecretHash> {
    let is_one =
        plain.len() == CODE * 8 / 5 && plain.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_one.then(|| secret::hash(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_codes_are_read_as_people_write_them() {
        let codes = new_codes().unwrap_or_default();
        assert_eq!(codes.len(), 10);
        let Some(code) = codes.first() else { unreachable!("there are ten") };
        assert_eq!((code.len(), code.matches('-').count()), (19, 3), "{code}");
        let hash = recovery(&plain(code));
        assert!(hash.is_some());
        for written in [
            code.to_uppercase(),
            code.replace('-', " "),
            code.replace('-', ""),
            format!("\t{code} \n"),
        ] {
            assert_eq!(recovery(&plain(&written)), hash, "{written}");
        }
        for wrong in ["", "123456", &code[1..], &format!("{code}a")] {
            assert_eq!(recovery(&plain(wrong)), None, "{wrong}");
        }
    }
}
