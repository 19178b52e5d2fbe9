//! The pipeline from a request to its response: find the route, check the permission, run the
//! operation. It is independent of how an operation works.

pub mod openapi;
pub mod routes;

mod commands;
mod panels;
mod transfer;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use host_interface::{
    Action, Asset, Body, CommandOutput, Description, Event, Grant, HostHandle, Job, Method, Metric,
    PanelContent, ProgressHandle, Request, Response, Route, Subject,
};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::imports;
use crate::model::parameters;
use crate::model::resource::{Permissions, Resource};
use crate::privacy;
use crate::resources::{FULFIL, MAKE_REFUNDS, REGISTRY, SERVICES};
pub use crate::service::call::NAME;
use crate::service::call::{self, Call, Shop};
use crate::service::hooks::{Answer, HookFuture, Service, Special};
use crate::service::{crud, once};
use crate::store::{self, Store};
use crate::webhooks::{self, Sender};
use crate::wire::document::MEDIA_TYPE;
use crate::wire::{answer, request, table};
use routes::{Endpoint, Operation};
use transfer::Asking;

/// The path of the store below the host's entry point.
pub const PREFIX: &str = "v1/shop";

/// The job that removes old keys of writes.
const SWEEP_KEYS: &str = "sweep_keys";
/// The job that removes old deletions from the feed of changes.
const SWEEP_CHANGES: &str = "sweep_changes";
/// The job that notes which imports are interrupted, and removes old ones.
const SWEEP_IMPORTS: &str = "sweep_imports";
const SWEEP_IMPORTS_EVERY: Duration = Duration::from_secs(60);
/// The job that sends what webhooks get.
const SEND_WEBHOOKS: &str = "send_webhooks";
/// It runs as long as there are webhooks that are enabled, and is woken when there may be.
const SEND_WEBHOOKS_EVERY: Duration = Duration::from_secs(30);
/// The job that removes old attempts of webhooks.
const SWEEP_WEBHOOKS: &str = "sweep_webhooks";
/// The job that removes what is personal once the site keeps it no longer.
const RETAIN: &str = "retain";
const RETAIN_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// The store's web services: the store, and the routes to it.
#[derive(Debug)]
pub struct App {
    /// The store.
    pub shop: Arc<Shop>,
    /// The additions to the operations on its resources.
    services: &'static [Service],
    /// Sends what webhooks get.
    sender: Sender,
    /// The routes. A host asks for them by their positions.
    pub routes: Vec<Endpoint>,
}

impl App {
    /// The store on this database, mounted below `base_path`.
    pub fn new(host: HostHandle, store: Store, base_path: &str) -> Self {
        let root = format!("{base_path}/{PREFIX}");
        Self::of(Shop::new(host, store, root, REGISTRY), SERVICES)
    }

    /// The routes of these services, whose resources the store has.
    pub fn of(shop: Shop, services: &'static [Service]) -> Self {
        let routes = routes::endpoints(services);
        Self { shop: Arc::new(shop), services, sender: Sender::new(), routes }
    }

    /// The metrics of the store and of what it sends.
    pub async fn metrics(&self) -> Result<Vec<Metric>, Error> {
        let mut metrics = self.shop.metrics().await?;
        metrics.extend(webhooks::metrics(&self.sender, &self.shop.store).await?);
        Ok(metrics)
    }

    /// Computes the content of a panel.
    pub async fn panel(&self, name: &str) -> Result<PanelContent, Error> {
        panels::content(name, &self.shop).await
    }

    /// Computes the content of a panel about a request or a record.
    pub async fn detail_panel(&self, name: &str, subject: &Subject) -> Result<PanelContent, Error> {
        panels::detail(name, subject, &self.shop).await
    }

    /// Runs a command.
    pub async fn command(
        &self,
        name: &str,
        options: Map<String, Value>,
        progress: &ProgressHandle,
    ) -> Result<CommandOutput, Error> {
        let handle = |request| -> BoxFuture<'_, Response> { Box::pin(self.handle(request)) };
        let asking = Asking { routes: &self.routes, handle: &handle };
        commands::run(name, options, &self.shop, &asking, progress).await
    }

    /// Does a job.
    pub async fn job(&self, name: &str) -> Result<(), Error> {
        match name {
            SWEEP_KEYS => once::sweep(&self.shop).await,
            SWEEP_IMPORTS => imports::sweep(&self.shop.store).await,
            SWEEP_WEBHOOKS => webhooks::sweep(&self.shop.store).await,
            SEND_WEBHOOKS => {
                if self.sender.run(&self.shop).await? {
                    self.wake_sender();
                }
                Ok(())
            }
            RETAIN => privacy::retain(&self.shop, false).await.map(drop),
            SWEEP_CHANGES => {
                let days = self.shop.parameters.current()?.change_days;
                self.shop.feed.forget(days).await
            }
            _ => Err(Error::Contract("the host asked for a job that was never declared")),
        }
    }

    /// Deals with an event.
    pub fn event(&self, event: &Event) {
        match event {
            Event::Stopping => {
                self.shop.feed.end_waits();
                self.sender.stop(true);
            }
            Event::Switched { enabled, .. } => {
                self.sender.stop(!enabled);
                if *enabled {
                    self.wake_sender();
                }
            }
            _ => {}
        }
    }

    /// Has the host run the job that sends, if it does not run already. The interval of the job is enough where a
    /// host cannot do so.
    fn wake_sender(&self) {
        if let Err(error) = self.shop.host.wake(SEND_WEBHOOKS) {
            tracing::debug!(%error, "the sender of webhooks cannot be woken");
        }
    }

    /// Answers a request. A failure becomes the answer that describes it.
    pub async fn handle(&self, mut request: Request) -> Response {
        let pieces = Mutex::new(request.take_stream());
        match self.answer(&request, &pieces).await {
            Ok(response) => response,
            Err(error) => answer::failure(&error, request.id()),
        }
    }

    async fn answer(
        &self,
        request: &Request,
        pieces: &Mutex<Option<Body>>,
    ) -> Result<Response, Error> {
        let endpoint = usize::try_from(request.handler()).ok();
        let endpoint = endpoint
            .and_then(|position| self.routes.get(position))
            .ok_or(Error::Contract("the host asked for a route that was never registered"))?;
        let mut call = Call { pieces: Some(pieces), ..Call::new(&self.shop, request) };
        if let Some(rights) = &endpoint.rights {
            call.permit_any(rights)?;
        }
        let key = self.shop.keys.wait(request).await?;
        call.key = key.as_ref();
        let writes = endpoint.method != Method::Get;
        if writes {
            request::no_listing(request.query())?;
        }
        // An operation commits once, at its end, so it can be repeated as a whole until then. An import repeats its own
        // steps: its body can be read only once.
        let done = if matches!(endpoint.operation, Operation::Import) {
            self.dispatch(endpoint, &call).await
        } else {
            store::retry(|| self.dispatch(endpoint, &call)).await
        };
        let answer = match done {
            Err(Error::Repeated(answer)) => once::replay(*answer),
            done => done,
        }?;
        if writes {
            self.shop.feed.written();
            if endpoint.resource().kind == webhooks::KIND {
                self.wake_sender();
            }
        }
        Ok(answer)
    }

    /// Runs an operation. Each is in a box of its own, because a request would be as large as the largest of
    /// them otherwise, also one that waits.
    fn dispatch<'a>(&self, endpoint: &Endpoint, call: &'a Call<'a>) -> HookFuture<'a, Response> {
        let service = endpoint.service;
        match endpoint.operation {
            Operation::List => Box::pin(crud::list(call, service)),
            Operation::Show => Box::pin(crud::show(call, service)),
            Operation::Create => match service.create {
                Some(special) => special(call),
                None => Box::pin(crud::create(call, service)),
            },
            Operation::Update => Box::pin(crud::update(call, service)),
            Operation::Delete => match service.delete {
                Some(special) => special(call),
                None => Box::pin(crud::delete(call, service)),
            },
            Operation::Nested(nested) => Box::pin(crud::nested(call, service, nested)),
            Operation::Import => Box::pin(imports::import(call, self.services)),
            Operation::Special(special) => (special.run)(call),
        }
    }
}

/// The routes, parameters and permissions of the store, for the host.
pub fn describe() -> Description {
    let routes = routes::endpoints(SERVICES).into_iter().zip(0..).map(|(endpoint, handler)| {
        let pattern = format!("{PREFIX}/{}", endpoint.path);
        let route = Route::new(endpoint.method, pattern, endpoint.name, handler);
        match endpoint.operation {
            Operation::Special(Special { answer: Answer::Changes, .. }) => route.waits(),
            Operation::Special(Special { answer: Answer::Export, .. }) => {
                route.answers_with([table::NDJSON, table::CSV])
            }
            Operation::Import => route.bulk().answers_with([table::NDJSON, MEDIA_TYPE]),
            _ => route,
        }
    });
    // Rules on the store must not apply to its configuration.
    let parent = |kind| if kind == "config" { "root" } else { "com_shop" };
    let asset = |resource: &Resource| {
        let kind = resource.kind;
        let asset = Asset::new(call::asset(kind), parent(kind), resource.title());
        // A token for everything that can be viewed does not include the configuration.
        if kind == "config" { asset.named_only() } else { asset }
    };
    let governed = REGISTRY.iter().filter(|resource| resource.permissions == Permissions::Own);
    Description::new(env!("CARGO_PKG_VERSION"))
        .media_type(MEDIA_TYPE)
        .sample_path(format!("{PREFIX}/manufacturers"))
        .routes(routes)
        .privacy(privacy::declared(REGISTRY).retention(commands::RETAIN))
        .parameters(parameters::declared())
        .commands(commands::declared())
        .panels(panels::declared())
        .detail_panels(panels::details())
        .jobs([SWEEP_KEYS, SWEEP_CHANGES, SWEEP_WEBHOOKS].map(|name| Job::new(name, SWEEP_EVERY)))
        .jobs([Job::new(SEND_WEBHOOKS, SEND_WEBHOOKS_EVERY)])
        .jobs([Job::new(SWEEP_IMPORTS, SWEEP_IMPORTS_EVERY)])
        .jobs([Job::new(RETAIN, RETAIN_EVERY)])
        .events([Event::STOPPING, Event::SWITCHED])
        .actions([
            Action::new("store.view", "View"),
            Action::new("store.create", "Create"),
            Action::new("store.edit", "Edit"),
            Action::new("store.delete", "Delete"),
            Action::new(FULFIL, "Fulfil"),
            Action::new(MAKE_REFUNDS, "Refund"),
            Action::new(privacy::ACTION, "Personal data"),
        ])
        .assets([Asset::new("com_shop", "root", "Store")])
        .assets([Asset::new(privacy::ASSET, "com_shop", "Personal data")])
        .assets(governed.map(asset))
        .grants([
            Grant::new("Manager", "store.view", "com_shop"),
            Grant::new("Manager", "store.create", "com_shop"),
            Grant::new("Manager", "store.edit", "com_shop"),
            Grant::new("Administrator", "store.delete", "com_shop"),
            Grant::new("Administrator", MAKE_REFUNDS, "com_shop.orders"),
            Grant::new("Administrator", privacy::ACTION, privacy::ASSET),
            Grant::new("Administrator", "store.view", "com_shop.config"),
        ])
}

/// The OpenAPI document of the store below this path.
pub fn openapi(base_path: &str) -> serde_json::Value {
    openapi::document(&routes::endpoints(SERVICES), &format!("{base_path}/{PREFIX}"))
}
