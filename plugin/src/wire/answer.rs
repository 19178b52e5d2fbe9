//! Answers: documents and errors as responses. Based on the table of errors, and independent of
//! requests.

use host_interface::{Chunk, Response};
use serde::Serialize;
use serde_json::Value as Json;
use twox_hash::XxHash3_64;

use super::document::MEDIA_TYPE;
use super::object::OnlyMember;
use crate::error::{Error, Fault, FaultKind, MAX_FAULTS, Source, chain};

/// The response with this document.
pub fn document(status: u16, body: impl Into<Chunk>) -> Response {
    Response::new(status).with_header("content-type", MEDIA_TYPE).with_body(body)
}

/// The response with the document of a record, and a tag of its version and its content: the same on
/// every host, engine and build.
pub fn record(status: u16, version: Option<i64>, body: impl Into<Chunk>) -> Response {
    let body = body.into();
    let tag = version.map(|version| format!("\"{version}-{}\"", digest(&body)));
    let response = document(status, body);
    match tag {
        Some(tag) => response.with_header("etag", tag),
        None => response,
    }
}

/// The XXH3 of a document, in hexadecimal. It is there for changes that leave the version as it is, such as the new
/// name of a related record. Nobody has to be kept from finding two documents with one digest, so a fast hash is enough.
fn digest(body: &[u8]) -> String {
    format!("{:016x}", XxHash3_64::oneshot(body))
}

/// The response to a request that failed. If the cause is not the client's fault, it is logged.
pub fn failure(error: &Error, request_id: &str) -> Response {
    let faults = match error.faults() {
        Some(faults) => faults.to_vec(),
        None => {
            let causes = chain(error);
            tracing::error!(request_id, causes, "request failed");
            let (kind, advice) = match error {
                Error::Undecided(_) => (
                    FaultKind::Unavailable,
                    "The database did not answer to the commit, so the change may or may not have been \
                     made; send the request again under its Idempotency-Key, or look first.",
                ),
                error if error.passes() => {
                    (FaultKind::Unavailable, "The store is temporarily unavailable; try again.")
                }
                _ => (FaultKind::Internal, "The store failed to answer."),
            };
            vec![Fault::new(kind, format!("{advice} Request id: {request_id}."))]
        }
    };
    // The answer has the lowest status: a missing field makes it a 400.
    let status = faults.iter().map(|fault| fault.kind.row().0).min().unwrap_or(500);
    let faults = at_most(MAX_FAULTS, faults);
    let mut response = document(status, errors(&faults));
    if let Some(challenge) = faults.iter().find_map(|fault| fault.challenge.clone()) {
        response = response.with_header("www-authenticate", String::from(challenge));
    }
    if let Error::Undecided(_) = error {
        response = response.with_unknown_outcome();
    }
    match status {
        415 => response.with_header("accept-encoding", "identity"),
        // A file that has changed is no reason to send it again.
        409 if faults.iter().all(|fault| fault.kind == FaultKind::FileChanged) => response,
        409 | 503 => response.with_header("retry-after", "1"),
        _ => response,
    }
}

/// The first faults, up to the limit; those that determine the status come first. A last one
/// reports that there are more.
fn at_most(limit: usize, mut faults: Vec<Fault>) -> Vec<Fault> {
    if faults.len() > limit {
        faults.sort_by_key(|fault| fault.kind.row().0);
        faults.truncate(limit);
        let detail = format!("There are more faults; only {limit} are reported.");
        faults.push(Fault::new(FaultKind::TooManyFaults, detail));
    }
    faults
}

/// The members of errors for these faults, at most as many as a document has.
pub fn members(faults: Vec<Fault>) -> Json {
    let faults = at_most(MAX_FAULTS, faults);
    let errors: Vec<Member<'_>> = faults.iter().map(Member::of).collect();
    // Serialising texts, numbers and lists cannot fail.
    serde_json::to_value(errors).unwrap_or_default()
}

/// The JSON:API document of errors.
fn errors(faults: &[Fault]) -> Vec<u8> {
    let errors = faults.iter().map(Member::of);
    let first = faults.iter().find_map(|fault| fault.first.as_deref());
    let links = first.map(|first| Links { first });
    // Serialising texts, numbers and lists cannot fail.
    serde_json::to_vec(&Errors { links, errors: errors.collect() }).unwrap_or_default()
}

#[derive(Serialize)]
struct Errors<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    links: Option<Links<'a>>,
    errors: Vec<Member<'a>>,
}

#[derive(Serialize)]
struct Links<'a> {
    first: &'a str,
}

/// A [`Fault`] in the document.
#[derive(Serialize)]
struct Member<'a> {
    status: u16,
    code: &'static str,
    title: &'static str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a Source>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<OnlyMember<&'a Json>>,
}

impl<'a> Member<'a> {
    fn of(fault: &'a Fault) -> Self {
        let (status, code, title) = fault.kind.row();
        let source = fault.source.as_ref();
        let meta = fault.meta.as_deref().map(|(name, value)| OnlyMember(name, value));
        Self { status, code, title, detail: &fault.detail, source, meta }
    }
}
