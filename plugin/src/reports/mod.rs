//! Reports: what was sold, to whom, and the remaining stock. Each is one query, on sums that the
//! database keeps or computes, and returns a page of rows with the sums of the whole range.
//! Independent of routes and permissions: a report needs its query, a store, and the kept days.
//!
//! Amounts in different currencies are never added up: each currency has its own rows and sums.

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

/// The function that makes the document of a report.
pub(crate) type Show =
    for<'a> fn(&'a Asked, &'a Store, &'a Daily) -> BoxFuture<'a, Result<Vec<u8>, Error>>;

/// The kept days of the reports that add them up, and the reports that are being computed.
#[derive(Debug, Default)]
pub struct Daily {
    pub(crate) products: Days<products::Sold>,
    pub(crate) customers: Days<customers::Spent>,
    computing: SingleFlight<Asked, Vec<u8>>,
}

impl Daily {
    /// The document of a report. One computation serves all requests for it at the same moment, on
    /// a thread of its own.
    ///
    /// # Errors
    /// Errors of the report, and when it takes too long.
    pub(crate) async fn show(
        self: &Arc<Self>,
        asked: Asked,
        store: &Store,
        show: Show,
    ) -> Result<Vec<u8>, Error> {
        let compute = |asked: Asked| {
            let (daily, store) = (Arc::clone(self), store.clone());
            async move { store::retry(|| show(&asked, &store, &daily)).await }
        };
        self.computing.ask(asked, compute).await
    }

    /// How many reports have been computed.
    pub fn computed(&self) -> u64 {
        self.computing.computed()
    }
}
