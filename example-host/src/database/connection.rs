//! A connection to any of the engines: runs statements with a time limit and returns rows as
//! small tuples or as structs (`row.rs`).

use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::{Column, Executor, MySql, Postgres, Sqlite, Statement as _, Type};

use crate::base::error::Error;

use super::cancel::Cancel;
use super::conflict::refused_for_others;
use super::row::{Record, Row};
use super::statement::{Engine, Kind, Statement, arguments, sql};

/// The time limit for a statement, and for getting a connection.
pub(super) const TIMEOUT: Duration = Duration::from_secs(5);

/// A connection from one of the pools.
///
/// A connection that is dropped while an answer is outstanding, or within a transaction, is closed
/// and not returned to the pool, because its state is unknown. Its statement is ended.
pub(crate) struct Connection {
    engine: Engine,
    raw: Raw,
    cancel: Cancel,
    /// Whether a statement has been sent and not answered.
    pending: bool,
    /// The open transaction, if any.
    transaction: Option<TransactionSql>,
}

pub(super) enum Raw {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    MySql(PoolConnection<MySql>),
    /// What is left of it while it is dropped.
    Closed,
}

/// The SQL that begins and ends a transaction.
#[derive(Clone, Copy)]
pub(super) struct TransactionSql {
    pub(super) begin: &'static str,
    pub(super) commit: &'static str,
    pub(super) rollback: &'static str,
}

impl TransactionSql {
    /// A transaction with this beginning and the usual ends.
    pub(super) fn beginning(begin: &'static str) -> Self {
        Self { begin, commit: "COMMIT", rollback: "ROLLBACK" }
    }
}

/// Sends a statement to a database of any engine, and waits for the answer.
macro_rules! answer {
    ($self:ident, |$connection:ident| $sent:expr) => {{
        $self.pending = true;
        let answer = match &mut $self.raw {
            Raw::Sqlite($connection) => $sent,
            Raw::Postgres($connection) => $sent,
            Raw::MySql($connection) => $sent,
            Raw::Closed => return Err(sqlx::Error::PoolClosed),
        };
        $self.answered(answer)
    }};
}

impl Connection {
    pub(super) fn new(engine: Engine, raw: Raw, cancel: Cancel) -> Self {
        Self { engine, raw, cancel, pending: false, transaction: None }
    }

    /// The engine of the database.
    pub(crate) fn engine(&self) -> Engine {
        self.engine
    }

    /// Every row.
    pub(crate) async fn fetch_all<T: Record>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<T>, sqlx::Error> {
        self.rows(statement).await?.iter().map(Row::read).collect()
    }

    /// The first row, if there is one.
    pub(crate) async fn fetch_optional<T: Record>(
        &mut self,
        statement: Statement,
    ) -> Result<Option<T>, sqlx::Error> {
        self.row(statement).await?.as_ref().map(Row::read).transpose()
    }

    /// The first row of a statement that always returns one.
    pub(crate) async fn fetch_one<T: Record>(
        &mut self,
        statement: Statement,
    ) -> Result<T, sqlx::Error> {
        self.fetch_optional(statement).await?.ok_or(sqlx::Error::RowNotFound)
    }

    /// Every row as it was sent. What waits for the database knows no record, because it would be compiled again for
    /// each of them and for each engine.
    async fn rows(&mut self, statement: Statement) -> Result<Vec<Row>, sqlx::Error> {
        let (text, values) = statement.render(self.engine());
        answer!(self, |connection| {
            let query = sqlx::query_with(text, arguments(connection, values)?);
            in_time(query.fetch_all(&mut **connection))
                .await
                .map(|answer| answer.map(|rows| rows.into_iter().map(Row::from).collect()))
        })
    }

    /// The first row as it was sent.
    async fn row(&mut self, statement: Statement) -> Result<Option<Row>, sqlx::Error> {
        let (text, values) = statement.render(self.engine());
        answer!(self, |connection| {
            let query = sqlx::query_with(text, arguments(connection, values)?);
            in_time(query.fetch_optional(&mut **connection))
                .await
                .map(|answer| answer.map(|row| row.map(Row::from)))
        })
    }

    /// The names and the kinds of the columns that a query returns.
    pub(super) async fn columns(
        &mut self,
        query: Statement,
    ) -> Result<Vec<(String, Kind)>, sqlx::Error> {
        let (text, _) = query.render(self.engine());
        answer!(self, |connection| {
            in_time((&mut **connection).prepare(text)).await.map(|prepared| {
                let described = |column: &_| described(column);
                prepared.map(|query| query.columns().iter().map(described).collect())
            })
        })
    }

    /// Executes a statement and returns the number of changed rows.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, sqlx::Error> {
        let (text, values) = statement.render(self.engine());
        answer!(self, |connection| {
            let query = sqlx::query_with(text, arguments(connection, values)?);
            in_time(query.execute(&mut **connection))
                .await
                .map(|answer| answer.map(|done| done.rows_affected()))
        })
    }

    /// Inserts a row and returns its generated key.
    pub(crate) async fn insert(&mut self, statement: Statement) -> Result<i64, sqlx::Error> {
        match &mut self.raw {
            Raw::MySql(connection) => {
                let (text, values) = statement.render(Engine::MySql);
                self.pending = true;
                let query = sqlx::query_with(text, arguments(connection, values)?);
                let answer = in_time(query.execute(&mut **connection)).await;
                let key = self.answered(answer)?.last_insert_id();
                i64::try_from(key).map_err(|error| sqlx::Error::Decode(error.into()))
            }
            Raw::Sqlite(_) | Raw::Postgres(_) | Raw::Closed => {
                let (key,) = self.fetch_one(statement.returning_key()).await?;
                Ok(key)
            }
        }
    }

    /// The time by the clock of the database, which all hosts share, in milliseconds since 1970.
    pub(crate) async fn now(&mut self) -> Result<i64, sqlx::Error> {
        let (now,) = self
            .fetch_one(sql(match self.engine() {
                Engine::Sqlite => {
                    "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
                }
                Engine::Postgres => {
                    "SELECT CAST(extract(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
                }
                Engine::MySql => {
                    "SELECT timestampdiff(MICROSECOND, '1970-01-01', utc_timestamp(3)) DIV 1000"
                }
            }))
            .await?;
        Ok(now)
    }

    /// Begins a transaction.
    pub(super) async fn begin(&mut self, words: TransactionSql) -> Result<(), sqlx::Error> {
        self.transaction = Some(words);
        self.execute_raw(words.begin).await
    }

    /// Commits the transaction.
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.end(|words| words.commit).await
    }

    /// Takes back what the transaction has done.
    pub(crate) async fn roll_back(mut self) -> Result<(), sqlx::Error> {
        self.end(|words| words.rollback).await
    }

    /// Commits the transaction if the work succeeded, and rolls it back otherwise.
    pub(crate) async fn finish<T>(mut self, done: Result<T, Error>) -> Result<T, Error> {
        match &done {
            Ok(_) => self.end(|words| words.commit).await?,
            // If this fails, the connection is closed, which also rolls the transaction back.
            Err(_) => match self.end(|words| words.rollback).await {
                // The database rolled the transaction back earlier, so the error of the work
                // is only a consequence of that.
                Err(error) if refused_for_others(&error) => return Err(error.into()),
                _ => {}
            },
        }
        done
    }

    async fn end(&mut self, word: fn(TransactionSql) -> &'static str) -> Result<(), sqlx::Error> {
        if let Some(words) = self.transaction {
            self.execute_raw(word(words)).await?;
        }
        self.transaction = None;
        Ok(())
    }

    /// Executes SQL without preparing it: some engines do not accept transaction control in a
    /// prepared statement.
    async fn execute_raw(&mut self, word: &'static str) -> Result<(), sqlx::Error> {
        answer!(self, |connection| {
            in_time(sqlx::raw_sql(word).execute(&mut **connection))
                .await
                .map(|answer| answer.map(drop))
        })
    }

    /// Records that the database has answered. If it took too long, the statement is ended.
    fn answered<T>(
        &mut self,
        answer: Result<Result<T, sqlx::Error>, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let answer = answer.inspect_err(|_| self.cancel.now())?;
        self.pending = false;
        answer
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.pending {
            self.cancel.now();
        }
        if self.pending || self.transaction.is_some() {
            match std::mem::replace(&mut self.raw, Raw::Closed) {
                Raw::Sqlite(mut connection) => connection.close_on_drop(),
                // Without a farewell, for whose answer an encrypted connection would wait until the statement
                // is over.
                Raw::Postgres(connection) => drop(connection.detach()),
                Raw::MySql(connection) => drop(connection.detach()),
                Raw::Closed => {}
            }
        }
    }
}

fn described<C: Column>(column: &C) -> (String, Kind)
where
    String: Type<C::Database>,
{
    (column.name().to_owned(), Kind::of(column))
}

/// The answer of the database, or an error if it takes too long.
pub(super) async fn in_time<T>(answer: impl Future<Output = T>) -> Result<T, sqlx::Error> {
    tokio::time::timeout(TIMEOUT, answer).await.map_err(|_| {
        let seconds = TIMEOUT.as_secs();
        let message = format!("no answer within {seconds} seconds");
        sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, message))
    })
}
