//! The records that a document includes, each once, and which of them belong to which. Independent
//! of how they are found and written.

use std::collections::{HashMap, HashSet};

use super::view::{Branch, View};
use crate::error::Error;
use crate::model::relation::{Many, Relation};
use crate::model::resource::Resource;
use crate::model::value::Cell;

/// The greatest number of records that a document includes. It is enough for all items, shipments and entries
/// of the longest order.
pub const MAX_INCLUDED: usize = 5_000;

/// The records that a document includes.
#[derive(Debug)]
pub struct Included<'a> {
    /// The records, in the order in which the relations were named.
    pub records: Vec<Beside<'a>>,
    /// The kind and the key of each record of the document.
    known: HashSet<(&'static str, i64)>,
    /// The keys of the records that belong to each record, by the list below it.
    belonging: HashMap<(&'static str, &'static str), HashMap<i64, Vec<i64>>>,
}

/// An included record.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    /// Its resource.
    pub resource: &'static Resource,
    /// What is shown of it.
    pub view: &'a View,
    /// Its cells.
    pub row: &'a [Cell<'a>],
}

impl<'a> Included<'a> {
    /// No records yet but those that the client asked for.
    ///
    /// # Errors
    /// When a record has no key.
    pub fn beside(resource: &'static Resource, rows: &[Vec<Cell<'_>>]) -> Result<Self, Error> {
        let known = rows.iter().map(|row| Ok((resource.kind, resource.key_of(row)?)));
        let known = known.collect::<Result<_, Error>>()?;
        Ok(Included { records: Vec::new(), known, belonging: HashMap::new() })
    }

    /// Adds the records of a relation, which was followed from the records with these keys. A record
    /// that the document has already is not repeated.
    ///
    /// # Errors
    /// When a record has no key, or no owner.
    pub fn add(
        &mut self,
        branch: &'a Branch,
        from: &[i64],
        rows: &'a [Vec<Cell<'a>>],
    ) -> Result<(), Error> {
        let resource = branch.relation.target();
        if let Relation::Many(many) = branch.relation {
            let belonging = self.belonging.entry(list(&many)).or_default();
            belonging.extend(from.iter().map(|owner| (*owner, Vec::new())));
            let owner = branch.view.shape.cell_of(many.position, resource);
            for row in rows {
                let cell = owner.and_then(|owner| row.get(owner)).unwrap_or(&Cell::Null);
                let owner = cell.int(many.nested.by)?;
                belonging.entry(owner).or_default().push(resource.key_of(row)?);
            }
        }
        for row in rows {
            if self.known.insert((resource.kind, resource.key_of(row)?)) {
                self.records.push(Beside { resource, view: &branch.view, row });
            }
        }
        Ok(())
    }

    /// The keys of the records that belong to a record; `None` if they were not asked for.
    pub fn belonging_to(&self, many: &Many, owner: i64) -> Option<&[i64]> {
        self.belonging.get(&list(many))?.get(&owner).map(Vec::as_slice)
    }
}

fn list(many: &Many) -> (&'static str, &'static str) {
    (many.nested.parent, many.nested.segment)
}
