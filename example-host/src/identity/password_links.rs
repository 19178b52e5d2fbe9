//! Links by which users choose a password: after they have forgotten theirs, or as those who are invited. A link is good
//! once and for some time, and only the hash of its secret is kept. Knows neither mails nor pages.

use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::secret::{self, SecretHash};
use crate::base::text;
use crate::database::{Connection, Database, row, select, sql};

/// How long a request counts.
const HOUR: Duration = Duration::from_secs(60 * 60);

/// How many links there are an hour for a user.
const OF_USER: i64 = 3;

/// How many an hour may be asked for from a network.
const OF_NETWORK: i64 = 20;

/// The maximum number of requests that are remembered.
const REMEMBERED: i64 = 10_000;

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Reset,
    Invitation,
}

impl Purpose {
    /// How long such a link is good for.
    pub(crate) fn lifetime(self) -> Duration {
        match self {
            Purpose::Reset => Duration::from_secs(30 * 60),
            Purpose::Invitation => Duration::from_secs(7 * 24 * 60 * 60),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Purpose::Reset => "reset",
            Purpose::Invitation => "invitation",
        }
    }
}

/// A link that is still good, with its user.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) user: i64,
    pub(crate) username: String,
    pub(crate) purpose: Purpose,
}

/// Makes a link for a user, and returns its secret. It replaces the links that the user has.
pub(crate) async fn make(
    transaction: &mut Connection,
    user: i64,
    purpose: Purpose,
) -> Result<String, Error> {
    let now = text::now();
    let removal = sql("DELETE FROM host_password_links WHERE user_id = ? OR ends_on <= ?");
    transaction.execute(removal.bind(user).bind(now)).await?;
    let secret = secret::random_text()?;
    let statement = sql("INSERT INTO host_password_links (hash, user_id, kind, ends_on) \
         VALUES (?, ?, ?, ?)");
    let statement = statement.bind(secret::hash(&secret).as_slice()).bind(user);
    transaction.execute(statement.bind(purpose.name()).bind(now + purpose.lifetime())).await?;
    Ok(secret)
}

/// The link with this secret, if it is still good and its user is not blocked. It is not used by that. An invitation
/// is for a first password only.
pub(crate) async fn find(database: &Database, secret: &str) -> Result<Option<Link>, Error> {
    row! {
        struct Found {
            hash: Vec<u8> = "l.hash",
            user: i64 = "l.user_id",
            username: String = "u.username",
            kind: String = "l.kind",
            ends_on: PrimitiveDateTime = "l.ends_on",
        }
    }
    let hash = secret::hash(secret);
    let statement = select::<Found>(
        "FROM host_password_links l JOIN host_users u ON u.id = l.user_id \
         WHERE l.hash = ? AND NOT u.blocked \
         AND (l.kind <> 'invitation' OR u.password_hash IS NULL)",
    );
    let found: Option<Found> = database.fetch_optional(statement.bind(hash.as_slice())).await?;
    let is_good = |found: &Found| {
        bool::from(found.hash.as_slice().ct_eq(hash.as_slice())) && text::now() < found.ends_on
    };
    Ok(found.filter(is_good).map(|Found { user, username, kind, .. }| {
        let is_reset = kind == Purpose::Reset.name();
        let purpose = if is_reset { Purpose::Reset } else { Purpose::Invitation };
        Link { user, username, purpose }
    }))
}

/// Uses a link up, within the transaction that sets the password. Of several requests with one link, this returns
/// `true` to one.
pub(crate) async fn use_up(
    transaction: &mut Connection,
    secret: &str,
    user: i64,
) -> Result<bool, Error> {
    let statement = sql("DELETE FROM host_password_links WHERE hash = ? AND user_id = ? \
         AND ends_on > ? AND EXISTS (SELECT 1 FROM host_users u WHERE u.id = user_id AND NOT u.blocked \
         AND (kind <> 'invitation' OR u.password_hash IS NULL))");
    let statement = statement.bind(secret::hash(secret).as_slice()).bind(user);
    Ok(transaction.execute(statement.bind(text::now())).await? > 0)
}

/// Ends the links of a user, within a transaction: what they were sent for, or where they were sent to, is no longer so.
pub(crate) async fn end_of(transaction: &mut Connection, user: i64) -> Result<(), Error> {
    let removal = sql("DELETE FROM host_password_links WHERE user_id = ?");
    transaction.execute(removal.bind(user)).await?;
    Ok(())
}

/// Ends all links, within a transaction. What was asked for anew is in other mails.
pub(crate) async fn end_all(transaction: &mut Connection) -> Result<(), Error> {
    transaction.execute(sql("DELETE FROM host_password_links")).await?;
    Ok(())
}

/// Whether another link may be asked for from this address, which counts as one more.
pub(crate) async fn allow_network(
    transaction: &mut Connection,
    address: IpAddr,
) -> Result<bool, Error> {
    let hash = Sha256::digest(block(address).to_string()).into();
    allow(transaction, ("network", hash), OF_NETWORK).await
}

/// Whether there may be another link for this user, which counts as one more.
pub(crate) async fn allow_user(transaction: &mut Connection, user: i64) -> Result<bool, Error> {
    allow(transaction, ("user", Sha256::digest(user.to_string()).into()), OF_USER).await
}

async fn allow(
    transaction: &mut Connection,
    (kind, hash): (&str, SecretHash),
    most: i64,
) -> Result<bool, Error> {
    let now = transaction.now().await?;
    let hour_ago = now - text::millis(HOUR);
    let statement = sql("SELECT asked_on FROM host_password_requests \
         ORDER BY asked_on DESC LIMIT 1 OFFSET ?");
    let surplus: Option<(i64,)> =
        transaction.fetch_optional(statement.bind(REMEMBERED - 1)).await?;
    let until = surplus.map_or(hour_ago, |(asked,)| asked.max(hour_ago));
    let removal = sql("DELETE FROM host_password_requests WHERE asked_on <= ?").bind(until);
    transaction.execute(removal).await?;
    let statement = sql("SELECT asked_on FROM host_password_requests \
         WHERE kind = ? AND hash = ? ORDER BY asked_on DESC");
    let statement = statement.bind(kind).bind(hash.as_slice());
    let asked: Vec<(i64,)> = transaction.fetch_all(statement).await?;
    if i64::try_from(asked.len()).is_ok_and(|count| count >= most) {
        return Ok(false);
    }
    // Each has a moment of its own.
    let asked_on = asked.first().map_or(now, |(last,)| now.max(last + 1));
    let statement =
        sql("INSERT INTO host_password_requests (kind, hash, asked_on) VALUES (?, ?, ?)");
    transaction.execute(statement.bind(kind).bind(hash.as_slice()).bind(asked_on)).await?;
    Ok(true)
}

/// The block that an address belongs to: a /24 of IPv4, a /48 of IPv6.
pub(crate) fn block(address: IpAddr) -> IpAddr {
    text::network_of(address, 24, 48)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_good_for_half_an_hour_and_an_invitation_for_a_week() {
        assert_eq!(Purpose::Reset.lifetime().as_secs(), 1_800);
        assert_eq!(Purpose::Invitation.lifetime().as_secs(), 604_800);
    }

    #[test]
    fn addresses_beside_each_other_are_one_block() {
        let block = |text: &str| text.parse().ok().map(|address| block(address).to_string());
        for (address, expected) in
            [("192.0.2.77", "192.0.2.0"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1::")]
        {
            assert_eq!(block(address).as_deref(), Some(expected));
        }
    }
}
