//! All resources of a store, as a value that is passed to any code that looks up a resource by its
//! kind.

use super::field::Field;
use super::record::Record;
use super::resource::Resource;
use super::value::{Kind, Value};
use crate::error::Error;

/// Every resource of a store.
#[derive(Clone, Copy, Debug)]
pub struct Registry(pub &'static [&'static Resource]);

/// A field through which the records of a resource refer to a record.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The referring resource.
    pub resource: &'static Resource,
    /// The referring field.
    pub field: &'static Field,
    /// The value that the field contains.
    pub value: Value,
    /// The column of the record that must not change while the reference exists, if it is not the
    /// key, which never changes.
    pub relies_on: Option<&'static str>,
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

    /// The fields of all resources that refer to a record and prevent its deletion.
    ///
    /// # Errors
    /// When the record lacks the field that others refer to.
    pub fn referring_to(self, record: &Record) -> Result<Vec<Reference>, Error> {
        let kind = record.resource().kind;
        let mut referring: Vec<Reference> = Vec::new();
        for resource in self.iter() {
            let refers = |field: &&Field| !field.owned && !field.snapshot && field.joined.is_none();
            for field in resource.fields().filter(refers) {
                let (value, relies_on) = match field.kind {
                    Kind::Key(target) if target == kind => {
                        (Value::Int(record.key()), field.within.map(|[_, theirs]| theirs))
                    }
                    Kind::Code { of, field, .. } if of == kind => {
                        (record.value(field)?.clone(), Some(field))
                    }
                    _ => continue,
                };
                // Resources that share a table would count the same rows.
                let counted = |known: &Reference| {
                    (known.resource.table, known.field.name) == (resource.table, field.name)
                };
                if !referring.iter().any(counted) {
                    referring.push(Reference { resource, field, value, relies_on });
                }
            }
        }
        Ok(referring)
    }
}
