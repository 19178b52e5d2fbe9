//! A list of what has changed since a moment: where a page of it begins, and how a client goes on.
//!
//! The list is in the order of changes, unless the client wants another one. A record that changes while a
//! client pages moves to the end, so a page begins after the last record of the page before, and not at an
//! offset, across which another record would slip. `as_of` is never later than what the client has seen when
//! it has read this page and those before it: whatever changes later is on a later page, or in the next list.

use time::PrimitiveDateTime;

use super::clock::{Clock, moment_of, place_of};
use crate::error::Error;
use crate::model::question::{Condition, Page};
use crate::model::resource::Order;
use crate::model::value::Cell;
use crate::sql::places;
use crate::store::Transaction;
use crate::wire::document::{Paging, Since};
use crate::wire::request::Listing;
use crate::wire::resume::Resume;

/// A page of such a list.
#[derive(Debug)]
pub(crate) struct ChangedSince<'a> {
    listing: &'a Listing,
    moment: PrimitiveDateTime,
    /// The latest place.
    latest: i64,
    way: Way,
}

/// How a client comes from page to page.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// In the order of changes.
    Changes,
    /// In the order of keys, because the moment is before all changes that are known. Changes up to this
    /// place were known when the list began.
    Keys(i64),
    /// In another order, by offsets.
    Offsets,
}

impl<'a> ChangedSince<'a> {
    /// Limits a page to what has changed since the moment that the listing has, if it has one.
    pub(crate) async fn of(
        listing: &'a Listing,
        moment: PrimitiveDateTime,
        page: &mut Page,
        snapshot: &mut Transaction,
    ) -> Result<Self, Error> {
        let clock = Clock::read(snapshot).await?;
        let since = place_of(moment);
        // Whatever has not changed since the feed began counts as changed then.
        let limited = since > clock.began;
        if limited {
            page.conditions.push(Condition::Changed(since));
            page.by_change = !listing.ordered;
        }
        // A cursor of another kind is from before the feed began anew, so the list begins again.
        let way = match (listing.ordered, limited) {
            (true, _) => Way::Offsets,
            (false, true) => {
                page.after = match listing.resume {
                    Some(Resume::Change(place)) => Some(place),
                    _ => None,
                };
                Way::Changes
            }
            (false, false) => {
                let (after, seen) = match listing.resume {
                    Some(Resume::Key { key, seen }) => (Some(key), seen.min(clock.seq)),
                    _ => (None, clock.seq),
                };
                (page.order, page.after) = (Order::KEY, after);
                Way::Keys(seen)
            }
        };
        if !listing.ordered {
            // One more shows whether there is another page.
            page.limit += 1;
        }
        Ok(Self { listing, moment, latest: clock.seq, way })
    }

    /// What the list has beside the rows of this page, from which a row too many is removed.
    pub(crate) async fn beside(
        &self,
        page: &Page,
        (rows, total): (&mut Vec<Vec<Cell<'_>>>, i64),
        snapshot: &mut Transaction,
    ) -> Result<Since, Error> {
        let Listing { offset, limit, resume, ordered, .. } = *self.listing;
        let kind = page.resource.kind;
        let shown = usize::try_from(limit).unwrap_or(usize::MAX);
        let goes_on = !ordered && rows.len() > shown;
        rows.truncate(shown);
        let last = rows.last().filter(|_| goes_on).map(|row| page.resource.key_of(row));
        let (as_of, next) = match (self.way, last.transpose()?) {
            (Way::Offsets, _) => {
                // Between two pages, records may move across their edge in either direction.
                let is_whole = offset == 0 && total <= limit;
                let as_of = if is_whole { moment_of(self.latest) } else { self.moment };
                return Ok(Since { as_of, paging: Paging::Offset });
            }
            (Way::Changes, Some(key)) => {
                let place = snapshot.number(places::of_record(kind, key)).await?;
                (moment_of(place), Some(Resume::Change(place)))
            }
            (Way::Changes, None) => match self.last_read(page, (shown, total), snapshot).await? {
                Some(place) => (moment_of(place), Some(Resume::Change(place))),
                None => (moment_of(self.latest), None),
            },
            (Way::Keys(seen), Some(key)) => (self.moment, Some(Resume::Key { key, seen })),
            (Way::Keys(seen), None) => (moment_of(seen), None),
        };
        let [own, next] = [resume, next].map(|resume| resume.map(|resume| resume.text(kind)));
        Ok(Since { as_of, paging: Paging::Cursor { own, next } })
    }

    /// The last place that a page has read, if there may be more although it has no surplus row: a record that
    /// is gone, and whose deletion has no place yet, leaves the page one row short.
    async fn last_read(
        &self,
        page: &Page,
        (shown, total): (usize, i64),
        snapshot: &mut Transaction,
    ) -> Result<Option<i64>, Error> {
        let Some(from) = page.from_change() else { return Ok(None) };
        let shown = i64::try_from(shown).unwrap_or(i64::MAX);
        if total <= shown {
            return Ok(None);
        }
        let found = snapshot.numbers(places::of_nth(page.resource.kind, from, shown)).await?;
        Ok(found.first().copied())
    }
}
