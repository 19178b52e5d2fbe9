//! The result of a call as it crosses. Both sides see a [`Result`] instead.
#![allow(unreachable_pub, missing_docs, reason = "generated code names it")]

use abi_stable::StableAbi;
use abi_stable::std_types::RString;

use crate::error::Error;

/// How the result of a call crosses.
#[repr(C, u8)]
#[derive(StableAbi)]
pub enum Outcome<T> {
    Done(T),
    Failed(RString),
    Panicked(RString),
    Refused(RString),
}

impl<T> Outcome<T> {
    pub fn from_result(result: Result<T, Error>) -> Self {
        match result {
            Ok(value) => Outcome::Done(value),
            Err(Error::Panicked(message)) => Outcome::Panicked(message.into()),
            Err(Error::Refused(reason)) => Outcome::Refused(reason.into()),
            Err(error) => Outcome::Failed(error.to_string().into()),
        }
    }

    pub fn into_result(self) -> Result<T, Error> {
        match self {
            Outcome::Done(value) => Ok(value),
            Outcome::Failed(message) => Err(Error::Failed(message.into())),
            Outcome::Panicked(message) => Err(Error::Panicked(message.into())),
            Outcome::Refused(reason) => Err(Error::Refused(reason.into())),
        }
    }
}
