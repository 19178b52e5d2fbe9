//! The pipeline: a request to one of the routes becomes a plan, a query and a document. The table
//! of routes is made once, from the resources.

pub mod openapi;
mod panels;

use std::sync::Arc;

use host_interface::{
    Action, Asset, Description, Grant, HostHandle, Method, Metric, PanelContent, Request, Response,
    Route,
};

use crate::bulk::demo;
use crate::error::{Error, Fault, FaultKind};
use crate::model::parameters::{self, ParameterCache};
use crate::model::resource::{Nested, Resource, Special};
use crate::reports::Daily;
use crate::resources;
use crate::service::crud;
use crate::service::outbox::{self, Sender};
use crate::store::{self, Store, Usage};
use crate::wire::document::MEDIA_TYPE;

/// The extension's name on a site.
pub const NAME: &str = "webservices-shop";
/// The path of the store below the host's entry point.
pub const PREFIX: &str = "v1/shop";

/// The store's web services.
#[derive(Debug)]
pub struct App {
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
    /// Who sends the mails that requests leave.
    pub sender: Sender,
    routes: Vec<Endpoint>,
}

/// A request on its way.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The store.
    pub app: &'a App,
    /// What is asked.
    pub request: &'a Request,
}

/// A route and what it takes to answer it.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The method.
    pub method: Method,
    /// The path below the store's.
    pub path: String,
    /// The name, for example `zones.list`.
    pub name: String,
    /// The action that has to be permitted; nothing where a valid token is enough.
    pub action: Option<&'static str>,
    /// The asset that it has to be permitted on.
    pub asset: String,
    /// What it does.
    pub operation: Operation,
}

impl Endpoint {
    /// What the route answers with.
    pub fn resource(&self) -> &'static Resource {
        match self.operation {
            Operation::List(resource)
            | Operation::Show(resource)
            | Operation::Create(resource)
            | Operation::Update(resource)
            | Operation::Delete(resource)
            | Operation::Nested(resource, _)
            | Operation::Special(resource, _) => resource,
        }
    }
}

/// What a route does.
#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// Reads a page of records.
    List(&'static Resource),
    /// Reads one record.
    Show(&'static Resource),
    /// Makes a record.
    Create(&'static Resource),
    /// Changes a record.
    Update(&'static Resource),
    /// Removes a record.
    Delete(&'static Resource),
    /// Reads a page of the records below another one.
    Nested(&'static Resource, &'static Nested),
    /// What the resource's file says.
    Special(&'static Resource, &'static Special),
}

impl App {
    /// The store on this database, mounted below `base_path`.
    pub fn new(host: HostHandle, store: Store, base_path: &str) -> Self {
        Self {
            replica: None,
            daily: Arc::default(),
            sender: Sender::new(store.clone(), host.clone()),
            store,
            parameters: ParameterCache::new(host.clone()),
            root: format!("{base_path}/{PREFIX}"),
            host,
            routes: endpoints(),
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

    /// The content of a panel.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn panel(&self, name: &str) -> Result<PanelContent, Error> {
        if name != panels::SALES {
            return Err(Error::Contract("the host asked for a panel that was never declared"));
        }
        let mut sales = panels::Sales::default();
        while let Some(query) = sales.missing() {
            sales.add(&self.read("reports.sales", &query).await?)?;
        }
        Ok(sales.content())
    }

    /// The document with which one of the store's own routes answers, whoever may see it.
    async fn read(&self, route: &str, query: &str) -> Result<Vec<u8>, Error> {
        let endpoint = self.routes.iter().find(|endpoint| endpoint.name == route);
        let endpoint = endpoint.ok_or(Error::Contract("there is no such route"))?;
        let path = format!("{}/{}", self.root, endpoint.path);
        let request = Request::builder(0, endpoint.method).path(path).query(query).build();
        let call = Call { app: self, request: &request };
        let response = store::persist(|| run(endpoint.operation, &call)).await?;
        Ok(response.body().to_vec())
    }

    /// Answers a request. Every failure becomes the answer that says so.
    pub async fn handle(&self, request: Request) -> Response {
        match self.answer(&request).await {
            Ok(response) => response,
            Err(error) => error.into_response(request.id()),
        }
    }

    async fn answer(&self, request: &Request) -> Result<Response, Error> {
        let endpoint = usize::try_from(request.handler()).ok();
        let endpoint = endpoint
            .and_then(|position| self.routes.get(position))
            .ok_or(Error::Contract("the host asked for a route that was never registered"))?;
        self.permit(endpoint, request)?;
        let call = Call { app: self, request };
        // An operation commits once, at its end, so that all of it may be done again until then.
        store::persist(|| run(endpoint.operation, &call)).await
    }

    fn permit(&self, endpoint: &Endpoint, request: &Request) -> Result<(), Error> {
        let Endpoint { action: Some(action), asset, .. } = endpoint else { return Ok(()) };
        let allowed =
            request.user().is_some_and(|user| self.host.authorise(user.id(), action, asset));
        match allowed {
            true => Ok(()),
            false => {
                let detail = format!("You lack the permission {action} on {asset}.");
                Err(Fault::new(FaultKind::Forbidden, detail).into())
            }
        }
    }
}

async fn run(operation: Operation, call: &Call<'_>) -> Result<Response, Error> {
    match operation {
        Operation::List(resource) => crud::list(call, resource).await,
        Operation::Show(resource) => crud::show(call, resource).await,
        Operation::Create(resource) => match resource.create {
            Some(special) => special(call, resource).await,
            None => crud::create(call, resource).await,
        },
        Operation::Update(resource) => crud::update(call, resource).await,
        Operation::Delete(resource) => match resource.delete {
            Some(special) => special(call, resource).await,
            None => crud::delete(call, resource).await,
        },
        Operation::Nested(resource, nested) => crud::nested(call, resource, nested).await,
        Operation::Special(resource, special) => (special.run)(call, resource).await,
    }
}

/// What the plugin says of itself.
pub fn describe() -> Description {
    let routes = endpoints().into_iter().zip(0..).map(|(endpoint, handler)| {
        let pattern = format!("{PREFIX}/{}", endpoint.path);
        Route::new(endpoint.method, pattern, endpoint.name, handler)
    });
    // A rule on the store must not reach its configuration.
    let parent = |kind| if kind == "config" { "root" } else { "com_shop" };
    let asset = |resource: &Resource| {
        let kind = resource.kind;
        Asset::new(asset(kind), parent(kind), resource.title())
    };
    Description::new(env!("CARGO_PKG_VERSION"))
        .media_type(MEDIA_TYPE)
        .sample_path(format!("{PREFIX}/manufacturers"))
        .routes(routes)
        .parameters(parameters::declared())
        .demo_options(demo::options())
        .panels(panels::declared())
        .permissions(
            [
                Action::new("store.view", "View"),
                Action::new("store.create", "Create"),
                Action::new("store.edit", "Edit"),
                Action::new("store.delete", "Delete"),
            ],
            [Asset::new("com_shop", "root", "Store")]
                .into_iter()
                .chain(resources::ALL.iter().map(asset)),
            [
                Grant::new("Manager", "store.view", "com_shop"),
                Grant::new("Manager", "store.create", "com_shop"),
                Grant::new("Manager", "store.edit", "com_shop"),
                Grant::new("Administrator", "store.delete", "com_shop"),
                Grant::new("Administrator", "store.view", "com_shop.config"),
            ],
        )
}

/// The OpenAPI document of the store below this path.
pub fn openapi(base_path: &str) -> serde_json::Value {
    openapi::document(&endpoints(), &format!("{base_path}/{PREFIX}"))
}

/// The table of routes.
fn endpoints() -> Vec<Endpoint> {
    resources::ALL.iter().flat_map(endpoints_of).collect()
}

fn endpoints_of(resource: &'static Resource) -> impl Iterator<Item = Endpoint> {
    let endpoint = |method, path: String, name: &str, action, operation| Endpoint {
        method,
        path,
        name: format!("{}.{name}", resource.kind),
        action: Some(action),
        asset: asset(resource.kind),
        operation,
    };
    let (all, one) = (resource.kind.to_owned(), format!("{}/{{id:digits}}", resource.kind));
    let crud = [
        endpoint(Method::Get, all.clone(), "list", "store.view", Operation::List(resource)),
        endpoint(Method::Post, all, "create", "store.create", Operation::Create(resource)),
        endpoint(Method::Get, one.clone(), "show", "store.view", Operation::Show(resource)),
        endpoint(Method::Patch, one.clone(), "update", "store.edit", Operation::Update(resource)),
        endpoint(Method::Delete, one, "delete", "store.delete", Operation::Delete(resource)),
    ];
    let nested = resource.nested.iter().map(move |nested| {
        let path = format!("{}/{{id:digits}}/{}", nested.parent, nested.segment);
        let name = format!("list_of_{}", nested.parent);
        endpoint(Method::Get, path, &name, "store.view", Operation::Nested(resource, nested))
    });
    let special = resource.special.iter().map(move |special| Endpoint {
        method: special.method,
        path: special.path.to_owned(),
        name: format!("{}.{}", resource.kind, special.name),
        action: special.action,
        asset: asset(special.asset.unwrap_or(resource.kind)),
        operation: Operation::Special(resource, special),
    });
    crud.into_iter().filter(|_| resource.crud).chain(nested).chain(special)
}

fn asset(kind: &str) -> String {
    format!("com_shop.{kind}")
}
