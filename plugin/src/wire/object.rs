//! Resource objects: one record as JSON:API, with its attributes, its relationships and its version.
//! Independent of the document around it.

use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};

use super::included::Included;
use super::layout::{Layout, Place, ToOne};
use super::literal;
use crate::model::registry::Registry;
use crate::model::relation::Many;
use crate::model::resource::{Resource, VERSION};
use crate::model::value::{Cell, Kind};

/// Where a document is read, and the records that it may link to.
#[derive(Clone, Copy, Debug)]
pub struct LinkBase<'a> {
    /// The path of the request.
    pub path: &'a str,
    /// The path of the store.
    pub root: &'a str,
    /// The resources of the store.
    pub registry: Registry,
    /// How many bytes the document may have.
    pub limit: usize,
}

/// The path of a record: `root` is the path of the store.
pub fn record_path(resource: &Resource, key: i64, root: &str) -> String {
    // Lists have several paths for each record, and joining texts is cheaper than formatting them.
    let key = key.to_string();
    match resource.below {
        Some((parent, segment)) => [root, "/", parent, "/", &key, "/", segment].concat(),
        None => [root, "/", resource.kind, "/", &key].concat(),
    }
}

/// One resource object.
pub(super) struct Object<'a> {
    pub(super) layout: &'a Layout<'a>,
    pub(super) row: &'a [Cell<'a>],
    pub(super) included: Option<&'a Included<'a>>,
    pub(super) base: LinkBase<'a>,
}

/// The link of a document or a record to itself.
#[derive(serde::Serialize)]
pub(super) struct Own<'a> {
    #[serde(rename = "self")]
    pub(super) own: &'a str,
}

/// An object with one member.
pub(super) struct OnlyMember<T>(pub(super) &'static str, pub(super) T);

impl<T: Serialize> Serialize for OnlyMember<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map([(self.0, &self.1)])
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Layout { resource, view, .. } = self.layout;
        let key = resource.key_of(self.row).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", resource.kind)?;
        map.serialize_entry("id", &key.to_string())?;
        map.serialize_entry("attributes", &Attributes(self))?;
        if !self.layout.relationships.is_empty() || !view.lists.is_empty() {
            map.serialize_entry("relationships", &Relations { object: self, key })?;
        }
        if resource.has_own_route() {
            let own = record_path(resource, key, self.base.root);
            map.serialize_entry("links", &Own { own: &own })?;
        }
        if let Some(version) = resource.version_of(self.row).map_err(S::Error::custom)? {
            map.serialize_entry("meta", &Meta { version, object: self })?;
        }
        map.end()
    }
}

impl<'a> Object<'a> {
    /// The cell at this place; one that a row lacks is unset.
    fn cell(&self, place: usize) -> &'a Cell<'a> {
        self.row.get(place).unwrap_or(&Cell::Null)
    }
}

/// The `meta` of a resource object.
struct Meta<'a> {
    version: i64,
    object: &'a Object<'a>,
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(VERSION, &self.version)?;
        let Layout { meta, derived, .. } = self.object.layout;
        for Place { cell, field } in meta {
            let cell = self.object.cell(*cell);
            if *cell != Cell::Null {
                map.serialize_entry(field.name, &Attribute { kind: field.kind, cell })?;
            }
        }
        if let Some((derive, cells)) = derived {
            let cells: Vec<&Cell<'_>> = cells.iter().map(|cell| self.object.cell(*cell)).collect();
            for (name, value) in derive(&cells).map_err(S::Error::custom)? {
                map.serialize_entry(name, &value)?;
            }
        }
        map.end()
    }
}

struct Attributes<'a>(&'a Object<'a>);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Object { layout, row, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        if layout.view.shape.shows_key(layout.resource) {
            let key = layout.resource.key_of(row).map_err(S::Error::custom)?;
            map.serialize_entry(layout.resource.key, &key)?;
        }
        for Place { cell, field } in &layout.attributes {
            let attribute = Attribute { kind: field.kind, cell: self.0.cell(*cell) };
            map.serialize_entry(field.name, &attribute)?;
        }
        map.end()
    }
}

/// The value of an attribute, written as its kind.
pub(super) struct Attribute<'a> {
    pub(super) kind: Kind,
    pub(super) cell: &'a Cell<'a>,
}

impl Serialize for Attribute<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        literal::write(self.kind, self.cell, serializer)
    }
}

/// All relationships of a resource object.
struct Relations<'a> {
    object: &'a Object<'a>,
    key: i64,
}

impl Serialize for Relations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Relations { object, key } = self;
        let mut map = serializer.serialize_map(None)?;
        for to_one in &object.layout.relationships {
            let cell = object.cell(to_one.cell);
            map.serialize_entry(to_one.name, &Relation { to_one, cell, root: object.base.root })?;
        }
        for many in &object.layout.view.lists {
            let keys = object.included.and_then(|included| included.belonging_to(many, key));
            let root = object.base.root;
            map.serialize_entry(many.nested.segment, &Belonging { many, owner: key, keys, root })?;
        }
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Identifier<'a> {
    r#type: &'a str,
    id: String,
}

#[derive(serde::Serialize)]
struct Related<'a> {
    related: &'a str,
}

/// The record that a field with a key refers to.
struct Relation<'a> {
    to_one: &'a ToOne,
    cell: &'a Cell<'a>,
    root: &'a str,
}

impl Serialize for Relation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Relation { to_one: &ToOne { kind, zero_is_none, target, .. }, cell, root } = self;
        let key = match cell {
            Cell::Int(key) if !(zero_is_none && *key == 0) => Some(*key),
            _ => None,
        };
        let mut map = serializer.serialize_map(None)?;
        if let Some((key, target)) = key.zip(target) {
            let related = record_path(target, key, root);
            map.serialize_entry("links", &Related { related: &related })?;
        }
        let data = key.map(|key| Identifier { r#type: kind, id: key.to_string() });
        map.serialize_entry("data", &data)?;
        map.end()
    }
}

/// The records that belong to a record: the list of them, and their keys if they are included.
struct Belonging<'a> {
    many: &'a Many,
    owner: i64,
    keys: Option<&'a [i64]>,
    root: &'a str,
}

impl Serialize for Belonging<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Belonging { many: Many { nested, target, .. }, owner, keys, root } = self;
        let mut map = serializer.serialize_map(None)?;
        let related = format!("{root}/{}/{owner}/{}", nested.parent, nested.segment);
        map.serialize_entry("links", &Related { related: &related })?;
        if let Some(keys) = keys {
            map.serialize_entry("data", &Identifiers { kind: target.kind, keys })?;
        }
        map.end()
    }
}

struct Identifiers<'a> {
    kind: &'a str,
    keys: &'a [i64],
}

impl Serialize for Identifiers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let identifier = |key: &i64| Identifier { r#type: self.kind, id: key.to_string() };
        serializer.collect_seq(self.keys.iter().map(identifier))
    }
}
