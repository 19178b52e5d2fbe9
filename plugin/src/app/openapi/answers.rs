//! The parts of the OpenAPI document that answers share: headers, the answer to a client that has
//! the content already, and the answers to requests that fail. Independent of particular routes.

use serde_json::{Map, Value, json};

use super::common::{CURSOR, reference};
use crate::error::FaultKind;
use crate::wire::document::MEDIA_TYPE;

/// The headers of every answer.
pub(super) const ALWAYS: &[&str] = &["Vary", "X-Request-Id"];

/// An answer to a request that fails.
pub(super) struct Failure {
    /// The name among the document's components.
    pub(super) name: &'static str,
    /// Which routes can give it.
    pub(super) by: By,
    row: (u16, &'static str, &'static str),
    description: &'static str,
    /// The headers that it has beside those of every answer.
    headers: &'static [&'static str],
}

impl Failure {
    pub(super) fn status(&self) -> String {
        self.row.0.to_string()
    }
}

/// The routes that can give an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// All.
    Any,
    /// Those that change something.
    Writes,
    /// Those that take a body.
    Bodies,
    /// Those that change the record in their path.
    Versions,
    /// Those that change or remove the record in their path itself.
    Required,
    /// Those that take values: writes and lists.
    Values,
    /// Those that read.
    Reads,
    /// The feed of changes.
    Feed,
}

/// All of them, by status. The host gives those whose codes are spelt out.
pub(super) const FAILURES: &[Failure] = &[
    Failure {
        name: "BadRequest",
        by: By::Any,
        row: FaultKind::InvalidParameter.row(),
        description: "The query, a header or the body is malformed, or the body lacks a required field.",
        headers: &[],
    },
    Failure {
        name: "Unauthorised",
        by: By::Any,
        row: (401, "unauthorised", "Unauthorised"),
        description: "The token is missing, wrong or expired, or its user has no access to the API.",
        headers: &["WWW-Authenticate"],
    },
    Failure {
        name: "Forbidden",
        by: By::Any,
        row: FaultKind::Forbidden.row(),
        description: "The user lacks the permission, or the token lacks the scope that the header names; or \
            the token may not be used from this address.",
        headers: &["WWW-Authenticate.scope"],
    },
    Failure {
        name: "NotFound",
        by: By::Any,
        row: FaultKind::NotFound.row(),
        description: "There is no such record, or the site has disabled the store.",
        headers: &[],
    },
    Failure {
        name: "MethodNotAllowed",
        by: By::Any,
        row: (405, "method_not_allowed", "Method not allowed"),
        description: "The path does not have the method of the request; the header names those that \
            it has.",
        headers: &["Allow"],
    },
    Failure {
        name: "NotAcceptable",
        by: By::Any,
        row: (406, "not_acceptable", "Not acceptable"),
        description: "The Accept header does not name the media type.",
        headers: &[],
    },
    Failure {
        name: "RequestTimeout",
        by: By::Bodies,
        row: (408, "body_timeout", "Request timeout"),
        description: "The body did not arrive in time.",
        headers: &[],
    },
    Failure {
        name: "RequestInProgress",
        by: By::Writes,
        row: FaultKind::RequestInProgress.row(),
        description: "A request with the same Idempotency-Key is in progress; try again. Of an import: the file is not \
            the one that Import-Of names.",
        headers: &["Retry-After.any"],
    },
    Failure {
        name: "CursorExpired",
        by: By::Feed,
        row: FaultKind::CursorExpired.row(),
        description: "The cursor cannot be continued; start over at links.first.",
        headers: &[],
    },
    Failure {
        name: "VersionMismatch",
        by: By::Versions,
        row: FaultKind::VersionMismatch.row(),
        description: "The record has another version than If-Match names: meta.current_version of \
            the error has it.",
        headers: &[],
    },
    Failure {
        name: "ContentTooLarge",
        by: By::Bodies,
        row: (413, "body_too_large", "Body too large"),
        description: "The body has more bytes than the site accepts.",
        headers: &[],
    },
    Failure {
        name: "AnswerTooLarge",
        by: By::Reads,
        row: FaultKind::AnswerTooLarge.row(),
        description: "The answer would have more bytes than the site allows; ask for fewer records or \
            fewer fields.",
        headers: &[],
    },
    Failure {
        name: "UnsupportedEncoding",
        by: By::Bodies,
        row: FaultKind::UnsupportedEncoding.row(),
        description: "The body is compressed or otherwise encoded.",
        headers: &["Accept-Encoding"],
    },
    Failure {
        name: "Unprocessable",
        by: By::Values,
        row: FaultKind::InvalidValue.row(),
        description: "A value breaks a rule.",
        headers: &[],
    },
    Failure {
        name: "PreconditionRequired",
        by: By::Required,
        row: FaultKind::PreconditionRequired.row(),
        description: "The site requires If-Match, and it is missing.",
        headers: &[],
    },
    Failure {
        name: "TooManyRequests",
        by: By::Any,
        row: (429, "too_many_requests", "Too many requests"),
        description: "More requests were sent with the token than it allows in a minute.",
        headers: &["RateLimit-Policy", "RateLimit", "Retry-After"],
    },
    Failure {
        name: "Internal",
        by: By::Any,
        row: FaultKind::Internal.row(),
        description: "The store failed to answer.",
        headers: &[],
    },
    Failure {
        name: "Unavailable",
        by: By::Any,
        row: FaultKind::Unavailable.row(),
        description: "The store is temporarily unavailable; try again.",
        headers: &["Change-Outcome", "Retry-After"],
    },
    Failure {
        name: "Timeout",
        by: By::Any,
        row: (504, "timeout", "Timeout"),
        description: "The answer took too long. A change may have been made nevertheless: send it \
            again under its Idempotency-Key.",
        headers: &[],
    },
];

/// The answer to a client that has the content already.
pub(super) const NOT_MODIFIED: &str = "NotModified";

/// The answers that routes share.
pub(super) fn responses() -> Map<String, Value> {
    let failures = FAILURES.iter().map(|failure| {
        let (status, code, title) = failure.row;
        let mut error = json!({
            "status": status, "code": code, "title": title, "detail": failure.description,
        });
        if failure.by == By::Versions {
            error["source"] = json!({"header": "If-Match"});
            error["meta"] = json!({"current_version": 17});
        }
        let mut example = json!({"errors": [error]});
        if failure.by == By::Feed {
            example["links"] = json!({"first": "/api/index.php/v1/shop/changes"});
        }
        let response = json!({
            "description": failure.description,
            "headers": references(failure.headers),
            "content": {MEDIA_TYPE: {
                "schema": reference("schemas", "errors"),
                "example": example,
            }},
        });
        (failure.name.to_owned(), response)
    });
    let known = json!({
        "description": "The content is the same as that with the tag in If-None-Match.",
        "headers": references(&["Cache-Control", "ETag.any"]),
    });
    std::iter::once((NOT_MODIFIED.to_owned(), known)).chain(failures).collect()
}

/// References to the headers of every answer and to these.
pub(super) fn references(names: &[&str]) -> Value {
    let all = names.iter().chain(ALWAYS).map(|component| {
        // Components distinguish two kinds of some headers.
        let name = component.split('.').next().unwrap_or(component);
        (name.to_owned(), reference("headers", component))
    });
    Value::Object(all.collect())
}

/// A header with any text, which the answers that name it always have.
fn header(description: &str, example: &str) -> Value {
    json!({
        "description": description,
        "required": true,
        "schema": {"type": "string"},
        "example": example,
    })
}

/// The headers of answers.
pub(super) fn headers() -> Value {
    json!({
        "Accept-Encoding": {
            "description": "How a body may be encoded.",
            "required": true,
            "schema": {"type": "string", "const": "identity"},
            "example": "identity",
        },
        "Allow": header("The methods of the path.", "GET, HEAD, POST"),
        "Cache-Control": header(
            "A cache must ask again each time, and must not share the answer.",
            "private, no-cache",
        ),
        "Change-Outcome": {
            "description": "Sent if the change may or may not have been made: send the request again \
                under its Idempotency-Key, or look first.",
            "schema": {"type": "string", "const": "unknown"},
            "example": "unknown",
        },
        "Content-Disposition": header(
            "The name of the file.",
            "attachment; filename=\"zones-2026-01-31.csv\"",
        ),
        "ETag": {
            "description": "The version of the record and a digest of the document, as a strong tag. \
                That of a compressed answer ends with -gzip.",
            "required": true,
            "schema": {"type": "string", "pattern": "^\"[0-9]+-[0-9a-f]{16}(-gzip)?\"$"},
            "example": "\"17-0f343b0931126a20\"",
        },
        "ETag.any": {
            "description": "The tag of the content: a strong one of a single record, and a weak one \
                of anything else.",
            "required": true,
            "schema": {"type": "string", "pattern": "^(W/)?\"[0-9a-z-]+\"$"},
            "example": "W/\"3c1-9a0364b9e99bb480\"",
        },
        "Export-Cursor": {
            "description": "The cursor from which the feed of changes goes on after what was exported, for \
                page[after] of /changes.",
            "required": true,
            "schema": {"type": "string", "pattern": CURSOR},
            "example": "MmY1ZTE",
        },
        "Idempotent-Replayed": {
            "description": "Sent if this is the answer to an earlier request with the same \
                Idempotency-Key.",
            "schema": {"type": "string", "const": "true"},
            "example": "true",
        },
        "Location": {
            "description": "The path of the record, or of the list that contains it.",
            "required": true,
            "schema": {"type": "string", "format": "uri-reference"},
            "example": "/api/index.php/v1/shop/zones/1",
        },
        "Retry-After": {
            "description": "After how many seconds the request may be sent again.",
            "required": true,
            "schema": {"type": "integer", "minimum": 0},
            "example": 1,
        },
        "Retry-After.any": {
            "description": "After how many seconds the request may be sent again, where that is of use.",
            "schema": {"type": "integer", "minimum": 0},
            "example": 1,
        },
        "RateLimit": header(
            "How many more requests the token allows now (r), and in how many seconds more (t). Every answer \
             to a token with a rate has it.",
            "\"token\";r=0;t=17",
        ),
        "RateLimit-Policy": header(
            "How many requests (q) the token allows in a window of so many seconds (w). Every answer to a \
             token with a rate has it.",
            "\"token\";q=600;w=60",
        ),
        "Vary": header(
            "The headers of the request on which the answer depends.",
            "Accept, Authorization",
        ),
        "WWW-Authenticate": {
            "description": "The scheme of authentication. For a token that has expired, the error is \
                invalid_token.",
            "required": true,
            "schema": {"type": "string", "pattern": "^Bearer"},
            "example": "Bearer",
        },
        "WWW-Authenticate.scope": {
            "description": "The scope that the token lacks, if that is the reason.",
            "schema": {"type": "string", "pattern": "^Bearer error="},
            "example": "Bearer error=\"insufficient_scope\", scope=\"orders:edit\"",
        },
        "X-Request-Id": header(
            "The id of the request, by which the operator finds it in the log.",
            "4f1e731a20c8",
        ),
    })
}
