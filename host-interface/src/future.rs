//! The one future type that crosses the boundary.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll};

use abi_stable::StableAbi;
use async_ffi::FfiFuture;

use crate::error::Error;
use crate::outcome::Outcome;
use crate::panic::attempt;

/// A boxed future whose panics are caught, so that it may be polled by another library.
///
/// Awaiting it gives the value, or [`Error::Panicked`] where the future panicked.
#[repr(transparent)]
#[derive(StableAbi)]
pub struct BoxFuture<T>(FfiFuture<Outcome<T>>);

impl<T: Send + 'static> BoxFuture<T> {
    /// Boxes a future.
    pub fn new(future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(FfiFuture::new(Caught { future: ManuallyDrop::new(future) }))
    }

    /// A future that is ready at once.
    pub fn ready(value: T) -> Self {
        Self::new(std::future::ready(value))
    }
}

impl<T> Future for BoxFuture<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(Outcome::into_result)
    }
}

/// A future that panics neither when it is polled nor when it is dropped.
struct Caught<F> {
    future: ManuallyDrop<F>,
}

impl<F: Future> Future for Caught<F> {
    type Output = Outcome<F::Output>;

    #[allow(unsafe_code, reason = "pins the only field")]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `future` is never moved out of `self`: it is only ever polled through this
        // pinned projection and dropped in place below. `Caught` is `Unpin` only if `F` is,
        // because it contains nothing else.
        let future = unsafe { self.map_unchecked_mut(|caught| &mut *caught.future) };
        match attempt(|| future.poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Outcome::Done(value)),
            Err(panic) => Poll::Ready(Outcome::from_result(Err(panic))),
        }
    }
}

impl<F> Drop for Caught<F> {
    #[allow(unsafe_code, reason = "drops the only field where a panic can be caught")]
    fn drop(&mut self) {
        // SAFETY: `future` is dropped exactly once, here, and not touched afterwards. It is
        // dropped in place, as pinning demands.
        let dropped = attempt(|| unsafe { ManuallyDrop::drop(&mut self.future) });
        // A future that cannot be dropped has nobody left to tell.
        drop(dropped);
    }
}
