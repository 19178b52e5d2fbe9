//! Tables of records, as clients import and export them: which columns they have. Independent of the form
//! in which they are sent.

use std::borrow::Cow;

use super::field::Field;
use super::registry::Registry;
use super::relation::{One, Relation};
use super::resource::{Children, Resource};
use super::value::Kind;

/// A column of a table of records.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// The primary key.
    Key(&'static Resource),
    /// A field.
    Own(&'static Field),
    /// The name of a related record, in the place of its key.
    Named(Naming),
}

/// A field with the key of a record that has a name of its own in its store: a country has its code, a
/// category its path.
#[derive(Clone, Copy, Debug)]
pub struct Naming {
    /// The field, and the resource of the record.
    pub one: One,
    /// The field of the record with its name.
    pub by: &'static Field,
}

impl Column {
    /// All columns of the records of a resource: the key, and whatever a document shows or a body may give.
    /// Where records have names, these may take the place of their keys.
    pub fn all(resource: &'static Resource, names: bool, registry: Registry) -> Vec<Column> {
        let key = resource.shows_key.then_some(Column::Key(resource));
        let given = |field: &&Field| !resource.is_internal(field.name);
        let own = resource.fields().filter(given).map(Column::Own);
        let columns = key.into_iter().chain(own);
        if !names {
            return columns.collect();
        }
        let namings: Vec<Naming> = Naming::of(resource, registry).collect();
        columns.map(|column| column.named(&namings)).collect()
    }

    /// This column, or that of the name of its record if it is one of these.
    pub fn named(self, namings: &[Naming]) -> Column {
        let Column::Own(field) = self else { return self };
        let naming = namings.iter().find(|naming| naming.one.field.name == field.name);
        naming.map_or(self, |naming| Column::Named(*naming))
    }

    /// The name that clients know it by.
    pub fn name(&self) -> Cow<'static, str> {
        match self {
            Column::Key(resource) => resource.key.into(),
            Column::Own(field) => field.name.into(),
            Column::Named(naming) => naming.name().into(),
        }
    }

    /// The kind of its values.
    pub fn kind(&self) -> Kind {
        match self {
            Column::Key(resource) => Kind::Key(resource.kind),
            Column::Own(field) => field.kind,
            Column::Named(naming) => naming.by.kind,
        }
    }
}

/// The parts of records that a table has beside their own fields: the items of orders.
#[derive(Debug)]
pub struct Parts {
    /// Their name and their resource.
    pub children: Children,
    /// The field of a part with the key of its record.
    pub by: &'static str,
    /// Their fields: what a document shows and their own table has.
    pub fields: Vec<&'static Field>,
}

impl Parts {
    /// The parts of the records of a resource, if its records are created with some that are no type of their own in
    /// files, as variants are.
    pub fn of(resource: &'static Resource) -> Option<Self> {
        let children = resource.children.filter(|children| !children.of.lists_changes())?;
        let nested = children.of.nested.iter().find(|nested| nested.parent == resource.kind)?;
        let shown = children.of.list.iter().chain(children.of.detail);
        let own = |field: &&Field| field.joined.is_none() && field.computed.is_none();
        Some(Self { children, by: nested.by, fields: shown.filter(own).collect() })
    }

    /// The kinds of what a row has of a part: the keys of the record and of the part, and the fields.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> {
        [Kind::COUNT; 2].into_iter().chain(self.fields.iter().map(|field| field.kind))
    }
}

impl Naming {
    /// The fields of a resource in whose place a table may have names.
    pub fn of(resource: &'static Resource, registry: Registry) -> impl Iterator<Item = Naming> {
        Relation::of(resource, registry).filter_map(|relation| {
            let Relation::One(one) = relation else { return None };
            let name = one.target.named_by?;
            let by = one.target.field(name)?;
            Some(Naming { one, by })
        })
    }

    /// The name of the column, for example `category.path`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.one.name, self.by.name)
    }
}
