//! Answers: documents and errors as responses. Knows the table of errors, and nothing of what was asked.

use host_interface::Response;
use serde::Serialize;

use super::document::MEDIA_TYPE;
use crate::error::{Error, Fault, FaultKind, MAX_FAULTS, Source, chain};

/// The response that has this document.
pub fn document(status: u16, body: Vec<u8>) -> Response {
    Response::new(status).with_header("content-type", MEDIA_TYPE).with_body(body)
}

/// The answer to a request that failed. Where the client is not at fault, the cause is logged.
pub fn failure(error: &Error, request_id: &str) -> Response {
    let faults = match error.faults() {
        Some(faults) => faults.to_vec(),
        None => {
            let causes = chain(error);
            tracing::error!(request_id, causes, "request failed");
            let kind = match error.passes() {
                true => FaultKind::Unavailable,
                false => FaultKind::Internal,
            };
            let advice = match kind {
                FaultKind::Unavailable => "The store is temporarily unavailable; try again.",
                _ => "The store failed to answer.",
            };
            vec![Fault::new(kind, format!("{advice} Request id: {request_id}."))]
        }
    };
    // The lowest status is that of the answer: a missing field makes it a 400.
    let status = faults.iter().map(|fault| fault.kind.row().0).min().unwrap_or(500);
    let faults = at_most(MAX_FAULTS, faults);
    let response = document(status, errors(&faults));
    match status {
        415 => response.with_header("accept-encoding", "identity"),
        503 => response.with_header("retry-after", "1"),
        _ => response,
    }
}

/// The first so many faults, those that decide on the status before the others, and that there are
/// more.
fn at_most(limit: usize, mut faults: Vec<Fault>) -> Vec<Fault> {
    if faults.len() > limit {
        faults.sort_by_key(|fault| fault.kind.row().0);
        faults.truncate(limit);
        let detail = format!("There are more faults; only {limit} are reported.");
        faults.push(Fault::new(FaultKind::TooManyFaults, detail));
    }
    faults
}

/// The error document of JSON:API.
fn errors(faults: &[Fault]) -> Vec<u8> {
    let errors = faults.iter().map(|fault| {
        let (status, code, title) = fault.kind.row();
        Member { status, code, title, detail: &fault.detail, source: fault.source.as_ref() }
    });
    // Texts, numbers and lists cannot fail to be written.
    serde_json::to_vec(&Errors { errors: errors.collect() }).unwrap_or_default()
}

#[derive(Serialize)]
struct Errors<'a> {
    errors: Vec<Member<'a>>,
}

/// A [`Fault`] as a member of the document.
#[derive(Serialize)]
struct Member<'a> {
    status: u16,
    code: &'static str,
    title: &'static str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a Source>,
}
