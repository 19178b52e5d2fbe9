//! JSON:API documents: pages and records in the form that clients read. Independent of where cells
//! come from.

use form_urlencoded::Serializer as Query;
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use time::PrimitiveDateTime;

use super::included::{Beside, Included};
use super::layout::{Layout, Layouts};
use super::limited::Limited;
use super::literal;
use super::object::{Attribute, LinkBase, Object, OnlyMember, Own, record_path};
use super::request::{AFTER, LIMIT, Listing, OFFSET};
use super::view::View;
use crate::error::{Error, Fault, Named};
use crate::model::field::Field;
use crate::model::moment;
use crate::model::question::Shape;
use crate::model::resource::Resource;
use crate::model::value::Cell;

/// The media type of all answers.
pub const MEDIA_TYPE: &str = "application/vnd.api+json";

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

/// What a list of changed records has beside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Since {
    /// The moment to send next time: no change before it is unknown to a client that has read this far.
    pub as_of: PrimitiveDateTime,
    /// How its pages are linked.
    pub paging: Paging,
}

/// How the pages of a list are linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Paging {
    /// By their offsets.
    Offset,
    /// By cursors.
    Cursor {
        /// The cursor of the page; `None` if it is the first.
        own: Option<String>,
        /// The cursor of the next one; `None` if it is the last.
        next: Option<String>,
    },
}

/// The document of a list.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn list(
    records: Records<'_>,
    total: i64,
    listing: &Listing,
    since: Option<&Since>,
    base: LinkBase<'_>,
) -> Result<Vec<u8>, Error> {
    let paging = since.map_or(&Paging::Offset, |since| &since.paging);
    let document = List {
        links: Pages { listing, total, path: base.path, paging },
        data: Rows { records, base },
        included: records.beside(base),
        meta: Totals {
            total_pages: pages(total, listing.limit),
            total,
            as_of: since.map(|since| moment::render(since.as_of)),
        },
    };
    write(&document, records.size(), base.limit)
}

/// The document of some records that are no page of a list.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn each(records: Records<'_>, base: LinkBase<'_>) -> Result<Vec<u8>, Error> {
    let document = Document { links: Own { own: base.path }, data: Rows { records, base } };
    write(&document, records.size(), base.limit)
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
    base: LinkBase<'_>,
    beside: Option<Named>,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(row) = records.rows.first() else { return Ok(None) };
    let Records { resource, view, included, .. } = records;
    let own = if resource.has_own_route() {
        record_path(resource, resource.key_of(row)?, base.root)
    } else {
        base.path.to_owned()
    };
    let own = match sent {
        [] => own,
        sent => {
            let query = Query::new(String::new()).extend_pairs(sent).finish();
            format!("{own}?{query}")
        }
    };
    let layout = Layout::of(resource, view, base.registry);
    let data = Object { layout: &layout, row, included, base };
    let (included, meta) =
        (records.beside(base), beside.map(|(name, number)| OnlyMember(name, number)));
    let document = Single { links: Own { own: &own }, data, included, meta };
    write(&document, 1536 + records.size(), base.limit).map(Some)
}

/// The document of a record without a table, with these of its attributes.
///
/// # Errors
/// When an attribute cannot be written.
pub fn one(
    kind: &str,
    id: &str,
    attributes: &Map<String, Json>,
    only: Option<&[&str]>,
    own: &str,
    limit: usize,
) -> Result<Vec<u8>, Error> {
    #[derive(serde::Serialize)]
    struct Linked<'a> {
        r#type: &'a str,
        id: &'a str,
        attributes: Chosen<'a>,
        links: Own<'a>,
    }
    let named = only.map(|only| {
        let name = format!("fields[{kind}]");
        let query = Query::new(String::new()).append_pair(&name, &only.join(",")).finish();
        format!("{own}?{query}")
    });
    let attributes = Chosen { attributes, only };
    let data = Linked { r#type: kind, id, attributes, links: Own { own } };
    write(&Document { links: Own { own: named.as_deref().unwrap_or(own) }, data }, 2048, limit)
}

/// The document with these attributes, which are JSON already, of a record without a table.
///
/// # Errors
/// When it cannot be written.
pub fn given(kind: &str, id: &str, attributes: &RawValue, own: &str) -> Result<Vec<u8>, Error> {
    let data = Record { r#type: kind, id, attributes };
    write(&Document { links: Own { own }, data }, 512 + attributes.get().len(), usize::MAX)
}

/// What precedes and what follows the attributes in such a document, for attributes that are written while they are sent.
///
/// # Errors
/// When it cannot be written.
pub fn around(kind: &str, id: &str, own: &str) -> Result<(Vec<u8>, Vec<u8>), Error> {
    let mut before = given(kind, id, RawValue::NULL, own)?;
    let after = b"}}".to_vec();
    before.truncate(before.len().saturating_sub(RawValue::NULL.get().len() + after.len()));
    Ok((before, after))
}

/// A record without a table: its id, and a cell for each of its fields.
pub type Row<'a> = (String, Vec<Cell<'a>>);

/// The document of a list whose records have no table, but these fields, of which the chosen ones are shown. It has
/// the path of the request and this limit. The values in `beside` become part of `meta`.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn computed(
    (kind, fields): (&str, &[Field]),
    records: &[Row<'_>],
    total: i64,
    listing: &Listing,
    (path, limit): (&str, usize),
    beside: &Map<String, Json>,
) -> Result<Vec<u8>, Error> {
    #[derive(serde::Serialize)]
    struct All<'a> {
        #[serde(flatten)]
        totals: Totals,
        #[serde(flatten)]
        beside: &'a Map<String, Json>,
    }
    #[derive(serde::Serialize)]
    struct Page<'a> {
        links: Pages<'a>,
        data: Vec<Record<'a, Cells<'a>>>,
        meta: All<'a>,
    }
    let only = listing.attributes.as_deref();
    let data = records.iter().map(|(id, cells)| {
        let attributes = Cells { fields, cells, only };
        Record { r#type: kind, id, attributes }
    });
    let document = Page {
        links: Pages { listing, total, path, paging: &Paging::Offset },
        data: data.collect(),
        meta: All {
            totals: Totals { total_pages: pages(total, listing.limit), total, as_of: None },
            beside,
        },
    };
    write(&document, 512 * (records.len() + 1), limit)
}

/// The attributes of a record without a table: one cell for each field.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn attributes(fields: &[Field], cells: &[Cell<'_>]) -> Result<Map<String, Json>, Error> {
    let mut attributes = Map::with_capacity(fields.len());
    for (field, cell) in fields.iter().zip(cells) {
        let value = literal::write(field.kind, cell, serde_json::value::Serializer)?;
        attributes.insert(field.name.to_owned(), value);
    }
    Ok(attributes)
}

/// Appends these attributes as the text of a JSON object.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn append(fields: &[Field], cells: &[Cell<'_>], text: &mut Vec<u8>) -> Result<(), Error> {
    Ok(serde_json::to_writer(text, &Cells { fields, cells, only: None })?)
}

/// The text of a resource object with all fields, which is no document of its own.
///
/// # Errors
/// When a cell cannot be written as its field's kind, or the text is longer than the limit.
pub fn object(
    resource: &'static Resource,
    row: &[Cell<'_>],
    base: LinkBase<'_>,
) -> Result<String, Error> {
    let view = View::of(Shape::Detail);
    let layout = Layout::of(resource, &view, base.registry);
    let object = Object { layout: &layout, row, included: None, base };
    let text = write(&object, 2048, base.limit)?;
    String::from_utf8(text).map_err(|_| Error::Contract("a resource object is not UTF-8"))
}

/// A record on a page of the feed of changes.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// One that exists, with all of its fields.
    Present {
        /// The resource.
        resource: &'static Resource,
        /// Its cells.
        row: &'a [Cell<'a>],
    },
    /// One that does not exist any more.
    Deleted {
        /// The resource.
        resource: &'static Resource,
        /// Its key.
        key: i64,
        /// When that was noticed.
        at: PrimitiveDateTime,
    },
}

/// The document of a page of the feed of changes, with these links to itself and to the next page.
///
/// # Errors
/// When a cell cannot be written as its field's kind.
pub fn changes(
    changes: &[Change<'_>],
    [own, next]: [&str; 2],
    base: LinkBase<'_>,
) -> Result<Vec<u8>, Error> {
    #[derive(serde::Serialize)]
    struct Links<'a> {
        #[serde(rename = "self")]
        own: &'a str,
        next: &'a str,
    }
    let view = View::of(Shape::Detail);
    let size = 512 + 2048 * changes.len();
    let present = changes.iter().filter_map(|change| match change {
        Change::Present { resource, .. } => Some((*resource, &view)),
        Change::Deleted { .. } => None,
    });
    let layouts = Layouts::of(present, base.registry);
    let data = changes.iter().map(|change| match *change {
        Change::Present { resource, row } => {
            let layout = layouts.of_shown(resource, &view)?;
            Ok(Changed::Present(Object { layout, row, included: None, base }))
        }
        Change::Deleted { resource, key, at } => Ok(Changed::Deleted {
            kind: resource.kind,
            id: key.to_string(),
            meta: Deletion { deleted: true, changed_at: moment::render(at) },
        }),
    });
    let data = data.collect::<Result<Vec<_>, Error>>()?;
    let document = Document { links: Links { own, next }, data };
    write(&document, size, base.limit)
}

/// Writes a document of about this size, and stops where it exceeds the limit.
fn write(document: &impl Serialize, size: usize, limit: usize) -> Result<Vec<u8>, Error> {
    let mut body = Limited::new(limit, size);
    match serde_json::to_writer(&mut body, document) {
        Ok(()) => Ok(body.into_bytes()),
        // Memory can always be written to, so only the limit can be the reason.
        Err(error) if error.is_io() => Err(Fault::too_large(limit).into()),
        Err(error) => Err(error.into()),
    }
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

    fn beside(&self, base: LinkBase<'a>) -> Option<Others<'a>> {
        self.included.map(|included| Others { included, base })
    }

    /// About how many bytes their document has.
    fn size(&self) -> usize {
        let included = self.included.map_or(0, |included| included.records.len());
        512 * (self.rows.len() + included + 1)
    }
}

/// A document with nothing beside its links and its data.
#[derive(serde::Serialize)]
struct Document<L, D> {
    links: L,
    data: D,
}

/// A record without a table.
#[derive(serde::Serialize)]
struct Record<'a, A> {
    r#type: &'a str,
    id: &'a str,
    attributes: A,
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
    meta: Option<OnlyMember<i64>>,
}

#[derive(serde::Serialize)]
struct Totals {
    #[serde(rename = "total-pages")]
    total_pages: i64,
    total: i64,
    /// The moment up to which changes are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<String>,
}

/// The links of a page: to itself, and to the others that exist.
struct Pages<'a> {
    listing: &'a Listing,
    total: i64,
    path: &'a str,
    paging: &'a Paging,
}

impl Pages<'_> {
    /// The path of the page that these parameters select.
    fn link<const N: usize>(&self, page: Option<[(&str, &str); N]>) -> String {
        let mut query = Query::new(String::new());
        query.extend_pairs(&self.listing.sent);
        query.extend_pairs(page.into_iter().flatten());
        match query.finish() {
            query if query.is_empty() => self.path.to_owned(),
            query => format!("{}?{query}", self.path),
        }
    }
}

impl Serialize for Pages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Listing { offset, limit, paged, .. } = self.listing;
        let size = limit.to_string();
        let sized = (LIMIT, size.as_str());
        let mut map = serializer.serialize_map(None)?;
        if let Paging::Cursor { own, next } = self.paging {
            let after = |cursor| self.link(Some([sized, (AFTER, cursor)]));
            let first = self.link(Some([sized]));
            let own = match own {
                Some(cursor) => after(cursor),
                None if paged => first.clone(),
                None => self.link::<0>(None),
            };
            map.serialize_entry("self", &own)?;
            map.serialize_entry("first", &first)?;
            if let Some(next) = next {
                map.serialize_entry("next", &after(next))?;
            }
            return map.end();
        }
        let at = |offset: i64| self.link(Some([(OFFSET, &*offset.to_string()), sized]));
        let own = if paged { at(offset) } else { self.link::<0>(None) };
        map.serialize_entry("self", &own)?;
        if self.total > 0 {
            let last = (pages(self.total, limit) - 1) * limit;
            map.serialize_entry("first", &at(0))?;
            if offset > 0 {
                let before = offset.saturating_sub(limit).clamp(0, last);
                map.serialize_entry("prev", &at(before))?;
            }
            if offset.saturating_add(limit) < self.total {
                map.serialize_entry("next", &at(offset + limit))?;
            }
            map.serialize_entry("last", &at(last))?;
        }
        map.end()
    }
}

/// The attributes of a record without a table; all of them unless `only` names some.
struct Chosen<'a> {
    attributes: &'a Map<String, Json>,
    only: Option<&'a [&'a str]>,
}

impl Serialize for Chosen<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let attributes = self.attributes.iter();
        serializer.collect_map(attributes.filter(|(name, _)| is_chosen(name, self.only)))
    }
}

/// The attributes of a record without a table that are cells; all of them unless `only` names some.
struct Cells<'a> {
    fields: &'a [Field],
    cells: &'a [Cell<'a>],
    only: Option<&'a [&'a str]>,
}

impl Serialize for Cells<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.fields.iter().zip(self.cells);
        let cells = cells.filter(|(field, _)| is_chosen(field.name, self.only));
        serializer.collect_map(
            cells.map(|(field, cell)| (field.name, Attribute { kind: field.kind, cell })),
        )
    }
}

fn is_chosen(name: &str, only: Option<&[&str]>) -> bool {
    only.is_none_or(|only| only.contains(&name))
}

/// The resource objects of a page.
struct Rows<'a> {
    records: Records<'a>,
    base: LinkBase<'a>,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Rows { records: Records { resource, view, rows, included }, base } = self;
        let layout = Layout::of(resource, view, base.registry);
        let mut list = serializer.serialize_seq(Some(rows.len()))?;
        for row in rows {
            list.serialize_element(&Object { layout: &layout, row, included, base })?;
        }
        list.end()
    }
}

/// The resource objects beside those of a page.
struct Others<'a> {
    included: &'a Included<'a>,
    base: LinkBase<'a>,
}

impl Serialize for Others<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let &Others { included, base } = self;
        let shown = included.records.iter().map(|beside| (beside.resource, beside.view));
        let layouts = Layouts::of(shown, base.registry);
        let mut list = serializer.serialize_seq(Some(included.records.len()))?;
        for &Beside { resource, view, row } in &included.records {
            let layout = layouts.of_shown(resource, view).map_err(S::Error::custom)?;
            list.serialize_element(&Object { layout, row, included: Some(included), base })?;
        }
        list.end()
    }
}

/// A record on a page of the feed.
#[derive(serde::Serialize)]
#[serde(untagged)]
enum Changed<'a> {
    Present(Object<'a>),
    Deleted {
        #[serde(rename = "type")]
        kind: &'static str,
        id: String,
        meta: Deletion,
    },
}

/// The `meta` of a deleted record.
#[derive(serde::Serialize)]
struct Deletion {
    deleted: bool,
    changed_at: String,
}
