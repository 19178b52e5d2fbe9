//! The connection pools of the host's own database, with the settings of each engine.

use std::path::Path;
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::mysql::MySqlPool;
use sqlx::pool::PoolOptions;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{AssertSqlSafe, Executor, MySql, PgConnection, Pool};

use crate::base::error::Error;
use crate::base::private;

use crate::base::database_url::{self, DatabaseUrl, DatabaseUrlError, Kind};

use super::cancel::Cancel;
use super::connection::{Connection, Raw, TIMEOUT, TransactionSql, in_time};
use super::row::Record;
use super::statement::{Engine, Statement, sql};

/// The maximum number of connections to a server. A request needs one only while a token that is
/// not in memory is looked up.
const CONNECTIONS: u32 = 8;

/// The time limit for checking that an idle connection still works.
const PING_TIMEOUT: Duration = Duration::from_secs(1);
/// The time limit for a lock, which is less than that of its statement.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);

/// The pools.
///
/// On SQLite one connection writes and a few only read. If several connections wrote, transactions
/// that read before they write would often fail; a single writer that locks at the start never
/// does.
#[derive(Clone, Debug)]
pub(crate) enum Database {
    Sqlite { writer: SqlitePool, readers: SqlitePool },
    Postgres(PgPool),
    MySql(MySqlPool),
}

#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
}

impl Database {
    /// The database at this address. A missing file is created with its folder. Nothing is connected to
    /// yet: the first connection that writes to a new file turns its log on, and SQLite refuses that at
    /// once while another one writes to the file. So it is made while the lock of a start is held.
    pub(crate) fn open(url: &DatabaseUrl) -> Result<Self, Error> {
        let unknown = || Error::DatabaseUrl(DatabaseUrlError::Unknown(url.to_string()));
        match url.kind() {
            Kind::File(path) => Self::open_file(path),
            Kind::Postgres(url) => {
                let options = database_url::postgres(url).ok_or_else(unknown)?;
                let options = options.application_name(env!("CARGO_PKG_NAME"));
                let port = options.get_port();
                let pool = server_pool(PgPoolOptions::new()).after_connect(move |connection, _| {
                    host_interface::send_at_once(port);
                    Box::pin(async { bounded(connection).await })
                });
                Ok(Self::Postgres(pool.connect_lazy_with(options)))
            }
            Kind::MySql(url) => {
                let options = database_url::mysql(url).ok_or_else(unknown)?;
                let port = options.get_port();
                let pool = server_pool(PoolOptions::<MySql>::new());
                let pool = pool.after_connect(move |connection, _| {
                    host_interface::send_at_once(port);
                    Box::pin(async { strict(connection).await })
                });
                Ok(Self::MySql(pool.connect_lazy_with(options)))
            }
        }
    }

    fn open_file(path: &Path) -> Result<Self, Error> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
        }
        // The file contains e-mail addresses and password hashes, so it is private.
        private::create_database(path).map_err(|error| Error::file(path, error))?;
        let options =
            SqliteConnectOptions::new().filename(path).foreign_keys(true).busy_timeout(TIMEOUT);
        let writing = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = || {
            // A connection to a file does not break, so testing it before each use is not needed.
            SqlitePoolOptions::new().acquire_timeout(TIMEOUT).test_before_acquire(false)
        };
        let writer = pool().max_connections(1).connect_lazy_with(writing);
        let readers = pool().max_connections(4).connect_lazy_with(options.read_only(true));
        Ok(Self::Sqlite { writer, readers })
    }

    /// Every row of a statement that only reads.
    pub(crate) async fn fetch_all<T: Record>(&self, statement: Statement) -> Result<Vec<T>, Error> {
        Ok(self.connect(Access::Read).await?.fetch_all(statement).await?)
    }

    /// The first row of a statement that only reads, if there is one.
    pub(crate) async fn fetch_optional<T: Record>(
        &self,
        statement: Statement,
    ) -> Result<Option<T>, Error> {
        Ok(self.connect(Access::Read).await?.fetch_optional(statement).await?)
    }

    /// The first row of a statement that only reads and always returns one.
    pub(crate) async fn fetch_one<T: Record>(&self, statement: Statement) -> Result<T, Error> {
        Ok(self.connect(Access::Read).await?.fetch_one(statement).await?)
    }

    /// Executes a statement without a transaction, also in a database that is not the host's.
    pub(crate) async fn execute(&self, statement: Statement) -> Result<(), Error> {
        self.connect(Access::Write).await?.execute(statement).await?;
        Ok(())
    }

    /// Begins a transaction that reads a snapshot.
    pub(crate) async fn begin_read(&self) -> Result<Connection, Error> {
        let mut connection = self.connect(Access::Read).await?;
        let begin = match self {
            Self::Sqlite { .. } => "BEGIN",
            Self::Postgres(_) => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            Self::MySql(_) => "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
        };
        connection.begin(TransactionSql::beginning(begin)).await?;
        Ok(connection)
    }

    /// Begins a transaction that writes, once no other one does. It is used through [`transact!`].
    pub(crate) async fn begin_write(&self) -> Result<Connection, Error> {
        let mut connection = self.connect(Access::Write).await?;
        let words = match self {
            Self::Sqlite { .. } => TransactionSql::beginning("BEGIN IMMEDIATE"),
            Self::Postgres(_) => {
                TransactionSql::beginning("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            }
            // A node of a cluster may roll a transaction back in favour of another node's and lose
            // the error or report a different one. The savepoint is then missing, which reveals
            // this. Without autocommit, statements after such a rollback are not committed on their
            // own.
            Self::MySql(_) => TransactionSql {
                begin: "SET autocommit = OFF; START TRANSACTION; SAVEPOINT begun",
                commit: "RELEASE SAVEPOINT begun; COMMIT; SET autocommit = ON",
                rollback: "RELEASE SAVEPOINT begun; ROLLBACK; SET autocommit = ON",
            },
        };
        connection.begin(words).await?;
        if connection.engine() != Engine::Sqlite {
            let lock_row = sql("SELECT revision FROM host_state WHERE id = 1 FOR UPDATE");
            let _: (i64,) = connection.fetch_one(lock_row).await?;
        }
        Ok(connection)
    }

    /// The engine of the database.
    pub(crate) fn engine(&self) -> Engine {
        match self {
            Self::Sqlite { .. } => Engine::Sqlite,
            Self::Postgres(_) => Engine::Postgres,
            Self::MySql(_) => Engine::MySql,
        }
    }

    /// How many connections each pool has, busy and idle.
    pub(crate) fn connections(&self) -> Vec<(&'static str, u32, u32)> {
        fn of<DB: sqlx::Database>(name: &'static str, pool: &Pool<DB>) -> (&'static str, u32, u32) {
            let idle = u32::try_from(pool.num_idle()).unwrap_or(u32::MAX);
            (name, pool.size().saturating_sub(idle), idle)
        }
        match self {
            Self::Sqlite { writer, readers } => vec![of("writer", writer), of("readers", readers)],
            Self::Postgres(pool) => vec![of("server", pool)],
            Self::MySql(pool) => vec![of("server", pool)],
        }
    }

    /// Closes every connection.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite { writer, readers } => {
                readers.close().await;
                writer.close().await;
            }
            Self::Postgres(pool) => pool.close().await,
            Self::MySql(pool) => pool.close().await,
        }
    }

    /// A connection of the pool for this access.
    async fn connect(&self, access: Access) -> Result<Connection, sqlx::Error> {
        // In a box, because it is several KiB in each future that may look something up, and most of them find what
        // they need in memory.
        let connecting: BoxFuture<'_, _> = Box::pin(self.acquire(access));
        connecting.await
    }

    async fn acquire(&self, access: Access) -> Result<Connection, sqlx::Error> {
        let (raw, cancel) = match self {
            Self::Sqlite { writer, readers } => {
                let pool = match access {
                    Access::Read => readers,
                    Access::Write => writer,
                };
                let mut connection = pool.acquire().await?;
                let cancel = Cancel::of_sqlite(&mut connection).await?;
                (Raw::Sqlite(connection), cancel)
            }
            Self::Postgres(pool) => (Raw::Postgres(pool.acquire().await?), Cancel::Closed),
            Self::MySql(pool) => {
                let mut connection = pool.acquire().await?;
                let options = pool.connect_options();
                let cancel = in_time(Cancel::of_mysql(&mut connection, options)).await??;
                (Raw::MySql(connection), cancel)
            }
        };
        Ok(Connection::new(self.engine(), raw, cancel))
    }
}

/// The common options of the pools of servers: the number of connections and the wait for one are
/// limited. A connection is tested before it is used and when it is returned, because the server
/// may have been restarted meanwhile. The test has a time limit, because an answer may never come.
fn server_pool<DB: sqlx::Database>(options: PoolOptions<DB>) -> PoolOptions<DB> {
    options
        .max_connections(CONNECTIONS)
        .acquire_timeout(TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, _| Box::pin(answers(connection)))
        .after_release(|connection, _| Box::pin(answers(connection)))
}

async fn answers(connection: &mut impl sqlx::Connection) -> Result<bool, sqlx::Error> {
    match tokio::time::timeout(PING_TIMEOUT, connection.ping()).await {
        Ok(answer) => answer.map(|()| true),
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into())),
    }
}

/// Lets the server end statements that nothing waits for any more. Not every server can check whether the
/// connection is still open. One that waits for a lock ends first, with an error of its own, because it can be
/// repeated.
async fn bounded(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let session = format!(
        "SET lock_timeout = {}; SET statement_timeout = {}; DO $$ BEGIN SET client_connection_check_interval = 500; \
         EXCEPTION WHEN OTHERS THEN NULL; END $$",
        LOCK_TIMEOUT.as_millis(),
        TIMEOUT.as_millis()
    );
    connection.execute(sqlx::raw_sql(AssertSqlSafe(session))).await.map(drop)
}

/// Sets the session up independently of the server's defaults: text that is too long is an error
/// and is not truncated, a transaction reads a snapshot, and no statement takes longer than this host waits
/// (on MySQL, none that reads).
async fn strict(connection: &mut sqlx::MySqlConnection) -> Result<(), sqlx::Error> {
    connection.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
    // Long enough for a list of ten thousand keys, which would be truncated otherwise.
    connection.execute("SET SESSION group_concat_max_len = 1048576").await?;
    let limits = format!(
        "SET SESSION innodb_lock_wait_timeout = {} /*M!100100 , max_statement_time = {} */ \
         /*!50708 , max_execution_time = {} */",
        LOCK_TIMEOUT.as_secs(),
        TIMEOUT.as_secs(),
        TIMEOUT.as_millis()
    );
    connection.execute(AssertSqlSafe(limits)).await?;
    connection
        .execute("SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES')")
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::time::Duration;

    use super::*;

    /// A connection whose statement goes on is closed only at its end.
    #[tokio::test]
    async fn a_statement_of_sqlite_ends_with_what_waits_for_it() -> Result<(), Box<dyn Error>> {
        const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
             SELECT count(*) FROM n";
        let file =
            format!("{}/statement-{}.db", std::env::temp_dir().display(), std::process::id());
        let url: DatabaseUrl = format!("sqlite://{file}").parse()?;
        let database = Database::open(&url)?;
        database.execute(sql("CREATE TABLE x (x INTEGER)")).await?;
        for _ in 0..3 {
            let reading = database.fetch_one::<(i64,)>(sql(ENDLESS));
            let waited = tokio::time::timeout(Duration::from_millis(300), reading).await;
            assert!(waited.is_err(), "it does not end by itself");
            let over = async {
                while database.connections()[1].1 > 0 {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(3), over).await?;
        }
        database.close().await;
        std::fs::remove_file(file)?;
        Ok(())
    }
}
