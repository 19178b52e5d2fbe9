//! Records: their values, read by handle or by name. Independent of storage.

use super::field::{Handle, Typed};
use super::resource::{Resource, Unique};
use super::value::{Cell, Value};
use crate::error::Error;

/// A record with all of its fields, in its present state or as it would be after a write.
#[derive(Clone, Debug)]
pub struct Record {
    resource: &'static Resource,
    key: i64,
    version: i64,
    values: Vec<Value>,
}

impl Record {
    /// A record with one value for each of the resource's fields, as it would be after a write.
    pub fn new(resource: &'static Resource, key: i64, values: Vec<Value>) -> Self {
        let typed = resource.fields().zip(values).map(|(field, value)| field.kind.typed(value));
        Self { resource, key, version: 0, values: typed.collect() }
    }

    /// The record in a row that was read with all fields: the key, then a cell for each field, then
    /// the version if the resource has versions.
    ///
    /// # Errors
    /// When the row has no key, or lacks the version.
    pub fn of_row(resource: &'static Resource, row: &[Cell<'_>]) -> Result<Self, Error> {
        if row.len() != 1 + resource.fields().count() + usize::from(resource.versioned) {
            return Err(Error::Contract("a record is made of all of its fields"));
        }
        let key = resource.key_of(row)?;
        let version = resource.version_of(row)?.unwrap_or_default();
        let cells = row.iter().skip(1).map(Cell::to_value).collect();
        Ok(Self { version, ..Self::new(resource, key, cells) })
    }

    /// The resource.
    pub fn resource(&self) -> &'static Resource {
        self.resource
    }

    /// The primary key; 0 for a record that does not exist yet.
    pub fn key(&self) -> i64 {
        self.key
    }

    /// The version in which it was read; 0 for a record without one.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The values, one for each of the resource's fields.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The value of the field of this name.
    ///
    /// # Errors
    /// When the record has no such field.
    pub fn value(&self, name: &str) -> Result<&Value, Error> {
        let value = self.resource.position(name).and_then(|position| self.values.get(position));
        value.ok_or_else(|| self.resource.lacks(name))
    }

    /// The values of a unique group of fields; `None` where any number of records may have them.
    ///
    /// # Errors
    /// When the record does not have all fields.
    pub fn unique(&self, unique: &Unique) -> Result<Option<Vec<Value>>, Error> {
        let values = unique.fields.iter().map(|name| Ok(self.value(name)?.clone()));
        let values = values.collect::<Result<Vec<Value>, Error>>()?;
        let is_unset = values.contains(&Value::Null);
        let is_empty = unique.unless_empty && values.iter().all(Value::is_empty);
        Ok(Some(values).filter(|_| !is_unset && !is_empty))
    }

    /// The value of a field; `None` where it is unset.
    ///
    /// # Errors
    /// When the record has no such field, or one of another type.
    pub fn get<T: Typed>(&self, field: &Handle<T>) -> Result<Option<T::Read<'_>>, Error> {
        match self.value(field.name)? {
            Value::Null => Ok(None),
            value => T::read(value).map(Some).ok_or_else(|| self.resource.lacks(field.name)),
        }
    }

    /// The value of a field that is never unset.
    ///
    /// # Errors
    /// When the record has no such field, one of another type, or one that is unset.
    pub fn need<T: Typed>(&self, field: &Handle<T>) -> Result<T::Read<'_>, Error> {
        self.get(field)?.ok_or_else(|| self.resource.lacks(field.name))
    }
}
