//! The store's database, for the modules above. Generates no SQL.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Database, MySql, Postgres, SqlSafeStr, Sqlite};

use super::cells::Cells;
use super::engine::{self, Engine};
use super::lease::ANSWER;
use super::pools::{Access, Usage};
use super::session::Session;
use super::transaction::{Transaction, retry};
use crate::error::Error;
use crate::model::question::Page;
use crate::model::registry::Registry;
use crate::sql::approach::Probe;
use crate::sql::dialect::Dialect;
use crate::sql::{Key, Row, Rows, Statement, Table, kept, places, ties};

/// The engines, by the schemes of their addresses. An address without one of these schemes is a
/// file, for the last engine.
const ENGINES: [(&[&str], Open); 3] = [
    (Postgres::URL_SCHEMES, engine::open::<Postgres>),
    (MySql::URL_SCHEMES, engine::open::<MySql>),
    (Sqlite::URL_SCHEMES, engine::open::<Sqlite>),
];

type Open = fn(&str, Duration) -> Result<Arc<dyn Engine>, sqlx::Error>;

/// The time limit of an answer whose cost grows with the store.
const LONG_ANSWER: Duration = Duration::from_secs(24 * 60 * 60);

/// The store's database.
#[derive(Clone, Debug)]
pub struct Store {
    engine: Arc<dyn Engine>,
}

impl Store {
    /// The database at this address. Does not connect yet, but needs the context of a runtime.
    ///
    /// # Errors
    /// When the address is not that of a database of a known engine.
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::open_for(url, ANSWER)
    }

    /// Opens a database whose statements may take this long.
    ///
    /// # Errors
    /// When the address is not that of a database of a known engine.
    pub fn open_for(url: &str, answer: Duration) -> Result<Self, Error> {
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        let known = ENGINES.iter().find(|(schemes, _)| schemes.contains(&scheme));
        let (_, open) = known.unwrap_or(&ENGINES[ENGINES.len() - 1]);
        Ok(Self { engine: open(url, answer).map_err(Error::Database)? })
    }

    /// Another handle to this database with separate connections, for work that lasts as long as it takes: nothing that
    /// other clients wait for.
    pub fn patient(&self) -> Self {
        Self { engine: self.engine.reopened(LONG_ANSWER) }
    }

    /// The engine's SQL, where engines differ.
    pub fn dialect(&self) -> &'static Dialect {
        self.engine.dialect()
    }

    /// Creates the tables and what follows from the descriptions of these resources, or brings both up to
    /// date. If several programs do so at once, one does the work and the others wait for it.
    ///
    /// # Errors
    /// When a migration fails, when the tables are newer than this program, or when the file of the
    /// database cannot be written.
    pub async fn migrate(&self, registry: Registry) -> Result<(), Error> {
        self.engine.migrate(registry).await
    }

    /// Recounts all kept numbers. Nothing else may write meanwhile.
    ///
    /// # Errors
    /// Database errors; nothing changes then.
    pub async fn recount(&self) -> Result<(), Error> {
        let tables = kept::recount(self.dialect().kept).into_iter();
        let texts = tables.flat_map(|table| table.statements);
        self.write(texts.map(Statement::from)).await
    }

    /// Begins another feed of changes: whoever follows the one before has to start over.
    ///
    /// # Errors
    /// Database errors; nothing changes then.
    pub async fn renew_feed(&self) -> Result<(), Error> {
        let name = getrandom::u64().map_err(host_interface::Error::failed)?;
        self.write(places::renew(name, self.dialect()).map(Statement::from)).await
    }

    /// Makes the engine collect statistics about these tables, for its planner.
    pub async fn analyze(&self, tables: &[&str]) -> Result<(), Error> {
        self.lease(Access::Write).await?.analyze(tables).await
    }

    /// Drops all tables of the store, so that they can be created anew whatever an interruption has
    /// left behind. Must be called before anything else uses the store, because an open connection
    /// would keep using the removed file.
    pub async fn drop_tables(&self) -> Result<(), Error> {
        self.engine.drop_tables().await
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ping(&self) -> Result<(), Error> {
        self.lease(Access::Read).await?.execute_batch("SELECT 1".into_sql_str()).await
    }

    /// Reads a page and its total.
    pub async fn page(&self, page: &Page) -> Result<Cells, Error> {
        match Probe::of(page) {
            None => return self.lease(Access::Read).await?.page(page).await,
            Some(Probe::Beginnings(along)) => {
                let cells = self.lease(Access::Read).await?.page_by(page, &along).await?;
                if ties::are_impossible(page, &cells.rows()?) {
                    return Ok(cells);
                }
            }
            Some(_) => {}
        }
        // The probes and the page must see the same snapshot.
        let mut transaction = self.begin_read().await?;
        let cells = transaction.page(page).await?;
        transaction.end().await;
        Ok(cells)
    }

    /// Reads a table that is not a page of a resource; its total is 0.
    pub async fn table(&self, table: Table) -> Result<Cells, Error> {
        self.lease(Access::Read).await?.table(table).await
    }

    /// Reads rows by the names of their columns.
    pub async fn rows<R: Row>(&self, rows: Rows<R>) -> Result<Vec<R>, Error> {
        self.table(rows.table).await?.read()
    }

    /// Removes rows a few at a time, each time in a transaction of its own, so that nobody waits for long: `old`
    /// finds some of those that are left.
    ///
    /// # Errors
    /// Database errors; what was removed before stays removed.
    pub async fn sweep(
        &self,
        old: impl Fn() -> Rows<Key>,
        remove: impl Fn(Vec<i64>, &Dialect) -> Statement,
    ) -> Result<(), Error> {
        loop {
            let keys: Vec<i64> = self.rows(old()).await?.into_iter().map(|of| of.key).collect();
            if keys.is_empty() {
                return Ok(());
            }
            let remove = remove(keys, self.dialect());
            retry(|| self.write([remove.clone()])).await?;
        }
    }

    /// Prepares for transactions with very many statements, or for those of single requests again. Either way all work,
    /// but not as fast.
    pub async fn expect_many_statements(&self, expected: bool) -> Result<(), Error> {
        let Some([many, few]) = self.dialect().many_or_few_statements else { return Ok(()) };
        let text = if expected { many } else { few };
        self.lease(Access::Write).await?.execute_batch(text.into_sql_str()).await
    }

    /// Runs a statement outside of any transaction, as some statements require.
    pub async fn execute(&self, statement: Statement) -> Result<(), Error> {
        self.lease(Access::Write).await?.insert(statement).await.map(drop)
    }

    /// Runs statements in one transaction.
    ///
    /// # Errors
    /// Database errors; nothing is written then.
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
    /// When no connection for writing becomes free in time.
    pub async fn begin(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.engine, Access::Write).await
    }

    /// Begins a read-only transaction on one snapshot.
    pub async fn begin_read(&self) -> Result<Transaction, Error> {
        Transaction::begin(&self.engine, Access::Snapshot).await
    }

    /// The number of connections of each pool.
    pub fn usage(&self) -> Vec<Usage> {
        self.engine.usage()
    }

    /// Closes all connections.
    pub async fn close(&self) {
        self.engine.close().await;
    }

    /// The engine, for bulk-loading.
    pub(super) fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    async fn lease(&self, access: Access) -> Result<Box<dyn Session>, Error> {
        self.engine.lease(access).await
    }
}
