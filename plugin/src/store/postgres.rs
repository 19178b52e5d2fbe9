//! The store on PostgreSQL.

use std::str::FromStr;
use std::time::Duration;

use futures_util::StreamExt;
use rust_decimal::Decimal;
use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::migrate::{MigrateError, Migrator};
use sqlx::postgres::types::Oid;
use sqlx::postgres::{
    PgArgumentBuffer, PgArguments, PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow,
    PgTypeInfo,
};
use sqlx::query::Query;
use sqlx::{ConnectOptions, Connection, Executor, Postgres, Row, Type, TypeInfo, ValueRef};
use time::PrimitiveDateTime;

use super::{Cells, Constraint, LOCK_PATIENCE, Rows, STATEMENTS, Session, Stream, bounded};
use super::{count, moment, moment_text, sql_text, units, values};
use crate::dialect::POSTGRES;
use crate::error::Error;
use crate::plan::Page;
use crate::sql::{self, Statement, Table};
use crate::value::{Cell, Kind, Value};

static MIGRATIONS: Migrator = sqlx::migrate!("migrations/postgres");

pub(super) fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(PgConnectOptions::from_str(url)?
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging())
}

/// Connections that wait so long for an answer.
pub(super) fn connect(options: PgConnectOptions, answer: Duration) -> PgPool {
    let pool: PgPoolOptions = bounded(PgPoolOptions::new());
    // What nobody waits for any more is given up by the server too.
    let session = format!(
        "SET lock_timeout = {}; SET statement_timeout = {}",
        LOCK_PATIENCE.as_millis(),
        answer.as_millis()
    );
    let pool = pool.after_connect(move |connection, _| {
        let session = sql_text(session.clone());
        Box::pin(async move { connection.execute(sqlx::raw_sql(session)).await.map(drop) })
    });
    pool.connect_lazy_with(options)
}

/// On a connection of its own: what the pool's connections wait for at most is too short here.
pub(super) async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
    super::in_own_table(&MIGRATIONS).run_direct(None, &mut connection, false).await?;
    Ok(connection.close().await?)
}

/// Takes away the store's tables and functions. The triggers go with their tables.
pub(super) async fn drop_tables(pool: &PgPool) -> Result<(), sqlx::Error> {
    let drop = "DO $$
        DECLARE
            statement text;
        BEGIN
            FOR statement IN
                SELECT format('DROP TABLE %I CASCADE', tablename) FROM pg_tables
                WHERE schemaname = current_schema() AND left(tablename, 5) = 'shop_'
                UNION ALL
                SELECT format('DROP FUNCTION %s', oid::regprocedure) FROM pg_proc
                WHERE pronamespace = current_schema()::regnamespace AND left(proname, 5) = 'shop_'
            LOOP
                EXECUTE statement;
            END LOOP;
        END;
        $$";
    let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
    connection.execute(drop).await?;
    connection.close().await
}

impl Session for PgConnection {
    answers_in_rows!(POSTGRES, Rows::Postgres);

    async fn run(&mut self, statement: Statement) -> Result<i64, sqlx::Error> {
        // An insertion that gives back its key is a query with one row.
        let row = query(statement)?.fetch_optional(self).await?;
        row.map_or(Ok(0), |row| number(&row, 0))
    }
}

fn query(statement: Statement) -> Result<Query<'static, Postgres, PgArguments>, sqlx::Error> {
    let query = sqlx::query(sql_text(numbered(&statement.text)));
    statement.binds.into_iter().try_fold(query, |query, value| {
        Ok(match value {
            Value::Null => query.bind(Unset),
            Value::Int(number) => query.bind(number),
            Value::Decimal { units, places } => query.bind(Decimal::new(units, places.into())),
            Value::Text(text) => query.bind(text),
            Value::Moment(text) => query.bind(moment(&text)?),
            Value::Json(text) => query.bind(JsonText(text)),
        })
    })
}

/// The text with its placeholders as this engine has them: numbered from 1.
fn numbered(text: &str) -> String {
    let mut numbered = String::with_capacity(text.len() + 16);
    for (position, part) in text.split('?').enumerate() {
        if position > 0 {
            numbered.push('$');
            numbered.push_str(&position.to_string());
        }
        numbered.push_str(part);
    }
    numbered
}

/// An unset value of whatever type its place has. The type of a whole number must then be the one
/// that whole numbers are bound as, because a statement that was prepared with this value is used
/// for others too: a column that may be unset is a `bigint`.
struct Unset;

impl Type<Postgres> for Unset {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl Encode<'_, Postgres> for Unset {
    fn encode_by_ref(&self, _: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Ok(IsNull::Yes)
    }
}

/// The text of an object, kept as it is.
struct JsonText(String);

impl Type<Postgres> for JsonText {
    fn type_info() -> PgTypeInfo {
        // The type `json`.
        PgTypeInfo::with_oid(Oid(114))
    }
}

impl Encode<'_, Postgres> for JsonText {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buffer.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }
}

/// A whole number; a decimal is counted in units of its last place.
fn number(row: &PgRow, column: usize) -> Result<i64, sqlx::Error> {
    let raw = row.try_get_raw(column)?;
    match raw.type_info().name() {
        "BOOL" => row.try_get::<bool, _>(column).map(i64::from),
        "INT2" => row.try_get::<i16, _>(column).map(i64::from),
        "INT4" => row.try_get::<i32, _>(column).map(i64::from),
        "NUMERIC" => count(row.try_get(column)?),
        _ => row.try_get(column),
    }
}

cells_of!(PgRow, "NUMERIC");

/// What a failure of the database means to a request.
pub(super) fn classify(error: sqlx::Error) -> Error {
    let sqlx::Error::Database(database) = &error else { return super::without_code(error) };
    if database.is_unique_violation() {
        let columns = super::columns_of_index(database.constraint().unwrap_or_default());
        return Error::Constraint(Constraint::Unique(columns), error);
    }
    if database.is_foreign_key_violation() {
        return Error::Constraint(Constraint::Reference, error);
    }
    if database.is_check_violation() {
        return Error::Constraint(Constraint::Check, error);
    }
    let code = database.code().unwrap_or_default().into_owned();
    match code.as_str() {
        // Not serialisable, a deadlock, a lock that did not come free.
        "40001" | "40P01" | "55P03" => Error::Conflict(error),
        // The server stops, has stopped, starts.
        "57P01" | "57P02" | "57P03" => Error::Lost(error),
        // A read-only transaction, a cancelled statement, input or output; a table that a replica
        // does not have yet.
        "25006" | "57014" | "58030" | "42P01" => Error::Unavailable(error),
        code => match code.get(..2).unwrap_or_default() {
            "08" => Error::Lost(error),
            // Who may connect, which database, what the server is out of.
            "28" | "3D" | "53" => Error::Unavailable(error),
            _ => Error::Database(error),
        },
    }
}
