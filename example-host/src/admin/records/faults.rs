//! What an answer finds wrong with a request, by the JSON pointers of its body. Each fault goes to the field that it is
//! about, and those without one to the top of the form.

use axum::body::Bytes;
use axum::http::Response;
use host_interface::CHANGE_OUTCOME;

use crate::api::errors::{self, ApiError};

use super::entered::is_within;

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
    /// Whether the change may have been made all the same.
    pub(crate) is_unknown: bool,
}

impl Faults {
    /// The faults in an answer. Without any in a known form there is a sentence about its status.
    pub(crate) fn of_answer(answer: &Response<Bytes>) -> Self {
        let is_unknown = answer.headers().contains_key(CHANGE_OUTCOME);
        Self { is_unknown, ..Self::read(answer.status().as_u16(), answer.body()) }
    }

    fn read(status: u16, body: &[u8]) -> Self {
        let mut faults = Self::default();
        for ApiError { code, title, detail, source } in errors::read(body).into_iter().take(SHOWN) {
            let says = if detail.is_empty() { title } else { detail };
            faults.codes.push(code);
            faults.add(&source.pointer, says);
        }
        if faults.left.iter().all(|(_, says)| says.is_empty()) {
            faults.add("", format!("The API has answered with the status {status}."));
        }
        faults
    }

    /// One fault that is found before a request is sent.
    pub(crate) fn at(pointer: &str, says: impl Into<String>) -> Self {
        let mut faults = Self::default();
        faults.add(pointer, says.into());
        faults
    }

    pub(crate) fn add(&mut self, pointer: &str, says: String) {
        let inside = PREFIXES.iter().find_map(|prefix| {
            let rest = pointer.strip_prefix(prefix)?;
            rest.starts_with('/').then_some(rest)
        });
        self.left.push((inside.unwrap_or(pointer).to_owned(), says));
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
        let (taken, left) = std::mem::take(&mut self.left)
            .into_iter()
            .partition(|(at, _): &(String, String)| is_within(at, pointer));
        self.left = left;
        joined(taken)
    }

    /// The faults that no field has taken.
    pub(crate) fn rest(self) -> Vec<String> {
        self.left.into_iter().map(|(_, says)| says).filter(|says| !says.is_empty()).collect()
    }
}

fn joined(faults: Vec<(String, String)>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for (_, says) in faults {
        if !texts.contains(&says) {
            texts.push(says);
        }
    }
    texts.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(errors: serde_json::Value) -> Faults {
        Faults::read(422, json!({"errors": errors}).to_string().as_bytes())
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
            let says = Faults::read(500, body.as_bytes()).rest();
            assert_eq!(says, ["The API has answered with the status 500."], "{body}");
        }
    }
}
