//! Requests that change something: sent to an extension's own routes as the session's user, so that rights, checks,
//! versions and the audit trail are those of the API.

use axum::body::Bytes;
use axum::http::{Request, Response, header};
use host_service::{Refusal, RequestId};
use tokio::time::timeout;

use crate::admin::problem::Problem;
use crate::admin::visit::{Visit, whole};

use super::asking::address;
use super::model::Route;

/// The status of the answer about a record that has another version than the user has seen.
pub(crate) const CHANGED: u16 = 412;

/// The part of the time for the request to a page that the answer may take, so that the form can be shown again.
const PART: u32 = 2;

/// A request that changes something.
pub(crate) struct Sending<'a> {
    pub(crate) route: &'a Route,
    /// The key of the record; empty without one.
    pub(crate) id: &'a str,
    /// The key of the record that it belongs to; empty without one.
    pub(crate) parent: &'a str,
    pub(crate) body: Option<String>,
    /// The version of the record that the user has seen.
    pub(crate) version: &'a str,
    /// Makes sure that a request that is sent again is done once.
    pub(crate) key: &'a str,
}

/// Sends it, and returns the answer, whatever it is. One that takes too long is given up; the change itself is not.
pub(crate) async fn send(visit: &Visit, of: Sending<'_>) -> Result<Response<Bytes>, Problem> {
    let Sending { route, id, parent, body, version, key } = of;
    let mut request = Request::builder()
        .method(route.method.as_str())
        .uri(address(route, id, parent))
        .header(header::ACCEPT, &route.accept);
    if body.is_some() {
        request = request.header(header::CONTENT_TYPE, &route.media_type);
    }
    if route.takes_version && !version.is_empty() {
        request = request.header(header::IF_MATCH, format!("\"{version}\""));
    }
    if route.takes_key && !key.is_empty() {
        request = request.header("idempotency-key", key);
    }
    let request = request.body(body.unwrap_or_default().into());
    let request = request.map_err(|_| Problem::ForeignForm)?;
    match timeout(visit.api.limits().request_timeout / PART, visit.ask(request)).await {
        Ok(answer) => answer,
        Err(_) => whole(Refusal::Timeout.response(&RequestId::known(&visit.id))).await,
    }
}
