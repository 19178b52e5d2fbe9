//! Resources as plain data: the description of each kind of record. Independent of how they are
//! served or stored.

use std::fmt;

use super::field::{Access, Field, Handle};
use super::kept::Aggregate;
use super::meta::DerivedMeta;
use super::presentation::Presentation;
use super::selection::MAX_FIELDS;
use super::value::Cell;
use crate::error::Error;

/// The description of a kind of record that clients read and write.
#[derive(Clone, Copy)]
pub struct Resource {
    /// The JSON:API type, which is also the path segment and the name of the asset.
    pub kind: &'static str,
    /// The name of its schemas, if it is not the kind: for a view of another resource.
    pub view: Option<&'static str>,
    /// The name that administrators see, if it is not the kind: for a kind of two words.
    pub title: Option<&'static str>,
    /// The name of one record in messages.
    pub singular: &'static str,
    /// The table that holds the records.
    pub table: &'static str,
    /// The primary key: a column, and the first attribute.
    pub key: &'static str,
    /// The field with the name by which tables of other records refer to one, if it has such.
    pub named_by: Option<&'static str>,
    /// The fields that a list shows after the key, in order.
    pub list: &'static [Field],
    /// The additional fields that a single record shows, in order.
    pub detail: &'static [Field],
    /// Whether there are routes to list, read and write its records.
    pub crud: bool,
    /// Whether a single record can be read although it is written only as a part of another one.
    pub readable: bool,
    /// Whether a single record can be changed and removed although it is created as a part of another one.
    pub editable: bool,
    /// The path of a list of all records, where there are no other operations on all of them.
    pub listed_at: Option<&'static str>,
    /// Where a single record is, if it is not at the kind and the key: below a record of the first kind
    /// with the same key, at this segment.
    pub below: Option<(&'static str, &'static str)>,
    /// Whether the primary key is the first attribute.
    pub shows_key: bool,
    /// Hidden columns that each resource object has in its `meta` where they are set.
    pub meta: &'static [&'static str],
    /// What resource objects with all fields have in their `meta` that follows from columns.
    pub derived_meta: Option<&'static DerivedMeta>,
    /// Columns that no document shows: further input of a body, and columns that only the store sets.
    pub hidden: &'static [Field],
    /// The tables that joined fields come from.
    pub joins: &'static [Join],
    /// Why none of its texts is about a person. `None` if some are: its fields are marked then.
    pub impersonal: Option<&'static str>,
    /// The default order of lists.
    pub order: Order,
    /// The filters of lists.
    pub filters: &'static [Filter],
    /// Groups of fields whose combined values must be unique.
    pub unique: &'static [Unique],
    /// Lists of this resource below the records of another one.
    pub nested: &'static [Nested],
    /// Columns with the same value in all records of the resource, which shares its table with
    /// another resource.
    pub fixed: &'static [(&'static str, i64)],
    /// The records of another resource that a body may include when it creates a record of this one.
    pub children: Option<Children>,
    /// The resources whose lists below the same row are relationships of each record, whatever a client
    /// asks for. Their permissions may differ from those of other resources with the same records.
    pub parts: &'static [&'static Resource],
    /// The record that a record is a part of, which a change of the part locks first.
    pub part_of: Option<&'static PartOf>,
    /// Whether writes are serialised, because each depends on other records.
    pub serialised: bool,
    /// Whether a record is locked on behalf of other tables. On a cluster, only an update of a row
    /// locks it on all nodes, so such locks update a row of their own.
    pub lock_row: bool,
    /// Whether its table has a version of each row, which a row that is read ends with.
    pub versioned: bool,
    /// Whether its records are what the store is about, and not how it is used: the feed of changes, files and
    /// exports have them, if they have versions and routes of their own.
    pub followed: bool,
    /// Whether texts of lists have case-folded copies, by which they are sorted. Without, they are
    /// sorted as they are: enough for rows that are read in the order of their keys.
    pub folds: bool,
    /// Whose permissions apply to it.
    pub permissions: Permissions,
    /// An action that permits each of its routes, as the action of the route does.
    pub or_action: Option<&'static str>,
    /// How people see its records.
    pub shown: Presentation,
    /// What its table has beside the columns.
    pub storage: Storage,
}

/// By its name alone: a whole and its parts refer to each other.
impl fmt::Debug for Resource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Resource").field(&self.view.unwrap_or(self.kind)).finish()
    }
}

impl Resource {
    /// The defaults that most resources share; a resource's file names only its differences.
    pub const CRUD: Resource = Resource {
        kind: "",
        view: None,
        title: None,
        singular: "",
        table: "",
        key: "",
        named_by: None,
        list: &[],
        detail: &[],
        crud: true,
        readable: false,
        editable: false,
        listed_at: None,
        below: None,
        shows_key: true,
        meta: &[],
        derived_meta: None,
        hidden: &[],
        joins: &[],
        impersonal: None,
        order: Order::KEY,
        filters: &[],
        unique: &[],
        nested: &[],
        fixed: &[],
        children: None,
        parts: &[],
        part_of: None,
        serialised: false,
        lock_row: false,
        versioned: true,
        followed: true,
        folds: true,
        permissions: Permissions::Own,
        or_action: None,
        shown: Presentation::PLAIN,
        storage: Storage::PLAIN,
    };

    /// Checks a descriptor at compile time: one that names a field which it does not have does not
    /// compile.
    pub const fn checked(self) -> Self {
        let fields = self.list.len() + self.detail.len() + self.hidden.len();
        assert!(fields <= MAX_FIELDS, "there are too many fields");
        if let Some(field) = self.order.field {
            assert!(self.has(field), "the order names no field");
        }
        let mut at = 0;
        while at < self.filters.len() {
            match self.filters[at].test {
                Test::Equals(field) | Test::From(field) | Test::To(field) => {
                    assert!(self.has(field), "a filter names no field");
                }
                // The text is a field of another resource.
                Test::OfPart(_) => {}
                // An index table of texts has columns of its own.
                Test::Contains(fields) => {
                    let own = self.storage.search.is_some();
                    assert!(own || self.has_all(fields), "a search names no field");
                }
            }
            at += 1;
        }
        if let Some(name) = self.named_by {
            assert!(self.has(name), "the name of a record is no field");
        }
        assert!(self.has_all(self.meta), "the meta names no field");
        if let Some(derived) = self.derived_meta {
            assert!(self.has_all(derived.from), "the derived meta is from no field");
        }
        if let Some(whole) = self.part_of {
            assert!(self.has(whole.by.field.name), "a part names no field with its whole");
        }
        at = 0;
        while at < self.unique.len() {
            assert!(self.has_all(self.unique[at].fields), "a unique group names no field");
            at += 1;
        }
        at = 0;
        while at < self.nested.len() {
            assert!(self.has(self.nested[at].by), "a nested list is by no field");
            at += 1;
        }
        at = 0;
        while at < self.storage.indexes.len() {
            assert!(self.has_all(self.storage.indexes[at].fields), "an index names no field");
            at += 1;
        }
        self
    }

    const fn has_all(&self, names: &[&str]) -> bool {
        match names {
            [] => true,
            [first, others @ ..] => self.has(first) && self.has_all(others),
        }
    }

    const fn has(&self, name: &str) -> bool {
        is_among(name, self.list) || is_among(name, self.detail) || is_among(name, self.hidden)
    }

    /// The name of its schemas.
    pub fn schema_name(&self) -> &'static str {
        self.view.unwrap_or(self.kind)
    }

    /// The name that administrators see.
    pub fn title(&self) -> String {
        capitalised(self.title.unwrap_or(self.kind))
    }

    /// Whether a route reads a single record, so that others can link to it.
    pub fn has_own_route(&self) -> bool {
        self.crud || self.readable
    }

    /// The kind of the resource whose permissions apply to it.
    pub fn asset(&self) -> &'static str {
        match self.permissions {
            Permissions::Of(kind) => kind,
            Permissions::Own | Permissions::None => self.kind,
        }
    }

    /// Whether lists show all fields, in an order that clients cannot choose.
    pub fn lists_all(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether the feed of changes reports what happens to its records.
    pub fn is_followed(&self) -> bool {
        self.followed && self.versioned && self.has_own_route()
    }

    /// Whether its list can be limited to what has changed since a moment.
    pub fn lists_changes(&self) -> bool {
        (self.crud || self.listed_at == Some(self.kind)) && self.is_followed()
    }

    /// All fields after the key: those of lists, those of single records, then the hidden ones.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        self.list.iter().chain(self.detail).chain(self.hidden)
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields().find(|field| field.name == name)
    }

    /// The position of a field in [`Resource::fields`].
    pub fn position(&self, name: &str) -> Option<usize> {
        // The name of a handle is, in most cases, the very text that the field has, which is found without reading it.
        let same = self.fields().position(|field| std::ptr::eq(field.name, name));
        same.or_else(|| self.fields().position(|field| field.name == name))
    }

    /// The key of a record, which its row begins with.
    ///
    /// # Errors
    /// When the row has none.
    pub fn key_of(&self, row: &[Cell<'_>]) -> Result<i64, Error> {
        row.first().unwrap_or(&Cell::Null).int(self.key)
    }

    /// The version of a record, which its row ends with; `None` where the table has no versions.
    ///
    /// # Errors
    /// When the row lacks it.
    pub fn version_of(&self, row: &[Cell<'_>]) -> Result<Option<i64>, Error> {
        self.versioned.then(|| row.last().unwrap_or(&Cell::Null).int(VERSION)).transpose()
    }

    /// The error for a field that its records do not have, or not with this type.
    pub fn lacks(&self, field: &str) -> Error {
        Error::Field { of: self.kind, field: field.to_owned() }
    }

    /// Whether the field of this name is neither shown to clients nor set by them.
    pub fn is_internal(&self, name: &str) -> bool {
        let unset = |field: &&Field| matches!(field.access, Access::ReadOnly | Access::Touched);
        self.hidden.iter().filter(unset).any(|field| field.name == name)
    }

    /// Whether a field has a case-folded copy beside it: text that lists show and can be sorted by.
    pub fn is_folded(&self, field: &Field) -> bool {
        self.folds
            && field.kind.is_folded()
            && self.list.iter().any(|listed| listed.name == field.name)
    }

    /// Whether that copy is in two columns.
    pub fn is_split(&self, field: &Field) -> bool {
        field.kind.is_split() && self.is_folded(field)
    }
}

/// Whose permissions apply to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permissions {
    /// Its own.
    Own,
    /// Those of the resource of this kind.
    Of(&'static str),
    /// None: its routes check the permissions of others.
    None,
}

/// The column with the version of a row: 1 for a new one, and one more after each change.
pub const VERSION: &str = "version";

/// Records that are created with another one, in the member `name` of its body.
#[derive(Clone, Copy, Debug)]
pub struct Children {
    /// The member, a list of objects.
    pub name: &'static str,
    /// The resource of these records.
    pub of: &'static Resource,
    /// What is wrong with an empty list, where the member must not be one.
    pub if_empty: Option<&'static str>,
}

/// The record that a record is a part of.
#[derive(Debug)]
pub struct PartOf {
    /// The resource of the whole.
    pub whole: &'static Resource,
    /// The field with its key, which never changes.
    pub by: Handle<i64>,
}

/// What a table has beside its columns, so that the cost of a list depends only on its page.
#[derive(Clone, Copy, Debug)]
pub struct Storage {
    /// Tables of kept counts that may give the total of a list.
    pub counts: &'static [&'static Aggregate],
    /// A query of the total of a list without conditions, from counts of other tables.
    pub everything: Option<&'static str>,
    /// Tables of kept counts that locate a page far down a list.
    pub steps: &'static [&'static Aggregate],
    /// Indexes on one or more filters followed by an order. The indexes for each order without
    /// filters are implied, and every index ends with the primary key.
    pub indexes: &'static [Index],
    /// The table for substring search, if the engine needs one.
    pub search: Option<&'static str>,
    /// Fields and the tables with the pieces of their texts, for an engine without a substring
    /// index.
    pub pieces: &'static [(&'static str, &'static str)],
    /// Records that neither of these tables has.
    pub shared: Option<&'static SharedTexts>,
}

/// Records whose texts are those of records of another resource, in whose tables they are found.
#[derive(Debug)]
pub struct SharedTexts {
    /// The other resource. Its fields have the same names.
    pub with: &'static Resource,
    /// The column that refers to one of its records.
    pub by: &'static str,
    /// The column that determines which records share their texts, and its value.
    pub only: (&'static str, i64),
}

impl Storage {
    /// A table that stays small.
    pub const PLAIN: Storage = Storage {
        counts: &[],
        everything: None,
        steps: &[],
        indexes: &[],
        search: None,
        pieces: &[],
        shared: None,
    };
}

/// The order of a list. Ties are broken by the primary key in the same direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The field; `None` is the primary key.
    pub field: Option<&'static str>,
    /// Whether the greatest value comes first.
    pub descending: bool,
}

impl Order {
    /// By the primary key, ascending.
    pub const KEY: Order = Order { field: None, descending: false };
}

/// An index of a resource's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// The name.
    pub name: &'static str,
    /// Its fields, before the primary key.
    pub fields: &'static [&'static str],
}

/// An index of this name on these fields, before the primary key.
pub const fn index(name: &'static str, fields: &'static [&'static str]) -> Index {
    Index { name, fields }
}

/// A report: a page of computed rows, with the sums of all rows beside it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// The name of its schemas.
    pub view: &'static str,
    /// The parameters of its query.
    pub of: &'static Resource,
    /// The attributes of a row.
    pub row: &'static [Field],
    /// The members of `meta.totals`.
    pub totals: &'static [Field],
    /// Whether it covers a range of days.
    pub of_days: bool,
    /// Whether the totals are a list, with one item for each currency.
    pub by_currency: bool,
    /// Whether `meta.previous` contains the totals of the preceding range.
    pub previous: bool,
}

/// A table joined (left outer) to the resource's own, whose alias is `t`.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    /// The alias that qualifies its columns.
    pub alias: &'static str,
    /// The table.
    pub table: &'static str,
    /// Its primary key.
    pub key: &'static str,
    /// The resource's column that refers to it.
    pub by: &'static str,
}

/// A member `filter[name]` of the query of a list.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The name in the brackets.
    pub name: &'static str,
    /// What it tests.
    pub test: Test,
    /// The filter that is ignored if this one is sent.
    pub replaces: Option<&'static str>,
}

impl Filter {
    /// Takes the place of another filter if both are sent.
    pub const fn replacing(mut self, name: &'static str) -> Self {
        self.replaces = Some(name);
        self
    }
}

/// The test of a filter.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// One of these fields contains the text, without regard to case.
    Contains(&'static [&'static str]),
    /// The field equals the value.
    Equals(&'static str),
    /// The field is on this day or later.
    From(&'static str),
    /// The field is on this day or earlier.
    To(&'static str),
    /// One of its parts has exactly this text, without regard to case.
    OfPart(&'static Part),
}

/// A text of the parts of a record, which no two parts of any record share.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// The table of the parts.
    pub table: &'static str,
    /// Its column with the key of the record.
    pub by: &'static str,
    /// The field with the text, which has a case-folded copy.
    pub field: &'static str,
}

/// `filter[search]`: one of these fields contains the text.
pub const fn search(fields: &'static [&'static str]) -> Filter {
    contains("search", fields)
}

/// A filter by text that one of these fields contains.
pub const fn contains(name: &'static str, fields: &'static [&'static str]) -> Filter {
    Filter { name, test: Test::Contains(fields), replaces: None }
}

/// A filter by the value of the field of the same name.
pub const fn equals(field: &'static str) -> Filter {
    filter(field, field)
}

/// A filter by the value of a field of another name.
pub const fn filter(name: &'static str, field: &'static str) -> Filter {
    Filter { name, test: Test::Equals(field), replaces: None }
}

/// A filter by the text of one of the record's parts.
pub const fn of_part(name: &'static str, part: &'static Part) -> Filter {
    Filter { name, test: Test::OfPart(part), replaces: None }
}

/// `filter[date_from]`: the field is on this day or later.
pub const fn date_from(field: &'static str) -> Filter {
    Filter { name: "date_from", test: Test::From(field), replaces: None }
}

/// `filter[date_to]`: the field is on this day or earlier.
pub const fn date_to(field: &'static str) -> Filter {
    Filter { name: "date_to", test: Test::To(field), replaces: None }
}

/// Fields whose combined values must be unique.
#[derive(Clone, Copy, Debug)]
pub struct Unique {
    /// The fields; a fault is reported at the first one.
    pub fields: &'static [&'static str],
    /// Whether texts that differ only in case are equal.
    pub any_case: bool,
    /// Whether any number of records may have an empty text.
    pub unless_empty: bool,
    /// The table in whose rows they are unique, if it is not the resource's own, and the expression
    /// for the key of the record that a row belongs to.
    pub among: Option<(&'static str, &'static str)>,
}

/// The combination of these fields is unique.
pub const fn unique(fields: &'static [&'static str]) -> Unique {
    Unique { fields, any_case: false, unless_empty: false, among: None }
}

impl Unique {
    /// Texts that differ only in case are equal.
    pub const fn in_any_case(mut self) -> Self {
        self.any_case = true;
        self
    }

    /// Any number of records may have an empty text.
    pub const fn unless_empty(mut self) -> Self {
        self.unless_empty = true;
        self
    }

    /// Unique among the rows of another table, where the expression gives the record's key.
    pub const fn among(mut self, table: &'static str, key: &'static str) -> Self {
        self.among = Some((table, key));
        self
    }
}

/// A list of this resource below the records of another: `/{parent}/{id}/{segment}`.
#[derive(Clone, Copy, Debug)]
pub struct Nested {
    /// The first segment of the path.
    pub parent: &'static str,
    /// The last segment of the path.
    pub segment: &'static str,
    /// The field that the id in the path determines.
    pub by: &'static str,
    /// The resource's filters that are available here too.
    pub filters: &'static [&'static str],
}

/// The text with a capital letter at its beginning.
pub(crate) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Whether one of these fields has the name.
const fn is_among(name: &str, fields: &[Field]) -> bool {
    match fields {
        [] => false,
        [first, others @ ..] => is_same(first.name, name) || is_among(name, others),
    }
}

/// Whether two texts are equal; `==` cannot be used in a constant.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
