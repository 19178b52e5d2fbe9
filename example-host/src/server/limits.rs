//! The limit on the number of connections, in total and for one client. At the limit, the
//! connection that has been idle for longest is closed in favour of a new one. A connection whose
//! request waits is left out, and is limited by the number of those who may wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use host_service::ClientAddress;
use tokio::sync::Notify;

use crate::base::lock::lock;

/// A limit on open connections.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    limit: usize,
    per_client: usize,
    began: Instant,
    open: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    taken: HashMap<u64, Arc<Slot>>,
    /// The number of connections of each client.
    by_client: HashMap<IpAddr, usize>,
}

#[derive(Debug)]
struct Slot {
    /// The client; `None` for a trusted proxy, which has no limit of its own.
    client: Option<IpAddr>,
    /// Since when the connection has been idle, in microseconds; 0 while a request is in progress.
    idle_since: AtomicU64,
    /// Whether there has been a request.
    used: AtomicBool,
    eviction: Notify,
}

/// A connection that is left out of the limits until this is dropped.
#[derive(Debug)]
pub(crate) struct Aside {
    permit: Arc<Permit>,
    /// Whether it was in the table; after an eviction it is not.
    counted: bool,
}

/// The permit of a connection, which is released on drop.
#[derive(Debug)]
pub(crate) struct Permit {
    limit: Arc<ConnectionLimit>,
    number: u64,
    slot: Arc<Slot>,
}

impl ConnectionLimit {
    /// A limit for all clients, and for one client.
    pub(crate) fn new(limit: usize, per_client: usize) -> Arc<Self> {
        Arc::new(Self { limit, per_client, began: Instant::now(), open: Mutex::default() })
    }

    /// A permit for a connection from this address; `None` if the limit is reached and no
    /// connection is idle.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        address: IpAddr,
        trusted_proxy: bool,
    ) -> Option<Permit> {
        let client = (!trusted_proxy).then(|| ClientAddress(address).block());
        let mut open = lock(&self.open);
        let has = |client: IpAddr| open.by_client.get(&client).copied().unwrap_or_default();
        if client.is_some_and(|client| has(client) >= self.per_client) {
            open.evict_idle(|of| of == client)?;
        } else if open.taken.len() >= self.limit {
            open.evict_idle(|of| of.is_some())?;
        }
        let slot = Slot {
            client,
            idle_since: AtomicU64::new(self.now()),
            used: AtomicBool::new(false),
            eviction: Notify::new(),
        };
        let (number, slot) = (open.next, Arc::new(slot));
        open.next += 1;
        open.insert(number, Arc::clone(&slot));
        drop(open);
        Some(Permit { limit: Arc::clone(self), number, slot })
    }

    /// The time since the start, in microseconds; never 0.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX).saturating_add(1)
    }
}

impl OpenConnections {
    /// Evicts the connection that has been idle for longest, among those that fit.
    fn evict_idle(&mut self, fits: impl Fn(Option<IpAddr>) -> bool) -> Option<()> {
        let idle = self.taken.iter().filter_map(|(number, slot)| {
            let since = slot.idle_since.load(Ordering::Relaxed);
            (since > 0 && fits(slot.client)).then_some((since, *number))
        });
        let (_, number) = idle.min()?;
        self.remove(number)?.eviction.notify_one();
        Some(())
    }

    fn insert(&mut self, number: u64, slot: Arc<Slot>) {
        if let Some(client) = slot.client {
            *self.by_client.entry(client).or_default() += 1;
        }
        self.taken.insert(number, slot);
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Slot>> {
        let slot = self.taken.remove(&number)?;
        if let Some(client) = slot.client
            && let Some(count) = self.by_client.get_mut(&client)
        {
            *count -= 1;
            if *count == 0 {
                self.by_client.remove(&client);
            }
        }
        Some(slot)
    }
}

impl Permit {
    /// Marks the connection as busy with a request.
    pub(crate) fn mark_busy(&self) {
        self.slot.used.store(true, Ordering::Relaxed);
        self.slot.idle_since.store(0, Ordering::Relaxed);
    }

    /// Marks the connection as idle.
    pub(crate) fn mark_idle(&self) {
        self.slot.idle_since.store(self.limit.now(), Ordering::Relaxed);
    }

    /// Leaves the connection out of the limits. Afterwards it counts again, above the limit if other
    /// connections have taken its place: it is open already, and has to send its answer.
    pub(crate) fn set_aside(self: &Arc<Self>) -> Aside {
        let counted = lock(&self.limit.open).remove(self.number).is_some();
        Aside { permit: Arc::clone(self), counted }
    }

    /// Whether there has been a request on the connection.
    pub(crate) fn was_used(&self) -> bool {
        self.slot.used.load(Ordering::Relaxed)
    }

    /// Waits until the connection is evicted in favour of another.
    pub(crate) async fn evicted(&self) {
        self.slot.eviction.notified().await;
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        // After an eviction the connection is no longer in the table.
        drop(lock(&self.limit.open).remove(self.number));
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if self.counted {
            let Permit { limit, number, slot } = &*self.permit;
            lock(&limit.open).insert(*number, Arc::clone(slot));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire(limit: &Arc<ConnectionLimit>, address: &str) -> Option<Permit> {
        limit.acquire(address.parse().ok()?, false)
    }

    fn evicted(permit: &Option<Permit>) -> bool {
        permit.as_ref().is_none_or(is_evicted)
    }

    fn is_evicted(permit: &Permit) -> bool {
        use std::task::{Context, Poll, Waker};
        let leaving = std::pin::pin!(permit.evicted());
        leaving.poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn one_client_cannot_exceed_its_limit() {
        let limit = ConnectionLimit::new(10, 2);
        let busy = |address| acquire(&limit, address).inspect(Permit::mark_busy);
        let first = (busy("192.0.2.1"), busy("192.0.2.1"));
        assert!(first.0.is_some() && first.1.is_some());
        assert!(busy("192.0.2.1").is_none() && busy("::ffff:192.0.2.1").is_none());
        assert!(busy("192.0.2.2").is_some());
        // An IPv6 network is one client.
        let second = (busy("2001:db8::1"), busy("2001:db8:0:0:ffff::2"));
        assert!(second.0.is_some() && second.1.is_some());
        assert!(busy("2001:db8::3").is_none() && busy("2001:db8:0:1::1").is_some());
        drop(first.0);
        assert!(busy("192.0.2.1").is_some());
        // A trusted proxy has no limit of its own.
        let proxy: Vec<Option<Permit>> =
            (0..3).map(|_| limit.acquire("10.0.0.1".parse().ok()?, true)).collect();
        assert!(proxy.iter().all(Option::is_some));
    }

    #[test]
    fn the_connection_idle_for_longest_is_evicted() {
        let limit = ConnectionLimit::new(3, 3);
        let (busy, second) = (acquire(&limit, "192.0.2.1"), acquire(&limit, "192.0.2.2"));
        let third = acquire(&limit, "192.0.2.3");
        if let (Some(busy), Some(second)) = (&busy, &second) {
            busy.mark_busy();
            second.mark_busy();
            std::thread::sleep(std::time::Duration::from_millis(1));
            second.mark_idle();
        }
        let fourth = acquire(&limit, "192.0.2.4");
        assert!(fourth.is_some());
        assert!(evicted(&third) && !evicted(&second) && !evicted(&busy));
        let fifth = acquire(&limit, "192.0.2.5").inspect(Permit::mark_busy);
        assert!(evicted(&second) && !evicted(&busy));
        if let Some(fourth) = &fourth {
            fourth.mark_busy();
        }
        assert!(acquire(&limit, "192.0.2.6").is_none(), "all connections are busy");
        drop((second, third));
        assert!(
            acquire(&limit, "192.0.2.6").is_none(),
            "dropping evicted connections frees nothing"
        );
        drop(fifth);
        assert!(acquire(&limit, "192.0.2.6").is_some());
    }

    #[test]
    fn a_connection_that_is_set_aside_counts_for_nobody() {
        let limit = ConnectionLimit::new(2, 1);
        let busy = |address| acquire(&limit, address).inspect(Permit::mark_busy).map(Arc::new);
        let first = busy("192.0.2.1");
        assert!(busy("192.0.2.1").is_none(), "the limit of its client");
        let aside = first.as_ref().map(Permit::set_aside);
        let (second, third) = (busy("192.0.2.1"), busy("192.0.2.2"));
        assert!(second.is_some() && third.is_some());
        assert!(busy("192.0.2.3").is_none(), "the limit of all");
        // It counts again, though there is no room, and stays.
        drop(aside);
        assert!(first.as_deref().is_some_and(|first| !is_evicted(first)));
        drop(third);
        assert!(busy("192.0.2.3").is_none(), "one more than allowed has left, and no other");
        drop(second);
        assert!(busy("192.0.2.1").is_none() && busy("192.0.2.3").is_some());
    }

    #[test]
    fn an_evicted_connection_that_is_set_aside_does_not_count_again() {
        let limit = ConnectionLimit::new(1, 1);
        let first = acquire(&limit, "192.0.2.1").map(Arc::new);
        let second = acquire(&limit, "192.0.2.2").inspect(Permit::mark_busy);
        assert!(first.as_deref().is_some_and(is_evicted) && second.is_some());
        drop(first.as_ref().map(Permit::set_aside));
        drop(second);
        assert!(acquire(&limit, "192.0.2.1").inspect(Permit::mark_busy).is_some());
    }
}
