//! The turn of a start on a Galera cluster. Its nodes know nothing of one another's locks, but of two
//! changes of one row at the same time one is refused: so the turn is a row that says whose it is.
//! Does not know what the turn is for.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlPool};
use sqlx::{ConnectOptions, Executor, MySqlConnection};
use tokio::task::JoinHandle;

use crate::base::error::Error;

use super::conflict::refused_for_others;
use super::connection::in_time;

/// How often whoever has the turn shows to be alive.
const BEAT: Duration = Duration::from_secs(2);

/// How long whoever has the turn may show no life before it is taken over. Longer than a cluster
/// needs to notice that a node is gone, which keeps everybody waiting.
const PATIENCE: Duration = Duration::from_secs(20);

/// The number of the error that a table is not there.
const NO_SUCH_TABLE: u16 = 1146;

/// A turn that can be taken, or has been.
pub(super) struct Lease {
    /// The node that is asked for it.
    node: String,
    /// Who takes it, which no other one is called: the node and a number.
    name: String,
    options: Arc<MySqlConnectOptions>,
    /// What stood in the row when it was last seen to change, and since when.
    seen: Option<(Row, Instant)>,
    /// Shows life while the turn is taken.
    beating: Option<JoinHandle<()>>,
}

/// Whose turn it is, nobody's where that is empty, and how often that was said.
type Row = (String, i64);

impl Lease {
    /// The turn of a cluster, where the server is a node of one.
    pub(super) async fn of_a_cluster(
        session: &mut MySqlConnection,
        pool: &MySqlPool,
    ) -> Result<Option<Lease>, Error> {
        // What a node is called by the others, which is nothing where there are none.
        let asked = sqlx::query_as("SHOW STATUS LIKE 'wsrep_gcomm_uuid'").fetch_optional(session);
        let answer: Option<(String, String)> = in_time(asked).await??;
        let Some((_, node)) = answer.filter(|(_, node)| !node.is_empty()) else { return Ok(None) };
        let name = format!("{node}/{:016x}", getrandom::u64()?);
        Ok(Some(Lease { node, name, options: pool.connect_options(), seen: None, beating: None }))
    }

    /// Whether the turn is taken now. Whoever asks has the lock of the node already, so that nobody
    /// else of this node can still be at it.
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
        let over = row.0.is_empty() || row.0.starts_with(&self.node);
        if !over && since.elapsed() < PATIENCE {
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
        self.beating = Some(tokio::spawn(beat(self.name.clone(), Arc::clone(&self.options))));
        Ok(true)
    }

    /// Whether another start has taken it over.
    pub(super) fn is_lost(&self) -> bool {
        self.beating.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Ends the turn.
    pub(super) async fn give_back(mut self, session: &mut MySqlConnection) {
        if let Some(beating) = self.beating.take() {
            beating.abort();
        }
        let free =
            sqlx::query("UPDATE host_start SET holder = '' WHERE holder = ?").bind(&self.name);
        if let Ok(Err(error)) | Err(error) = in_time(free.execute(session)).await {
            // It is taken over when it has shown no life for long enough.
            tracing::debug!(%error, "the lease of this start was not released");
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(beating) = &self.beating {
            beating.abort();
        }
    }
}

const TABLE: &str = "CREATE TABLE IF NOT EXISTS host_start (
    id SMALLINT NOT NULL PRIMARY KEY CHECK (id = 1),
    holder VARCHAR(64) NOT NULL,
    beats BIGINT NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";

/// Does what another start may be doing at the same time, so that it is done either way.
async fn write(session: &mut MySqlConnection, statement: &'static str) -> Result<(), sqlx::Error> {
    match in_time(session.execute(statement)).await? {
        Err(error) if !refused_for_others(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Shows life until it is aborted, each time by a session of its own: one may be lost. Ends by itself
/// when there is nothing left to show life for.
async fn beat(name: String, options: Arc<MySqlConnectOptions>) {
    loop {
        tokio::time::sleep(BEAT).await;
        let beaten = async {
            let mut session = options.connect().await?;
            let beat = sqlx::query("UPDATE host_start SET beats = beats + 1 WHERE holder = ?");
            beat.bind(&name).execute(&mut session).await
        };
        match beaten.await {
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
