//! The store as one value, and a request to it. Independent of the operations on them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock};

use host_interface::{
    Body, Caller, Chunk, Denial, HostHandle, Method, Metric, Request, UserQuery, fact,
};

use tokio::sync::Semaphore;

use super::answers::{Answers, DEFAULT_LIMIT};
use super::key_queue::{HeldKey, KeyQueue};
use super::outbox::{self, Sender};
use super::settings::ParameterCache;
use crate::changes::Feed;
use crate::error::{Error, Fault, FaultKind};
use crate::model::registry::{References, Registry};
use crate::model::resource::Resource;
use crate::reports::Daily;
use crate::store::{Store, Usage};
use crate::wire::draft::Draft;
use crate::wire::object::LinkBase;
use crate::wire::request;
use crate::wire::view::View;

/// How many exports may run at the same time: fewer than there are connections, which others need.
const EXPORTS: usize = 3;

/// The extension's name on a site.
pub const NAME: &str = "webservices-shop";

/// The action that reads need.
pub const VIEW: &str = "store.view";

/// What a request needs: one of these actions on the asset, the least right first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The actions.
    pub actions: Vec<&'static str>,
    /// The asset.
    pub asset: String,
}

impl Rights {
    /// The right to do this to the records of a resource.
    pub fn to(action: &'static str, resource: &Resource) -> Self {
        let actions = resource.or_action.into_iter().chain([action]).collect();
        Self { actions, asset: asset(resource.asset()) }
    }

    /// Whether a caller has one of them.
    pub fn has(&self, caller: &Caller) -> bool {
        self.actions.iter().any(|action| caller.may(action, &self.asset).is_ok())
    }
}

/// The store.
#[derive(Debug)]
pub struct Shop {
    /// The database.
    pub store: Store,
    /// A replica of the database, which reports are read from; set before the first request, if there is one.
    pub replica: OnceLock<Store>,
    /// Separate connections without a time limit of answers; set when they are first needed.
    pub patient: OnceLock<Store>,
    /// The kept days of reports, and the reports that are being computed.
    pub daily: Arc<Daily>,
    /// The site's parameters.
    pub parameters: ParameterCache,
    /// The absolute path of the store, for links.
    pub root: String,
    /// The host.
    pub host: HostHandle,
    /// Sends the mails that requests write.
    pub sender: Sender,
    /// The resources.
    pub registry: Registry,
    /// What refers to their records.
    pub references: References,
    /// The keys of the writes in progress.
    pub keys: KeyQueue,
    /// The feed of changes.
    pub feed: Feed,
    /// What all answers under way take.
    pub answers: Answers,
    /// The places of exports, each of which keeps a connection.
    pub exports: Arc<Semaphore>,
}

/// A request in progress.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The store.
    pub shop: &'a Arc<Shop>,
    /// The request.
    pub request: &'a Request,
    /// The body of the request, if it comes in pieces, for whoever takes it.
    pub pieces: Option<&'a Mutex<Option<Body>>>,
    /// The key of a write, if the client has sent one.
    pub key: Option<&'a HeldKey<'a>>,
    /// How many bytes the answer may have.
    pub limit: usize,
}

impl Shop {
    /// The store on this database, with `root` as its absolute path.
    pub fn new(host: HostHandle, store: Store, root: String, registry: Registry) -> Self {
        Self {
            replica: OnceLock::new(),
            patient: OnceLock::new(),
            daily: Arc::default(),
            sender: Sender::new(store.clone(), host.clone()),
            feed: Feed::new(store.clone(), registry),
            store,
            parameters: ParameterCache::new(host.clone()),
            root,
            host,
            registry,
            references: registry.references(),
            keys: KeyQueue::default(),
            answers: Answers::default(),
            exports: Arc::new(Semaphore::new(EXPORTS)),
        }
    }

    /// The database that reports read.
    pub fn reports(&self) -> &Store {
        self.replica.get().unwrap_or(&self.store)
    }

    /// The database for a statement that lasts for as long as a client reads its rows, or that reads whole tables.
    pub fn patient(&self) -> &Store {
        self.patient.get_or_init(|| self.store.patient())
    }

    /// Closes all connections.
    pub async fn close(&self) {
        for beside in [&self.replica, &self.patient] {
            if let Some(beside) = beside.get() {
                beside.close().await;
            }
        }
        self.store.close().await;
    }

    /// The store's metrics.
    pub async fn metrics(&self) -> Result<Vec<Metric>, Error> {
        let mut connections = Metric::gauge("connections", "Connections to the store's database.");
        let mut pools = self.store.usage();
        if let Some(replica) = self.replica.get() {
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
        let backlog = self.feed.backlog().await?;
        let number = |count: i64| u32::try_from(count).map_or(f64::MAX, f64::from);
        let queued = Metric::gauge("changes_queued", "Changes that have no place in the feed yet.")
            .value(number(backlog.queued));
        let behind = "For how many seconds at most changes have been waiting for their places.";
        let behind = Metric::gauge("changes_behind_seconds", behind).value(number(backlog.behind));
        Ok(vec![connections, mails, reports, queued, behind])
    }
}

/// The error for a record that does not exist.
pub(crate) fn missing(resource: &Resource) -> Error {
    let detail = format!("There is no {} with this id.", resource.singular);
    Fault::new(FaultKind::NotFound, detail).into()
}

/// The asset of a resource.
pub fn asset(kind: &str) -> String {
    format!("com_shop.{kind}")
}

impl<'a> Call<'a> {
    /// A request to the store. Only reads have a limit: the answer to a write is about as large as its body,
    /// and would be refused when everything has been done.
    pub fn new(shop: &'a Arc<Shop>, request: &'a Request) -> Self {
        let limit = match request.method() {
            Method::Get => request.answer_limit().unwrap_or(DEFAULT_LIMIT),
            _ => usize::MAX,
        };
        Self { shop, request, pieces: None, key: None, limit }
    }

    /// The answer to a read, which counts until it is sent.
    ///
    /// # Errors
    /// When the answers under way would take too much.
    pub fn send(&self, body: Vec<u8>) -> Result<Chunk, Error> {
        self.shop.answers.send(body, self.limit)
    }

    /// Checks a permission of the user.
    ///
    /// # Errors
    /// When the user lacks it.
    pub fn permit(&self, action: &str, asset: &str) -> Result<(), Error> {
        let Err(denial) = self.may(action, asset) else { return Ok(()) };
        self.refuse_by_scope(&denial)?;
        let detail = format!("You lack the permission {action} on {asset}.");
        Err(Fault::new(FaultKind::Forbidden, detail).into())
    }

    /// Checks that the user has one of several permissions. A refusal names the first, the least right.
    ///
    /// # Errors
    /// When the user has none of them.
    pub fn permit_any(&self, rights: &Rights) -> Result<(), Error> {
        if self.request.caller().is_some_and(|caller| rights.has(caller)) {
            return Ok(());
        }
        let Rights { actions, asset } = rights;
        actions.iter().try_for_each(|action| self.permit(action, asset))
    }

    /// Checks the scopes of the token, if it has any, where the user needs no permission.
    ///
    /// # Errors
    /// When the token lacks the scope.
    pub fn permit_token(&self, action: &str, asset: &str) -> Result<(), Error> {
        match self.may(action, asset) {
            Err(denial) => self.refuse_by_scope(&denial),
            Ok(()) => Ok(()),
        }
    }

    fn may(&self, action: &str, asset: &str) -> Result<(), Denial> {
        match self.request.caller() {
            Some(caller) => caller.may(action, asset),
            None => Err(Denial::Forbidden),
        }
    }

    fn refuse_by_scope(&self, denial: &Denial) -> Result<(), Error> {
        let Denial::InsufficientScope(scope) = denial else { return Ok(()) };
        let detail = format!("The token lacks the scope {scope}.");
        let fault = Fault::new(FaultKind::InsufficientScope, detail);
        Err(fault.challenging(denial.challenge()).into())
    }

    /// Checks the permissions to view the records that a document includes.
    ///
    /// # Errors
    /// When the user lacks one of them.
    pub fn may_see(&self, view: &View) -> Result<(), Error> {
        let mut resources = view.resources().into_iter();
        resources.try_for_each(|resource| self.permit_any(&Rights::to(VIEW, resource)))
    }

    /// The users that a draft names and the host does not have. They are asked for before a transaction begins, which
    /// would have to wait for the host.
    ///
    /// # Errors
    /// When the host fails.
    pub async fn strangers(&self, draft: &Draft) -> Result<HashSet<i64>, Error> {
        let mut strangers = HashSet::new();
        for (_, id) in draft.users() {
            if self.shop.host.find_user(UserQuery::Id(id)).await?.is_none() {
                strangers.insert(id);
            }
        }
        Ok(strangers)
    }

    /// The key in the path of the request, of a record of this resource.
    ///
    /// # Errors
    /// When it is too long for a key, so that there is no such record.
    pub fn path_key(&self, resource: &Resource) -> Result<i64, Error> {
        request::id(self.request)?.ok_or_else(|| missing(resource))
    }

    /// The second key in the path, of a record of this resource that is part of the first.
    ///
    /// # Errors
    /// When it is too long for a key, so that there is no such record.
    pub fn part_key(&self, resource: &Resource) -> Result<i64, Error> {
        let key = self.request.params().get(1).and_then(|key| key.parse().ok());
        key.ok_or_else(|| missing(resource))
    }

    /// The path of the request, for the links of its answer.
    pub fn link_base(&self) -> LinkBase<'a> {
        let Shop { root, registry, .. } = &**self.shop;
        LinkBase { path: self.request.path(), root, registry: *registry, limit: self.limit }
    }

    /// The key of the user who sent the request; 0 for a request without a user.
    pub fn user(&self) -> i64 {
        self.request.caller().map_or(0, Caller::user)
    }

    /// The name of the token that the request was sent with; empty if the host knows none.
    pub fn token_name(&self) -> &'a str {
        let caller = self.request.caller();
        caller.and_then(|caller| caller.fact(fact::TOKEN_NAME)).unwrap_or_default()
    }
}
