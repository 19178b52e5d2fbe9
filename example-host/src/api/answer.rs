//! From a request to its answer: the order of the checks, the call of the plugin, and its response
//! as HTTP. A plugin that fails, panics or never answers costs this one request. A request
//! that changes something is never given up: it runs to its end and is recorded, whether or not
//! its client waits for it. Knows no connection and no page.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Request as HttpRequest, Response as HttpResponse,
    StatusCode, header,
};
use bytes::Bytes;
use futures_util::TryStreamExt;
use host_interface::{Headers, Request, Response};
use tokio::time::{Instant, timeout_at};

use crate::base::secret::SecretHash;
use crate::site::BASE_PATH;
use crate::watch::audit::{Origin, Record};

use super::body;
use super::changes::Changes;
use super::gate::{self, Admitted, Gate};
use super::handled::Handled;
use super::notes::{self, Asked, Begun, Notes};
use super::problem::Refusal;
use super::request_id::RequestId;
use super::revalidation::Known;
use crate::extensions::routing::Route;

/// What answers requests to plugins, wherever they come from.
pub(crate) struct Api {
    pub(crate) gate: Gate,
    pub(crate) notes: Notes,
    /// The changes that plugins are making.
    pub(crate) changes: Changes,
    /// How long a request may take, its body included.
    pub(crate) request_timeout: Duration,
    /// How long a body may stand still.
    pub(crate) stall_time: Duration,
    /// How many bytes a body may have.
    pub(crate) body_limit: usize,
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
        session: SecretHash,
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

    /// Answers a request to a plugin, or gives the reason why not. The path begins after the entry
    /// point.
    pub(crate) async fn answer(
        &self,
        asker: Asker,
        id: &RequestId,
        path: &str,
        request: HttpRequest<Body>,
    ) -> HttpResponse<Body> {
        let mut handled = Handled::default();
        let (mut by, mut record) = (None, Record::default());
        let (parts, mut body) = request.into_parts();
        let (method, uri, headers) = (parts.method, parts.uri, parts.headers);
        // A client that sends `Expect` keeps its body until it is asked for it.
        let mut wanted = !headers.contains_key(header::EXPECT);
        let deadline = Instant::now() + self.request_timeout;
        let ready = async {
            let (route, matched) = self.gate.route(path, &method)?;
            handled.route = Arc::clone(&route.name);
            let media_type = &route.extension.media_type;
            if !media_type.is_empty() && !gate::accepts(&headers, media_type) {
                return Err(Refusal::NotAcceptable { media_type: media_type.clone() });
            }
            let mut call = Request::builder(route.handler, route.method)
                .path(uri.path())
                .query(uri.query().unwrap_or_default())
                .id(id.as_str());
            for value in matched.params() {
                call = call.param(value);
            }
            if notes::changes(&method) {
                record = matched.record(&route);
            }
            // On a public route, credentials count if they are sent.
            if !route.public || asker.is_named(&headers) {
                let admitted = timeout_at(deadline, self.admit(&asker, &headers))
                    .await
                    .map_err(|_| Refusal::Timeout)??;
                handled.user = admitted.identity.user.id;
                call = call.caller(by.insert(admitted).identity.caller.clone());
            }
            if body::is_too_large(&headers, self.body_limit) {
                return Err(Refusal::BodyTooLarge { limit: self.body_limit });
            }
            wanted = true;
            let read =
                timeout_at(deadline, body::read(&mut body, self.body_limit, self.stall_time))
                    .await
                    .map_err(|_| Refusal::BodyTooSlow)??;
            let known = Known::of(&method, &headers);
            Ok((route, call.body(read).headers(Sent(headers)).build(), known))
        };
        let ready = ready.await;
        let origin = asker.origin();
        let route = Arc::clone(&handled.route);
        let asked = Asked { origin, id: id.clone(), method, uri, route, by, record };
        let mut response = match ready {
            Ok((route, call, _)) if notes::changes(&asked.method) => {
                self.change(asked, route, call, deadline).await
            }
            Ok((route, call, known)) => {
                let read = timeout_at(deadline, call_plugin(&route, call, &known)).await;
                let read = read.unwrap_or_else(|_| Err(gave_up(&route)));
                let response = read.unwrap_or_else(|refusal| refusal.response(id));
                asked.note(&self.notes, response).await
            }
            Err(refusal) => {
                // One that comes too slowly, or has broken off, is not waited for again.
                let hopeless = matches!(refusal, Refusal::BodyTooSlow | Refusal::BodyIncomplete);
                if wanted && !hopeless {
                    body::discard(body).await;
                }
                asked.note(&self.notes, refusal.response(id)).await
            }
        };
        response.extensions_mut().insert(handled);
        response
    }

    /// Has a plugin change something. That goes on to its end, and is noted then as what it has
    /// become, also when the client has gone or has been told that it took too long.
    async fn change(
        &self,
        asked: Asked,
        route: Route,
        call: Request,
        deadline: Instant,
    ) -> HttpResponse<Body> {
        let id = asked.id.clone();
        let Ok(Some(place)) = timeout_at(deadline, self.changes.place()).await else {
            tracing::warn!("too many changes are in progress to begin another");
            return Refusal::Unavailable.response(&id);
        };
        let begun = Begun::new(self.notes.clone(), asked);
        let (called, own) = (route.clone(), id.clone());
        let changing = self.changes.run(place, async move {
            match call_plugin(&called, call, &Known::default()).await {
                Ok(response) => begun.end(response).await,
                // It is not known how far it came, which is noted when `begun` is dropped.
                Err(refusal) => refusal.response(&own),
            }
        });
        match timeout_at(deadline, changing).await {
            Ok(Ok(Some(response))) => response,
            Ok(Ok(None)) => Refusal::Unavailable.response(&id),
            Ok(Err(error)) => {
                tracing::error!(%error, "a change was interrupted");
                Refusal::Internal.response(&id)
            }
            Err(_) => gave_up(&route).response(&id),
        }
    }

    /// Who sends the request, if they have access.
    async fn admit(&self, asker: &Asker, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        match asker {
            Asker::Credentials => self.gate.authenticate(headers).await,
            Asker::SignedIn { user, session } => self.gate.signed_in(*user, *session).await,
        }
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// How it is known who sends a request.
pub(crate) enum Asker {
    /// By the credentials in its headers.
    Credentials,
    /// This user has signed in, by the session that this is kept of.
    SignedIn { user: i64, session: SecretHash },
}

impl Asker {
    /// Whether a request with these headers names who sends it.
    fn is_named(&self, headers: &HeaderMap) -> bool {
        match self {
            Asker::Credentials => headers.contains_key(header::AUTHORIZATION),
            Asker::SignedIn { .. } => true,
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Asker::Credentials => Origin::Api,
            Asker::SignedIn { .. } => Origin::Administration,
        }
    }
}

/// What follows the entry point in a path.
pub(crate) fn below_base(path: &str) -> Option<&str> {
    path.strip_prefix(BASE_PATH)?.strip_prefix('/')
}

async fn call_plugin(
    route: &Route,
    call: Request,
    known: &Known,
) -> Result<HttpResponse<Body>, Refusal> {
    let extension = &route.extension;
    match extension.plugin.handle(call).await {
        Ok(response) => {
            let tag = known.tag(response.status(), response.body());
            let mut response = http_response(response).inspect_err(|_| {
                tracing::error!(extension = extension.name, "answered with an invalid HTTP status");
            })?;
            if let Some(tag) = tag {
                known.settle(tag, &mut response);
            }
            Ok(response)
        }
        Err(error) => {
            tracing::error!(extension = extension.name, route = &*route.name, %error, "failed");
            Err(Refusal::Internal)
        }
    }
}

/// The answer to a client that has waited long enough.
fn gave_up(route: &Route) -> Refusal {
    let extension = &route.extension.name;
    tracing::error!(extension, route = &*route.name, "took too long");
    Refusal::Timeout
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
            _ => tracing::warn!(header = sent.name(), "answered with an invalid HTTP header"),
        }
    }
    let body = match response.into_body() {
        Ok(whole) if whole.is_empty() => Body::empty(),
        Ok(whole) => Body::from(Bytes::from_owner(whole)),
        Err(pieces) => Body::from_stream(pieces.map_ok(Bytes::from_owner)),
    };
    let mut response = HttpResponse::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// The headers of a request, as the plugin asks for them.
struct Sent(HeaderMap);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(nth).map(HeaderValue::as_bytes)
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        self.0.iter().nth(nth).map(|(name, value)| (name.as_str(), value.as_bytes()))
    }
}
