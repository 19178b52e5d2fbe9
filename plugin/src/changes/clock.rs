//! The feed's own row: which feed it is, and its latest place.

use time::{PrimitiveDateTime, UtcDateTime};

use crate::error::Error;
use crate::sql::{places, row};
use crate::store::Transaction;

/// Places in a second.
pub(super) const MICROSECONDS: i64 = 1_000_000;

row! {
    /// The feed's own row.
    #[derive(PartialEq, Eq)]
    pub(crate) struct Clock {
        /// The name of the feed.
        pub(crate) feed: String,
        /// The place at which it began, before its first one.
        pub(crate) began: i64,
        /// The latest place.
        pub(crate) seq: i64,
        /// The place up to which deletions are forgotten.
        pub(crate) floor: i64,
        /// The place up to which old deletions have been looked for.
        pub(super) swept: i64,
    }
}

impl Clock {
    /// Reads it, in the snapshot of a transaction.
    pub(crate) async fn read(transaction: &mut Transaction) -> Result<Self, Error> {
        let clock = transaction.rows(places::clock()).await?.pop();
        clock.ok_or(Error::Contract("the feed of changes has no row"))
    }

    /// Locks it until the transaction ends, and reads it.
    pub(super) async fn lock(transaction: &mut Transaction) -> Result<Self, Error> {
        transaction.lock_feed().await?;
        Self::read(transaction).await
    }
}

/// The moment of a place, to the second.
pub(crate) fn moment_of(seq: i64) -> PrimitiveDateTime {
    let moment = UtcDateTime::from_unix_timestamp(seq.div_euclid(MICROSECONDS));
    let moment = moment.unwrap_or(UtcDateTime::UNIX_EPOCH);
    PrimitiveDateTime::new(moment.date(), moment.time())
}

/// The first place of a moment.
pub(crate) fn place_of(moment: PrimitiveDateTime) -> i64 {
    moment.assume_utc().unix_timestamp().saturating_mul(MICROSECONDS)
}
