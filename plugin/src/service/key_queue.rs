//! Requests with the same key go one after the other on a host: all but one wait in memory, without a
//! connection to the database. Independent of what the requests do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use host_interface::{Caller, Request};
use tokio::sync::{Mutex as Lane, OwnedMutexGuard};
use tokio::time::{Instant, timeout_at};

use crate::error::{Error, Fault, FaultKind};
use crate::wire::idempotency::Key;

/// How long a request waits in all for another one with its key, in memory and in the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// The user and the key: users have keys of their own.
type Name = (i64, String);

/// The keys of the requests in progress on this host.
#[derive(Debug, Default)]
pub struct KeyQueue {
    lanes: Mutex<HashMap<Name, Arc<Lane<()>>>>,
}

/// The key of a request, for which others with the same key wait until this is dropped.
#[derive(Debug)]
pub struct HeldKey<'a> {
    queue: &'a KeyQueue,
    name: Name,
    /// The fingerprint of the request.
    pub fingerprint: String,
    /// Until when the request waits for another one with its key.
    pub deadline: Instant,
    /// `None` while it waits.
    held: Option<OwnedMutexGuard<()>>,
}

impl KeyQueue {
    /// Waits until no other request holds the key of this one; `None` if it has no key.
    ///
    /// # Errors
    /// When the key is malformed, or when another request with the key takes too long.
    pub async fn wait(&self, request: &Request) -> Result<Option<HeldKey<'_>>, Error> {
        let Some(key) = Key::of(request)? else { return Ok(None) };
        let name = (request.caller().map_or(0, Caller::user), key.text);
        let lane = Arc::clone(self.lanes().entry(name.clone()).or_default());
        let deadline = Instant::now() + PATIENCE;
        // From here on, the lane is removed when the last request has left it.
        let mut key =
            HeldKey { queue: self, name, fingerprint: key.fingerprint, deadline, held: None };
        let held = timeout_at(deadline, lane.lock_owned()).await;
        key.held = Some(held.map_err(|_| in_progress())?);
        Ok(Some(key))
    }

    fn lanes(&self) -> MutexGuard<'_, HashMap<Name, Arc<Lane<()>>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldKey<'_> {
    /// The key of the user.
    pub fn user(&self) -> i64 {
        self.name.0
    }

    /// Until when a request waits that has had to wait for its body before.
    pub fn deadline_from_now(&self) -> Instant {
        self.deadline.max(Instant::now() + PATIENCE)
    }

    /// The key itself.
    pub fn text(&self) -> &str {
        &self.name.1
    }
}

impl Drop for HeldKey<'_> {
    fn drop(&mut self) {
        let mut lanes = self.queue.lanes();
        self.held = None;
        if lanes.get(&self.name).is_some_and(|lane| Arc::strong_count(lane) == 1) {
            lanes.remove(&self.name);
        }
    }
}

/// The error of a request that has waited for another one with its key for too long.
pub fn in_progress() -> Error {
    let detail = "A request with this key is still in progress; try again.";
    Fault::at_header(FaultKind::RequestInProgress, "Idempotency-Key", detail).into()
}
