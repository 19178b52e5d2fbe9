//! Changes that the database refuses because of others at the same time, and trying them again. Knows
//! nothing of what is changed.

use std::time::Duration;

use sqlx::mysql::MySqlDatabaseError;

use crate::base::error::Error;

/// How often a change is tried that the database refuses because of others at the same time.
const ATTEMPTS: u32 = 8;

/// Writes all or nothing: the work is given a transaction, and what it gives is a result.
///
/// Changes of all processes wait for each other at the row of the site's state, so nothing that
/// the work reads can change before it is done, and none meets another half-way. What the database
/// refuses all the same because of others at the same time, as a cluster does when its nodes
/// disagree, is done again from the start.
///
/// A macro and not a function, because the compiler does not see of a closure which borrows what
/// it works with that its future may be sent to another thread.
macro_rules! transact {
    ($database:expr, |$transaction:ident| $work:expr) => {{
        let mut attempts = $crate::database::conflict::Attempts::default();
        loop {
            let attempt: Result<_, $crate::base::error::Error> = async {
                let mut connection = $database.begin_write().await?;
                let $transaction = &mut connection;
                let done = async { $work }.await;
                connection.settle(done).await
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

/// How often a change has been tried.
#[derive(Default)]
pub(crate) struct Attempts(u32);

impl Attempts {
    /// Whether to try again, as soon as whoever is in the way has had a moment.
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

/// Whether the database undid a change because of others at the same time, so that it may well
/// succeed now: a deadlock, a conflict of snapshots, or the refusal of a cluster to commit.
fn is_conflict(error: &Error) -> bool {
    let Error::Database(error) = error else { return false };
    refused_for_others(error)
}

/// The same of an error that is the database's own.
pub(super) fn refused_for_others(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else { return false };
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        // Lock wait timeout, deadlock (which is also what a cluster says), changed since last read,
        // and a transaction that has gone with its savepoint.
        return matches!(error.number(), 1205 | 1213 | 1020 | 1305);
    }
    matches!(error.code().as_deref(), Some("40001" | "40P01"))
}
