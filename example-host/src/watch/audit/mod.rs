//! The audit trail: who changed what, in the administration, through the API and on the command
//! line.

mod actor;
mod entry;
mod list;
mod rows;
mod writer;

pub(crate) use self::actor::Actor;
pub(crate) use self::entry::{Entry, Means, Origin, Record};
pub(crate) use self::list::{Cursor, Filter, list};
pub(crate) use self::rows::{Place, copy};
pub(crate) use self::writer::{Audit, Writing, begin};
