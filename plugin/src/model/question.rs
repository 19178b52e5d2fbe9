//! Queries to the database as plain data: a page of records, and the checks of a record before it
//! is written. Independent of how they are executed.

use super::field::Field;
use super::resource::{Order, Resource, Unique};
use super::value::Value;

/// The set of fields to show.
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
    /// The resource.
    pub resource: &'static Resource,
    /// The fields.
    pub shape: Shape,
    /// The conditions that each record must satisfy.
    pub conditions: Vec<Condition>,
    /// The order.
    pub order: Order,
    /// How many records to skip.
    pub offset: i64,
    /// How many records to return at most.
    pub limit: i64,
}

impl Page {
    /// The fields to read: the shown ones, and the hidden ones that relationships need.
    pub fn columns(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        self.shape.fields(self.resource).chain(self.resource.hidden)
    }

    /// The number of cells of a row: the key, the fields, and the version if there are versions.
    pub fn width(&self) -> usize {
        1 + self.columns().count() + usize::from(self.resource.versioned)
    }

    /// The page of a single record with all of its fields, if the record exists.
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

    /// The page of the single record that satisfies a condition, if it exists.
    pub fn of_the(resource: &'static Resource, condition: Condition) -> Self {
        Self { conditions: vec![condition], ..Self::of_one(resource, 0) }
    }
}

/// A condition on a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The primary key equals this.
    Key(i64),
    /// Its primary key is one of these.
    Keys(Vec<i64>),
    /// The field has this value.
    Equals(&'static str, Value),
    /// The field equals this or is greater.
    AtLeast(&'static str, Value),
    /// The field equals this or is less.
    AtMost(&'static str, Value),
    /// One of the fields contains this text, which is case-folded.
    Contains(&'static [&'static str], String),
}

impl Condition {
    /// The field has this value.
    pub fn equals(field: &Field, value: Value) -> Self {
        Condition::Equals(field.name, value)
    }

    /// The field of the condition, if it has exactly one.
    pub fn field(&self) -> Option<&'static str> {
        match self {
            Condition::Equals(name, _)
            | Condition::AtLeast(name, _)
            | Condition::AtMost(name, _) => Some(name),
            Condition::Key(_) | Condition::Keys(_) | Condition::Contains(..) => None,
        }
    }
}

/// A check in the database of a record before it is written.
#[derive(Clone, Debug)]
pub enum Check {
    /// A record with this value exists.
    Exists {
        /// The field that refers to it.
        field: &'static Field,
        /// The resource of the record.
        target: &'static Resource,
        /// The column that identifies it.
        column: &'static str,
        /// The value in that column.
        value: Value,
        /// A column of the record and the value that it must have there.
        within: Option<(&'static str, Value)>,
    },
    /// No other record has these values.
    Free {
        /// The resource.
        resource: &'static Resource,
        /// The unique group of fields.
        unique: &'static Unique,
        /// The values.
        values: Vec<Value>,
        /// The key of a record that may have them.
        except: i64,
    },
}
