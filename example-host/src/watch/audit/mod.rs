//! The audit trail: who changed what, in the administration, through the API and on the command
//! line. Its entries form a chain that shows whether one was changed afterwards.

mod actor;
mod chain;
mod entry;
mod export;
mod list;
mod rows;
mod seldom;
mod verify;
mod writer;

pub(crate) use self::actor::Actor;
pub(crate) use self::chain::copy;
pub(crate) use self::entry::{Entry, Means, Origin, Record};
pub(crate) use self::export::{Export, Format};
pub(crate) use self::list::{Cursor, Filter, list};
pub(crate) use self::rows::Place;
pub(crate) use self::verify::verify;
pub(crate) use self::writer::{Audit, Writing, begin};
