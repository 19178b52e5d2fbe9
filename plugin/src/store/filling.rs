//! Filling a store with very many rows at once. What is kept up to date with each row is removed first
//! and rebuilt from all of them in the end: secondary indexes, references between tables,
//! triggers, and what these keep. All of that is read from the database itself, so this knows no
//! table by name. What triggers do beside keeping counts is the caller's to do.
//!
//! Nobody else can write to these tables meanwhile, and a filling that is cut off at any moment
//! leaves no store behind that is served without what was removed.

use std::sync::Arc;

use super::database::Store;
use super::driver::{Driver, Fill, sql_text};
use super::engine::Engine;
use crate::error::Error;
use crate::sql::{RowsOf, Statement, kept};

/// A store that is being filled.
pub struct Filling {
    fill: Box<dyn Fill>,
    engine: Arc<dyn Engine>,
}

impl Store {
    /// Begins to fill these tables. Nothing where others could not be kept away from them.
    ///
    /// # Errors
    /// Those of the database.
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
    ///
    /// # Errors
    /// Those of the database.
    pub async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, Error> {
        self.fill.numbers(statement).await.map_err(|error| self.engine.classify(error))
    }

    /// Adds rows to the tables, all of them or none.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn insert(&mut self, batch: Vec<RowsOf>) -> Result<(), Error> {
        self.fill.insert(batch).await.map_err(|error| self.engine.classify(error))
    }

    /// Rebuilds what was removed, and reports how many of how many pieces are done.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn finish(self, mut report: impl FnMut(u64, u64) + Send) -> Result<(), Error> {
        let Self { fill, engine } = self;
        fill.finish(&mut report).await.map_err(|error| engine.classify(error))
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

/// Rebuilds what was removed, by these statements, and recounts what triggers keep. Reports how many of
/// how many pieces are done, and gives how many there are.
pub(super) async fn rebuild<D: Driver>(
    connection: &mut D::Connection,
    kept: Vec<String>,
    report: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<u64, sqlx::Error> {
    let recount = kept::recount(D::DIALECT.kept).into_iter().flat_map(|table| table.statements);
    let pieces: Vec<String> = kept.into_iter().chain(recount).collect();
    let total = pieces.len() as u64;
    for (piece, done) in pieces.into_iter().zip(0..) {
        report(done, total);
        D::execute_batch(connection, sql_text(piece)).await?;
    }
    Ok(total)
}
