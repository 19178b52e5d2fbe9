//! Converts failures of a database into errors, as far as engines agree. The codes of each engine
//! are in its own file.

use crate::error::{Error, Fault, FaultKind};

/// Converts a failure that has no code of a server.
pub(super) fn without_code(error: sqlx::Error) -> Error {
    match error {
        // A connection that breaks off may leave bytes that cannot be parsed.
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => Error::Lost(error),
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Tls(_) => {
            Error::Unavailable(error)
        }
        _ => of_values(error),
    }
}

/// Converts a failure in values that the store has read.
pub(super) fn of_values(error: sqlx::Error) -> Error {
    let cause = match &error {
        sqlx::Error::ColumnDecode { source: cause, .. } | sqlx::Error::Decode(cause) => cause,
        _ => return Error::Database(error),
    };
    match cause.downcast_ref::<AboveLimit>() {
        Some(AboveLimit(limit)) => Fault::too_large(*limit).into(),
        None if cause.is::<TooLarge>() => too_large(),
        None => Error::Database(error),
    }
}

/// The columns of a unique index, which is named after its table and them: `table__column__column`.
pub(super) fn columns_of_index(name: &str) -> Vec<String> {
    name.split("__").skip(1).map(str::to_owned).collect()
}

/// A sum is too large to be represented.
#[derive(Debug, thiserror::Error)]
#[error("the number of units is too large")]
pub(super) struct TooLarge;

/// A page has more bytes than an answer may have.
#[derive(Debug, thiserror::Error)]
#[error("the page has more than {0} bytes")]
pub(super) struct AboveLimit(pub(super) usize);

/// The error that a request gets for a sum that is too large.
pub fn too_large() -> Error {
    Fault::new(FaultKind::Refused, "A sum is too large to be represented exactly.").into()
}

/// The error of a transaction that must be repeated, because a row that was there has gone.
pub fn interrupted() -> Error {
    Error::Conflict(sqlx::Error::RowNotFound)
}

/// The error of a request that has waited for others for too long.
pub fn busy() -> Error {
    Error::Unavailable(sqlx::Error::PoolTimedOut)
}
