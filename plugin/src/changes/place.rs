//! Gives queued changes their places. One program at a time does so, under the lock of the feed's row, so
//! places are committed in their order: nobody who has seen one misses a smaller one.
//!
//! Only what is committed is taken out of the queue. A transaction that is open for long keeps back its
//! own changes, and no others.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::clock::{Clock, MICROSECONDS};
use crate::error::Error;
use crate::model::registry::Registry;
use crate::sql::{Key, places};
use crate::store::{self, Store, Transaction};

/// How many queued changes get their places in one transaction. Writers of SQLite wait for it.
const AT_ONCE: usize = 500;

/// Gives all changes that are queued and committed when it begins their places, and not those that come
/// meanwhile: it would not end while changes are made faster. An empty queue takes no lock. Returns whether there were
/// any.
pub(super) async fn place_all(store: &Store, registry: Registry) -> Result<bool, Error> {
    let Some(Key { key: last }) = store.rows(places::last_queued()).await?.pop() else {
        return Ok(false);
    };
    while store::retry(|| place_some(store, registry, last)).await? == AT_ONCE {}
    Ok(true)
}

/// Gives the first changes of the queue, up to an entry, their places, and returns how many these were.
async fn place_some(store: &Store, registry: Registry, until: i64) -> Result<usize, Error> {
    let mut transaction = store.begin().await?;
    let mut clock = Clock::lock(&mut transaction).await?;
    let queued = Queued::read(&mut transaction, registry, until).await?;
    let count = queued.entries.len();
    if count == 0 {
        transaction.end().await;
        return Ok(0);
    }
    let existing = queued.existing(&mut transaction, registry).await?;
    let now = transaction.seconds().await? * MICROSECONDS;
    let mut placed = Vec::with_capacity(queued.latest.len());
    for (kind, record) in queued.in_order() {
        clock.seq = now.max(clock.seq + 1);
        let deleted = !existing.contains(&(kind, record));
        let created = queued.created.contains(&(kind, record));
        placed.push(places::LatestChange { kind, record, seq: clock.seq, deleted, created });
    }
    let dialect = transaction.dialect();
    for statement in places::place(&placed, dialect) {
        transaction.execute(statement).await?;
    }
    transaction.execute_batch(places::delete_queued(&queued.entries, dialect)).await?;
    transaction.execute(places::set_clock(clock.seq)).await?;
    transaction.commit().await?;
    Ok(count)
}

/// Changes from the queue.
struct Queued {
    /// The entries.
    entries: Vec<i64>,
    /// The latest entry of each record.
    latest: HashMap<(&'static str, i64), i64>,
    /// The records that came to be by one of them.
    created: HashSet<(&'static str, i64)>,
}

impl Queued {
    async fn read(
        transaction: &mut Transaction,
        registry: Registry,
        until: i64,
    ) -> Result<Self, Error> {
        let limit = i64::try_from(AT_ONCE).unwrap_or(i64::MAX);
        let (mut entries, mut latest) = (Vec::new(), HashMap::new());
        let mut made = HashSet::new();
        for row in transaction.rows(places::queued(until, limit)).await? {
            let places::Queued { entry, kind, record, created } = row;
            entries.push(entry);
            // A later version of the store may have had kinds that this one does not know.
            if let Some(resource) = registry.find(&kind) {
                latest.insert((resource.kind, record), entry);
                if created {
                    made.insert((resource.kind, record));
                }
            }
        }
        Ok(Self { entries, latest, created: made })
    }

    /// The records that exist.
    async fn existing(
        &self,
        transaction: &mut Transaction,
        registry: Registry,
    ) -> Result<HashSet<(&'static str, i64)>, Error> {
        let mut keys: BTreeMap<&'static str, Vec<i64>> = BTreeMap::new();
        for (kind, record) in self.latest.keys() {
            keys.entry(kind).or_default().push(*record);
        }
        let mut existing = HashSet::new();
        for (kind, keys) in keys {
            let Some(resource) = registry.find(kind) else { continue };
            let found = transaction.rows(places::existing(resource, keys)).await?;
            existing.extend(found.into_iter().map(|Key { key }| (kind, key)));
        }
        Ok(existing)
    }

    /// The records, in the order of their latest changes.
    fn in_order(&self) -> Vec<(&'static str, i64)> {
        let mut records: Vec<_> = self.latest.iter().map(|(of, entry)| (*entry, *of)).collect();
        records.sort_unstable();
        records.into_iter().map(|(_, of)| of).collect()
    }
}

/// Forgets the deletions up to a place, a few at a time. Writers do not wait for this, since they only
/// add to the queue.
pub(super) async fn forget(store: &Store, until: i64) -> Result<(), Error> {
    while store::retry(|| forget_some(store, until)).await? {}
    Ok(())
}

/// Forgets some deletions, and returns whether there are more.
async fn forget_some(store: &Store, until: i64) -> Result<bool, Error> {
    let mut transaction = store.begin().await?;
    let clock = Clock::lock(&mut transaction).await?;
    let until = until.min(clock.seq);
    if until <= clock.swept {
        transaction.end().await;
        return Ok(false);
    }
    let limit = i64::try_from(AT_ONCE).unwrap_or(i64::MAX);
    let old = transaction.rows(places::old_deletions(clock.swept, until, limit)).await?;
    let floor = old.last().map_or(clock.floor, |last| last.seq);
    for of in &old {
        transaction.execute(places::forget(&of.kind, of.record)).await?;
    }
    // A client that has come to the last forgotten deletion has missed none, however long ago that was.
    let more = old.len() == AT_ONCE;
    transaction.execute(places::set_floor(floor, if more { floor } else { until })).await?;
    transaction.commit().await?;
    Ok(more)
}
