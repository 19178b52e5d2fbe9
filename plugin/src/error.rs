//! Errors: typed inside, with one table of the status, code and title that each has outside.
//!
//! What a client reads is in a [`Fault`]. The cause of an internal error goes to the log with the
//! request's id and never to the client.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use sqlx::migrate::MigrateError;

/// What kind of fault it is: a row of the table below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The query has a member that the route does not know.
    UnknownParameter,
    /// A member of the query is given more than once.
    RepeatedParameter,
    /// A member of the query that controls a list is not of its form.
    InvalidParameter,
    /// A header that the request needs is missing or has another value.
    InvalidHeader,
    /// The body cannot be read.
    MalformedBody,
    /// A required field is missing.
    MissingField,
    /// The user lacks the permission.
    Forbidden,
    /// There is no such record.
    NotFound,
    /// The value of a filter is not of the type of its field.
    InvalidFilter,
    /// The body names a field that the resource does not have.
    UnknownField,
    /// A value is not of its field's kind, or beyond its limits.
    InvalidValue,
    /// A value refers to a record that does not exist.
    MissingReference,
    /// The body is encoded in a way that the store does not undo.
    UnsupportedEncoding,
    /// There are more faults than are reported.
    TooManyFaults,
    /// Another record has the value already.
    Duplicate,
    /// Other records refer to the record.
    Referenced,
    /// A rule of the store forbids it.
    Refused,
    /// The store itself failed.
    Internal,
    /// The database does not answer.
    Unavailable,
}

impl FaultKind {
    /// The table: status, code and title.
    pub const fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            FaultKind::UnknownParameter => (400, "unknown_parameter", "Unknown parameter"),
            FaultKind::RepeatedParameter => (400, "repeated_parameter", "Repeated parameter"),
            FaultKind::InvalidParameter => (400, "invalid_parameter", "Invalid parameter"),
            FaultKind::InvalidHeader => (400, "invalid_header", "Invalid header"),
            FaultKind::MalformedBody => (400, "malformed_body", "Malformed body"),
            FaultKind::MissingField => (400, "missing_field", "Missing field"),
            FaultKind::Forbidden => (403, "forbidden", "Forbidden"),
            FaultKind::NotFound => (404, "record_not_found", "Record not found"),
            FaultKind::UnsupportedEncoding => {
                (415, "unsupported_encoding", "Unsupported content encoding")
            }
            FaultKind::InvalidFilter => (422, "invalid_filter", "Invalid filter"),
            FaultKind::UnknownField => (422, "unknown_field", "Unknown field"),
            FaultKind::InvalidValue => (422, "invalid_value", "Invalid value"),
            FaultKind::MissingReference => (422, "missing_reference", "Missing reference"),
            FaultKind::Duplicate => (422, "duplicate", "Duplicate"),
            FaultKind::Referenced => (422, "referenced", "Still referenced"),
            FaultKind::Refused => (422, "refused", "Refused"),
            FaultKind::TooManyFaults => (422, "too_many_faults", "Too many faults"),
            FaultKind::Internal => (500, "internal_error", "Internal error"),
            FaultKind::Unavailable => (503, "unavailable", "Temporarily unavailable"),
        }
    }
}

/// How many faults of one request are reported.
pub const MAX_FAULTS: usize = 100;

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which kind.
    pub kind: FaultKind,
    /// A sentence for the client.
    pub detail: String,
    /// What in the request it is about.
    pub source: Option<Source>,
}

impl Fault {
    /// A fault of the request as a whole.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), source: None }
    }

    /// A fault of the body's member at this JSON pointer.
    pub fn at_pointer(kind: FaultKind, pointer: String, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), source: Some(Source::Pointer(pointer)) }
    }

    /// A fault of a member of the query.
    pub fn at_parameter(kind: FaultKind, name: &str, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), source: Some(Source::Parameter(name.to_owned())) }
    }

    /// A fault of a header.
    pub fn at_header(kind: FaultKind, name: &str, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), source: Some(Source::Header(name.to_owned())) }
    }
}

/// What a constraint that the database upheld was about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Values that another row has; the columns, where the engine names them.
    Unique(Vec<String>),
    /// A row that is referred to, or refers to nothing.
    Reference,
    /// A rule about the row itself.
    Check,
}

/// What part of a request a [`Fault`] is about.
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

/// Why a request could not be answered as it was meant.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is at fault, in one way or several.
    #[error("{} fault(s) in the request", .0.len())]
    Faults(Vec<Fault>),
    /// The database cannot be reached, is busy beyond patience, or cannot write.
    #[error("the database is unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// Another writer was in the way. The transaction was undone, and may be tried again.
    #[error("other writers interfered")]
    Conflict(#[source] sqlx::Error),
    /// The connection was lost before anything was committed; it may be tried again.
    #[error("the connection to the database was lost")]
    Lost(#[source] sqlx::Error),
    /// The database did something that it must not.
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
    /// The database upheld a constraint that validation should have.
    #[error("a constraint of the database was violated")]
    Constraint(Constraint, #[source] sqlx::Error),
    /// The file of the database cannot be opened for writing.
    #[error("{} cannot be written", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    /// The tables could not be created or brought up to date.
    #[error("the migration failed")]
    Migration(#[source] MigrateError),
    /// The tables are ahead of this program.
    #[error("the tables of the store are newer than this program, which has no migration {0}")]
    Newer(i64),
    /// A migration was interrupted on an engine that cannot undo one.
    #[error(
        "migration {0} of the store's tables was interrupted half-way; restore the database from a \
         backup, or finish the migration by hand and mark it as done in shop_migrations"
    )]
    HalfMigrated(i64),
    /// The host could not be asked.
    #[error("the host failed")]
    Host(#[from] host_interface::Error),
    /// Data from the database or to be written are not of their form.
    #[error("unexpected data: {0}")]
    Data(#[from] serde_json::Error),
    /// A rule of the store reads a field that the record does not have, or has as another type.
    #[error("{of} has no {field} of the type that was asked for")]
    Field {
        /// The kind of the record.
        of: &'static str,
        /// The field.
        field: String,
    },
    /// The store cannot be copied as it is, or the copy is not the same.
    #[error("{0}")]
    Copy(String),
    /// Counting anew was begun a second time.
    #[error(
        "another recount has begun and does what is left; what this one has mended stays mended"
    )]
    Superseded,
    /// What others asked for, too, has failed for all of them.
    #[error(transparent)]
    Shared(Arc<Error>),
    /// The plugin was asked for something that it never offered.
    #[error("{0}")]
    Contract(&'static str),
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Error::Faults(vec![fault])
    }
}

impl From<Vec<Fault>> for Error {
    fn from(faults: Vec<Fault>) -> Self {
        Error::Faults(faults)
    }
}

impl Error {
    /// What a failed migration means.
    pub fn of_migration(error: MigrateError) -> Self {
        match error {
            MigrateError::VersionMissing(version) => Error::Newer(version),
            MigrateError::Dirty(version) => Error::HalfMigrated(version),
            error => Error::Migration(error),
        }
    }

    /// Whether the same may succeed when it is tried again at once. A constraint that only the
    /// database could uphold is found by validation then, which names the field.
    pub fn may_pass(&self) -> bool {
        matches!(self, Error::Conflict(_) | Error::Lost(_) | Error::Constraint(..))
    }

    /// What is wrong with the request, where that is all.
    pub fn faults(&self) -> Option<&[Fault]> {
        match self {
            Error::Faults(faults) => Some(faults),
            Error::Shared(error) => error.faults(),
            _ => None,
        }
    }

    /// Whether the same may succeed later.
    pub fn passes(&self) -> bool {
        match self {
            Error::Unavailable(_) | Error::Conflict(_) | Error::Lost(_) => true,
            Error::Shared(error) => error.passes(),
            _ => false,
        }
    }
}

/// An error and what caused it, on one line. Errors that repeat their cause are heard once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}
