//! The store on MariaDB and MySQL.

use std::str::FromStr;
use std::time::Duration;

use futures_util::StreamExt;
use rust_decimal::Decimal;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::mysql::{
    MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlPool,
    MySqlPoolOptions, MySqlRow,
};
use sqlx::query::Query;
use sqlx::{ConnectOptions, Connection, Executor, MySql, Row, TypeInfo, ValueRef};
use time::PrimitiveDateTime;

use super::{Cells, Constraint, LOCK_PATIENCE, Rows, STATEMENTS, Session, Stream, bounded};
use super::{count, moment, moment_text, sql_text, units, values};
use crate::dialect::MYSQL;
use crate::error::Error;
use crate::plan::Page;
use crate::sql::{self, Statement, Table};
use crate::value::{Cell, Kind, Value};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/mysql");

pub(super) fn options(url: &str) -> Result<MySqlConnectOptions, sqlx::Error> {
    Ok(MySqlConnectOptions::from_str(url)?
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging())
}

/// Connections that wait so long for an answer.
pub(super) fn connect(options: MySqlConnectOptions, answer: Duration) -> MySqlPool {
    let pool: MySqlPoolOptions = bounded(MySqlPoolOptions::new());
    // What does not fit is refused, whatever the server's own mode is; a statement sees what
    // others have committed before it; and what nobody waits for any more is given up by the
    // server too, where it is MariaDB.
    let session = format!(
        "SET sql_mode = concat(@@sql_mode, ',STRICT_ALL_TABLES'), \
         innodb_lock_wait_timeout = {} /*M!100100 , max_statement_time = {} */",
        LOCK_PATIENCE.as_secs(),
        answer.as_secs()
    );
    let pool = pool.after_connect(move |connection, _| {
        let session = sql_text(session.clone());
        Box::pin(async move {
            connection.execute(session).await?;
            let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
            connection.execute(isolation).await.map(drop)
        })
    });
    pool.connect_lazy_with(options)
}

/// On a connection of its own: what the pool's connections wait for at most is too short here.
pub(super) async fn migrate(pool: &MySqlPool) -> Result<(), MigrateError> {
    let mut connection = MySqlConnection::connect_with(&pool.connect_options()).await?;
    super::in_own_table(&MIGRATIONS).run_direct(None, &mut connection, false).await?;
    Ok(connection.close().await?)
}

/// Takes away the store's tables, with their triggers.
pub(super) async fn drop_tables(pool: &MySqlPool) -> Result<(), sqlx::Error> {
    let find = "SELECT concat('DROP TABLE `', table_name, '`') FROM information_schema.tables \
        WHERE table_schema = database() AND left(table_name, 5) = 'shop_'";
    let mut connection = MySqlConnection::connect_with(&pool.connect_options()).await?;
    // They refer to each other.
    connection.execute("SET foreign_key_checks = 0").await?;
    for found in sqlx::query(find).fetch_all(&mut connection).await? {
        let drop: String = found.try_get_unchecked(0)?;
        connection.execute(sql_text(drop)).await?;
    }
    connection.close().await
}

/// Whether a failure is that of a table whose triggers the server has read by half, as a node of a
/// cluster has that undid a transaction while it read them. It fails over them until it reads them
/// anew.
pub(super) fn is_half_read(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    let error = error.and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    error.is_some_and(|error| matches!(error.number(), 1064 | 1146))
}

/// Has the server read its triggers anew. That is all that a repair does to tables of this kind.
pub(super) const READ_ANEW: &str = "ROLLBACK; SET STATEMENT lock_wait_timeout = 2 FOR \
    REPAIR LOCAL TABLE shop_addresses, shop_orders, shop_products";

impl Session for MySqlConnection {
    const ROLLBACK: &'static str = "ROLLBACK; SET autocommit = ON";

    answers_in_rows!(MYSQL, Rows::MySql);

    async fn run(&mut self, statement: Statement) -> Result<i64, sqlx::Error> {
        let done = query(statement)?.execute(self).await?;
        // Keys are given from 1, far below what this could not hold.
        Ok(i64::try_from(done.last_insert_id()).unwrap_or_default())
    }
}

fn query(statement: Statement) -> Result<Query<'static, MySql, MySqlArguments>, sqlx::Error> {
    let query = sqlx::query(sql_text(statement.text));
    statement.binds.into_iter().try_fold(query, |query, value| {
        Ok(match value {
            Value::Null => query.bind(None::<i64>),
            Value::Int(number) => query.bind(number),
            Value::Decimal { units, places } => query.bind(Decimal::new(units, places.into())),
            Value::Text(text) | Value::Json(text) => query.bind(text),
            Value::Moment(text) => query.bind(moment(&text)?),
        })
    })
}

/// A whole number; a decimal is counted in units of its last place.
fn number(row: &MySqlRow, column: usize) -> Result<i64, sqlx::Error> {
    let raw = row.try_get_raw(column)?;
    match raw.type_info().name() {
        "DECIMAL" => count(row.try_get(column)?),
        _ => row.try_get_unchecked(column),
    }
}

cells_of!(MySqlRow, "DECIMAL");

/// What a failure of the database means to a request.
pub(super) fn classify(error: sqlx::Error) -> Error {
    let database = error.as_database_error();
    let database = database.and_then(|error| error.try_downcast_ref::<MySqlDatabaseError>());
    let Some(database) = database else { return super::without_code(error) };
    match database.number() {
        // A value that is taken: "Duplicate entry '...' for key 'index'", where MySQL names the
        // table too.
        1062 | 1586 => {
            let index = database.message().rsplit_once("for key '").map_or("", |(_, rest)| rest);
            let index = index.trim_end_matches('\'');
            let index = index.rsplit_once('.').map_or(index, |(_, index)| index);
            let columns = super::columns_of_index(index);
            Error::Constraint(Constraint::Unique(columns), error)
        }
        1216 | 1217 | 1451 | 1452 => Error::Constraint(Constraint::Reference, error),
        3819 | 4025 => Error::Constraint(Constraint::Check, error),
        // A deadlock (or a commit that a cluster refuses), a lock that did not come free, a row
        // that changed after it was read, a transaction that has gone with its savepoint.
        1213 | 1205 | 1020 | 1305 => Error::Conflict(error),
        // The server stops, has killed the connection, is not yet part of its cluster.
        1053 | 1047 | 1927 | 3169 => Error::Lost(error),
        // Files, disks and memory that the server is out of, a read-only server, too many
        // connections, who may connect and to what, statements that took too long, a commit that a
        // node could not bring to its cluster.
        3 | 14 | 20 | 28 | 1021 | 1026 | 1030 | 1037 | 1040 | 1041 | 1044 | 1045 | 1049 | 1114
        | 1180 | 1203 | 1226 | 1290 | 1317 | 1792 | 1836 | 1969 | 3024 => Error::Unavailable(error),
        _ => Error::Database(error),
    }
}
