//! The lease of a start on a Galera cluster. Locks are not shared between its nodes, but of two
//! concurrent changes to the same row one is refused. The lease is therefore a row with the name of
//! its holder.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlPool};
use sqlx::{ConnectOptions, Executor, MySqlConnection};
use tokio::task::JoinHandle;

use crate::base::error::Error;

use super::conflict::refused_for_others;
use super::connection::in_time;

/// How often the holder renews its lease.
const RENEW_EVERY: Duration = Duration::from_secs(2);

/// How long a lease may go without renewal before another start takes it over. This is longer than
/// a cluster needs to notice that a node is gone, because all writes wait during that time.
const EXPIRY: Duration = Duration::from_secs(20);

/// The error number for a missing table.
const NO_SUCH_TABLE: u16 = 1146;

/// A lease that can be taken or has been taken.
pub(super) struct Lease {
    /// The node that this start is connected to.
    node: String,
    /// The unique name of this start: the node and a random number.
    name: String,
    options: Arc<MySqlConnectOptions>,
    /// The row as it was last read, and when it was first read with this content.
    seen: Option<(Row, Instant)>,
    /// The task that renews the lease while it is held.
    renewal: Option<JoinHandle<()>>,
}

/// The holder, which is empty if the lease is free, and the number of renewals.
type Row = (String, i64);

impl Lease {
    /// The lease of a cluster; `None` if the server is not a node of one.
    pub(super) async fn of_a_cluster(
        session: &mut MySqlConnection,
        pool: &MySqlPool,
    ) -> Result<Option<Lease>, Error> {
        // The id of the node in its cluster; empty if the server is not in a cluster.
        let asked = sqlx::query_as("SHOW STATUS LIKE 'wsrep_gcomm_uuid'").fetch_optional(session);
        let answer: Option<(String, String)> = in_time(asked).await??;
        let Some((_, node)) = answer.filter(|(_, node)| !node.is_empty()) else { return Ok(None) };
        let name = format!("{node}/{:016x}", getrandom::u64()?);
        Ok(Some(Lease { node, name, options: pool.connect_options(), seen: None, renewal: None }))
    }

    /// Tries to take the lease. The caller already holds the lock of the node, so a lease of the
    /// same node is left over from a start that has ended.
    pub(super) async fn try_take(
        &mut self,
        session: &mut MySqlConnection,
    ) -> Result<bool, sqlx::Error> {
        let (holder, beats) = loop {
            let looked = sqlx::query_as("SELECT holder, beats FROM host_start");
            match in_time(looked.fetch_optional(&mut *session)).await? {
                Ok(Some(row)) => break row,
                Ok(None) => {
                    write(session, "INSERT IGNORE INTO host_start VALUES (1, '', 0)").await?
                }
                Err(error) if is_no_table(&error) => write(session, TABLE).await?,
                Err(error) => return Err(error),
            }
        };
        let row: Row = (holder, beats);
        let since = match self.seen.take() {
            Some((seen, since)) if seen == row => since,
            _ => Instant::now(),
        };
        let free = row.0.is_empty() || row.0.starts_with(&self.node);
        if !free && since.elapsed() < EXPIRY {
            self.seen = Some((row, since));
            return Ok(false);
        }
        let take = sqlx::query(
            "UPDATE host_start SET holder = ?, beats = beats + 1 WHERE holder = ? AND beats = ?",
        );
        let take = take.bind(&self.name).bind(row.0).bind(row.1);
        match in_time(take.execute(session)).await? {
            Ok(done) if done.rows_affected() == 1 => {}
            Ok(_) => return Ok(false),
            Err(error) if refused_for_others(&error) => return Ok(false),
            Err(error) => return Err(error),
        }
        self.renewal = Some(tokio::spawn(renew(self.name.clone(), Arc::clone(&self.options))));
        Ok(true)
    }

    /// Whether another start has taken the lease over.
    pub(super) fn is_lost(&self) -> bool {
        self.renewal.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Releases the lease.
    pub(super) async fn release(mut self, session: &mut MySqlConnection) {
        if let Some(renewal) = self.renewal.take() {
            renewal.abort();
        }
        let release =
            sqlx::query("UPDATE host_start SET holder = '' WHERE holder = ?").bind(&self.name);
        if let Ok(Err(error)) | Err(error) = in_time(release.execute(session)).await {
            // It expires, since it is no longer renewed.
            tracing::debug!(%error, "the lease of this start was not released");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(renewal) = &self.renewal {
            renewal.abort();
        }
    }
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS host_start (
    id SMALLINT NOT NULL PRIMARY KEY CHECK (id = 1),
    holder VARCHAR(64) NOT NULL,
    beats BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Executes a statement that another start may be executing at the same time; a refusal because of
/// that is no error.
async fn write(session: &mut MySqlConnection, statement: &'static str) -> Result<(), sqlx::Error> {
    match in_time(session.execute(statement)).await? {
        Err(error) if !refused_for_others(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Renews the lease until the task is aborted. Each renewal uses a new session, because one may be
/// lost. The task ends when another start has taken the lease over.
async fn renew(name: String, options: Arc<MySqlConnectOptions>) {
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        let renewed = async {
            let mut session = options.connect().await?;
            let beat = sqlx::query("UPDATE host_start SET beats = beats + 1 WHERE holder = ?");
            beat.bind(&name).execute(&mut session).await
        };
        match renewed.await {
            Ok(done) if done.rows_affected() == 0 => {
                tracing::warn!("another start has taken over the lease of this one");
                return;
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "the lease of this start could not be renewed"),
        }
    }
}

fn is_no_table(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    let error = error.and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    error.is_some_and(|error| error.number() == NO_SUCH_TABLE)
}
