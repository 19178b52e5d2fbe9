//! What is the same for every request, whatever answers it: its id, its span in the log, the line
//! in the access log, and the headers of every response.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, HttpBody};
use axum::extract::State;
use axum::http::{HeaderName, HeaderValue, Request, Response, header};
use axum::middleware::Next;
use tracing::Instrument;

use super::Server;
use super::request_id;

/// What only the one who answered knows about a request, left in the response's extensions.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The route's name.
    pub(super) route: Arc<str>,
    /// The user's key; 0 where nobody was asked for.
    pub(super) user: i64,
}

/// Gives the request its id, passes it on, and logs what became of it.
pub(super) async fn observe(
    State(server): State<Arc<Server>>,
    mut request: Request<Body>,
    next: Next,
) -> Response<Body> {
    let began = Instant::now();
    let id = server.ids.of(request.headers());
    let method = request.method().clone();
    let uri = request.uri().clone();
    request.extensions_mut().insert(id.clone());
    let span = tracing::info_span!("request", id = id.as_str());

    let mut response = next.run(request).instrument(span.clone()).await;
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static(request_id::HEADER), id.header());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));

    let seen = response.extensions_mut().remove::<Seen>().unwrap_or_default();
    let _entered = span.enter();
    tracing::info!(
        target: "access",
        method = method.as_str(),
        path = uri.path(),
        route = &*seen.route,
        status = response.status().as_u16(),
        bytes = response.body().size_hint().exact().unwrap_or_default(),
        duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        user = seen.user,
        request_id = id.as_str(),
    );
    response
}
