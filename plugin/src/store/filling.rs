//! Bulk-loading of a store. Everything that is updated with each row is removed first and rebuilt
//! from all rows at the end: secondary indexes, references between tables, triggers, and the
//! numbers that these keep. Their definitions are read from the database itself, so no table is
//! mentioned by name. Other effects of triggers are the caller's responsibility.
//!
//! Nothing else can write to these tables meanwhile, and no interruption leaves behind a store that
//! is served without the removed parts.

use std::sync::Arc;

use super::database::Store;
use super::driver::{Driver, Fill, sql_text};
use super::engine::Engine;
use crate::error::Error;
use crate::sql::{RowsOf, Statement, kept, places};

/// A store during bulk-loading.
pub struct Filling {
    fill: Box<dyn Fill>,
    engine: Arc<dyn Engine>,
}

impl Store {
    /// Begins to bulk-load these tables; `None` where others could not be kept away from them.
    pub async fn begin_filling(
        &self,
        mut tables: Vec<&'static str>,
    ) -> Result<Option<Filling>, Error> {
        tables.sort_unstable();
        tables.dedup();
        let engine = self.engine();
        let fill = engine.begin_filling(tables).await?;
        Ok(fill.map(|fill| Filling { fill, engine: Arc::clone(engine) }))
    }
}

impl Filling {
    /// Reads one row of whole numbers.
    pub async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, Error> {
        self.fill.numbers(statement).await.map_err(|error| self.engine.classify(error))
    }

    /// Adds rows to the tables, all or none.
    pub async fn insert(&mut self, batch: Vec<RowsOf>) -> Result<(), Error> {
        self.fill.insert(batch).await.map_err(|error| self.engine.classify(error))
    }

    /// Runs these statements on the rows, rebuilds what was removed, and reports how many steps of how
    /// many are done.
    pub async fn finish(
        self,
        last: Vec<String>,
        mut report: impl FnMut(u64, u64) + Send,
    ) -> Result<(), Error> {
        let Self { fill, engine } = self;
        fill.finish(last, &mut report).await.map_err(|error| engine.classify(error))
    }
}

/// Runs statements, one after the other.
pub(super) async fn execute_all<D: Driver>(
    connection: &mut D::Connection,
    statements: Vec<String>,
) -> Result<(), sqlx::Error> {
    for statement in statements {
        D::execute_batch(connection, sql_text(statement)).await?;
    }
    Ok(())
}

/// The statements that begin another feed of changes, because triggers have queued none.
pub(super) fn another_feed<D: Driver>() -> Result<[String; 3], sqlx::Error> {
    let name = getrandom::u64().map_err(|error| sqlx::Error::Io(error.into()))?;
    Ok(places::renew(name, D::DIALECT))
}

/// Rebuilds what was removed, with these statements, recounts what triggers keep, and begins another
/// feed of changes. Reports how many steps of how many are done, and returns their number.
pub(super) async fn rebuild<D: Driver>(
    connection: &mut D::Connection,
    kept: Vec<String>,
    report: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<u64, sqlx::Error> {
    let recount = kept::recount(D::DIALECT.kept).into_iter().flat_map(|table| table.statements);
    let pieces: Vec<String> = kept.into_iter().chain(recount).chain(another_feed::<D>()?).collect();
    let total = pieces.len() as u64;
    for (piece, done) in pieces.into_iter().zip(0..) {
        report(done, total);
        D::execute_batch(connection, sql_text(piece)).await?;
    }
    Ok(total)
}
