//! The audit trail: who changed what, in the administration, through the API and on the command
//! line. Its entries form two chains that show whether one was changed afterwards: one of lasting
//! entries, which are kept for a number of days, and one of all others, of which the newest are kept.

mod actor;
mod bounds;
mod chain;
mod ends;
mod entry;
mod export;
mod list;
mod of_user;
mod rows;
mod seldom;
mod verify;
mod writer;

pub(crate) use self::actor::Actor;
pub(crate) use self::bounds::Bounds;
pub(crate) use self::chain::copy;
pub(crate) use self::entry::{Entry, Means, Origin, Record};
pub(crate) use self::export::{Export, Format};
pub(crate) use self::list::{Cursor, Filter, list};
pub(crate) use self::of_user::of_user;
pub(crate) use self::rows::Place;
pub(crate) use self::verify::verify;
pub(crate) use self::writer::{Audit, Writing, begin};
