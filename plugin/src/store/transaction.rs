//! Transactions, and the repetition of work after conflicts. Independent of engines.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::SqlSafeStr;

use super::cells::Cells;
use super::driver::{Stream, sql_text};
use super::engine::Engine;
use super::failure::interrupted;
use super::gathered::{AT_ONCE, Gathered};
use super::pools::Access;
use super::ready::PATIENCE;
use super::session::Session;
use crate::error::{Error, chain};
use crate::model::field::Field;
use crate::model::question::{Page, Shape};
use crate::model::resource::Resource;
use crate::model::selection::Selection;
use crate::model::value::{Kind, Value};
use crate::sql::approach::Approach;
use crate::sql::dialect::Dialect;
use crate::sql::{self, Row, Rows, Statement, Table};

/// How often a request is tried at most if its connection is lost.
const TRIES: u32 = 8;

/// Runs a piece of work with transactions of its own, and repeats it after conflicts with others,
/// or a few times if its connection is lost before it has committed anything.
///
/// # Errors
/// Errors of the work, and the last conflict or loss of the connection.
pub async fn retry<T, F>(mut work: impl FnMut() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut tries = Tries { begun: Instant::now(), made: 0 };
    loop {
        match work().await {
            Ok(done) => return Ok(done),
            Err(error) => tries.pause(error).await?,
        }
    }
}

/// The tries of a piece of work.
struct Tries {
    begun: Instant,
    made: u32,
}

impl Tries {
    /// Waits for the next try, or returns the failure of the last one.
    async fn pause(&mut self, failure: Error) -> Result<(), Error> {
        self.made += 1;
        // A conflict always means that another writer has made progress. A server may not come
        // back.
        let is_last = self.made >= TRIES && !matches!(failure, Error::Conflict(_));
        if is_last || !failure.may_pass() || self.begun.elapsed() >= PATIENCE {
            return Err(failure);
        }
        let pause = Duration::from_millis(fastrand::u64(1..=5 << self.made.min(TRIES)));
        tracing::debug!(tries = self.made, ?pause, "retrying: {failure}");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// A transaction.
pub struct Transaction {
    session: Box<dyn Session>,
    engine: Arc<dyn Engine>,
    access: Access,
    /// The part of it that is under way.
    part: Option<Part>,
    /// Rows that are inserted before its next statement.
    gathered: Gathered,
}

/// A part of a transaction.
enum Part {
    /// It has a savepoint, and can be undone alone.
    Alone,
    /// It has none, and can be undone only while it has written nothing.
    Together {
        /// Whether it has.
        has_written: bool,
    },
}

/// What begins, undoes and ends a part that can be undone alone.
const BEGIN_PART: &str = "SAVEPOINT part";
const UNDO_PART: &str = "ROLLBACK TO SAVEPOINT part";
const END_PART: &str = "RELEASE SAVEPOINT part";

impl fmt::Debug for Transaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("access", &self.access).finish_non_exhaustive()
    }
}

impl Transaction {
    pub(super) async fn begin(engine: &Arc<dyn Engine>, access: Access) -> Result<Self, Error> {
        let dialect = engine.dialect();
        let begin = match access {
            Access::Write => Some(dialect.begin_write),
            Access::Read | Access::Snapshot => dialect.begin_read,
        };
        let mut session = engine.lease(access).await?;
        // A transaction may be open even if beginning it has failed.
        session.set_open(true);
        if let Some(begin) = begin {
            session.delimit(begin).await?;
        }
        Ok(Self {
            session,
            engine: Arc::clone(engine),
            access,
            part: None,
            gathered: Gathered::default(),
        })
    }

    /// The engine's SQL, where engines differ.
    pub fn dialect(&self) -> &'static Dialect {
        self.engine.dialect()
    }

    /// Locks a record until the transaction ends: others that want to change it, or to refer to it,
    /// wait. What is read afterwards remains true until the end.
    pub async fn lock(&mut self, resource: &Resource, key: i64) -> Result<(), Error> {
        self.keep(sql::lock(resource, key, self.dialect())).await
    }

    /// Locks records like [`lock`](Self::lock), all of which this transaction changes.
    pub async fn lock_all(&mut self, resource: &Resource, keys: &[i64]) -> Result<(), Error> {
        match sql::lock_all(resource, keys, self.dialect()) {
            // All rows have to be fetched, since a row is locked when it is.
            Some(statement) => self.change(statement).await.map(drop),
            None => Ok(()),
        }
    }

    /// Locks a row that a statement names.
    pub async fn lock_row(&mut self, lock: Statement) -> Result<(), Error> {
        let done = self.session().await?.insert(lock).await;
        self.explained(done).await.map(drop)
    }

    /// Takes the lock of the store, which the same call in other transactions waits for.
    pub async fn lock_store(&mut self) -> Result<(), Error> {
        self.keep(sql::lock_store(self.dialect())).await
    }

    /// Takes the lock of the feed of changes, which the same call in other transactions waits for.
    pub async fn lock_feed(&mut self) -> Result<(), Error> {
        self.keep(sql::places::lock_clock(self.dialect())).await
    }

    async fn keep(&mut self, lock: Option<Statement>) -> Result<(), Error> {
        match lock {
            Some(statement) => self.numbers(statement).await.map(drop),
            None => Ok(()),
        }
    }

    /// Reads a page within this transaction.
    pub async fn page(&mut self, page: &Page) -> Result<Cells, Error> {
        let done = self.session().await?.page(page).await;
        self.explained(done).await
    }

    /// The versions of those of the records with these keys that exist.
    pub async fn versions(
        &mut self,
        resource: &'static Resource,
        keys: Vec<i64>,
    ) -> Result<HashMap<i64, Option<i64>>, Error> {
        let shape = Shape::Selected(Selection::default());
        let cells = self.page(&Page { shape, ..Page::of_these(resource, keys) }).await?;
        let version = |row: &Vec<_>| Ok((resource.key_of(row)?, resource.version_of(row)?));
        cells.rows()?.iter().map(version).collect()
    }

    /// Finds out how a page would be read.
    pub async fn approach(&mut self, page: &Page) -> Result<Approach, Error> {
        self.session().await?.approach(page).await
    }

    /// Reads a table that is not a page of a resource; its total is 0.
    pub async fn table(&mut self, table: Table) -> Result<Cells, Error> {
        self.session().await?.table(table).await
    }

    /// Reads rows by the names of their columns.
    pub async fn rows<R: Row>(&mut self, rows: Rows<R>) -> Result<Vec<R>, Error> {
        self.table(rows.table).await?.read()
    }

    /// Streams rows of values of these kinds: they are fetched from the database as they are
    /// consumed.
    ///
    /// # Errors
    /// Database errors, at once or in place of a row.
    pub fn stream<'a>(
        &'a mut self,
        statement: Statement,
        kinds: &'a [Kind],
    ) -> Result<Stream<'a, Error>, Error> {
        if !self.gathered.is_empty() {
            return Err(Error::Contract("what a transaction has gathered comes before a stream"));
        }
        self.session.stream(statement, kinds)
    }

    /// Reads one row of whole numbers; `None` if there is no row. A decimal is returned in units of
    /// its last place.
    pub async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, Error> {
        let done = self.session().await?.numbers(statement).await;
        self.explained(done).await
    }

    /// The database's time, in seconds since 1970.
    pub async fn seconds(&mut self) -> Result<i64, Error> {
        let text = self.dialect().seconds;
        self.number(Statement::fixed(text, Vec::new())).await
    }

    /// Reads one number, of a row that is always there.
    ///
    /// # Errors
    /// Those of the database, and when there is no such row.
    pub async fn number(&mut self, statement: Statement) -> Result<i64, Error> {
        let numbers = self.numbers(statement).await?;
        numbers.first().copied().ok_or(Error::Contract("a question for a number has no answer"))
    }

    /// Reads a column of text.
    pub async fn texts(&mut self, statement: Statement) -> Result<Vec<String>, Error> {
        let done = self.session().await?.texts(statement).await;
        self.explained(done).await
    }

    /// Writes.
    ///
    /// # Errors
    /// Database errors; a violated constraint is [`Error::Constraint`].
    pub async fn execute(&mut self, statement: Statement) -> Result<(), Error> {
        self.writes();
        let done = self.session().await?.insert(statement).await;
        self.explained(done).await.map(drop)
    }

    /// Runs a text of statements without values.
    pub(crate) async fn execute_batch(&mut self, text: String) -> Result<(), Error> {
        self.writes();
        self.session().await?.execute_batch(sql_text(text).into_sql_str()).await
    }

    /// Inserts a record with others, before the next statement whatever that is, and returns its key. About so many
    /// others follow. Call it only where all of the transaction can be done again: it is no longer known then which
    /// record a constraint refuses.
    ///
    /// # Errors
    /// Those of the records before it, as a conflict.
    pub async fn gather<'a>(
        &mut self,
        resource: &Resource,
        values: impl Iterator<Item = (&'a Field, &'a Value)>,
        others: usize,
    ) -> Result<i64, Error> {
        self.writes();
        let (columns, values) = sql::row_of(resource, values);
        if !self.gathered.takes(resource, &columns) {
            self.settle().await?;
        }
        let key = match self.gathered.free_key(resource) {
            Some(key) => key,
            None => {
                let count = others.saturating_add(1).min(AT_ONCE);
                let keys = sql::free_keys(resource, count, self.dialect());
                let keys = keys.ok_or(Error::Contract("an engine gives keys only to rows"))?;
                let keys = self.rows(keys).await?;
                let first = self.gathered.take_keys(resource, keys);
                first.ok_or(Error::Contract("an engine has no key for a record"))?
            }
        };
        self.gathered.push(columns, key, values);
        Ok(key)
    }

    /// Inserts what was gathered.
    ///
    /// # Errors
    /// Database errors; a violated constraint is a conflict, after which all is to be done again, each record alone.
    pub async fn settle(&mut self) -> Result<(), Error> {
        for statement in self.gathered.take(self.engine.dialect()) {
            let done = self.session.insert(statement).await;
            self.explained(done).await.map_err(|error| match error {
                Error::Constraint(..) => interrupted(),
                error => error,
            })?;
        }
        Ok(())
    }

    /// The connection, once what was gathered is in the database.
    async fn session(&mut self) -> Result<&mut dyn Session, Error> {
        self.settle().await?;
        Ok(&mut *self.session)
    }

    /// Inserts a row, and returns its key.
    ///
    /// # Errors
    /// Database errors; a violated constraint is [`Error::Constraint`].
    pub async fn insert(&mut self, statement: Statement) -> Result<i64, Error> {
        self.writes();
        let done = self.session().await?.insert(statement).await;
        let key = self.explained(done).await?;
        key.ok_or(Error::Contract("an insertion has returned no key"))
    }

    /// Writes, and returns the number of changed rows.
    ///
    /// # Errors
    /// Database errors; a violated constraint is [`Error::Constraint`].
    pub async fn change(&mut self, statement: Statement) -> Result<u64, Error> {
        self.writes();
        let done = self.session().await?.change(statement).await;
        self.explained(done).await
    }

    /// Begins a part of the transaction. If it is not alone, it costs nothing, and can be undone only while it
    /// has written nothing.
    pub async fn begin_part(&mut self, is_alone: bool) -> Result<(), Error> {
        if is_alone {
            self.part = Some(Part::Alone);
            return self.session.execute_batch(BEGIN_PART.into_sql_str()).await;
        }
        self.part = Some(Part::Together { has_written: false });
        Ok(())
    }

    /// Undoes what was done since the part began, and ends it.
    ///
    /// # Errors
    /// When it cannot be undone alone, or the transaction was rolled back half-way, so that the work must be
    /// repeated.
    pub async fn undo_part(&mut self) -> Result<(), Error> {
        match self.part.take() {
            Some(Part::Alone) => {
                self.session.execute_batch(UNDO_PART.into_sql_str()).await?;
                self.session.execute_batch(END_PART.into_sql_str()).await
            }
            Some(Part::Together { has_written: true }) => Err(interrupted()),
            Some(Part::Together { has_written: false }) | None => Ok(()),
        }
    }

    /// Ends a part, whose changes stay.
    pub async fn end_part(&mut self) -> Result<(), Error> {
        match self.part.take() {
            Some(Part::Alone) => self.session.execute_batch(END_PART.into_sql_str()).await,
            Some(Part::Together { .. }) | None => Ok(()),
        }
    }

    /// Notes that the part under way writes.
    fn writes(&mut self) {
        if let Some(Part::Together { has_written }) = &mut self.part {
            *has_written = true;
        }
    }

    /// Checks, at the end, that everything ran in a single transaction. Otherwise, values that were
    /// read may be no reason to refuse a request.
    ///
    /// # Errors
    /// When the transaction was rolled back half-way, so that the work must be repeated.
    pub async fn ensure_open(&mut self) -> Result<(), Error> {
        match self.dialect().ensure_open {
            // The savepoint of the transaction must stay for the parts that follow, and those who ask give
            // up this one.
            Some(_) if matches!(self.part, Some(Part::Alone)) => {
                self.session.execute_batch(UNDO_PART.into_sql_str()).await
            }
            Some(text) if self.access == Access::Write => {
                self.session.execute_batch(text.into_sql_str()).await
            }
            _ => Ok(()),
        }
    }

    /// Ends a transaction that has only read. Nobody waits for a server.
    pub async fn end(mut self) {
        if self.access == Access::Write {
            // Its connection has more to undo than the transaction, as one that is dropped does.
            return;
        }
        let ended = self.session.end_read().await;
        self.session.set_open(ended.is_err());
    }

    /// Commits.
    ///
    /// # Errors
    /// When the commit fails; nothing is written then. If the database does not answer to it, the outcome is
    /// unknown ([`Error::Undecided`]), and the work must not be repeated.
    pub async fn commit(mut self) -> Result<(), Error> {
        self.settle().await?;
        let commit = match self.access {
            Access::Write => self.dialect().commit,
            Access::Read | Access::Snapshot => "COMMIT",
        };
        match self.session.delimit(commit).await {
            Ok(()) => {
                self.session.set_open(false);
                if self.access == Access::Write {
                    self.engine.committed();
                }
                Ok(())
            }
            Err(Error::Lost(cause) | Error::Unavailable(cause)) => match self.access {
                Access::Write => Err(Error::Undecided(cause)),
                Access::Read | Access::Snapshot => Err(Error::Unavailable(cause)),
            },
            Err(error) => Err(error),
        }
    }

    /// Finds the meaning of a failure that has none by itself.
    async fn explained<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        let remedy = match &done {
            Err(Error::Database(error) | Error::Unavailable(error)) => self.session.remedy(error),
            _ => None,
        };
        match (done, remedy) {
            (Err(Error::Database(error) | Error::Unavailable(error)), Some(remedy)) => {
                tracing::warn!(%error, "the database cannot read its triggers; reloading them");
                if let Err(error) = self.session.execute_batch(remedy.into_sql_str()).await {
                    tracing::warn!(causes = chain(&error), "the triggers could not be reloaded");
                }
                Err(Error::Conflict(error))
            }
            // What a rolled back transaction had written is no longer there to be referred to.
            (Err(error @ (Error::Database(_) | Error::Constraint(..))), None) => {
                Err(match (self.ensure_open().await, error) {
                    (Err(_), Error::Database(cause) | Error::Constraint(_, cause)) => {
                        Error::Conflict(cause)
                    }
                    (_, error) => error,
                })
            }
            (done, _) => done,
        }
    }
}
