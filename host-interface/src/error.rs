//! Failures: what may go wrong with a call across the boundary, and how a failed request is told
//! to its client.

use std::borrow::Cow;

use serde::Serialize;

/// Why a call to the other side of the boundary gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The other side tried and could not; the text is for logs and operators.
    #[error("{0}")]
    Failed(String),
    /// The other side will not, however often it is asked: what was given can never be accepted.
    /// The text is for whoever gave it.
    #[error("{0}")]
    Refused(String),
    /// The other side panicked. Its state is as it was: a panic ends one call, not the plugin.
    #[error("panicked: {0}")]
    Panicked(String),
    /// The other side answered with something that is not of the contract.
    #[error("broke the contract: {0}")]
    Contract(String),
}

impl Error {
    /// An [`Error::Failed`] with the text of any other error.
    pub fn failed(cause: impl std::fmt::Display) -> Self {
        Self::Failed(cause.to_string())
    }
}

/// An error as clients see it: one member of `errors` in a JSON:API error document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The HTTP status, as a number.
    pub status: u16,
    /// A name that stays the same for ever, for programs.
    pub code: Cow<'static, str>,
    /// The kind of problem in a few words, the same for each of its kind.
    pub title: Cow<'static, str>,
    /// What is wrong with this request. Never shows SQL, a path or a stack.
    pub detail: String,
    /// What in the request it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// What part of a request a [`Problem`] is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A JSON pointer (RFC 6901) into the body.
    Pointer(String),
    /// The name of a member of the query.
    Parameter(String),
    /// The name of a header.
    Header(String),
}

impl Problem {
    /// A problem about no part of the request in particular.
    pub fn new(
        status: u16,
        code: impl Into<Cow<'static, str>>,
        title: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
    ) -> Self {
        Self { status, code: code.into(), title: title.into(), detail: detail.into(), source: None }
    }

    /// Names the part of the request that it is about.
    pub fn at(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// The document `{"errors": [...]}` as JSON text.
    pub fn document(problems: &[Problem]) -> Vec<u8> {
        #[derive(Serialize)]
        struct Document<'a> {
            errors: &'a [Problem],
        }
        // Text, numbers and lists alone: there is nothing in it that could fail to be written.
        serde_json::to_vec(&Document { errors: problems }).unwrap_or_default()
    }
}
