//! Clients that wait for a change. They wait in memory, without a connection to the database: one task
//! of each host reads the latest places, and only those whose types have changed wake up. Clients that
//! have come equally far share one read.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell, watch};
use tokio::time::timeout;

use super::clock::Clock;
use super::cursor::Cursor;
use super::read::{Asked, Expired, Portion};
use crate::error::Error;
use crate::sql::places;
use crate::store::Store;

/// The clients that wait.
#[derive(Debug, Default)]
pub(super) struct Waiting(watch::Sender<Heads>);

/// How a wait has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// There may be a change, up to this place.
    Changed(i64),
    /// There was none in time, or the host is about to stop.
    InVain,
}

/// The latest places, as far as those who wait need them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Heads {
    /// The name of the feed; empty while nobody waits.
    feed: String,
    /// The place after which all changes are known here. A client that has come less far must read again.
    since: i64,
    /// The latest place.
    seq: i64,
    /// The latest place of each kind that has changed since then.
    kinds: BTreeMap<String, i64>,
    /// Whether nobody may wait any longer.
    ended: bool,
}

impl Heads {
    /// Whether there may be a change that a client has not seen.
    fn is_news(&self, cursor: &Cursor) -> bool {
        let seen = cursor.seq();
        let newer = |kind: &&str| self.kinds.get(*kind).is_some_and(|latest| *latest > seen);
        let known = !self.feed.is_empty();
        known && (self.feed != cursor.feed || self.since > seen || cursor.kinds.iter().any(newer))
    }
}

impl Waiting {
    /// Whether somebody waits.
    pub(super) fn is_used(&self) -> bool {
        self.0.receiver_count() > 0
    }

    /// Waits at most so long until there may be a change after a cursor. Wakes what announces changes: while
    /// nobody waits, it does not read the latest places.
    pub(super) async fn wait(&self, cursor: &Cursor, time: Duration, wake: &Notify) -> Waited {
        let mut heads = self.0.subscribe();
        wake.notify_one();
        let news = heads.wait_for(|heads| heads.ended || heads.is_news(cursor));
        match timeout(time, news).await {
            Ok(Ok(heads)) if !heads.ended => Waited::Changed(heads.seq),
            _ => Waited::InVain,
        }
    }

    /// Ends all waits, now and later.
    pub(super) fn end(&self) {
        self.0.send_modify(|heads| heads.ended = true);
    }

    /// Makes the latest places known to those who wait.
    pub(super) async fn announce(&self, store: &Store) -> Result<(), Error> {
        if !self.is_used() {
            // Nobody waits, so nothing has to be read until somebody does.
            self.0.send_if_modified(|heads| {
                heads.feed.clear();
                false
            });
            return Ok(());
        }
        let known = self.0.borrow().clone();
        let mut transaction = store.begin_read().await?;
        let clock = Clock::read(&mut transaction).await?;
        let goes_on = clock.feed == known.feed;
        let mut kinds = BTreeMap::new();
        if goes_on && clock.seq != known.seq {
            let heads = transaction.rows(places::heads(known.seq)).await?;
            kinds.extend(heads.into_iter().map(|head| (head.kind, head.seq)));
        }
        transaction.end().await;
        self.0.send_if_modified(|heads| {
            if !goes_on {
                heads.kinds.clear();
                heads.since = clock.seq;
            }
            heads.kinds.extend(kinds);
            heads.feed = clock.feed;
            heads.seq = clock.seq;
            !goes_on || clock.seq != known.seq
        });
        Ok(())
    }
}

/// A page that several clients read at once.
type Shared = OnceCell<Arc<Result<Portion, Expired>>>;

/// The pages that are being read for clients that have waited.
#[derive(Debug, Default)]
pub(super) struct Reads(Mutex<HashMap<(Asked, i64), Weak<Shared>>>);

impl Reads {
    /// The read that all clients share that want this page after a change up to this place.
    pub(super) fn of(&self, asked: &Asked, seq: i64) -> Arc<Shared> {
        let mut reads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reads.retain(|_, read| read.strong_count() > 0);
        let entry = reads.entry((asked.clone(), seq)).or_default();
        entry.upgrade().unwrap_or_else(|| {
            let read = Arc::default();
            *entry = Arc::downgrade(&read);
            read
        })
    }
}
