//! The result of a call as it crosses. Both sides see a [`Result`] instead.
#![allow(unreachable_pub, missing_docs, reason = "generated code names it")]

use abi_stable::StableAbi;
use abi_stable::std_types::RString;

use crate::error::Error;

/// How the result of a call crosses. Frozen for the major version.
#[repr(C, u8)]
#[derive(StableAbi)]
pub enum Outcome<T> {
    Done(T),
    Failed(Failure),
}

/// Why a call failed, as it crosses. Frozen for the major version; what may be added later is another
/// `code`, which a side that does not know it treats as `failed`.
#[repr(C)]
#[derive(Clone, Debug, StableAbi)]
pub struct Failure {
    /// What kind of failure it is, for programs.
    pub code: RString,
    /// One line, for people.
    pub message: RString,
    /// What the code needs beside it, for programs; mostly empty.
    pub details: RString,
}

/// The codes of failures.
pub mod code {
    pub const FAILED: &str = "failed";
    pub const REFUSED: &str = "refused";
    pub const PANICKED: &str = "panicked";
    pub const CONTRACT: &str = "contract";
    pub const UNSUPPORTED: &str = "unsupported";
    pub const FORBIDDEN: &str = "forbidden";
    pub const INSUFFICIENT_SCOPE: &str = "insufficient_scope";
}

impl Failure {
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into().into(), details: RString::new() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Failed(message) => Self::new(code::FAILED, message),
            Error::Refused(message) => Self::new(code::REFUSED, message),
            Error::Panicked(message) => Self::new(code::PANICKED, message),
            Error::Contract(message) => Self::new(code::CONTRACT, message),
            Error::Unsupported(message) => Self::new(code::UNSUPPORTED, message),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let message = String::from(failure.message);
        match failure.code.as_str() {
            code::REFUSED => Self::Refused(message),
            code::PANICKED => Self::Panicked(message),
            code::CONTRACT => Self::Contract(message),
            code::UNSUPPORTED => Self::Unsupported(message),
            // Also the codes of later versions.
            _ => Self::Failed(message),
        }
    }
}

impl<T> Outcome<T> {
    pub fn from_result(result: Result<T, Error>) -> Self {
        match result {
            Ok(value) => Outcome::Done(value),
            Err(error) => Outcome::Failed(error.into()),
        }
    }

    pub fn into_result(self) -> Result<T, Error> {
        match self {
            Outcome::Done(value) => Ok(value),
            Outcome::Failed(failure) => Err(failure.into()),
        }
    }
}
