//! Queries to the database as plain data: a page of records, and the checks of a record before it
//! is written. Independent of how they are executed.

use std::hash::{Hash, Hasher};

use super::field::Field;
use super::meta::DerivedMeta;
use super::relation::Relation;
use super::resource::{Order, Part, Resource, Unique};
use super::selection::Selection;
use super::value::Value;

/// The set of fields to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The fields of lists.
    List,
    /// The fields of single records.
    Detail,
    /// All fields, also the hidden ones, of which a record is made.
    Record,
    /// The fields of a selection.
    Selected(Selection),
}

impl Shape {
    /// The fields of lists of a resource.
    pub fn of_lists(resource: &Resource) -> Self {
        if resource.lists_all() { Shape::Detail } else { Shape::List }
    }

    /// The fields to read after the key, in order: the shown ones, and the hidden ones that
    /// relationships and `meta` need. Each has its position in [`Resource::fields`].
    pub fn columns(
        self,
        resource: &Resource,
    ) -> impl Iterator<Item = (usize, &'static Field)> + Clone + use<> {
        let (listed, hidden, meta) =
            (resource.list.len(), resource.list.len() + resource.detail.len(), resource.meta);
        let derived = self.derived_meta(resource).map_or(&[][..], |derived| derived.from);
        let needed = move |field: &Field| {
            let names = |names: &[&str]| names.contains(&field.name);
            field.relationship().is_some() || names(meta) || names(derived)
        };
        resource.fields().enumerate().filter(move |(position, field)| match self {
            Shape::Record => true,
            _ if *position >= hidden => needed(field),
            Shape::Detail => true,
            Shape::Selected(selection) => selection.read.contains(*position),
            Shape::List => *position < listed,
        })
    }

    /// The members of `meta` that follow from columns.
    pub fn derived_meta(self, resource: &Resource) -> Option<&'static DerivedMeta> {
        resource.derived_meta.filter(|_| self == Shape::Detail)
    }

    /// Whether the primary key is one of the attributes.
    pub fn shows_key(self, resource: &Resource) -> bool {
        match self {
            Shape::Selected(selection) => selection.key,
            _ => resource.shows_key,
        }
    }

    /// Whether the column at this position is an attribute.
    pub fn shows(self, position: usize, resource: &Resource) -> bool {
        match self {
            Shape::Selected(selection) => selection.attributes.contains(position),
            _ => position < resource.list.len() + resource.detail.len(),
        }
    }

    /// Whether the relationship of the column at this position is shown.
    pub fn relates(self, position: usize) -> bool {
        match self {
            Shape::Selected(selection) => selection.relationships.contains(position),
            _ => true,
        }
    }

    /// The cell of the field at this position in a row, which begins with the key.
    pub fn cell_of(self, position: usize, resource: &Resource) -> Option<usize> {
        self.columns(resource).position(|(column, _)| column == position).map(|column| column + 1)
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
    /// Whether it has the order of changes instead, in which case it is limited to changed records.
    pub by_change: bool,
    /// How many records to skip.
    pub offset: i64,
    /// After which of them to begin instead of skipping some: a key in the order of keys, a place in the
    /// order of changes. The records before it are counted all the same.
    pub after: Option<i64>,
    /// How many records to return at most.
    pub limit: i64,
    /// How many bytes its long texts may have together. If they have more, it is not read.
    pub most_bytes: usize,
    /// Whether anybody asks how many records satisfy the conditions. Of a page whose conditions name its records, or
    /// their owners, by key, nobody does.
    pub counted: bool,
}

impl Page {
    /// The fields to read after the key, in order.
    pub fn columns(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        self.shape.columns(self.resource).map(|(_, field)| field)
    }

    /// The fields whose texts are measured, each with the place of its cell in a row; none if it may be of
    /// any size.
    pub fn measured(&self) -> impl Iterator<Item = (usize, &'static Field)> + use<> {
        let columns =
            self.columns().take(if self.most_bytes == usize::MAX { 0 } else { usize::MAX });
        // What is computed is short enough, and would be computed twice.
        let is_measured = |field: &Field| field.kind.is_long() && field.computed.is_none();
        columns
            .enumerate()
            .filter(move |(_, field)| is_measured(field))
            .map(|(at, of)| (at + 1, of))
    }

    /// Whether it is limited to changed records.
    pub fn is_of_changed(&self) -> bool {
        self.conditions.iter().any(|condition| matches!(condition, Condition::Changed(_)))
    }

    /// Whether it has at most one record, which its key names.
    pub fn is_of_one(&self) -> bool {
        let names = |test: &Condition| matches!(test, Condition::Equals(name, _) if *name == self.resource.key);
        self.conditions.iter().any(names)
    }

    /// Whether it begins where its list does.
    pub fn is_first(&self) -> bool {
        self.offset == 0 && self.after.is_none()
    }

    /// From which place on the feed of changes has its records, if nothing else limits it.
    pub fn only_changed(&self) -> Option<i64> {
        match self.conditions[..] {
            [Condition::Changed(since)] => Some(since),
            _ => None,
        }
    }

    /// From which place on the feed of changes has the records of this page, if nothing else limits its list.
    pub fn from_change(&self) -> Option<i64> {
        let since = self.only_changed()?;
        Some(self.after.map_or(since, |after| since.max(after.saturating_add(1))))
    }

    /// The number of cells of a row: the key, the fields, and the version if there are versions.
    pub fn width(&self) -> usize {
        1 + self.columns().count() + usize::from(self.resource.versioned)
    }

    /// All records, with all of their fields, in the order of their keys.
    pub fn of(resource: &'static Resource) -> Self {
        Self {
            resource,
            shape: Shape::Record,
            conditions: Vec::new(),
            order: Order::KEY,
            by_change: false,
            offset: 0,
            after: None,
            limit: i64::MAX,
            most_bytes: usize::MAX,
            counted: true,
        }
    }

    /// The page of the single record that satisfies a condition, if it exists, with all of its fields.
    pub fn of_the(resource: &'static Resource, condition: Condition) -> Self {
        Self { conditions: vec![condition], limit: 1, ..Self::of(resource) }
    }

    /// The page of a single record with all of its fields, if the record exists.
    pub fn of_one(resource: &'static Resource, key: i64) -> Self {
        Self::of_the(resource, Condition::Equals(resource.key, Value::Int(key)))
    }

    /// The page of all records with these keys, with all of their fields.
    pub fn of_these(resource: &'static Resource, keys: Vec<i64>) -> Self {
        let limit = i64::try_from(keys.len()).unwrap_or(i64::MAX);
        Self { limit, ..Self::of_all(resource, Condition::among(resource.key, &keys)) }
    }

    /// The page of the records that a condition names by their keys, or by those of their owners, with all of
    /// their fields.
    pub fn of_all(resource: &'static Resource, condition: Condition) -> Self {
        Self { conditions: vec![condition], counted: false, ..Self::of(resource) }
    }

    /// The same page with the fields of documents.
    pub fn shown(self) -> Self {
        Self { shape: Shape::Detail, ..self }
    }

    /// The records to which a relation leads from the records with these keys: to one of them, from
    /// the keys that are in its field. They are in the order of the index that leads to them.
    pub fn of_related(relation: &Relation, shape: Shape, keys: Vec<i64>, limit: i64) -> Self {
        let target = relation.target();
        let (by, order) = match relation {
            Relation::One(_) => (target.key, Order::KEY),
            Relation::Many(many) => {
                (many.nested.by, Order { field: Some(many.nested.by), descending: false })
            }
        };
        Self { shape, order, limit, ..Self::of_all(target, Condition::among(by, &keys)) }
    }
}

/// A condition on a record: what is true of it. Columns are fields, or the primary key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The column has this value.
    Equals(&'static str, Value),
    /// The column has one of these values.
    OneOf(&'static str, Vec<Value>),
    /// The column equals this or is greater.
    AtLeast(&'static str, Value),
    /// The column equals this or is less.
    AtMost(&'static str, Value),
    /// One of the fields contains this text, which is case-folded.
    Contains(&'static [&'static str], String),
    /// One of its parts has this text, which is case-folded. At most one record satisfies this.
    OfPart(&'static Part, String),
    /// The feed of changes has the record at this place or a later one.
    Changed(i64),
}

impl Condition {
    /// The field has this value.
    pub fn equals(field: &Field, value: Value) -> Self {
        Condition::Equals(field.name, value)
    }

    /// The column has one of these keys.
    pub fn among(column: &'static str, keys: &[i64]) -> Self {
        Condition::OneOf(column, keys.iter().map(|key| Value::Int(*key)).collect())
    }

    /// The column of the condition, if it has exactly one.
    pub fn column(&self) -> Option<&'static str> {
        match self {
            Condition::Equals(name, _)
            | Condition::OneOf(name, _)
            | Condition::AtLeast(name, _)
            | Condition::AtMost(name, _) => Some(name),
            Condition::Contains(..) | Condition::OfPart(..) | Condition::Changed(_) => None,
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

impl Check {
    /// What determines the answer, whichever field asks.
    fn asked(&self) -> impl Eq + Hash {
        match self {
            Self::Exists { target, column, value, within, .. } => {
                (target.kind, Some((column, value, within)), None)
            }
            Self::Free { resource, unique, values, except } => {
                (resource.kind, None, Some((unique.fields, values, except)))
            }
        }
    }
}

/// Two checks are equal if they have the same answer.
impl PartialEq for Check {
    fn eq(&self, other: &Self) -> bool {
        self.asked() == other.asked()
    }
}

impl Eq for Check {}

impl Hash for Check {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.asked().hash(state);
    }
}
