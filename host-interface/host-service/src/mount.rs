//! The service: mounts the extensions of a site in an application, as a `tower` service or an `axum`
//! router.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, header};
use axum::{BoxError, Router};
use host_interface::Event;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use tower_service::Service;
use tracing::Instrument;

use crate::access::Access;
use crate::answer::Answering;
use crate::changes::Changes;
use crate::error::Error;
use crate::extension::Extension;
use crate::head::without_body;
use crate::limits::Limits;
use crate::refusal::Refusal;
use crate::request_id::{self, RequestId, RequestIds};
use crate::routing::Routes;
use crate::waiters::Waiters;

/// The extensions of a site, mounted below their base path. Clones are cheap and share everything.
pub struct Mount<A: Access> {
    shared: Arc<Shared<A>>,
}

struct Shared<A: Access> {
    /// Absent where there is no extension, and so no path below it.
    base_path: Option<String>,
    answering: Answering<A>,
    ids: RequestIds,
    /// The reports that the application is about to stop; absent before.
    stopping: OnceLock<Mutex<JoinSet<()>>>,
}

impl<A: Access> Mount<A> {
    /// Mounts extensions, which have been created and are yet to be installed and started.
    ///
    /// # Errors
    /// When the extensions do not fit together, for example because two register the same route.
    pub fn new(
        access: Arc<A>,
        extensions: impl IntoIterator<Item = Extension>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let routes = routes(extensions.into_iter().collect())?;
        let base_path = routes.extensions().first().map(|first| first.base_path().to_owned());
        let changes = Changes::new(limits.changes);
        let waiters = Waiters::new(limits.waiters);
        let answer_limit = limits.answer_limit.to_string();
        let routes = Arc::new(routes);
        let answering = Answering { access, routes, limits, answer_limit, changes, waiters };
        let (ids, stopping) = (RequestIds::new()?, OnceLock::new());
        Ok(Self { shared: Arc::new(Shared { base_path, answering, ids, stopping }) })
    }

    /// Installs the extensions one after the other: each creates what is missing in its database.
    /// Then starts all of them.
    ///
    /// # Errors
    /// When a plugin fails.
    pub async fn install_and_start(&self) -> Result<(), Error> {
        for extension in self.extensions() {
            let installed = extension.plugin().install().await;
            installed.map_err(|source| failed(extension, "install", source))?;
        }
        self.start()
    }

    /// Starts the extensions, which have been installed: requests are about to come.
    ///
    /// # Errors
    /// When a plugin fails.
    pub fn start(&self) -> Result<(), Error> {
        for extension in self.extensions() {
            extension.plugin().start().map_err(|source| failed(extension, "start", source))?;
        }
        Ok(())
    }

    /// A router with all routes, to be merged into that of an application.
    pub fn router<S: Clone + Send + Sync + 'static>(&self) -> Router<S> {
        match &self.shared.base_path {
            Some(base) => Router::new().route_service(&format!("{base}/{{*path}}"), self.clone()),
            None => Router::new(),
        }
    }

    /// Answers a request below the base path, or refuses it with a reason. The service does no more
    /// than this, a request id, the answer to `HEAD` and a span for the log.
    pub async fn answer(&self, id: &RequestId, request: Request<Body>) -> Response<Body> {
        let uri = request.uri().clone();
        let Some(path) = self.below(uri.path()) else { return Refusal::NotFound.response(id) };
        let mut response = self.shared.answering.answer(id, path, request).await;
        let depends = HeaderValue::from_static("Accept, Authorization");
        response.headers_mut().append(header::VARY, depends);
        response
    }

    /// The part of a path below the base path.
    pub fn below<'path>(&self, path: &'path str) -> Option<&'path str> {
        path.strip_prefix(self.shared.base_path.as_deref()?)?.strip_prefix('/')
    }

    /// The mounted extensions.
    pub fn extensions(&self) -> &[Extension] {
        self.shared.answering.routes.extensions()
    }

    /// The site's side.
    pub fn access(&self) -> &Arc<A> {
        &self.shared.answering.access
    }

    /// The limits of requests.
    pub fn limits(&self) -> &Limits {
        &self.shared.answering.limits
    }

    /// The changes in progress.
    pub fn changes(&self) -> &Changes {
        &self.shared.answering.changes
    }

    /// Grants no more waits, and reports [`Event::Stopping`] to the extensions, without waiting for them. An
    /// application calls it in its runtime when it begins to stop, before it waits for requests in
    /// progress: an extension may then answer the requests that it lets wait. Further calls do nothing.
    pub fn stopping(&self) {
        self.reports_of_stop();
    }

    /// Grants no more waits: from now on every request is answered at once. This is for an application that
    /// reports [`Event::Stopping`] by itself; [`Mount::stopping`] does it too.
    pub fn grant_no_waits(&self) {
        self.shared.answering.waiters.close();
    }

    /// The same after a signal, for `with_graceful_shutdown` of an `axum` server.
    pub fn stopping_after<F>(&self, signal: F) -> impl Future<Output = ()> + Send + use<A, F>
    where
        F: Future + Send,
    {
        let mount = self.clone();
        async move {
            drop(signal.await);
            mount.stopping();
        }
    }

    /// Ends the extensions, after the application has stopped to accept requests and has answered those
    /// in progress: reports [`Event::Stopping`] unless [`Mount::stopping`] has done so, waits for changes
    /// in progress, at most half of the time, and lets the plugins finish in the rest of it.
    pub async fn shut_down(&self, time: Duration) {
        let begun = Instant::now();
        let (half, end) = (begun + time / 2, begun + time);
        let mut reports = {
            let mut reports = self.reports_of_stop().lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *reports)
        };
        self.changes().finish(half, half).await;
        let reported = async { while reports.join_next().await.is_some() {} };
        if timeout_at(half, reported).await.is_err() {
            tracing::warn!("extensions did not deal with the stop before the end");
        }
        Extension::shut_down(self.extensions().iter().cloned(), end).await;
    }

    /// The reports of the stop, which begin with the first call.
    fn reports_of_stop(&self) -> &Mutex<JoinSet<()>> {
        self.shared.stopping.get_or_init(|| {
            self.grant_no_waits();
            let mut reports = JoinSet::new();
            for extension in self.extensions() {
                let extension = extension.clone();
                reports.spawn(async move { extension.report(&Event::Stopping).await });
            }
            Mutex::new(reports)
        })
    }
}

impl<A: Access> Clone for Mount<A> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<A: Access> std::fmt::Debug for Mount<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mount").field("base_path", &self.shared.base_path).finish_non_exhaustive()
    }
}

impl<A, B> Service<Request<B>> for Mount<A>
where
    A: Access,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    /// Answers a request. Its id is the [`RequestId`] among its extensions, or a new one.
    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mount = self.clone();
        let known = request.extensions().get::<RequestId>().cloned();
        let id = known.unwrap_or_else(|| mount.shared.ids.of(request.headers(), false));
        let span = tracing::info_span!("request", request_id = id.as_str());
        let answer = async move {
            let head = request.method() == Method::HEAD;
            let mut response = mount.answer(&id, request.map(Body::new)).await;
            if head {
                without_body(&mut response);
            }
            let name = HeaderName::from_static(request_id::HEADER);
            response.headers_mut().insert(name, id.header());
            Ok(response)
        };
        Box::pin(answer.instrument(span))
    }
}

/// Checks whether extensions fit together, before they are installed.
///
/// # Errors
/// When they do not.
pub fn check_together(extensions: Vec<Extension>) -> Result<(), Error> {
    routes(extensions).map(drop)
}

fn routes(extensions: Vec<Extension>) -> Result<Routes, Error> {
    Extension::check(&extensions)?;
    Routes::new(extensions)
}

fn failed(extension: &Extension, step: &'static str, source: host_interface::Error) -> Error {
    Error::Plugin { extension: extension.name().to_owned(), step, source }
}
