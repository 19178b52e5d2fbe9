//! JSON:API documents: pages and records in the form that clients read. Independent of where cells
//! come from.

use form_urlencoded::Serializer as Query;
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Map;

use super::literal;
use super::request::Listing;
use crate::error::Error;
use crate::model::field::{Field, Relationship};
use crate::model::question::Shape;
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::value::{Cell, Kind};

/// The media type of all answers.
pub const MEDIA_TYPE: &str = "application/vnd.api+json";

/// Where a document is read, and the records that it may link to.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The path of the request.
    pub path: &'a str,
    /// The path of the store.
    pub root: &'a str,
    /// The resources of the store.
    pub registry: Registry,
}

/// The document of a list.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn list(
    resource: &Resource,
    rows: &[Vec<Cell<'_>>],
    total: i64,
    listing: &Listing,
    place: Place<'_>,
) -> Result<Vec<u8>, Error> {
    let document = List {
        links: Pages { listing, total, path: place.path },
        data: Rows { resource, shape: Shape::List, rows, place },
        meta: Meta { total_pages: pages(total, listing.limit), total },
    };
    write(&document, 512 * (rows.len() + 1))
}

/// The document of one record with all of its fields. A record without a route of its own has the
/// path of the request.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn single(resource: &Resource, row: &[Cell<'_>], place: Place<'_>) -> Result<Vec<u8>, Error> {
    let own = match resource.has_own_route() {
        true => record_path(resource, resource.key_of(row)?, place.root),
        false => place.path.to_owned(),
    };
    let data = Object { resource, shape: Shape::Detail, row, place };
    write(&Single { links: Own { own: &own }, data }, 2048)
}

/// The document of a record without a table, with these attributes.
///
/// # Errors
/// When an attribute cannot be written.
pub fn one(kind: &str, id: &str, attributes: &impl Serialize, own: &str) -> Result<Vec<u8>, Error> {
    #[derive(serde::Serialize)]
    struct Record<'a, A> {
        r#type: &'a str,
        id: &'a str,
        attributes: &'a A,
        links: Own<'a>,
    }
    #[derive(serde::Serialize)]
    struct Document<'a, A> {
        links: Own<'a>,
        data: Record<'a, A>,
    }
    let data = Record { r#type: kind, id, attributes, links: Own { own } };
    write(&Document { links: Own { own }, data }, 2048)
}

/// The document of a list whose records have no table: each is an id and its attributes. The values
/// in `beside` become part of `meta`.
///
/// # Errors
/// When an attribute cannot be written.
pub fn computed(
    kind: &str,
    records: &[(String, Map<String, serde_json::Value>)],
    total: i64,
    listing: &Listing,
    path: &str,
    beside: &Map<String, serde_json::Value>,
) -> Result<Vec<u8>, Error> {
    #[derive(serde::Serialize)]
    struct Record<'a> {
        r#type: &'a str,
        id: &'a str,
        attributes: &'a Map<String, serde_json::Value>,
    }
    #[derive(serde::Serialize)]
    struct All<'a> {
        #[serde(flatten)]
        meta: Meta,
        #[serde(flatten)]
        beside: &'a Map<String, serde_json::Value>,
    }
    #[derive(serde::Serialize)]
    struct Document<'a> {
        links: Pages<'a>,
        data: Vec<Record<'a>>,
        meta: All<'a>,
    }
    let data = records.iter().map(|(id, attributes)| Record { r#type: kind, id, attributes });
    let document = Document {
        links: Pages { listing, total, path },
        data: data.collect(),
        meta: All { meta: Meta { total_pages: pages(total, listing.limit), total }, beside },
    };
    write(&document, 512 * (records.len() + 1))
}

/// The attributes of a record without a table: one cell for each field.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn attributes(
    fields: &[Field],
    cells: &[Cell<'_>],
) -> Result<Map<String, serde_json::Value>, Error> {
    let pairs = fields.iter().zip(cells);
    pairs
        .map(|(field, cell)| {
            let value = literal::write(field.kind, cell, serde_json::value::Serializer)?;
            Ok((field.name.to_owned(), value))
        })
        .collect()
}

/// The path of a record: `root` is the path of the store.
pub fn record_path(resource: &Resource, key: i64, root: &str) -> String {
    format!("{root}/{}/{key}", resource.kind)
}

fn write(document: &impl Serialize, size: usize) -> Result<Vec<u8>, Error> {
    let mut body = Vec::with_capacity(size);
    serde_json::to_writer(&mut body, document)?;
    Ok(body)
}

fn pages(total: i64, limit: i64) -> i64 {
    total.div_euclid(limit) + i64::from(total % limit > 0)
}

#[derive(serde::Serialize)]
struct List<'a> {
    links: Pages<'a>,
    data: Rows<'a>,
    meta: Meta,
}

#[derive(serde::Serialize)]
struct Single<'a> {
    links: Own<'a>,
    data: Object<'a>,
}

#[derive(serde::Serialize)]
struct Own<'a> {
    #[serde(rename = "self")]
    own: &'a str,
}

#[derive(serde::Serialize)]
struct Meta {
    #[serde(rename = "total-pages")]
    total_pages: i64,
    total: i64,
}

/// The links of a page: to itself, and to the others that exist.
struct Pages<'a> {
    listing: &'a Listing,
    total: i64,
    path: &'a str,
}

impl Pages<'_> {
    fn link(&self, offset: Option<i64>) -> String {
        let mut query = Query::new(String::new());
        query.extend_pairs(&self.listing.sent);
        if let Some(offset) = offset {
            query.append_pair("page[offset]", &offset.to_string());
            query.append_pair("page[limit]", &self.listing.limit.to_string());
        }
        match query.finish() {
            query if query.is_empty() => self.path.to_owned(),
            query => format!("{}?{query}", self.path),
        }
    }
}

impl Serialize for Pages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Listing { offset, limit, paged, .. } = self.listing;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("self", &self.link(paged.then_some(offset)))?;
        if self.total > 0 {
            let last = (pages(self.total, limit) - 1) * limit;
            map.serialize_entry("first", &self.link(Some(0)))?;
            if offset > 0 {
                let before = offset.saturating_sub(limit).clamp(0, last);
                map.serialize_entry("prev", &self.link(Some(before)))?;
            }
            if offset.saturating_add(limit) < self.total {
                map.serialize_entry("next", &self.link(Some(offset + limit)))?;
            }
            map.serialize_entry("last", &self.link(Some(last)))?;
        }
        map.end()
    }
}

/// The resource objects of a page.
struct Rows<'a> {
    resource: &'a Resource,
    shape: Shape,
    rows: &'a [Vec<Cell<'a>>],
    place: Place<'a>,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Rows { resource, shape, rows, place } = self;
        let mut list = serializer.serialize_seq(Some(rows.len()))?;
        for row in rows {
            list.serialize_element(&Object { resource, shape, row, place })?;
        }
        list.end()
    }
}

/// One resource object.
struct Object<'a> {
    resource: &'a Resource,
    shape: Shape,
    row: &'a [Cell<'a>],
    place: Place<'a>,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = self.resource.key_of(self.row).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.resource.kind)?;
        map.serialize_entry("id", &key.to_string())?;
        map.serialize_entry("attributes", &Attributes(self))?;
        let columns = self.shape.fields(self.resource).chain(self.resource.hidden);
        let mut related = columns
            .zip(self.row.iter().skip(1))
            .filter_map(|(field, cell)| Relation::of(field, cell, self));
        if let Some(first) = related.next() {
            let relations = Relations(std::iter::once(first).chain(related).collect());
            map.serialize_entry("relationships", &relations)?;
        }
        if self.resource.has_own_route() {
            let own = record_path(self.resource, key, self.place.root);
            map.serialize_entry("links", &Own { own: &own })?;
        }
        map.end()
    }
}

impl<'a> Object<'a> {
    /// The shown fields with their cells.
    fn fields(&self) -> impl Iterator<Item = (&'static Field, &'a Cell<'a>)> + use<'a> {
        self.shape.fields(self.resource).zip(self.row.iter().skip(1))
    }
}

struct Attributes<'a>(&'a Object<'a>);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let key = self.0.resource.key_of(self.0.row).map_err(S::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(self.0.resource.key, &key)?;
        for (field, cell) in self.0.fields() {
            map.serialize_entry(field.name, &Attribute { kind: field.kind, cell })?;
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
        let target = object.place.registry.find(kind).filter(|target| target.has_own_route());
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
                .map(|(key, target)| record_path(target, key, object.place.root)),
        })
    }
}

struct Relations(Vec<Relation>);

impl Serialize for Relations {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for relation in &self.0 {
            map.serialize_entry(relation.name, relation)?;
        }
        map.end()
    }
}

impl Serialize for Relation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Identifier<'a> {
            r#type: &'a str,
            id: &'a str,
        }
        #[derive(serde::Serialize)]
        struct Links<'a> {
            related: &'a str,
        }
        let mut map = serializer.serialize_map(None)?;
        if let Some(related) = &self.related {
            map.serialize_entry("links", &Links { related })?;
        }
        let data = self.id.as_deref().map(|id| Identifier { r#type: self.kind, id });
        map.serialize_entry("data", &data)?;
        map.end()
    }
}
