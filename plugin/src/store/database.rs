//! The store's database, as everything above knows it. Makes no SQL of its own.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Database, MySql, Postgres, Sqlite};

use super::cells::Cells;
use super::engine::{self, Engine};
use super::lease::ANSWER;
use super::pools::{Access, Usage};
use super::session::Session;
use super::transaction::Transaction;
use crate::error::Error;
use crate::model::question::Page;
use crate::sql::approach::Probe;
use crate::sql::dialect::Dialect;
use crate::sql::{Statement, Table, kept};

/// The engines, by the schemes of their addresses. An address of none of these schemes is that of the
/// last one: a file.
const ENGINES: [(&[&str], Open); 3] = [
    (Postgres::URL_SCHEMES, engine::open::<Postgres>),
    (MySql::URL_SCHEMES, engine::open::<MySql>),
    (Sqlite::URL_SCHEMES, engine::open::<Sqlite>),
];

type Open = fn(&str, Duration) -> Result<Arc<dyn Engine>, sqlx::Error>;

/// How long an answer is waited for that takes the longer the larger the store is.
const LONG_ANSWER: Duration = Duration::from_secs(24 * 60 * 60);

/// The store's database.
#[derive(Clone, Debug)]
pub struct Store {
    engine: Arc<dyn Engine>,
}

impl Store {
    /// The database at this address. Connects to nothing yet, but needs the context of a runtime.
    ///
    /// # Errors
    /// When the address is not that of a database of a known engine.
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::open_for(url, ANSWER)
    }

    /// The same, where an answer is waited for so long.
    ///
    /// # Errors
    /// When the address is not that of a database of a known engine.
    pub fn open_for(url: &str, answer: Duration) -> Result<Self, Error> {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        let known = ENGINES.iter().find(|(schemes, _)| schemes.contains(&scheme));
        let (_, open) = known.unwrap_or(&ENGINES[ENGINES.len() - 1]);
        Ok(Self { engine: open(url, answer).map_err(Error::Database)? })
    }

    /// The same database by connections of its own, for work that takes as long as it takes and
    /// that no client waits for.
    pub fn patient(&self) -> Self {
        Self { engine: self.engine.reopened(LONG_ANSWER) }
    }

    /// How the engine's SQL differs from that of the others.
    pub fn dialect(&self) -> &'static Dialect {
        self.engine.dialect()
    }

    /// Creates the tables, or brings them up to date. Of several programs that do so at once, one
    /// does and the others wait for it.
    ///
    /// # Errors
    /// When a migration fails, the tables are of a newer version than this program, or the file of
    /// the database cannot be written.
    pub async fn migrate(&self) -> Result<(), Error> {
        self.engine.migrate().await
    }

    /// Recounts what triggers keep. Nobody may write meanwhile.
    ///
    /// # Errors
    /// Those of the database; then everything stays as it was.
    pub async fn recount(&self) -> Result<(), Error> {
        let tables = kept::recount(self.dialect().kept).into_iter();
        let texts = tables.flat_map(|table| table.statements);
        self.write(texts.map(|text| Statement { text, binds: Vec::new() })).await
    }

    /// Has the engine look at what is in these tables, so that it plans for it.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn analyze(&self, tables: &[&str]) -> Result<(), Error> {
        self.lease(Access::Write).await?.analyze(tables).await
    }

    /// Removes all tables of the store with what is in them, so that they can be created anew,
    /// whatever state an interruption has left them in. To be done before anything else with a
    /// store: a connection to a file would go on with the one that is gone.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn drop_tables(&self) -> Result<(), Error> {
        self.engine.drop_tables().await
    }

    /// Whether the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), Error> {
        self.lease(Access::Read).await?.execute_batch("SELECT 1").await
    }

    /// Reads a page and its total.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn page(&self, page: &Page) -> Result<Cells, Error> {
        if Probe::of(page).is_none() {
            return self.lease(Access::Read).await?.page(page).await;
        }
        // What is asked before must be true of what is read then.
        let mut transaction = self.begin_read().await?;
        let cells = transaction.page(page).await?;
        transaction.commit().await?;
        Ok(cells)
    }

    /// Reads a table that is no page of a resource; its total is 0.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn table(&self, table: Table) -> Result<Cells, Error> {
        self.lease(Access::Read).await?.table(table).await
    }

    /// Runs a statement that is a transaction of its own, as some must be.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn execute(&self, statement: Statement) -> Result<(), Error> {
        self.lease(Access::Write).await?.insert(statement).await.map(drop)
    }

    /// Runs statements in one transaction.
    ///
    /// # Errors
    /// Those of the database; then nothing is written.
    pub async fn write(
        &self,
        statements: impl IntoIterator<Item = Statement>,
    ) -> Result<(), Error> {
        let mut transaction = self.begin().await?;
        for statement in statements {
            transaction.execute(statement).await?;
        }
        transaction.commit().await
    }

    /// Begins a transaction that writes. It is rolled back unless it is committed.
    ///
    /// # Errors
    /// When no connection for writing is free in time.
    pub async fn begin(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.engine, Access::Write).await
    }

    /// Begins a transaction that reads everything as it was at one moment, and cannot write.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn begin_read(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.engine, Access::Read).await
    }

    /// How many connections each pool has.
    pub fn usage(&self) -> Vec<Usage> {
        self.engine.usage()
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    /// The engine, for what fills it.
    pub(super) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    async fn lease(&self, access: Access) -> Result<Box<dyn Session>, Error> {
        self.engine.lease(access).await
    }
}
