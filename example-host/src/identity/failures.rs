//! The failed attempts to enter a password of the administration or the code of a second factor, which all hosts
//! of a site count together. After a few failures each further one doubles the wait. Names are treated alike
//! whether they exist or not. Only hashes of names and addresses are kept, and their number is limited.
//!
//! An attempt counts for whatever it comes from:
//!
//! - On a device on which its user has signed in before, and in a session, it counts for that device or
//!   session only. So whoever guesses elsewhere keeps nobody out who was in.
//! - On any other device it counts for the address, whatever the name; for the client, which is the
//!   address together with the name; and for the name alone, whatever the address. The last of these
//!   limits how many guesses there are in all, and a part of it is kept for clients that have hardly
//!   failed. So a few addresses that guess a name do not keep its owner out at another one.
//!
//! A code has only six digits, of which three are right at any time, and is asked for only after the right
//! password. So the codes of a user are counted apart, wherever they are entered except on a known device and in a
//! session: there are ten attempts, and another one every 72 minutes. These are 30 in any 24 hours, of which one is
//! right with a probability below 30 × 3 / 1,000,000, which is 1 in 11,000. Known are here a device and a session in
//! which a code was shown: with the password alone anybody gets as many of them as they like.
//!
//! Crates for rate limits are not used, because none doubles the wait, takes an attempt back when the
//! password was correct, and counts for several hosts.

use std::net::IpAddr;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::base::error::Error;
use crate::base::secret::SecretHash;
use crate::base::text::{millis, network_of};
use crate::database::{Connection, Database, sql, transact};

/// After this time failures no longer count.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// After this time wrong codes no longer count: by then the last of them has passed.
const CODES_FORGOTTEN: Duration = Duration::from_secs(24 * 60 * 60);

/// The maximum number of names, of addresses and so on, that are kept.
pub(crate) const REMEMBERED: usize = 10_000;

/// How many failures a client may have that still is one that has hardly failed.
const HARDLY: i64 = 2;

/// After how many failures of a name other clients have to wait. Together with [`PASSED`] these are not
/// more attempts than if each failure doubled the wait up to a minute.
const OF_NAME: i64 = 6;

/// After how many failures of a name clients that have hardly failed themselves have to wait.
const OF_NAME_IN_ALL: i64 = 10;

/// After each such time there is one failure of a name less. A password of twelve characters is safe at
/// one guess a minute.
const PASSED: Duration = Duration::from_secs(60);

/// How many wrong codes of a user there may be.
const OF_CODES: i64 = 10;

/// After each such time there is one wrong code less: twenty in 24 hours.
const CODE_PASSED: Duration = Duration::from_secs(72 * 60);

/// How much of an IPv6 address is the network of one subscriber, who has 65,536 addresses of the kind that
/// otherwise are one client. An IPv4 address is not counted with its neighbours, who are strangers.
const OF_SUBSCRIBER: u8 = 48;

/// How much of an IPv6 address is the network of one client, who usually has a whole network of addresses.
const OF_CLIENT: u8 = 64;

/// All of an IPv4 address.
const OF_IPV4: u8 = 32;

/// What failures are counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A name, on all devices that are not known.
    Name,
    /// An address, with all names.
    Address,
    /// An address with one name.
    Client,
    /// A device on which the user has signed in.
    Device,
    /// A session.
    Session,
    /// The codes of a user: on a device, in a session, or anywhere else.
    Code,
}

/// What failures are counted for, with its hash.
pub(crate) type Key = (Kind, SecretHash);

/// How long to wait before the next attempt, for each key.
pub(crate) type Waits = Vec<(Key, Duration)>;

/// What came of an attempt to begin a sign-in.
pub(crate) struct Begun {
    /// Whether the password may be checked.
    pub(crate) allowed: bool,
    pub(crate) waits: Waits,
}

/// The keys of an attempt on a device that is not known.
pub(crate) fn of_new_device(name: &str, address: IpAddr) -> Vec<Key> {
    let hash = |text: &str| Sha256::digest(text).into();
    let client = format!("{}\n{name}", network_of(address, OF_IPV4, OF_SUBSCRIBER));
    let address = network_of(address, OF_IPV4, OF_CLIENT).to_string();
    vec![(Kind::Name, hash(name)), (Kind::Address, hash(&address)), (Kind::Client, hash(&client))]
}

/// The key of an attempt on a device on which the user has signed in.
pub(crate) fn of_device(device: SecretHash) -> Vec<Key> {
    vec![(Kind::Device, device)]
}

/// The key of an attempt in a session.
pub(crate) fn of_session(session: SecretHash) -> Vec<Key> {
    vec![(Kind::Session, session)]
}

/// Forgets what is counted for a folded name, within a transaction.
pub(crate) async fn forget_name(transaction: &mut Connection, name: &str) -> Result<(), Error> {
    let statement = sql("DELETE FROM host_sign_in_failures WHERE kind = ? AND hash = ?");
    let hash: SecretHash = Sha256::digest(name).into();
    transaction.execute(statement.bind(Kind::Name.name()).bind(hash.as_slice())).await?;
    Ok(())
}

/// The keys of an attempt to enter the code of a user. `known` is the device or the session in which the user has
/// shown one before, if any.
pub(crate) fn of_code(user: i64, known: Option<Key>, address: IpAddr) -> Vec<Key> {
    let hash = |text: String| Sha256::digest(text).into();
    let from = match known {
        Some((kind, of)) => format!("{} {}", kind.name(), hex::encode(of)),
        None => String::new(),
    };
    let here = match known {
        Some(_) => from.clone(),
        None => network_of(address, OF_IPV4, OF_SUBSCRIBER).to_string(),
    };
    // The texts differ from those of passwords, so that these are counted apart.
    vec![
        (Kind::Code, hash(format!("code {user} {from}"))),
        (Kind::Client, hash(format!("code {user} {here}"))),
    ]
}

/// Begins an attempt, unless it has to wait. It counts as a failure until it succeeds, so that
/// concurrent attempts are counted too. The time is that of the database, which all hosts share.
pub(crate) async fn begin(database: &Database, keys: &[Key]) -> Result<Begun, Error> {
    transact!(database, |transaction| {
        let now = transaction.now().await?;
        let known = read_all(transaction, keys).await?;
        let counted =
            |key: &Key, known: &Option<Failures>| (*key, known.unwrap_or_default().at(key.0, now));
        let counted: Vec<(Key, Failures)> =
            keys.iter().zip(&known).map(|(key, known)| counted(key, known)).collect();
        let before = waits(&counted, now);
        if before.iter().any(|(_, wait)| !wait.is_zero()) {
            return Ok(Begun { allowed: false, waits: before });
        }
        let one_more = |(key, failures): (Key, Failures)| (key, failures.and_one(key.0, now));
        let counted: Vec<(Key, Failures)> = counted.into_iter().map(one_more).collect();
        for ((key, failures), known) in counted.iter().zip(known) {
            write(transaction, *key, *failures, known.is_none()).await?;
        }
        Ok(Begun { allowed: true, waits: waits(&counted, now) })
    })
}

/// Takes the failures that [`begin`] counted back: the password was correct. Of a name and of an
/// address this is only one, because a user with a password could otherwise guess those of others
/// without a wait, and those who guess could wait for the user to sign in.
pub(crate) async fn succeed(database: &Database, keys: &[Key]) -> Result<Waits, Error> {
    transact!(database, |transaction| {
        let now = transaction.now().await?;
        let known = read_all(transaction, keys).await?;
        let mut left = Vec::new();
        for (key, known) in keys.iter().zip(known) {
            let failures = match key.0 {
                Kind::Name | Kind::Address | Kind::Code => {
                    known.unwrap_or_default().at(key.0, now).less_one()
                }
                Kind::Client | Kind::Device | Kind::Session => Failures::default(),
            };
            if known.is_some() && failures.count > 0 {
                write(transaction, *key, failures, false).await?;
            } else {
                let removal = sql("DELETE FROM host_sign_in_failures WHERE kind = ? AND hash = ?");
                let removal = removal.bind(key.0.name()).bind(key.1.as_slice());
                transaction.execute(removal).await?;
            }
            left.push((*key, failures));
        }
        Ok(waits(&left, now))
    })
}

/// How long to wait, for each key. The wait of a name is that of all clients; where it is longer for a
/// client that has failed before, that is the wait of this client.
fn waits(counted: &[(Key, Failures)], now: i64) -> Waits {
    let of = |kind| counted.iter().find(|((of, _), _)| *of == kind).map(|(_, failures)| *failures);
    let (name, client) = (of(Kind::Name), of(Kind::Client));
    let has_failed = client.is_some_and(|client| client.count > HARDLY);
    let of_name =
        name.filter(|_| has_failed).map(|name| name.until_below(Kind::Name, OF_NAME, now));
    let wait = |(key, failures): &(Key, Failures)| {
        let wait = match key.0 {
            Kind::Name => failures.until_below(key.0, OF_NAME_IN_ALL, now),
            Kind::Code => failures.until_below(key.0, OF_CODES, now),
            Kind::Client => failures.wait(key.0, now).max(of_name.unwrap_or_default()),
            Kind::Address | Kind::Device | Kind::Session => failures.wait(key.0, now),
        };
        (*key, wait)
    };
    counted.iter().map(wait).collect()
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Name => "name",
            Kind::Address => "address",
            Kind::Client => "client",
            Kind::Device => "device",
            Kind::Session => "session",
            Kind::Code => "code",
        }
    }

    /// How many failures have no wait after them, and the longest wait. An address may be shared by
    /// several people.
    fn limits(self) -> (i64, Duration) {
        match self {
            Kind::Address => (20, Duration::from_secs(15 * 60)),
            Kind::Name | Kind::Client | Kind::Device | Kind::Session | Kind::Code => {
                (5, Duration::from_secs(60))
            }
        }
    }

    /// For those whose failures pass one by one: the most that are counted, and after which time there is one
    /// less.
    fn passes(self) -> Option<(i64, Duration)> {
        match self {
            Kind::Name => Some((OF_NAME_IN_ALL, PASSED)),
            Kind::Code => Some((OF_CODES, CODE_PASSED)),
            Kind::Address | Kind::Client | Kind::Device | Kind::Session => None,
        }
    }

    /// After which time failures no longer count.
    fn forgotten(self) -> Duration {
        if self == Kind::Code { CODES_FORGOTTEN } else { FORGOTTEN }
    }
}

/// The failures of a key.
#[derive(Clone, Copy, Debug, Default)]
struct Failures {
    count: i64,
    /// When the last one was, in milliseconds since 1970; where they pass one by one, when the count was last
    /// this.
    last: i64,
}

impl Failures {
    /// What still counts.
    fn at(self, kind: Kind, now: i64) -> Self {
        let age = self.age(now);
        if age > kind.forgotten() {
            return Self::default();
        }
        let Some((most, each)) = kind.passes() else { return self };
        // Hosts of earlier versions counted on.
        let count = self.count.min(most);
        let passed = millis(age) / millis(each);
        match count - passed {
            count @ 1.. => Self { count, last: self.last + passed * millis(each) },
            _ => Self::default(),
        }
    }

    /// These failures and one more.
    fn and_one(self, kind: Kind, now: i64) -> Self {
        let last = if kind.passes().is_some() && self.count > 0 { self.last } else { now };
        Self { count: self.count.saturating_add(1), last }
    }

    fn less_one(self) -> Self {
        Self { count: self.count.saturating_sub(1).max(0), ..self }
    }

    /// How long to wait before the next attempt, if each failure doubles the wait.
    fn wait(self, kind: Kind, now: i64) -> Duration {
        let (free, longest) = kind.limits();
        let Ok(beyond) = u32::try_from(self.count - free) else { return Duration::ZERO };
        let whole = Duration::from_secs(1).saturating_mul(2_u32.saturating_pow(beyond));
        whole.min(longest).saturating_sub(self.age(now))
    }

    /// How long to wait until a count that passes is below this.
    fn until_below(self, kind: Kind, limit: i64, now: i64) -> Duration {
        let Ok(beyond) = u32::try_from(self.count - limit + 1) else { return Duration::ZERO };
        let each = kind.passes().map(|(_, each)| each).unwrap_or_default();
        (each * beyond).saturating_sub(self.age(now))
    }

    fn age(self, now: i64) -> Duration {
        Duration::from_millis(u64::try_from(now.saturating_sub(self.last)).unwrap_or_default())
    }
}

async fn read_all(
    transaction: &mut Connection,
    keys: &[Key],
) -> Result<Vec<Option<Failures>>, Error> {
    let mut known = Vec::with_capacity(keys.len());
    for (kind, hash) in keys {
        let statement = sql("SELECT failures, last_on FROM host_sign_in_failures \
             WHERE kind = ? AND hash = ?");
        let statement = statement.bind(kind.name()).bind(hash.as_slice());
        let row: Option<(i64, i64)> = transaction.fetch_optional(statement).await?;
        known.push(row.map(|(count, last)| Failures { count, last }));
    }
    Ok(known)
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
    let forgotten = now - millis(kind.forgotten());
    let statement = sql("SELECT last_on FROM host_sign_in_failures WHERE kind = ? \
         ORDER BY last_on DESC LIMIT 1 OFFSET ?");
    let statement = statement.bind(kind.name()).bind(REMEMBERED as i64 - 1);
    let surplus: Option<(i64,)> = transaction.fetch_optional(statement).await?;
    let until = surplus.map_or(forgotten, |(last,)| last.max(forgotten));
    let removal = sql("DELETE FROM host_sign_in_failures WHERE kind = ? AND last_on <= ?");
    transaction.execute(removal.bind(kind.name()).bind(until)).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000_000;

    /// The wait after so many failures, the last of which was so many seconds ago.
    fn wait(kind: Kind, count: i64, ago: i64) -> u64 {
        Failures { count, last: NOW - ago * 1000 }.wait(kind, NOW).as_secs()
    }

    #[test]
    fn each_failure_doubles_the_wait() {
        let waits = |kind, counts: [i64; 9]| counts.map(|count| wait(kind, count, 0));
        for kind in [Kind::Client, Kind::Device, Kind::Session] {
            assert_eq!(
                waits(kind, [0, 4, 5, 6, 7, 10, 11, 12, 9999]),
                [0, 0, 1, 2, 4, 32, 60, 60, 60]
            );
        }
        assert_eq!(
            waits(Kind::Address, [0, 19, 20, 21, 22, 29, 30, 31, 9999]),
            [0, 0, 1, 2, 4, 512, 900, 900, 900]
        );
    }

    #[test]
    fn time_passes_and_failures_are_forgotten() {
        assert_eq!([0, 1, 31, 32, 33].map(|ago| wait(Kind::Client, 10, ago)), [32, 31, 1, 0, 0]);
        let failures = Failures { count: 10, last: NOW };
        let one_more = |now| failures.at(Kind::Client, now).and_one(Kind::Client, now).count;
        assert_eq!(one_more(NOW + 3_600_000), 11);
        assert_eq!(one_more(NOW + 3_600_001), 1);
        assert_eq!(one_more(5), 11, "a clock that was set back");
    }

    /// However an attempt on the codes of a user is spread over time, fewer than one in ten thousand of such days
    /// finds a right one.
    #[test]
    fn a_day_has_room_for_thirty_codes() {
        let mut failures = Failures::default();
        let mut tried = Vec::new();
        for now in (NOW..NOW + 3 * 86_400_000).step_by(1000) {
            let counted = failures.at(Kind::Code, now);
            if counted.until_below(Kind::Code, OF_CODES, now).is_zero() {
                failures = counted.and_one(Kind::Code, now);
                tried.push(now);
            }
        }
        let most = tried.iter().map(|begin| {
            tried.iter().filter(|now| (*begin..begin + 86_400_000).contains(now)).count()
        });
        let most = most.max().unwrap_or_default();
        assert!((20..=30).contains(&most), "{most}");
        // Three of a million codes are right at any time.
        assert!(most * 3 * 10_000 < 1_000_000);
    }

    #[test]
    fn codes_are_counted_apart_from_passwords_and_for_each_place() {
        let address = |last| IpAddr::from([192, 0, 2, last]);
        let session = of_session([7; 32]).first().copied();
        let all = [
            of_new_device("5", address(1)),
            of_code(5, None, address(1)),
            of_code(6, None, address(1)),
            of_code(5, session, address(1)),
        ];
        let all: Vec<Key> = all.into_iter().flatten().collect();
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        let anywhere = [1, 2].map(|last| of_code(5, None, address(last)).first().copied());
        assert_eq!(anywhere[0], anywhere[1], "one count for all addresses");
    }

    #[test]
    fn a_name_has_one_failure_less_each_minute() {
        let left = |count, seconds: i64| {
            let failures = Failures { count, last: NOW };
            let left = failures.at(Kind::Name, NOW + seconds * 1000);
            (left.count, if left.count > 0 { (left.last - NOW) / 1000 } else { 0 })
        };
        assert_eq!(
            [0, 59, 60, 119, 120].map(|seconds| left(2, seconds)),
            [(2, 0), (2, 0), (1, 60), (1, 60), (0, 0)]
        );
        assert_eq!(left(9999, 0), (10, 0), "by a host of an earlier version");
        // The next minute has begun already when the next failure comes.
        let now = NOW + 90_000;
        let next = Failures { count: 2, last: NOW }.at(Kind::Name, now).and_one(Kind::Name, now);
        assert_eq!((next.count, next.last), (2, NOW + 60_000));
        assert_eq!(next.until_below(Kind::Name, 2, now), Duration::from_secs(30));
        assert_eq!(next.until_below(Kind::Name, 1, now), Duration::from_secs(90));
        assert_eq!(next.until_below(Kind::Name, 3, now), Duration::ZERO);
    }

    /// The failures of a name, and of the clients that try it without end, and how many tries they get.
    #[derive(Default)]
    struct Guessed {
        name: Failures,
        clients: Vec<Failures>,
        tries: usize,
    }

    impl Guessed {
        /// Lets a client try, if it does not have to wait. The address has its own limit, which is left out.
        fn tries(&mut self, client: usize, now: i64) -> bool {
            let count = self.clients.len().max(client + 1);
            self.clients.resize(count, Failures::default());
            let Some(of_client) = self.clients.get_mut(client) else { return false };
            let (name, known) = (self.name.at(Kind::Name, now), of_client.at(Kind::Client, now));
            let counted = [((Kind::Name, [0; 32]), name), ((Kind::Client, [0; 32]), known)];
            let allowed = waits(&counted, now).iter().all(|(_, wait)| wait.is_zero());
            if allowed {
                self.name = name.and_one(Kind::Name, now);
                *of_client = known.and_one(Kind::Client, now);
                self.tries += 1;
            }
            allowed
        }
    }

    /// How many tries a name has had after so many seconds if each failure doubles the wait.
    fn by_doubling(seconds: i64) -> usize {
        let mut failures = Failures::default();
        let tries = (0..=seconds).flat_map(|second| (0..9).map(move |_| NOW + second * 1000));
        tries
            .filter(|now| {
                let allowed = failures.wait(Kind::Client, *now).is_zero();
                if allowed {
                    failures = failures.and_one(Kind::Client, *now);
                }
                allowed
            })
            .count()
    }

    #[test]
    fn few_clients_that_guess_a_name_leave_room_for_another_one() {
        let time = 3 * 60 * 60;
        // A client that has not had a try for an hour has hardly failed again, so three of them keep others
        // out for some minutes of each hour.
        for (clients, least) in [(1, time), (2, time), (3, time * 9 / 10)] {
            let mut guessed = Guessed::default();
            let rooms = (0..time).filter(|second| {
                let now = NOW + second * 1000;
                for client in 0..10 * clients {
                    guessed.tries(client % clients, now);
                }
                let name = ((Kind::Name, [0; 32]), guessed.name.at(Kind::Name, now));
                let owner = ((Kind::Client, [1; 32]), Failures::default());
                waits(&[name, owner], now).iter().all(|(_, wait)| wait.is_zero())
            });
            let rooms = i64::try_from(rooms.count()).unwrap_or_default();
            assert!(rooms >= least, "{clients} clients left room for {rooms} s of {time}");
        }
    }

    #[test]
    fn guesses_are_not_more_than_if_each_doubled_the_wait() {
        for clients in [1, 2, 50, 100] {
            let mut guessed = Guessed::default();
            for second in 0..60 * 60 {
                for client in 0..clients {
                    // As many as a client has before it waits.
                    while guessed.tries(client, NOW + second * 1000) {}
                }
                // From the first minute on, which has no more than ten of them.
                if second % 600 == 63 {
                    let most = by_doubling(second);
                    assert!(guessed.tries <= most, "{clients} after {second} s: {}", guessed.tries);
                }
            }
            assert!(guessed.tries > 60, "{clients}: {}", guessed.tries);
        }
    }

    #[test]
    fn a_network_of_ipv6_is_one_address_and_that_of_a_subscriber_one_client() {
        let keys = |text: &str| {
            let address = text.parse().ok();
            address.map(|address| of_new_device("ann", address)).unwrap_or_default()
        };
        let equal = |one: &str, other: &str| -> Vec<bool> {
            keys(one).iter().zip(keys(other)).map(|(one, other)| *one == other).collect()
        };
        let [name, address, client] = [0, 1, 2].map(|_| true);
        assert_eq!(equal("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::1"), [name, address, client]);
        assert_eq!(equal("2001:db8:1:2::1", "2001:db8:1:3::1"), [name, !address, client]);
        assert_eq!(equal("2001:db8:1::1", "2001:db8:2::1"), [name, !address, !client]);
        assert_eq!(equal("192.0.2.1", "192.0.2.2"), [name, !address, !client]);
    }
}
