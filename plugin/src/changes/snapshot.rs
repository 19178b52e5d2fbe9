//! All records of a type as of one moment: which of them have changed since an earlier one, and where a
//! client that has them goes on in the feed.

use time::PrimitiveDateTime;

use super::clock::{Clock, moment_of, place_of};
use super::cursor::{Cursor, Position};
use crate::error::Error;
use crate::model::question::Condition;
use crate::store::Transaction;

/// The feed as a transaction sees it that reads all records of a type.
#[derive(Debug)]
pub(crate) struct Snapshot {
    clock: Clock,
    /// Where the feed goes on.
    pub(crate) cursor: Cursor,
}

impl Snapshot {
    /// Reads it in the snapshot of a transaction. What has been committed but has no place yet is reported
    /// again later, so that nothing is missed.
    pub(crate) async fn of(
        kind: &'static str,
        transaction: &mut Transaction,
    ) -> Result<Self, Error> {
        let clock = Clock::read(transaction).await?;
        let (feed, step) = (clock.feed.clone(), Position::Follow(clock.seq));
        Ok(Self { clock, cursor: Cursor { feed, kinds: vec![kind], named: true, step } })
    }

    /// The moment up to which changes are known.
    pub(crate) fn as_of(&self) -> PrimitiveDateTime {
        moment_of(self.clock.seq)
    }

    /// The condition that a record has changed since a moment. Whatever has not changed since the feed
    /// began counts as changed then.
    pub(crate) fn changed_since(&self, moment: PrimitiveDateTime) -> Option<Condition> {
        let since = place_of(moment);
        (since > self.clock.began).then_some(Condition::Changed(since))
    }
}
