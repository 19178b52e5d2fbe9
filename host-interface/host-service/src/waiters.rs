//! The places of requests that wait: those whose answers a plugin may hold open. Their number is limited,
//! and the application may learn when a wait begins and ends. Knows nothing of what they wait for.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::http::HeaderValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Learns when a request waits. An application stores it in the extensions of a request, for example to
/// leave its connection out of a limit for so long.
#[derive(Clone)]
pub struct OnWait(Arc<dyn Fn() -> Box<dyn Send> + Send + Sync>);

impl OnWait {
    /// `begin` is called when the request is granted a wait. What it returns is dropped when the wait
    /// ends: with the answer, when its time has passed, or when the client disconnects.
    pub fn new<G: Send + 'static>(begin: impl Fn() -> G + Send + Sync + 'static) -> Self {
        Self(Arc::new(move || Box::new(begin())))
    }
}

impl std::fmt::Debug for OnWait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OnWait").finish_non_exhaustive()
    }
}

/// The places.
#[derive(Debug)]
pub(crate) struct Waiters(Arc<Semaphore>);

impl Waiters {
    /// So many places.
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))))
    }

    /// Grants a wait of so many seconds, if a place is free.
    pub(crate) fn grant(&self, seconds: u64, on_wait: Option<&OnWait>) -> Option<Wait> {
        let place = Arc::clone(&self.0).try_acquire_owned().ok()?;
        Some(Wait { seconds, _place: place, _begun: on_wait.map(|on_wait| (on_wait.0)()) })
    }

    /// Grants no more waits.
    pub(crate) fn close(&self) {
        self.0.close();
    }
}

/// A wait that is granted. It ends when this is dropped.
pub(crate) struct Wait {
    seconds: u64,
    _place: OwnedSemaphorePermit,
    _begun: Option<Box<dyn Send>>,
}

impl Wait {
    /// Its longest duration.
    pub(crate) fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// The number of seconds, as the plugin gets it.
    pub(crate) fn seconds(&self) -> String {
        self.seconds.to_string()
    }

    /// The value of the header `Preference-Applied`.
    pub(crate) fn applied(&self) -> HeaderValue {
        let value = HeaderValue::try_from(format!("wait={}", self.seconds));
        // A number is always valid in a header.
        value.unwrap_or(HeaderValue::from_static("wait"))
    }

    /// Waits for an answer. When the time of the wait has passed, the place is free, and the answer is
    /// waited for without it.
    pub(crate) async fn during<T>(self, answering: impl Future<Output = T>) -> T {
        let mut answering = pin!(answering);
        let answered = timeout(self.time(), answering.as_mut()).await;
        drop(self);
        match answered {
            Ok(answer) => answer,
            Err(_) => answering.await,
        }
    }
}
