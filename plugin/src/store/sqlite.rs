//! The store on SQLite: a file, many readers, and one writer at a time.

use std::io::ErrorKind;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use futures_util::StreamExt;
use serde::de::{Deserialize, Deserializer, Visitor};
use sqlx::migrate::MigrateError;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool,
    SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Executor, Row, Sqlite, TypeInfo, ValueRef};

use super::brake::Brake;
use super::migrations;
use super::ready::Ready;
use super::upkeep::Upkeep;
use super::{Cells, PATIENCE, Rows, STATEMENTS, Session, Stream, sql_text, statements, values};
use crate::error::{Constraint, Error};
use crate::model::moment;
use crate::model::question::Page;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::dialect::SQLITE;
use crate::sql::{self, RowsOf, Statement, Table};

pub(super) const RECOUNT: &str = include_str!("../../recount/sqlite.sql");

#[derive(Clone, Debug)]
pub(super) struct Pools {
    pub(super) readers: Ready<Sqlite>,
    /// One connection, so that the process's writers queue here, in order, and never meet in the
    /// file.
    pub(super) writer: Ready<Sqlite>,
    pub(super) upkeep: Arc<Upkeep>,
}

/// How many pages the log has when a writer itself has to bring them into the file.
const LOGGED: &str = "10000";

pub(super) fn options(url: &str) -> Result<SqliteConnectOptions, sqlx::Error> {
    Ok(SqliteConnectOptions::from_str(url)?
        .journal_mode(SqliteJournalMode::Wal)
        .foreign_keys(true)
        .busy_timeout(PATIENCE)
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging())
}

pub(super) fn connect(options: &SqliteConnectOptions) -> Pools {
    let pool = || {
        // A file does not go away: asking it before each use would only cost time.
        SqlitePoolOptions::new().acquire_timeout(PATIENCE).test_before_acquire(false)
    };
    let readers = pool().max_connections(super::connections());
    let logging = options.clone().synchronous(SqliteSynchronous::Full);
    let writer = logging.clone().create_if_missing(true).pragma("wal_autocheckpoint", LOGGED);
    let one = |options| pool().max_connections(1).connect_lazy_with(options);
    let writer = Ready::new(one(writer));
    Pools {
        readers: Ready::new(readers.connect_lazy_with(options.clone().read_only(true))),
        upkeep: Arc::new(Upkeep::new(one(logging), writer.clone())),
        writer,
    }
}

pub(super) async fn migrate(pools: &Pools) -> Result<(), MigrateError> {
    let mut writer = pools.writer.acquire().await?;
    migrations::migrator(migrations::SQLITE).run_direct(None, &mut *writer.connection, false).await
}

/// Takes away the file, which is the store's alone, and what the engine has put beside it.
pub(super) fn drop_tables(pools: &Pools) -> Result<(), Error> {
    let options = pools.writer.pool().connect_options();
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

/// Creates the file where it is missing, for nobody else to read: it holds names and addresses.
/// What the engine puts beside it gets the same permissions. A file that is there is not opened: to
/// close it again would drop the locks that this process holds on it.
pub(super) fn create_private(pools: &Pools) -> Result<(), Error> {
    let path = pools.writer.pool().connect_options().get_filename().to_owned();
    let mut options = std::fs::File::options();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let created = match options.open(&path) {
        Err(cause) if cause.kind() == ErrorKind::AlreadyExists => writable(&path),
        created => created.map(drop),
    };
    created.map_err(|cause| Error::File(path, cause))
}

/// Asks the system, without opening it, whether a file can be written.
#[cfg(unix)]
fn writable(path: &Path) -> std::io::Result<()> {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    Ok(accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS)?)
}

/// The engine finds out, elsewhere.
#[cfg(not(unix))]
fn writable(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// Takes away and makes anew what is kept up to date with each row of these tables. In the order in
/// which they were made, in which the engine also thinks of them.
const KEPT: &str = "SELECT 'DROP ' || type || ' ' || name, sql FROM sqlite_schema \
    WHERE type IN ('index', 'trigger') AND sql IS NOT NULL \
    AND instr(',' || ? || ',', ',' || tbl_name || ',') ORDER BY rowid";

/// Filling a store in one transaction, which is undone when the process ends. Readers see the store
/// as it was until then, and writers wait.
pub(super) struct Filling {
    connection: SqliteConnection,
    /// What makes anew what was taken away.
    kept: Vec<String>,
}

impl Filling {
    pub(super) async fn begin(pools: &Pools, tables: &[&str]) -> Result<Self, sqlx::Error> {
        let options = pools.writer.pool().connect_options().as_ref().clone();
        // References are right as they come, and looking each up takes time. The cache is also what
        // an index is sorted in.
        let options = options.foreign_keys(false).pragma("cache_size", "-100000");
        let mut connection = options.pragma("threads", "1").connect().await?;
        connection.say(SQLITE.begin_write).await?;
        let kept: Vec<(String, String)> =
            sqlx::query_as(KEPT).bind(tables.join(",")).fetch_all(&mut connection).await?;
        let (gone, kept): (Vec<String>, _) = kept.into_iter().unzip();
        for statement in gone {
            connection.execute(sql_text(statement)).await?;
        }
        Ok(Self { connection, kept })
    }

    pub(super) async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, sqlx::Error> {
        self.connection.numbers(statement).await
    }

    pub(super) async fn insert(&mut self, batch: Vec<RowsOf>) -> Result<(), sqlx::Error> {
        for RowsOf { table, columns, values } in batch {
            for statement in sql::insert_many(table, columns, values, usize::MAX, &SQLITE) {
                query(statement).execute(&mut self.connection).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn finish(
        mut self,
        mut tell: impl FnMut(u64, u64),
    ) -> Result<(), sqlx::Error> {
        let anew = self.kept.into_iter().chain(statements(RECOUNT).map(str::to_owned));
        let anew: Vec<String> = anew.collect();
        let total = anew.len() as u64;
        for (statement, done) in anew.into_iter().zip(0..) {
            tell(done, total);
            self.connection.execute(sql_text(statement)).await?;
        }
        // Within the transaction: a store that is filled is planned for, even if the program is killed now.
        self.connection.learn(&[]).await?;
        self.connection.say(SQLITE.commit).await?;
        tell(total, total);
        // The log is as large as the store. A reader of the store as it was before keeps it so.
        self.connection.say("PRAGMA wal_checkpoint(TRUNCATE)").await?;
        self.connection.close().await
    }
}

/// After how many of its steps the engine asks whether it may go on.
const STEPS: i32 = 1_000;

impl Session for SqliteConnection {
    async fn brake(&mut self) -> Result<Brake, sqlx::Error> {
        let brake = Brake::default();
        self.lock_handle().await?.set_progress_handler(STEPS, brake.released());
        Ok(brake)
    }

    async fn end(&mut self, brake: &Brake, _: &SqlitePool) -> bool {
        brake.press();
        // It is answered when what came before is over.
        let over = self.ping().await.is_ok();
        brake.release();
        over
    }

    async fn say(&mut self, words: &'static str) -> Result<(), sqlx::Error> {
        self.execute(words).await.map(drop)
    }

    async fn learn(&mut self, _: &[&str]) -> Result<(), sqlx::Error> {
        // All tables, a part of each. Of whole ones the engine would keep samples of their values, and
        // since then prepare a statement anew for each value that is bound to it.
        self.say("PRAGMA optimize = 0x10012").await
    }

    async fn page(&mut self, page: &Page) -> Result<Cells, sqlx::Error> {
        let approach = super::approach(self, page, &SQLITE).await?;
        if let Some(total) = approach.empty() {
            return Ok(Cells { total, rows: Rows::Json("[]".to_owned()) });
        }
        let row = query(sql::page_as_json(page, &approach, &SQLITE)).fetch_one(self).await?;
        Ok(Cells { total: row.try_get(0)?, rows: Rows::Json(row.try_get(1)?) })
    }

    async fn table(&mut self, table: Table) -> Result<Cells, sqlx::Error> {
        let row = query(sql::table_as_json(table, &SQLITE)).fetch_one(self).await?;
        Ok(Cells { total: row.try_get(0)?, rows: Rows::Json(row.try_get(1)?) })
    }

    fn stream<'a>(
        &'a mut self,
        statement: Statement,
        kinds: &'a [Kind],
    ) -> Result<Stream<'a, sqlx::Error>, sqlx::Error> {
        let rows = query(statement).fetch(self);
        Ok(rows.map(|row| values(&row?, kinds, cell)).boxed())
    }

    async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, sqlx::Error> {
        let row = query(statement).fetch_optional(self).await?;
        let Some(row) = row else { return Ok(Vec::new()) };
        (0..row.len()).map(|column| row.try_get::<i64, _>(column)).collect()
    }

    async fn texts(&mut self, statement: Statement) -> Result<Vec<String>, sqlx::Error> {
        let rows = query(statement).fetch_all(self).await?;
        rows.iter().map(|row| row.try_get::<String, _>(0)).collect()
    }

    async fn run(&mut self, statement: Statement) -> Result<i64, sqlx::Error> {
        Ok(query(statement).execute(self).await?.last_insert_rowid())
    }

    async fn change(&mut self, statement: Statement) -> Result<u64, sqlx::Error> {
        Ok(query(statement).execute(self).await?.rows_affected())
    }
}

fn query(statement: Statement) -> sqlx::query::Query<'static, Sqlite, SqliteArguments> {
    let query = sqlx::query(sql_text(statement.text));
    statement.binds.into_iter().fold(query, |query, value| match value {
        Value::Null => query.bind(None::<i64>),
        Value::Int(number) | Value::Decimal { units: number, .. } => query.bind(number),
        Value::Text(text) | Value::Json(text) => query.bind(text),
        Value::Moment(moment) => query.bind(moment::render(moment)),
    })
}

/// A cell of a row. The engine itself tells numbers from text.
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

/// What a failure of the database means to a request.
pub(super) fn classify(error: sqlx::Error) -> Error {
    let sqlx::Error::Database(database) = &error else {
        return match error {
            sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => {
                Error::Unavailable(error)
            }
            _ => Error::Database(error),
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
        return super::too_large();
    }
    // Triggers stand in for some foreign keys, and say what those would.
    let by_trigger = database.code().is_some_and(|code| code == "1811")
        && database.message() == "FOREIGN KEY constraint failed";
    if database.is_foreign_key_violation() || by_trigger {
        return Error::Constraint(Constraint::Reference, error);
    }
    if database.is_check_violation() {
        return Error::Constraint(Constraint::Check, error);
    }
    // The primary result code is in the low byte: busy, locked, read-only, ended by this process,
    // input or output, full, cannot open.
    let code = database.code().and_then(|code| code.parse::<u32>().ok()).unwrap_or_default();
    match code & 0xff {
        5 | 6 | 8 | 9 | 10 | 13 | 14 => Error::Unavailable(error),
        _ => Error::Database(error),
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
