//! Filling a store with very many rows at once. What is kept up to date with each row is taken away
//! first and made anew from all of them in the end: secondary indexes, references between tables,
//! triggers, and what these keep. What there is of that, the database says itself, so that this
//! knows no table by name. What triggers do beside keeping counts is the caller's to do.
//!
//! Nobody else can write to these tables meanwhile, and a filling that is cut off at any moment
//! leaves no store behind that is served without what was taken away.

use super::{Pool, Store, mysql, postgres, sqlite};
use crate::error::Error;
use crate::sql::{RowsOf, Statement};

/// A store that is being filled.
pub struct Filling(Engine);

enum Engine {
    Sqlite(sqlite::Filling),
    Postgres(postgres::Filling),
    MySql(mysql::Filling),
}

/// Does the same on each engine, and says what a failure means.
macro_rules! on_engine {
    ($engine:expr, $filling:ident => $work:expr) => {
        match $engine {
            Engine::Sqlite($filling) => $work.await.map_err(sqlite::classify),
            Engine::Postgres($filling) => $work.await.map_err(postgres::classify),
            Engine::MySql($filling) => $work.await.map_err(mysql::classify),
        }
    };
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
        let engine = match &self.pool {
            Pool::Sqlite(pools) => sqlite::Filling::begin(pools, &tables)
                .await
                .map(|filling| Some(Engine::Sqlite(filling)))
                .map_err(sqlite::classify),
            Pool::Postgres(pool) => postgres::Filling::begin(pool.pool(), tables)
                .await
                .map(|filling| Some(Engine::Postgres(filling)))
                .map_err(postgres::classify),
            Pool::MySql(pool) => mysql::Filling::begin(pool.pool(), tables)
                .await
                .map(|filling| filling.map(Engine::MySql))
                .map_err(mysql::classify),
        };
        Ok(engine?.map(Filling))
    }
}

impl Filling {
    /// Reads one row of whole numbers.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, Error> {
        on_engine!(&mut self.0, filling => filling.numbers(statement))
    }

    /// Adds rows to the tables, all of them or none.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn insert(&mut self, batch: Vec<RowsOf>) -> Result<(), Error> {
        on_engine!(&mut self.0, filling => filling.insert(batch))
    }

    /// Makes anew what was taken away, and tells how many of how many pieces are done.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn finish(self, tell: impl FnMut(u64, u64) + Send) -> Result<(), Error> {
        on_engine!(self.0, filling => filling.finish(tell))
    }
}
