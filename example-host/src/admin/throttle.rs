//! Slows down password guessing: after a few failures for a name or from an address, each further one
//! doubles the wait. Names that exist and names that do not are treated alike, and a bounded number of
//! both is remembered: of a name only its hash, so that its length does not matter.
//!
//! Written here because crates for rate limits refill at a fixed rate: none doubles a wait, or takes
//! a try back when its password was right.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

/// Failures for a name that cost nothing, and the longest wait. It is short, because anybody can
/// make somebody else wait; at one guess a minute a password of twelve characters holds.
const NAME: Limits = Limits { free: 5, longest: Duration::from_secs(60) };
/// The same from an address, from which several people may come.
const ADDRESS: Limits = Limits { free: 20, longest: Duration::from_secs(15 * 60) };

/// When a failure is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// How many names and how many addresses are remembered.
const REMEMBERED: usize = 10_000;

/// Failures of all who try.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    tries: Mutex<Tries>,
}

#[derive(Debug, Default)]
struct Tries {
    names: HashMap<NameHash, Failures>,
    addresses: HashMap<IpAddr, Failures>,
}

/// What is remembered of a name.
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
    /// Begins a try, which counts as a failure until it is known to be none, so that many at the
    /// same time count too. Or gives how long to wait.
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

    /// Takes back what [`Throttle::begin`] has counted: the password was right.
    pub(crate) fn succeed(&self, name: &str, address: IpAddr) {
        let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
        tries.names.remove(&hash(name));
        // Whoever has a password of their own must not be able to guess others' without a wait.
        if let Some(failures) = tries.addresses.get_mut(&network(address)) {
            failures.count = failures.count.saturating_sub(1);
        }
    }
}

/// How long to wait before the next try.
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

/// An address as one who has it can be told from another: of IPv6, everybody has a whole network.
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
    fn a_name_has_to_wait_longer_after_each_failure() {
        let (throttle, mut now) = (Throttle::default(), Instant::now());
        for _ in 0..5 {
            assert_eq!(tried(&throttle, "ann", now), None);
        }
        for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
            assert_eq!(tried(&throttle, "ann", now), Some(wait));
            assert_eq!(tried(&throttle, "ann", now), Some(wait), "waiting costs nothing more");
            now += Duration::from_secs(wait);
            assert_eq!(tried(&throttle, "ann", now), None);
        }
        assert_eq!(tried(&throttle, "bob", now), None, "another name does not wait");
    }

    #[test]
    fn the_right_password_ends_the_wait_and_so_does_time() {
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
    fn an_address_waits_whatever_names_it_tries() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..20 {
            assert_eq!(tried(&throttle, &format!("user{number}"), now), None);
        }
        assert_eq!(tried(&throttle, "another", now), Some(1));
        let elsewhere: IpAddr = std::net::Ipv4Addr::new(192, 0, 2, 1).into();
        assert!(throttle.begin("another", elsewhere, now).is_ok());
    }

    #[test]
    fn a_right_password_clears_its_own_name_and_nothing_else_of_the_address() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for number in 0..19 {
            assert_eq!(tried(&throttle, &format!("user{number}"), now), None);
        }
        for _ in 0..3 {
            assert_eq!(tried(&throttle, "ann", now), None);
            throttle.succeed("ann", HERE);
        }
        assert_eq!(tried(&throttle, "user0", now), None, "the twentieth failure");
        assert_eq!(tried(&throttle, "ann", now), Some(1), "nineteen and one have stayed");
    }

    #[test]
    fn what_is_remembered_is_bounded() {
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
