//! The places of requests that wait: those whose answers a plugin may hold open. Their number is limited,
//! also for one token and one client, and the application may learn when a wait begins and ends. Knows
//! nothing of what they wait for.

use std::collections::HashMap;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::HeaderValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::client::ClientAddress;

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
pub(crate) struct Waiters {
    places: Arc<Semaphore>,
    /// How many of them one holder may have.
    of_one: usize,
    held: Arc<Held>,
}

/// Who holds places.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// A token, by what identifies it.
    Token(Box<str>),
    /// A client, by its block of addresses.
    Client(IpAddr),
}

/// A holder has as many places as it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany;

/// How many places each holder has.
#[derive(Debug, Default)]
struct Held(Mutex<HashMap<Holder, usize>>);

impl Holder {
    /// Those of a request, as far as they are known.
    pub(crate) fn all(token: Option<&str>, client: Option<&ClientAddress>) -> Vec<Self> {
        let token = token.map(|token| Holder::Token(token.into()));
        token.into_iter().chain(client.map(|client| Holder::Client(client.block()))).collect()
    }
}

impl Waiters {
    /// So many places.
    pub(crate) fn new(places: usize) -> Self {
        let all = Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self { places: all, of_one: (places / 10).max(1), held: Arc::default() }
    }

    /// Grants a wait of so many seconds, if a place is free.
    pub(crate) fn grant(
        &self,
        seconds: u64,
        holders: Vec<Holder>,
        on_wait: Option<&OnWait>,
    ) -> Result<Option<Wait>, TooMany> {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else { return Ok(None) };
        let share = Held::share(&self.held, holders, self.of_one)?;
        let begun = on_wait.map(|on_wait| (on_wait.0)());
        Ok(Some(Wait { seconds, _place: place, _share: share, _begun: begun }))
    }

    /// Grants no more waits.
    pub(crate) fn close(&self) {
        self.places.close();
    }
}

impl Held {
    /// One more place for each of these holders, unless one has as many as it may have.
    fn share(held: &Arc<Self>, holders: Vec<Holder>, most: usize) -> Result<Share, TooMany> {
        let mut counts = held.counts();
        if holders.iter().any(|holder| counts.get(holder).is_some_and(|count| *count >= most)) {
            return Err(TooMany);
        }
        for holder in &holders {
            *counts.entry(holder.clone()).or_default() += 1;
        }
        drop(counts);
        Ok(Share { held: Arc::clone(held), holders })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Holder, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a wait, as its holders have it.
struct Share {
    held: Arc<Held>,
    holders: Vec<Holder>,
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.held.counts();
        for holder in &self.holders {
            if let Some(count) = counts.get_mut(holder) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(holder);
                }
            }
        }
    }
}

/// A wait that is granted. It ends when this is dropped.
pub(crate) struct Wait {
    seconds: u64,
    _place: OwnedSemaphorePermit,
    _share: Share,
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
