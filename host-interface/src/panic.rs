//! Catching panics before they reach the boundary, where they would end the process.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::Error;
use crate::outcome::Outcome;

/// Runs `call`; a panic in it becomes [`Error::Panicked`].
///
/// The closure is asserted to be unwind safe: what it shares with later calls is the author's
/// own data behind `&self`, whose locks are poisoned by a panic as everywhere in Rust.
pub(crate) fn catch<T>(call: impl FnOnce() -> Result<T, Error>) -> Outcome<T> {
    Outcome::from_result(attempt(call).and_then(|result| result))
}

/// Runs `call` and gives its value, or what it panicked with.
pub(crate) fn attempt<T>(call: impl FnOnce() -> T) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| Error::Panicked(message(payload)))
}

/// The text of a panic. A payload that is no text is left undropped, because its destructor is
/// foreign code that may panic again.
fn message(payload: Box<dyn Any + Send>) -> String {
    if let Some(text) = payload.downcast_ref::<&'static str>() {
        return (*text).to_owned();
    }
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(other) => {
            std::mem::forget(other);
            "with a value that is no text".to_owned()
        }
    }
}
