//! Futures that cross the boundary: one type, with every panic caught on the side that made it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use abi_stable::std_types::RString;
use async_ffi::FfiFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::outcome::Outcome;
use crate::panic::{Contained, attempt};

/// A future as it crosses.
pub(crate) type RawFuture<T> = FfiFuture<Outcome<T>>;

/// Makes a future ready to cross: a panic in it becomes [`Error::Panicked`].
pub(crate) fn guard<T: Send + 'static>(
    future: impl Future<Output = Result<T, Error>> + Send + 'static,
) -> RawFuture<T> {
    FfiFuture::new(Caught(Contained::new(future)))
}

/// A future that has failed already.
pub(crate) fn failed<T: Send + 'static>(error: Error) -> RawFuture<T> {
    FfiFuture::new(std::future::ready(Outcome::from_result(Err(error))))
}

/// Calls what makes a future, and makes the future ready to cross. A panic of the call becomes the
/// failure of the future.
pub(crate) fn begin<T, F>(call: impl FnOnce() -> F) -> RawFuture<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    match attempt(call) {
        Ok(future) => guard(future),
        Err(panic) => failed(panic),
    }
}

/// Answers a call whose input and result are JSON. An input that cannot be read is of a later version,
/// because both sides write it with this crate: the call is not supported then.
pub(crate) fn answer<I, T, F>(input: &str, call: impl FnOnce(I) -> F) -> RawFuture<RString>
where
    I: DeserializeOwned,
    T: Serialize,
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    answer_with(input, |input| {
        let work = call(input);
        async move {
            let done = work.await?;
            serde_json::to_string(&done).map(RString::from).map_err(Error::contract)
        }
    })
}

/// Answers such a call whose result crosses as it is.
pub(crate) fn answer_with<I, T, F>(input: &str, call: impl FnOnce(I) -> F) -> RawFuture<T>
where
    I: DeserializeOwned,
    T: Send + 'static,
    F: Future<Output = Result<T, Error>> + Send + 'static,
{
    match serde_json::from_str(input) {
        Ok(input) => begin(|| call(input)),
        Err(error) => failed(Error::Unsupported(format!("the input of this call: {error}"))),
    }
}

/// A future that panics neither when it is polled nor when it is dropped.
struct Caught<F>(Contained<F>);

impl<T, F: Future<Output = Result<T, Error>>> Future for Caught<F> {
    type Output = Outcome<T>;

    #[allow(unsafe_code, reason = "pins the only field")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: the future never moves: it is only polled through this projection, and `Contained`
        // drops it in place. `Caught` has no destructor of its own, and is `Unpin` only if `F` is,
        // because it contains nothing else.
        let future = unsafe { self.map_unchecked_mut(|caught| &mut *caught.0) };
        match attempt(|| future.poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(result)) => Poll::Ready(Outcome::from_result(result)),
            Err(panic) => Poll::Ready(Outcome::from_result(Err(panic))),
        }
    }
}
