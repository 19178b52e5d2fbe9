//! Resources as plain data: what a file in `resources` says about one, and nothing about how it
//! is served.

use crate::error::Fault;
use crate::parameters::Parameters;
use crate::plan::Record;
use crate::value::{Form, Kind};

/// A kind of record that clients read and write.
#[derive(Clone, Copy, Debug)]
pub struct Resource {
    /// The JSON:API type, which is also the path's segment and the permission's asset.
    pub kind: &'static str,
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
    /// What lists may be narrowed by.
    pub filters: &'static [Filter],
    /// Groups of fields of which no two records have the same values.
    pub unique: &'static [Unique],
    /// Lists of this resource below another one's records.
    pub nested: &'static [Nested],
    /// Whether the store permits that a record is deleted.
    pub deletable: fn(&Record, &Parameters) -> Result<(), Fault>,
}

impl Resource {
    /// What most resources have in common; a file names only what is its own.
    pub const CRUD: Resource = Resource {
        kind: "",
        singular: "",
        table: "",
        key: "",
        list: &[],
        detail: &[],
        filters: &[],
        unique: &[],
        nested: &[],
        deletable: |_, _| Ok(()),
    };

    /// All fields after the key: those of lists, then those of single records.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + Clone + use<> {
        self.list.iter().chain(self.detail)
    }

    /// The position of a field among [`Resource::fields`].
    pub fn position(&self, name: &str) -> Option<usize> {
        self.fields().position(|field| field.name == name)
    }

    /// Whether a field has a case-folded copy beside it: text that lists show can be sorted by.
    pub fn is_folded(&self, field: &Field) -> bool {
        field.kind.is_folded() && self.list.iter().any(|listed| listed.name == field.name)
    }
}

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

/// Exactly this many capital letters.
pub const fn capitals(name: &'static str, count: usize) -> Field {
    Field::new(name, Kind::Text { max: count, form: Form::Capitals }, Default::Text(""))
}

/// One of several words, by default the first.
pub const fn choice(name: &'static str, words: &'static [&'static str]) -> Field {
    Field::new(name, Kind::Choice(words), Default::Text(words[0]))
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
        Self { name, kind, required: false, nullable: false, default }
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

/// A member `filter[name]` of the query of a list.
#[derive(Clone, Copy, Debug)]
pub struct Filter {
    /// The name in the brackets.
    pub name: &'static str,
    /// What it does.
    pub test: Test,
}

/// What a filter does with its value.
#[derive(Clone, Copy, Debug)]
pub enum Test {
    /// One of these fields contains the text, without regard to case.
    Contains(&'static [&'static str]),
    /// The field has the value.
    Equals(&'static str),
}

/// `filter[search]`: the text stands anywhere in one of these fields.
pub const fn search(fields: &'static [&'static str]) -> Filter {
    Filter { name: "search", test: Test::Contains(fields) }
}

/// A filter by the value of the field of the same name.
pub const fn equals(field: &'static str) -> Filter {
    Filter { name: field, test: Test::Equals(field) }
}

/// Fields whose values, taken together, no two records share.
#[derive(Clone, Copy, Debug)]
pub struct Unique {
    /// The fields; a fault is reported at the first.
    pub fields: &'static [&'static str],
}

/// The fields taken together are unique.
pub const fn unique(fields: &'static [&'static str]) -> Unique {
    Unique { fields }
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
