//! The store on SQLite: a file, many readers, and one writer at a time.

use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::{Deserialize, Deserializer, Visitor};
use sqlx::error::BoxDynError;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions,
    SqliteQueryResult, SqliteRow, SqliteSynchronous,
};
use sqlx::{Arguments, ConnectOptions, Connection, Row, Sqlite, TypeInfo, ValueRef};

use super::brake::Brake;
use super::driver::{Driver, Files, Fill, Run, STATEMENTS, bound, connections};
use super::failure::{of_values, too_large};
use super::filling::{execute_all, rebuild};
use super::migrations::{self, migrator};
use super::pools::{Access, Pools};
use super::ready::{PATIENCE, Ready};
use super::reconciliation::bring_up_to_date;
use super::session;
use super::upkeep::LogAndIndexes;
use crate::error::{Constraint, Error};
use crate::model::moment;
use crate::model::registry::Registry;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::dialect::{Dialect, SQLITE};
use crate::sql::{self, RowsOf, Statement};

/// The number of pages in the log from which a writer itself has to checkpoint it.
const LOGGED: &str = "10000";

/// The size of the writer's cache, in negative KiB. The pages of a transaction that it cannot hold are logged
/// before the commit, and once more after each further change; those of 500 products are 8 MiB in a small store, and
/// more in a larger one, whose indexes have them further apart.
const CACHED: &str = "-40960";

/// The number of its steps after which the engine asks whether it may continue.
const STEPS: i32 = 1_000;

impl Driver for Sqlite {
    const DIALECT: &'static Dialect = &SQLITE;
    const MIGRATIONS: Files = migrations::SQLITE;

    fn options(url: &str) -> Result<SqliteConnectOptions, sqlx::Error> {
        Ok(SqliteConnectOptions::from_str(url)?
            .journal_mode(SqliteJournalMode::Wal)
            .foreign_keys(true)
            .busy_timeout(PATIENCE)
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging())
    }

    /// The engine works in this process, where the caller enforces the time limit of an answer.
    fn pools(options: SqliteConnectOptions, _: Duration) -> Pools<Self> {
        let pool = || {
            // A file remains available, so testing a connection before use would only cost time.
            SqlitePoolOptions::new().acquire_timeout(PATIENCE).test_before_acquire(false)
        };
        let readers = pool().max_connections(connections());
        let logging = options.clone().synchronous(SqliteSynchronous::Full);
        let writer = logging.clone().create_if_missing(true).pragma("wal_autocheckpoint", LOGGED);
        let writer = writer.pragma("cache_size", CACHED);
        let one = |options| pool().max_connections(1).connect_lazy_with(options);
        let writer = Ready::new(one(writer));
        let upkeep = Arc::new(LogAndIndexes::new(one(logging), writer.clone()));
        let readers = Ready::new(readers.connect_lazy_with(options.read_only(true)));
        Pools::with_writer(readers, writer, upkeep)
    }

    async fn migrate(
        options: &SqliteConnectOptions,
        pools: &Pools<Self>,
        registry: Registry,
    ) -> Result<(), Error> {
        create_private(options.get_filename())?;
        let mut writer = pools.of(Access::Write).acquire().await.map_err(Error::of_connection)?;
        let migrator = migrator(Self::MIGRATIONS);
        bring_up_to_date::<Self>(&mut writer.connection, &migrator, registry).await
    }

    /// Removes the file, which belongs only to the store, and the files that the engine has put
    /// beside it.
    async fn drop_tables(options: &SqliteConnectOptions) -> Result<(), Error> {
        for suffix in ["", "-wal", "-shm"] {
            let mut file = options.get_filename().as_os_str().to_owned();
            file.push(suffix);
            match std::fs::remove_file(&file) {
                Err(cause) if cause.kind() != ErrorKind::NotFound => {
                    return Err(Error::File(file.into(), cause));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    async fn begin_filling(
        options: &SqliteConnectOptions,
        tables: Vec<&'static str>,
    ) -> Result<Option<Box<dyn Fill>>, sqlx::Error> {
        Ok(Some(Box::new(Filling::begin(options, &tables).await?)))
    }

    async fn brake(connection: &mut SqliteConnection) -> Result<Brake, sqlx::Error> {
        let brake = Brake::default();
        connection.lock_handle().await?.set_progress_handler(STEPS, brake.released());
        Ok(brake)
    }

    async fn end(
        connection: &mut SqliteConnection,
        brake: &Brake,
        _: &SqliteConnectOptions,
    ) -> bool {
        brake.press();
        // The answer comes when the previous statement is over.
        let over = connection.ping().await.is_ok();
        brake.release();
        over
    }

    async fn analyze(connection: &mut SqliteConnection, _: &[&str]) -> Result<(), sqlx::Error> {
        // Samples a part of every table. For complete tables, the engine would keep samples of
        // values, and then prepare a statement anew for each bound value.
        Self::execute_batch(connection, "PRAGMA optimize = 0x10012").await
    }

    /// Prepared once for a connection.
    fn delimit<'c>(
        connection: &'c mut SqliteConnection,
        text: &'static str,
    ) -> BoxFuture<'c, Result<(), sqlx::Error>> {
        Box::pin(async move { sqlx::query(text).execute(connection).await.map(drop) })
    }

    /// The engine is in this process, and answers at once.
    fn end_read(connection: &mut SqliteConnection) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        Self::delimit(connection, "ROLLBACK")
    }

    fn bind(values: &mut Self::Arguments, value: Value) -> Result<(), BoxDynError> {
        match value {
            Value::Null => values.add(None::<i64>),
            Value::Int(number) | Value::Decimal { units: number, .. } => values.add(number),
            Value::Text(text) | Value::Json(text) => values.add(text),
            Value::Moment(moment) => values.add(moment::render(moment)),
        }
    }

    fn number(row: &SqliteRow, column: usize) -> Result<i64, sqlx::Error> {
        row.try_get(column)
    }

    /// The engine itself distinguishes numbers from text.
    fn cell(row: &SqliteRow, column: usize, _: Kind) -> Result<Cell<'_>, sqlx::Error> {
        let raw = row.try_get_raw(column)?;
        if raw.is_null() {
            return Ok(Cell::Null);
        }
        match raw.type_info().name() {
            "INTEGER" => row.try_get(column).map(Cell::Int),
            _ => row.try_get(column).map(|text: &str| Cell::Text(text.into())),
        }
    }

    fn affected(result: &SqliteQueryResult) -> u64 {
        result.rows_affected()
    }

    fn inserted(result: &SqliteQueryResult) -> Result<Option<i64>, sqlx::Error> {
        Ok(Some(result.last_insert_rowid()))
    }

    fn classify(error: sqlx::Error) -> Error {
        let sqlx::Error::Database(database) = &error else {
            return match error {
                sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
                    Error::Unavailable(error)
                }
                _ => of_values(error),
            };
        };
        if database.is_unique_violation() {
            // "UNIQUE constraint failed: table.column, table.column"
            let named = database.message().split_once(": ").map_or("", |(_, columns)| columns);
            let columns = named.split(", ").filter_map(|column| column.split_once('.'));
            let columns = columns.map(|(_, column)| column.to_owned()).collect();
            return Error::Constraint(Constraint::Unique(columns), error);
        }
        if database.message() == "integer overflow" {
            return too_large();
        }
        // Triggers replace some foreign keys, with the same message.
        let by_trigger = database.code().is_some_and(|code| code == "1811")
            && database.message() == "FOREIGN KEY constraint failed";
        if database.is_foreign_key_violation() || by_trigger {
            return Error::Constraint(Constraint::Reference, error);
        }
        if database.is_check_violation() {
            return Error::Constraint(Constraint::Check, error);
        }
        let code = database.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or_default();
        // The primary result code is in the low byte.
        match (code & 0xff, code) {
            // Read-only, full, and an I/O error of a write, a synchronisation or a file that is to grow.
            (8 | 13, _) | (_, 778 | 1034 | 4874) => Error::Unwritable(error),
            // Busy, locked, interrupted by this process, another I/O error, cannot open.
            (5 | 6 | 9 | 10 | 14, _) => Error::Unavailable(error),
            _ => Error::Database(error),
        }
    }
}

/// Creates the file if it is missing, with access for its owner only, because it contains names and
/// addresses. The files that the engine puts beside it get the same permissions. An existing file
/// is not opened: closing it again would release the locks that this process holds on it.
fn create_private(path: &Path) -> Result<(), Error> {
    let mut options = std::fs::File::options();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let created = match options.open(path) {
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => writable(path),
        created => created.map(drop),
    };
    created.map_err(|cause| Error::File(path.to_owned(), cause))
}

/// Asks the operating system, without opening a file, whether it can be written.
#[cfg(unix)]
fn writable(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    Ok(accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// On other systems, the engine finds out.
#[cfg(not(unix))]
fn writable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The statements that remove and rebuild everything that is updated with each row of these tables,
/// in the order in which the objects were created, because the engine considers them in that order.
const KEPT: &str = "SELECT 'DROP ' || type || ' ' || name, sql FROM sqlite_schema \
    WHERE type IN ('index', 'trigger') AND sql IS NOT NULL \
    AND instr(',' || ? || ',', ',' || tbl_name || ',') ORDER BY rowid";

/// Bulk-loading in one transaction, which is rolled back when the process ends. Until then readers
/// see the store as it was, and writers wait.
struct Filling {
    connection: SqliteConnection,
    /// The statements that rebuild the removed parts.
    kept: Vec<String>,
}

impl Filling {
    async fn begin(options: &SqliteConnectOptions, tables: &[&str]) -> Result<Self, sqlx::Error> {
        // The generated references are valid, and checking each takes time. Indexes are sorted in
        // the cache.
        let options = options.clone().foreign_keys(false).pragma("cache_size", "-100000");
        let mut connection = options.pragma("threads", "1").connect().await?;
        Sqlite::execute_batch(&mut connection, SQLITE.begin_write).await?;
        let kept: Vec<(String, String)> =
            sqlx::query_as(KEPT).bind(tables.join(",")).fetch_all(&mut connection).await?;
        let (gone, kept): (Vec<String>, _) = kept.into_iter().unzip();
        execute_all::<Sqlite>(&mut connection, gone).await?;
        Ok(Self { connection, kept })
    }
}

impl Fill for Filling {
    fn numbers(&mut self, statement: Statement) -> BoxFuture<'_, Result<Vec<i64>, sqlx::Error>> {
        Box::pin(session::numbers::<Sqlite>(&mut self.connection, statement))
    }

    fn insert(&mut self, batch: Vec<RowsOf>) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        Box::pin(async {
            for RowsOf { table, columns, values, .. } in batch {
                for statement in sql::insert_many(table, columns, values, usize::MAX, &SQLITE) {
                    Sqlite::execute(&mut self.connection, bound::<Sqlite>(statement)?).await?;
                }
            }
            Ok(())
        })
    }

    fn finish<'a>(
        mut self: Box<Self>,
        last: Vec<String>,
        report: &'a mut (dyn FnMut(u64, u64) + Send),
    ) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async move {
            let connection = &mut self.connection;
            execute_all::<Sqlite>(connection, last).await?;
            let total = rebuild::<Sqlite>(connection, self.kept, report).await?;
            // Within the transaction, so that a filled store has statistics even if the program is
            // killed now.
            Sqlite::analyze(connection, &[]).await?;
            Sqlite::execute_batch(connection, SQLITE.commit).await?;
            report(total, total);
            // The log is as large as the store, and remains so while a reader uses the previous
            // state.
            Sqlite::execute_batch(connection, "PRAGMA wal_checkpoint(TRUNCATE)").await?;
            self.connection.close().await
        })
    }
}

impl<'de> Deserialize<'de> for Cell<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Raw;

        impl<'de> Visitor<'de> for Raw {
            type Value = Cell<'de>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a whole number, text or null")
            }

            fn visit_unit<E>(self) -> Result<Cell<'de>, E> {
                Ok(Cell::Null)
            }

            fn visit_i64<E>(self, number: i64) -> Result<Cell<'de>, E> {
                Ok(Cell::Int(number))
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Cell<'de>, E> {
                i64::try_from(number).map(Cell::Int).map_err(E::custom)
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(text.into()))
            }

            fn visit_str<E>(self, text: &str) -> Result<Cell<'de>, E> {
                Ok(Cell::Text(text.to_owned().into()))
            }
        }

        deserializer.deserialize_any(Raw)
    }
}
