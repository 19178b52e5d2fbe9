//! Filling a store with very many rows at once. What is kept up to date with each row is taken away
//! first and made anew from all of them in the end: secondary indexes, references between tables,
//! triggers, and what these keep. What there is of that, the database says itself, so that this
//! knows no table by name. What triggers do beside keeping counts is the caller's to do.
//!
//! Nobody else can write to these tables meanwhile, and a filling that is cut off at any moment
//! leaves no store behind that is served without what was taken away.

use super::{Pool, Store, postgres, sqlite};
use crate::error::Error;
use crate::resources;
use crate::sql::{self, Statement};
use crate::value::Value;

/// A store that is being filled.
pub struct Filling {
    engine: Engine,
    store: Store,
    tables: Vec<&'static str>,
}

enum Engine {
    Sqlite(sqlite::Filling),
    Postgres(postgres::Filling),
}

/// Does the same on each engine, and says what a failure means.
macro_rules! on_engine {
    ($engine:expr, $filling:ident => $work:expr) => {
        match $engine {
            Engine::Sqlite($filling) => $work.await.map_err(sqlite::classify),
            Engine::Postgres($filling) => $work.await.map_err(postgres::classify),
        }
    };
}

impl Store {
    /// Begins to fill these tables.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn begin_filling(&self, mut tables: Vec<&'static str>) -> Result<Filling, Error> {
        tables.sort_unstable();
        tables.dedup();
        let names = tables.join(",");
        let engine = match &self.pool {
            Pool::Sqlite(pools) => {
                let filling = sqlite::Filling::begin(pools, names).await;
                Engine::Sqlite(filling.map_err(sqlite::classify)?)
            }
            Pool::Postgres(pool) => {
                let filling = postgres::Filling::begin(pool, names).await;
                Engine::Postgres(filling.map_err(postgres::classify)?)
            }
            _ => return Err(Error::Contract("not yet")),
        };
        Ok(Filling { engine, store: self.clone(), tables })
    }
}

impl Filling {
    /// Reads one row of whole numbers.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn numbers(&mut self, statement: Statement) -> Result<Vec<i64>, Error> {
        on_engine!(&mut self.engine, filling => filling.numbers(statement))
    }

    /// Adds rows to one of the tables, which are these values, row after row.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn insert(
        &mut self,
        table: &'static str,
        columns: &'static [&'static str],
        values: Vec<Value>,
    ) -> Result<(), Error> {
        on_engine!(&mut self.engine, filling => filling.insert(table, columns, values))
    }

    /// Makes anew what was taken away, and tells how many of how many pieces are done.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn finish(self, tell: impl FnMut(u64, u64)) -> Result<(), Error> {
        let dialect = self.store.dialect();
        let keys = self.tables.iter().filter_map(|table| {
            let resource = resources::ALL.iter().find(|resource| resource.table == *table)?;
            sql::keys_follow(table, resource.key, dialect)
        });
        let keys: Vec<Statement> = keys.collect();
        on_engine!(self.engine, filling => filling.finish(keys, tell))
    }
}
