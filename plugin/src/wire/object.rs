//! Resource objects: one record as JSON:API, with its attributes, its relationships and its version.
//! Independent of the document around it.

use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Value as Json};

use super::included::Included;
use super::literal;
use super::view::View;
use crate::error::Error;
use crate::model::field::{Field, Relationship};
use crate::model::question::Shape;
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
    pub(super) resource: &'static Resource,
    pub(super) view: &'a View,
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
        let key = self.resource.key_of(self.row).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.resource.kind)?;
        map.serialize_entry("id", &key.to_string())?;
        map.serialize_entry("attributes", &Attributes(self))?;
        let shown = self.columns().filter(|(position, ..)| self.view.shape.relates(*position));
        let mut related = shown.filter_map(|(_, field, cell)| Relation::of(field, cell, self));
        let first = related.next();
        if first.is_some() || !self.view.lists.is_empty() {
            let to_one = first.into_iter().chain(related).collect();
            map.serialize_entry("relationships", &Relations { to_one, object: self, key })?;
        }
        if self.resource.has_own_route() {
            let own = record_path(self.resource, key, self.base.root);
            map.serialize_entry("links", &Own { own: &own })?;
        }
        if let Some(version) = self.resource.version_of(self.row).map_err(S::Error::custom)? {
            map.serialize_entry("meta", &Meta { version, object: self })?;
        }
        map.end()
    }
}

impl<'a> Object<'a> {
    /// The columns after the key, each with its position, its field and its cell.
    fn columns(&self) -> impl Iterator<Item = (usize, &'static Field, &'a Cell<'a>)> + use<'a> {
        let columns = self.view.shape.columns(self.resource).zip(self.row.iter().skip(1));
        columns.map(|((position, field), cell)| (position, field, cell))
    }

    /// The hidden columns that are set and shown beside the version.
    fn beside(&self) -> impl Iterator<Item = (&'static Field, &'a Cell<'a>)> {
        let Resource { meta, detail_meta, .. } = *self.resource;
        let of_detail = if self.view.shape == Shape::Detail { detail_meta } else { &[] };
        meta.iter().chain(of_detail).filter_map(|name| {
            let shown = self.columns().find(|(_, field, _)| field.name == *name);
            shown.map(|(_, field, cell)| (field, cell)).filter(|(_, cell)| **cell != Cell::Null)
        })
    }

    /// What follows from columns, if all fields are shown.
    fn derived(&self) -> Result<Map<String, Json>, Error> {
        let derived = self.resource.derived_meta.filter(|_| self.view.shape == Shape::Detail);
        let Some(derived) = derived else { return Ok(Map::new()) };
        let cells = derived.from.iter().map(|name| {
            let column = self.columns().find(|(_, field, _)| field.name == *name);
            column.map(|(_, _, cell)| cell).ok_or_else(|| self.resource.lacks(name))
        });
        (derived.derive)(&cells.collect::<Result<Vec<_>, Error>>()?)
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
        for (field, cell) in self.object.beside() {
            map.serialize_entry(field.name, &Attribute { kind: field.kind, cell })?;
        }
        for (name, value) in self.object.derived().map_err(S::Error::custom)? {
            map.serialize_entry(&name, &value)?;
        }
        map.end()
    }
}

struct Attributes<'a>(&'a Object<'a>);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Object { resource, view: View { shape, .. }, row, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        if shape.shows_key(resource) {
            let key = resource.key_of(row).map_err(S::Error::custom)?;
            map.serialize_entry(resource.key, &key)?;
        }
        for (position, field, cell) in self.0.columns() {
            if shape.shows(position, resource) {
                map.serialize_entry(field.name, &Attribute { kind: field.kind, cell })?;
            }
        }
        map.end()
    }
}

struct Attribute<'a> {
    kind: Kind,
    cell: &'a Cell<'a>,
}

impl Serialize for Attribute<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        literal::write(self.kind, self.cell, serializer)
    }
}

/// The record that a field with a key refers to.
struct Relation {
    name: &'static str,
    kind: &'static str,
    id: Option<String>,
    related: Option<String>,
}

impl Relation {
    fn of(field: &'static Field, cell: &Cell<'_>, object: &Object<'_>) -> Option<Self> {
        let Relationship { name, kind } = field.relationship()?;
        let target = object.base.registry.find(kind).filter(|target| target.has_own_route());
        let key = match cell {
            Cell::Int(0) if field.zero_is_none => None,
            Cell::Int(key) => Some(*key),
            _ => None,
        };
        Some(Relation {
            name,
            kind,
            id: key.map(|key| key.to_string()),
            related: key
                .zip(target)
                .map(|(key, target)| record_path(target, key, object.base.root)),
        })
    }
}

/// All relationships of a resource object.
struct Relations<'a> {
    to_one: Vec<Relation>,
    object: &'a Object<'a>,
    key: i64,
}

impl Serialize for Relations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Relations { ref to_one, object, key } = self;
        let mut map = serializer.serialize_map(None)?;
        for relation in to_one {
            map.serialize_entry(relation.name, relation)?;
        }
        for many in &object.view.lists {
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
    id: &'a str,
}

#[derive(serde::Serialize)]
struct Related<'a> {
    related: &'a str,
}

impl Serialize for Relation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(related) = &self.related {
            map.serialize_entry("links", &Related { related })?;
        }
        let data = self.id.as_deref().map(|id| Identifier { r#type: self.kind, id });
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
        let identifiers = self.keys.iter().map(|key| key.to_string());
        let mut list = serializer.serialize_seq(Some(self.keys.len()))?;
        for id in identifiers {
            list.serialize_element(&Identifier { r#type: self.kind, id: &id })?;
        }
        list.end()
    }
}
