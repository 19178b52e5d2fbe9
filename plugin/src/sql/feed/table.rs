//! The tables whose changes the feed reports, as its triggers need them. Derived from the descriptors
//! of the resources, so a new resource needs no other mention.

use std::collections::BTreeMap;

use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::value::Kind;

/// A table whose changes are queued.
#[derive(Debug)]
pub struct Followed {
    /// The table.
    pub table: &'static str,
    /// Its primary key.
    pub key: &'static str,
    /// The resources whose records show its rows: all of them, or those with the first fixed value.
    pub shown: Vec<&'static Resource>,
    /// The resources whose rows are deleted with a row of this table, each with the column that has its key.
    pub parts: Vec<(&'static Resource, &'static str)>,
}

/// What happens to a row, for an engine with a trigger for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is inserted.
    Insert,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Change {
    /// The row that has the key of the record.
    pub fn row(self) -> &'static str {
        if self == Self::Delete { "OLD" } else { "NEW" }
    }

    /// The values of a column, in the rows that there are.
    pub fn values(self, column: &str) -> String {
        match self {
            Self::Update => format!("NEW.{column}, OLD.{column}"),
            Self::Insert | Self::Delete => format!("{}.{column}", self.row()),
        }
    }

    /// Whether the row becomes a record of a resource by it, as a number.
    pub fn created(self, resource: &Resource) -> String {
        match (self, resource.fixed.first()) {
            (Self::Insert, _) => "1".to_owned(),
            (Self::Update, Some((column, value))) => {
                format!("NEW.{column} = {value} AND OLD.{column} <> {value}")
            }
            (Self::Update, None) | (Self::Delete, _) => "0".to_owned(),
        }
    }
}

/// All tables whose changes are queued, in alphabetical order.
pub fn followed(registry: Registry) -> Vec<Followed> {
    let mut tables = BTreeMap::new();
    for resource in registry.followed() {
        let Resource { table, key, .. } = *resource;
        let empty = || Followed { table, key, shown: Vec::new(), parts: Vec::new() };
        let followed = tables.entry(table).or_insert_with(empty);
        followed.shown.push(resource);
        followed.parts.extend(parts(resource, registry));
    }
    tables.into_values().collect()
}

/// The parts of a record, with their columns that have its key.
fn parts(
    whole: &Resource,
    registry: Registry,
) -> impl Iterator<Item = (&'static Resource, &'static str)> {
    let owner = Kind::Key(whole.kind);
    registry.followed().filter_map(move |part| {
        let by = part.fields().find(|field| field.owned && field.kind == owner)?;
        Some((part, by.name))
    })
}
