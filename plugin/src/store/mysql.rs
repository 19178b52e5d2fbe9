//! The store on MariaDB and MySQL.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rust_decimal::Decimal;
use sqlx::error::BoxDynError;
use sqlx::mysql::{
    MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlPoolOptions, MySqlQueryResult,
    MySqlRow,
};
use sqlx::{Arguments, ConnectOptions, Connection, Executor, MySql, Row, TypeInfo, ValueRef};

use super::brake::Brake;
use super::cells;
use super::driver::{Driver, Files, Fill, LOCK_PATIENCE, Run, bound, bounded, sql_text};
use super::failure::{columns_of_index, without_code};
use super::filling::{another_feed, execute_all};
use super::migrations::{self, in_own_table, migrator};
use super::pools::Pools;
use super::ready::Ready;
use super::reconciliation::bring_up_to_date;
use super::session;
use crate::error::{Constraint, Error};
use crate::model::registry::Registry;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::dialect::{Dialect, MYSQL};
use crate::sql::{self, RowsOf, Statement, kept};

/// How many prepared statements a connection keeps. By default, a server has 16,382 for all
/// connections of all hosts.
const STATEMENTS: usize = 64;

/// How a statement sees what others have committed before it.
const STATEMENTS_SEE_COMMITS: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// How the first statement takes a snapshot that the next ones share until they are rolled back. Any
/// other level gives none.
const STATEMENTS_SHARE_SNAPSHOT: &str = "SET autocommit = OFF; \
    SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY";

/// The error number for exceeding the server's limit of prepared statements.
const TOO_MANY_STATEMENTS: u16 = 1461;

impl Driver for MySql {
    const DIALECT: &'static Dialect = &MYSQL;
    const MIGRATIONS: Files = migrations::MYSQL;
    const ROLLBACK: &'static str = "ROLLBACK; SET autocommit = ON";

    fn options(url: &str) -> Result<MySqlConnectOptions, sqlx::Error> {
        Ok(MySqlConnectOptions::from_str(url)?
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging())
    }

    fn pools(options: MySqlConnectOptions, answer: Duration) -> Pools<Self> {
        // Values that do not fit are refused, whatever the server's own mode; a statement sees what
        // others have committed before it; the server, too, ends statements that nothing waits for
        // any more (MySQL only those that read); names are sorted by all of their characters, where its
        // default is the first 1,024 bytes; and the rows of a long list are estimated by its values: by
        // statistics from when a table was small, it reads all of the table.
        let session = format!(
            "SET sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES'), \
             max_sort_length = 3072, \
             eq_range_index_dive_limit = 0, \
             innodb_lock_wait_timeout = {} /*M!100100 , max_statement_time = {} */ \
             /*!50708 , max_execution_time = {} */",
            LOCK_PATIENCE.as_secs(),
            answer.as_secs(),
            answer.as_millis()
        );
        let pool = |begin: &'static str| {
            let (options, session) = (options.clone(), session.clone());
            let port = options.get_port();
            let pool: MySqlPoolOptions = bounded(MySqlPoolOptions::new());
            let pool = pool.after_connect(move |connection, _| {
                let session = sql_text(session.clone());
                Box::pin(async move {
                    host_interface::send_at_once(port);
                    connection.execute(session).await?;
                    connection.execute(begin).await.map(drop)
                })
            });
            Ready::new(pool.connect_lazy_with(options))
        };
        Pools::of_server(pool(STATEMENTS_SEE_COMMITS))
            .with_snapshots(pool(STATEMENTS_SHARE_SNAPSHOT))
    }

    /// Uses a connection of its own, because the time limits of the pool's connections are too
    /// short here.
    async fn migrate(
        options: &MySqlConnectOptions,
        _: &Pools<Self>,
        registry: Registry,
    ) -> Result<(), Error> {
        let mut connection =
            MySqlConnection::connect_with(options).await.map_err(Error::of_connection)?;
        resume_filling(&mut connection, options).await.map_err(Error::of_connection)?;
        let migrator = in_own_table(migrator(Self::MIGRATIONS));
        bring_up_to_date::<Self>(&mut connection, &migrator, registry).await?;
        connection.close().await.map_err(Error::of_connection)
    }

    /// Removes the store's tables, with their triggers.
    async fn drop_tables(options: &MySqlConnectOptions) -> Result<(), Error> {
        let dropped = async {
            let find = "SELECT concat('DROP TABLE `', table_name, '`') \
                FROM information_schema.tables \
                WHERE table_schema = database() AND left(table_name, 5) = 'shop_'";
            let mut connection = MySqlConnection::connect_with(options).await?;
            // The tables refer to each other.
            connection.execute("SET foreign_key_checks = 0").await?;
            for found in sqlx::query(find).fetch_all(&mut connection).await? {
                let drop: String = found.try_get_unchecked(0)?;
                connection.execute(sql_text(drop)).await?;
            }
            connection.close().await
        };
        dropped.await.map_err(Self::classify)
    }

    async fn begin_filling(
        options: &MySqlConnectOptions,
        tables: Vec<&'static str>,
    ) -> Result<Option<Box<dyn Fill>>, sqlx::Error> {
        let filling = Filling::begin(options, tables).await?;
        Ok(filling.map(|filling| Box::new(filling) as Box<dyn Fill>))
    }

    async fn brake(connection: &mut MySqlConnection) -> Result<Brake, sqlx::Error> {
        let row = sqlx::raw_sql(CONNECTION_ID).fetch_one(connection).await?;
        Ok(Brake::at(row.try_get_unchecked(0)?, row.try_get_unchecked(1)?))
    }

    /// Uses another connection, since the server does not stop when a connection is closed.
    async fn end(_: &mut MySqlConnection, brake: &Brake, options: &MySqlConnectOptions) -> bool {
        if let Err(error) = kill(brake, options).await {
            tracing::debug!(%error, "a statement is still running although its request is over");
        }
        false
    }

    async fn analyze(connection: &mut MySqlConnection, tables: &[&str]) -> Result<(), sqlx::Error> {
        let analyze = sql_text(format!("ANALYZE TABLE {}", tables.join(", ")));
        Self::execute_batch(connection, analyze).await
    }

    fn bind(values: &mut Self::Arguments, value: Value) -> Result<(), BoxDynError> {
        match value {
            Value::Null => values.add(None::<i64>),
            Value::Int(number) => values.add(number),
            Value::Decimal { units, places } => values.add(Decimal::new(units, places.into())),
            Value::Text(text) | Value::Json(text) => values.add(text),
            Value::Moment(moment) => values.add(moment),
        }
    }

    fn number(row: &MySqlRow, column: usize) -> Result<i64, sqlx::Error> {
        let raw = row.try_get_raw(column)?;
        match raw.type_info().name() {
            "DECIMAL" => cells::count(row.try_get(column)?),
            _ => row.try_get_unchecked(column),
        }
    }

    fn cell(row: &MySqlRow, column: usize, kind: Kind) -> Result<Cell<'_>, sqlx::Error> {
        cells::typed(row, column, kind, "DECIMAL", Self::number)
    }

    fn affected(result: &MySqlQueryResult) -> u64 {
        result.rows_affected()
    }

    fn inserted(result: &MySqlQueryResult) -> Result<Option<i64>, sqlx::Error> {
        // 0 is no key: the statement has inserted no row with a key of the engine's.
        let key = i64::try_from(result.last_insert_id());
        let key = key.map_err(|error| sqlx::Error::Decode(error.into()))?;
        Ok(Some(key).filter(|key| *key != 0))
    }

    fn classify(error: sqlx::Error) -> Error {
        let Some(database) = of_server(&error) else { return without_code(error) };
        match database.number() {
            // Duplicate value: "Duplicate entry '...' for key 'index'", where MySQL includes the
            // table.
            1062 | 1586 => {
                let index =
                    database.message().rsplit_once("for key '").map_or("", |(_, rest)| rest);
                let index = index.trim_end_matches('\'');
                let index = index.rsplit_once('.').map_or(index, |(_, index)| index);
                let columns = columns_of_index(index);
                Error::Constraint(Constraint::Unique(columns), error)
            }
            1216 | 1217 | 1451 | 1452 => Error::Constraint(Constraint::Reference, error),
            3819 | 4025 => Error::Constraint(Constraint::Check, error),
            // A deadlock (or a commit that a cluster refuses), a lock timeout, a row that changed
            // after it was read, a transaction that disappeared with its savepoint.
            1213 | 1205 | 1020 | 1305 => Error::Conflict(error),
            // Other connections use them up; those of this connection are released.
            TOO_MANY_STATEMENTS => Error::Conflict(error),
            // A missing table: the store is being bulk-loaded, and its tables are renamed.
            1146 => Error::Unavailable(error),
            // The server is stopping, has killed the connection, or has not yet joined its cluster.
            1053 | 1047 | 1927 | 3169 => Error::Lost(error),
            // The server cannot write to its disk, because it is full for example, or is read-only.
            3 | 14 | 20 | 28 | 1021 | 1026 | 1114 | 1290 | 1792 | 1836 => Error::Unwritable(error),
            // The server is out of files or memory, has too many connections, or refuses the login;
            // a statement took too long; a node could not replicate a commit to its cluster.
            1030 | 1037 | 1040 | 1041 | 1044 | 1045 | 1049 | 1180 | 1203 | 1226 | 1317 | 1969
            | 3024 => Error::Unavailable(error),
            _ => Error::Database(error),
        }
    }

    fn must_close(error: &sqlx::Error) -> bool {
        of_server(error).is_some_and(|error| error.number() == TOO_MANY_STATEMENTS)
    }

    /// The failure may come from a table whose triggers the server has read only in part, as
    /// happens on a node of a cluster that rolled back a transaction while reading them. Statements
    /// fail until the triggers are read again, which is all that a repair does to tables of this
    /// kind.
    fn remedy(error: &sqlx::Error) -> Option<&'static str> {
        let number = of_server(error).map(MySqlDatabaseError::number);
        let is_half_read = matches!(number, Some(1064 | 1146));
        is_half_read.then_some(
            "ROLLBACK; SET STATEMENT lock_wait_timeout = 2 FOR \
             REPAIR LOCAL TABLE shop_addresses, shop_orders, shop_products",
        )
    }
}

/// The id of a connection, and its server: another server may be behind the same address.
const CONNECTION_ID: &str =
    "SELECT concat_ws(' ', @@hostname, @@port, @@server_id, @@datadir), connection_id()";

/// Ends the statement of another connection.
async fn kill(brake: &Brake, options: &MySqlConnectOptions) -> Result<(), sqlx::Error> {
    let Some((server, id)) = &brake.at else { return Ok(()) };
    let mut connection = MySqlConnection::connect_with(options).await?;
    let here = MySql::brake(&mut connection).await?.at.is_some_and(|(here, _)| here == *server);
    if here {
        connection.execute(sql_text(format!("KILL QUERY {id}"))).await?;
    }
    connection.close().await
}

/// The error as the server describes it.
fn of_server(error: &sqlx::Error) -> Option<&MySqlDatabaseError> {
    error.as_database_error()?.try_downcast_ref()
}

/// Bulk-loading step by step, since this engine has no transactional changes of tables. The tables
/// are renamed meanwhile, so that a host that serves them finds none instead of half of them. The
/// definitions of removed parts are stored first, so that the next start can rebuild them after an
/// interruption.
struct Filling {
    connection: MySqlConnection,
    options: MySqlConnectOptions,
    tables: Vec<&'static str>,
    /// The number of rows that have not been committed.
    open: usize,
}

/// How many rows are written before a commit, so that a rollback is never large.
const COMMITTED_AT_ONCE: usize = 20_000;
/// The generated rows are valid, and indexes that references need are removed with the others.
const CHECKS_OFF: &str = "SET foreign_key_checks = 0 /*M!100201 , check_constraint_checks = 0 */";
const CHECKS_ON: &str = "SET foreign_key_checks = 1 /*M!100201 , check_constraint_checks = 1 */";
/// Makes inserts in the order of a table's keys sort in memory.
const SORT_IN_MEMORY: &str = "SET sort_buffer_size = 67108864";
/// The greatest size of the values of a statement. The driver does not flush what follows the first
/// packet, so the network holds the end of it back for a while.
const INSERTED_AT_ONCE: usize = 12 << 10;

/// The lock for bulk-loading a store. Locks belong to the server, so the name includes the
/// database.
const LOCK: &str = "SELECT GET_LOCK(concat('shop_filling.', md5(database())), ?) = 1";
/// The table of instructions for the next start, in the order of execution.
const NOTES: &str = "CREATE TABLE shop_filling (
        number integer NOT NULL AUTO_INCREMENT PRIMARY KEY,
        kept mediumtext NOT NULL
    ) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin";
const IS_NOTED: &str = "SELECT count(*) FROM information_schema.tables \
    WHERE table_schema = database() AND table_name = 'shop_filling'";
/// The triggers of a table, in the order in which they fire. By `trigger_schema`, the server would read those of
/// all databases.
const TRIGGERS: &str = "SELECT trigger_name, concat('CREATE TRIGGER IF NOT EXISTS `', trigger_name, \
    '` ', action_timing, ' ', event_manipulation, ' ON `'), concat('` FOR EACH ROW ', action_statement) \
    FROM information_schema.triggers \
    WHERE event_object_schema = database() AND event_object_table = ? \
    ORDER BY event_manipulation, action_timing, action_order";

impl Filling {
    /// Returns `None` on a node of a cluster, because other nodes do not see its locks.
    async fn begin(
        options: &MySqlConnectOptions,
        tables: Vec<&'static str>,
    ) -> Result<Option<Self>, sqlx::Error> {
        let options = options.clone();
        let mut connection = MySqlConnection::connect_with(&options).await?;
        let cluster = sqlx::query("SHOW STATUS LIKE 'wsrep_gcomm_uuid'");
        if cluster.fetch_optional(&mut connection).await?.is_some() {
            return Ok(None);
        }
        lock(&mut connection).await?;
        resume_filling(&mut connection, &options).await?;
        let (mut gone, mut indexes) = (Vec::new(), Vec::new());
        let (mut dropped, mut triggers) = (Vec::new(), Vec::new());
        for table in &tables {
            let name = hidden_name(table);
            if let Some((drop, add)) = indexes_of(table, &name, &mut connection).await? {
                gone.push(drop);
                indexes.push(add);
            }
            let found: Vec<(String, String, String)> =
                sqlx::query_as(TRIGGERS).bind(*table).fetch_all(&mut connection).await?;
            for (trigger, begin, end) in found {
                dropped.push(format!("DROP TRIGGER `{trigger}`"));
                triggers.push(format!("{begin}{name}{end}"));
            }
        }
        connection.execute(NOTES).await?;
        for kept in indexes.into_iter().chain(triggers) {
            let note = sqlx::query("INSERT INTO shop_filling (kept) VALUES (?)");
            note.bind(kept).execute(&mut connection).await?;
        }
        rename(&tables, &mut connection, |table| (table.to_owned(), hidden_name(table))).await?;
        connection.execute(CHECKS_OFF).await?;
        // The last trigger goes first, and is made last, so that one that is missing after a kill is
        // made again in its place.
        for statement in gone.into_iter().chain(dropped.into_iter().rev()) {
            connection.execute(sql_text(statement)).await?;
        }
        connection.execute("START TRANSACTION").await?;
        Ok(Some(Self { connection, options, tables, open: 0 }))
    }
}

impl Fill for Filling {
    fn numbers(&mut self, statement: Statement) -> BoxFuture<'_, Result<Vec<i64>, sqlx::Error>> {
        let text = hidden(&statement.text, &self.tables);
        let statement = Statement { text, ..statement };
        Box::pin(session::numbers::<MySql>(&mut self.connection, statement))
    }

    fn insert(&mut self, batch: Vec<RowsOf>) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        Box::pin(async {
            for RowsOf { table, columns, values, .. } in batch {
                let rows = values.len() / columns.len().max(1);
                let bytes: usize = values.iter().map(|value| value.text_len() + 8).sum();
                let at_once = rows * INSERTED_AT_ONCE / bytes.max(1);
                let table = hidden_name(table);
                for statement in sql::insert_many(&table, columns, values, at_once, &MYSQL) {
                    MySql::execute(&mut self.connection, bound::<MySql>(statement)?).await?;
                }
                self.open += rows;
            }
            if self.open >= COMMITTED_AT_ONCE {
                self.connection.execute("COMMIT; START TRANSACTION").await?;
                self.open = 0;
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
            let last = last.iter().map(|statement| hidden(statement, &self.tables)).collect();
            execute_all::<MySql>(&mut self.connection, last).await?;
            self.connection.execute("COMMIT").await?;
            finish_filling(&self.tables, &mut self.connection, &self.options, report).await?;
            MySql::analyze(&mut self.connection, &self.tables).await?;
            self.connection.close().await
        })
    }
}

/// The statements that remove the secondary indexes of a table, and those that add them to the
/// renamed table. They use the engine's own description, which has a line for each index.
async fn indexes_of(
    table: &str,
    name: &str,
    connection: &mut MySqlConnection,
) -> Result<Option<(String, String)>, sqlx::Error> {
    let show = sql_text(format!("SHOW CREATE TABLE `{table}`"));
    let text: String = sqlx::query(show).fetch_one(connection).await?.try_get_unchecked(1)?;
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for line in text.lines().map(|line| line.trim().trim_end_matches(',')) {
        let Some((kind, rest)) = line.split_once("KEY `") else { continue };
        if let ("" | "UNIQUE " | "FULLTEXT " | "SPATIAL ", Some((index, _))) =
            (kind, rest.split_once('`'))
        {
            gone.push(format!("DROP KEY `{index}`"));
            kept.push(format!("ADD {kind}KEY IF NOT EXISTS `{rest}"));
        }
    }
    Ok((!gone.is_empty()).then(|| {
        let [gone, kept] = [gone, kept].map(|parts| parts.join(", "));
        (format!("ALTER TABLE `{name}` {gone}"), format!("ALTER TABLE `{name}` {kept}"))
    }))
}

/// Rebuilds the removed parts, except those that exist already, and finally gives the tables their
/// names back. Reports how many steps of how many are done.
async fn finish_filling(
    tables: &[&str],
    connection: &mut MySqlConnection,
    options: &MySqlConnectOptions,
    report: impl FnMut(u64, u64) + Send,
) -> Result<(), sqlx::Error> {
    let kept: Vec<String> = sqlx::query_scalar("SELECT kept FROM shop_filling ORDER BY number")
        .fetch_all(&mut *connection)
        .await?;
    let (mut indexes, triggers): (Vec<String>, Vec<String>) =
        kept.into_iter().partition(|kept| kept.starts_with("ALTER TABLE"));
    // The slowest come first, so that neither of the two connections is idle for long at the end.
    indexes.sort_by_key(|add| std::cmp::Reverse(add.len()));
    let counts = kept::recount(MYSQL.kept).into_iter().map(|table| {
        let statements = table.statements.iter();
        statements.map(|statement| hidden(statement, tables)).collect::<Vec<_>>()
    });
    let counts: VecDeque<_> = counts.collect();
    let total = indexes.len() + triggers.len() + counts.len();
    let meter = Mutex::new((0, total as u64, report));
    let indexes = indexes.into_iter().map(|add| vec![add]).collect();
    let mut second = MySqlConnection::connect_with(options).await?;
    for session in [&mut *connection, &mut second] {
        session.execute(CHECKS_OFF).await?;
        session.execute(SORT_IN_MEMORY).await?;
    }
    side_by_side(indexes, connection, &mut second, &meter).await?;
    // Triggers fire in the order in which they are created.
    for trigger in triggers {
        connection.execute(sql_text(trigger)).await?;
        advance(&meter);
    }
    side_by_side(counts, connection, &mut second, &meter).await?;
    second.close().await?;
    for renewal in another_feed::<MySql>()? {
        connection.execute(sql_text(renewal)).await?;
    }
    rename(tables, connection, |table| (hidden_name(table), table.to_owned())).await?;
    connection.execute("DROP TABLE shop_filling").await.map(drop)
}

/// How many steps of how many are done, and where this is reported.
type Meter<T> = Mutex<(u64, u64, T)>;

fn advance(meter: &Meter<impl FnMut(u64, u64)>) {
    let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
    let (done, total, report) = &mut *meter;
    *done += 1;
    report(*done, *total);
}

/// Runs the steps on two connections, each on the one that is free first: the server uses only one
/// processor per connection.
async fn side_by_side(
    pieces: VecDeque<Vec<String>>,
    one: &mut MySqlConnection,
    other: &mut MySqlConnection,
    meter: &Meter<impl FnMut(u64, u64) + Send>,
) -> Result<(), sqlx::Error> {
    let pieces = Mutex::new(pieces);
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = async |connection: &mut MySqlConnection| {
        while let Some(piece) = next() {
            connection.execute("START TRANSACTION").await?;
            for statement in piece {
                connection.execute(sql_text(statement)).await?;
            }
            connection.execute("COMMIT").await?;
            advance(meter);
        }
        Ok::<_, sqlx::Error>(())
    };
    tokio::try_join!(work(one), work(other)).map(drop)
}

/// Completes bulk-loading that another program began, as soon as that program has ended.
async fn resume_filling(
    connection: &mut MySqlConnection,
    options: &MySqlConnectOptions,
) -> Result<(), sqlx::Error> {
    if !is_noted(connection).await? {
        return Ok(());
    }
    tracing::info!("another process is filling the store, or was interrupted; waiting");
    lock(connection).await?;
    if !is_noted(connection).await? {
        return Ok(());
    }
    let find = "SELECT table_name FROM information_schema.tables \
        WHERE table_schema = database() AND left(table_name, 13) = 'shop_filling_'";
    let found: Vec<(String,)> = sqlx::query_as(find).fetch_all(&mut *connection).await?;
    let tables: Vec<String> = found.iter().map(|(name,)| shown_name(name)).collect();
    let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
    if tables.is_empty() {
        // Nothing had been removed yet, or everything had been rebuilt.
        connection.execute("DROP TABLE shop_filling").await.map(drop)?
    } else {
        finish_filling(&tables, connection, options, |_, _| ()).await?
    }
    connection.execute(CHECKS_ON).await.map(drop)
}

/// Waits for the lock for bulk-loading the store, which is released with the connection.
async fn lock(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    const A_DAY: i64 = 24 * 60 * 60;
    let locked: Option<bool> = sqlx::query_scalar(LOCK).bind(A_DAY).fetch_one(connection).await?;
    locked.filter(|locked| *locked).map(drop).ok_or(sqlx::Error::PoolTimedOut)
}

async fn is_noted(connection: &mut MySqlConnection) -> Result<bool, sqlx::Error> {
    let tables: i64 = sqlx::query_scalar(IS_NOTED).fetch_one(connection).await?;
    Ok(tables > 0)
}

/// Renames tables, all or none.
async fn rename(
    tables: &[&str],
    connection: &mut MySqlConnection,
    names: impl Fn(&str) -> (String, String),
) -> Result<(), sqlx::Error> {
    let renamed = tables.iter().map(|table| {
        let (from, to) = names(table);
        format!("`{from}` TO `{to}`")
    });
    let renamed: Vec<String> = renamed.collect();
    connection.execute(sql_text(format!("RENAME TABLE {}", renamed.join(", ")))).await.map(drop)
}

/// The name of a table of the store during bulk-loading.
fn hidden_name(table: &str) -> String {
    table.replacen("shop_", "shop_filling_", 1)
}

fn shown_name(table: &str) -> String {
    table.replacen("shop_filling_", "shop_", 1)
}

/// A statement on the renamed tables during bulk-loading.
fn hidden(text: &str, tables: &[&str]) -> String {
    let in_a_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split_inclusive(|character| !in_a_name(character)).map(|word| {
        let (name, rest) = word.split_at(word.trim_end_matches(|c| !in_a_name(c)).len());
        if tables.contains(&name) { hidden_name(name) + rest } else { word.to_owned() }
    });
    words.collect()
}
