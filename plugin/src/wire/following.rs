//! The query of the feed of changes: which types, how many records on a page, and where to go on.
//! Independent of who may view what, and of the meaning of a cursor.

use super::names::hinted;
use super::request::{self, Member, members, unknown, whole_number};
use crate::error::{Fault, FaultKind};
use crate::model::registry::Registry;
use crate::model::value::short;

/// How many records a page of the feed has by default.
pub const DEFAULT_SIZE: i64 = 100;
/// How many records a page of the feed has at most.
pub const MAX_SIZE: i64 = 1_000;

/// The parameter with the types.
pub const TYPES: &str = request::TYPES;
/// The parameter with the number of records.
pub const SIZE: &str = "page[size]";
/// The parameter with the cursor.
pub const AFTER: &str = request::AFTER;

/// A query of the feed, as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// The types that the client has named, in the order of the registry.
    pub kinds: Option<Vec<&'static str>>,
    /// How many records the client wants on a page.
    pub size: Option<i64>,
    /// The text of the cursor.
    pub after: Option<String>,
}

impl Following {
    /// Reads a query. Its faults are returned beside it, because a missing permission on what it names
    /// precedes them.
    pub fn read(query: &str, registry: Registry) -> (Self, Vec<Fault>) {
        let (mut following, mut faults) = (Self::default(), Vec::new());
        for member in members(query, &mut faults) {
            faults.extend(following.take(&member, registry).err());
        }
        (following, faults)
    }

    fn take(&mut self, (name, value): &Member<'_>, registry: Registry) -> Result<(), Fault> {
        match name.as_ref() {
            TYPES if value.is_empty() => {}
            TYPES => self.kinds = Some(kinds(value, registry)?),
            SIZE => self.size = Some(whole_number(name, value, 1)?.min(MAX_SIZE)),
            AFTER => self.after = Some(value.to_string()),
            name => return Err(unknown(name, [TYPES, SIZE, AFTER].into_iter())),
        }
        Ok(())
    }
}

/// The types in a list with commas.
fn kinds(value: &str, registry: Registry) -> Result<Vec<&'static str>, Fault> {
    let known = || registry.followed().map(|resource| resource.kind);
    let asked: Vec<&str> = value.split(',').collect();
    if let Some(other) = asked.iter().find(|asked| known().all(|known| known != **asked)) {
        let detail = hinted(format!("There is no type {:?}", short(other)), other, known());
        return Err(Fault::at_parameter(FaultKind::InvalidFilter, TYPES, detail));
    }
    Ok(known().filter(|known| asked.contains(known)).collect())
}
