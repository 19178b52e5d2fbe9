//! Resources as plain data: what there is of each kind of record. Nothing here knows how one is served or
//! stored.

use super::field::{Access, Field, Handle};
use super::kept::Kept;
use crate::error::Error;

/// A kind of record that clients read and write.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// The JSON:API type, which is also the path's segment and the permission's asset.
    pub kind: &'static str,
    /// What schemas of it are called, where not by the kind: a view of another resource.
    pub view: Option<&'static str>,
    /// What administrators call its records, where not by the kind: a kind of two words.
    pub title: Option<&'static str>,
    /// What one record is called in messages.
    pub singular: &'static str,
    /// The table that holds the records.
    pub table: &'static str,
    /// The primary key: a column, and the first attribute.
    pub key: &'static str,
    /// What a list shows after the key, in order.
    pub list: &'static [Field],
    /// What a single record shows in addition, in order.
    pub detail: &'static [Field],
    /// Whether single records can be read and written; otherwise there are only nested lists.
    pub crud: bool,
    /// Columns that no document shows: what bodies may give beside the attributes, and what the store
    /// sets by itself.
    pub hidden: &'static [Field],
    /// The tables that joined fields come from.
    pub joins: &'static [Join],
    /// The order of lists where none is asked for.
    pub order: Order,
    /// What lists may be narrowed by.
    pub filters: &'static [Filter],
    /// Groups of fields of which no two records have the same values.
    pub unique: &'static [Unique],
    /// Lists of this resource below another one's records.
    pub nested: &'static [Nested],
    /// Columns that are the same in all of the resource's records, which share their table with
    /// another resource's.
    pub fixed: &'static [(&'static str, i64)],
    /// Records of another resource that a body may bring along when it creates one of this.
    pub brings: Option<Brings>,
    /// Whether writes are taken one after the other, because each depends on other records.
    pub serialised: bool,
    /// Whether a record is locked for the sake of other tables. Where only a change of it holds for all
    /// nodes of a cluster, its locks are counted in a row of its own.
    pub lock_row: bool,
    /// What its table has beside the columns.
    pub storage: Storage,
}

impl Resource {
    /// What most resources have in common; a file names only what is its own.
    pub const CRUD: Resource = Resource {
        kind: "",
        view: None,
        title: None,
        singular: "",
        table: "",
        key: "",
        list: &[],
        detail: &[],
        crud: true,
        hidden: &[],
        joins: &[],
        order: Order::KEY,
        filters: &[],
        unique: &[],
        nested: &[],
        fixed: &[],
        brings: None,
        serialised: false,
        lock_row: false,
        storage: Storage::PLAIN,
    };

    /// The descriptor as it is. One that names a field which it does not have does not compile.
    pub const fn checked(self) -> Self {
        if let Some(field) = self.order.field {
            assert!(self.has(field), "the order names no field");
        }
        let mut at = 0;
        while at < self.filters.len() {
            match self.filters[at].test {
                Test::Equals(field) | Test::From(field) | Test::To(field) => {
                    assert!(self.has(field), "a filter names no field");
                }
                // A table that finds texts has columns of its own.
                Test::Contains(fields) => {
                    let own = self.storage.search.is_some();
                    assert!(own || self.has_all(fields), "a search names no field");
                }
            }
            at += 1;
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
        let mut at = 0;
        while at < names.len() {
            if !self.has(names[at]) {
                return false;
            }
            at += 1;
        }
        true
    }

    const fn has(&self, name: &str) -> bool {
        let groups = [self.list, self.detail, self.hidden];
        let mut group = 0;
        while group < groups.len() {
            let mut at = 0;
            while at < groups[group].len() {
                if is_same(groups[group][at].name, name) {
                    return true;
                }
                at += 1;
            }
            group += 1;
        }
        false
    }

    /// What schemas of it are called.
    pub fn schema_name(&self) -> &'static str {
        self.view.unwrap_or(self.kind)
    }

    /// What administrators call its records.
    pub fn title(&self) -> String {
        let mut letters = self.title.unwrap_or(self.kind).chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect()
    }

    /// All fields after the key: those of lists, those of single records, then the hidden ones.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        self.list.iter().chain(self.detail).chain(self.hidden)
    }

    /// The position of a field among [`Resource::fields`].
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields().position(|field| field.name == name)
    }

    /// That a record of it was asked for a field that it does not have as such.
    pub fn lacks(&self, field: &str) -> Error {
        Error::Field { of: self.kind, field: field.to_owned() }
    }

    /// Whether no client sees or sets the field of this name.
    pub fn keeps_to_itself(&self, name: &str) -> bool {
        let unset = |field: &&Field| matches!(field.access, Access::ReadOnly | Access::Touched);
        self.hidden.iter().filter(unset).any(|field| field.name == name)
    }

    /// Whether a field has a case-folded copy beside it: text that lists show can be sorted by.
    pub fn is_folded(&self, field: &Field) -> bool {
        field.kind.is_folded() && self.list.iter().any(|listed| listed.name == field.name)
    }
}

/// Records that come with another one, in the member `name` of its body.
#[derive(Clone, Copy, Debug)]
pub struct Brings {
    /// The member, a list of objects.
    pub name: &'static str,
    /// What they are.
    pub of: &'static Resource,
    /// The field that names the record they come with.
    pub by: &'static Handle<i64>,
}

/// What a table has beside its columns, for the sake of lists that cost what their page costs.
#[derive(Clone, Copy, Debug)]
pub struct Storage {
    /// Tables of kept counts, from which totals are read where one fits.
    pub counts: &'static [&'static Kept],
    /// Tables of kept counts, by which a place far down a list is found.
    pub steps: &'static [&'static Kept],
    /// Indexes that serve a filter, or filters together, and an order after them. One for each order
    /// alone need not be named, and the primary key ends each.
    pub indexes: &'static [Index],
    /// The table that finds a text within texts, where the engine needs one of its own for that.
    pub search: Option<&'static str>,
    /// Fields and the tables of the pieces of their texts, by which an engine finds them that has no
    /// index for it.
    pub pieces: &'static [(&'static str, &'static str)],
}

impl Storage {
    /// A table that stays small.
    pub const PLAIN: Storage =
        Storage { counts: &[], steps: &[], indexes: &[], search: None, pieces: &[] };
}

/// The order of a list. Ties are broken by the primary key in the same direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// The field; `None` is the primary key.
    pub field: Option<&'static str>,
    /// Whether the greatest comes first.
    pub descending: bool,
}

impl Order {
    /// By the primary key, ascending.
    pub const KEY: Order = Order { field: None, descending: false };
}

/// An index of a resource's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    /// What it is called.
    pub name: &'static str,
    /// The fields that it has, before the primary key.
    pub fields: &'static [&'static str],
}

/// An index of this name on these fields, before the primary key.
pub const fn index(name: &'static str, fields: &'static [&'static str]) -> Index {
    Index { name, fields }
}

/// A page of rows that are worked out, with the sums of all of them beside it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// What schemas of it are called.
    pub view: &'static str,
    /// What can be asked for.
    pub of: &'static Resource,
    /// The attributes of a row.
    pub row: &'static [Field],
    /// The members of `meta.totals`.
    pub totals: &'static [Field],
    /// Whether it is about a range of days.
    pub of_days: bool,
    /// Whether the totals are a list, one of each currency.
    pub by_currency: bool,
    /// Whether `meta.previous` has the totals of the range before.
    pub previous: bool,
}

/// A table that is joined to a resource's own, which has the alias `t`, row by row or not at all.
#[derive(Clone, Copy, Debug)]
pub struct Join {
    /// What its columns are named by.
    pub alias: &'static str,
    /// The table.
    pub table: &'static str,
    /// Its primary key.
    pub key: &'static str,
    /// The resource's column that names the row by it.
    pub by: &'static str,
}

/// A member `filter[name]` of the query of a list.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The name in the brackets.
    pub name: &'static str,
    /// What it does.
    pub test: Test,
    /// The filter that does not count where this one is sent.
    pub replaces: Option<&'static str>,
}

impl Filter {
    /// Counts in place of another one where both are sent.
    pub const fn replacing(mut self, name: &'static str) -> Self {
        self.replaces = Some(name);
        self
    }
}

/// What a filter does with its value.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// One of these fields contains the text, without regard to case.
    Contains(&'static [&'static str]),
    /// The field has the value.
    Equals(&'static str),
    /// The field is on this day or later.
    From(&'static str),
    /// The field is on this day or earlier.
    To(&'static str),
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

/// `filter[date_from]`: the field is on this day or later.
pub const fn date_from(field: &'static str) -> Filter {
    Filter { name: "date_from", test: Test::From(field), replaces: None }
}

/// `filter[date_to]`: the field is on this day or earlier.
pub const fn date_to(field: &'static str) -> Filter {
    Filter { name: "date_to", test: Test::To(field), replaces: None }
}

/// Fields whose values, taken together, no two records share.
#[derive(Clone, Copy, Debug)]
pub struct Unique {
    /// The fields; a fault is reported at the first.
    pub fields: &'static [&'static str],
    /// Whether texts that differ only in case count as the same.
    pub any_case: bool,
    /// Whether any number of records may have empty text.
    pub unless_empty: bool,
    /// The table among whose rows they are unique, where that is not the resource's own, and the
    /// expression that gives the key of the record that a row belongs to.
    pub among: Option<(&'static str, &'static str)>,
}

/// The fields taken together are unique.
pub const fn unique(fields: &'static [&'static str]) -> Unique {
    Unique { fields, any_case: false, unless_empty: false, among: None }
}

impl Unique {
    /// Texts that differ only in case count as the same.
    pub const fn in_any_case(mut self) -> Self {
        self.any_case = true;
        self
    }

    /// Any number of records may have empty text.
    pub const fn unless_empty(mut self) -> Self {
        self.unless_empty = true;
        self
    }

    /// Unique among the rows of another table, of which the expression gives the record's key.
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
    /// The field that the path's id fixes.
    pub by: &'static str,
    /// Those of the resource's filters that apply here too.
    pub filters: &'static [&'static str],
}

/// Whether two texts are equal; `==` cannot be used in constants.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}
