//! The feed of changes: every change of a record once, in order, deletions included. A client first gets
//! all records, and then the changes since; the two are one path. Independent of routes and permissions.
//!
//! Triggers queue each change in its own transaction (`sql::feed`). Queued changes get their places in
//! `place`, before each read of the feed and once a second. A page is read in `read`, from the place that
//! a client's `cursor` names. Clients that wait for a change do so in `waiting`. `since` is the simple form:
//! the list of what has changed since a moment. `snapshot` is where a client goes on that has copied a type at
//! once.

mod clock;
mod cursor;
mod feed;
mod place;
mod read;
mod since;
mod snapshot;
mod waiting;

pub(crate) use clock::{Clock, moment_of, place_of};
pub(crate) use cursor::{Cursor, Position};
pub use feed::Feed;
pub(crate) use read::{Asked, Expired, Portion};
pub(crate) use since::ChangedSince;
pub(crate) use snapshot::Snapshot;
pub(crate) use waiting::Waited;
