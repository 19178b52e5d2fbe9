//! The routes of a plugin, each with the function that answers it. The table gives each route its key, and
//! finds the function by it. It is on the plugin's side alone: a host sees ordinary routes.

use std::future::Future;
use std::sync::Arc;

use crate::future::{RawFuture, begin};
use crate::request::Request;
use crate::response::Response;
use crate::route::{Method, Route};

/// The routes of a plugin of type `P`, for [`Plugin::routes`](crate::Plugin::routes). What answers a request
/// is an `async fn` of the plugin or a closure.
///
/// ```
/// use std::sync::Arc;
///
/// use host_interface::{Request, Response, Routes};
///
/// struct Articles;
///
/// impl Articles {
///     async fn list(self: Arc<Self>, _request: Request) -> Response {
///         Response::new(200).with_body("all of them")
///     }
///
///     async fn show(self: Arc<Self>, request: Request) -> Response {
///         match request.param("id") {
///             Some(id) => Response::new(200).with_body(format!("article {id}")),
///             None => Response::new(404),
///         }
///     }
/// }
///
/// let routes: Routes<Articles> = Routes::new()
///     .get("v1/articles", "articles.list", Articles::list)
///     .public()
///     .get("v1/articles/{id:digits}", "articles.show", Articles::show);
/// ```
pub struct Routes<P> {
    entries: Vec<Entry<P>>,
}

struct Entry<P> {
    route: Route,
    /// That of the route, from which a request knows the names of its parameters.
    pattern: &'static str,
    handler: Handler<P>,
}

type Handler<P> = Box<dyn Fn(Arc<P>, Request) -> RawFuture<Response> + Send + Sync>;

/// The key of the first route of a table. Those that a plugin chooses itself are below it.
const FIRST: u32 = 1 << 31;

impl<P: Send + Sync + 'static> Routes<P> {
    /// No routes.
    pub fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds a route that reads. The host answers `HEAD` from it too.
    pub fn get<F, A>(self, pattern: &'static str, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arc<P>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Response> + Send + 'static,
    {
        self.on(Method::Get, pattern, name, handler)
    }

    /// Adds a route that creates, or does anything that no other method expresses.
    pub fn post<F, A>(self, pattern: &'static str, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arc<P>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Response> + Send + 'static,
    {
        self.on(Method::Post, pattern, name, handler)
    }

    /// Adds a route that replaces.
    pub fn put<F, A>(self, pattern: &'static str, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arc<P>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Response> + Send + 'static,
    {
        self.on(Method::Put, pattern, name, handler)
    }

    /// Adds a route that changes in part.
    pub fn patch<F, A>(self, pattern: &'static str, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arc<P>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Response> + Send + 'static,
    {
        self.on(Method::Patch, pattern, name, handler)
    }

    /// Adds a route that removes.
    pub fn delete<F, A>(self, pattern: &'static str, name: impl Into<String>, handler: F) -> Self
    where
        F: Fn(Arc<P>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Response> + Send + 'static,
    {
        self.on(Method::Delete, pattern, name, handler)
    }

    /// Adds a route of this method, with a [pattern](crate::Pattern), and the name that logs, metrics and
    /// documentation use.
    pub fn on<F, A>(
        mut self,
        method: Method,
        pattern: &'static str,
        name: impl Into<String>,
        handler: F,
    ) -> Self
    where
        F: Fn(Arc<P>, Request) -> A + Send + Sync + 'static,
        A: Future<Output = Response> + Send + 'static,
    {
        let key =
            u32::try_from(self.entries.len()).map_or(u32::MAX, |nth| FIRST.saturating_add(nth));
        let route = Route::new(method, pattern, name, key);
        let handler: Handler<P> = Box::new(move |plugin, request| {
            begin(|| {
                let answer = handler(plugin, request);
                async move { Ok(answer.await) }
            })
        });
        self.entries.push(Entry { route, pattern, handler });
        self
    }

    /// Makes the route that was added last [public](Route::public).
    pub fn public(self) -> Self {
        self.last(Route::public)
    }

    /// Has the route that was added last [take streams](Route::streams).
    pub fn streams(self) -> Self {
        self.last(Route::streams)
    }

    /// Has the route that was added last [wait](Route::waits).
    pub fn waits(self) -> Self {
        self.last(Route::waits)
    }

    /// The routes as a host registers them.
    pub(crate) fn described(&self) -> impl Iterator<Item = Route> {
        self.entries.iter().map(|entry| entry.route.clone())
    }

    /// Begins to answer a request to one of the routes, and gives back one to any other route.
    pub(crate) fn begin(
        &self,
        plugin: &Arc<P>,
        request: Request,
    ) -> Result<RawFuture<Response>, Request> {
        // Most plugins have all of their routes in one place, so without a table nothing is looked up.
        if self.entries.is_empty() {
            return Err(request);
        }
        let nth = request.handler().checked_sub(FIRST).and_then(|nth| usize::try_from(nth).ok());
        match nth.and_then(|nth| self.entries.get(nth)) {
            Some(entry) => {
                let request = request.with_pattern(entry.pattern);
                Ok((entry.handler)(Arc::clone(plugin), request))
            }
            None => Err(request),
        }
    }

    fn last(mut self, change: impl FnOnce(Route) -> Route) -> Self {
        if let Some(Entry { route, pattern, handler }) = self.entries.pop() {
            self.entries.push(Entry { route: change(route), pattern, handler });
        }
        self
    }
}

impl<P: Send + Sync + 'static> Default for Routes<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P> std::fmt::Debug for Routes<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| &entry.route)).finish()
    }
}
