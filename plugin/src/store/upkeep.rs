//! What SQLite would do in the middle of a write, done beside the writers: bringing what was committed
//! from the log into the file, and merging what each write adds to the indexes of texts. A writer who
//! has to stop for either takes ten times as long as the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnection, SqlitePool};
use sqlx::{Executor, Sqlite};

use super::ready::Ready;

/// How long after a write it is done.
const PAUSE: Duration = Duration::from_millis(100);

/// Merges a few pages of an index of texts, where several parts of it are of a size. So few take as long
/// as a small write, and no writer waits longer than for one of those.
const MERGE: [&str; 3] = [
    "INSERT INTO shop_products_search (shop_products_search, rank) VALUES ('merge', 16)",
    "INSERT INTO shop_orders_search (shop_orders_search, rank) VALUES ('merge', 16)",
    "INSERT INTO shop_addresses_search (shop_addresses_search, rank) VALUES ('merge', 16)",
];
/// How often that is done before somebody else comes.
const TURNS: usize = 8;

#[derive(Debug)]
pub(super) struct Upkeep {
    /// One connection, so that nobody else waits for the file.
    log: SqlitePool,
    /// Merging is writing, and has to queue for that.
    writer: Ready<Sqlite>,
    /// How many writes there were since it was done.
    written: AtomicUsize,
}

impl Upkeep {
    pub(super) fn new(log: SqlitePool, writer: Ready<Sqlite>) -> Self {
        Self { log, writer, written: AtomicUsize::new(0) }
    }

    /// Something was committed.
    pub(super) fn written(self: &Arc<Self>) {
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.written.fetch_add(1, Ordering::AcqRel) > 0 {
            return;
        }
        let upkeep = Arc::clone(self);
        runtime.spawn(async move {
            loop {
                tokio::time::sleep(PAUSE).await;
                let seen = upkeep.written.load(Ordering::Acquire);
                // All of it can wait for the next write, so it may fail.
                let left = upkeep.catch_up().await.unwrap_or_else(|error| {
                    tracing::debug!(%error, "what was written is not yet in its place");
                    false
                });
                if !left && upkeep.written.fetch_sub(seen, Ordering::AcqRel) == seen {
                    return;
                }
            }
        });
    }

    pub(super) async fn close(&self) {
        self.log.close().await;
    }

    /// Does some of it, and says whether something is left.
    async fn catch_up(&self) -> Result<bool, sqlx::Error> {
        let mut left = false;
        for words in MERGE {
            let mut turns = 0;
            while turns < TURNS && self.merge(words).await? {
                turns += 1;
            }
            left |= turns == TURNS;
        }
        // What readers still need stays in the log.
        self.log.execute("PRAGMA wal_checkpoint(PASSIVE)").await?;
        Ok(left)
    }

    /// Merges a little, and says whether there was something to merge.
    async fn merge(&self, words: &'static str) -> Result<bool, sqlx::Error> {
        let mut writer = self.writer.acquire().await?;
        let before = changes(&mut writer.connection).await?;
        writer.connection.execute(words).await?;
        let after = changes(&mut writer.connection).await?;
        self.writer.give_back(writer);
        // The statement itself is a change, although nothing may come of it.
        Ok(after - before > 1)
    }
}

/// How many rows a connection has changed, with those that no statement names.
async fn changes(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT total_changes()").fetch_one(connection).await
}
