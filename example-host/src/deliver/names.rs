//! Resolution of names, for each request anew: an answer is used for a second at most, so that many requests to one
//! receiver are not as many questions. Does not judge the addresses.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::lookup_host;
use tokio::sync::Semaphore;

/// How long an answer is used.
const KNOWN_FOR: Duration = Duration::from_secs(1);

/// The maximum number of names whose answers are kept.
const KNOWN: usize = 256;

/// How many names are looked up at the same time. Each look-up occupies a thread, which cannot be interrupted.
const AT_ONCE: usize = 64;

/// Finds the addresses of a name.
pub(crate) trait Resolve: Send + Sync + 'static {
    fn resolve(&self, name: &str) -> impl Future<Output = io::Result<Vec<IpAddr>>> + Send;
}

/// The resolver of the operating system.
pub(crate) struct System {
    slots: Arc<Semaphore>,
}

impl Default for System {
    fn default() -> Self {
        Self { slots: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Resolve for System {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(io::Error::other)?;
        let name = name.to_owned();
        // The slot is taken until the thread is free again, also if nobody waits for it any more.
        let looking = tokio::spawn(async move {
            let found = lookup_host((name, 0)).await;
            drop(slot);
            found.map(|addresses| addresses.map(|address| address.ip()).collect())
        });
        looking.await.map_err(io::Error::other)?
    }
}

/// Names with their addresses.
pub(super) struct Names<R> {
    resolver: R,
    known: Mutex<HashMap<String, Known>>,
}

struct Known {
    asked: Instant,
    addresses: Arc<[IpAddr]>,
}

impl<R: Resolve> Names<R> {
    pub(super) fn new(resolver: R) -> Self {
        Self { resolver, known: Mutex::default() }
    }

    /// The addresses of a name, at least one.
    pub(super) async fn addresses(&self, name: &str) -> io::Result<Arc<[IpAddr]>> {
        if let Some(addresses) = self.remembered(name) {
            return Ok(addresses);
        }
        let asked = Instant::now();
        let addresses: Arc<[IpAddr]> = self.resolver.resolve(name).await?.into();
        if addresses.is_empty() {
            return Err(io::Error::new(ErrorKind::NotFound, "it has no addresses"));
        }
        let mut known = self.known();
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(name.to_owned(), Known { asked, addresses: Arc::clone(&addresses) });
        Ok(addresses)
    }

    fn remembered(&self, name: &str) -> Option<Arc<[IpAddr]>> {
        let known = self.known();
        let known = known.get(name).filter(|known| known.asked.elapsed() < KNOWN_FOR)?;
        Some(Arc::clone(&known.addresses))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
