//! The interface of an engine. To add an engine, add a file here that implements [`Driver`] for its
//! sqlx driver, a dialect in `sql/dialect.rs`, a folder of migrations, and a line in the list of
//! engines in `database.rs`. Independent of particular engines.

use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use futures_util::stream::BoxStream;
use sqlx::error::BoxDynError;
use sqlx::pool::PoolOptions;
use sqlx::query::Query;
use sqlx::{
    Arguments, AssertSqlSafe, Connection, Database, Executor, IntoArguments, SqlSafeStr, SqlStr,
};
use tokio::task::unconstrained;

use super::brake::Brake;
use super::pools::Pools;
use super::ready::{IDLE, PATIENCE};
use crate::error::Error;
use crate::model::registry::Registry;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::dialect::Dialect;
use crate::sql::{RowsOf, Statement};

/// How long a statement waits for a row that another transaction has locked.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How many prepared statements a connection keeps.
pub(super) const STATEMENTS: usize = 512;

/// The options of a connection.
pub(super) type Options<D> = <<D as Database>::Connection as Connection>::Options;
/// A statement with its values, in the form that the driver takes.
pub(super) type Bound<D> = Query<'static, D, <D as Database>::Arguments>;
/// Rows that arrive one by one, so that a table of any length can be read.
pub(super) type Stream<'a, E> = BoxStream<'a, Result<Vec<Value>, E>>;
/// Files of migrations with their text, by name.
pub(super) type Files = &'static [(&'static str, &'static str)];

/// A database engine, by its sqlx driver.
pub(super) trait Driver: Run<Arguments: IntoArguments<Self>> {
    /// The engine's SQL, where engines differ.
    const DIALECT: &'static Dialect;
    /// The migrations, by version.
    const MIGRATIONS: Files;
    /// Rolls back the open transaction of a writer, whatever its state.
    const ROLLBACK: &'static str = "ROLLBACK";

    // Database.

    /// The options of connections to this address.
    fn options(url: &str) -> Result<Options<Self>, sqlx::Error>;
    /// Opens pools of connections with this time limit of answers. Does not connect yet.
    fn pools(options: Options<Self>, answer: Duration) -> Pools<Self>;
    /// Creates the tables and derived objects, or brings them up to date.
    fn migrate(
        options: &Options<Self>,
        pools: &Pools<Self>,
        registry: Registry,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Drops the tables, whatever their state.
    fn drop_tables(options: &Options<Self>) -> impl Future<Output = Result<(), Error>> + Send;
    /// Begins to bulk-load these tables; `None` where others could not be kept away from them.
    fn begin_filling(
        options: &Options<Self>,
        tables: Vec<&'static str>,
    ) -> impl Future<Output = Result<Option<Box<dyn Fill>>, sqlx::Error>> + Send;

    // Connection.

    /// A handle that ends a statement of this connection while another task waits for it.
    fn brake(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Brake, sqlx::Error>> + Send;
    /// Ends the statement that the connection is still running. Returns whether the connection can
    /// be used again; otherwise it is closed.
    fn end(
        connection: &mut Self::Connection,
        brake: &Brake,
        options: &Options<Self>,
    ) -> impl Future<Output = bool> + Send;
    /// Makes the engine collect statistics about these tables, for its planner.
    fn analyze(
        connection: &mut Self::Connection,
        tables: &[&str],
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    // Statements and their results.

    /// Begins, commits or rolls back a transaction. Some engines do not accept this in a prepared statement.
    fn delimit<'c>(
        connection: &'c mut Self::Connection,
        text: &'static str,
    ) -> BoxFuture<'c, Result<(), sqlx::Error>> {
        Self::execute_batch(connection, text)
    }

    /// Ends a transaction that has only read, before the next statement of this connection at the latest. A server is
    /// asked and not waited for: its driver reads the answer before the next statement, as it does after one that was
    /// abandoned. The budget of the task must not keep it from asking.
    fn end_read(connection: &mut Self::Connection) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        let asked = unconstrained(Self::execute_batch(connection, "ROLLBACK")).now_or_never();
        Box::pin(ready(asked.unwrap_or(Ok(()))))
    }

    /// The text with the engine's own placeholders.
    fn placeholders(text: String) -> String {
        text
    }
    /// Binds a value, after those before it.
    fn bind(values: &mut Self::Arguments, value: Value) -> Result<(), BoxDynError>;
    /// Reads a whole number; a decimal as units of its last place.
    fn number(row: &Self::Row, column: usize) -> Result<i64, sqlx::Error>;
    /// Reads a value of this kind.
    fn cell(row: &Self::Row, column: usize, kind: Kind) -> Result<Cell<'_>, sqlx::Error>;
    /// The number of rows that a statement changed.
    fn affected(result: &Self::QueryResult) -> u64;
    /// The key of the row inserted last, if the result of an insertion contains it.
    fn inserted(_result: &Self::QueryResult) -> Result<Option<i64>, sqlx::Error> {
        Ok(None)
    }

    // Failures.

    /// Converts a failure of the database into the error that a request gets.
    fn classify(error: sqlx::Error) -> Error;
    /// Whether closing the connection removes the cause of a failure.
    fn must_close(_error: &sqlx::Error) -> bool {
        false
    }
    /// The statements that repair the database after a failure of its own.
    fn remedy(_error: &sqlx::Error) -> Option<&'static str> {
        None
    }
}

/// Bulk-loading of tables.
pub(super) trait Fill: Send {
    /// Reads one row of whole numbers.
    fn numbers(&mut self, statement: Statement) -> BoxFuture<'_, Result<Vec<i64>, sqlx::Error>>;
    /// Adds rows to the tables, all or none.
    fn insert(&mut self, batch: Vec<RowsOf>) -> BoxFuture<'_, Result<(), sqlx::Error>>;
    /// Runs these statements on the rows, rebuilds what was removed, and reports how many steps of how
    /// many are done.
    fn finish<'a>(
        self: Box<Self>,
        last: Vec<String>,
        report: &'a mut (dyn FnMut(u64, u64) + Send),
    ) -> BoxFuture<'a, Result<(), sqlx::Error>>;
}

/// Execution of statements, which is the same for every sqlx driver.
pub(super) trait Run: Database {
    /// Runs statements without values.
    fn execute_batch(
        connection: &mut Self::Connection,
        text: impl SqlSafeStr + Send,
    ) -> BoxFuture<'_, Result<(), sqlx::Error>>;
    /// Runs a statement without rows.
    fn execute(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxFuture<'_, Result<Self::QueryResult, sqlx::Error>>;
    /// Reads the first row.
    fn fetch_optional(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxFuture<'_, Result<Option<Self::Row>, sqlx::Error>>;
    /// Reads all rows.
    fn fetch_all(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>>;
    /// Reads rows one by one.
    fn fetch(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxStream<'_, Result<Self::Row, sqlx::Error>>;
}

impl<DB: Database> Run for DB
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
    DB::Arguments: IntoArguments<DB>,
{
    fn execute_batch(
        connection: &mut Self::Connection,
        text: impl SqlSafeStr + Send,
    ) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        let text: SqlStr = text.into_sql_str();
        Box::pin(async move { connection.execute(text).await.map(drop) })
    }

    fn execute(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxFuture<'_, Result<Self::QueryResult, sqlx::Error>> {
        connection.execute(query)
    }

    fn fetch_optional(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxFuture<'_, Result<Option<Self::Row>, sqlx::Error>> {
        connection.fetch_optional(query)
    }

    fn fetch_all(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxFuture<'_, Result<Vec<Self::Row>, sqlx::Error>> {
        connection.fetch_all(query)
    }

    fn fetch(
        connection: &mut Self::Connection,
        query: Bound<Self>,
    ) -> BoxStream<'_, Result<Self::Row, sqlx::Error>> {
        connection.fetch(query)
    }
}

/// A statement with its values bound.
pub(super) fn bound<D: Driver>(statement: Statement) -> Result<Bound<D>, sqlx::Error> {
    let mut values = D::Arguments::default();
    values.reserve(statement.binds.len(), 0);
    for value in statement.binds {
        D::bind(&mut values, value).map_err(sqlx::Error::Encode)?;
    }
    Ok(sqlx::query_with(sql_text(D::placeholders(statement.text)), values))
}

/// Marks a text as safe: it is constant, or was generated by `sql`, which binds everything that a
/// client sent.
pub(super) fn sql_text(text: String) -> AssertSqlSafe<String> {
    AssertSqlSafe(text)
}

/// The greatest number of connections: enough to keep the processors busy while the database works.
pub(super) fn connections() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores.saturating_mul(2).clamp(4, 16)).unwrap_or(4)
}

/// A pool of connections to a server, with a limit of size and of waiting time. A connection is
/// tested before use unless it was used a moment ago.
pub(super) fn bounded<DB: Database>(pool: PoolOptions<DB>) -> PoolOptions<DB> {
    pool.max_connections(connections() * 2)
        .acquire_timeout(PATIENCE)
        .test_before_acquire(false)
        .before_acquire(|connection, used| {
            Box::pin(async move {
                Ok(used.idle_for < IDLE || Connection::ping(connection).await.is_ok())
            })
        })
}
