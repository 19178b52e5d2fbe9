//! What failures of a database mean to a request, as far as that is the same on several engines. Each
//! engine's file knows the codes of its own.

use crate::error::{Error, Fault, FaultKind};

/// What a failure means that no server has given a code.
pub(super) fn without_code(error: sqlx::Error) -> Error {
    match error {
        // A conversation that breaks off may leave bytes that make no sense.
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => Error::Lost(error),
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Tls(_) => {
            Error::Unavailable(error)
        }
        sqlx::Error::ColumnDecode { source: cause, .. } | sqlx::Error::Decode(cause)
            if cause.is::<TooLarge>() =>
        {
            too_large()
        }
        _ => Error::Database(error),
    }
}

/// The columns of a unique index, which is named after its table and them: `table__column__column`.
pub(super) fn columns_of_index(name: &str) -> Vec<String> {
    name.split("__").skip(1).map(str::to_owned).collect()
}

/// A sum is beyond what is counted.
#[derive(Debug, thiserror::Error)]
#[error("more units than can be counted")]
pub(super) struct TooLarge;

/// What a sum that is beyond what is counted means to a request.
pub fn too_large() -> Error {
    Fault::new(FaultKind::Refused, "A sum is too large to be represented exactly.").into()
}

/// What it means to a request that it had to wait for others for too long.
pub fn busy() -> Error {
    Error::Unavailable(sqlx::Error::PoolTimedOut)
}
