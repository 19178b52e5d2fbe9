//! The answers to `GET /health`, for which concurrent requests share one check, and to `GET /livez`.

use std::time::Instant;

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use tokio::sync::Mutex;

use crate::site::Site;
use crate::site::health::failing;

/// The health of the site. Concurrent requests share one check, because the address needs no
/// authentication.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// The last result, and when its check began.
    last: Mutex<Option<(Instant, Vec<String>)>>,
}

impl Watch {
    /// The result of [`failing`] from a check that began after this call.
    async fn failing(&self, site: &Site) -> Vec<String> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((began, failing)) = &*last
            && *began >= asked
        {
            return failing.clone();
        }
        let began = Instant::now();
        let found = failing(site).await;
        *last = Some((began, found.clone()));
        found
    }
}

/// The answer to `GET /health`.
pub(crate) async fn answer(site: &Site, watch: &Watch) -> Response<Body> {
    let failing = watch.failing(site).await;
    if failing.is_empty() {
        return response(StatusCode::OK, &serde_json::json!({ "status": "ok" }));
    }
    unavailable(&serde_json::json!({ "status": "unavailable", "failing": failing }))
}

/// The answer while the server drains: all is well, but requests are to go to another server.
pub(crate) fn stopping() -> Response<Body> {
    unavailable(&serde_json::json!({ "status": "stopping" }))
}

/// The answer to `GET /livez`: the process answers.
pub(crate) fn alive() -> Response<Body> {
    response(StatusCode::OK, &serde_json::json!({ "status": "ok" }))
}

fn unavailable(body: &serde_json::Value) -> Response<Body> {
    let mut response = response(StatusCode::SERVICE_UNAVAILABLE, body);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn response(status: StatusCode, body: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
