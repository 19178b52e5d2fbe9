//! What SQLite would do in the middle of a write, done beside the writers: bringing what was committed
//! from the log into the file, and merging what each write adds to the indexes of texts. A writer who
//! has to stop for either takes ten times as long as the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::sqlite::SqlitePool;
use sqlx::{Executor, Sqlite};

use super::pools::Upkeep;
use super::ready::Ready;

/// How long after a write it is done.
const PAUSE: Duration = Duration::from_millis(100);

/// Merges a few pages of each index of texts where several parts of it are of a size. So few take as long
/// as a small write, and no writer waits longer than for one of those.
const MERGE: &str = "BEGIN IMMEDIATE; \
    INSERT INTO shop_products_search (shop_products_search, rank) VALUES ('merge', 4); \
    INSERT INTO shop_orders_search (shop_orders_search, rank) VALUES ('merge', 4); \
    INSERT INTO shop_addresses_search (shop_addresses_search, rank) VALUES ('merge', 4); \
    COMMIT";
/// After how many writes that is done once, so that merging a large part is spread over very many of them.
/// What the latest of them added is so little that the engine may merge it where it lies.
const WRITES: usize = 25;
/// How often it is done at most before somebody else comes.
const ROUNDS: usize = 4;

#[derive(Debug)]
pub(super) struct LogAndIndexes {
    /// One connection, so that nobody else waits for the file.
    log: SqlitePool,
    /// Merging is writing, and has to queue for that.
    writer: Ready<Sqlite>,
    /// How many writes there were since it was done.
    written: AtomicUsize,
}

impl LogAndIndexes {
    pub(super) fn new(log: SqlitePool, writer: Ready<Sqlite>) -> Self {
        Self { log, writer, written: AtomicUsize::new(0) }
    }

    /// Does what so many writes have left.
    async fn catch_up(&self, written: usize) -> Result<(), sqlx::Error> {
        for _ in 0..written.div_ceil(WRITES).min(ROUNDS) {
            let mut writer = self.writer.acquire().await?;
            if let Err(error) = writer.connection.execute(MERGE).await {
                // A transaction may be open.
                writer.connection.close_on_drop();
                return Err(error);
            }
            self.writer.give_back(writer);
        }
        // What readers still need stays in the log.
        self.log.execute("PRAGMA wal_checkpoint(PASSIVE)").await.map(drop)
    }
}

impl Upkeep for LogAndIndexes {
    fn committed(self: Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.written.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(PAUSE).await;
                let seen = self.written.load(Ordering::Acquire);
                // All of it can wait for the next write, so it may fail.
                if let Err(error) = self.catch_up(seen).await {
                    tracing::debug!(%error, "what was written is not yet merged");
                }
                if self.written.fetch_sub(seen, Ordering::AcqRel) == seen {
                    return;
                }
            }
        });
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.log.close())
    }
}
