//! The store on MariaDB and MySQL.

use std::collections::VecDeque;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rust_decimal::Decimal;
use sqlx::mysql::{
    MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlPoolOptions, MySqlQueryResult,
    MySqlRow,
};
use sqlx::{ConnectOptions, Connection, Executor, MySql, Row, TypeInfo, ValueRef};

use super::brake::Brake;
use super::cells;
use super::driver::{Bound, Driver, Files, Fill, LOCK_PATIENCE, Run, bound, bounded, sql_text};
use super::failure::{columns_of_index, without_code};
use super::migrations::{self, in_own_table, migrator};
use super::pools::Pools;
use super::ready::Ready;
use super::session;
use crate::error::{Constraint, Error};
use crate::model::value::{Cell, Kind, Value};
use crate::sql::dialect::{Dialect, MYSQL};
use crate::sql::{self, RowsOf, Statement, kept};

/// How many prepared statements a connection keeps. A server has 16,382 for all connections of all
/// hosts, by default.
const STATEMENTS: usize = 64;

/// The number of the failure to prepare one more statement than the server has for all connections.
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
        let pool: MySqlPoolOptions = bounded(MySqlPoolOptions::new());
        // What does not fit is refused, whatever the server's own mode is; a statement sees what
        // others have committed before it; and what nobody waits for any more is given up by the
        // server too, by MySQL where it only reads.
        let session = format!(
            "SET sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES'), \
             innodb_lock_wait_timeout = {} /*M!100100 , max_statement_time = {} */ \
             /*!50708 , max_execution_time = {} */",
            LOCK_PATIENCE.as_secs(),
            answer.as_secs(),
            answer.as_millis()
        );
        let pool = pool.after_connect(move |connection, _| {
            let session = sql_text(session.clone());
            Box::pin(async move {
                connection.execute(session).await?;
                let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
                connection.execute(isolation).await.map(drop)
            })
        });
        Pools::of_server(Ready::new(pool.connect_lazy_with(options)))
    }

    /// On a connection of its own: what the pool's connections wait for at most is too short here.
    async fn migrate(options: &MySqlConnectOptions, _: &Pools<Self>) -> Result<(), Error> {
        let migrated = async {
            let mut connection = MySqlConnection::connect_with(options).await?;
            resume_filling(&mut connection, options).await?;
            let migrator = in_own_table(migrator(Self::MIGRATIONS));
            migrator.run_direct(None, &mut connection, false).await?;
            Ok(connection.close().await?)
        };
        migrated.await.map_err(Error::of_migration)
    }

    /// Removes the store's tables, with their triggers.
    async fn drop_tables(options: &MySqlConnectOptions) -> Result<(), Error> {
        let dropped = async {
            let find = "SELECT concat('DROP TABLE `', table_name, '`') \
                FROM information_schema.tables \
                WHERE table_schema = database() AND left(table_name, 5) = 'shop_'";
            let mut connection = MySqlConnection::connect_with(options).await?;
            // They refer to each other.
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
        let row = sqlx::raw_sql(WHO).fetch_one(connection).await?;
        Ok(Brake::at(row.try_get_unchecked(0)?, row.try_get_unchecked(1)?))
    }

    /// By another connection, since the server goes on for one that is closed.
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

    fn bind(query: Bound<Self>, value: Value) -> Bound<Self> {
        match value {
            Value::Null => query.bind(None::<i64>),
            Value::Int(number) => query.bind(number),
            Value::Decimal { units, places } => query.bind(Decimal::new(units, places.into())),
            Value::Text(text) | Value::Json(text) => query.bind(text),
            Value::Moment(moment) => query.bind(moment),
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

    fn inserted(result: &MySqlQueryResult) -> i64 {
        // Keys are given from 1, far below what this could not hold.
        i64::try_from(result.last_insert_id()).unwrap_or_default()
    }

    fn classify(error: sqlx::Error) -> Error {
        let database = error.as_database_error();
        let database = database.and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
        let Some(database) = database else { return without_code(error) };
        match database.number() {
            // A value that is taken: "Duplicate entry '...' for key 'index'", where MySQL names the
            // table too.
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
            // A deadlock (or a commit that a cluster refuses), a lock that did not come free, a row
            // that changed after it was read, a transaction that has gone with its savepoint.
            1213 | 1205 | 1020 | 1305 => Error::Conflict(error),
            // Others have them; those of this connection are given back.
            TOO_MANY_STATEMENTS => Error::Conflict(error),
            // A table that is not there: the store is being filled, and its tables have other names.
            1146 => Error::Unavailable(error),
            // The server stops, has killed the connection, is not yet part of its cluster.
            1053 | 1047 | 1927 | 3169 => Error::Lost(error),
            // Files, disks and memory that the server is out of, a read-only server, too many
            // connections, who may connect and to what, statements that took too long, a commit that a
            // node could not bring to its cluster.
            3 | 14 | 20 | 28 | 1021 | 1026 | 1030 | 1037 | 1040 | 1041 | 1044 | 1045 | 1049
            | 1114 | 1180 | 1203 | 1226 | 1290 | 1317 | 1792 | 1836 | 1969 | 3024 => {
                Error::Unavailable(error)
            }
            _ => Error::Database(error),
        }
    }

    fn is_worn_out(error: &sqlx::Error) -> bool {
        number_of(error) == Some(TOO_MANY_STATEMENTS)
    }

    /// A failure may be that of a table whose triggers the server has read by half, as a node of a
    /// cluster has that undid a transaction while it read them. It fails over them until it reads them
    /// again, which is all that a repair does to tables of this kind.
    fn remedy(error: &sqlx::Error) -> Option<&'static str> {
        let is_half_read = matches!(number_of(error), Some(1064 | 1146));
        is_half_read.then_some(
            "ROLLBACK; SET STATEMENT lock_wait_timeout = 2 FOR \
             REPAIR LOCAL TABLE shop_addresses, shop_orders, shop_products",
        )
    }
}

/// What a connection is, and to which server: one behind the same address may be another.
const WHO: &str =
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

/// The server's number of a failure.
fn number_of(error: &sqlx::Error) -> Option<u16> {
    let error = error.as_database_error();
    let error = error.and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    error.map(MySqlDatabaseError::number)
}

/// Filling a store step by step, since this engine cannot undo that a table changes. The tables have
/// other names meanwhile, so that a host that serves them finds none instead of half of them. What
/// was removed is written down before, so that the next start can rebuild it where this one was
/// cut off.
struct Filling {
    connection: MySqlConnection,
    options: MySqlConnectOptions,
    tables: Vec<&'static str>,
    /// How many rows have not been committed.
    open: usize,
}

/// After how many rows what was written is committed, so that what would have to be undone is never
/// much.
const COMMITTED_AT_ONCE: usize = 20_000;
/// Rows are right as they come, and an index that a reference needs goes with the others.
const TRUSTING: &str = "SET foreign_key_checks = 0 /*M!100201 , check_constraint_checks = 0 */";
const DISTRUSTING: &str = "SET foreign_key_checks = 1 /*M!100201 , check_constraint_checks = 1 */";
/// Sorts in memory what goes into a table in the order of its keys.
const SORTING: &str = "SET sort_buffer_size = 67108864";
/// How many bytes of values are in a statement at most. Of what follows the first packet the driver
/// leaves the last to the network, which holds it back for a while.
const INSERTED_AT_ONCE: usize = 12 << 10;

/// The lock for filling a store. Locks belong to the server, so the database is part of the name.
const LOCK: &str = "SELECT GET_LOCK(concat('shop_filling.', md5(database())), ?) = 1";
/// What is written down for the next start, in the order in which it is to be done.
const NOTES: &str = "CREATE TABLE shop_filling (
        turn integer NOT NULL AUTO_INCREMENT PRIMARY KEY,
        kept mediumtext NOT NULL
    ) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin";
const IS_NOTED: &str = "SELECT count(*) FROM information_schema.tables \
    WHERE table_schema = database() AND table_name = 'shop_filling'";
/// The triggers of a table, in the order in which they are at work.
const TRIGGERS: &str = "SELECT trigger_name, concat('CREATE TRIGGER IF NOT EXISTS `', trigger_name, \
    '` ', action_timing, ' ', event_manipulation, ' ON `'), concat('` FOR EACH ROW ', action_statement) \
    FROM information_schema.triggers \
    WHERE trigger_schema = database() AND event_object_table = ? \
    ORDER BY event_manipulation, action_timing, action_order";

impl Filling {
    /// Nothing for a node of a cluster: the others know nothing of its locks.
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
        let (mut gone, mut indexes, mut triggers) = (Vec::new(), Vec::new(), Vec::new());
        for table in &tables {
            let name = hidden_name(table);
            if let Some((drop, add)) = indexes_of(table, &name, &mut connection).await? {
                gone.push(drop);
                indexes.push(add);
            }
            let found: Vec<(String, String, String)> =
                sqlx::query_as(TRIGGERS).bind(*table).fetch_all(&mut connection).await?;
            for (trigger, begin, end) in found {
                gone.push(format!("DROP TRIGGER `{trigger}`"));
                triggers.push(format!("{begin}{name}{end}"));
            }
        }
        connection.execute(NOTES).await?;
        for kept in indexes.into_iter().chain(triggers) {
            let note = sqlx::query("INSERT INTO shop_filling (kept) VALUES (?)");
            note.bind(kept).execute(&mut connection).await?;
        }
        rename(&tables, &mut connection, |table| (table.to_owned(), hidden_name(table))).await?;
        connection.execute(TRUSTING).await?;
        for statement in gone {
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
                let bytes: usize = values.iter().map(|value| value.text().len() + 8).sum();
                let at_once = rows * INSERTED_AT_ONCE / bytes.max(1);
                let table = hidden_name(table);
                for statement in sql::insert_many(&table, columns, values, at_once, &MYSQL) {
                    MySql::execute(&mut self.connection, bound::<MySql>(statement)).await?;
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
        report: &'a mut (dyn FnMut(u64, u64) + Send),
    ) -> BoxFuture<'a, Result<(), sqlx::Error>> {
        Box::pin(async move {
            self.connection.execute("COMMIT").await?;
            finish_filling(&self.tables, &mut self.connection, &self.options, report).await?;
            MySql::analyze(&mut self.connection, &self.tables).await?;
            self.connection.close().await
        })
    }
}

/// The statements that remove the secondary indexes of a table, and that add them to the table
/// under another name. In the form of the engine itself, which has a line for each.
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

/// Rebuilds what was removed, each piece unless it is there, and gives the tables their names again in
/// the end. Reports how many of how many pieces are done.
async fn finish_filling(
    tables: &[&str],
    connection: &mut MySqlConnection,
    options: &MySqlConnectOptions,
    report: impl FnMut(u64, u64) + Send,
) -> Result<(), sqlx::Error> {
    let kept: Vec<String> = sqlx::query_scalar("SELECT kept FROM shop_filling ORDER BY turn")
        .fetch_all(&mut *connection)
        .await?;
    let (mut indexes, triggers): (Vec<String>, Vec<String>) =
        kept.into_iter().partition(|kept| kept.starts_with("ALTER TABLE"));
    // Those that take longest first, or one of the two connections would wait for them in the end.
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
        session.execute(TRUSTING).await?;
        session.execute(SORTING).await?;
    }
    side_by_side(indexes, connection, &mut second, &meter).await?;
    // They are at work in the order in which they are made.
    for trigger in triggers {
        connection.execute(sql_text(trigger)).await?;
        advance(&meter);
    }
    side_by_side(counts, connection, &mut second, &meter).await?;
    second.close().await?;
    rename(tables, connection, |table| (hidden_name(table), table.to_owned())).await?;
    connection.execute("DROP TABLE shop_filling").await.map(drop)
}

/// How many of how many pieces are done, and where that is reported.
type Meter<T> = Mutex<(u64, u64, T)>;

fn advance(meter: &Meter<impl FnMut(u64, u64)>) {
    let mut meter = meter.lock().unwrap_or_else(PoisonError::into_inner);
    let (done, total, report) = &mut *meter;
    *done += 1;
    report(*done, *total);
}

/// Does pieces of work on two connections, each on the one that is free first: the server gives a
/// connection no more than one processor.
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

/// Finishes what another program has begun to fill in, as soon as that has ended.
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
    match tables.is_empty() {
        // Nothing was removed yet, or everything was rebuilt.
        true => connection.execute("DROP TABLE shop_filling").await.map(drop)?,
        false => finish_filling(&tables, connection, options, |_, _| ()).await?,
    }
    connection.execute(DISTRUSTING).await.map(drop)
}

/// Waits for the lock for filling the store, which ends with the connection.
async fn lock(connection: &mut MySqlConnection) -> Result<(), sqlx::Error> {
    const A_DAY: i64 = 24 * 60 * 60;
    let locked: Option<bool> = sqlx::query_scalar(LOCK).bind(A_DAY).fetch_one(connection).await?;
    locked.filter(|locked| *locked).map(drop).ok_or(sqlx::Error::PoolTimedOut)
}

async fn is_noted(connection: &mut MySqlConnection) -> Result<bool, sqlx::Error> {
    let tables: i64 = sqlx::query_scalar(IS_NOTED).fetch_one(connection).await?;
    Ok(tables > 0)
}

/// Gives tables other names, all of them or none.
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

/// The name that a table of the store has while it is filled.
fn hidden_name(table: &str) -> String {
    table.replacen("shop_", "shop_filling_", 1)
}

fn shown_name(table: &str) -> String {
    table.replacen("shop_filling_", "shop_", 1)
}

/// A statement about these tables while they are filled.
fn hidden(text: &str, tables: &[&str]) -> String {
    let in_a_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let words = text.split_inclusive(|character| !in_a_name(character)).map(|word| {
        let (name, rest) = word.split_at(word.trim_end_matches(|c| !in_a_name(c)).len());
        match tables.contains(&name) {
            true => hidden_name(name) + rest,
            false => word.to_owned(),
        }
    });
    words.collect()
}
