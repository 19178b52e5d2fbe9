//! Questions to the database: a page of records, and the checks of a record that is to be written.
//! Nothing here knows how they are asked.

use super::field::Field;
use super::resource::{Order, Resource, Unique};
use super::value::Value;

/// Which fields of a record are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The fields of lists.
    List,
    /// All fields.
    Detail,
}

impl Shape {
    /// The fields after the key, in order.
    pub fn fields(
        self,
        resource: &Resource,
    ) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        let detail = match self {
            Shape::List => 0,
            Shape::Detail => resource.detail.len(),
        };
        resource.list.iter().chain(&resource.detail[..detail])
    }
}

/// A page of records to read.
#[derive(Clone, Debug)]
pub struct Page {
    /// Of what.
    pub resource: &'static Resource,
    /// Which fields.
    pub shape: Shape,
    /// What each record must satisfy.
    pub conditions: Vec<Condition>,
    /// In what order.
    pub order: Order,
    /// How many records to skip.
    pub offset: i64,
    /// How many records to give at most.
    pub limit: i64,
}

impl Page {
    /// The fields that are read: those that are shown, and the hidden ones, which relationships are
    /// made of.
    pub fn columns(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        self.shape.fields(self.resource).chain(self.resource.hidden)
    }

    /// The page that is one record with all of its fields, if there is such a record.
    pub fn of_one(resource: &'static Resource, key: i64) -> Self {
        Self {
            resource,
            shape: Shape::Detail,
            conditions: vec![Condition::Key(key)],
            order: Order::KEY,
            offset: 0,
            limit: 1,
        }
    }

    /// The page that is the one record which satisfies a condition, if there is such a record.
    pub fn of_the(resource: &'static Resource, condition: Condition) -> Self {
        Self { conditions: vec![condition], ..Self::of_one(resource, 0) }
    }
}

/// What a record must satisfy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Its primary key is this.
    Key(i64),
    /// Its primary key is one of these.
    Keys(Vec<i64>),
    /// The field has this value.
    Equals(&'static str, Value),
    /// The field is this or greater.
    AtLeast(&'static str, Value),
    /// The field is this or less.
    AtMost(&'static str, Value),
    /// One of the fields contains this text, which has been case-folded.
    Contains(&'static [&'static str], String),
}

impl Condition {
    /// The field has this value.
    pub fn equals(field: &Field, value: Value) -> Self {
        Condition::Equals(field.name, value)
    }

    /// The field that it is about, where that is one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Condition::Equals(name, _)
            | Condition::AtLeast(name, _)
            | Condition::AtMost(name, _) => Some(name),
            Condition::Key(_) | Condition::Keys(_) | Condition::Contains(..) => None,
        }
    }
}

/// A question to the database about a record that is to be written.
#[derive(Clone, Debug)]
pub enum Check {
    /// There is a record that is known by this value.
    Exists {
        /// The field that refers to it.
        field: &'static Field,
        /// What the record is.
        target: &'static Resource,
        /// The column by which it is known.
        column: &'static str,
        /// Its value there.
        value: Value,
        /// A column of it and the value that it must have there.
        within: Option<(&'static str, Value)>,
    },
    /// No other record has these values.
    Free {
        /// Of this resource.
        resource: &'static Resource,
        /// The fields that have them.
        unique: &'static Unique,
        /// The values.
        values: Vec<Value>,
        /// The record that may have them.
        except: i64,
    },
}
