//! What an engine has to provide. One more engine is a file here that implements [`Driver`] for its
//! driver of sqlx, a dialect in `sql/dialect.rs`, a folder of migrations, and a line in the list of
//! engines in `database.rs`. Knows no engine.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use sqlx::pool::PoolOptions;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Connection, Database, Executor, IntoArguments, SqlSafeStr, SqlStr};

use super::brake::Brake;
use super::pools::Pools;
use super::ready::{IDLE, PATIENCE};
use crate::error::Error;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::dialect::Dialect;
use crate::sql::{RowsOf, Statement};

/// How long a statement waits for a row that another transaction has locked.
pub(super) const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// How many prepared statements a connection keeps.
pub(super) const STATEMENTS: usize = 512;

/// What a database is connected to with.
pub(super) type Options<D> = <<D as Database>::Connection as Connection>::Options;
/// A statement with its values, as the driver takes it.
pub(super) type Bound<D> = Query<'static, D, <D as Database>::Arguments>;
/// Rows as they come, so that a table of any length can be read.
pub(super) type Stream<'a, E> = BoxStream<'a, Result<Vec<Value>, E>>;
/// Files of migrations with their text, by name.
pub(super) type Files = &'static [(&'static str, &'static str)];

/// An engine of databases, by its driver of sqlx.
pub(super) trait Driver: Run {
    /// How its SQL differs from that of the others.
    const DIALECT: &'static Dialect;
    /// What creates the tables, version by version.
    const MIGRATIONS: Files;
    /// Undoes whatever transaction is open.
    const ROLLBACK: &'static str = "ROLLBACK";

    // The database.

    /// What a database at this address is connected to with.
    fn options(url: &str) -> Result<Options<Self>, sqlx::Error>;
    /// Its connections, each of which waits so long for an answer. Connects to nothing yet.
    fn pools(options: Options<Self>, answer: Duration) -> Pools<Self>;
    /// Creates the tables, or brings them up to date.
    fn migrate(
        options: &Options<Self>,
        pools: &Pools<Self>,
    ) -> impl Future<Output = Result<(), Error>> + Send;
    /// Removes the tables with what is in them, whatever state they are in.
    fn drop_tables(options: &Options<Self>) -> impl Future<Output = Result<(), Error>> + Send;
    /// Begins to fill these tables. Nothing where others could not be kept away from them.
    fn begin_filling(
        options: &Options<Self>,
        tables: Vec<&'static str>,
    ) -> impl Future<Output = Result<Option<Box<dyn Fill>>, sqlx::Error>> + Send;

    // A connection.

    /// A handle that ends a statement of this connection while another task waits for it.
    fn brake(
        connection: &mut Self::Connection,
    ) -> impl Future<Output = Result<Brake, sqlx::Error>> + Send;
    /// Ends the statement that the connection still runs. Returns whether the connection can be used
    /// again; otherwise it is closed.
    fn end(
        connection: &mut Self::Connection,
        brake: &Brake,
        options: &Options<Self>,
    ) -> impl Future<Output = bool> + Send;
    /// Has the engine look at what is in these tables, so that it plans for it.
    fn analyze(
        connection: &mut Self::Connection,
        tables: &[&str],
    ) -> impl Future<Output = Result<(), sqlx::Error>> + Send;

    // Statements and their answers.

    /// The text with its placeholders as this engine has them.
    fn placeholders(text: String) -> String {
        text
    }
    /// Binds a value.
    fn bind(query: Bound<Self>, value: Value) -> Bound<Self>;
    /// A whole number; a decimal is counted in units of its last place.
    fn number(row: &Self::Row, column: usize) -> Result<i64, sqlx::Error>;
    /// A value of this kind.
    fn cell(row: &Self::Row, column: usize, kind: Kind) -> Result<Cell<'_>, sqlx::Error>;
    /// How many rows a statement has changed.
    fn affected(result: &Self::QueryResult) -> u64;
    /// The key of the row inserted last, where the answer to an insertion has it.
    fn inserted(_result: &Self::QueryResult) -> i64 {
        0
    }

    // Failures.

    /// What a failure of the database means to a request.
    fn classify(error: sqlx::Error) -> Error;
    /// Whether closing the connection removes the cause of a failure.
    fn is_worn_out(_error: &sqlx::Error) -> bool {
        false
    }
    /// What repairs the database after a failure that is its own fault.
    fn remedy(_error: &sqlx::Error) -> Option<&'static str> {
        None
    }
}

/// Filling tables with very many rows at once.
pub(super) trait Fill: Send {
    /// Reads one row of whole numbers.
    fn numbers(&mut self, statement: Statement) -> BoxFuture<'_, Result<Vec<i64>, sqlx::Error>>;
    /// Adds rows to the tables, all of them or none.
    fn insert(&mut self, batch: Vec<RowsOf>) -> BoxFuture<'_, Result<(), sqlx::Error>>;
    /// Rebuilds what was removed, and reports how many of how many pieces are done.
    fn finish<'a>(
        self: Box<Self>,
        report: &'a mut (dyn FnMut(u64, u64) + Send),
    ) -> BoxFuture<'a, Result<(), sqlx::Error>>;
}

/// Running statements, which every driver of sqlx does in the same way.
pub(super) trait Run: Database {
    /// Runs statements without values.
    fn execute_batch(
        connection: &mut Self::Connection,
        text: impl SqlSafeStr + Send,
    ) -> BoxFuture<'_, Result<(), sqlx::Error>>;
    /// Runs a statement that gives no rows.
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
    /// Reads rows as they come.
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
pub(super) fn bound<D: Driver>(statement: Statement) -> Bound<D> {
    let query = sqlx::query(sql_text(D::placeholders(statement.text)));
    statement.binds.into_iter().fold(query, D::bind)
}

/// The text was made by `sql`, which binds whatever a client sent, or is always the same.
pub(super) fn sql_text(text: String) -> AssertSqlSafe<String> {
    AssertSqlSafe(text)
}

/// How many connections there are at most: enough to keep the processors busy while the database
/// is.
pub(super) fn connections() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores.saturating_mul(2).clamp(4, 16)).unwrap_or(4)
}

/// A pool of connections to a server: as many as are of use, waited for so long and no longer. A
/// connection that was just used is taken to be there still; one that was not is asked.
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
