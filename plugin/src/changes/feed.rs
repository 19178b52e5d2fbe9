//! The feed of a store as one value: its pages, the task that gives changes their places, and the clients
//! that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use time::UtcDateTime;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::clock::{Clock, MICROSECONDS};
use super::cursor::Cursor;
use super::place::{forget, place_all};
use super::read::{Asked, Expired, Portion, read};
use super::waiting::{Reads, Waited, Waiting};
use crate::error::{Error, chain};
use crate::model::registry::Registry;
use crate::sql::places;
use crate::store::Store;

/// How often queued changes get their places while nobody reads the feed.
const PLACE_EVERY: Duration = Duration::from_secs(1);
/// How long queued changes wait for others, where somebody [listens](Feed::moves): many of them get their places at
/// once, so that this costs little of what writing them does.
const GATHERED_FOR: Duration = Duration::from_millis(120);
/// Up to how many queued changes are counted.
const COUNTED: i64 = 100_000;

/// The feed of changes of a store.
#[derive(Debug)]
pub struct Feed {
    store: Store,
    registry: Registry,
    waiting: Waiting,
    reads: Reads,
    wake: Notify,
    /// That a change was made on this host, for those who need not know it at once.
    soon: Notify,
    /// Counts how often changes got their places on this host.
    moves: watch::Sender<u64>,
    stopped: watch::Sender<bool>,
    /// Everything that was committed by then has its place: a moment in seconds since 1970.
    caught_up: AtomicI64,
}

/// What an operator sees of the feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Backlog {
    /// How many changes are queued, counted up to a limit.
    pub(crate) queued: i64,
    /// For how long some of them may have been queued, in seconds.
    pub(crate) behind: i64,
}

impl Feed {
    /// The feed of this store. Changes get their places when it is read, and while it [runs](Self::run).
    pub fn new(store: Store, registry: Registry) -> Self {
        Self {
            store,
            registry,
            waiting: Waiting::default(),
            reads: Reads::default(),
            wake: Notify::new(),
            soon: Notify::new(),
            moves: watch::Sender::new(0),
            stopped: watch::Sender::new(false),
            caught_up: AtomicI64::new(now()),
        }
    }

    /// Gives queued changes their places, once a second, and at once where somebody waits and this host
    /// has made a change, or soon where somebody listens, until it is stopped.
    pub async fn run(&self) {
        let mut stopped = self.stopped.subscribe();
        loop {
            if let Err(error) = self.look().await {
                tracing::warn!(
                    causes = chain(&error),
                    "queued changes cannot get their places now"
                );
            }
            tokio::select! {
                biased;
                // The channel cannot be closed while this borrow keeps its other end alive.
                _ = stopped.wait_for(|stopped| *stopped) => return,
                () = self.wake.notified() => {}
                () = self.gathered() => {}
                () = sleep(PLACE_EVERY) => {}
            }
        }
    }

    /// Makes [`Feed::run`] end.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Notes that this host has committed a change, which somebody may be waiting for.
    pub(crate) fn written(&self) {
        if self.waiting.is_used() {
            self.wake.notify_one();
        } else if self.moves.receiver_count() > 0 {
            self.soon.notify_one();
        }
    }

    /// Changes whenever changes get their places on this host. While somebody has it, they get them soon.
    pub(crate) fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    /// Gives all changes that are queued and committed when it begins their places, before they are read.
    /// Where the database cannot write, for example on a full disk, they remain queued, and what has a
    /// place can still be read.
    ///
    /// # Errors
    /// Other database errors.
    pub(crate) async fn catch_up(&self) -> Result<(), Error> {
        match self.place().await {
            Err(Error::Unwritable(_)) => Ok(()),
            done => done,
        }
    }

    /// Gives all changes that are queued and committed when it begins their places.
    async fn place(&self) -> Result<(), Error> {
        let begun = now();
        let has_placed = place_all(&self.store, self.registry).await?;
        self.caught_up.store(begun, Ordering::Relaxed);
        if has_placed {
            self.moves.send_modify(|moves| *moves = moves.wrapping_add(1));
        }
        Ok(())
    }

    /// Reads a page, with everything that is committed by now.
    pub(crate) async fn read(&self, asked: &Asked) -> Result<Result<Portion, Expired>, Error> {
        self.catch_up().await?;
        read(asked, &self.store, self.registry).await
    }

    /// Waits at most so long until there may be a change after a cursor.
    pub(crate) async fn wait(&self, cursor: &Cursor, time: Duration) -> Waited {
        self.waiting.wait(cursor, time, &self.wake).await
    }

    /// Reads a page once for all who have waited for a change up to this place.
    pub(crate) async fn read_shared(
        &self,
        asked: &Asked,
        seq: i64,
    ) -> Result<Arc<Result<Portion, Expired>>, Error> {
        let read = self.reads.of(asked, seq);
        let read = read.get_or_try_init(|| async { self.read(asked).await.map(Arc::new) });
        read.await.cloned()
    }

    /// Ends all waits, now and later.
    pub fn end_waits(&self) {
        self.waiting.end();
    }

    /// Forgets the deletions of so many days ago and earlier.
    pub(crate) async fn forget(&self, days: i64) -> Result<(), Error> {
        const SECONDS_OF_DAY: i64 = 24 * 60 * 60;
        let mut transaction = self.store.begin_read().await?;
        let now = transaction.seconds().await?;
        transaction.end().await;
        forget(&self.store, (now - days * SECONDS_OF_DAY) * MICROSECONDS).await
    }

    /// The feed's own row.
    pub(crate) async fn clock(&self) -> Result<Clock, Error> {
        let mut transaction = self.store.begin_read().await?;
        let clock = Clock::read(&mut transaction).await?;
        transaction.end().await;
        Ok(clock)
    }

    /// How far behind the feed is.
    pub(crate) async fn backlog(&self) -> Result<Backlog, Error> {
        let mut transaction = self.store.begin_read().await?;
        let queued = transaction.number(places::count_queued(COUNTED)).await?;
        transaction.end().await;
        let behind = match queued {
            0 => 0,
            _ => now().saturating_sub(self.caught_up.load(Ordering::Relaxed)).max(0),
        };
        Ok(Backlog { queued, behind })
    }

    /// Waits for a change that was made on this host, and for those that follow it closely.
    async fn gathered(&self) {
        self.soon.notified().await;
        sleep(GATHERED_FOR).await;
    }

    /// Gives queued changes their places, and makes the latest ones known to those who wait.
    async fn look(&self) -> Result<(), Error> {
        self.place().await?;
        self.waiting.announce(&self.store).await
    }
}

/// The time of this host, in seconds since 1970.
fn now() -> i64 {
    UtcDateTime::now().unix_timestamp()
}
