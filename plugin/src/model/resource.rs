//! Resources as plain data: what a file in `resources` says about one, and nothing about how it
//! is served.

use std::future::Future;
use std::pin::Pin;

use host_interface::{Method, Response};

use crate::app::Call;
use crate::error::{Error, Fault};
use crate::model::kept::Kept;
use crate::model::parameters::Parameters;
use crate::model::question::{Draft, Order, Record};
use crate::model::value::{Form, Kind, MAX_AMOUNT};
use crate::store::Transaction;

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
    /// How a record is created, where that is special.
    pub create: Option<Operation>,
    /// How a record is removed, where that is special.
    pub delete: Option<Operation>,
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
    pub alone: bool,
    /// Whether a record is kept from others for the sake of what stands elsewhere, so that its turns
    /// are counted where only a change of it holds for all nodes of a cluster.
    pub turns: bool,
    /// Works out what follows from what a body gives, before it is checked. Gets the record as it
    /// was, where there is one.
    pub derive: Option<Derive>,
    /// Carries a change of the record over to others that depend on it.
    pub spread: Option<Spread>,
    /// What else is to be written once a record has been created.
    pub added: Option<Added>,
    /// Routes beside the usual ones.
    pub special: &'static [Special],
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
    /// What else must be true of a record as it would be after a write.
    pub check: fn(&Record) -> Vec<Complaint>,
    /// Whether the store permits that a record is deleted.
    pub deletable: fn(&Record, &Parameters) -> Result<(), Fault>,
    /// What the store does not permit of a change of a record, which is given as it would be.
    pub changeable: fn(&Record, &Record, &Parameters) -> Vec<Complaint>,
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
        create: None,
        delete: None,
        hidden: &[],
        joins: &[],
        order: Order::KEY,
        filters: &[],
        unique: &[],
        nested: &[],
        fixed: &[],
        brings: None,
        alone: false,
        turns: false,
        derive: None,
        spread: None,
        added: None,
        special: &[],
        counts: &[],
        steps: &[],
        indexes: &[],
        search: None,
        pieces: &[],
        check: |_| Vec::new(),
        deletable: |_, _| Ok(()),
        changeable: |_, _, _| Vec::new(),
    };

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

/// A future of one of the functions that a resource's file defines by itself.
pub type Step<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// An operation that a resource's file defines by itself.
pub type Operation = for<'a> fn(&'a Call<'a>, &'static Resource) -> Step<'a, Response>;

/// See [`Resource::derive`].
pub type Derive = for<'a> fn(&'a mut Draft, Option<&'a Record>, &'a mut Scene<'_>) -> Step<'a, ()>;

/// See [`Resource::spread`]: the record as it was and as it is.
pub type Spread = for<'a> fn(&'a Record, &'a Record, &'a mut Scene<'_>) -> Step<'a, ()>;

/// See [`Resource::added`]: the record's key, and the record.
pub type Added = for<'a> fn(i64, &'a Record, &'a mut Scene<'_>) -> Step<'a, ()>;

/// Records that come with another one, in the member `name` of its body.
#[derive(Clone, Copy, Debug)]
pub struct Brings {
    /// The member, a list of objects.
    pub name: &'static str,
    /// What they are.
    pub of: View,
    /// The field that names the record they come with.
    pub by: &'static str,
}

/// What a write happens in.
pub struct Scene<'a> {
    /// The request.
    pub call: &'a Call<'a>,
    /// Everything that the write does.
    pub transaction: &'a mut Transaction,
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

/// A route beside the usual ones.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    /// The method.
    pub method: Method,
    /// The path below the store's.
    pub path: &'static str,
    /// The route's name, after the resource's kind.
    pub name: &'static str,
    /// The permission that it needs on the resource's asset.
    pub action: Option<&'static str>,
    /// The kind of the resource whose asset it is, where that is another one.
    pub asset: Option<&'static str>,
    /// The fields that its body has.
    pub takes: Option<View>,
    /// What it answers with.
    pub gives: Gives,
    /// What it does.
    pub run: Operation,
}

/// A resource, or a view of one. A function, because a resource's routes may name it itself.
pub type View = fn() -> &'static Resource;

/// What a route beside the usual ones answers with.
#[derive(Clone, Copy, Debug)]
pub enum Gives {
    /// A new record.
    New(View),
    /// A record.
    One(View),
    /// A page of records that are worked out from a view, with these attributes.
    Computed(View, &'static [Field]),
    /// A report.
    Report(&'static Report),
    /// One record whose attributes depend on the site.
    Open,
}

/// A page of rows that are worked out, with the sums of all of them beside it.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    /// What schemas of it are called.
    pub view: &'static str,
    /// What can be asked for.
    pub of: View,
    /// The attributes of a row.
    pub row: &'static [Field],
    /// What stands in `meta.totals`.
    pub totals: &'static [Field],
    /// Whether it is about a range of days.
    pub of_days: bool,
    /// Whether the totals are a list, one of each currency.
    pub by_currency: bool,
    /// Whether `meta.previous` has the totals of the range before.
    pub previous: bool,
}

/// A field and what is wrong with it, a sentence for the client.
pub type Complaint = (&'static str, String);

/// An attribute and the column behind it, which have the same name.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name on the wire and in the table.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a new record must be given it.
    pub required: bool,
    /// Whether it may be unset.
    pub nullable: bool,
    /// What a new record has where it is given nothing.
    pub default: Default,
    /// When clients may set it.
    pub access: Access,
    /// Whether the record belongs to the one that the key names, and goes with it.
    pub owned: bool,
    /// Whether 0 stands for no record.
    pub zero_is_none: bool,
    /// A column that the record which the key names must have in common with this one.
    pub within: Option<&'static str>,
    /// The kind of what a number names that is no resource of the store: a relationship without a
    /// link.
    pub foreign: Option<&'static str>,
    /// What its relationship is called, where not by the field's name.
    pub relation: Option<&'static str>,
    /// The expression that it is computed by; `t` is the resource's own table. `{sum column}` is a
    /// [sum of money](crate::sql::dialect::Dialect::narrow_sum).
    pub computed: Option<&'static str>,
    /// Where it is joined from: the alias of the join and its column. `None` is the resource's own
    /// column of the field's name.
    pub joined: Option<(&'static str, &'static str)>,
}

/// What a field that holds a key refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relationship {
    /// What it is called.
    pub name: &'static str,
    /// The kind of the record.
    pub kind: &'static str,
}

/// When clients may set a field. What a body says of it at other times is ignored, so that a client
/// can send back what it read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whenever they write.
    Open,
    /// When they create the record.
    Once,
    /// Never: a new record has the default.
    ReadOnly,
    /// Never: it is the moment of the last write.
    Touched,
}

/// What a field holds where nothing was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Default {
    /// Nothing: null, or empty text.
    Unset,
    /// A number, a flag, or a decimal in units.
    Int(i64),
    /// Text.
    Text(&'static str),
    /// The moment of the write.
    Now,
    /// What [`Resource::derive`] works out.
    Derived,
}

/// A whole number that fits in 32 bits.
pub const fn int(name: &'static str) -> Field {
    let kind = Kind::Int { min: i32::MIN as i64, max: i32::MAX as i64 };
    Field::new(name, kind, Default::Int(0))
}

/// 0 or 1, by default 1.
pub const fn flag(name: &'static str) -> Field {
    Field::new(name, Kind::Flag, Default::Int(1))
}

/// Text of at most this many characters.
pub const fn text(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Free }, Default::Text(""))
}

/// Small letters, digits and underscores, at most this many.
pub const fn name(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Name }, Default::Text(""))
}

/// Text without spaces of at most this many characters.
pub const fn code(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Code }, Default::Text(""))
}

/// An amount of money, not negative, below a million million.
pub const fn money(name: &'static str) -> Field {
    let kind = Kind::Decimal { places: 5, shown: 2, min: 0, max: MAX_AMOUNT };
    Field::new(name, kind, Default::Int(0))
}

/// An amount of money that may be negative.
pub const fn signed_money(name: &'static str) -> Field {
    let kind = Kind::Decimal { places: 5, shown: 2, min: -MAX_AMOUNT, max: MAX_AMOUNT };
    Field::new(name, kind, Default::Int(0))
}

/// How many there are of something.
pub const fn count(name: &'static str) -> Field {
    Field::new(name, Kind::COUNT, Default::Int(0))
}

/// A moment in UTC; unset where nothing is given.
pub const fn moment(name: &'static str) -> Field {
    Field::new(name, Kind::DateTime, Default::Unset).nullable()
}

/// The moment at which the record was created, unless the client gives another one.
pub const fn created_on() -> Field {
    let mut field = Field::new("created_on", Kind::DateTime, Default::Now);
    field.access = Access::Once;
    field
}

/// The moment at which the record was last written.
pub const fn modified_on() -> Field {
    let mut field = Field::new("modified_on", Kind::DateTime, Default::Now);
    field.access = Access::Touched;
    field
}

/// The key of one of the host's users; 0 is nobody.
pub const fn user(name: &'static str) -> Field {
    Field::new(name, Kind::User, Default::Int(0))
}

/// An e-mail address.
pub const fn email(name: &'static str) -> Field {
    Field::new(name, Kind::Email, Default::Text(""))
}

/// A list of keys.
pub const fn ids(name: &'static str) -> Field {
    Field::new(name, Kind::Ids, Default::Text(""))
}

/// A JSON object.
pub const fn json(name: &'static str) -> Field {
    Field::new(name, Kind::Json, Default::Text("{}"))
}

/// Text of printable characters, at most this many.
pub const fn printable(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Printable }, Default::Text(""))
}

/// The code by which a record of the resource of this kind is known: the value of its `field`.
pub const fn code_of(
    name: &'static str,
    of: &'static str,
    field: &'static str,
    max: usize,
) -> Field {
    Field::new(name, Kind::Code { of, field, max }, Default::Text(""))
}

/// Exactly this many capital letters.
pub const fn capitals(name: &'static str, count: usize) -> Field {
    Field::new(name, Kind::Text { max: count, form: Form::Capitals }, Default::Text(""))
}

/// One of several words, by default the first.
pub const fn choice(name: &'static str, words: &'static [&'static str]) -> Field {
    Field::new(name, Kind::Choice(words), Default::Text(words[0]))
}

/// A quantity or measure, not negative, with up to five fraction digits.
pub const fn amount(name: &'static str) -> Field {
    decimal(name, 5, 0, MAX_AMOUNT)
}

/// An exact decimal with this many fraction digits, its limits counted in the last of them.
pub const fn decimal(name: &'static str, places: u8, min: i64, max: i64) -> Field {
    Field::new(name, Kind::Decimal { places, shown: 0, min, max }, Default::Int(0))
}

/// The key of a record of the resource of this kind.
pub const fn key(name: &'static str, kind: &'static str) -> Field {
    Field::new(name, Kind::Key(kind), Default::Unset)
}

impl Field {
    const fn new(name: &'static str, kind: Kind, default: Default) -> Self {
        Self {
            name,
            kind,
            required: false,
            nullable: false,
            default,
            access: Access::Open,
            owned: false,
            zero_is_none: false,
            within: None,
            foreign: None,
            computed: None,
            relation: None,
            joined: None,
        }
    }

    /// A new record must be given it.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// It may be unset, and is where nothing is given.
    pub const fn nullable(mut self) -> Self {
        self.nullable = true;
        self.default = Default::Unset;
        self
    }

    /// Where nothing is given, the resource works it out.
    pub const fn derived(mut self) -> Self {
        self.default = Default::Derived;
        self
    }

    /// Clients cannot set it: a new record has the default.
    pub const fn read_only(mut self) -> Self {
        self.access = Access::ReadOnly;
        self
    }

    /// It is computed by an expression about the resource's own table, which is `t`.
    pub const fn computed(mut self, expression: &'static str) -> Self {
        self.computed = Some(expression);
        self.access = Access::ReadOnly;
        self
    }

    /// The record goes with the one that the key names.
    pub const fn owned(mut self) -> Self {
        self.owned = true;
        self
    }

    /// The key 0 stands for no record, and is the default.
    pub const fn or_zero(mut self) -> Self {
        self.zero_is_none = true;
        self.default = Default::Int(0);
        self
    }

    /// The number names something of this kind that is no resource of the store.
    pub const fn naming(mut self, kind: &'static str) -> Self {
        self.foreign = Some(kind);
        self
    }

    /// What its relationship is called.
    pub const fn related_as(mut self, name: &'static str) -> Self {
        self.relation = Some(name);
        self
    }

    /// The record that the key names must have the same value in this column.
    pub const fn within(mut self, column: &'static str) -> Self {
        self.within = Some(column);
        self
    }

    /// The relationship that shows what it refers to, where it refers to something.
    pub fn relationship(&self) -> Option<Relationship> {
        let kind = match (self.kind, self.foreign) {
            (Kind::Key(kind), _) | (_, Some(kind)) => kind,
            _ => return None,
        };
        let of_column = || self.name.strip_suffix("_id").unwrap_or(self.name);
        Some(Relationship { name: self.relation.unwrap_or_else(of_column), kind })
    }

    /// It is joined: the column of the join with this alias.
    pub const fn joined(mut self, alias: &'static str, column: &'static str) -> Self {
        self.joined = Some((alias, column));
        self.access = Access::ReadOnly;
        self
    }

    /// What a new record has where nothing is given, as a number or in units.
    pub const fn default(mut self, value: i64) -> Self {
        self.default = Default::Int(value);
        self
    }

    /// What a new record has where nothing is given, as text.
    pub const fn default_text(mut self, value: &'static str) -> Self {
        self.default = Default::Text(value);
        self
    }

    /// Allows whole numbers between these limits, which are included.
    pub const fn between(mut self, min: i64, max: i64) -> Self {
        self.kind = Kind::Int { min, max };
        self
    }
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

/// `filter[search]`: the text stands anywhere in one of these fields.
pub const fn search(fields: &'static [&'static str]) -> Filter {
    contains("search", fields)
}

/// A filter by text that stands anywhere in one of these fields.
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
    /// Whether empty text may stand any number of times.
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

    /// Empty text may stand any number of times.
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
