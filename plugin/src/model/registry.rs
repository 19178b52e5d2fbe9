//! All resources of a store, as a value that is passed to any code that looks up a resource by its
//! kind.

use std::collections::HashMap;

use super::field::Field;
use super::record::Record;
use super::resource::Resource;
use super::value::{Kind, Value};
use crate::error::Error;

/// Every resource of a store.
#[derive(Clone, Copy, Debug)]
pub struct Registry(pub &'static [&'static Resource]);

/// What refers to the records of each type and prevents their deletion, found out once.
#[derive(Debug)]
pub struct References(HashMap<&'static str, Vec<Reference>>);

/// A field through which the records of a resource refer to those of another.
#[derive(Debug)]
pub struct Reference {
    /// The referring resource.
    pub resource: &'static Resource,
    /// The referring field.
    pub field: &'static Field,
    /// The column whose value the field contains; `None` for the key.
    code: Option<&'static str>,
    /// The column of the record that must not change while the reference exists, if it is not the
    /// key, which never changes.
    pub relies_on: Option<&'static str>,
}

impl References {
    /// What refers to the records of a resource.
    pub fn to(&self, resource: &Resource) -> &[Reference] {
        self.0.get(resource.kind).map_or(&[], Vec::as_slice)
    }
}

impl Reference {
    /// The value by which others refer to this record.
    ///
    /// # Errors
    /// When the record lacks it.
    pub fn value(&self, record: &Record) -> Result<Value, Error> {
        match self.code {
            Some(column) => record.value(column).cloned(),
            None => Ok(Value::Int(record.key())),
        }
    }
}

/// A table of records.
#[derive(Clone, Copy, Debug)]
pub struct Tabled {
    /// Its name.
    pub table: &'static str,
    /// Its primary key.
    pub key: &'static str,
    /// The name of its records: their kind, or a part of the table's name if there are several.
    pub what: &'static str,
}

impl Registry {
    /// The resources.
    pub fn iter(self) -> impl Iterator<Item = &'static Resource> + Clone {
        self.0.iter().copied()
    }

    /// The resource of this kind.
    pub fn find(self, kind: &str) -> Option<&'static Resource> {
        self.iter().find(|resource| resource.kind == kind)
    }

    /// The resources whose records the feed of changes reports.
    pub fn followed(self) -> impl Iterator<Item = &'static Resource> + Clone {
        self.iter().filter(|resource| resource.is_followed())
    }

    /// The tables of all records, each after those that its rows refer to.
    pub fn tables(self) -> Vec<Tabled> {
        let mut left: Vec<Tabled> = Vec::new();
        for Resource { table, key, kind, .. } in self.iter().filter(|of| !of.table.is_empty()) {
            match left.iter_mut().find(|known| known.table == *table) {
                Some(known) => known.what = table.trim_start_matches("shop_"),
                None => left.push(Tabled { table, key, what: kind }),
            }
        }
        let mut ordered: Vec<Tabled> = Vec::with_capacity(left.len());
        loop {
            let is_free = |table: &Tabled| {
                let is_left = |target| left.iter().any(|of| of.table == target);
                let mut targets = self.targets_of(table.table);
                targets.all(|target| target == table.table || !is_left(target))
            };
            let (free, bound): (Vec<_>, Vec<_>) = left.iter().partition(|table| is_free(table));
            // None is left, or they refer to each other, so that no order suits them.
            if free.is_empty() {
                ordered.extend(bound);
                return ordered;
            }
            ordered.extend(free);
            left = bound;
        }
    }

    /// The tables that the rows of a table refer to, by a field or as the parts of another record.
    fn targets_of(self, table: &str) -> impl Iterator<Item = &'static str> {
        let of_table = self.iter().filter(move |resource| resource.table == table);
        let kinds = of_table.flat_map(|resource| {
            let own = resource.fields().filter(|field| field.joined.is_none());
            let referred = own.filter_map(|field| match field.kind {
                Kind::Key(kind) | Kind::Code { of: kind, .. } => Some(kind),
                _ => None,
            });
            referred.chain(resource.nested.iter().map(|nested| nested.parent))
        });
        kinds.filter_map(move |kind| Some(self.find(kind)?.table))
    }

    /// What refers to the records of each resource.
    pub fn references(self) -> References {
        let mut references: HashMap<&str, Vec<Reference>> = HashMap::new();
        for resource in self.iter() {
            let refers = |field: &&Field| !field.owned && !field.snapshot && field.joined.is_none();
            for field in resource.fields().filter(refers) {
                let (kind, code, relies_on) = match field.kind {
                    Kind::Key(kind) => (kind, None, field.within.map(|[_, theirs]| theirs)),
                    Kind::Code { of, field, .. } => (of, Some(field), Some(field)),
                    _ => continue,
                };
                let referring = references.entry(kind).or_default();
                // Resources that share a table would count the same rows.
                let counted = |known: &Reference| {
                    (known.resource.table, known.field.name) == (resource.table, field.name)
                };
                if !referring.iter().any(counted) {
                    referring.push(Reference { resource, field, code, relies_on });
                }
            }
        }
        References(references)
    }
}
