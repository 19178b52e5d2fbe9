//! The rates of tokens: how many requests one may send in any 60 seconds, over all hosts of a site. A host
//! counts its own requests exactly, in memory. It exchanges the counts with the others through the database
//! twice a second, and only for tokens that were used: together they exceed a rate by what arrives within
//! that time.
//!
//! Hosts measure time by clocks that nobody can set. In the database requests are counted by the minutes of
//! its own clock, and what others have added since the last exchange has come just now. Where a host has no
//! such exchange to compare with, it takes the requests of a minute to have come evenly.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use host_service::RateLimit;

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::database::{Connection, Database, sql, transact};

use super::window::{self, Window};

/// How often the counts are exchanged.
const EXCHANGE_EVERY: Duration = Duration::from_millis(500);

/// How old an exchange may be for the next one to be compared with it.
const RECENT: Duration = Duration::from_secs(5);

/// How long a token is remembered after its last request has left the window: longer than its counts in
/// the database are read, so that a host does not take its own for those of others.
const REMEMBERED: Duration = Duration::from_secs(180);

/// A minute of the clock of the database, in milliseconds.
const MINUTE: i64 = 60_000;

/// The counts of the tokens with a rate that were used lately.
#[derive(Debug)]
pub(crate) struct Rates {
    begun: Instant,
    tokens: Mutex<HashMap<i64, Used>>,
}

impl Default for Rates {
    fn default() -> Self {
        Self { begun: Instant::now(), tokens: Mutex::default() }
    }
}

/// The requests of a token.
#[derive(Debug, Default)]
struct Used {
    rate: u64,
    /// On all hosts, as far as they have exchanged their counts.
    window: Window,
    /// On this host, and not exchanged yet.
    unsent: u64,
    /// When there was a request last.
    last: Duration,
    /// The last exchange, and the counts of all hosts by minutes, as they were then; of minutes to come, what was known
    /// of them before the clock was set back.
    exchanged: Option<(Duration, Vec<Shared>)>,
}

/// A minute and the requests of all hosts in it.
type Shared = (i64, u64);

impl Rates {
    /// Counts a request with a token. The error is for one request too many, which does not count.
    pub(crate) fn count(&self, token: i64, rate: u32) -> Result<RateLimit, RateLimit> {
        self.count_at(token, rate, self.begun.elapsed())
    }

    fn count_at(&self, token: i64, rate: u32, now: Duration) -> Result<RateLimit, RateLimit> {
        let mut tokens = lock(&self.tokens);
        let used = tokens.entry(token).or_default();
        let rate = u64::from(rate);
        (used.rate, used.last) = (rate, now);
        used.window.advance(now);
        let counted = used.window.count() < rate;
        if counted {
            used.window.add(1, rate, now);
            used.unsent += 1;
        }
        let count = used.window.count();
        let remaining = rate.saturating_sub(count);
        // More are allowed as soon as the oldest leaves; after more than the rate, as soon as there is room.
        let wait = used.window.until_below(rate, now);
        let reset = wait.as_millis().div_ceil(1000).max(1);
        let limit = RateLimit {
            quota: rate,
            window: window::LENGTH.as_secs(),
            remaining,
            reset: u64::try_from(reset).unwrap_or(u64::MAX),
        };
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
        let unsent = self.unsent(self.begun.elapsed());
        if unsent.is_empty() {
            return Ok(());
        }
        let (clock, shared) = transact!(database, |transaction| {
            let clock = transaction.now().await?;
            let mut shared = Vec::with_capacity(unsent.len());
            for (token, count) in &unsent {
                shared.push(share(transaction, *token, *count, clock / MINUTE).await?);
            }
            Ok((clock, shared))
        })?;
        let now = self.begun.elapsed();
        let mut tokens = lock(&self.tokens);
        for ((token, sent), shared) in unsent.into_iter().zip(shared) {
            if let Some(used) = tokens.get_mut(&token) {
                used.learn(sent, shared, clock, now);
            }
        }
        Ok(())
    }

    /// The tokens with requests in the window, in a fixed order, each with what was counted here. If nothing
    /// was, other hosts may have counted. Tokens that were not used for long are forgotten.
    fn unsent(&self, now: Duration) -> Vec<(i64, u64)> {
        let mut tokens = lock(&self.tokens);
        let mut unsent = Vec::new();
        tokens.retain(|token, used| {
            used.window.advance(now);
            // After an outage, what has left the window is of no interest any more.
            used.unsent = used.unsent.min(used.window.count());
            if used.window.count() > 0 {
                unsent.push((*token, used.unsent));
            }
            used.window.count() > 0 || now.saturating_sub(used.last) < REMEMBERED
        });
        // All hosts lock the rows in the same order.
        unsent.sort_unstable();
        unsent
    }
}

impl Used {
    /// Adds what others have counted, after an exchange at this time of the database's clock.
    fn learn(&mut self, sent: u64, shared: Vec<Shared>, clock: i64, now: Duration) {
        // More may have been counted meanwhile.
        self.unsent = self.unsent.saturating_sub(sent);
        let passed = Duration::from_millis(clock.rem_euclid(MINUTE).unsigned_abs());
        let current = clock / MINUTE;
        let mut exchanged = Vec::with_capacity(shared.len());
        for (minute, count) in shared {
            let is_current = minute == current;
            let own = if is_current { sent } else { 0 };
            let (recent, known) = self.known(minute, now);
            // A minute to come, because the clock was set back. What is known of it stays known until it comes again.
            if minute > current {
                exchanged.push((minute, count.min(known)));
                continue;
            }
            exchanged.push((minute, count));
            let others = count.saturating_sub(known + own);
            if recent {
                self.window.add(others, self.rate, now);
            } else {
                let end = if is_current { Duration::ZERO } else { passed };
                let begin = if is_current { passed } else { passed + window::LENGTH };
                self.window.spread(others, (end, begin), now);
            }
        }
        self.exchanged = Some((now, exchanged));
    }

    /// Whether the last exchange is a recent one, and the count of a minute as it was then.
    fn known(&self, minute: i64, now: Duration) -> (bool, u64) {
        let Some((at, shared)) = &self.exchanged else { return (false, 0) };
        let known = shared.iter().find(|(of, _)| *of == minute).map_or(0, |(_, count)| *count);
        (now.saturating_sub(*at) < RECENT, known)
    }
}

/// Adds to the count of a token that all hosts share, and returns its counts of this minute, of the one
/// before, and of any to come; none for a token that was revoked.
async fn share(
    transaction: &mut Connection,
    token: i64,
    count: u64,
    minute: i64,
) -> Result<Vec<Shared>, Error> {
    if count > 0 {
        let count = count.cast_signed();
        let statement = sql("UPDATE host_api_token_rates SET used = used + ? \
             WHERE token_id = ? AND minute = ?");
        let statement = statement.bind(count).bind(token).bind(minute);
        if transaction.execute(statement).await? == 0 {
            // Minutes to come are there if the clock was set back.
            let other = sql("DELETE FROM host_api_token_rates \
                 WHERE token_id = ? AND (minute < ? OR minute > ?)");
            transaction.execute(other.bind(token).bind(minute - 1).bind(minute)).await?;
            let statement = sql("INSERT INTO host_api_token_rates (token_id, minute, used) \
                 SELECT id, ?, ? FROM host_api_tokens WHERE id = ?");
            transaction.execute(statement.bind(minute).bind(count).bind(token)).await?;
        }
    }
    let statement = sql("SELECT minute, used FROM host_api_token_rates \
         WHERE token_id = ? AND minute >= ?");
    let found: Vec<(i64, i64)> =
        transaction.fetch_all(statement.bind(token).bind(minute - 1)).await?;
    Ok(found.into_iter().map(|(minute, used)| (minute, used.unsigned_abs())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time of the database's clock at which a minute begins.
    const CLOCK: i64 = MINUTE * 1_000_000;

    const fn seconds(number: u64) -> Duration {
        Duration::from_secs(number)
    }

    fn sent(rates: &Rates, rate: u32, at: Duration, count: usize) -> usize {
        (0..count).filter(|_| rates.count_at(1, rate, at).is_ok()).count()
    }

    /// An exchange of token 1 that finds these counts.
    fn exchange(rates: &Rates, shared: &[Shared], clock: i64, now: Duration) {
        let unsent = rates.unsent(now);
        let mut tokens = lock(&rates.tokens);
        if let (Some(used), [(1, sent)]) = (tokens.get_mut(&1), unsent.as_slice()) {
            used.learn(*sent, shared.to_vec(), clock, now);
        }
    }

    #[test]
    fn no_minute_has_more_requests_than_the_rate() {
        let rates = Rates::default();
        assert_eq!(sent(&rates, 60, seconds(59), 70), 60);
        for second in 60..119 {
            assert_eq!(sent(&rates, 60, seconds(second), 1), 0, "{second}");
        }
        assert_eq!(sent(&rates, 60, seconds(119), 40), 40);
        assert_eq!(sent(&rates, 60, seconds(150), 40), 20);
        assert_eq!(sent(&rates, 60, seconds(178), 40), 0);
        assert_eq!(sent(&rates, 60, seconds(179), 60), 40);
    }

    #[test]
    fn the_limit_names_what_remains_and_how_long_to_wait() {
        let (rates, at) = (Rates::default(), seconds(15));
        let limit = |remaining, reset| RateLimit { quota: 2, window: 60, remaining, reset };
        assert_eq!(rates.count_at(1, 2, at), Ok(limit(1, 60)));
        assert_eq!(rates.count_at(1, 2, at + seconds(20)), Ok(limit(0, 40)));
        assert_eq!(rates.count_at(1, 2, at + seconds(30)), Err(limit(0, 30)));
        assert!(rates.count_at(1, 2, at + seconds(59)).is_err());
        assert_eq!(rates.count_at(1, 2, at + seconds(60)), Ok(limit(0, 20)));
        assert!(rates.count_at(2, 2, at).is_ok(), "another token has a count of its own");
    }

    #[test]
    fn after_the_time_to_wait_a_request_is_allowed() {
        for rate in [1, 2, 3, 7, 60, 1000] {
            let rates = Rates::default();
            let mut at = Duration::from_millis(13_400);
            for _ in 0..5 {
                let refused = loop {
                    match rates.count_at(1, rate, at) {
                        Ok(_) => at += Duration::from_micros(700),
                        Err(limit) => break limit,
                    }
                };
                at += seconds(refused.reset);
                assert!(rates.count_at(1, rate, at).is_ok(), "{rate} after {refused:?}");
            }
        }
    }

    #[test]
    fn counts_of_another_host_count_here() {
        let (rates, minute) = (Rates::default(), CLOCK / MINUTE);
        assert_eq!(sent(&rates, 10, seconds(100), 3), 3);
        exchange(&rates, &[(minute, 3)], CLOCK + 1000, seconds(100));
        assert_eq!(rates.unsent(seconds(100)), [(1, 0)]);
        // Six of another host, which has come to know of these three.
        exchange(&rates, &[(minute, 9)], CLOCK + 1500, seconds(101));
        assert_eq!(sent(&rates, 10, seconds(101), 3), 1);
        // In the next minute the other host reports one more of this one.
        let next = CLOCK + MINUTE + 200;
        exchange(&rates, &[(minute, 10), (minute + 1, 1)], next, seconds(102));
        assert_eq!(sent(&rates, 10, seconds(160), 9), 2, "the first three have left");
        assert_eq!(sent(&rates, 10, seconds(161), 9), 7);
    }

    #[test]
    fn what_is_known_of_no_exchange_has_come_evenly() {
        let (rates, minute) = (Rates::default(), CLOCK / MINUTE);
        assert_eq!(sent(&rates, 100, seconds(100), 1), 1);
        // Half a minute has passed: half of those of the minute before, and all of this one.
        let shared = [(minute - 1, 60), (minute, 31)];
        exchange(&rates, &shared, CLOCK + 30_000, seconds(100));
        assert_eq!(sent(&rates, 100, seconds(100), 100), 100 - 1 - 30 - 30);
    }

    #[test]
    fn a_clock_that_is_set_back_harms_nobody() {
        let (rates, minute) = (Rates::default(), CLOCK / MINUTE);
        assert_eq!(sent(&rates, 10, seconds(100), 9), 9);
        exchange(&rates, &[(minute, 9)], CLOCK + 1000, seconds(100));
        exchange(&rates, &[(minute - 60, 0)], CLOCK - 60 * MINUTE, seconds(101));
        assert_eq!(sent(&rates, 10, seconds(101), 9), 1);
        exchange(&rates, &[(minute - 60, 1)], CLOCK - 60 * MINUTE + 500, seconds(102));
        assert_eq!(sent(&rates, 10, seconds(160), 20), 9);
    }

    #[test]
    fn a_token_that_only_another_host_counts_is_remembered() {
        let (rates, minute) = (Rates::default(), CLOCK / MINUTE);
        assert_eq!(sent(&rates, 10, seconds(100), 1), 1);
        for passed in 1..300 {
            let (current, counts) = (minute + passed / 60, passed.unsigned_abs() % 60 + 1);
            let now = seconds(100 + passed.unsigned_abs());
            exchange(&rates, &[(current, counts)], CLOCK + passed * 1000, now);
        }
        assert_eq!(sent(&rates, 10, seconds(400), 1), 0, "the other host has sent one each second");
    }

    /// An exchange of token 1 through a database whose clock has this time.
    async fn exchange_through(
        database: &Database,
        rates: &Rates,
        clock: i64,
        now: Duration,
    ) -> Result<(), Error> {
        let sent = rates.unsent(now).first().map_or(0, |(_, sent)| *sent);
        let shared = transact!(database, |transaction| {
            share(transaction, 1, sent, clock / MINUTE).await
        })?;
        exchange(rates, &shared, clock, now);
        Ok(())
    }

    #[tokio::test]
    async fn a_minute_that_comes_again_counts_its_requests_once()
    -> Result<(), Box<dyn std::error::Error>> {
        let file = format!("{}/rates-{}.db", std::env::temp_dir().display(), std::process::id());
        let database = Database::open(&format!("sqlite://{file}").parse()?)?;
        for table in [
            "CREATE TABLE host_api_tokens AS SELECT 1 AS id",
            "CREATE TABLE host_api_token_rates (token_id INTEGER, minute INTEGER, used INTEGER)",
        ] {
            database.execute(sql(table)).await?;
        }
        let [here, there] = [Rates::default(), Rates::default()];
        assert_eq!(sent(&here, 10, seconds(100), 6), 6);
        exchange_through(&database, &here, CLOCK + 10_000, seconds(100)).await?;
        // The clock is set back to the minute before, in which there is nothing to add, and the minute comes again.
        exchange_through(&database, &here, CLOCK - 100, seconds(101)).await?;
        exchange_through(&database, &here, CLOCK + 100, seconds(102)).await?;
        assert_eq!(sent(&here, 10, seconds(102), 1), 1, "only its own six count");
        exchange_through(&database, &here, CLOCK + 600, seconds(103)).await?;
        // What another host adds then counts here as ever.
        assert_eq!(sent(&there, 10, seconds(103), 2), 2);
        exchange_through(&database, &there, CLOCK + 700, seconds(103)).await?;
        exchange_through(&database, &here, CLOCK + 1_100, seconds(104)).await?;
        assert_eq!(sent(&here, 10, seconds(104), 9), 1);
        database.close().await;
        std::fs::remove_file(file)?;
        Ok(())
    }

    #[test]
    fn own_counts_in_the_database_are_not_taken_for_those_of_others() {
        let (rates, minute) = (Rates::default(), CLOCK / MINUTE);
        assert_eq!(sent(&rates, 10, seconds(100), 10), 10);
        exchange(&rates, &[(minute, 10)], CLOCK + 1000, seconds(100));
        assert_eq!(rates.unsent(seconds(161)), [], "its requests have left the window");
        assert_eq!(sent(&rates, 10, seconds(162), 1), 1);
        exchange(&rates, &[(minute, 10), (minute + 1, 1)], CLOCK + MINUTE + 3000, seconds(162));
        assert_eq!(sent(&rates, 10, seconds(162), 20), 9);
        assert_eq!(rates.unsent(seconds(500)), []);
        assert!(lock(&rates.tokens).is_empty());
    }
}
