//! Members of `meta` that a record has beside its attributes. Independent of what they are about.

use serde_json::value::RawValue;

use super::field::Field;
use super::value::Cell;
use crate::error::Error;

/// Members of `meta` that follow from columns of the record.
#[derive(Debug)]
pub struct DerivedMeta {
    /// The members, of which those that may be unset are left out then.
    pub members: &'static [Field],
    /// The columns.
    pub from: &'static [&'static str],
    /// Derives the members from the cells of the columns, in their order.
    pub derive: Derive,
}

/// See [`DerivedMeta::derive`]. The values are JSON that is shown as it is.
pub type Derive = fn(&[&Cell<'_>]) -> Result<Vec<(&'static str, Box<RawValue>)>, Error>;
