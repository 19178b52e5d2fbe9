//! A page of the feed: records in the order of their keys while a client copies them, and afterwards the
//! changes since. Everything on a page is read in one snapshot.

use std::collections::HashMap;

use super::clock::{Clock, moment_of};
use super::cursor::{Cursor, Position};
use crate::error::Error;
use crate::model::question::{Condition, Page};
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::value::{Cell, Value};
use crate::sql::places::{self, Placed};
use crate::store::{Cells, Store, Transaction};
use crate::wire::document::{self, Change};
use crate::wire::object::LinkBase;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Asked {
    /// The types, all of which the client may view.
    pub(crate) kinds: Vec<&'static str>,
    /// Whether the client has named them.
    pub(crate) named: bool,
    /// How many records and changes a page has at most.
    pub(crate) size: i64,
    /// How many bytes it has at most. A page that would have more has fewer records.
    pub(crate) limit: usize,
    /// How far the client has come; `None` at the beginning.
    pub(crate) cursor: Option<Cursor>,
}

/// A page of the feed.
#[derive(Debug)]
pub(crate) struct Portion {
    /// Where the next one begins.
    pub(crate) next: Cursor,
    /// The records, by resource.
    found: Vec<(&'static Resource, Cells)>,
    /// The changes in their order; `None` if the page has the records in the order of their keys.
    changes: Option<Vec<Changed>>,
}

/// The reason why a cursor cannot be continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    /// It is of another feed, or ahead of this one.
    OtherFeed,
    /// Deletions after it are forgotten.
    TooOld,
}

#[derive(Debug)]
struct Changed {
    resource: &'static Resource,
    key: i64,
    seq: i64,
    deleted: bool,
}

/// Reads a page.
pub(crate) async fn read(
    asked: &Asked,
    store: &Store,
    registry: Registry,
) -> Result<Result<Portion, Expired>, Error> {
    let mut transaction = store.begin_read().await?;
    let clock = Clock::read(&mut transaction).await?;
    let step = match &asked.cursor {
        None => None,
        Some(cursor) if cursor.feed != clock.feed || cursor.seq() > clock.seq => {
            return Ok(Err(Expired::OtherFeed));
        }
        Some(cursor) if cursor.seq() < clock.floor => return Ok(Err(Expired::TooOld)),
        Some(cursor) => Some(cursor.step),
    };
    let mut reading = Reading { asked, registry, transaction, found: Vec::new() };
    let since = asked.cursor.as_ref().map_or(clock.seq, Cursor::seq);
    let walked = match step {
        Some(Position::Follow(_)) => None,
        Some(Position::Walk { kind, key, .. }) => reading.walk(Some((kind, key)), since).await?,
        None => reading.walk(None, since).await?,
    };
    let (step, changes) = match walked {
        Some(step) => (step, None),
        None => reading.follow(since, &clock).await?,
    };
    let Reading { transaction, found, .. } = reading;
    transaction.end().await;
    let (kinds, named) = (asked.kinds.clone(), asked.named);
    let next = Cursor { feed: clock.feed, kinds, named, step };
    Ok(Ok(Portion { next, found, changes }))
}

impl Portion {
    /// Whether there is nothing on it, so that the client has everything.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.changes.as_ref().is_none_or(Vec::is_empty)
    }

    /// How many bytes it takes, as far as they were counted.
    pub(crate) fn bytes(&self) -> usize {
        self.found.iter().map(|(_, cells)| cells.bytes()).sum()
    }

    /// The document of the page, with this link to itself, and the one that is made of the cursor of the
    /// next one. If not all of its records fit into the document, the rest is on the next page.
    ///
    /// # Errors
    /// When a cell cannot be written as its field's kind.
    pub(crate) fn document(
        &self,
        own: &str,
        next: impl Fn(&Cursor) -> String,
        place: LinkBase<'_>,
    ) -> Result<Vec<u8>, Error> {
        let rows = self.found.iter().map(|(of, cells)| Ok((*of, cells.rows()?)));
        let rows = rows.collect::<Result<Vec<_>, Error>>()?;
        let all = self.all(&rows)?;
        let mut count = all.len();
        loop {
            let last = all.get(count.saturating_sub(1)).filter(|_| count < all.len());
            let next = match last {
                Some((_, step)) => next(&Cursor { step: *step, ..self.next.clone() }),
                None => next(&self.next),
            };
            // Every page has a record, so that the client gets on.
            let limit = if count > 1 { place.limit } else { usize::MAX };
            let changes: Vec<_> = all[..count].iter().map(|(change, _)| *change).collect();
            match document::changes(&changes, [own, &next], LinkBase { limit, ..place }) {
                Err(error) if error.is_too_large() => count /= 2,
                done => return done,
            }
        }
    }

    /// The records and changes on the page, each with the position of a client that has received it.
    fn all<'a>(&self, rows: &'a [Rows<'a>]) -> Result<Vec<(Change<'a>, Position)>, Error> {
        let found = rows.iter().flat_map(|(of, rows)| rows.iter().map(|row| (*of, &row[..])));
        let Some(changes) = &self.changes else {
            let since = self.next.seq();
            let walked = found.map(|(resource, row)| {
                let step =
                    Position::Walk { kind: resource.kind, key: resource.key_of(row)?, since };
                Ok((Change::Present { resource, row }, step))
            });
            return walked.collect();
        };
        let mut present = HashMap::new();
        for (of, row) in found {
            present.insert((of.kind, of.key_of(row)?), row);
        }
        let changes = changes.iter().map(|&Changed { resource, key, seq, .. }| {
            let change = match present.get(&(resource.kind, key)) {
                Some(row) => Change::Present { resource, row },
                None => Change::Deleted { resource, key, at: moment_of(seq) },
            };
            (change, Position::Follow(seq))
        });
        Ok(changes.collect())
    }
}

/// Records of a resource.
type Rows<'a> = (&'static Resource, Vec<Vec<Cell<'a>>>);

/// The reading of a page.
struct Reading<'a> {
    asked: &'a Asked,
    registry: Registry,
    transaction: Transaction,
    found: Vec<(&'static Resource, Cells)>,
}

impl Reading<'_> {
    /// Reads records in the order of types and keys, and returns how far the client has come then;
    /// `None` if it had all of them before.
    async fn walk(
        &mut self,
        after: Option<(&'static str, i64)>,
        since: i64,
    ) -> Result<Option<Position>, Error> {
        // The order is that of the registry, which is alphabetical.
        let kinds = self.registry.followed().filter(|of| self.asked.kinds.contains(&of.kind));
        let (mut left, mut step) = (self.asked.size, None);
        for resource in kinds {
            let key = match after {
                Some((kind, _)) if resource.kind < kind => continue,
                Some((kind, key)) if resource.kind == kind => key,
                _ => 0,
            };
            let above = Condition::AtLeast(resource.key, Value::Int(key.saturating_add(1)));
            let all = Page::of_all(resource, above).shown();
            let mut page = Page { limit: left, most_bytes: self.room(), ..all };
            let cells = loop {
                match self.transaction.page(&page).await {
                    Err(error) if error.is_too_large() => match page.limit {
                        2.. => page.limit /= 2,
                        _ if step.is_some() => return Ok(step),
                        // Every page has a record, so that the client gets on.
                        _ => page.most_bytes = usize::MAX,
                    },
                    read => break read?,
                }
            };
            let rows = cells.rows()?;
            let Some(last) = rows.last() else { continue };
            step = Some(Position::Walk { kind: resource.kind, key: resource.key_of(last)?, since });
            let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            drop(rows);
            self.found.push((resource, cells));
            if count >= page.limit {
                return Ok(step);
            }
            left -= count;
        }
        // The client has all of them now, so that the changes since are next.
        Ok(step.map(|_| Position::Follow(since)))
    }

    /// Reads the changes after a place, and the records that have changed.
    async fn follow(
        &mut self,
        seq: i64,
        clock: &Clock,
    ) -> Result<(Position, Option<Vec<Changed>>), Error> {
        let kinds = &self.asked.kinds;
        let all = self.registry.followed().all(|of| kinds.contains(&of.kind));
        let only = if all { &[][..] } else { kinds };
        let rows = self.transaction.rows(places::after(seq, only, self.asked.size)).await?;
        let count = rows.len();
        // A later version of the store may have had kinds that this one does not know.
        let changes =
            rows.into_iter().filter_map(|Placed { kind, record: key, seq, deleted, .. }| {
                let resource = self.registry.find(&kind)?;
                Some(Changed { resource, key, seq, deleted })
            });
        let mut changes: Vec<Changed> = changes.collect();
        let mut full = i64::try_from(count).is_ok_and(|count| count >= self.asked.size);
        let mut most_bytes = self.asked.limit;
        loop {
            match self.find(&changes, most_bytes).await {
                Err(error) if error.is_too_large() => match changes.len() {
                    // Every page has a record, so that the client gets on.
                    ..2 => most_bytes = usize::MAX,
                    count => {
                        changes.truncate(count / 2);
                        full = true;
                    }
                },
                found => break found?,
            }
        }
        let latest = changes.last().map(|change| change.seq).filter(|_| full);
        Ok((Position::Follow(latest.unwrap_or(clock.seq)), Some(changes)))
    }

    /// Reads the records that have changed, if they have together no more than so many bytes.
    async fn find(&mut self, changes: &[Changed], most_bytes: usize) -> Result<(), Error> {
        self.found.clear();
        let mut keys: HashMap<&'static str, Vec<i64>> = HashMap::new();
        for change in changes.iter().filter(|change| !change.deleted) {
            keys.entry(change.resource.kind).or_default().push(change.key);
        }
        let mut room = most_bytes;
        for resource in self.registry.followed() {
            let Some(keys) = keys.remove(resource.kind) else { continue };
            let page = Page { most_bytes: room, ..Page::of_these(resource, keys).shown() };
            let cells = self.transaction.page(&page).await?;
            if most_bytes != usize::MAX {
                room = room.saturating_sub(cells.bytes());
            }
            self.found.push((resource, cells));
        }
        Ok(())
    }

    /// How many more bytes the page may have.
    fn room(&self) -> usize {
        let taken = self.found.iter().map(|(_, cells)| cells.bytes()).sum();
        self.asked.limit.saturating_sub(taken)
    }
}
