//! The sessions of users who have signed in to the administration. They are stored in the database,
//! so that they end in every process at once; of the browser's secret only the hash is stored.
//! Cookies and sign-in are handled in `admin`.

use std::time::Duration;

use subtle::ConstantTimeEq;
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::secret::{self, SecretHash};
use crate::base::text;
use crate::database::{Connection, Database, row, select, sql, transact};
use crate::identity::second_factor::{self, SecondFactor};

/// After this time without use a session ends.
const IDLE: Duration = Duration::from_secs(60 * 60);

/// After this time a session ends even if it is used.
pub(crate) const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);

/// For how long after entering it users are not asked for their password again.
const CONFIRMED: Duration = Duration::from_secs(10 * 60);

/// The minimum time between two records of the use of a session.
const NOTED_EVERY: Duration = Duration::from_secs(60);

/// A valid session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) user: i64,
    pub(crate) username: String,
    pub(crate) name: String,
    /// Whether the user has a second factor.
    pub(crate) second_factor: bool,
    /// Whether a code was shown in it, if there is a second factor: on a trusted browser it begins without one.
    pub(crate) with_code: bool,
    /// When the password was last entered, and the code if there is a second factor.
    confirmed_on: PrimitiveDateTime,
}

impl Session {
    /// Whether the password was entered recently.
    pub(crate) fn is_confirmed(&self) -> bool {
        text::now() - self.confirmed_on < CONFIRMED
    }
}

/// A session in the list that its user sees.
#[derive(Clone, Debug)]
pub(crate) struct SessionEntry {
    pub(crate) address: String,
    pub(crate) created_on: PrimitiveDateTime,
    pub(crate) used_on: PrimitiveDateTime,
    /// Whether it is the session of the current request.
    pub(crate) current: bool,
}

/// What a user has shown to begin a session.
pub(crate) struct Shown<'a> {
    pub(crate) user: i64,
    /// The hash of the password that was entered.
    pub(crate) hash: Option<&'a str>,
    /// The second factor, if there is one that is asked for.
    pub(crate) factor: Asked<'a>,
}

/// What was asked for beside the password.
#[derive(Clone, Copy)]
pub(crate) enum Asked<'a> {
    /// Nothing, because the site has no second factors.
    Never,
    /// Nothing, because the user has no second factor.
    Nothing,
    /// A code.
    Code(&'a SecondFactor),
    /// Nothing, because the browser is trusted.
    Trust(&'a SecondFactor),
}

/// Begins a session with this secret, within a transaction. Returns `false` if the password hash or the second
/// factor has changed since it was verified, or the user was blocked. The session `before` ends, so that a
/// secret from before the sign-in is of no use after it.
pub(crate) async fn begin(
    transaction: &mut Connection,
    secret: &str,
    shown: Shown<'_>,
    address: &str,
    before: Option<&str>,
) -> Result<bool, Error> {
    let now = text::now();
    let Shown { user, hash, factor } = shown;
    if !has_password_hash(transaction, user, hash).await? {
        return Ok(false);
    }
    let kept = second_factor::find(transaction, user).await?;
    let (is_same, confirmed_on) = match (factor, &kept) {
        (Asked::Never, _) | (Asked::Nothing, None) => (true, now),
        (Asked::Code(asked), Some(kept)) => (asked.is_same(kept), now),
        // A dangerous action needs a code.
        (Asked::Trust(asked), Some(kept)) => (asked.is_same(kept), now - LONGEST),
        (Asked::Nothing, Some(_)) | (Asked::Code(_) | Asked::Trust(_), None) => (false, now),
    };
    if !is_same {
        return Ok(false);
    }
    if let Some(before) = before {
        end(transaction, before).await?;
    }
    // Expired sessions are never looked up again, so they are removed here.
    let expired = sql("DELETE FROM host_sessions WHERE created_on < ? OR used_on < ?");
    transaction.execute(expired.bind(now - LONGEST).bind(now - IDLE)).await?;
    let statement = sql("INSERT INTO host_sessions \
         (hash, user_id, address, created_on, used_on, confirmed_on) \
         VALUES (?, ?, ?, ?, ?, ?)");
    let statement = statement.bind(secret::hash(secret).as_slice()).bind(user);
    transaction.execute(statement.bind(address).bind(now).bind(now).bind(confirmed_on)).await?;
    Ok(true)
}

/// Records that the password was entered again in the session with this secret. Returns whether the
/// password hash is still the one that was verified.
pub(crate) async fn confirm(
    database: &Database,
    secret: &str,
    user: i64,
    hash: Option<&str>,
) -> Result<bool, Error> {
    transact!(database, |transaction| {
        if !has_password_hash(transaction, user, hash).await? {
            return Ok(false);
        }
        let statement =
            sql("UPDATE host_sessions SET confirmed_on = ? WHERE hash = ? AND user_id = ?");
        let statement = statement.bind(text::now()).bind(secret::hash(secret).as_slice());
        transaction.execute(statement.bind(user)).await?;
        Ok(true)
    })
}

/// Whether the user is not blocked and still has this password hash.
async fn has_password_hash(
    transaction: &mut Connection,
    user: i64,
    hash: Option<&str>,
) -> Result<bool, Error> {
    let statement = sql("SELECT password_hash FROM host_users WHERE id = ? AND NOT blocked");
    let kept: Option<(Option<String>,)> = transaction.fetch_optional(statement.bind(user)).await?;
    Ok(kept.is_some_and(|(kept,)| kept.is_some() && kept.as_deref() == hash))
}

/// Whether the session whose secret has this hash still exists, within the transaction of a change.
pub(crate) async fn exists(transaction: &mut Connection, hash: &SecretHash) -> Result<bool, Error> {
    let statement = sql("SELECT user_id FROM host_sessions WHERE hash = ?").bind(hash.as_slice());
    let found: Option<(i64,)> = transaction.fetch_optional(statement).await?;
    Ok(found.is_some())
}

/// The session with this secret, if it is valid.
pub(crate) async fn find(database: &Database, secret: &str) -> Result<Option<Session>, Error> {
    let hash = secret::hash(secret);
    let now = text::now();
    row! {
        struct Found {
            hash: Vec<u8> = "s.hash",
            user: i64 = "s.user_id",
            username: String = "u.username",
            name: String = "u.name",
            second_factor: bool = "f.user_id IS NOT NULL",
            created_on: PrimitiveDateTime = "s.created_on",
            used_on: PrimitiveDateTime = "s.used_on",
            confirmed_on: PrimitiveDateTime = "s.confirmed_on",
        }
    }
    let statement = select::<Found>(
        "FROM host_sessions s JOIN host_users u ON u.id = s.user_id \
         LEFT JOIN host_second_factors f ON f.user_id = s.user_id \
         WHERE s.hash = ? AND s.created_on > ? AND s.used_on > ? AND NOT u.blocked",
    );
    let statement = statement.bind(hash.as_slice()).bind(now - LONGEST).bind(now - IDLE);
    let row: Option<Found> = database.fetch_optional(statement).await?;
    let same = |row: &Found| bool::from(row.hash.as_slice().ct_eq(hash.as_slice()));
    let Some(found) = row.filter(same) else { return Ok(None) };
    let Found { user, username, name, second_factor, created_on, used_on, confirmed_on, .. } =
        found;
    if now - used_on > NOTED_EVERY {
        let noted: Result<(), Error> = transact!(database, |transaction| {
            let statement = sql("UPDATE host_sessions SET used_on = ? WHERE hash = ?");
            transaction.execute(statement.bind(now).bind(hash.as_slice())).await?;
            Ok(())
        });
        if let Err(error) = noted {
            // Pages can be read even while the database cannot be written to.
            tracing::debug!(%error, "the last use of a session could not be recorded");
        }
    }
    let with_code = second_factor && confirmed_on >= created_on;
    Ok(Some(Session { user, username, name, second_factor, with_code, confirmed_on }))
}

/// The valid sessions of a user, newest first; the one with this secret is marked as current.
pub(crate) async fn of_user(
    database: &Database,
    user: i64,
    secret: &str,
) -> Result<Vec<SessionEntry>, Error> {
    let now = text::now();
    row! {
        struct Kept {
            hash: Vec<u8>,
            address: String,
            created_on: PrimitiveDateTime,
            used_on: PrimitiveDateTime,
        }
    }
    let statement = select::<Kept>(
        "FROM host_sessions WHERE user_id = ? AND created_on > ? AND used_on > ? \
         ORDER BY created_on DESC LIMIT 50",
    );
    let statement = statement.bind(user).bind(now - LONGEST).bind(now - IDLE);
    let rows: Vec<Kept> = database.fetch_all(statement).await?;
    let of_caller = secret::hash(secret);
    let entry = |Kept { hash, address, created_on, used_on }| {
        let current = hash.as_slice() == of_caller.as_slice();
        SessionEntry { address, created_on, used_on, current }
    };
    Ok(rows.into_iter().map(entry).collect())
}

/// Ends the session with this secret, within a transaction. Returns whether there was one.
pub(crate) async fn end(transaction: &mut Connection, secret: &str) -> Result<bool, Error> {
    let statement = sql("DELETE FROM host_sessions WHERE hash = ?");
    Ok(transaction.execute(statement.bind(secret::hash(secret).as_slice())).await? > 0)
}

/// Ends all sessions of a user, within the transaction of the change that requires it. With them ends the trust in
/// browsers.
pub(crate) async fn end_all(transaction: &mut Connection, user: i64) -> Result<(), Error> {
    transaction.execute(sql("DELETE FROM host_sessions WHERE user_id = ?").bind(user)).await?;
    second_factor::trust_no_browser(transaction, user).await
}

/// Ends the sessions of a user except the one whose secret has this hash.
pub(crate) async fn end_others(
    transaction: &mut Connection,
    user: i64,
    kept: &SecretHash,
) -> Result<(), Error> {
    let statement = sql("DELETE FROM host_sessions WHERE user_id = ? AND hash <> ?");
    transaction.execute(statement.bind(user).bind(kept.as_slice())).await?;
    second_factor::trust_no_browser(transaction, user).await
}
