//! The failed sign-ins to the administration, by name and by address, which all hosts of a site count
//! together: after a few failures each further one doubles the wait. Names are treated alike whether
//! they exist or not. Of a name and of an address only a hash is kept, and the number of both is
//! limited.
//!
//! Crates for rate limits are not used, because they refill at a fixed rate: none doubles the wait,
//! takes an attempt back when the password was correct, or counts for several hosts.

use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::base::error::Error;
use crate::base::secret::SecretHash;
use crate::database::{Connection, Database, sql, transact};

/// After this time failures no longer count.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// The maximum number of names, and of addresses, that are kept.
pub(crate) const REMEMBERED: usize = 10_000;

/// What failures are counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Name,
    Address,
}

/// A name or an address: its kind and its hash.
pub(crate) type Key = (Kind, SecretHash);

/// How long to wait before the next attempt, for the name and for the address.
pub(crate) type Waits = [(Key, Duration); 2];

/// What came of an attempt to begin a sign-in.
pub(crate) struct Begun {
    /// Whether the password may be checked.
    pub(crate) allowed: bool,
    pub(crate) waits: Waits,
}

/// The keys of a sign-in.
pub(crate) fn keys(name: &str, address: IpAddr) -> [Key; 2] {
    let address = network(address).to_string();
    let hash = |text: &str| Sha256::digest(text).into();
    [(Kind::Name, hash(name)), (Kind::Address, hash(&address))]
}

/// Begins an attempt, unless it has to wait. It counts as a failure until it succeeds, so that
/// concurrent attempts are counted too. The time is that of the database, which all hosts share.
pub(crate) async fn begin(database: &Database, keys: [Key; 2]) -> Result<Begun, Error> {
    transact!(database, |transaction| {
        let now = transaction.now().await?;
        let [name, address] = keys;
        let known = [read(transaction, name).await?, read(transaction, address).await?];
        let waits = |failures: [Failures; 2]| {
            let [of_name, of_address] = failures;
            [(name, of_name.wait(name.0, now)), (address, of_address.wait(address.0, now))]
        };
        let before = waits(known.map(Option::unwrap_or_default));
        if before.iter().any(|(_, wait)| !wait.is_zero()) {
            return Ok(Begun { allowed: false, waits: before });
        }
        let failures = known.map(|known| known.unwrap_or_default().and_one(now));
        for ((key, known), failures) in keys.into_iter().zip(known).zip(failures) {
            write(transaction, key, failures, known.is_none()).await?;
        }
        Ok(Begun { allowed: true, waits: waits(failures) })
    })
}

/// Takes the failures that [`begin`] counted back: the password was correct.
pub(crate) async fn succeed(database: &Database, keys: [Key; 2]) -> Result<Waits, Error> {
    transact!(database, |transaction| {
        let now = transaction.now().await?;
        let [name, address] = keys;
        let removal = sql("DELETE FROM host_sign_in_failures WHERE kind = ? AND hash = ?");
        let removal = removal.bind(name.0.name()).bind(name.1.as_slice());
        transaction.execute(removal).await?;
        // Only one failure of the address is taken back, because a user with a password could
        // otherwise guess those of others without a wait.
        let mut failures = read(transaction, address).await?.unwrap_or_default();
        if failures.count > 0 {
            failures.count -= 1;
            write(transaction, address, failures, false).await?;
        }
        Ok([(name, Duration::ZERO), (address, failures.wait(address.0, now))])
    })
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Name => "name",
            Kind::Address => "address",
        }
    }

    /// How many failures have no wait after them, and the longest wait. That of a name is short,
    /// because any client can make another user wait; a password of twelve characters is safe at
    /// one guess a minute. An address may be shared by several people.
    fn limits(self) -> (i64, Duration) {
        match self {
            Kind::Name => (5, Duration::from_secs(60)),
            Kind::Address => (20, Duration::from_secs(15 * 60)),
        }
    }
}

/// The failures of a name or an address.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: i64,
    /// When the last one was, in milliseconds since 1970.
    last: i64,
}

impl Failures {
    /// How long to wait before the next attempt.
    fn wait(self, kind: Kind, now: i64) -> Duration {
        let (free, longest) = kind.limits();
        let passed = self.age(now);
        let beyond = u32::try_from(self.count - free).ok().filter(|_| passed <= FORGOTTEN);
        let Some(beyond) = beyond else { return Duration::ZERO };
        let whole = Duration::from_secs(1).saturating_mul(2_u32.saturating_pow(beyond));
        whole.min(longest).saturating_sub(passed)
    }

    /// The same and one more.
    fn and_one(self, now: i64) -> Self {
        let count = if self.age(now) > FORGOTTEN { 0 } else { self.count };
        Self { count: count.saturating_add(1), last: now }
    }

    fn age(self, now: i64) -> Duration {
        Duration::from_millis(u64::try_from(now.saturating_sub(self.last)).unwrap_or_default())
    }
}

async fn read(transaction: &mut Connection, (kind, hash): Key) -> Result<Option<Failures>, Error> {
    let statement = sql("SELECT failures, last_on FROM host_sign_in_failures \
         WHERE kind = ? AND hash = ?");
    let statement = statement.bind(kind.name()).bind(hash.as_slice());
    let row: Option<(i64, i64)> = transaction.fetch_optional(statement).await?;
    Ok(row.map(|(count, last)| Failures { count, last }))
}

async fn write(
    transaction: &mut Connection,
    (kind, hash): Key,
    failures: Failures,
    is_new: bool,
) -> Result<(), Error> {
    let statement = if is_new {
        make_room(transaction, kind, failures.last).await?;
        sql("INSERT INTO host_sign_in_failures (failures, last_on, kind, hash) VALUES (?, ?, ?, ?)")
    } else {
        sql("UPDATE host_sign_in_failures SET failures = ?, last_on = ? \
             WHERE kind = ? AND hash = ?")
    };
    let statement = statement.bind(failures.count).bind(failures.last);
    transaction.execute(statement.bind(kind.name()).bind(hash.as_slice())).await?;
    Ok(())
}

/// Removes what is forgotten, and beyond the limit what failed the longest time ago.
async fn make_room(transaction: &mut Connection, kind: Kind, now: i64) -> Result<(), Error> {
    let forgotten = now - i64::try_from(FORGOTTEN.as_millis()).unwrap_or(i64::MAX);
    let statement = sql("SELECT last_on FROM host_sign_in_failures WHERE kind = ? \
         ORDER BY last_on DESC LIMIT 1 OFFSET ?");
    let statement = statement.bind(kind.name()).bind(REMEMBERED as i64 - 1);
    let surplus: Option<(i64,)> = transaction.fetch_optional(statement).await?;
    let until = surplus.map_or(forgotten, |(last,)| last.max(forgotten));
    let removal = sql("DELETE FROM host_sign_in_failures WHERE kind = ? AND last_on <= ?");
    transaction.execute(removal.bind(kind.name()).bind(until)).await?;
    Ok(())
}

/// The network of an address: an IPv6 client usually has a whole network of addresses.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(network.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The wait after so many failures, the last of which was so many seconds ago.
    fn wait(kind: Kind, count: i64, ago: i64) -> u64 {
        Failures { count, last: 1_000_000 }.wait(kind, 1_000_000 + ago * 1000).as_secs()
    }

    #[test]
    fn each_failure_doubles_the_wait() {
        let waits = |kind, counts: [i64; 9]| counts.map(|count| wait(kind, count, 0));
        assert_eq!(
            waits(Kind::Name, [0, 4, 5, 6, 7, 10, 11, 12, 9999]),
            [0, 0, 1, 2, 4, 32, 60, 60, 60]
        );
        assert_eq!(
            waits(Kind::Address, [0, 19, 20, 21, 22, 29, 30, 31, 9999]),
            [0, 0, 1, 2, 4, 512, 900, 900, 900]
        );
    }

    #[test]
    fn time_passes_and_failures_are_forgotten() {
        assert_eq!([0, 1, 31, 32, 33].map(|ago| wait(Kind::Name, 10, ago)), [32, 31, 1, 0, 0]);
        let failures = Failures { count: 10, last: 1_000_000 };
        assert_eq!(failures.and_one(1_000_000 + 3_600_000).count, 11);
        assert_eq!(failures.and_one(1_000_000 + 3_600_001).count, 1);
        assert_eq!(failures.and_one(5).count, 11, "a clock that was set back");
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let address = |text: &str| text.parse().map(network).ok();
        assert_eq!(address("2001:db8:1:2:3:4:5:6"), address("2001:db8:1:2::1"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
    }
}
