//! The store as one value, and a request to it. Knows what there is, and not what is done with it.

use std::sync::Arc;

use host_interface::{Caller, HostHandle, Metric, Request};

use super::outbox::{self, Sender};
use super::settings::ParameterCache;
use crate::error::Error;
use crate::model::registry::Registry;
use crate::reports::Daily;
use crate::store::{Store, Usage};
use crate::wire::document::Place;

/// The store.
#[derive(Debug)]
pub struct Shop {
    /// The database.
    pub store: Store,
    /// A replica of the database, which reports are read from.
    pub replica: Option<Store>,
    /// What reports keep of each day, and those that are being computed.
    pub daily: Arc<Daily>,
    /// What the site has set.
    pub parameters: ParameterCache,
    /// The absolute path of the store, for links.
    pub root: String,
    /// The host.
    pub host: HostHandle,
    /// Sends the mails that requests leave.
    pub sender: Sender,
    /// The resources.
    pub registry: Registry,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The store.
    pub shop: &'a Shop,
    /// What is asked.
    pub request: &'a Request,
}

impl Shop {
    /// The store on this database, whose absolute path is `root`.
    pub fn new(host: HostHandle, store: Store, root: String, registry: Registry) -> Self {
        Self {
            replica: None,
            daily: Arc::default(),
            sender: Sender::new(store.clone(), host.clone()),
            store,
            parameters: ParameterCache::new(host.clone()),
            root,
            host,
            registry,
        }
    }

    /// Where reports are read from.
    pub fn reports(&self) -> &Store {
        self.replica.as_ref().unwrap_or(&self.store)
    }

    /// What the store measures.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn metrics(&self) -> Result<Vec<Metric>, Error> {
        let mut connections = Metric::gauge("connections", "Connections to the store's database.");
        let mut pools = self.store.usage();
        if let Some(replica) = &self.replica {
            pools.extend(replica.usage().into_iter().map(|of| Usage { pool: "reports", ..of }));
        }
        for Usage { pool, busy, idle } in pools {
            for (state, count) in [("busy", busy), ("idle", idle)] {
                let labels = [("pool", pool), ("state", state)];
                connections = connections.value_of(labels, f64::from(count));
            }
        }
        let [waiting, given_up] = outbox::count(&self.store).await?;
        let mails = Metric::gauge("mails", "Mails waiting to be sent, and mails given up.")
            .value_of([("state", "waiting")], f64::from(waiting))
            .value_of([("state", "given_up")], f64::from(given_up));
        let computed = f64::from(u32::try_from(self.daily.computed()).unwrap_or(u32::MAX));
        let reports = "Reports computed; simultaneous requests for the same report share one.";
        let reports = Metric::counter("reports_computed", reports).value(computed);
        Ok(vec![connections, mails, reports])
    }
}

impl<'a> Call<'a> {
    /// Where the answer is read.
    pub fn place(&self) -> Place<'a> {
        Place { path: self.request.path(), root: &self.shop.root, registry: self.shop.registry }
    }

    /// The key of the user who sent the request; 0 where there is none.
    pub fn user(&self) -> i64 {
        self.request.caller().map_or(0, Caller::user)
    }
}
