//! Slows down password guessing. The failures are counted in the database, for all hosts of the site
//! (`identity/failures.rs`); here the waits that follow from them are remembered, so that an attempt
//! during a wait costs no access to the database. A wait that another host has ended early, because
//! the password was correct there, is kept up here.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::database::Database;
use crate::identity::failures::{self, Key, REMEMBERED, Waits};

/// The waits of names, addresses, devices and sessions.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    known: Mutex<Known>,
}

/// When each wait ends.
#[derive(Debug, Default)]
struct Known(HashMap<Key, Instant>);

impl Throttle {
    /// How long an attempt with these keys has to wait, as far as this host knows.
    pub(crate) fn wait(&self, keys: &[Key]) -> Option<Duration> {
        lock(&self.known).wait(keys, Instant::now())
    }

    /// Begins an attempt, or returns how long to wait. An attempt counts as a failure until it
    /// succeeds.
    pub(crate) async fn begin(
        &self,
        database: &Database,
        keys: &[Key],
    ) -> Result<Option<Duration>, Error> {
        let begun = failures::begin(database, keys).await?;
        let longest = begun.waits.iter().map(|(_, wait)| *wait).max();
        self.learn(begun.waits);
        Ok(longest.filter(|_| !begun.allowed))
    }

    /// Takes the failures that [`Throttle::begin`] counted back: the password was correct.
    pub(crate) async fn succeed(&self, database: &Database, keys: &[Key]) -> Result<(), Error> {
        self.learn(failures::succeed(database, keys).await?);
        Ok(())
    }

    fn learn(&self, waits: Waits) {
        lock(&self.known).learn(waits, Instant::now());
    }
}

impl Known {
    fn wait(&self, keys: &[Key], now: Instant) -> Option<Duration> {
        let ends = keys.iter().filter_map(|key| self.0.get(key)).max()?;
        Some(ends.saturating_duration_since(now)).filter(|wait| !wait.is_zero())
    }

    fn learn(&mut self, waits: Waits, now: Instant) {
        for (key, wait) in waits {
            if wait.is_zero() {
                self.0.remove(&key);
                continue;
            }
            if self.0.len() >= 2 * REMEMBERED && !self.0.contains_key(&key) {
                self.make_room(now);
            }
            self.0.insert(key, now + wait);
        }
    }

    /// Forgets waits that are over, or else the one that ends first: the next attempt then asks the
    /// database.
    fn make_room(&mut self, now: Instant) {
        self.0.retain(|_, ends| *ends > now);
        if self.0.len() >= 2 * REMEMBERED
            && let Some(first) = self.0.iter().min_by_key(|(_, ends)| **ends).map(|(key, _)| *key)
        {
            self.0.remove(&first);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn keys(number: usize) -> Vec<Key> {
        let address = IpAddr::V4((number as u32).into());
        failures::of_new_device(&format!("user{number}"), address)
    }

    fn waits(number: usize, name: u64, address: u64) -> Waits {
        let seconds = [name, address, 0].map(Duration::from_secs);
        keys(number).into_iter().zip(seconds).collect()
    }

    #[test]
    fn the_longer_wait_counts_and_each_ends() {
        let (mut known, now) = (Known::default(), Instant::now());
        let wait = |known: &Known, after: u64| {
            known.wait(&keys(1), now + Duration::from_secs(after)).map(|wait| wait.as_secs())
        };
        assert_eq!(wait(&known, 0), None);
        known.learn(waits(1, 4, 9), now);
        assert_eq!(
            [0, 4, 8, 9, 10].map(|after| wait(&known, after)),
            [Some(9), Some(5), Some(1), None, None]
        );
        assert_eq!(known.wait(&keys(2), now), None);
        known.learn(waits(1, 4, 0), now);
        assert_eq!(wait(&known, 0), Some(4));
        known.learn(waits(1, 0, 0), now);
        assert_eq!(wait(&known, 0), None);
    }

    #[test]
    fn the_number_of_waits_is_limited() {
        let (mut known, now) = (Known::default(), Instant::now());
        for number in 0..REMEMBERED + 50 {
            known.learn(waits(number, 1, 2), now);
        }
        assert_eq!(known.0.len(), 2 * REMEMBERED);
        assert!(known.wait(&keys(REMEMBERED + 49), now).is_some());
        known.learn(waits(REMEMBERED + 51, 1, 1), now + Duration::from_secs(1));
        assert!(known.0.len() < 2 * REMEMBERED, "those that were over are gone");
    }
}
