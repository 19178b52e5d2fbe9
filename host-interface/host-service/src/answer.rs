//! From a request to its answer: the order of the checks, the call of the plugin, and its response
//! as HTTP. A plugin that fails, panics or never answers affects only this request. A request that
//! changes something is never cancelled: it runs to its end and is recorded, even if its client
//! disconnects.

use std::borrow::Borrow;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, HttpBody};
use axum::http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request as HttpRequest,
    Response as HttpResponse, StatusCode, header,
};
use bytes::Bytes;
use host_interface::{Caller, Headers, Request, Response, fact};
use tokio::time::{Instant, timeout_at};

use crate::accept::accepts;
use crate::access::{Access, Asked, Asking, is_change};
use crate::admission::Admission;
use crate::body;
use crate::changes::Changes;
use crate::client::ClientAddress;
use crate::extension::Extension;
use crate::handled::Handled;
use crate::limits::Limits;
use crate::pieces::{Arrival, ArrivalLimits, Arriving, Produced, Streamed, Watched};
use crate::prefer;
use crate::refusal::Refusal;
use crate::request_id::RequestId;
use crate::revalidation::Conditional;
use crate::routing::{self, Matched, Record, Route, Routes};
use crate::waiters::{Holder, TooMany, Wait, Waiters};

/// How much longer a request with a file may take, from its beginning: its client may go on sending for as long, and
/// a pause has a limit of its own.
const BULK_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// Answers requests to the extensions of a site.
pub(crate) struct Answering<A: Access> {
    pub(crate) access: Arc<A>,
    pub(crate) routes: Arc<Routes>,
    pub(crate) limits: Limits,
    /// The limit of an answer as the text that plugins get.
    pub(crate) answer_limit: String,
    /// The changes in progress.
    pub(crate) changes: Changes,
    /// The places of requests that wait.
    pub(crate) waiters: Waiters,
}

impl<A: Access> Answering<A> {
    /// Answers a request to an extension, or refuses it with a reason. The path is relative to the
    /// base path.
    pub(crate) async fn answer(
        &self,
        id: &RequestId,
        path: &str,
        request: HttpRequest<Body>,
    ) -> HttpResponse<Body> {
        let limits = &self.limits;
        let mut handled = Handled::default();
        let (mut user, mut record) = (None, Record::default());
        let (parts, mut body) = request.into_parts();
        let (method, uri, headers, extensions) =
            (parts.method, parts.uri, Arc::new(parts.headers), parts.extensions);
        // A client that sends `Expect` does not send its body before it is asked to.
        let mut wanted = !headers.contains_key(header::EXPECT);
        let deadline = Instant::now() + limits.request_timeout;
        // In a box, which is freed before the plugin is called: the checks need the most memory, and the
        // request may wait for long.
        let ready = Box::pin(async {
            let (route, matched) = self.route(path, &method)?;
            handled.route = Arc::clone(&route.name);
            let media_types = route.media_types();
            if !media_types.is_empty() && !media_types.iter().any(|of| accepts(&headers, of)) {
                return Err(Refusal::NotAcceptable { media_type: media_types.join(" or ") });
            }
            let body_limit = if route.bulk { limits.bulk_limit } else { limits.body_limit };
            let mut call = Request::builder(route.handler, route.method)
                .path(uri.path())
                .query(uri.query().unwrap_or_default())
                .id(id.as_str())
                .fact(fact::ANSWER_LIMIT, &self.answer_limit);
            if route.bulk {
                call = call.fact(fact::BODY_LIMIT, body_limit.to_string());
            }
            for value in matched.params() {
                call = call.param(value);
            }
            if let Some(ClientAddress(address)) = extensions.get() {
                call = call.fact(fact::CLIENT_ADDRESS, address.to_string());
            }
            if let Some(parent) = trace_parent(&headers) {
                call = call.fact(fact::TRACE_PARENT, parent);
            }
            if is_change(&method) {
                record = matched.record(&route);
            }
            let enabled = |extension: &str| self.access.is_enabled(extension);
            let asking = Asking::new(&headers, &extensions, &self.routes, &enabled);
            // On a public route, credentials are checked only if they are sent.
            if !route.public || self.access.is_identified(&asking) {
                let found = timeout_at(deadline, self.access.authenticate(asking)).await;
                let found = found.map_err(|_| Refusal::Timeout)??.ok_or(Refusal::Unauthorised)?;
                let caller: &Caller = (*user.insert(found)).borrow();
                handled.user = caller.user();
                call = call.caller(caller.clone());
            }
            if body::is_too_large(&headers, body_limit) {
                return Err(Refusal::BodyTooLarge { limit: body_limit });
            }
            wanted = true;
            let mut deadline = deadline;
            let enough = match (route.bulk, route.streams) {
                // A client may send its lines one by one, so that the plugin gets what there is.
                (true, _) => {
                    deadline += BULK_TIME;
                    0
                }
                (false, true) => limits.stream_above,
                (false, false) => usize::MAX,
            };
            let read = body::read_until(&mut body, enough, body_limit, limits.stall_timeout);
            let (read, ended) =
                timeout_at(deadline, read).await.map_err(|_| Refusal::BodyTooSlow)??;
            // A small file that is there already is no stream.
            let is_small = route.bulk && read.len() <= limits.stream_above;
            let ended = ended || is_small && body.is_end_stream();
            let asked = if route.waits { prefer::wait(&headers) } else { None };
            let caller = user.as_ref().map(|user: &A::User| -> &Caller { user.borrow() });
            let wait = match asked {
                Some(seconds) => {
                    let token = caller.and_then(|caller| caller.fact(fact::TOKEN_ID));
                    let holders = Holder::all(token, extensions.get());
                    let granted = self.waiters.grant(seconds, holders, extensions.get());
                    granted.map_err(|TooMany| Refusal::TooManyWaits)?
                }
                None => None,
            };
            if let Some(wait) = &wait {
                call = call.fact(fact::WAIT, wait.seconds());
                deadline += wait.time();
            }
            // It may go on for so long that its user has no access any more.
            let admission = (wait.is_some() || !ended)
                .then(|| self.admission(&route.extension, &headers, &extensions, user.as_ref()));
            let mut arrival = None;
            call = match &admission {
                Some(admission) if !ended => {
                    let (size, stall) = (body_limit, limits.stall_timeout);
                    let limits = ArrivalLimits { size, stall, deadline };
                    let rest = std::mem::take(&mut body);
                    let length = body::length(&headers);
                    let (pieces, seen) = Arriving::pieces(read, rest, limits, length, admission);
                    arrival = Some(seen);
                    call.stream(pieces)
                }
                _ => call.body(read),
            };
            let conditional = Conditional::of(&method, &headers);
            let request = call.headers(Sent(Arc::clone(&headers))).build();
            let stall_time = limits.stall_timeout;
            let call = Call { route, request, conditional, arrival, stall_time, deadline, wait };
            Ok((call, admission))
        })
        .await;
        let route = Arc::clone(&handled.route);
        let asked = Asked { id: id.clone(), method, uri, extensions, route, record, user };
        // Whatever follows the plugin's answer is in boxes as well: a request that waits would be as large as
        // a change and its record in an audit trail otherwise.
        let mut response = match ready {
            Ok((call, _)) if is_change(&asked.method) => Box::pin(self.change(asked, call)).await,
            Ok((call, admission)) => {
                let (route, deadline) = (call.route.clone(), call.deadline);
                let applied = call.wait.as_ref().map(Wait::applied);
                let read = timeout_at(deadline, call.answer()).await;
                let mut read = read.unwrap_or_else(|_| Err(timed_out(&route)));
                if let Some(admission) = &admission {
                    let again = timeout_at(deadline, Box::pin(admission.check())).await;
                    read = again.unwrap_or(Err(Refusal::Timeout)).and(read);
                }
                let mut response = read.unwrap_or_else(|refusal| refusal.response(id));
                if response.extensions().get::<Streamed>().is_some() {
                    let (of, user) = (&route.extension, asked.user.as_ref());
                    let admission = admission
                        .unwrap_or_else(|| self.admission(of, &headers, &asked.extensions, user));
                    response = response.map(|body| Body::new(Watched::new(body, &admission)));
                }
                if let Some(applied) = applied {
                    response.headers_mut().append("preference-applied", applied);
                }
                Box::pin(self.access.answered(asked, response)).await
            }
            Err(refusal) => {
                // A body that is too slow or incomplete is not read again.
                let unreadable = matches!(refusal, Refusal::BodyTooSlow | Refusal::BodyIncomplete);
                if wanted && !unreadable {
                    body::discard(body).await;
                }
                Box::pin(self.access.answered(asked, refusal.response(id))).await
            }
        };
        response.extensions_mut().insert(handled);
        response
    }

    /// What a request has shown to be admitted.
    fn admission(
        &self,
        extension: &Extension,
        headers: &Arc<HeaderMap>,
        extensions: &Extensions,
        user: Option<&A::User>,
    ) -> Arc<Admission<A>> {
        let caller = user.map(|user| -> &Caller { user.borrow() });
        Arc::new(Admission {
            access: Arc::clone(&self.access),
            routes: Arc::clone(&self.routes),
            extension: extension.clone(),
            headers: Arc::clone(headers),
            extensions: extensions.clone(),
            user: caller.map(Caller::user),
        })
    }

    /// The enabled route for this path and method.
    fn route<'path>(
        &self,
        path: &'path str,
        method: &Method,
    ) -> Result<(Route, Matched<'_, 'path>), Refusal> {
        let matched = self.routes.at(path).ok_or(Refusal::NotFound)?;
        if !self.access.is_available() {
            return Err(Refusal::Unavailable);
        }
        let routes = matched.enabled(|extension| self.access.is_enabled(extension));
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

    /// Calls a plugin for a change. The call runs to its end and its outcome is recorded, even if
    /// the client disconnects or gets a timeout.
    async fn change(&self, asked: Asked<A::User>, call: Call) -> HttpResponse<Body> {
        let (id, deadline) = (asked.id.clone(), call.deadline);
        let Ok(Some(slot)) = timeout_at(deadline, self.changes.slot()).await else {
            tracing::warn!("too many changes are in progress to begin another");
            let refused = Refusal::Unavailable.response(&id);
            return Box::pin(self.access.answered(asked, refused)).await;
        };
        let begun = Begun { access: Arc::clone(&self.access), asked: Some(asked) };
        let (route, own) = (call.route.clone(), id.clone());
        let changing = self.changes.run(slot, async move {
            match call.answer().await {
                Ok(response) => begun.end(response).await,
                // The plugin has refused it as well.
                Err(refusal) if refusal != Refusal::Internal => {
                    begun.end(refusal.response(&own)).await
                }
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
}

/// A change in progress. If it is interrupted, that is recorded, because it may still have changed
/// something.
struct Begun<A: Access> {
    access: Arc<A>,
    asked: Option<Asked<A::User>>,
}

impl<A: Access> Begun<A> {
    async fn end(mut self, response: HttpResponse<Body>) -> HttpResponse<Body> {
        match self.asked.take() {
            // In a box, so that the change is small where it is moved into its task.
            Some(asked) => Box::pin(self.access.answered(asked, response)).await,
            None => response,
        }
    }
}

impl<A: Access> Drop for Begun<A> {
    fn drop(&mut self) {
        if let Some(asked) = &self.asked {
            self.access.interrupted(asked);
        }
    }
}

/// A request that is ready for its plugin.
struct Call {
    route: Route,
    request: Request,
    conditional: Conditional,
    /// What is seen of a body that arrives in pieces.
    arrival: Option<Arc<Arrival>>,
    stall_time: Duration,
    /// When it must have been answered.
    deadline: Instant,
    /// The time for which the plugin may hold the answer open.
    wait: Option<Wait>,
}

impl Call {
    /// Calls the plugin. If it refuses a body that broke off, the answer is the host's refusal.
    async fn answer(self) -> Result<HttpResponse<Body>, Refusal> {
        let Route { extension, name: route, .. } = &self.route;
        let handling = extension.plugin().handle(self.request);
        let response = match self.wait {
            Some(wait) => wait.during(handling).await,
            None => handling.await,
        };
        let response = response.map_err(|error| {
            let (extension, route) = (extension.name(), &**route);
            tracing::error!(extension, route, %error, "an extension failed");
            Refusal::Internal
        })?;
        let mut head = head(&response).inspect_err(|_| {
            tracing::error!(
                extension = extension.name(),
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
                let tag = self.conditional.tag(&head, &whole);
                if !whole.is_empty() {
                    *head.body_mut() = Body::from(Bytes::from_owner(whole));
                }
                if let Some(tag) = tag {
                    self.conditional.apply(tag, &mut head);
                }
            }
            Err(pieces) => {
                let produced = Produced::new(pieces, self.stall_time, extension, route);
                *head.body_mut() = Body::new(produced);
                head.extensions_mut().insert(Streamed);
            }
        }
        Ok(head)
    }
}

/// The answer to a client whose request took too long.
fn timed_out(route: &Route) -> Refusal {
    let extension = route.extension.name();
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
struct Sent(Arc<HeaderMap>);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(nth).map(HeaderValue::as_bytes)
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        self.0.iter().nth(nth).map(|(name, value)| (name.as_str(), value.as_bytes()))
    }
}
