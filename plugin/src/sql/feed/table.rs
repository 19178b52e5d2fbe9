//! The tables whose changes the feed reports, as its triggers need them. Derived from the descriptors
//! of the resources, so a new resource needs no other mention.

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
    /// The kinds of the records that show its rows.
    pub shown: Vec<Shown>,
    /// The tables whose rows are deleted with a row of this one.
    pub parts: Vec<Part>,
}

/// A kind of records that show the rows of a table.
#[derive(Debug)]
pub struct Shown {
    /// The kind.
    pub kind: &'static str,
    /// The column and the value of the rows that are such records; `None` if all are.
    pub only: Option<(&'static str, i64)>,
}

/// A table whose rows belong to those of another one.
#[derive(Debug)]
pub struct Part {
    /// The kind of its records.
    pub kind: &'static str,
    /// The table.
    pub table: &'static str,
    /// Its primary key.
    pub key: &'static str,
    /// The column with the key of the row that a row belongs to.
    pub by: &'static str,
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

    /// Whether the row becomes a record of a kind by it, as a number.
    pub fn created(self, shown: &Shown) -> String {
        match (self, shown.only) {
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
    let mut tables: Vec<Followed> = Vec::new();
    for resource in registry.followed() {
        let Resource { table, key, .. } = *resource;
        let known = tables.iter().position(|known| known.table == table);
        let known = known.unwrap_or_else(|| {
            tables.push(Followed { table, key, shown: Vec::new(), parts: Vec::new() });
            tables.len() - 1
        });
        let shown = Shown { kind: resource.kind, only: resource.fixed.first().copied() };
        tables[known].shown.push(shown);
        tables[known].parts.extend(parts(resource, registry));
    }
    tables.sort_by_key(|followed| followed.table);
    tables
}

/// The tables of the parts of a record.
fn parts(whole: &Resource, registry: Registry) -> impl Iterator<Item = Part> {
    let owner = Kind::Key(whole.kind);
    let of = move |resource: &'static Resource| {
        let by = resource.fields().find(|field| field.owned && field.kind == owner)?;
        let Resource { kind, table, key, .. } = *resource;
        Some(Part { kind, table, key, by: by.name })
    };
    registry.followed().filter_map(of)
}
