//! Records of answered requests to the API: changes in the audit trail, and refusals for the
//! dashboard. Of a body, only the codes and the detail of the site's own errors are kept.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::{Response, StatusCode, header};
use host_interface::CHANGE_OUTCOME;
use host_service::{Asked, Refusal, Streamed, is_change};
use http_body_util::BodyExt;

use crate::base::text::distinct;
use crate::site::Site;
use crate::watch::audit::{Audit, Entry, Origin, Record};
use crate::watch::traffic::Refused;

use super::asking::{Admitted, SignedIn};
use super::errors;

/// The header of an answer that repeats that of an earlier request with the same `Idempotency-Key`.
const REPLAYED: &str = "idempotent-replayed";

/// How many characters of an error's detail are kept.
const DETAIL: usize = 200;

/// Where requests are recorded.
pub(crate) struct Notes {
    pub(crate) site: Site,
    pub(crate) audit: Arc<Audit>,
}

impl Notes {
    /// Records a request if necessary, and returns the answer.
    pub(crate) async fn answered(
        &self,
        asked: Asked<Admitted>,
        response: Response<Body>,
    ) -> Response<Body> {
        let status = response.status();
        if status.is_success() && is_change(&asked.method) {
            // The answer to a creation names the new record.
            let location = response.headers().get(header::LOCATION);
            let location = location.and_then(|location| location.to_str().ok());
            let made = location.and_then(|location| record_at(location, &asked.record.id));
            let entry = entry(&asked, made, status.as_u16());
            // The extension has repeated an earlier answer, and changed nothing.
            let replayed = response.headers().contains_key(REPLAYED);
            self.audit.note(if replayed { entry.saying("replayed") } else { entry });
            return response;
        }
        if response.headers().contains_key(CHANGE_OUTCOME) {
            let entry = entry(&asked, None, status.as_u16());
            self.audit.note(entry.saying("may or may not have been done"));
            return response;
        }
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::UNPROCESSABLE_ENTITY => {
                self.refused(asked, response).await
            }
            _ => response,
        }
    }

    /// Records a change that was interrupted, because it may still have changed something.
    pub(crate) fn interrupted(&self, asked: &Asked<Admitted>) {
        let entry = entry(asked, None, 0).saying("interrupted; may or may not have been done");
        self.audit.note(entry);
    }

    /// Records that a token was refused for what limits it, and returns the refusal.
    pub(crate) fn refused_token(
        &self,
        by: &Admitted,
        client: Option<IpAddr>,
        refusal: Refusal,
    ) -> Refusal {
        let from = client.map_or_else(String::new, |client| format!(" from {client}"));
        let (what, status) = match refusal {
            Refusal::Expired => ("refused a token that has expired", 401),
            _ => ("refused a token, which may not be used from this address", 403),
        };
        let user = &by.identity.user;
        let record = Record { kind: "user".to_owned(), id: user.id.to_string() };
        let entry = Entry::new(Origin::Api, "", "", record)
            .by(user.id, &user.username, &by.means)
            .answered(status, "")
            .saying(&format!("{what}{from}"));
        // A program that has not noticed asks again and again.
        self.audit.note_seldom(&format!("token {} {status}", by.means), entry);
        refusal
    }

    async fn refused(&self, asked: Asked<Admitted>, response: Response<Body>) -> Response<Body> {
        let (parts, body) = response.into_parts();
        // A body in pieces is not read here: it may never end.
        let (body, read) = match parts.extensions.get::<Streamed>() {
            Some(Streamed) => (body, Bytes::new()),
            // Any other body is complete in memory, so this neither waits nor copies.
            None => {
                let read = body.collect().await.map(|whole| whole.to_bytes()).unwrap_or_default();
                (Body::from(read.clone()), read)
            }
        };
        let (method, path) = (asked.method.as_str(), asked.uri.path());
        let refused = Refused::now(parts.status.as_u16(), method, path, asked.id.as_str());
        let (codes, detail) = error_summary(&read);
        let username = asked.user.map(|by| by.identity.user.username.clone()).unwrap_or_default();
        self.site.traffic().refused(Refused { codes, detail, username, ..refused });
        Response::from_parts(parts, body)
    }
}

fn entry(asked: &Asked<Admitted>, made: Option<Record>, status: u16) -> Entry {
    let origin = match asked.extensions.get::<SignedIn>() {
        Some(_) => Origin::Administration,
        None => Origin::Api,
    };
    let named = || Record { kind: asked.record.kind.clone(), id: asked.record.id.clone() };
    let record = made.unwrap_or_else(named);
    let entry = Entry::new(origin, asked.method.as_str(), &asked.route, record)
        .answered(status, asked.id.as_str())
        .called(asked.id.of_client());
    match &asked.user {
        Some(by) => entry.by(by.identity.user.id, &by.identity.user.username, &by.means),
        None => entry,
    }
}

/// The record in the last two segments of an address, unless that is a list below the record with this id, to which
/// something was added.
fn record_at(location: &str, above: &str) -> Option<Record> {
    let path = location.split(['?', '#']).next()?;
    let mut parts = path.rsplit('/');
    let (id, kind) = (parts.next()?, parts.next()?);
    let named = !id.is_empty() && !kind.is_empty() && kind != above;
    named.then(|| Record { kind: kind.to_owned(), id: id.to_owned() })
}

/// The codes of the errors of a document, each once, and the detail of the first.
fn error_summary(body: &Bytes) -> (String, String) {
    let errors = errors::read(body);
    let detail = errors.first().map_or("", |fault| fault.detail.as_str());
    let detail = detail.chars().take(DETAIL).collect();
    let codes = distinct(errors.iter().map(|fault| fault.code.as_str()));
    (codes.join(", "), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_from_the_end_of_its_address() {
        let named = |location| record_at(location, "7").map(|record| (record.kind, record.id));
        let lamp = Some(("products".to_owned(), "5".to_owned()));
        assert_eq!(named("/api/index.php/v1/shop/products/5"), lamp);
        assert_eq!(named("https://shop.example/products/5?x=1/2"), lamp);
        assert_eq!(named("/products/"), None);
        assert_eq!(named("5"), None);
        assert_eq!(named("/orders/7/history"), None, "what was done is about the order");
        let entry = Some(("shipments".to_owned(), "7".to_owned()));
        assert_eq!(named("/orders/7/shipments/7"), entry);
    }

    #[test]
    fn the_codes_and_the_first_detail_of_a_refusal_are_kept() {
        let body = r#"{"errors":[{"code":"a","detail":"First."},{"code":"b"},{"code":"a"}]}"#;
        assert_eq!(error_summary(&Bytes::from(body)), ("a, b".to_owned(), "First.".to_owned()));
        assert_eq!(error_summary(&Bytes::from("none")), (String::new(), String::new()));
    }
}
