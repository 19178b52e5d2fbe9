//! Changes under way. What changes something runs on a task of its own and to its end, whether or
//! not the client still waits for it: a change that is given up half-way may have happened all the
//! same, and nothing would record it. Their number is bounded, and the end of the server waits for
//! them. Does not know what is changed.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

/// The changes that are under way, and the places for more.
pub(crate) struct Changes {
    places: Arc<Semaphore>,
    all: u32,
    cut: watch::Sender<bool>,
}

/// A place for one change.
pub(crate) struct Place(OwnedSemaphorePermit);

impl Changes {
    /// Room for so many.
    pub(crate) fn new(places: usize) -> Self {
        let all = u32::try_from(places).unwrap_or(u32::MAX);
        Self { places: Arc::new(Semaphore::new(all as usize)), all, cut: watch::Sender::new(false) }
    }

    /// A place, as soon as there is one; none at the end of the server.
    pub(crate) async fn place(&self) -> Option<Place> {
        Arc::clone(&self.places).acquire_owned().await.ok().map(Place)
    }

    /// Runs a change to its end. Only the end of the server cuts it off, which gives nothing.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        place: Place,
        change: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let mut cut = self.cut.subscribe();
        let task = async move {
            let done = tokio::select! {
                done = change => Some(done),
                _ = cut.wait_for(|cut| *cut) => None,
            };
            drop(place.0);
            done
        };
        tokio::spawn(task.in_current_span())
    }

    /// Waits until none is under way. Those that are left at `patience` are cut off, and waited for
    /// until `end`: whatever holds a thread does not notice that it has been cut off.
    pub(crate) async fn finish(&self, patience: Instant, end: Instant) {
        if timeout_at(patience, self.places.acquire_many(self.all)).await.is_err() {
            tracing::warn!("changes that took too long to finish were aborted");
            self.cut.send_replace(true);
            if timeout_at(end, self.places.acquire_many(self.all)).await.is_err() {
                tracing::warn!("a change could not be aborted");
            }
        }
        self.places.close();
    }
}
