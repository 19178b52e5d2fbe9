//! The handling that all requests have in common: the id, the check of the `Host` header, the log
//! span, the line in the access log, and the headers of every response.

use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Extension, State};
use axum::http::{HeaderName, HeaderValue, Method, Request, Response, Uri, header};
use axum::middleware::Next;
use host_service::{ClientAddress, Handled, REQUEST_ID, RequestId};
use http_body_util::BodyExt;
use hyper::body::Frame;
use tracing::{Instrument, Span};

use crate::watch::metrics::Guard;

use super::client::{self, Peer};
use super::context::Context;
use super::host_header;
use super::limits::Permit;
use super::waits::{self, Waited};

/// Gives the request its id, passes it on, and logs the outcome.
pub(crate) async fn observe(
    State(context): State<Arc<Context>>,
    Extension(peer): Extension<Peer>,
    Extension(permit): Extension<Weak<Permit>>,
    mut request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let trusted = client::is_trusted(peer, &context.trusted_proxies);
    let id = context.ids.of(request.headers(), trusted);
    request.extensions_mut().insert(id.clone());
    let span = tracing::info_span!("request", request_id = id.as_str());
    let client = client::of(peer, request.headers(), &context.trusted_proxies);
    request.extensions_mut().insert(ClientAddress(client));
    let metrics = context.api.access().site.metrics();
    let waited = Waited::default();
    request.extensions_mut().insert(waits::on_wait(permit, Arc::clone(metrics), waited.clone()));
    let mut line = Line {
        began: Instant::now(),
        span: span.clone(),
        client,
        _in_flight: metrics.request(),
        context: Arc::clone(&context),
        id: id.clone(),
        method: request.method().clone(),
        uri: request.uri().clone(),
        status: CLIENT_GONE,
        bytes: 0,
        handled: Handled::default(),
        waited,
    };

    let mut response = match host_header::validate(&mut request) {
        Ok(()) => next.run(request).instrument(span).await,
        Err(refusal) => refusal.response(&id),
    };
    let headers = response.headers_mut();
    if let Some(strict) = &context.strict_transport {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, strict.clone());
    }
    headers.insert(HeaderName::from_static(REQUEST_ID), id.header());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    line.status = response.status().as_u16();
    line.handled = response.extensions_mut().remove::<Handled>().unwrap_or_default();
    match response.body().size_hint().exact() {
        // The body of an answer to `HEAD` is not sent.
        _ if line.method == Method::HEAD => {}
        Some(bytes) => line.bytes = bytes,
        // The line is written when the body has been sent, or its client has disconnected.
        None => {
            let count = move |frame: &Frame<Bytes>| line.count(frame);
            return response.map(|body| Body::new(body.inspect_frame(count)));
        }
    }
    response
}

/// The status in the log for a request whose client disconnected before the answer; not an HTTP
/// status.
const CLIENT_GONE: u16 = 499;

/// A line of the access log and of the metrics. It is written on drop, because the future of a
/// request, or a body that is being sent, is dropped when its client disconnects.
struct Line {
    began: Instant,
    span: Span,
    client: IpAddr,
    _in_flight: Guard,
    context: Arc<Context>,
    id: RequestId,
    method: Method,
    uri: Uri,
    status: u16,
    bytes: u64,
    handled: Handled,
    waited: Waited,
}

impl Line {
    fn count(&mut self, frame: &Frame<Bytes>) {
        let data = frame.data_ref().map_or(0, Bytes::len);
        self.bytes += u64::try_from(data).unwrap_or(u64::MAX);
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _entered = self.span.enter();
        let took = self.began.elapsed();
        let site = &self.context.api.access().site;
        let waited = self.waited.time();
        let without_wait = waited.is_none().then_some(took);
        site.metrics().answered(&self.handled.route, self.status, without_wait);
        if self.context.api.below(self.uri.path()).is_some() {
            site.traffic().answered(self.status);
        }
        tracing::info!(
            target: "access",
            method = self.method.as_str(),
            path = self.uri.path(),
            route = &*self.handled.route,
            status = self.status,
            bytes = self.bytes,
            duration_us = micros(took),
            waited_us = waited.map(micros),
            user = self.handled.user,
            client = %self.client,
            client_request_id = self.id.of_client(),
        );
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
