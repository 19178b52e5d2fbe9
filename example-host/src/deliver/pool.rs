//! Connections that are kept for further requests, a few seconds at most. Each is found by the address that it leads
//! to, so that it is used only while the name still has this address. Opens none.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use crate::base::lock::lock;

use super::connection::Connection;
use super::target::Target;

/// How long a connection is kept. Many receivers close theirs after five seconds, and a request that is sent at that
/// moment is lost.
const KEPT_FOR: Duration = Duration::from_secs(4);

/// How often connections are looked through while there are any.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The maximum number of connections that are kept.
const KEPT: usize = 256;

/// What a connection leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    address: SocketAddr,
    is_encrypted: bool,
    /// The name that the certificate was checked for.
    authority: String,
}

/// The connections that are kept.
#[derive(Default)]
pub(super) struct Pool(Arc<Mutex<Idle>>);

#[derive(Default)]
struct Idle {
    connections: HashMap<Key, Vec<(Instant, Connection)>>,
    count: usize,
    /// Whether a task looks through them.
    is_watched: bool,
}

impl Key {
    pub(super) fn new(target: &Target, address: SocketAddr) -> Self {
        Self { address, is_encrypted: target.is_encrypted, authority: target.authority.clone() }
    }
}

impl Pool {
    /// A connection to one of these addresses, the one that was used last.
    pub(super) fn take(&self, target: &Target, addresses: &[IpAddr]) -> Option<(Key, Connection)> {
        let mut idle = lock(&self.0);
        addresses.iter().find_map(|address| {
            let key = Key::new(target, SocketAddr::new(*address, target.port));
            let connection = idle.take(&key)?;
            Some((key, connection))
        })
    }

    /// Keeps a connection, unless there are too many.
    pub(super) fn put(&self, key: Key, connection: Connection) {
        let mut idle = lock(&self.0);
        if idle.count >= KEPT {
            return;
        }
        idle.count += 1;
        idle.connections.entry(key).or_default().push((Instant::now(), connection));
        if !idle.is_watched {
            idle.is_watched = true;
            tokio::spawn(watch(Arc::downgrade(&self.0)));
        }
    }
}

impl Idle {
    fn take(&mut self, key: &Key) -> Option<Connection> {
        let kept = self.connections.get_mut(key)?;
        let mut found = None;
        while let Some((since, connection)) = kept.pop() {
            self.count -= 1;
            if !connection.is_closed() && since.elapsed() < KEPT_FOR {
                found = Some(connection);
                break;
            }
        }
        if kept.is_empty() {
            self.connections.remove(key);
        }
        found
    }

    fn close_old(&mut self) {
        self.connections.retain(|_, kept| {
            kept.retain(|(since, connection)| {
                !connection.is_closed() && since.elapsed() < KEPT_FOR
            });
            !kept.is_empty()
        });
        self.count = self.connections.values().map(Vec::len).sum();
    }
}

/// Closes old connections until none is left: a host that sends nothing has no such task.
async fn watch(pool: Weak<Mutex<Idle>>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = lock(&pool);
        idle.close_old();
        if idle.count == 0 {
            idle.is_watched = false;
            return;
        }
    }
}
