//! Resolution of names, for each request anew: an answer is used for a second at most, so that many requests to one
//! receiver are not as many questions. A name is looked up once at a time, however many ask for it, so that one whose
//! servers are silent takes no more than one place of all look-ups. Does not judge the addresses.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::net::lookup_host;
use tokio::sync::{Semaphore, watch};

use crate::base::lock::lock;

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
    slots: Semaphore,
}

impl Default for System {
    fn default() -> Self {
        Self { slots: Semaphore::new(AT_ONCE) }
    }
}

impl Resolve for System {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let _slot = self.slots.acquire().await.map_err(io::Error::other)?;
        Ok(lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Names with their addresses.
pub(super) struct Names<R> {
    resolver: Arc<R>,
    known: Mutex<HashMap<String, watch::Receiver<Option<Known>>>>,
}

/// What came of a look-up, and when.
#[derive(Clone)]
struct Known {
    since: Instant,
    addresses: Result<Arc<[IpAddr]>, Arc<io::Error>>,
}

impl<R: Resolve> Names<R> {
    pub(super) fn new(resolver: R) -> Self {
        Self { resolver: Arc::new(resolver), known: Mutex::default() }
    }

    /// The addresses of a name, at least one.
    pub(super) async fn addresses(&self, name: &str) -> io::Result<Arc<[IpAddr]>> {
        let mut looking = self.look(name);
        let known = looking.wait_for(Option::is_some).await.map_err(io::Error::other)?.clone();
        let known = known.ok_or(ErrorKind::NotFound)?;
        known.addresses.map_err(|error| io::Error::new(error.kind(), error.to_string()))
    }

    /// A look-up that is under way or has just succeeded, or else a new one. It goes on although nobody may wait for it
    /// any more.
    fn look(&self, name: &str) -> watch::Receiver<Option<Known>> {
        let mut known = lock(&self.known);
        if let Some(looking) = known.get(name).filter(|looking| is_useful(looking)) {
            return looking.clone();
        }
        if known.len() >= KNOWN {
            known.retain(|_, looking| is_useful(looking));
        }
        let (answer, looking) = watch::channel(None);
        known.insert(name.to_owned(), looking.clone());
        let (name, resolver) = (name.to_owned(), Arc::clone(&self.resolver));
        drop(tokio::spawn(async move {
            let found = resolver.resolve(&name).await.and_then(|addresses| match &*addresses {
                [] => Err(io::Error::new(ErrorKind::NotFound, "it has no addresses")),
                _ => Ok(addresses.into()),
            });
            let addresses = found.map_err(Arc::new);
            answer.send_replace(Some(Known { since: Instant::now(), addresses }));
        }));
        looking
    }
}

/// Whether a look-up is under way, or has an answer that may still be used.
fn is_useful(looking: &watch::Receiver<Option<Known>>) -> bool {
    match &*looking.borrow() {
        Some(Known { since, addresses }) => addresses.is_ok() && since.elapsed() < KNOWN_FOR,
        // One whose task has ended without an answer never gets one.
        None => looking.has_changed().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::join_all;
    use tokio::time::timeout;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    /// Answers once there is a permit for each name, and counts what it was asked.
    struct Slow {
        permits: Arc<Semaphore>,
        asked: Arc<AtomicUsize>,
    }

    impl Resolve for Slow {
        async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if name != "quick.example" {
                self.permits.acquire().await.map_err(io::Error::other)?.forget();
            }
            Ok(vec![HERE])
        }
    }

    #[tokio::test]
    async fn a_name_is_looked_up_once_at_a_time_and_delays_no_other() -> io::Result<()> {
        let (permits, asked) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
        let resolver = Slow { permits: Arc::clone(&permits), asked: Arc::clone(&asked) };
        let names = Names::new(resolver);
        for _ in 0..3 {
            let asking = (0..100).map(|_| names.addresses("slow.example"));
            let given_up = timeout(Duration::from_millis(20), join_all(asking)).await;
            assert!(given_up.is_err(), "nobody answers");
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1, "one look-up for all of them");
        assert_eq!(*names.addresses("quick.example").await?, [HERE]);
        permits.add_permits(1);
        assert_eq!(*names.addresses("slow.example").await?, [HERE]);
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        Ok(())
    }
}
