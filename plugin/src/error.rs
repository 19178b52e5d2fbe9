//! Errors: typed internally, with one table of the status, code and title that clients get for
//! each.
//!
//! A [`Fault`] is what a client reads. The cause of an internal error goes to the log with the
//! request's id, and never to the client.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value as Json;
use sqlx::migrate::MigrateError;

/// A kind of fault: a row of the table below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The query has a parameter that the route does not have.
    UnknownParameter,
    /// A parameter of the query is given more than once.
    RepeatedParameter,
    /// A parameter of the query that controls a list is malformed.
    InvalidParameter,
    /// A header that the request needs is missing or has another value.
    InvalidHeader,
    /// The body cannot be read.
    MalformedBody,
    /// A required field is missing.
    MissingField,
    /// The user lacks the permission.
    Forbidden,
    /// The token lacks the scope, whatever its user may do.
    InsufficientScope,
    /// There is no such record.
    NotFound,
    /// The answer would be larger than the host allows.
    AnswerTooLarge,
    /// The record has another version than the client expects.
    VersionMismatch,
    /// The cursor of a client cannot be continued.
    CursorExpired,
    /// Another request with the same key is in progress.
    RequestInProgress,
    /// The key of the request belongs to another one.
    KeyReused,
    /// The site requires clients to send the version that they expect.
    PreconditionRequired,
    /// The value of a filter is not of the type of its field.
    InvalidFilter,
    /// The body names a field that the resource does not have.
    UnknownField,
    /// A value does not have its field's type, or is outside its limits.
    InvalidValue,
    /// A value refers to a record that does not exist.
    MissingReference,
    /// The body is encoded in a way that the store does not support.
    UnsupportedEncoding,
    /// There are more faults than the store reports.
    TooManyFaults,
    /// Another record already has the value.
    Duplicate,
    /// Other records refer to the record.
    Referenced,
    /// A rule of the store forbids it.
    Refused,
    /// The stock has another quantity than the client expects.
    StockChanged,
    /// There is less in stock than is to be taken.
    InsufficientStock,
    /// The stock of a product is with its variants.
    StockIsWithVariants,
    /// A product has several variants, and none of them is named.
    VariantRequired,
    /// More is to be shipped than is open.
    OverFulfilled,
    /// More is to be given back than is left.
    OverRefunded,
    /// A refund is undone already, or undoes another one.
    AlreadyReversed,
    /// The site requires a key of a write that has none.
    KeyRequired,
    /// The store itself failed.
    Internal,
    /// The database does not answer.
    Unavailable,
    /// A file to import cannot be read as a table.
    InvalidTable,
    /// A file that is sent again is not the same as before.
    FileChanged,
    /// The body has more bytes than are accepted.
    BodyTooLarge,
}

impl FaultKind {
    /// The table of status, code and title.
    pub const fn row(self) -> (u16, &'static str, &'static str) {
        match self {
            FaultKind::UnknownParameter => (400, "unknown_parameter", "Unknown parameter"),
            FaultKind::RepeatedParameter => (400, "repeated_parameter", "Repeated parameter"),
            FaultKind::InvalidParameter => (400, "invalid_parameter", "Invalid parameter"),
            FaultKind::InvalidHeader => (400, "invalid_header", "Invalid header"),
            FaultKind::MalformedBody => (400, "malformed_body", "Malformed body"),
            FaultKind::InvalidTable => (400, "invalid_table", "Invalid table"),
            FaultKind::MissingField => (400, "missing_field", "Missing field"),
            FaultKind::KeyRequired => (400, "idempotency_key_required", "Idempotency key required"),
            FaultKind::Forbidden => (403, "forbidden", "Forbidden"),
            FaultKind::InsufficientScope => (403, "insufficient_scope", "Insufficient scope"),
            FaultKind::NotFound => (404, "record_not_found", "Record not found"),
            FaultKind::RequestInProgress => (409, "request_in_progress", "Request in progress"),
            FaultKind::FileChanged => (409, "file_changed", "File changed"),
            FaultKind::CursorExpired => (410, "cursor_expired", "Cursor expired"),
            FaultKind::AnswerTooLarge => (413, "answer_too_large", "Answer too large"),
            FaultKind::BodyTooLarge => (413, "body_too_large", "Body too large"),
            FaultKind::VersionMismatch => (412, "version_mismatch", "Version mismatch"),
            FaultKind::PreconditionRequired => {
                (428, "precondition_required", "Precondition required")
            }
            FaultKind::UnsupportedEncoding => {
                (415, "unsupported_encoding", "Unsupported content encoding")
            }
            FaultKind::KeyReused => (422, "idempotency_key_reused", "Idempotency key reused"),
            FaultKind::InvalidFilter => (422, "invalid_filter", "Invalid filter"),
            FaultKind::UnknownField => (422, "unknown_field", "Unknown field"),
            FaultKind::InvalidValue => (422, "invalid_value", "Invalid value"),
            FaultKind::MissingReference => (422, "missing_reference", "Missing reference"),
            FaultKind::Duplicate => (422, "duplicate", "Duplicate"),
            FaultKind::Referenced => (422, "referenced", "Still referenced"),
            FaultKind::Refused => (422, "refused", "Refused"),
            FaultKind::StockChanged => (422, "stock_changed", "Stock changed"),
            FaultKind::InsufficientStock => (422, "insufficient_stock", "Insufficient stock"),
            FaultKind::StockIsWithVariants => {
                (422, "stock_is_with_variants", "Stock is with variants")
            }
            FaultKind::VariantRequired => (422, "variant_required", "Variant required"),
            FaultKind::OverFulfilled => (422, "over_fulfilled", "More than is open"),
            FaultKind::OverRefunded => (422, "over_refunded", "More than is left"),
            FaultKind::AlreadyReversed => (422, "already_reversed", "Already reversed"),
            FaultKind::TooManyFaults => (422, "too_many_faults", "Too many faults"),
            FaultKind::Internal => (500, "internal_error", "Internal error"),
            FaultKind::Unavailable => (503, "unavailable", "Temporarily unavailable"),
        }
    }
}

/// How many faults of one request are reported.
pub const MAX_FAULTS: usize = 100;

/// A fault of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// A sentence for the client.
    pub detail: String,
    /// The part of the request that caused the fault.
    pub source: Option<Source>,
    /// What a program needs to go on: a number, a list of them, or an object.
    pub meta: Option<Box<(&'static str, Json)>>,
    /// The path from which a client has to start over.
    pub first: Option<Box<str>>,
    /// The credentials that the client lacks, as the header `WWW-Authenticate` names them.
    pub challenge: Option<Box<str>>,
}

/// A number in the `meta` of a document, after its name.
pub type Named = (&'static str, i64);

impl Fault {
    /// A fault of the request as a whole.
    pub fn new(kind: FaultKind, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { kind, detail, source: None, meta: None, first: None, challenge: None }
    }

    /// A fault of the member of the body at this JSON pointer.
    pub fn at_pointer(kind: FaultKind, pointer: String, detail: impl Into<String>) -> Self {
        Self::at(kind, detail, Source::Pointer(pointer))
    }

    /// A fault of a query parameter.
    pub fn at_parameter(kind: FaultKind, name: &str, detail: impl Into<String>) -> Self {
        Self::at(kind, detail, Source::Parameter(name.to_owned()))
    }

    /// A fault of a header.
    pub fn at_header(kind: FaultKind, name: &str, detail: impl Into<String>) -> Self {
        Self::at(kind, detail, Source::Header(name.to_owned()))
    }

    /// A fault of a request whose answer would have more bytes than this limit.
    pub fn too_large(limit: usize) -> Self {
        let detail = format!(
            "The answer would have more than {limit} bytes. Ask for fewer records with page[limit], or for \
             fewer fields with fields[<type>]."
        );
        Self::new(FaultKind::AnswerTooLarge, detail)
    }

    /// Adds a named number, a list of them, or an object, which programs can read from the error.
    pub fn with_meta(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.meta = Some(Box::new((name, value.into())));
        self
    }

    /// Adds the path at which a client has to start over.
    pub fn starting_over_at(mut self, path: String) -> Self {
        self.first = Some(path.into());
        self
    }

    /// Adds a challenge, which names the credentials that the client lacks.
    pub fn challenging(mut self, challenge: Option<String>) -> Self {
        self.challenge = challenge.map(Into::into);
        self
    }

    fn at(kind: FaultKind, detail: impl Into<String>, source: Source) -> Self {
        Self { source: Some(source), ..Self::new(kind, detail) }
    }
}

/// The subject of a constraint that the database enforced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Constraint {
    /// Another row has the same values; the columns, if the engine reports them.
    Unique(Vec<String>),
    /// A row that is still referred to, or that refers to a missing row.
    Reference,
    /// A rule on the row itself.
    Check,
}

/// The part of a request that caused a [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A JSON pointer (RFC 6901) into the body.
    Pointer(String),
    /// The name of a query parameter.
    Parameter(String),
    /// The name of a header.
    Header(String),
}

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request has one or more faults.
    #[error("{} fault(s) in the request", .0.len())]
    Faults(Vec<Fault>),
    /// The database cannot be reached, or is overloaded.
    #[error("the database is unavailable")]
    Unavailable(#[source] sqlx::Error),
    /// The database cannot write, because its disk is full or it is read-only. It can be read.
    #[error("the database cannot be written")]
    Unwritable(#[source] sqlx::Error),
    /// Another writer interfered. The transaction was rolled back and may be repeated.
    #[error("other writers interfered")]
    Conflict(#[source] sqlx::Error),
    /// The connection was lost before anything was committed; the work may be repeated.
    #[error("the connection to the database was lost")]
    Lost(#[source] sqlx::Error),
    /// The database has not answered to a commit, so the change may or may not have been made.
    #[error("the database did not answer to a commit")]
    Undecided(#[source] sqlx::Error),
    /// The answers under way take as much memory as they may.
    #[error("the answers under way take too much memory")]
    Crowded,
    /// The database failed in an unexpected way.
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
    /// The database enforced a constraint that validation had missed.
    #[error("a constraint of the database was violated")]
    Constraint(Constraint, #[source] sqlx::Error),
    /// The file of the database cannot be opened for writing.
    #[error("{} cannot be written", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    /// The tables could not be created or brought up to date.
    #[error("the migration failed")]
    Migration(#[source] MigrateError),
    /// The tables are newer than this program.
    #[error("the tables of the store are newer than this program, which has no migration {0}")]
    Newer(i64),
    /// The tables were created by a program from before the first release.
    #[error(
        "the tables of the store were created by an unreleased version of this program; serve them with \
         that version, and move the records through its API to a store in an empty database"
    )]
    Unreleased,
    /// The derived objects are newer than this program.
    #[error(
        "the triggers and sums of the store are newer than this program: their number is {0}, and this \
         program has number {1}"
    )]
    NewerObjects(i64, i64),
    /// A migration was interrupted on an engine without transactional migrations.
    #[error(
        "migration {0} of the store's tables was interrupted half-way; restore the database from a \
         backup, or finish the migration by hand and mark it as done in shop_migrations"
    )]
    HalfMigrated(i64),
    /// A call of the host failed.
    #[error("the host failed")]
    Host(#[from] host_interface::Error),
    /// Data that were read or are to be written are malformed.
    #[error("unexpected data: {0}")]
    Data(#[from] serde_json::Error),
    /// A rule of the store uses a field that the record does not have, or that has another type.
    #[error("{of} has no {field} of the requested type")]
    Field {
        /// The kind of the record.
        of: &'static str,
        /// The field.
        field: String,
    },
    /// A column holds something of another type than it must. It is never read as 0 or as empty text,
    /// because sums of money would be wrong without anybody noticing.
    #[error("the column {column} holds {holds}, but must hold {must}")]
    Column {
        /// The column.
        column: String,
        /// What it must hold.
        must: &'static str,
        /// What it holds.
        holds: &'static str,
    },
    /// The write with the key of the request has been done before, with this answer.
    #[error("the write has been done before")]
    Repeated(Box<StoredAnswer>),
    /// The store cannot be copied in its present state, or the copy differs.
    #[error("{0}")]
    Copy(String),
    /// Another recount began meanwhile.
    #[error("another recount has begun and will do the rest; the repairs of this one remain")]
    Superseded,
    /// Another request goes on with the work.
    #[error("another request has taken over")]
    TakenOver,
    /// A computation that several requests shared has failed.
    #[error(transparent)]
    Shared(Arc<Error>),
    /// The contract between host and plugin was violated.
    #[error("{0}")]
    Contract(&'static str),
}

/// The answer to a write with a key, as it is stored for repetitions of the write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredAnswer {
    /// The HTTP status.
    pub status: i64,
    /// The header `Location`; empty without one.
    pub location: String,
    /// The header `ETag`; empty without one.
    pub etag: String,
    /// The body, encoded.
    pub body: String,
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
    /// The error for a column that holds something of another type than it must.
    pub fn column(column: &str, must: &'static str, holds: &'static str) -> Self {
        Error::Column { column: column.to_owned(), must, holds }
    }

    /// Names the line of a file that a fault was found in, whose sentence begins in the middle.
    #[must_use]
    pub fn in_line(mut self, line: u64) -> Self {
        if let Error::Faults(faults) = &mut self {
            for fault in faults {
                fault.detail = format!("Line {line}: {}", fault.detail);
            }
        }
        self
    }

    /// Converts the failure of a connection on which the tables were to be migrated.
    pub fn of_connection(error: sqlx::Error) -> Self {
        Error::Migration(error.into())
    }

    /// Converts the failure of a migration.
    pub fn of_migration(error: MigrateError) -> Self {
        match error {
            MigrateError::VersionMissing(version) => Error::Newer(version),
            MigrateError::Dirty(version) => Error::HalfMigrated(version),
            error => Error::Migration(error),
        }
    }

    /// Whether an immediate repetition may succeed. After a constraint that only the database
    /// noticed, validation finds the cause and names the field.
    pub fn may_pass(&self) -> bool {
        matches!(self, Error::Conflict(_) | Error::Lost(_) | Error::Constraint(..))
    }

    /// The faults of the request, if these are the whole error.
    pub fn faults(&self) -> Option<&[Fault]> {
        match self {
            Error::Faults(faults) => Some(faults),
            Error::Shared(error) => error.faults(),
            _ => None,
        }
    }

    /// Whether the answer would be too large.
    pub fn is_too_large(&self) -> bool {
        let faults = self.faults().unwrap_or_default();
        faults.iter().any(|fault| fault.kind == FaultKind::AnswerTooLarge)
    }

    /// Whether the same work may succeed later.
    pub fn passes(&self) -> bool {
        match self {
            Error::Unavailable(_)
            | Error::Unwritable(_)
            | Error::Conflict(_)
            | Error::Lost(_)
            | Error::Undecided(_)
            | Error::Crowded => true,
            Error::Shared(error) => error.passes(),
            _ => false,
        }
    }
}

/// An error and its causes on one line. The message of an error that repeats its cause is included
/// once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |text, cause| {
        if text.ends_with(&cause) { text } else { format!("{text}: {cause}") }
    })
}
