//! From a request to its answer: the order of the checks, the call of the plugin, and its response
//! as HTTP. A plugin that fails, panics or never answers costs this one request.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension as FromRequest, State};
use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Method as HttpMethod, Request as HttpRequest,
    Response as HttpResponse, StatusCode, header,
};
use bytes::Bytes;
use host_interface::{Headers, Request, Response};
use tokio::time::{Instant, timeout_at};

use crate::audit::{Audit, Record};
use crate::site::{BASE_PATH, Site};
use crate::tokens::{TokenHash, Usage};

use super::access_log::Seen;
use super::checks::Admitted;
use super::notes::{self, Asked};
use super::problem::Refusal;
use super::request_id::RequestId;
use super::revalidation::Known;
use super::routing::{self, Matched, Route, Routes};
use super::{Server, body, checks, health, pages};

/// Where the state of the site is asked for.
const HEALTH_PATH: &str = "/health";

/// What answers requests to plugins, wherever they come from.
pub(crate) struct Api {
    pub(super) site: Site,
    pub(super) routes: Routes,
    pub(super) usage: Arc<Usage>,
    pub(super) audit: Arc<Audit>,
    /// How long a request may take, its body included.
    pub(super) request_timeout: Duration,
    /// How many bytes a body may have.
    pub(super) body_limit: usize,
}

impl Api {
    /// Answers a request that a page of this site sends for whoever has signed in to it. It is
    /// asked everything that a request from outside is asked, but for a token: how it must be
    /// made, whether the extension is in use, what the user may do, how long it takes and how
    /// large it is. The address begins with the entry point; `session` is what is kept of the
    /// session, and `id` what the log calls the request to the page.
    pub(crate) async fn ask(
        &self,
        user: i64,
        session: TokenHash,
        id: &str,
        request: HttpRequest<Vec<u8>>,
    ) -> HttpResponse<Body> {
        let id = RequestId::known(id);
        let uri = request.uri().clone();
        match below_base(uri.path()) {
            Some(path) => {
                let asker = Asker::SignedIn { user, session };
                self.answer(asker, &id, path, request.map(Body::from)).await
            }
            None => Refusal::NotFound.response(&id),
        }
    }

    /// Answers a request to a plugin, or says why not.
    async fn answer(
        &self,
        asker: Asker,
        id: &RequestId,
        path: &str,
        request: HttpRequest<Body>,
    ) -> HttpResponse<Body> {
        let mut seen = Seen::default();
        let (mut by, mut record) = (None, Record::default());
        let (parts, mut body) = request.into_parts();
        // A client that sends `Expect` keeps its body until it is asked for it.
        let mut wanted = !parts.headers.contains_key(header::EXPECT);
        let deadline = Instant::now() + self.request_timeout;
        let answered = async {
            let (route, matched) = self.route(path, &parts.method)?;
            seen.route = Arc::clone(&route.name);
            let media_type = &route.extension.media_type;
            if !media_type.is_empty() && !checks::accepts(&parts.headers, media_type) {
                return Err(Refusal::NotAcceptable { media_type: media_type.clone() });
            }
            let mut call = Request::builder(route.handler, route.method)
                .path(parts.uri.path())
                .query(parts.uri.query().unwrap_or_default())
                .id(id.as_str());
            for value in matched.params() {
                call = call.param(value);
            }
            if notes::changes(&parts.method) {
                record = matched.record(&route);
            }
            if !route.public {
                let admitted = timeout_at(deadline, self.admit(&asker, &parts.headers))
                    .await
                    .map_err(|_| Refusal::Timeout)??;
                seen.user = admitted.user.id();
                call = call.user(by.insert(admitted).user.clone());
            }
            if body::is_too_large(&parts.headers, self.body_limit) {
                return Err(Refusal::BodyTooLarge { limit: self.body_limit });
            }
            wanted = true;
            let read = timeout_at(deadline, body::read(&mut body, self.body_limit))
                .await
                .map_err(|_| Refusal::BodyTooSlow)??;
            let known = Known::of(&parts.method, &parts.headers);
            let call = call.body(read).headers(Sent(parts.headers)).build();
            call_plugin(&route, call, &known, deadline).await
        };
        let answered = answered.await;
        let mut response = match answered {
            Ok(response) => response,
            Err(refusal) => {
                // One that comes too slowly, or has broken off, is not waited for again.
                let hopeless = matches!(refusal, Refusal::BodyTooSlow | Refusal::BodyIncomplete);
                if wanted && !hopeless {
                    body::discard(body).await;
                }
                refusal.response(id)
            }
        };
        let asked = Asked {
            asker: &asker,
            id,
            method: &parts.method,
            uri: &parts.uri,
            route: &seen.route,
            by: by.as_ref(),
            record,
        };
        response = asked.note(self, response).await;
        response.extensions_mut().insert(seen);
        response
    }

    /// The route that answers, if the path has one, in use, for this method.
    fn route<'routes, 'path>(
        &'routes self,
        path: &'path str,
        method: &HttpMethod,
    ) -> Result<(Route, Matched<'routes, 'path>), Refusal> {
        let matched = self.routes.at(path).ok_or(Refusal::NotFound)?;
        let state = self.site.state();
        if !state.is_trusted() {
            return Err(Refusal::Unavailable);
        }
        let snapshot = state.snapshot();
        let routes = matched.enabled(|extension| snapshot.enabled(extension));
        if routes.is_empty() {
            return Err(Refusal::NotFound);
        }
        let wanted = routing::method(method);
        let found = routes.iter().find(|route| Some(route.method) == wanted);
        match found.map(|route| (*route).clone()) {
            Some(route) => Ok((route, matched)),
            None => Err(Refusal::MethodNotAllowed { allow: routing::allow(&routes) }),
        }
    }

    /// Who asks, if they may come in.
    async fn admit(&self, asker: &Asker, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        match asker {
            Asker::Credentials => checks::authenticate(self, headers).await,
            Asker::SignedIn { user, session } => checks::signed_in(self, *user, *session).await,
        }
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// How it is known who sends a request.
pub(super) enum Asker {
    /// By the credentials in its headers.
    Credentials,
    /// This user has signed in, by the session that this is kept of.
    SignedIn { user: i64, session: TokenHash },
}

/// Answers any request.
pub(super) async fn answer(
    State(server): State<Arc<Server>>,
    FromRequest(id): FromRequest<RequestId>,
    request: HttpRequest<Body>,
) -> HttpResponse<Body> {
    let head = request.method() == HttpMethod::HEAD;
    let uri = request.uri().clone();
    let mut response = match below_base(uri.path()) {
        Some(path) => {
            let mut response = server.api.answer(Asker::Credentials, &id, path, request).await;
            response
                .headers_mut()
                .insert(header::VARY, HeaderValue::from_static("Accept, Authorization"));
            response
        }
        None if pages::is_one(uri.path()) => pages::answer(&server, &id, request).await,
        None if uri.path() == HEALTH_PATH => match *request.method() {
            HttpMethod::GET | HttpMethod::HEAD => {
                let mut response = health::answer(&server.api.site).await;
                let seen = Seen { route: "health".into(), ..Seen::default() };
                response.extensions_mut().insert(seen);
                response
            }
            _ => Refusal::MethodNotAllowed { allow: "GET, HEAD".to_owned() }.response(&id),
        },
        None => Refusal::NotFound.response(&id),
    };
    if head {
        without_body(&mut response);
    }
    response
}

/// Whether a path is one of the API.
pub(super) fn is_one(path: &str) -> bool {
    below_base(path).is_some()
}

/// What follows the entry point in a path.
fn below_base(path: &str) -> Option<&str> {
    path.strip_prefix(BASE_PATH)?.strip_prefix('/')
}

async fn call_plugin(
    route: &Route,
    call: Request,
    known: &Known,
    deadline: Instant,
) -> Result<HttpResponse<Body>, Refusal> {
    let extension = &route.extension;
    match timeout_at(deadline, extension.plugin.handle(call)).await {
        Ok(Ok(response)) => {
            let tag = known.tag(response.status(), response.body());
            let mut response = http_response(response).inspect_err(|_| {
                tracing::error!(extension = extension.name, "answered with no status of HTTP");
            })?;
            if let Some(tag) = tag {
                known.settle(tag, &mut response);
            }
            Ok(response)
        }
        Ok(Err(error)) => {
            tracing::error!(extension = extension.name, route = &*route.name, %error, "failed");
            Err(Refusal::Internal)
        }
        Err(_) => {
            tracing::error!(extension = extension.name, route = &*route.name, "took too long");
            Err(Refusal::Timeout)
        }
    }
}

/// A plugin's response as HTTP. The body stays where the plugin put it.
fn http_response(response: Response) -> Result<HttpResponse<Body>, Refusal> {
    let status = StatusCode::from_u16(response.status())
        .ok()
        .filter(|status| !status.is_informational())
        .ok_or(Refusal::Internal)?;
    let mut headers = HeaderMap::with_capacity(response.headers().len() + 4);
    for sent in response.headers() {
        let name = HeaderName::from_bytes(sent.name().as_bytes());
        let value = HeaderValue::from_str(sent.value());
        match (name, value) {
            // How the message is framed is between the server and the client.
            (Ok(header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONNECTION), _) => {}
            (Ok(name), Ok(value)) => {
                headers.append(name, value);
            }
            _ => tracing::warn!(header = sent.name(), "a header that HTTP does not permit"),
        }
    }
    let body = response.into_body();
    let body =
        if body.as_ref().is_empty() { Body::empty() } else { Body::from(Bytes::from_owner(body)) };
    let mut response = HttpResponse::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// Takes the body away and leaves its length.
fn without_body(response: &mut HttpResponse<Body>) {
    use axum::body::HttpBody;
    if let Some(length) = response.body().size_hint().exact()
        && response.status() != StatusCode::NO_CONTENT
        && response.status() != StatusCode::NOT_MODIFIED
    {
        response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
    *response.body_mut() = Body::empty();
}

/// The headers of a request, as the plugin asks for them.
struct Sent(HeaderMap);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(nth).map(HeaderValue::as_bytes)
    }
}
