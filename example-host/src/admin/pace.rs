//! How much of the time a host checks passwords: as much as people need, and a tenth of it while more
//! and more of them wait, which only guesses cause. It does not know whose passwords they are.
//!
//! Measured on two processors: without a limit, guesses made the slowest hundredth of the API's answers
//! take up to twice as long, whatever the priority of the thread that hashes. With a pause after each
//! password it was up to five times, and with few long pauses 1.1 to 1.2 times.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::base::error::Error;
use crate::base::lock::lock;

/// The part of the time that may be used in the long run.
const PART: u32 = 10;

/// How much may be used at once after a time without passwords: enough for two hundred people who sign
/// in at the same time.
const SAVED: Duration = Duration::from_secs(5);

/// How much has to be there again before the next password is checked, once nothing is left. Each time
/// that hashing begins, other threads wait for a processor for some milliseconds, so few long runs
/// disturb them less than many short ones.
const RUN: Duration = Duration::from_millis(500);

/// Checks one password at a time, and rests in between.
#[derive(Debug)]
pub(crate) struct Pace {
    turn: Semaphore,
    debt: Mutex<Debt>,
}

impl Pace {
    pub(crate) fn new() -> Self {
        Self { turn: Semaphore::new(1), debt: Mutex::new(Debt::new(Instant::now())) }
    }

    /// Checks a password when it is its turn. The check returns how long a processor worked on it, too.
    pub(crate) async fn check(
        &self,
        check: impl Future<Output = Result<(bool, Duration), Error>>,
    ) -> Result<bool, Error> {
        // The semaphore is never closed.
        let _turn = self.turn.acquire().await.ok();
        sleep(self.debt(|debt| debt.rest(Instant::now()))).await;
        self.check_at_once(check).await
    }

    /// Checks a password at once, which others make up for.
    pub(crate) async fn check_at_once(
        &self,
        check: impl Future<Output = Result<(bool, Duration), Error>>,
    ) -> Result<bool, Error> {
        let (right, took) = check.await?;
        self.debt(|debt| debt.add(took, Instant::now()));
        Ok(right)
    }

    fn debt<T>(&self, read: impl FnOnce(&mut Debt) -> T) -> T {
        read(&mut lock(&self.debt))
    }
}

/// The time that was used, as the moment when it will have been made up for.
#[derive(Debug)]
struct Debt {
    paid: Instant,
}

impl Debt {
    fn new(now: Instant) -> Self {
        Self { paid: now }
    }

    /// How long to rest before the next password is checked.
    fn rest(&self, now: Instant) -> Duration {
        let open = self.paid.saturating_duration_since(now);
        if open > SAVED * PART { open - (SAVED - RUN) * PART } else { Duration::ZERO }
    }

    fn add(&mut self, took: Duration, now: Instant) {
        self.paid = self.paid.max(now) + took * PART;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many seconds pass, and how many of them are rests, until so many passwords have been
    /// checked, each for so many milliseconds and so long after the one before.
    fn seconds(count: u32, took: u64, after: u64) -> (u64, u64) {
        let begun = Instant::now();
        let (mut debt, mut now, mut rests) = (Debt::new(begun), begun, Duration::ZERO);
        for _ in 0..count {
            let rest = debt.rest(now);
            rests += rest;
            now += rest + Duration::from_millis(took);
            debt.add(Duration::from_millis(took), now);
            now += Duration::from_millis(after);
        }
        ((now - begun).as_secs(), rests.as_secs())
    }

    #[test]
    fn people_do_not_wait() {
        assert_eq!(seconds(250, 20, 0), (5, 0), "all at once");
        assert_eq!(seconds(10_000, 20, 180), (2_000, 0), "five a second");
        assert_eq!(seconds(10_000, 150, 1_350), (15_000, 0), "on a slow machine");
    }

    #[test]
    fn guesses_get_a_tenth_of_the_time() {
        for took in [20, 150] {
            let (all, rests) = seconds(10_000, took, 0);
            let worked = all - rests;
            assert!((all / 11..=all / 9).contains(&worked), "{worked} of {all} seconds");
        }
    }

    #[tokio::test]
    async fn passwords_are_checked_one_at_a_time() {
        let pace = Pace::new();
        let checking = &Semaphore::new(1);
        let check = |right| {
            pace.check(async move {
                let _alone = checking.try_acquire().map_err(|_| Error::Password("two".into()))?;
                tokio::task::yield_now().await;
                Ok((right, Duration::ZERO))
            })
        };
        let (first, second) = tokio::join!(check(true), check(false));
        assert_eq!((first.ok(), second.ok()), (Some(true), Some(false)));
    }

    #[tokio::test]
    async fn whoever_is_known_waits_for_no_rest() {
        let pace = Pace::new();
        let check = |took| async move { Ok((true, Duration::from_secs(took))) };
        assert!(pace.check(check(3_600)).await.is_ok());
        let waiting = pace.check(check(0));
        let known = async {
            tokio::task::yield_now().await;
            pace.check_at_once(check(0)).await
        };
        tokio::select! {
            biased;
            _ = waiting => unreachable!("there is a rest of hours"),
            right = known => assert_eq!(right.ok(), Some(true)),
        }
    }
}
