//! Slows down password guessing: after a few failures for a name or from an address, each further
//! failure doubles the wait. Names are treated alike whether they exist or not. The number of
//! entries is limited, and of a name only a hash is kept, so that each entry has the same size.
//!
//! Crates for rate limits are not used, because they refill at a fixed rate: none doubles the wait,
//! or takes an attempt back when the password was correct.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// The limits for a name. The longest wait is short, because any client can make another user wait;
/// a password of twelve characters is safe at one guess a minute.
const NAME: Limits = Limits { free: 5, longest: Duration::from_secs(60) };
/// The limits for an address, which several people may share.
const ADDRESS: Limits = Limits { free: 20, longest: Duration::from_secs(15 * 60) };

/// After this time failures no longer count.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// The maximum number of names, and of addresses, that are kept.
const REMEMBERED: usize = 10_000;

/// The failures by name and by address.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    tries: Mutex<Tries>,
}

#[derive(Debug, Default)]
struct Tries {
    names: HashMap<NameHash, Failures>,
    addresses: HashMap<IpAddr, Failures>,
}

/// The hash of a name.
type NameHash = [u8; 32];

#[derive(Clone, Copy, Debug)]
struct Failures {
    count: u32,
    last: Instant,
}

struct Limits {
    free: u32,
    longest: Duration,
}

impl Throttle {
    /// Begins an attempt, or returns how long to wait. An attempt counts as a failure until it
    /// succeeds, so that concurrent attempts are counted too.
    pub(crate) fn begin(&self, name: &str, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let (name, address) = (hash(name), network(address));
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = wait(&tries.names, &name, &NAME, now).max(wait(
            &tries.addresses,
            &address,
            &ADDRESS,
            now,
        ));
        if !wait.is_zero() {
            return Err(wait);
        }
        fail(&mut tries.names, name, now);
        fail(&mut tries.addresses, address, now);
        Ok(())
    }

    /// Takes the failure that [`Throttle::begin`] counted back: the password was correct.
    pub(crate) fn succeed(&self, name: &str, address: IpAddr) {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.names.remove(&hash(name));
        // Only one failure of the address is taken back, because a user with a password could
        // otherwise guess those of others without a wait.
        if let Some(failures) = tries.addresses.get_mut(&network(address)) {
            failures.count = failures.count.saturating_sub(1);
        }
    }
}

/// How long to wait before the next attempt.
fn wait<K: Hash + Eq>(
    known: &HashMap<K, Failures>,
    key: &K,
    limits: &Limits,
    now: Instant,
) -> Duration {
    let Some(failures) = known.get(key) else { return Duration::ZERO };
    let passed = now.saturating_duration_since(failures.last);
    let Some(beyond) = failures.count.checked_sub(limits.free) else { return Duration::ZERO };
    if passed > FORGOTTEN {
        return Duration::ZERO;
    }
    let whole = Duration::from_secs(1).saturating_mul(2_u32.saturating_pow(beyond));
    whole.min(limits.longest).saturating_sub(passed)
}

fn fail<K: Hash + Eq + Clone>(known: &mut HashMap<K, Failures>, key: K, now: Instant) {
    let forgotten = |failures: &Failures| now.saturating_duration_since(failures.last) > FORGOTTEN;
    if known.len() >= REMEMBERED && !known.contains_key(&key) {
        known.retain(|_, failures| !forgotten(failures));
        if known.len() >= REMEMBERED {
            let oldest = known.iter().min_by_key(|(_, failures)| failures.last);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                known.remove(&oldest);
            }
        }
    }
    let failures = known.entry(key).or_insert(Failures { count: 0, last: now });
    if forgotten(failures) {
        failures.count = 0;
    }
    failures.count = failures.count.saturating_add(1);
    failures.last = now;
}

fn hash(name: &str) -> NameHash {
    Sha256::digest(name).into()
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

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn tried(throttle: &Throttle, name: &str, at: Instant) -> Option<u64> {
        throttle.begin(name, HERE, at).err().map(|wait| wait.as_secs())
    }

    #[test]
    fn each_failure_of_a_name_doubles_the_wait() {
        let (throttle, mut now) = (Throttle::default(), Instant::now());
        for _ in 0..5 {
            assert_eq!(tried(&throttle, "ann", now), None);
        }
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(tried(&throttle, "ann", now), Some(wait));
            assert_eq!(
                tried(&throttle, "ann", now),
                Some(wait),
                "an attempt during the wait does not count"
            );
            now += Duration::from_secs(wait);
            assert_eq!(tried(&throttle, "ann", now), None);
        }
        assert_eq!(tried(&throttle, "bob", now), None, "another name does not wait");
    }

    #[test]
    fn a_correct_password_and_time_both_reset_the_wait() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for _ in 0..5 {
            assert_eq!(tried(&throttle, "ann", now), None);
        }
        throttle.succeed("ann", HERE);
        assert_eq!(tried(&throttle, "ann", now), None);
        for _ in 0..4 {
            assert_eq!(tried(&throttle, "ann", now), None);
        }
        assert!(tried(&throttle, "ann", now).is_some());
        let later = now + FORGOTTEN + Duration::from_secs(1);
        for _ in 0..5 {
            assert_eq!(tried(&throttle, "ann", later), None);
        }
    }

    #[test]
    fn failures_of_an_address_count_for_all_names() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..20 {
            assert_eq!(tried(&throttle, &format!("user{number}"), now), None);
        }
        assert_eq!(tried(&throttle, "another", now), Some(1));
        let elsewhere: IpAddr = std::net::Ipv4Addr::new(192, 0, 2, 1).into();
        assert!(throttle.begin("another", elsewhere, now).is_ok());
    }

    #[test]
    fn a_correct_password_resets_its_name_but_not_the_address() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..19 {
            assert_eq!(tried(&throttle, &format!("user{number}"), now), None);
        }
        for _ in 0..3 {
            assert_eq!(tried(&throttle, "ann", now), None);
            throttle.succeed("ann", HERE);
        }
        assert_eq!(tried(&throttle, "user0", now), None, "the twentieth failure");
        assert_eq!(
            tried(&throttle, "ann", now),
            Some(1),
            "the nineteen failures and this one still count"
        );
    }

    #[test]
    fn the_number_of_entries_is_limited() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..u32::try_from(REMEMBERED).unwrap_or_default() + 50 {
            let address = IpAddr::V4(number.into());
            assert!(throttle.begin(&number.to_string(), address, now).is_ok());
        }
        let tries = throttle.tries.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!((tries.names.len(), tries.addresses.len()), (REMEMBERED, REMEMBERED));
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let address = |text: &str| text.parse().map(network).ok();
        assert_eq!(address("2001:db8:1:2:3:4:5:6"), address("2001:db8:1:2::1"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
    }
}
