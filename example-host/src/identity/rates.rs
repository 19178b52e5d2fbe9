//! The rates of tokens: how many requests a minute one may send, over all hosts of a site. A host counts in
//! memory and exchanges the counts with the others through the database twice a second, and only for tokens
//! that were used: together they exceed a rate by what arrives within that time.
//!
//! Requests are counted by minutes. The last minute is estimated: the requests of the current minute, and of
//! the one before the part that is less than a minute old, as if they had come evenly.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use host_service::RateLimit;

use crate::base::error::Error;
use crate::database::{Connection, Database, sql, transact};

/// How often the counts are exchanged.
const EXCHANGE_EVERY: Duration = Duration::from_millis(500);

/// The seconds in which as many requests are allowed as the rate says.
const WINDOW: u64 = 60;

/// The counts of the tokens with a rate that were used lately.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    counts: Mutex<HashMap<i64, Counts>>,
}

/// The requests of a token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// The number of the minute, since 1970.
    minute: u64,
    /// In this minute.
    current: Count,
    /// In the minute before.
    before: Count,
}

/// The requests of a token in a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    /// On all hosts, as far as they have exchanged their counts.
    known: u64,
    /// On this host, and not exchanged yet.
    own: u64,
}

impl Count {
    fn all(self) -> u64 {
        self.known + self.own
    }
}

/// A number of requests on this host that the others are yet to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Own {
    token: i64,
    minute: u64,
    count: u64,
}

impl Rates {
    /// Counts a request with a token. The error is for one request too many, which does not count.
    pub(crate) fn count(&self, token: i64, rate: u32) -> Result<RateLimit, RateLimit> {
        self.count_at(token, rate, since_1970())
    }

    fn count_at(&self, token: i64, rate: u32, now: Duration) -> Result<RateLimit, RateLimit> {
        let mut all = self.lock();
        let counts = all.entry(token).or_default();
        counts.advance(now.as_secs() / WINDOW);
        let rate = u64::from(rate);
        let counted = counts.estimate(now) < rate;
        if counted {
            counts.current.own += 1;
        }
        let remaining = rate.saturating_sub(counts.estimate(now));
        let wait = if remaining > 0 { counts.rest(now) } else { counts.wait(rate, now) };
        let limit = RateLimit { quota: rate, window: WINDOW, remaining, reset: wait };
        if counted { Ok(limit) } else { Err(limit) }
    }

    /// Exchanges the counts with the other hosts periodically, until the future is dropped.
    pub(crate) async fn follow(&self, database: &Database) {
        loop {
            tokio::time::sleep(EXCHANGE_EVERY).await;
            if let Err(error) = self.exchange(database).await {
                // Each host then allows the rate on its own.
                tracing::debug!(%error, "the rates of tokens could not be exchanged");
            }
        }
    }

    /// Tells the other hosts what was counted here, and reads what they have counted.
    async fn exchange(&self, database: &Database) -> Result<(), Error> {
        let minute = since_1970().as_secs() / WINDOW;
        let own = self.own(minute);
        if own.is_empty() {
            return Ok(());
        }
        let known = transact!(database, |transaction| {
            let mut known = Vec::with_capacity(own.len());
            for own in &own {
                known.push((*own, add(transaction, *own).await?));
            }
            Ok(known)
        })?;
        let mut all = self.lock();
        for (Own { token, minute, count }, known) in known {
            let Some(counts) = all.get_mut(&token) else { continue };
            if let Some(counted) = counts.of(minute) {
                counted.known = known;
                // More may have been counted meanwhile.
                counted.own = counted.own.saturating_sub(count);
            }
        }
        Ok(())
    }

    /// What was counted here for the tokens that were used in the last two minutes, in a fixed order. For
    /// the current minute also if nothing was, since other hosts may have counted. Other tokens are
    /// forgotten.
    fn own(&self, minute: u64) -> Vec<Own> {
        let mut all = self.lock();
        let mut own = Vec::new();
        all.retain(|token, counts| {
            counts.advance(minute);
            let Counts { before, current, .. } = *counts;
            let used = current.all() > 0 || before.all() > 0;
            if before.own > 0 {
                own.push(Own { token: *token, minute: minute - 1, count: before.own });
            }
            if used {
                own.push(Own { token: *token, minute, count: current.own });
            }
            used
        });
        // All hosts lock the rows in the same order.
        own.sort_unstable_by_key(|own| (own.token, own.minute));
        own
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, Counts>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    /// Goes on to another minute.
    fn advance(&mut self, minute: u64) {
        match minute.checked_sub(self.minute) {
            Some(0) | None => return,
            Some(1) => self.before = self.current,
            Some(_) => self.before = Count::default(),
        }
        (self.minute, self.current) = (minute, Count::default());
    }

    fn of(&mut self, minute: u64) -> Option<&mut Count> {
        match self.minute.checked_sub(minute) {
            Some(0) => Some(&mut self.current),
            Some(1) => Some(&mut self.before),
            _ => None,
        }
    }

    /// The requests of the last minute, rounded up.
    fn estimate(&self, now: Duration) -> u64 {
        (self.before.all() * self.rest(now)).div_ceil(WINDOW) + self.current.all()
    }

    /// The seconds until the next minute begins, rounded up.
    fn rest(&self, now: Duration) -> u64 {
        WINDOW - now.as_secs() % WINDOW
    }

    /// The seconds until there is room for a request.
    fn wait(&self, rate: u64, now: Duration) -> u64 {
        let (rest, current, before) = (self.rest(now), self.current.all(), self.before.all());
        if current < rate && before > 0 {
            // What is left of the minute before has to be less than the room of this one.
            let fits = ((rate - current - 1) * WINDOW) / before;
            return rest.saturating_sub(fits).max(1);
        }
        // In the next minute, this one is what has to become less.
        let fits = (rate.saturating_sub(1) * WINDOW) / current.max(1);
        rest + WINDOW.saturating_sub(fits)
    }
}

/// Adds to the count of a token that all hosts share, and returns the sum; 0 for a token that was revoked.
async fn add(transaction: &mut Connection, own: Own) -> Result<u64, Error> {
    let Own { token, minute, count } = own;
    let (minute, count) = (minute.cast_signed(), count.cast_signed());
    let read = || {
        sql("SELECT used FROM host_api_token_rates WHERE token_id = ? AND minute = ?")
            .bind(token)
            .bind(minute)
    };
    let found: Option<(i64,)> = transaction.fetch_optional(read()).await?;
    match found {
        Some(_) if count == 0 => {}
        Some(_) => {
            let statement = sql("UPDATE host_api_token_rates SET used = used + ? \
                 WHERE token_id = ? AND minute = ?");
            transaction.execute(statement.bind(count).bind(token).bind(minute)).await?;
        }
        None => {
            let old = sql("DELETE FROM host_api_token_rates WHERE token_id = ? AND minute < ?");
            transaction.execute(old.bind(token).bind(minute - 1)).await?;
            let statement = sql("INSERT INTO host_api_token_rates (token_id, minute, used) \
                 SELECT id, ?, ? FROM host_api_tokens WHERE id = ?");
            transaction.execute(statement.bind(minute).bind(count).bind(token)).await?;
        }
    }
    let sum: Option<(i64,)> = transaction.fetch_optional(read()).await?;
    Ok(sum.map_or(0, |(used,)| used.unsigned_abs()))
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Duration = Duration::from_secs(60 * 1_000_000);

    fn sent(rates: &Rates, rate: u32, at: Duration, count: usize) -> usize {
        (0..count).filter(|_| rates.count_at(1, rate, START + at).is_ok()).count()
    }

    #[test]
    fn as_many_requests_as_the_rate_are_allowed_in_a_minute() {
        let (rates, second) = (Rates::default(), Duration::from_secs(1));
        assert_eq!(sent(&rates, 60, second * 10, 40), 40);
        assert_eq!(sent(&rates, 60, second * 59, 40), 20);
        // At the beginning of the next minute nearly all of them still count.
        assert_eq!(sent(&rates, 60, second * 61, 10), 1);
        assert_eq!(sent(&rates, 60, second * 90, 60), 29);
        assert_eq!(sent(&rates, 60, second * 240, 100), 60);
    }

    #[test]
    fn the_limit_names_what_remains_and_how_long_to_wait() {
        let (rates, at) = (Rates::default(), START + Duration::from_secs(15));
        let limit = |remaining, reset| RateLimit { quota: 2, window: 60, remaining, reset };
        assert_eq!(rates.count_at(1, 2, at), Ok(limit(1, 45)));
        assert_eq!(rates.count_at(1, 2, at), Ok(limit(0, 75)));
        assert_eq!(rates.count_at(1, 2, at), Err(limit(0, 75)));
        let (early, then) = (at + Duration::from_secs(74), at + Duration::from_secs(75));
        assert!(rates.count_at(1, 2, early).is_err());
        assert!(rates.count_at(1, 2, then).is_ok());
        assert!(rates.count_at(2, 2, at).is_ok(), "another token has a count of its own");
    }

    #[test]
    fn after_the_time_to_wait_a_request_is_allowed() {
        for rate in [1, 2, 3, 7, 60, 1000] {
            let rates = Rates::default();
            let mut at = Duration::from_secs(13);
            for _ in 0..5 {
                let refused = loop {
                    if let Err(limit) = rates.count_at(1, rate, START + at) {
                        break limit;
                    }
                };
                at += Duration::from_secs(refused.reset);
                assert!(rates.count_at(1, rate, START + at).is_ok(), "{rate} after {refused:?}");
            }
        }
    }

    #[test]
    fn counts_of_another_host_count_here() {
        let rates = Rates::default();
        assert_eq!(sent(&rates, 10, Duration::ZERO, 3), 3);
        let minute = START.as_secs() / WINDOW;
        assert_eq!(rates.own(minute), [Own { token: 1, minute, count: 3 }]);
        if let Some(count) = rates.lock().get_mut(&1).and_then(|counts| counts.of(minute)) {
            *count = Count { known: 9, own: 0 };
        }
        assert_eq!(sent(&rates, 10, Duration::ZERO, 3), 1);
    }
}
