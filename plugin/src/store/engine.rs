//! An open database of any engine, which the store owns. Independent of particular engines; each
//! has a [`Driver`].

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use super::driver::{Driver, Fill, Options};
use super::lease::Lease;
use super::pools::{Access, Pools, Usage};
use super::session::{Answer, Session};
use crate::error::Error;
use crate::model::registry::Registry;
use crate::sql::dialect::Dialect;

/// An open database.
pub(super) trait Engine: Debug + Send + Sync {
    /// The engine's SQL, where engines differ.
    fn dialect(&self) -> &'static Dialect;
    /// Converts a failure of the database into the error that a request gets.
    fn classify(&self, error: sqlx::Error) -> Error;
    /// Another handle to this database, with separate connections and this time limit of answers.
    fn reopened(&self, answer: Duration) -> Arc<dyn Engine>;

    /// A connection, as soon as one is free.
    fn lease(&self, access: Access) -> Answer<'_, Box<dyn Session>>;
    /// Called after a commit.
    fn committed(&self);
    /// The number of connections of each pool.
    fn usage(&self) -> Vec<Usage>;
    /// Closes all connections.
    fn close(&self) -> BoxFuture<'_, ()>;

    /// Creates the tables and derived objects, or brings them up to date.
    fn migrate(&self, registry: Registry) -> Answer<'_, ()>;
    /// Drops the tables.
    fn drop_tables(&self) -> Answer<'_, ()>;
    /// Begins to bulk-load these tables; `None` where others could not be kept away from them.
    fn begin_filling(&self, tables: Vec<&'static str>) -> Answer<'_, Option<Box<dyn Fill>>>;
}

/// The database at this address, with this time limit of answers.
pub(super) fn open<D: Driver>(url: &str, answer: Duration) -> Result<Arc<dyn Engine>, sqlx::Error> {
    Ok(Arc::new(Opened::<D>::new(D::options(url)?, answer)))
}

#[derive(Debug)]
struct Opened<D: Driver> {
    options: Options<D>,
    pools: Pools<D>,
    /// The time limit of an answer.
    answer: Duration,
}

impl<D: Driver> Opened<D> {
    fn new(options: Options<D>, answer: Duration) -> Self {
        Self { pools: D::pools(options.clone(), answer), options, answer }
    }
}

impl<D: Driver> Engine for Opened<D> {
    fn dialect(&self) -> &'static Dialect {
        D::DIALECT
    }

    fn classify(&self, error: sqlx::Error) -> Error {
        D::classify(error)
    }

    fn reopened(&self, answer: Duration) -> Arc<dyn Engine> {
        Arc::new(Self::new(self.options.clone(), answer))
    }

    fn lease(&self, access: Access) -> Answer<'_, Box<dyn Session>> {
        Box::pin(async move {
            let lease = Lease::of(self.pools.of(access), access, self.answer).await;
            Ok(Box::new(lease.map_err(D::classify)?) as Box<dyn Session>)
        })
    }

    fn committed(&self) {
        self.pools.committed();
    }

    fn usage(&self) -> Vec<Usage> {
        self.pools.usage()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.pools.close())
    }

    fn migrate(&self, registry: Registry) -> Answer<'_, ()> {
        Box::pin(D::migrate(&self.options, &self.pools, registry))
    }

    fn drop_tables(&self) -> Answer<'_, ()> {
        Box::pin(D::drop_tables(&self.options))
    }

    fn begin_filling(&self, tables: Vec<&'static str>) -> Answer<'_, Option<Box<dyn Fill>>> {
        Box::pin(async { D::begin_filling(&self.options, tables).await.map_err(D::classify) })
    }
}
