//! Retrying changes that the database refuses because of concurrent ones.

use std::time::Duration;

use sqlx::mysql::MySqlDatabaseError;

use crate::base::error::Error;

/// The maximum number of attempts at a change.
const ATTEMPTS: u32 = 8;

/// Runs work in a transaction, which is committed if the work returns `Ok`.
///
/// The changes of all processes wait for each other at the row of the site's state, so the data
/// that the work reads cannot change before it is done. If the database still refuses a change
/// because of a concurrent one, as the nodes of a cluster do, the work is run again from the start.
///
/// This is a macro because the compiler cannot prove that the future of a closure with borrowed
/// arguments is `Send`.
macro_rules! transact {
    ($database:expr, |$transaction:ident| $work:expr) => {{
        let mut attempts = $crate::database::conflict::Attempts::default();
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

/// The number of attempts at a change so far.
#[derive(Default)]
pub(crate) struct Attempts(u32);

impl Attempts {
    /// Whether to try again; waits before it returns, so that the other change can finish.
    pub(crate) async fn another(&mut self, error: &Error) -> bool {
        self.0 += 1;
        if self.0 >= ATTEMPTS || !is_conflict(error) {
            return false;
        }
        tracing::debug!(%error, attempt = self.0, "retrying a change");
        tokio::time::sleep(Duration::from_millis(10) * (1 << self.0)).await;
        true
    }
}

/// Whether the database rolled a change back because of a concurrent one, so that a retry may
/// succeed: a deadlock, a serialisation failure, or a failed certification in a cluster.
fn is_conflict(error: &Error) -> bool {
    let Error::Database(error) = error else { return false };
    refused_for_others(error)
}

/// The same for an error of the database driver.
pub(super) fn refused_for_others(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        // Lock wait timeout, deadlock (also reported by a cluster), record changed since last read,
        // and a missing savepoint, because the transaction was rolled back.
        return matches!(error.number(), 1205 | 1213 | 1020 | 1305);
    }
    matches!(error.code().as_deref(), Some("40001" | "40P01"))
}
