//! Background maintenance of SQLite, which would otherwise happen within writes: checkpointing the
//! log, and merging the additions to the indexes of texts. A writer that has to do either takes ten
//! times as long as the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::sqlite::SqlitePool;
use sqlx::{Executor, Sqlite};

use super::pools::Upkeep;
use super::ready::Ready;

/// The pause between a write and the maintenance after it.
const PAUSE: Duration = Duration::from_millis(100);

/// Merges a few pages of each index of texts if several of its parts have the same size. So few
/// pages take as long as a small write, and no writer waits longer than for one of those.
const MERGE: &str = "BEGIN IMMEDIATE; \
    INSERT INTO shop_products_search (shop_products_search, rank) VALUES ('merge', 4); \
    INSERT INTO shop_variants_search (shop_variants_search, rank) VALUES ('merge', 4); \
    INSERT INTO shop_orders_search (shop_orders_search, rank) VALUES ('merge', 4); \
    INSERT INTO shop_addresses_search (shop_addresses_search, rank) VALUES ('merge', 4); \
    COMMIT";
/// One round of merging serves this many writes, so that the merging of a large part is spread over
/// very many writes. The latest writes add so little that the engine may merge it in place.
const WRITES: usize = 25;
/// The greatest number of rounds in a row.
const ROUNDS: usize = 4;

#[derive(Debug)]
pub(super) struct LogAndIndexes {
    /// A connection of its own, so that no request waits for the file.
    log: SqlitePool,
    /// Merging writes, and has to queue for the writer.
    writer: Ready<Sqlite>,
    /// The number of writes since the last run.
    written: AtomicUsize,
}

impl LogAndIndexes {
    pub(super) fn new(log: SqlitePool, writer: Ready<Sqlite>) -> Self {
        Self { log, writer, written: AtomicUsize::new(0) }
    }

    /// Does the maintenance that this many writes have left.
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
        // The part of the log that readers still need remains.
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
                // All of this can wait until the next write, so failures are harmless.
                if let Err(error) = self.catch_up(seen).await {
                    tracing::debug!(%error, "the maintenance after writes is postponed");
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
