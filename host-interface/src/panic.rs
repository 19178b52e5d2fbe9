//! Catching panics before they reach the boundary, where they would end the process. Knows nothing of what
//! is called or dropped.

use std::any::Any;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
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

/// A value of an author's type that the other side may drop: a panic of its destructor is caught.
pub(crate) struct Contained<T>(ManuallyDrop<T>);

impl<T> Contained<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T> Deref for Contained<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Contained<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Drop for Contained<T> {
    #[allow(unsafe_code, reason = "drops the value where a panic can be caught")]
    fn drop(&mut self) {
        // SAFETY: this is the only place that drops the value. It runs once, and nothing can reach the
        // value afterwards. The value is dropped in place, so it may be pinned.
        let dropped = attempt(|| unsafe { ManuallyDrop::drop(&mut self.0) });
        // There is nowhere left to report a value that cannot be dropped.
        drop(dropped);
    }
}

/// The text of a panic. A payload of another type is leaked, because its destructor is foreign code
/// that may panic again.
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
