//! What an answer finds wrong with a request, by the JSON pointers of its body. Each fault goes to the field that it is
//! about, and those without one to the top of the form.

use axum::body::Bytes;
use axum::http::{Response, StatusCode};
use host_interface::CHANGE_OUTCOME;

use crate::admin::problem::Trouble;
use crate::api::errors::{self, ApiError};
use crate::base::text::distinct;

use super::entered::is_within;
use super::model::Route;

/// How many faults are shown at once.
const SHOWN: usize = 100;

/// Where documents of JSON:API have the members of a record.
const PREFIXES: [&str; 2] = ["/data/attributes", "/data/relationships"];

/// The faults of a request that no field has taken yet, each with its pointer, which is empty without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Faults {
    left: Vec<(String, String)>,
    /// The kinds of faults, for programs.
    codes: Vec<String>,
    /// What they mean for the change that was asked for.
    pub(crate) change: Change,
    /// The status of a page about them, if it is the extension that has failed.
    pub(crate) status: Option<StatusCode>,
}

/// What an answer with faults means for the change that was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Change {
    /// It was not made.
    #[default]
    Refused,
    /// It was not made, for want of time only.
    Postponed,
    /// It may have been made. The request can be sent again, which does it once at most.
    UnknownOnce,
    /// It may have been made, and once more if the request is sent again.
    Unknown,
}

impl Faults {
    /// The faults in an answer. Without any in a known form there is a sentence about its status.
    pub(crate) fn of_answer(answer: &Response<Bytes>, route: &Route) -> Self {
        let has_no_outcome = answer.headers().contains_key(CHANGE_OUTCOME);
        let trouble = Trouble::of_extension(answer.status());
        let change = match trouble {
            Some(Trouble::Busy) if !has_no_outcome => Change::Postponed,
            None if !has_no_outcome => Change::Refused,
            _ if route.takes_key => Change::UnknownOnce,
            _ => Change::Unknown,
        };
        let status = trouble.as_ref().map(Trouble::status);
        Self { change, status, ..Self::read(answer.status(), answer.body()) }
    }

    fn read(status: StatusCode, body: &[u8]) -> Self {
        let mut faults = Self::default();
        for ApiError { code, title, detail, source } in errors::read(body).into_iter().take(SHOWN) {
            let sentence = if detail.is_empty() { title } else { detail };
            faults.codes.push(code);
            faults.add(&source.pointer, sentence);
        }
        if faults.left.iter().all(|(_, sentence)| sentence.is_empty()) {
            faults.add("", format!("The API has answered with the status {}.", status.as_u16()));
        }
        faults
    }

    /// One fault that is found before a request is sent.
    pub(crate) fn at(pointer: &str, sentence: impl Into<String>) -> Self {
        let mut faults = Self::default();
        faults.add(pointer, sentence.into());
        faults
    }

    pub(crate) fn add(&mut self, pointer: &str, sentence: String) {
        let inside = PREFIXES.iter().find_map(|prefix| {
            let rest = pointer.strip_prefix(prefix)?;
            rest.starts_with('/').then_some(rest)
        });
        self.left.push((inside.unwrap_or(pointer).to_owned(), sentence));
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.left.extend(others.left);
        self.codes.extend(others.codes);
    }

    /// Whether a fault has this code.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|of| of == code)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left.is_empty()
    }

    /// Takes the faults at a pointer and below it, as one text.
    pub(crate) fn take(&mut self, pointer: &str) -> String {
        let (taken, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.left).into_iter().partition(|(at, _)| is_within(at, pointer));
        self.left = left;
        distinct(taken.into_iter().map(|(_, sentence)| sentence)).join(" ")
    }

    /// The faults that no field has taken.
    pub(crate) fn rest(self) -> Vec<String> {
        let sentences = self.left.into_iter().map(|(_, sentence)| sentence);
        sentences.filter(|sentence| !sentence.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(errors: serde_json::Value) -> Faults {
        Faults::read(
            StatusCode::UNPROCESSABLE_ENTITY,
            json!({"errors": errors}).to_string().as_bytes(),
        )
    }

    #[test]
    fn a_fault_goes_to_its_field_and_the_others_stay() {
        let mut found = faults(json!([
            {"code": "a", "detail": "Name.", "source": {"pointer": "/name"}},
            {"code": "b", "detail": "Names.", "source": {"pointer": "/names"}},
            {"code": "c", "detail": "Row.", "source": {"pointer": "/items/0/price"}},
            {"code": "c", "detail": "Rows.", "source": {"pointer": "/items"}},
            {"code": "d", "title": "In a document", "source": {"pointer": "/data/attributes/sku"}},
            {"code": "e", "detail": "Header.", "source": {"header": "If-Match"}},
        ]));
        assert_eq!(found.take("/name"), "Name.");
        assert_eq!(found.take("/items/0/price"), "Row.");
        assert_eq!(found.take("/items"), "Rows.");
        assert_eq!(found.take("/sku"), "In a document");
        assert_eq!(found.take("/sku"), "", "a fault is shown once");
        assert!(found.has_code("e") && !found.has_code("f"));
        assert_eq!(found.rest(), ["Names.", "Header."]);
    }

    #[test]
    fn an_answer_in_another_form_is_told_by_its_status() {
        for body in ["", "no", "[]", "{\"errors\": []}", "{\"errors\": 7}", "{\"errors\": [{}]}"] {
            let sentences = Faults::read(StatusCode::INTERNAL_SERVER_ERROR, body.as_bytes()).rest();
            assert_eq!(sentences, ["The API has answered with the status 500."], "{body}");
        }
    }
}
