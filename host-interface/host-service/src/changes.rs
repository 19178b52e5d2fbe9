//! The changes in progress. Each runs to its end in a task of its own, even if its client
//! disconnects: a change that is cancelled may still have happened, and nothing would record it.
//! Their number is limited, and the host waits for them when it stops.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

/// The limit of concurrent changes, and the signal to abort them.
#[derive(Debug)]
pub struct Changes {
    slots: Arc<Semaphore>,
    all: u32,
    abort: watch::Sender<bool>,
}

/// The permit for one change.
#[derive(Debug)]
pub struct Slot(OwnedSemaphorePermit);

impl Changes {
    /// A limit of so many concurrent changes.
    pub fn new(slots: usize) -> Self {
        let all = u32::try_from(slots).unwrap_or(u32::MAX);
        Self {
            slots: Arc::new(Semaphore::new(all as usize)),
            all,
            abort: watch::Sender::new(false),
        }
    }

    /// Waits for a permit; `None` once the host has stopped.
    pub async fn slot(&self) -> Option<Slot> {
        Arc::clone(&self.slots).acquire_owned().await.ok().map(Slot)
    }

    /// Runs a change to its end; `None` if it is aborted because the host stops.
    pub fn run<T: Send + 'static>(
        &self,
        slot: Slot,
        change: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<Option<T>> {
        let mut abort = self.abort.subscribe();
        let task = async move {
            let done = tokio::select! {
                done = change => Some(done),
                _ = abort.wait_for(|abort| *abort) => None,
            };
            drop(slot.0);
            done
        };
        tokio::spawn(task.in_current_span())
    }

    /// Waits until no change is in progress. The changes that still run at `finish_by` are aborted,
    /// and waited for until `abort_by`, because a change that blocks its thread cannot be aborted.
    pub async fn finish(&self, finish_by: Instant, abort_by: Instant) {
        if timeout_at(finish_by, self.slots.acquire_many(self.all)).await.is_err() {
            tracing::warn!("changes that took too long to finish were aborted");
            self.abort.send_replace(true);
            if timeout_at(abort_by, self.slots.acquire_many(self.all)).await.is_err() {
                tracing::warn!("a change could not be aborted");
            }
        }
        self.slots.close();
    }
}
