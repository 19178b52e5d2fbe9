//! Idle connections in front of the driver's own pool. That pool tests every returned connection in
//! a separate task, and each of the two costs as much as a small query. A connection that is
//! returned here has no outstanding answer; any other one goes to the pool. Independent of engines.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::pool::PoolConnection;
use sqlx::{Database, Pool};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::brake::Brake;

/// How long a request waits for a connection.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// A connection that has been idle for this long is tested before use.
pub(super) const IDLE: Duration = Duration::from_secs(1);
/// After this time in use, a connection goes through the pool once, which closes those that are too
/// old.
const LIFE: Duration = Duration::from_secs(60);

/// The connections to a database: as many as the pool has, in the order of the requests for them.
#[derive(Debug)]
pub(super) struct Ready<DB: Database> {
    pool: Pool<DB>,
    idle_connections: Arc<IdleConnections<DB>>,
    /// One permit for each connection that may be in use.
    permits: Arc<Semaphore>,
}

/// Idle connections; the most recently used one comes last.
#[derive(Debug)]
struct IdleConnections<DB: Database>(Mutex<Vec<Idle<DB>>>);

/// A connection in use.
#[derive(Debug)]
pub(super) struct Taken<DB: Database> {
    pub(super) connection: PoolConnection<DB>,
    /// The handle that ends its statements, once it has been created for this connection.
    pub(super) brake: Option<Brake>,
    /// When it came from the pool.
    since: Instant,
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct Idle<DB: Database> {
    connection: PoolConnection<DB>,
    brake: Option<Brake>,
    since: Instant,
    used: Instant,
}

impl<DB: Database> Clone for Ready<DB> {
    fn clone(&self) -> Self {
        let (idle_connections, permits) =
            (Arc::clone(&self.idle_connections), Arc::clone(&self.permits));
        Self { pool: self.pool.clone(), idle_connections, permits }
    }
}

impl<DB: Database> Ready<DB> {
    /// The connections of a pool.
    pub(super) fn new(pool: Pool<DB>) -> Self {
        let most = usize::try_from(pool.options().get_max_connections()).unwrap_or(1);
        let idle_connections = Arc::new(IdleConnections(Mutex::new(Vec::new())));
        Self { pool, idle_connections, permits: Arc::new(Semaphore::new(most)) }
    }

    /// The pool, for its statistics.
    pub(super) fn pool(&self) -> &Pool<DB> {
        &self.pool
    }

    /// A connection, as soon as one is free.
    pub(super) async fn acquire(&self) -> Result<Taken<DB>, sqlx::Error> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        let permit = tokio::time::timeout(PATIENCE, permit).await;
        let permit = permit.map_err(|_| sqlx::Error::PoolTimedOut)?;
        let permit = permit.map_err(|_| sqlx::Error::PoolClosed)?;
        let last = self.idle_ones().pop();
        if let Some(Idle { connection, brake, since, used }) = last
            && used.elapsed() < IDLE
            && since.elapsed() < LIFE
        {
            return Ok(Taken { connection, brake, since, _permit: permit });
        }
        let connection = self.pool.acquire().await?;
        Ok(Taken { connection, brake: None, since: Instant::now(), _permit: permit })
    }

    /// Keeps a connection for the next request. Releases a connection that has been idle for a
    /// while.
    pub(super) fn give_back(&self, taken: Taken<DB>) {
        let Taken { connection, brake, since, _permit } = taken;
        if self.pool.is_closed() {
            return;
        }
        let mut idle_ones = self.idle_ones();
        let unused = idle_ones.first().is_some_and(|first| first.used.elapsed() >= IDLE);
        let unused = unused.then(|| idle_ones.remove(0));
        idle_ones.push(Idle { connection, brake, since, used: Instant::now() });
        drop(idle_ones);
        drop(unused);
    }

    /// The number of connections in use, and of idle ones.
    pub(super) fn usage(&self) -> (u32, u32) {
        let idle_ones = u32::try_from(self.idle_ones().len()).unwrap_or(u32::MAX);
        let idle = u32::try_from(self.pool.num_idle()).unwrap_or(u32::MAX);
        let idle = idle.saturating_add(idle_ones);
        (self.pool.size().saturating_sub(idle), idle)
    }

    /// Closes all connections; those in use when they return.
    pub(super) async fn close(&self) {
        let closed = self.pool.close();
        drop(std::mem::take(&mut *self.idle_ones()));
        closed.await;
    }

    fn idle_ones(&self) -> MutexGuard<'_, Vec<Idle<DB>>> {
        self.idle_connections.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<DB: Database> Drop for IdleConnections<DB> {
    fn drop(&mut self) {
        // Without a runtime to return them to the pool, they are closed directly.
        for Idle { connection, .. } in
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner).drain(..)
        {
            drop(connection.detach());
        }
    }
}
