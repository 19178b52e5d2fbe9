//! Reports: what was sold, to whom, and what is left. Each is one question to the database, about
//! sums that it has kept or makes itself, and a page of rows with the sums of the whole range
//! beside them. Knows no routes and no permissions: a report is made of what is asked, a store, and
//! what days have come to.
//!
//! Amounts of two currencies are never added up: there is a row, and a sum, for each.

mod amounts;
mod asked;
pub(crate) mod customers;
mod days;
pub(crate) mod inventory;
mod period;
pub(crate) mod products;
mod ranking;
pub(crate) mod sales;
mod single_flight;

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::error::Error;
use crate::store::{self, Store};

pub(crate) use asked::Asked;
use days::Days;
use single_flight::SingleFlight;

/// How the document of a report is made.
pub(crate) type Show =
    for<'a> fn(&'a Asked, &'a Store, &'a Daily) -> BoxFuture<'a, Result<Vec<u8>, Error>>;

/// What days have come to, for those reports that add them up, and the reports that are being computed.
#[derive(Debug, Default)]
pub struct Daily {
    pub(crate) products: Days<products::Sold>,
    pub(crate) customers: Days<customers::Spent>,
    computing: SingleFlight<Asked, Vec<u8>>,
}

impl Daily {
    /// The document of a report, which is computed for all who ask for it at the same moment, and not
    /// on the thread of the one who asks.
    ///
    /// # Errors
    /// Those of the report, and when it takes too long.
    pub(crate) async fn show(
        self: &Arc<Self>,
        asked: Asked,
        store: &Store,
        show: Show,
    ) -> Result<Vec<u8>, Error> {
        let compute = |asked: Asked| {
            let (daily, store) = (Arc::clone(self), store.clone());
            async move { store::persist(|| show(&asked, &store, &daily)).await }
        };
        self.computing.ask(asked, compute).await
    }

    /// How many reports have been computed.
    pub fn computed(&self) -> u64 {
        self.computing.computed()
    }
}
