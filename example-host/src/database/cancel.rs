//! Ends the statement of a connection that nothing waits for any more: its request is over, or the answer
//! takes too long. Each engine needs another way.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Executor, SqliteConnection};

/// The number of its steps after which SQLite asks whether it may continue.
const STEPS: i32 = 1_000;

/// The id of a connection, and its server: another server may be behind the same address.
const CONNECTION_ID: &str =
    "SELECT concat_ws(' ', @@hostname, @@port, @@server_id, @@datadir), connection_id()";

/// A way to end the statement of a connection.
pub(super) enum Cancel {
    /// SQLite reads it while it works.
    Flag(Arc<AtomicBool>),
    /// PostgreSQL notices within a second that the connection is closed.
    Closed,
    /// MariaDB notices nothing, and is asked through another connection.
    Kill(Arc<MySqlConnectOptions>, Place),
}

/// The server of a connection, and its id there.
type Place = (String, u64);

impl Cancel {
    pub(super) async fn of_sqlite(connection: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let flag = Arc::new(AtomicBool::new(false));
        let read = Arc::clone(&flag);
        let goes_on = move || !read.load(Ordering::Relaxed);
        connection.lock_handle().await?.set_progress_handler(STEPS, goes_on);
        Ok(Self::Flag(flag))
    }

    pub(super) async fn of_mysql(
        connection: &mut MySqlConnection,
        options: Arc<MySqlConnectOptions>,
    ) -> Result<Self, sqlx::Error> {
        Ok(Self::Kill(options, place(connection).await?))
    }

    /// Ends the statement. The connection is closed afterwards and never used again.
    pub(super) fn now(&self) {
        match self {
            Self::Flag(flag) => flag.store(true, Ordering::Relaxed),
            Self::Closed => {}
            Self::Kill(options, place) => {
                let (options, place) = (Arc::clone(options), place.clone());
                // At the end of the process there is no runtime any more; the server then ends the
                // statement at its time limit.
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.spawn(async move {
                        if let Err(error) = kill(&options, &place).await {
                            tracing::debug!(%error, "a statement goes on although its request is over");
                        }
                    });
                }
            }
        }
    }
}

async fn kill(options: &MySqlConnectOptions, (server, id): &Place) -> Result<(), sqlx::Error> {
    let mut connection = options.connect().await?;
    if place(&mut connection).await?.0 == *server {
        connection.execute(AssertSqlSafe(format!("KILL QUERY {id}"))).await?;
    }
    connection.close().await
}

async fn place(connection: &mut MySqlConnection) -> Result<Place, sqlx::Error> {
    use sqlx::Row;
    let row = sqlx::raw_sql(CONNECTION_ID).fetch_one(connection).await?;
    Ok((row.try_get_unchecked(0)?, row.try_get_unchecked(1)?))
}
