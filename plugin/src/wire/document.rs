//! JSON:API documents: pages and records in the form that clients read. Independent of where cells
//! come from.

use form_urlencoded::Serializer as Query;
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Map;

use super::included::{Beside, Included};
use super::literal;
use super::request::Listing;
use super::view::View;
use crate::error::{Error, Named};
use crate::model::field::{Field, Relationship};
use crate::model::registry::Registry;
use crate::model::relation::Many;
use crate::model::resource::{Resource, VERSION};
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

/// The records of a document.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    /// The resource.
    pub resource: &'static Resource,
    /// What is shown of them.
    pub view: &'a View,
    /// Their cells.
    pub rows: &'a [Vec<Cell<'a>>],
    /// The records beside them; `None` if the client asked for none.
    pub included: Option<&'a Included<'a>>,
}

/// The document of a list.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn list(
    records: Records<'_>,
    total: i64,
    listing: &Listing,
    place: Place<'_>,
) -> Result<Vec<u8>, Error> {
    let document = List {
        links: Pages { listing, total, path: place.path },
        data: Rows { records, place },
        included: records.beside(place),
        meta: Totals { total_pages: pages(total, listing.limit), total },
    };
    write(&document, records.size())
}

/// The document of some records that are no page of a list.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn each(records: Records<'_>, place: Place<'_>) -> Result<Vec<u8>, Error> {
    #[derive(serde::Serialize)]
    struct Document<'a> {
        links: Own<'a>,
        data: Rows<'a>,
    }
    let document = Document { links: Own { own: place.path }, data: Rows { records, place } };
    write(&document, records.size())
}

/// The document of one record; `None` if there is none. The parameters that have selected its form
/// are part of its link. A record without a route of its own has the path of the request. The number
/// in `beside` becomes the `meta` of the document.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn single(
    records: Records<'_>,
    sent: &[(String, String)],
    place: Place<'_>,
    beside: Option<Named>,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(row) = records.rows.first() else { return Ok(None) };
    let Records { resource, view, included, .. } = records;
    let own = match resource.has_own_route() {
        true => record_path(resource, resource.key_of(row)?, place.root),
        false => place.path.to_owned(),
    };
    let own = match sent {
        [] => own,
        sent => {
            let query = Query::new(String::new()).extend_pairs(sent).finish();
            format!("{own}?{query}")
        }
    };
    let data = Object { resource, view, row, included, place };
    let (included, meta) = (records.beside(place), beside.map(Meta));
    let document = Single { links: Own { own: &own }, data, included, meta };
    write(&document, 1536 + records.size()).map(Some)
}

/// The document of a record without a table, with these of its attributes.
///
/// # Errors
/// When an attribute cannot be written.
pub fn one(
    kind: &str,
    id: &str,
    attributes: &Map<String, serde_json::Value>,
    only: Option<&[&str]>,
    own: &str,
) -> Result<Vec<u8>, Error> {
    #[derive(serde::Serialize)]
    struct Record<'a> {
        r#type: &'a str,
        id: &'a str,
        attributes: Chosen<'a>,
        links: Own<'a>,
    }
    #[derive(serde::Serialize)]
    struct Document<'a> {
        links: Own<'a>,
        data: Record<'a>,
    }
    let named = only.map(|only| {
        let name = format!("fields[{kind}]");
        let query = Query::new(String::new()).append_pair(&name, &only.join(",")).finish();
        format!("{own}?{query}")
    });
    let attributes = Chosen { attributes, only };
    let data = Record { r#type: kind, id, attributes, links: Own { own } };
    write(&Document { links: Own { own: named.as_deref().unwrap_or(own) }, data }, 2048)
}

/// The document of a list whose records have no table: each is an id and its attributes, of which
/// the chosen ones are shown. The values in `beside` become part of `meta`.
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
        attributes: Chosen<'a>,
    }
    #[derive(serde::Serialize)]
    struct All<'a> {
        #[serde(flatten)]
        totals: Totals,
        #[serde(flatten)]
        beside: &'a Map<String, serde_json::Value>,
    }
    #[derive(serde::Serialize)]
    struct Document<'a> {
        links: Pages<'a>,
        data: Vec<Record<'a>>,
        meta: All<'a>,
    }
    let only = listing.attributes.as_deref();
    let data = records.iter().map(|(id, attributes)| {
        let attributes = Chosen { attributes, only };
        Record { r#type: kind, id, attributes }
    });
    let document = Document {
        links: Pages { listing, total, path },
        data: data.collect(),
        meta: All { totals: Totals { total_pages: pages(total, listing.limit), total }, beside },
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

impl<'a> Records<'a> {
    /// The version of the first record, if it has versions.
    ///
    /// # Errors
    /// When its row lacks it.
    pub fn version(&self) -> Result<Option<i64>, Error> {
        self.rows.first().map_or(Ok(None), |row| self.resource.version_of(row))
    }

    fn beside(&self, place: Place<'a>) -> Option<Others<'a>> {
        self.included.map(|included| Others { included, place })
    }

    /// About how many bytes their document has.
    fn size(&self) -> usize {
        let included = self.included.map_or(0, |included| included.records.len());
        512 * (self.rows.len() + included + 1)
    }
}

#[derive(serde::Serialize)]
struct List<'a> {
    links: Pages<'a>,
    data: Rows<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    included: Option<Others<'a>>,
    meta: Totals,
}

#[derive(serde::Serialize)]
struct Single<'a> {
    links: Own<'a>,
    data: Object<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    included: Option<Others<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

/// A member `meta` that consists of one number.
pub(super) struct Meta(pub(super) Named);

impl Serialize for Meta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (name, number) = self.0;
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(name, &number)?;
        map.end()
    }
}

#[derive(serde::Serialize)]
struct Own<'a> {
    #[serde(rename = "self")]
    own: &'a str,
}

#[derive(serde::Serialize)]
struct Totals {
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

/// The attributes of a record without a table; all of them unless `only` names some.
struct Chosen<'a> {
    attributes: &'a Map<String, serde_json::Value>,
    only: Option<&'a [&'a str]>,
}

impl Serialize for Chosen<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let shown = |name: &String| self.only.is_none_or(|only| only.contains(&name.as_str()));
        serializer.collect_map(self.attributes.iter().filter(|(name, _)| shown(name)))
    }
}

/// The resource objects of a page.
struct Rows<'a> {
    records: Records<'a>,
    place: Place<'a>,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Rows { records: Records { resource, view, rows, included }, place } = self;
        let mut list = serializer.serialize_seq(Some(rows.len()))?;
        for row in rows {
            list.serialize_element(&Object { resource, view, row, included, place })?;
        }
        list.end()
    }
}

/// The resource objects beside those of a page.
struct Others<'a> {
    included: &'a Included<'a>,
    place: Place<'a>,
}

impl Serialize for Others<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Others { included, place } = self;
        let mut list = serializer.serialize_seq(Some(included.records.len()))?;
        for &Beside { resource, view, row } in &included.records {
            let included = Some(included);
            list.serialize_element(&Object { resource, view, row, included, place })?;
        }
        list.end()
    }
}

/// One resource object.
struct Object<'a> {
    resource: &'static Resource,
    view: &'a View,
    row: &'a [Cell<'a>],
    included: Option<&'a Included<'a>>,
    place: Place<'a>,
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
            let own = record_path(self.resource, key, self.place.root);
            map.serialize_entry("links", &Own { own: &own })?;
        }
        if let Some(version) = self.resource.version_of(self.row).map_err(S::Error::custom)? {
            map.serialize_entry("meta", &Meta((VERSION, version)))?;
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
}

struct Attributes<'a>(&'a Object<'a>);

impl Serialize for Attributes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Object { resource, view: View { shape, .. }, row, .. } = self.0;
        let mut map = serializer.serialize_map(None)?;
        if shape.shows_key() {
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
            let root = object.place.root;
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
