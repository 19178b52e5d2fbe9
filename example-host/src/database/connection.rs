//! A connection that speaks for any of the engines: runs statements, gives rows as tuples, and is
//! never waited for without end. What a transaction is for is decided beside this file.

use std::time::Duration;

use sqlx::mysql::MySqlRow;
use sqlx::pool::PoolConnection;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, MySql, Postgres, Sqlite};

use crate::base::error::Error;

use super::conflict::refused_for_others;
use super::statement::{Engine, Statement, arguments};

/// How long the database may take over one statement, and how long a connection is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// What a row can be read into: a tuple, on every engine the same.
pub(crate) trait Record:
    for<'r> FromRow<'r, SqliteRow>
    + for<'r> FromRow<'r, PgRow>
    + for<'r> FromRow<'r, MySqlRow>
    + Send
    + Unpin
{
}

impl<T> Record for T where
    T: for<'r> FromRow<'r, SqliteRow>
        + for<'r> FromRow<'r, PgRow>
        + for<'r> FromRow<'r, MySqlRow>
        + Send
        + Unpin
{
}

/// A connection from one of the pools.
///
/// One that is dropped while the database owes it an answer, or within a transaction, is closed
/// and not given back: nobody knows what it would say next.
pub(crate) struct Connection {
    raw: Raw,
    /// Whether the database has been asked something and not answered.
    asked: bool,
    /// The transaction that it is in.
    within: Option<Words>,
}

pub(super) enum Raw {
    Sqlite(PoolConnection<Sqlite>),
    Postgres(PoolConnection<Postgres>),
    MySql(PoolConnection<MySql>),
}

/// An engine's words for a transaction of the kind that is wanted.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub(super) begin: &'static str,
    pub(super) commit: &'static str,
    pub(super) rollback: &'static str,
}

impl Words {
    /// A transaction that begins with this word and ends as all do.
    pub(super) fn beginning(begin: &'static str) -> Self {
        Self { begin, commit: "COMMIT", rollback: "ROLLBACK" }
    }
}

/// The same code for the connection of each engine.
macro_rules! on {
    ($raw:expr, |$connection:ident| $code:expr) => {
        match &mut $raw {
            Raw::Sqlite($connection) => $code,
            Raw::Postgres($connection) => $code,
            Raw::MySql($connection) => $code,
        }
    };
}

impl Connection {
    pub(super) fn new(raw: Raw) -> Self {
        Self { raw, asked: false, within: None }
    }

    /// What it is a connection to.
    pub(crate) fn engine(&self) -> Engine {
        match self.raw {
            Raw::Sqlite(_) => Engine::Sqlite,
            Raw::Postgres(_) => Engine::Postgres,
            Raw::MySql(_) => Engine::MySql,
        }
    }

    /// Every row.
    pub(crate) async fn fetch_all<T: Record>(
        &mut self,
        statement: Statement,
    ) -> Result<Vec<T>, sqlx::Error> {
        let (text, values) = statement.spoken(self.engine());
        self.asked = true;
        let answer = on!(self.raw, |connection| {
            let query = sqlx::query_as_with(text, arguments(connection, values)?);
            in_time(query.fetch_all(&mut **connection)).await
        });
        self.answered(answer)
    }

    /// The first row, if there is one.
    pub(crate) async fn fetch_optional<T: Record>(
        &mut self,
        statement: Statement,
    ) -> Result<Option<T>, sqlx::Error> {
        let (text, values) = statement.spoken(self.engine());
        self.asked = true;
        let answer = on!(self.raw, |connection| {
            let query = sqlx::query_as_with(text, arguments(connection, values)?);
            in_time(query.fetch_optional(&mut **connection)).await
        });
        self.answered(answer)
    }

    /// The first row, which is certain to be there.
    pub(crate) async fn fetch_one<T: Record>(
        &mut self,
        statement: Statement,
    ) -> Result<T, sqlx::Error> {
        self.fetch_optional(statement).await?.ok_or(sqlx::Error::RowNotFound)
    }

    /// Writes, and gives how many rows were changed.
    pub(crate) async fn execute(&mut self, statement: Statement) -> Result<u64, sqlx::Error> {
        let (text, values) = statement.spoken(self.engine());
        self.asked = true;
        let answer = on!(self.raw, |connection| {
            let query = sqlx::query_with(text, arguments(connection, values)?);
            in_time(query.execute(&mut **connection))
                .await
                .map(|answer| answer.map(|done| done.rows_affected()))
        });
        self.answered(answer)
    }

    /// Inserts a row, and gives the key that the database gave it.
    pub(crate) async fn insert(&mut self, statement: Statement) -> Result<i64, sqlx::Error> {
        match &mut self.raw {
            Raw::MySql(connection) => {
                let (text, values) = statement.spoken(Engine::MySql);
                self.asked = true;
                let query = sqlx::query_with(text, arguments(connection, values)?);
                let answer = in_time(query.execute(&mut **connection)).await;
                let key = self.answered(answer)?.last_insert_id();
                i64::try_from(key).map_err(|error| sqlx::Error::Decode(error.into()))
            }
            Raw::Sqlite(_) | Raw::Postgres(_) => {
                let (key,) = self.fetch_one(statement.returning_key()).await?;
                Ok(key)
            }
        }
    }

    /// Begins a transaction.
    pub(super) async fn begin(&mut self, words: Words) -> Result<(), sqlx::Error> {
        self.within = Some(words);
        self.say(words.begin).await
    }

    /// Ends a transaction: whatever was written stays.
    pub(crate) async fn commit(mut self) -> Result<(), sqlx::Error> {
        self.end(|words| words.commit).await
    }

    /// Ends a transaction: what was written stays if the work is done, else nothing does.
    pub(crate) async fn settle<T>(mut self, done: Result<T, Error>) -> Result<T, Error> {
        match &done {
            Ok(_) => self.end(|words| words.commit).await?,
            // Where this fails the connection is closed, which undoes everything as well.
            Err(_) => match self.end(|words| words.rollback).await {
                // It was undone before, and no failure in it means what it says.
                Err(error) if refused_for_others(&error) => return Err(error.into()),
                _ => {}
            },
        }
        done
    }

    async fn end(&mut self, word: fn(Words) -> &'static str) -> Result<(), sqlx::Error> {
        if let Some(words) = self.within {
            self.say(word(words)).await?;
        }
        self.within = None;
        Ok(())
    }

    /// Not every engine lets itself be told about transactions in a prepared statement.
    async fn say(&mut self, word: &'static str) -> Result<(), sqlx::Error> {
        self.asked = true;
        let answer = on!(self.raw, |connection| {
            in_time(sqlx::raw_sql(word).execute(&mut **connection))
                .await
                .map(|answer| answer.map(drop))
        });
        self.answered(answer)
    }

    /// Takes an answer down, unless it did not come in time.
    fn answered<T>(
        &mut self,
        answer: Result<Result<T, sqlx::Error>, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let answer = answer?;
        self.asked = false;
        answer
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.asked || self.within.is_some() {
            on!(self.raw, |connection| connection.close_on_drop());
        }
    }
}

/// What the database answers, or that it has not.
pub(super) async fn in_time<T>(answer: impl Future<Output = T>) -> Result<T, sqlx::Error> {
    tokio::time::timeout(PATIENCE, answer).await.map_err(|_| {
        let seconds = PATIENCE.as_secs();
        let message = format!("no answer within {seconds} seconds");
        sqlx::Error::Io(std::io::Error::new(std::io::ErrorKind::TimedOut, message))
    })
}
