//! The store on PostgreSQL.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rust_decimal::Decimal;
use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{
    PgArgumentBuffer, PgConnectOptions, PgConnection, PgPoolOptions, PgQueryResult, PgRow,
    PgTypeInfo,
};
use sqlx::{
    Arguments, ConnectOptions, Connection, Executor, Postgres, Row, Type, TypeInfo, ValueRef,
};

use super::brake::Brake;
use super::cells;
use super::driver::{Driver, Files, Fill, LOCK_PATIENCE, Run, STATEMENTS, bounded, sql_text};
use super::failure::{columns_of_index, without_code};
use super::filling::{execute_all, rebuild};
use super::migrations::{self, in_own_table, migrator};
use super::pools::Pools;
use super::ready::Ready;
use super::reconciliation::bring_up_to_date;
use super::session;
use crate::error::{Constraint, Error};
use crate::model::moment;
use crate::model::registry::Registry;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::dialect::{Dialect, POSTGRES};
use crate::sql::{self, RowsOf, Statement};

/// Has the server check every 500 ms whether the connection is still open, and end statements that nothing waits for any
/// more, with their transaction. Not every server can do that.
const WATCHED: &str = "DO $$ BEGIN SET client_connection_check_interval = 500; \
    EXCEPTION WHEN OTHERS THEN NULL; END $$";

impl Driver for Postgres {
    const DIALECT: &'static Dialect = &POSTGRES;
    const MIGRATIONS: Files = migrations::POSTGRES;

    fn options(url: &str) -> Result<PgConnectOptions, sqlx::Error> {
        Ok(PgConnectOptions::from_str(url)?
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging())
    }

    fn pools(options: PgConnectOptions, answer: Duration) -> Pools<Self> {
        let pool: PgPoolOptions = bounded(PgPoolOptions::new());
        let session = format!(
            "SET lock_timeout = {}; SET statement_timeout = {}; {WATCHED}",
            LOCK_PATIENCE.as_millis(),
            answer.as_millis()
        );
        let port = options.get_port();
        let pool = pool.after_connect(move |connection, _| {
            let session = sql_text(session.clone());
            Box::pin(async move {
                host_interface::send_at_once(port);
                connection.execute(sqlx::raw_sql(session)).await.map(drop)
            })
        });
        Pools::of_server(Ready::new(pool.connect_lazy_with(options)))
    }

    async fn migrate(
        options: &PgConnectOptions,
        _: &Pools<Self>,
        registry: Registry,
    ) -> Result<(), Error> {
        let connection = async {
            let mut connection = unlimited(options).await?;
            // Otherwise the server logs a notice for each object that is to be removed and is absent.
            Self::execute_batch(&mut connection, "SET client_min_messages = warning").await?;
            Ok(connection)
        };
        let mut connection = connection.await.map_err(Error::of_connection)?;
        let migrator = in_own_table(migrator(Self::MIGRATIONS));
        bring_up_to_date::<Self>(&mut connection, &migrator, registry).await?;
        connection.close().await.map_err(Error::of_connection)
    }

    /// Drops the store's tables and functions. The triggers are dropped with their tables.
    async fn drop_tables(options: &PgConnectOptions) -> Result<(), Error> {
        let dropped = async {
            let mut connection = PgConnection::connect_with(options).await?;
            Self::execute_batch(&mut connection, DROP_ALL).await?;
            connection.close().await
        };
        dropped.await.map_err(Self::classify)
    }

    async fn begin_filling(
        options: &PgConnectOptions,
        tables: Vec<&'static str>,
    ) -> Result<Option<Box<dyn Fill>>, sqlx::Error> {
        Ok(Some(Box::new(Filling::begin(options, tables).await?)))
    }

    /// A server notices by itself that a connection was closed.
    async fn brake(_: &mut PgConnection) -> Result<Brake, sqlx::Error> {
        Ok(Brake::default())
    }

    async fn end(_: &mut PgConnection, _: &Brake, _: &PgConnectOptions) -> bool {
        false
    }

    async fn analyze(connection: &mut PgConnection, tables: &[&str]) -> Result<(), sqlx::Error> {
        let analyze = sql_text(format!("VACUUM (ANALYZE) {}", tables.join(", ")));
        Self::execute_batch(connection, analyze).await
    }

    /// Placeholders are numbered from 1.
    fn placeholders(text: String) -> String {
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

    fn bind(values: &mut Self::Arguments, value: Value) -> Result<(), BoxDynError> {
        match value {
            Value::Null => values.add(Unset),
            Value::Int(number) => values.add(number),
            Value::Decimal { units, places } => values.add(Decimal::new(units, places.into())),
            Value::Text(text) => values.add(text),
            Value::Moment(moment) => values.add(moment),
            Value::Json(text) => values.add(JsonText(text)),
        }
    }

    fn number(row: &PgRow, column: usize) -> Result<i64, sqlx::Error> {
        let raw = row.try_get_raw(column)?;
        // The type is looked up once.
        match raw.type_info().name() {
            "INT8" => row.try_get_unchecked(column),
            "INT2" => row.try_get_unchecked::<i16, _>(column).map(i64::from),
            "INT4" => row.try_get_unchecked::<i32, _>(column).map(i64::from),
            "BOOL" => row.try_get_unchecked::<bool, _>(column).map(i64::from),
            "NUMERIC" => cells::count(row.try_get(column)?),
            _ => row.try_get(column),
        }
    }

    fn cell(row: &PgRow, column: usize, kind: Kind) -> Result<Cell<'_>, sqlx::Error> {
        cells::typed(row, column, kind, "NUMERIC", Self::number)
    }

    fn affected(result: &PgQueryResult) -> u64 {
        result.rows_affected()
    }

    fn classify(error: sqlx::Error) -> Error {
        let sqlx::Error::Database(database) = &error else { return without_code(error) };
        if database.is_unique_violation() {
            let columns = columns_of_index(database.constraint().unwrap_or_default());
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
            // A serialisation failure, a deadlock, a lock timeout.
            "40001" | "40P01" | "55P03" => Error::Conflict(error),
            // The server is stopping, has stopped, or is starting.
            "57P01" | "57P02" | "57P03" => Error::Lost(error),
            // A read-only transaction, a full disk.
            "25006" | "53100" => Error::Unwritable(error),
            // A cancelled statement, an I/O error, or a table that a replica does not have yet.
            "57014" | "58030" | "42P01" => Error::Unavailable(error),
            code => match code.get(..2).unwrap_or_default() {
                "08" => Error::Lost(error),
                // The login or the database is refused, or the server lacks resources.
                "28" | "3D" | "53" => Error::Unavailable(error),
                _ => Error::Database(error),
            },
        }
    }
}

/// Opens a connection for work that takes longer than the pool's connections may.
async fn unlimited(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let mut connection = PgConnection::connect_with(options).await?;
    Postgres::execute_batch(&mut connection, WATCHED).await?;
    Ok(connection)
}

/// Drops the store's tables and functions.
const DROP_ALL: &str = "DO $$
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

/// The statements that remove and rebuild everything that is updated with each row of these tables,
/// in an order that suits both: a reference needs only the primary key of the other table.
const KEPT: &str = "SELECT gone, kept FROM (
        SELECT 1 AS step, i.indexrelid AS oid,
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
    WHERE of = ANY ($1::regclass[]) ORDER BY step, oid";

/// Bulk-loading in one transaction, which the server rolls back when the connection ends. Until
/// then, others wait for these tables and are refused.
struct Filling {
    connection: PgConnection,
    tables: Vec<&'static str>,
    /// The statements that rebuild the removed parts.
    kept: Vec<String>,
    /// Rows to be copied in, by table.
    copies: BTreeMap<&'static str, Copy>,
    /// The columns of explicitly given keys, by table.
    keys: BTreeMap<&'static str, &'static str>,
}

/// Rows of a table in the format of `COPY`. The driver does not flush what follows the first
/// packet, so the network holds the end of it back for a while, and there must be many rows at a
/// time.
struct Copy {
    columns: &'static [&'static str],
    lines: String,
}

/// The size in bytes from which rows are sent; a batch may exceed it.
const COPIED_AT_ONCE: usize = 4 << 20;

impl Filling {
    async fn begin(
        options: &PgConnectOptions,
        tables: Vec<&'static str>,
    ) -> Result<Self, sqlx::Error> {
        let mut connection = unlimited(options).await?;
        Postgres::execute_batch(&mut connection, POSTGRES.begin_write).await?;
        // The memory in which an index is sorted.
        let memory = "SET LOCAL maintenance_work_mem = '128MB'";
        Postgres::execute_batch(&mut connection, memory).await?;
        let lock = sql_text(format!("LOCK TABLE {}", tables.join(", ")));
        Postgres::execute_batch(&mut connection, lock).await?;
        let kept: Vec<(String, String)> = sqlx::query_as(KEPT)
            .bind(format!("{{{}}}", tables.join(",")))
            .fetch_all(&mut connection)
            .await?;
        let (gone, kept): (Vec<String>, _) = kept.into_iter().unzip();
        execute_all::<Postgres>(&mut connection, gone).await?;
        Ok(Self { connection, tables, kept, copies: BTreeMap::new(), keys: BTreeMap::new() })
    }
}

impl Fill for Filling {
    fn numbers(&mut self, statement: Statement) -> BoxFuture<'_, Result<Vec<i64>, sqlx::Error>> {
        Box::pin(session::numbers::<Postgres>(&mut self.connection, statement))
    }

    fn insert(&mut self, batch: Vec<RowsOf>) -> BoxFuture<'_, Result<(), sqlx::Error>> {
        Box::pin(async {
            for RowsOf { table, columns, keyed, values } in batch {
                self.keys.extend(columns.first().filter(|_| keyed).map(|key| (table, *key)));
                let copy = self.copies.entry(table).or_insert_with(|| Copy::new(columns));
                if copy.columns != columns || copy.lines.len() >= COPIED_AT_ONCE {
                    let full = std::mem::replace(copy, Copy::new(columns));
                    full.send(table, &mut self.connection).await?;
                }
                copy.add(&values);
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
            for (table, copy) in self.copies {
                copy.send(table, connection).await?;
            }
            // Without statistics the planner expects few rows, and reads all of one table for each row of another.
            let analyze = sql_text(format!("ANALYZE {}", self.tables.join(", ")));
            Postgres::execute_batch(connection, analyze).await?;
            execute_all::<Postgres>(connection, last).await?;
            let total = rebuild::<Postgres>(connection, self.kept, report).await?;
            for (table, key) in self.keys {
                if let Some(statement) = sql::keys_follow(table, key, &POSTGRES) {
                    session::numbers::<Postgres>(connection, statement).await?;
                }
            }
            Postgres::execute_batch(connection, POSTGRES.commit).await?;
            report(total, total);
            Postgres::analyze(connection, &self.tables).await?;
            self.connection.close().await
        })
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

/// An unset value of any type. It must have the type with which whole numbers are bound, because a
/// statement that was prepared with this value is also used for others: a nullable column of whole
/// numbers is a `bigint`.
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

/// The text of an object, stored verbatim.
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
