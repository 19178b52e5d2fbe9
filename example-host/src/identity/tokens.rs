//! API tokens: creating, rotating and revoking them, and finding the user of one. Only the hashes of their
//! secrets are stored. Scopes are in `scopes.rs`, the last use in `uses.rs`, rates in `rates.rs`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use host_interface::User;
use ipnet::IpNet;
use subtle::ConstantTimeEq;
use time::PrimitiveDateTime;

use crate::base::error::{Error, is_unique_violation};
use crate::base::moment;
use crate::base::secret::{SecretHash, fingerprint, hash};
use crate::base::text::{fold, now};
use crate::base::token_text;
use crate::database::{Connection, Database, Statement, row, select, sql};
use crate::identity::acl::{CORE_LOGIN_API, Decision};
use crate::identity::names::name_of;
use crate::identity::scopes::{Catalogue, Granted, Uncovered};

/// The name of the token that the tab of a user generates.
pub(crate) const DEFAULT: &str = "default";

/// The maximum number of tokens of a user.
const AT_MOST: i64 = 50;

/// The maximum number of address ranges of a token.
const RANGES: usize = 50;

/// The greatest rate: more requests a minute than a host answers.
pub(crate) const GREATEST_RATE: u32 = 1_000_000;

/// The longest time for which the secret before a rotation still works.
const LONGEST_OVERLAP: Duration = Duration::from_secs(72 * 60 * 60);

/// The values for a new token.
#[derive(Clone, Debug, Default)]
pub struct NewToken {
    /// The name, unique among the tokens of the user without regard to case.
    pub name: String,
    /// What the token is limited to, for example `articles:view`; without scopes it may do whatever its user
    /// may.
    pub scopes: Option<Vec<String>>,
    /// When it stops working, in UTC; by default never.
    pub expires_on: Option<PrimitiveDateTime>,
    /// The ranges of addresses that it may be used from; empty for anywhere.
    pub addresses: Vec<IpNet>,
    /// How many requests a minute it may send; by default any number.
    pub rate: Option<u32>,
}

/// A token as administrators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenEntry {
    /// The primary key.
    pub id: i64,
    /// The name to sign in with of its user.
    pub username: String,
    /// The key of its user.
    pub user: i64,
    /// Its name.
    pub name: String,
    /// What it is limited to; without scopes it may do whatever its user may.
    pub scopes: Option<Vec<String>>,
    /// The ranges of addresses that it may be used from; empty for anywhere.
    pub addresses: Vec<String>,
    /// How many requests a minute it may send.
    pub rate: Option<u32>,
    /// When it was created, or rotated last.
    pub created_on: PrimitiveDateTime,
    /// When it stops working.
    pub expires_on: Option<PrimitiveDateTime>,
    /// The last use, to the minute.
    pub used_on: Option<PrimitiveDateTime>,
    /// The address of the last use.
    pub used_from: Option<String>,
    /// The identification of its secret in the audit trail.
    pub fingerprint: String,
    /// Until when the secret before the last rotation still works.
    pub overlap_until: Option<PrimitiveDateTime>,
    /// What its scopes cover.
    granted: Option<Granted>,
}

impl TokenEntry {
    /// Whether it has stopped working.
    pub fn is_expired(&self) -> bool {
        self.expires_on.is_some_and(|end| end <= now())
    }

    /// Whether it allows what its user may do, and why.
    pub(crate) fn explain(&self, scopes: &Catalogue, action: &str, asset: &str) -> Decision {
        let denied = |reason| Decision { allowed: false, reason };
        if let Some(end) = self.expires_on.filter(|_| self.is_expired()) {
            return denied(format!("the token expired on {}", moment::show(end)));
        }
        // Whether a user may send requests at all does not depend on the scopes of a token.
        let granted = self.granted.as_ref().filter(|_| action != CORE_LOGIN_API);
        let mut reason = match granted.map(|granted| scopes.check(granted, action, asset)) {
            None => "the token allows whatever its user may do".to_owned(),
            Some(Ok(())) => "a scope of the token covers it".to_owned(),
            Some(Err(Uncovered::Lacks(scope))) => {
                return denied(format!("the token lacks the scope {scope}"));
            }
            Some(Err(Uncovered::ByAny)) => {
                return denied("there is no scope for it, and the token has scopes".to_owned());
            }
        };
        if !self.addresses.is_empty() {
            let ranges = self.addresses.join(", ");
            reason.push_str(&format!(", but it may be used only from {ranges}"));
        }
        Decision { allowed: true, reason }
    }
}

/// A token that has been found by its secret.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) id: i64,
    pub(crate) name: Arc<str>,
    /// The stored scopes; without any it may do whatever its user may.
    pub(crate) scopes: Option<String>,
    pub(crate) addresses: Vec<IpNet>,
    pub(crate) rate: Option<u32>,
    /// When the secret stops working: that of the token, or the end of an overlap.
    pub(crate) ends_on: Option<PrimitiveDateTime>,
}

impl Token {
    pub(crate) fn has_ended(&self) -> bool {
        self.ends_on.is_some_and(|end| end <= now())
    }

    /// Whether it may be used from an address.
    pub(crate) fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.addresses.is_empty() || self.addresses.iter().any(|range| range.contains(&address))
    }
}

/// A part of a new token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Name,
    Scopes,
    End,
    Addresses,
    Rate,
}

/// A part of a new token that is not acceptable, with the reason.
pub(crate) type Fault = (Part, String);

/// A new token with checked values.
pub(crate) struct Prepared {
    pub(crate) name: String,
    scopes: Option<String>,
    addresses: Option<String>,
    rate: Option<i64>,
    expires_on: Option<PrimitiveDateTime>,
}

impl Prepared {
    /// The token with these values, or all faults of them. `longest` is the longest life that the site
    /// allows; a token without an end gets that.
    pub(crate) fn check(
        new: &NewToken,
        scopes: &Catalogue,
        longest: Option<Duration>,
    ) -> Result<Self, Vec<Fault>> {
        let name = name_of("the name of a token", &new.name).map(str::to_owned);
        let scopes = new.scopes.as_deref().map(|given| scopes.stored(given)).transpose();
        let addresses = stored_ranges(&new.addresses);
        let rate = stored_rate(new.rate);
        match (name, scopes, end(new.expires_on, longest), addresses, rate) {
            (Ok(name), Ok(scopes), Ok(expires_on), Ok(addresses), Ok(rate)) => {
                Ok(Self { name, scopes, addresses, rate, expires_on })
            }
            (name, scopes, end, addresses, rate) => {
                let faults = [
                    (Part::Name, name.err()),
                    (Part::Scopes, scopes.err()),
                    (Part::End, end.err()),
                    (Part::Addresses, addresses.err()),
                    (Part::Rate, rate.err()),
                ];
                let fault = |(part, error): (Part, Option<Error>)| Some((part, error?.to_string()));
                Err(faults.into_iter().filter_map(fault).collect())
            }
        }
    }

    /// Checks a new token, and reports all faults as one error.
    pub(crate) fn new(
        new: &NewToken,
        scopes: &Catalogue,
        longest: Option<Duration>,
    ) -> Result<Self, Error> {
        Self::check(new, scopes, longest).map_err(|faults| {
            let reasons: Vec<String> = faults.into_iter().map(|(_, why)| why).collect();
            Error::Invalid(reasons.join("; "))
        })
    }

    /// The token of this name without limits, apart from that of the site.
    pub(crate) fn unlimited(name: &str, longest: Option<Duration>) -> Result<Self, Error> {
        let new = NewToken { name: name.to_owned(), ..NewToken::default() };
        Self::new(&new, &Catalogue::default(), longest)
    }

    /// Adds the token of a user within a transaction, and returns its secret.
    pub(crate) async fn insert(
        &self,
        transaction: &mut Connection,
        user: i64,
    ) -> Result<String, Error> {
        let count = sql("SELECT count(*) FROM host_api_tokens WHERE user_id = ?").bind(user);
        let (count,): (i64,) = transaction.fetch_one(count).await?;
        if count >= AT_MOST {
            return Err(Error::Invalid(format!(
                "a user has at most {AT_MOST} tokens; revoke one first"
            )));
        }
        let statement = sql("INSERT INTO host_api_tokens (user_id, name, name_fold, scopes, \
             addresses, rate, created_on, expires_on) VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
        let statement = statement.bind(user).bind(self.name.as_str()).bind(fold(&self.name));
        let statement = statement.bind(self.scopes.clone()).bind(self.addresses.clone());
        let statement = statement.bind(self.rate).bind(now()).bind(self.expires_on);
        let token = match transaction.insert(statement).await {
            Err(error) if is_unique_violation(&error) => {
                return Err(Error::taken("token called", &self.name));
            }
            added => added?,
        };
        insert_secret(transaction, token).await
    }

    /// Adds a token in place of the one of this name, if there is one.
    pub(crate) async fn replace(
        &self,
        transaction: &mut Connection,
        user: i64,
    ) -> Result<String, Error> {
        if let Some(id) = find(transaction, user, &self.name).await? {
            remove(transaction, id).await?;
        }
        self.insert(transaction, user).await
    }
}

/// Gives a token a new secret within a transaction, and returns it. Those before stop working after the
/// overlap. The token ends when it did before, unless there is another end.
pub(crate) async fn rotate(
    transaction: &mut Connection,
    token: i64,
    overlap: Duration,
    (expires_on, longest): (Option<PrimitiveDateTime>, Option<Duration>),
) -> Result<String, Error> {
    if overlap > LONGEST_OVERLAP {
        let hours = LONGEST_OVERLAP.as_secs() / 3600;
        return Err(Error::Invalid(format!("an overlap must be from 0 to {hours} hours")));
    }
    let statement = sql("SELECT expires_on FROM host_api_tokens WHERE id = ?").bind(token);
    let (before,): (Option<PrimitiveDateTime>,) = transaction.fetch_one(statement).await?;
    let expires_on = end(expires_on.or(before), longest)?;
    let (now, until) = (now(), now() + overlap);
    // Older secrets that end before the overlap keep their end.
    let statement = sql("UPDATE host_api_token_secrets SET ends_on = ? \
         WHERE token_id = ? AND (ends_on IS NULL OR ends_on > ?)");
    transaction.execute(statement.bind(until).bind(token).bind(until)).await?;
    let ended = sql("DELETE FROM host_api_token_secrets WHERE token_id = ? AND ends_on <= ?");
    transaction.execute(ended.bind(token).bind(now)).await?;
    let statement =
        sql("UPDATE host_api_tokens SET created_on = ?, expires_on = ?, reminded = 0 WHERE id = ?");
    transaction.execute(statement.bind(now).bind(expires_on).bind(token)).await?;
    insert_secret(transaction, token).await
}

/// Revokes a token with all of its secrets within a transaction.
pub(crate) async fn remove(transaction: &mut Connection, token: i64) -> Result<(), Error> {
    transaction.execute(sql("DELETE FROM host_api_tokens WHERE id = ?").bind(token)).await?;
    Ok(())
}

/// The key of the token of a user with this name.
pub(crate) async fn find(
    connection: &mut Connection,
    user: i64,
    name: &str,
) -> Result<Option<i64>, Error> {
    let statement = sql("SELECT id FROM host_api_tokens WHERE user_id = ? AND name_fold = ?");
    let found = connection.fetch_optional(statement.bind(user).bind(fold(name.trim()))).await?;
    Ok(found.map(|(id,)| id))
}

row! {
    /// A token with its user, the hash of its newest secret, and the last end of the others.
    struct Row {
        id: i64 = "t.id",
        user_id: i64 = "t.user_id",
        username: String = "u.username",
        name: String = "t.name",
        scopes: Option<String> = "t.scopes",
        addresses: Option<String> = "t.addresses",
        rate: Option<i64> = "t.rate",
        created_on: PrimitiveDateTime = "t.created_on",
        expires_on: Option<PrimitiveDateTime> = "t.expires_on",
        used_on: Option<PrimitiveDateTime> = "l.used_on",
        used_from: Option<String> = "l.address",
        secret: Option<Vec<u8>> = "(SELECT s.hash FROM host_api_token_secrets s \
                                    WHERE s.token_id = t.id AND s.ends_on IS NULL LIMIT 1)",
        overlap_until: Option<PrimitiveDateTime> = "(SELECT max(s.ends_on) FROM host_api_token_secrets s \
                                                     WHERE s.token_id = t.id)",
    }
}

/// Selects tokens with this condition and order.
fn entries(condition: &str) -> Statement {
    select::<Row>(&format!(
        "FROM host_api_tokens t JOIN host_users u ON u.id = t.user_id \
         LEFT JOIN host_api_token_uses l ON l.token_id = t.id {condition}"
    ))
}

/// The tokens of a user, by name.
pub(crate) async fn of_user(
    database: &Database,
    scopes: &Catalogue,
    user: i64,
) -> Result<Vec<TokenEntry>, Error> {
    let statement = entries("WHERE t.user_id = ? ORDER BY t.name_fold").bind(user);
    let rows: Vec<Row> = database.fetch_all(statement).await?;
    Ok(rows.into_iter().map(|row| entry(row, scopes)).collect())
}

/// A token of a user.
pub(crate) async fn one(
    database: &Database,
    scopes: &Catalogue,
    user: i64,
    token: i64,
) -> Result<Option<TokenEntry>, Error> {
    let statement = entries("WHERE t.user_id = ? AND t.id = ?").bind(user).bind(token);
    let row: Option<Row> = database.fetch_optional(statement).await?;
    Ok(row.map(|row| entry(row, scopes)))
}

/// The token of a user with this name.
pub(crate) async fn named(
    database: &Database,
    scopes: &Catalogue,
    user: i64,
    name: &str,
) -> Result<TokenEntry, Error> {
    let wanted = fold(name.trim());
    let all = of_user(database, scopes, user).await?.into_iter();
    let mut found = all.filter(|token| fold(&token.name) == wanted);
    found.next().ok_or_else(|| Error::not_found("token", name))
}

/// The tokens that end before `until` and have not ended yet, the next one first; at most `limit`.
pub(crate) async fn ending(
    database: &Database,
    scopes: &Catalogue,
    until: PrimitiveDateTime,
    limit: i64,
) -> Result<Vec<TokenEntry>, Error> {
    let statement =
        entries("WHERE t.expires_on > ? AND t.expires_on <= ? ORDER BY t.expires_on, t.id LIMIT ?");
    let rows: Vec<Row> = database.fetch_all(statement.bind(now()).bind(until).bind(limit)).await?;
    Ok(rows.into_iter().map(|row| entry(row, scopes)).collect())
}

/// The tokens that have not been used since a moment and are older, the oldest first; at most `limit`.
pub(crate) async fn unused(
    database: &Database,
    scopes: &Catalogue,
    since: PrimitiveDateTime,
    limit: i64,
) -> Result<Vec<TokenEntry>, Error> {
    let statement = entries(
        "WHERE t.created_on < ? AND (l.used_on IS NULL OR l.used_on < ?) \
         ORDER BY t.created_on, t.id LIMIT ?",
    );
    let rows: Vec<Row> = database.fetch_all(statement.bind(since).bind(since).bind(limit)).await?;
    Ok(rows.into_iter().map(|row| entry(row, scopes)).collect())
}

/// The user of the token with this secret, unless blocked, and the token.
pub(crate) async fn identify(
    database: &Database,
    hash: &SecretHash,
) -> Result<Option<(User, Token)>, Error> {
    row! {
        struct Found {
            hash: Vec<u8> = "s.hash",
            ends_on: Option<PrimitiveDateTime> = "s.ends_on",
            token: i64 = "t.id",
            token_name: String = "t.name",
            scopes: Option<String> = "t.scopes",
            addresses: Option<String> = "t.addresses",
            rate: Option<i64> = "t.rate",
            expires_on: Option<PrimitiveDateTime> = "t.expires_on",
            user: i64 = "u.id",
            username: String = "u.username",
            name: String = "u.name",
            email: String = "u.email",
        }
    }
    let statement = select::<Found>(
        "FROM host_api_token_secrets s JOIN host_api_tokens t ON t.id = s.token_id \
         JOIN host_users u ON u.id = t.user_id WHERE s.hash = ? AND NOT u.blocked",
    );
    let row: Option<Found> = database.fetch_optional(statement.bind(hash.as_slice())).await?;
    let same = |row: &Found| bool::from(row.hash.as_slice().ct_eq(hash.as_slice()));
    let Some(row) = row.filter(same) else { return Ok(None) };
    let token = Token {
        id: row.token,
        name: row.token_name.into(),
        scopes: row.scopes,
        addresses: ranges(row.addresses.as_deref())?,
        rate: row.rate.and_then(|rate| u32::try_from(rate).ok()),
        ends_on: [row.ends_on, row.expires_on].into_iter().flatten().min(),
    };
    Ok(Some((User::new(row.user, row.username, row.name, row.email), token)))
}

/// The user with this key, unless blocked; for plugins that authenticate users by key.
pub(crate) async fn by_id(database: &Database, id: i64) -> Result<Option<User>, Error> {
    let statement =
        sql("SELECT username, name, email FROM host_users WHERE id = ? AND NOT blocked");
    let row: Option<(String, String, String)> = database.fetch_optional(statement.bind(id)).await?;
    Ok(row.map(|(username, name, email)| User::new(id, username, name, email)))
}

/// The address ranges of a new token as they are stored.
fn stored_ranges(ranges: &[IpNet]) -> Result<Option<String>, Error> {
    if ranges.len() > RANGES {
        return Err(Error::Invalid(format!("a token has at most {RANGES} address ranges")));
    }
    let ranges: Vec<String> = ranges.iter().map(|range| canonical(*range).to_string()).collect();
    Ok(Some(ranges.join(" ")).filter(|ranges| !ranges.is_empty()))
}

fn stored_rate(rate: Option<u32>) -> Result<Option<i64>, Error> {
    if rate.is_some_and(|rate| rate == 0 || rate > GREATEST_RATE) {
        return Err(Error::Invalid(format!(
            "a rate must be from 1 to {GREATEST_RATE} requests a minute"
        )));
    }
    Ok(rate.map(i64::from))
}

/// The end of a token for which this end was requested, on a site that may limit the life of tokens.
fn end(
    asked: Option<PrimitiveDateTime>,
    longest: Option<Duration>,
) -> Result<Option<PrimitiveDateTime>, Error> {
    let now = now();
    if asked.is_some_and(|end| end <= now) {
        return Err(Error::Invalid("a token must not end in the past".to_owned()));
    }
    let Some(longest) = longest else { return Ok(asked) };
    let last = now + longest;
    if asked.is_some_and(|end| end > last) {
        let days = longest.as_secs() / (24 * 60 * 60);
        return Err(Error::Invalid(format!("on this site a token ends after {days} days at most")));
    }
    Ok(asked.or(Some(last)))
}

/// Adds a secret of a token and returns it.
async fn insert_secret(transaction: &mut Connection, token: i64) -> Result<String, Error> {
    let secret = token_text::random()?;
    let statement = sql("INSERT INTO host_api_token_secrets (hash, token_id) VALUES (?, ?)");
    transaction.execute(statement.bind(hash(&secret).as_slice()).bind(token)).await?;
    Ok(secret)
}

/// An address range as clients are compared with it: IPv4-mapped addresses are IPv4.
fn canonical(range: IpNet) -> IpNet {
    let range = range.trunc();
    match range {
        IpNet::V6(mapped) => {
            let v4 = mapped.addr().to_ipv4_mapped().zip(mapped.prefix_len().checked_sub(96));
            v4.and_then(|(v4, length)| IpNet::new(v4.into(), length).ok()).unwrap_or(range)
        }
        IpNet::V4(_) => range,
    }
}

/// The address ranges that are stored with a token. One that cannot be read is an error, because a token
/// without ranges may be used from anywhere.
fn ranges(stored: Option<&str>) -> Result<Vec<IpNet>, Error> {
    let stored = stored.unwrap_or_default().split_whitespace();
    let read = stored.map(|range| {
        let fault = || Error::Invalid(format!("a token has {range:?} as its address range"));
        range.parse().map_err(|_| fault())
    });
    read.collect()
}

fn entry(row: Row, catalogue: &Catalogue) -> TokenEntry {
    let words = |text: Option<String>| -> Vec<String> {
        text.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
    };
    TokenEntry {
        id: row.id,
        username: row.username,
        user: row.user_id,
        name: row.name,
        granted: row.scopes.as_deref().map(|scopes| catalogue.granted(scopes)),
        scopes: row.scopes.map(|scopes| catalogue.names(&scopes)),
        addresses: words(row.addresses),
        rate: row.rate.and_then(|rate| u32::try_from(rate).ok()),
        created_on: row.created_on,
        expires_on: row.expires_on,
        used_on: row.used_on,
        used_from: row.used_from,
        fingerprint: fingerprint(&row.secret.unwrap_or_default()),
        overlap_until: row.overlap_until.filter(|end| *end > now()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_rates_have_bounds() {
        let range = IpNet::from(std::net::IpAddr::from([192, 0, 2, 1]));
        assert!(stored_ranges(&vec![range; RANGES]).is_ok());
        assert!(stored_ranges(&vec![range; RANGES + 1]).is_err());
        for rate in [1, GREATEST_RATE] {
            assert_eq!(stored_rate(Some(rate)).ok(), Some(Some(i64::from(rate))));
        }
        assert!(stored_rate(Some(0)).is_err() && stored_rate(Some(GREATEST_RATE + 1)).is_err());
        assert_eq!(stored_rate(None).ok(), Some(None));
    }

    #[test]
    fn mapped_ranges_are_those_of_ipv4() {
        for (given, kept) in [
            ("192.0.2.7/24", "192.0.2.0/24"),
            ("::ffff:192.0.2.0/120", "192.0.2.0/24"),
            ("::ffff:192.0.2.1/128", "192.0.2.1/32"),
            ("2001:db8::1/32", "2001:db8::/32"),
            ("::/0", "::/0"),
        ] {
            let canonical = given.parse().map(|range| canonical(range).to_string());
            assert_eq!(canonical.as_deref(), Ok(kept));
        }
    }

    #[test]
    fn the_site_limits_the_life_of_a_token() -> Result<(), Error> {
        let (now, day) = (now(), Duration::from_secs(24 * 60 * 60));
        assert_eq!(end(None, None)?, None);
        assert!(end(Some(now), None).is_err());
        assert_eq!(end(Some(now + day * 400), None)?, Some(now + day * 400));
        assert!(end(Some(now + day * 31), Some(day * 30)).is_err());
        assert_eq!(end(Some(now + day * 2), Some(day * 30))?, Some(now + day * 2));
        assert!(end(None, Some(day * 30))?.is_some_and(|end| end >= now + day * 30));
        Ok(())
    }
}
