//! From a request to its answer: the order of the checks, the call of the plugin, and its response
//! as HTTP. A plugin that fails, panics or never answers affects only this request. A request that
//! changes something is never cancelled: it runs to its end and is recorded, even if its client
//! disconnects.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Request as HttpRequest, Response as HttpResponse,
    StatusCode, header,
};
use bytes::Bytes;
use host_interface::{Headers, Request, Response, fact};
use tokio::time::{Instant, timeout_at};

use crate::base::secret::SecretHash;
use crate::site::BASE_PATH;
use crate::watch::audit::{Origin, Record};

use super::body;
use super::changes::Changes;
use super::gate::{self, Admitted, Gate};
use super::handled::Handled;
use super::notes::{self, ApiRequest, Begun, Notes};
use super::pieces::{Arrival, Arriving, Limits, Produced, Streamed};
use super::problem::Refusal;
use super::request_id::RequestId;
use super::revalidation::Conditional;
use crate::extensions::routing::Route;

/// Answers requests to plugins, from clients and from the administration.
pub(crate) struct Api {
    pub(crate) gate: Gate,
    pub(crate) notes: Notes,
    /// The changes in progress.
    pub(crate) changes: Changes,
    /// How long a request may take, its body included.
    pub(crate) request_timeout: Duration,
    /// How long a client may pause while it sends a body.
    pub(crate) stall_time: Duration,
    /// The maximum size of a body in bytes.
    pub(crate) body_limit: usize,
    /// The size above which a body is passed on in pieces, where the route takes it so.
    pub(crate) stream_above: usize,
}

impl Api {
    /// Answers a request that a page of the administration sends on behalf of its user. It passes
    /// the same checks as any other request, except that it needs no token. The address begins with
    /// the entry point; `session` is the hash of the session's secret, and `id` the id of the
    /// request to the page.
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
                let caller = Caller::SignedIn { user, session };
                self.answer(caller, &id, path, request.map(Body::from)).await
            }
            None => Refusal::NotFound.response(&id),
        }
    }

    /// Answers a request to a plugin, or refuses it with a reason. The path is relative to the
    /// entry point.
    pub(crate) async fn answer(
        &self,
        caller: Caller,
        id: &RequestId,
        path: &str,
        request: HttpRequest<Body>,
    ) -> HttpResponse<Body> {
        let mut handled = Handled::default();
        let (mut by, mut record) = (None, Record::default());
        let (parts, mut body) = request.into_parts();
        let (method, uri, headers) = (parts.method, parts.uri, parts.headers);
        let client = parts.extensions.get::<ClientAddress>().copied();
        // A client that sends `Expect` does not send its body before it is asked to.
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
            if let Some(ClientAddress(address)) = client {
                call = call.fact(fact::CLIENT_ADDRESS, address.to_string());
            }
            if let Some(parent) = trace_parent(&headers) {
                call = call.fact(fact::TRACE_PARENT, parent);
            }
            if notes::changes(&method) {
                record = matched.record(&route);
            }
            // On a public route, credentials are checked only if they are sent.
            if !route.public || caller.is_identified(&headers) {
                let admitted = timeout_at(deadline, self.admit(&caller, &headers))
                    .await
                    .map_err(|_| Refusal::Timeout)??;
                handled.user = admitted.identity.user.id;
                call = call.caller(by.insert(admitted).identity.caller.clone());
            }
            if body::is_too_large(&headers, self.body_limit) {
                return Err(Refusal::BodyTooLarge { limit: self.body_limit });
            }
            wanted = true;
            let enough = if route.streams { self.stream_above } else { usize::MAX };
            let read = body::read_until(&mut body, enough, self.body_limit, self.stall_time);
            let (read, ended) =
                timeout_at(deadline, read).await.map_err(|_| Refusal::BodyTooSlow)??;
            let mut arrival = None;
            call = if ended {
                call.body(read)
            } else {
                let limits = Limits { size: self.body_limit, stall: self.stall_time, deadline };
                let rest = std::mem::take(&mut body);
                let (pieces, seen) = Arriving::pieces(read, rest, limits, body::length(&headers));
                arrival = Some(seen);
                call.stream(pieces)
            };
            let conditional = Conditional::of(&method, &headers);
            let request = call.headers(Sent(headers)).build();
            Ok(Call { route, request, conditional, arrival, stall_time: self.stall_time })
        };
        let ready = ready.await;
        let origin = caller.origin();
        let route = Arc::clone(&handled.route);
        let asked = ApiRequest { origin, id: id.clone(), method, uri, route, by, record };
        let mut response = match ready {
            Ok(call) if notes::changes(&asked.method) => self.change(asked, call, deadline).await,
            Ok(call) => {
                let route = call.route.clone();
                let read = timeout_at(deadline, call.answer()).await;
                let read = read.unwrap_or_else(|_| Err(timed_out(&route)));
                let response = read.unwrap_or_else(|refusal| refusal.response(id));
                asked.note(&self.notes, response).await
            }
            Err(refusal) => {
                // A body that is too slow or incomplete is not read again.
                let unreadable = matches!(refusal, Refusal::BodyTooSlow | Refusal::BodyIncomplete);
                if wanted && !unreadable {
                    body::discard(body).await;
                }
                asked.note(&self.notes, refusal.response(id)).await
            }
        };
        response.extensions_mut().insert(handled);
        response
    }

    /// Calls a plugin for a change. The call runs to its end and its outcome is recorded, even if
    /// the client disconnects or gets a timeout.
    async fn change(&self, asked: ApiRequest, call: Call, deadline: Instant) -> HttpResponse<Body> {
        let id = asked.id.clone();
        let Ok(Some(slot)) = timeout_at(deadline, self.changes.slot()).await else {
            tracing::warn!("too many changes are in progress to begin another");
            return Refusal::Unavailable.response(&id);
        };
        let begun = Begun::new(self.notes.clone(), asked);
        let (route, own) = (call.route.clone(), id.clone());
        let changing = self.changes.run(slot, async move {
            match call.answer().await {
                Ok(response) => begun.end(response).await,
                // The plugin has refused it as well.
                Err(refusal) if refusal.is_of_body() => begun.end(refusal.response(&own)).await,
                // The outcome is unknown, which is recorded when `begun` is dropped.
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
            Err(_) => timed_out(&route).response(&id),
        }
    }

    /// The user who sends the request, if the user has access.
    async fn admit(&self, caller: &Caller, headers: &HeaderMap) -> Result<Admitted, Refusal> {
        match caller {
            Caller::Credentials => self.gate.authenticate(headers).await,
            Caller::SignedIn { user, session } => self.gate.signed_in(*user, *session).await,
        }
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// How the user of a request is identified.
pub(crate) enum Caller {
    /// By the credentials in its headers.
    Credentials,
    /// By a session of the administration, given by the hash of its secret.
    SignedIn { user: i64, session: SecretHash },
}

impl Caller {
    /// Whether a request with these headers identifies a user.
    fn is_identified(&self, headers: &HeaderMap) -> bool {
        match self {
            Caller::Credentials => headers.contains_key(header::AUTHORIZATION),
            Caller::SignedIn { .. } => true,
        }
    }

    fn origin(&self) -> Origin {
        match self {
            Caller::Credentials => Origin::Api,
            Caller::SignedIn { .. } => Origin::Administration,
        }
    }
}

/// The address of the client, stored in the extensions of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientAddress(pub(crate) IpAddr);

/// The part of a path below the entry point.
pub(crate) fn below_base(path: &str) -> Option<&str> {
    path.strip_prefix(BASE_PATH)?.strip_prefix('/')
}

/// A request that is ready for its plugin.
struct Call {
    route: Route,
    request: Request,
    conditional: Conditional,
    /// What is seen of a body that arrives in pieces.
    arrival: Option<Arc<Arrival>>,
    stall_time: Duration,
}

impl Call {
    /// Calls the plugin. If it refuses a body that broke off, the answer is the host's refusal.
    async fn answer(self) -> Result<HttpResponse<Body>, Refusal> {
        let Route { extension, name: route, .. } = &self.route;
        let response = extension.plugin.handle(self.request).await.map_err(|error| {
            let (extension, route) = (&extension.name, &**route);
            tracing::error!(extension, route, %error, "an extension failed");
            Refusal::Internal
        })?;
        let mut head = head(&response).inspect_err(|_| {
            tracing::error!(
                extension = extension.name,
                "an extension answered with an invalid HTTP status"
            );
        })?;
        if let Some(arrival) = self.arrival {
            arrival.answered();
            if let Some(refusal) = arrival.broken()
                && !head.status().is_success()
            {
                return Err(refusal.clone());
            }
        }
        match response.into_body() {
            Ok(whole) => {
                let tag = self.conditional.tag(head.status().as_u16(), &whole);
                if !whole.is_empty() {
                    *head.body_mut() = Body::from(Bytes::from_owner(whole));
                }
                if let Some(tag) = tag {
                    self.conditional.apply(tag, &mut head);
                }
            }
            Err(pieces) => {
                let produced = Produced::new(pieces, self.stall_time, &extension.name, route);
                *head.body_mut() = Body::new(produced);
                head.extensions_mut().insert(Streamed);
            }
        }
        Ok(head)
    }
}

/// The answer to a client whose request took too long.
fn timed_out(route: &Route) -> Refusal {
    let extension = &route.extension.name;
    tracing::error!(extension, route = &*route.name, "an extension took too long");
    Refusal::Timeout
}

/// The status and the headers of a plugin's response as HTTP.
fn head(response: &Response) -> Result<HttpResponse<Body>, Refusal> {
    let status = StatusCode::from_u16(response.status())
        .ok()
        .filter(|status| !status.is_informational())
        .ok_or(Refusal::Internal)?;
    let mut headers = HeaderMap::with_capacity(response.headers().len() + 4);
    for sent in response.headers() {
        let name = HeaderName::from_bytes(sent.name().as_bytes());
        let value = HeaderValue::from_str(sent.value());
        match (name, value) {
            // The server sets the headers that frame the message itself.
            (Ok(header::CONTENT_LENGTH | header::TRANSFER_ENCODING | header::CONNECTION), _) => {}
            (Ok(name), Ok(value)) => {
                headers.append(name, value);
            }
            _ => tracing::warn!(
                header = sent.name(),
                "an extension answered with an invalid HTTP header"
            ),
        }
    }
    let mut response = HttpResponse::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    Ok(response)
}

/// The header that names the caller's span. More than one value means none, as its standard says.
fn trace_parent(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all("traceparent").iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// The headers of a request, for the plugin.
struct Sent(HeaderMap);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(nth).map(HeaderValue::as_bytes)
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        self.0.iter().nth(nth).map(|(name, value)| (name.as_str(), value.as_bytes()))
    }
}
