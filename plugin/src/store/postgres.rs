//! The store on PostgreSQL.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use futures_util::StreamExt;
use rust_decimal::Decimal;
use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::migrate::MigrateError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{
    PgArgumentBuffer, PgArguments, PgConnectOptions, PgConnection, PgPool, PgPoolOptions, PgRow,
    PgTypeInfo,
};
use sqlx::query::Query;
use sqlx::{ConnectOptions, Connection, Executor, Postgres, Row, Type, TypeInfo, ValueRef};
use time::PrimitiveDateTime;

use super::{Cells, LOCK_PATIENCE, Rows, STATEMENTS, Session, Stream, bounded};
use super::{count, sql_text, statements, units, values};
use crate::error::{Constraint, Error};
use crate::model::moment;
use crate::model::question::Page;
use crate::model::value::{Cell, Kind, Value};
use crate::resources;
use crate::sql::dialect::POSTGRES;
use crate::sql::{self, RowsOf, Statement, Table};

pub(super) const RECOUNT: &str = include_str!("../../recount/postgres.sql");

pub(super) fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
    Ok(PgConnectOptions::from_str(url)?
        .statement_cache_capacity(STATEMENTS)
        .disable_statement_logging())
}

/// How often a server at work looks whether the connection is still there.
const CHECKED: Duration = Duration::from_millis(500);

/// Connections that wait so long for an answer.
pub(super) fn connect(options: PgConnectOptions, answer: Duration) -> PgPool {
    let pool: PgPoolOptions = bounded(PgPoolOptions::new());
    // What nobody waits for any more is given up by the server too, and soon where the connection has
    // gone. Not every server can look for that.
    let session = format!(
        "SET lock_timeout = {}; SET statement_timeout = {}; \
         DO $$ BEGIN SET client_connection_check_interval = {}; \
         EXCEPTION WHEN OTHERS THEN NULL; END $$",
        LOCK_PATIENCE.as_millis(),
        answer.as_millis(),
        CHECKED.as_millis()
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
    let migrator = super::in_own_table(super::migrations::migrator(super::migrations::POSTGRES));
    migrator.run_direct(None, &mut connection, false).await?;
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

/// Takes away and makes anew what is kept up to date with each row of these tables, in an order that
/// suits both: a reference needs no index of its own table but that of its key.
const KEPT: &str = "SELECT gone, kept FROM (
        SELECT 1 AS turn, i.indexrelid AS oid,
            format('DROP INDEX %s', i.indexrelid::regclass) AS gone,
            pg_get_indexdef(i.indexrelid) AS kept, i.indrelid AS of
        FROM pg_index i
        WHERE NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conindid = i.indexrelid)
        UNION ALL
        SELECT 2, oid, format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
            format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
                pg_get_constraintdef(oid)), conrelid
        FROM pg_constraint WHERE contype = 'f'
        UNION ALL
        SELECT 3, oid, format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass),
            pg_get_triggerdef(oid), tgrelid
        FROM pg_trigger WHERE NOT tgisinternal
    ) AS each
    WHERE of = ANY ($1::regclass[]) ORDER BY turn, oid";

/// Filling a store in one transaction, which the server undoes when the connection ends. Others wait
/// for these tables until then, and are refused.
pub(super) struct Filling {
    connection: PgConnection,
    tables: Vec<&'static str>,
    /// What makes anew what was taken away.
    kept: Vec<String>,
    /// Rows on their way, by table.
    copies: BTreeMap<&'static str, Copy>,
}

/// Rows on their way to a table, in the form that is copied in. Of what follows the first packet the
/// driver leaves the last to the network, which holds it back for a while, so there must be many.
struct Copy {
    columns: &'static [&'static str],
    lines: String,
}

/// How many bytes are copied in at a time, but for a batch.
const COPIED_AT_ONCE: usize = 4 << 20;

impl Filling {
    pub(super) async fn begin(
        pool: &PgPool,
        tables: Vec<&'static str>,
    ) -> Result<Self, sqlx::Error> {
        // The pool's connections wait for at most too short.
        let mut connection = PgConnection::connect_with(&pool.connect_options()).await?;
        connection.say(POSTGRES.begin_write).await?;
        // An index is sorted in it.
        connection.say("SET LOCAL maintenance_work_mem = '128MB'").await?;
        connection.execute(sql_text(format!("LOCK TABLE {}", tables.join(", ")))).await?;
        let kept: Vec<(String, String)> = sqlx::query_as(KEPT)
            .bind(format!("{{{}}}", tables.join(",")))
            .fetch_all(&mut connection)
            .await?;
        let (gone, kept): (Vec<String>, _) = kept.into_iter().unzip();
        for statement in gone {
            connection.execute(sql_text(statement)).await?;
        }
        Ok(Self { connection, tables, kept, copies: BTreeMap::new() })
    }

    pub(super) async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, sqlx::Error> {
        self.connection.numbers(statement).await
    }

    pub(super) async fn insert(&mut self, batch: Vec<RowsOf>) -> Result<(), sqlx::Error> {
        for RowsOf { table, columns, values } in batch {
            let copy = self.copies.entry(table).or_insert_with(|| Copy::new(columns));
            if copy.columns != columns || copy.lines.len() >= COPIED_AT_ONCE {
                let full = std::mem::replace(copy, Copy::new(columns));
                full.send(table, &mut self.connection).await?;
            }
            copy.add(&values);
        }
        Ok(())
    }

    pub(super) async fn finish(
        mut self,
        mut tell: impl FnMut(u64, u64),
    ) -> Result<(), sqlx::Error> {
        for (table, copy) in self.copies {
            copy.send(table, &mut self.connection).await?;
        }
        let anew = self.kept.into_iter().chain(statements(RECOUNT).map(str::to_owned));
        let anew: Vec<String> = anew.collect();
        let total = anew.len() as u64;
        for (statement, done) in anew.into_iter().zip(0..) {
            tell(done, total);
            self.connection.execute(sql_text(statement)).await?;
        }
        for statement in self.tables.iter().filter_map(|table| {
            let resource = resources::REGISTRY.iter().find(|resource| resource.table == *table)?;
            sql::keys_follow(table, resource.key, &POSTGRES)
        }) {
            self.connection.numbers(statement).await?;
        }
        self.connection.say(POSTGRES.commit).await?;
        tell(total, total);
        self.connection.learn(&self.tables).await?;
        self.connection.close().await
    }
}

impl Copy {
    fn new(columns: &'static [&'static str]) -> Self {
        Self { columns, lines: String::new() }
    }

    /// A line for each row, with tabs between the values.
    fn add(&mut self, values: &[Value]) {
        for (value, place) in values.iter().zip(1..) {
            match value {
                Value::Null => self.lines.push_str("\\N"),
                Value::Moment(moment) => self.lines.push_str(&moment::render(*moment)),
                Value::Text(text) | Value::Json(text) => {
                    for character in text.chars() {
                        match character {
                            '\\' => self.lines.push_str("\\\\"),
                            '\t' => self.lines.push_str("\\t"),
                            '\n' => self.lines.push_str("\\n"),
                            '\r' => self.lines.push_str("\\r"),
                            plain => self.lines.push(plain),
                        }
                    }
                }
                number => self.lines.push_str(&number.to_string()),
            }
            self.lines.push(if place % self.columns.len() == 0 { '\n' } else { '\t' });
        }
    }

    async fn send(self, table: &str, connection: &mut PgConnection) -> Result<(), sqlx::Error> {
        let mut copy = connection.copy_in_raw(&sql::copy_in(table, self.columns)).await?;
        copy.send(self.lines.into_bytes()).await?;
        copy.finish().await.map(drop)
    }
}

impl Session for PgConnection {
    answers_in_rows!(POSTGRES, Rows::Postgres);

    async fn learn(&mut self, tables: &[&str]) -> Result<(), sqlx::Error> {
        self.execute(sql_text(format!("VACUUM (ANALYZE) {}", tables.join(", ")))).await.map(drop)
    }

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
            Value::Moment(moment) => query.bind(moment),
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
    // Asked for its type once, not again by whoever reads it.
    match raw.type_info().name() {
        "INT8" => row.try_get_unchecked(column),
        "INT2" => row.try_get_unchecked::<i16, _>(column).map(i64::from),
        "INT4" => row.try_get_unchecked::<i32, _>(column).map(i64::from),
        "BOOL" => row.try_get_unchecked::<bool, _>(column).map(i64::from),
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
