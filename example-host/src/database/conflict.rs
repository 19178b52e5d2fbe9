//! Retrying changes that the database refuses because of concurrent ones.

use std::time::{Duration, Instant};

use sqlx::mysql::MySqlDatabaseError;

use crate::base::error::Error;

/// For how long a request repeats a change.
const REQUEST: Duration = Duration::from_secs(5);
/// For how long a start repeats its changes: hosts that serve write all the time, and each of them has its
/// turn before.
const START: Duration = Duration::from_secs(60);
/// The longest pause before another attempt.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Runs work in a transaction, which is committed if the work returns `Ok`.
///
/// The changes of all processes wait for each other at the row of the site's state, so the data
/// that the work reads cannot change before it is done. If the database still refuses a change
/// because of a concurrent one, as the nodes of a cluster do, the work is run again from the start.
///
/// This is a macro because the compiler cannot prove that the future of a closure with borrowed
/// arguments is `Send`.
macro_rules! transact {
    ($database:expr, |$transaction:ident| $work:expr) => {
        $crate::database::conflict::transact!(
            $database,
            $crate::database::conflict::Attempts::of_a_request(),
            |$transaction| $work
        )
    };
    ($database:expr, $attempts:expr, |$transaction:ident| $work:expr) => {{
        let mut attempts = $attempts;
        loop {
            let attempt: Result<_, $crate::base::error::Error> = async {
                let mut connection = $database.begin_write().await?;
                let $transaction = &mut connection;
                let done = async { $work }.await;
                connection.finish(done).await
            }
            .await;
            match attempt {
                Err(error) if attempts.another(&error).await => {}
                done => break done,
            }
        }
    }};
}
pub(crate) use transact;

/// The attempts at a change so far, and until when there may be others.
pub(crate) struct Attempts {
    count: u32,
    until: Instant,
}

impl Attempts {
    /// Those of a request, which somebody waits for.
    pub(crate) fn of_a_request() -> Self {
        Self { count: 0, until: Instant::now() + REQUEST }
    }

    /// Those of a start.
    pub(crate) fn of_a_start() -> Self {
        Self { count: 0, until: Instant::now() + START }
    }

    /// Whether to try again; waits before it returns, so that the other change can finish.
    pub(crate) async fn another(&mut self, error: &Error) -> bool {
        if Instant::now() >= self.until || !is_conflict(error) {
            return false;
        }
        self.count += 1;
        tracing::debug!(%error, attempt = self.count, "retrying a change");
        let pause = Duration::from_millis(10) * (1 << self.count.min(10));
        tokio::time::sleep(pause.min(LONGEST_PAUSE)).await;
        true
    }
}

/// Whether the database rolled a change back because of a concurrent one, so that a retry may
/// succeed: a deadlock, a serialisation failure, a failed certification in a cluster, or a lock that others
/// held for too long.
fn is_conflict(error: &Error) -> bool {
    let Error::Database(error) = error else { return false };
    refused_for_others(error)
}

/// Whether an error of the database driver is due to others.
pub(super) fn refused_for_others(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        // Lock wait timeout, deadlock (also reported by a cluster), record changed since last read,
        // and a missing savepoint, because the transaction was rolled back.
        return matches!(error.number(), 1205 | 1213 | 1020 | 1305);
    }
    matches!(error.code().as_deref(), Some("40001" | "40P01" | "55P03"))
}
