//! Requests to the administration: hands over what it needs to know of one. What is on a page, and
//! who may see it, is not known here.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header};

use crate::admin::{Arrival, BASE};

use super::access_log::Seen;
use super::client::{self, Peer};
use super::problem::Refusal;
use super::request_id::RequestId;
use super::{Server, body};

/// The header in which a proxy says what its client speaks.
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Whether a path is one of the administration.
pub(super) fn is_one(path: &str) -> bool {
    path.strip_prefix(BASE).is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// Answers a request to it.
pub(super) async fn answer(
    server: &Server,
    id: &RequestId,
    request: Request<Body>,
) -> Response<Body> {
    match tokio::time::timeout(server.api.request_timeout, page(server, id, request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(refusal)) => refusal.response(id),
        Err(_) => Refusal::Timeout.response(id),
    }
}

async fn page(
    server: &Server,
    id: &RequestId,
    request: Request<Body>,
) -> Result<Response<Body>, Refusal> {
    let (parts, mut body) = request.into_parts();
    let Some(path) = parts.uri.path().strip_prefix(BASE).filter(|path| !path.is_empty()) else {
        return Ok(to_the_first_page());
    };
    if body::is_too_large(&parts.headers, server.api.body_limit) {
        return Err(Refusal::BodyTooLarge { limit: server.api.body_limit });
    }
    let peer = parts.extensions.get::<Peer>().copied().ok_or(Refusal::Internal)?;
    let arrival = Arrival {
        path: path.to_owned(),
        query: parts.uri.query().unwrap_or_default().to_owned(),
        body: body::read(&mut body, server.api.body_limit).await?,
        client: client::of(peer, &parts.headers, &server.trusted_proxies),
        encrypted: server.encrypted || speaks_tls(server, peer, &parts.headers),
        id: id.as_str().to_owned(),
        method: parts.method,
        headers: parts.headers,
    };
    let answered = server.administration.answer(arrival).await;
    let mut response = answered.response;
    let seen = Seen { route: answered.page.into(), user: answered.user };
    response.extensions_mut().insert(seen);
    Ok(response)
}

/// Whether a proxy that is known says that its client speaks TLS.
fn speaks_tls(server: &Server, peer: Peer, headers: &HeaderMap) -> bool {
    let peer = peer.0.to_canonical();
    let known = server.trusted_proxies.iter().any(|proxy| proxy.contains(&peer));
    known && headers.get(FORWARDED_PROTO).is_some_and(|protocol| protocol == "https")
}

fn to_the_first_page() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::PERMANENT_REDIRECT;
    let page = HeaderValue::try_from(format!("{BASE}/"));
    if let Ok(page) = page {
        response.headers_mut().insert(header::LOCATION, page);
    }
    response
}
