//! Fields: attributes and the columns behind them as plain data, and the handles with which the
//! store's own rules read and set them. Independent of which resource has which field.

use std::marker::PhantomData;
use std::ops::Deref;

use time::PrimitiveDateTime;

use super::personal::Personal;
use super::value::{Form, Kind, MAX_AMOUNT, Value};

/// A field and its fault, as a sentence for the client.
pub type Complaint = (&'static str, String);

/// An attribute and the column behind it, which has the same name.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// The name on the wire and in the table.
    pub name: &'static str,
    /// The type of its values.
    pub kind: Kind,
    /// Whether a new record must give it a value.
    pub required: bool,
    /// Whether it may be unset.
    pub nullable: bool,
    /// The value in a new record where the client gives none.
    pub initial: Initial,
    /// When clients may set it.
    pub access: Access,
    /// Whether the record belongs to the one that the key names, and is deleted with it.
    pub owned: bool,
    /// Whether 0 means that there is no record.
    pub zero_is_none: bool,
    /// Whether the key is checked when it is written and may outlive its record, so that there is no
    /// relationship.
    pub snapshot: bool,
    /// A column of this record and one of the record that the key names, which must agree.
    pub within: Option<[&'static str; 2]>,
    /// The type name of something that is not a resource of the store and that a number identifies:
    /// a relationship without a link.
    pub foreign: Option<&'static str>,
    /// The kind of the record that a number identifies, or has identified: it is not checked, so that there is no
    /// relationship.
    pub refers: Option<&'static str>,
    /// The name of its relationship, if it is not the field's name.
    pub relation: Option<&'static str>,
    /// The expression that computes it; `t` is the resource's own table. `{sum column}` is a [sum
    /// of money](crate::sql::dialect::Dialect::narrow_sum).
    pub computed: Option<&'static str>,
    /// The join that it comes from: alias and column. `None` means the resource's own column of the
    /// field's name.
    pub joined: Option<(&'static str, &'static str)>,
    /// The kind of a person's data that it has, if it has such.
    pub personal: Option<Personal>,
}

/// The relationship of a field that holds a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relationship {
    /// The name of the relationship.
    pub name: &'static str,
    /// The kind of the record.
    pub kind: &'static str,
}

/// When clients may set a field. At other times its value in a body is ignored, so that clients can
/// send back a record that they have read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// On every write.
    Open,
    /// Only when they create the record.
    Once,
    /// Never: a new record gets the default.
    ReadOnly,
    /// Never: it holds the moment of the last write.
    Touched,
}

/// The value of a field where the client gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial {
    /// Nothing: null, or empty text.
    Unset,
    /// A number, a flag, or a decimal in units.
    Int(i64),
    /// Text.
    Text(&'static str),
    /// The moment of the write.
    Now,
    /// A value that the resource's own rules derive.
    Derived,
}

/// A whole number that fits in 32 bits.
pub const fn int(name: &'static str) -> Field {
    let kind = Kind::Int { min: i32::MIN as i64, max: i32::MAX as i64 };
    Field::new(name, kind, Initial::Int(0))
}

/// 0 or 1, by default 1.
pub const fn flag(name: &'static str) -> Field {
    Field::new(name, Kind::Flag, Initial::Int(1))
}

/// Whether a record is enabled.
pub const ENABLED: Handle<bool> = flag("enabled").truth();

/// The value of the default currency, in units of which those of all currencies are.
pub const PAR: Units<8> = Units(100_000_000);

/// Text of at most this many characters.
pub const fn text(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Free }, Initial::Text(""))
}

/// At most this many lower-case letters, digits and underscores.
pub const fn name(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Name }, Initial::Text(""))
}

/// Text without spaces of at most this many characters.
pub const fn code(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Code }, Initial::Text(""))
}

/// What identifies something outside of the store, such as a SKU: text of at most this many characters
/// without white space at its ends.
pub const fn identifier(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Identifier }, Initial::Text(""))
}

/// An amount of money, not negative, below 10^12.
pub const fn money(name: &'static str) -> Field {
    Field::new(name, Kind::MONEY, Initial::Int(0))
}

/// An amount of money that may be negative.
pub const fn signed_money(name: &'static str) -> Field {
    let kind = Kind::Decimal { places: 5, shown: 2, min: -MAX_AMOUNT, max: MAX_AMOUNT };
    Field::new(name, kind, Initial::Int(0))
}

/// A count of something.
pub const fn count(name: &'static str) -> Field {
    Field::new(name, Kind::COUNT, Initial::Int(0))
}

/// A moment in UTC; unset where no value is given.
pub const fn moment(name: &'static str) -> Field {
    Field::new(name, Kind::DateTime, Initial::Unset).nullable()
}

/// The moment at which the record was created, unless the client gives another one.
pub const fn created_on() -> Field {
    Field { access: Access::Once, ..Field::new("created_on", Kind::DateTime, Initial::Now) }
}

/// The moment at which the record was last written.
pub const fn modified_on() -> Field {
    Field { access: Access::Touched, ..Field::new("modified_on", Kind::DateTime, Initial::Now) }
}

/// The key of one of the host's users; 0 means none.
pub const fn user(name: &'static str) -> Field {
    Field::new(name, Kind::User, Initial::Int(0))
}

/// An e-mail address.
pub const fn email(name: &'static str) -> Field {
    Field::new(name, Kind::Email, Initial::Text(""))
}

/// A list of keys.
pub const fn ids(name: &'static str) -> Field {
    Field::new(name, Kind::Ids, Initial::Text(""))
}

/// A list of words, each once: some of these, or of any if there are none here.
pub const fn words(name: &'static str, of: &'static [&'static str]) -> Field {
    Field::new(name, Kind::Words(of), Initial::Text(""))
}

/// A web address: an absolute URL of http or https, or empty.
pub const fn web_address(name: &'static str) -> Field {
    Field::new(name, Kind::Text { max: 2_048, form: Form::WebAddress }, Initial::Text(""))
}

/// A list of JSON objects with these members, which only the store sets.
pub const fn json_list(name: &'static str, members: &'static [(&'static str, Kind)]) -> Field {
    Field::new(name, Kind::JsonList(members), Initial::Text("[]")).read_only()
}

/// A JSON object.
pub const fn json(name: &'static str) -> Field {
    Field::new(name, Kind::Json, Initial::Text("{}"))
}

/// Text of printable characters, at most this many.
pub const fn printable(name: &'static str, max: usize) -> Field {
    Field::new(name, Kind::Text { max, form: Form::Printable }, Initial::Text(""))
}

/// The code that identifies a record of the resource of this kind: the value of its `field`.
pub const fn code_of(
    name: &'static str,
    of: &'static str,
    field: &'static str,
    max: usize,
) -> Field {
    Field::new(name, Kind::Code { of, field, max }, Initial::Text(""))
}

/// Exactly this many capital letters.
pub const fn capitals(name: &'static str, count: usize) -> Field {
    Field::new(name, Kind::Text { max: count, form: Form::Capitals }, Initial::Text(""))
}

/// One of several words; the first is the default.
pub const fn choice(name: &'static str, words: &'static [&'static str]) -> Field {
    Field::new(name, Kind::Choice(words), Initial::Text(words[0]))
}

/// A quantity or measure, not negative, with up to five fraction digits.
pub const fn quantity(name: &'static str) -> Field {
    decimal(name, 5, 0, MAX_AMOUNT)
}

/// An exact decimal with this many fraction digits, and limits in units of the last digit.
pub const fn decimal(name: &'static str, places: u8, min: i64, max: i64) -> Field {
    Field::new(name, Kind::Decimal { places, shown: 0, min, max }, Initial::Int(0))
}

/// The key of a record of the resource of this kind.
pub const fn key(name: &'static str, kind: &'static str) -> Field {
    Field::new(name, Kind::Key(kind), Initial::Unset)
}

impl Field {
    /// A value of this kind that is no column: a member of another value, or of `meta`.
    pub const fn of_kind(name: &'static str, kind: Kind) -> Self {
        Self::new(name, kind, Initial::Unset)
    }

    const fn new(name: &'static str, kind: Kind, initial: Initial) -> Self {
        Self {
            name,
            kind,
            required: false,
            nullable: false,
            initial,
            access: Access::Open,
            owned: false,
            zero_is_none: false,
            snapshot: false,
            within: None,
            foreign: None,
            refers: None,
            computed: None,
            relation: None,
            joined: None,
            personal: None,
        }
    }

    /// A new record must give it a value.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// It may be unset, which is the default.
    pub const fn nullable(mut self) -> Self {
        self.nullable = true;
        self.initial = Initial::Unset;
        self
    }

    /// The resource derives it where no value is given.
    pub const fn derived(mut self) -> Self {
        self.initial = Initial::Derived;
        self
    }

    /// Clients cannot set it: a new record gets the default.
    pub const fn read_only(mut self) -> Self {
        self.access = Access::ReadOnly;
        self
    }

    /// An expression on the resource's own table, whose alias is `t`, computes it.
    pub const fn computed(mut self, expression: &'static str) -> Self {
        self.computed = Some(expression);
        self.access = Access::ReadOnly;
        self
    }

    /// The record is deleted with the one that the key names.
    pub const fn owned(mut self) -> Self {
        self.owned = true;
        self
    }

    /// The key 0 means that there is no record, and is the default.
    pub const fn or_zero(mut self) -> Self {
        self.zero_is_none = true;
        self.initial = Initial::Int(0);
        self
    }

    /// The record that the key names may be deleted later, and the key stays as it was.
    pub const fn snapshot(mut self) -> Self {
        self.snapshot = true;
        self
    }

    /// The number identifies something of this kind that is not a resource of the store.
    pub const fn naming(mut self, kind: &'static str) -> Self {
        self.foreign = Some(kind);
        self
    }

    /// The number identifies a record of this kind, which need not be there any more.
    pub const fn referring_to(mut self, kind: &'static str) -> Self {
        self.refers = Some(kind);
        self
    }

    /// The name of its relationship.
    pub const fn related_as(mut self, name: &'static str) -> Self {
        self.relation = Some(name);
        self
    }

    /// The record that the key names must have the same value in this column.
    pub const fn within(self, column: &'static str) -> Self {
        self.within_that(column, column)
    }

    /// The record that the key names must have in `theirs` what this record has in `own`.
    pub const fn within_that(mut self, own: &'static str, theirs: &'static str) -> Self {
        self.within = Some([own, theirs]);
        self
    }

    /// The relationship to the record that it identifies, if it is a key.
    pub fn relationship(&self) -> Option<Relationship> {
        let kind = match (self.kind, self.foreign) {
            _ if self.snapshot => return None,
            (Kind::Key(kind), _) | (_, Some(kind)) => kind,
            _ => return None,
        };
        let of_column = || self.name.strip_suffix("_id").unwrap_or(self.name);
        Some(Relationship { name: self.relation.unwrap_or_else(of_column), kind })
    }

    /// It comes from a join: the column of the join with this alias.
    pub const fn joined(mut self, alias: &'static str, column: &'static str) -> Self {
        self.joined = Some((alias, column));
        self.access = Access::ReadOnly;
        self
    }

    /// It has data of persons, of this kind.
    pub const fn personal(mut self, kind: Personal) -> Self {
        self.personal = Some(kind);
        self
    }

    /// Its default, as a number or in units.
    pub const fn default(mut self, value: i64) -> Self {
        self.initial = Initial::Int(value);
        self
    }

    /// Its default, as text.
    pub const fn default_text(mut self, value: &'static str) -> Self {
        self.initial = Initial::Text(value);
        self
    }

    /// Allows whole numbers between these limits, inclusive.
    pub const fn between(mut self, min: i64, max: i64) -> Self {
        self.kind = Kind::Int { min, max };
        self
    }
}

/// A field that the store's own rules read or set, with the type of its values in Rust.
///
/// A misspelt name does not compile, and neither does a handle whose type does not fit the field's
/// kind. A record that lacks the field causes an error; it is never read as zero.
#[derive(Debug)]
pub struct Handle<T> {
    /// The field itself, for the list of a resource.
    pub field: Field,
    holds: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    const fn new(field: Field) -> Self {
        Self { field, holds: PhantomData }
    }
}

impl<T> Deref for Handle<T> {
    type Target = Field;

    fn deref(&self) -> &Field {
        &self.field
    }
}

impl Field {
    /// Its handle as a whole number or a key.
    pub const fn number(self) -> Handle<i64> {
        assert!(matches!(self.kind, Kind::Int { .. } | Kind::Key(_) | Kind::User), "no number");
        Handle::new(self)
    }

    /// Its handle as a flag.
    pub const fn truth(self) -> Handle<bool> {
        assert!(matches!(self.kind, Kind::Flag), "no flag");
        Handle::new(self)
    }

    /// Its handle as a decimal in units of `10^-PLACES`.
    pub const fn units<const PLACES: u8>(self) -> Handle<Units<PLACES>> {
        assert!(
            matches!(self.kind, Kind::Decimal { places, .. } if places == PLACES),
            "no such decimal"
        );
        Handle::new(self)
    }

    /// Its handle as an amount of money.
    pub const fn money(self) -> Handle<Money> {
        self.units()
    }

    /// Its handle as a moment.
    pub const fn time(self) -> Handle<PrimitiveDateTime> {
        assert!(matches!(self.kind, Kind::DateTime), "no moment");
        Handle::new(self)
    }

    /// Its handle as text.
    pub const fn words(self) -> Handle<String> {
        use Kind::{Choice, Code, Email, Text, Words};
        let is_text = matches!(self.kind, Text { .. } | Choice(_) | Words(_) | Code { .. } | Email);
        assert!(is_text, "no text");
        Handle::new(self)
    }
}

/// The Rust types that the store's own rules use for values.
pub trait Typed {
    /// The type that reading a value returns.
    type Read<'v>;

    /// Reads a value; `None` where it has another type.
    fn read(value: &Value) -> Option<Self::Read<'_>>;

    /// The value to write.
    fn into_value(self) -> Value;
}

/// An exact decimal in units of `10^-PLACES`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Units<const PLACES: u8>(pub i64);

/// An amount of money.
pub type Money = Units<5>;

impl<const PLACES: u8> Typed for Units<PLACES> {
    type Read<'v> = Self;

    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Decimal { units, places } if *places == PLACES => Some(Units(*units)),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Decimal { units: self.0, places: PLACES }
    }
}

impl Typed for i64 {
    type Read<'v> = i64;

    fn read(value: &Value) -> Option<i64> {
        match value {
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Int(self)
    }
}

impl Typed for bool {
    type Read<'v> = bool;

    fn read(value: &Value) -> Option<bool> {
        i64::read(value).map(|number| number == 1)
    }

    fn into_value(self) -> Value {
        Value::Int(self.into())
    }
}

impl Typed for PrimitiveDateTime {
    type Read<'v> = PrimitiveDateTime;

    fn read(value: &Value) -> Option<PrimitiveDateTime> {
        value.moment()
    }

    fn into_value(self) -> Value {
        Value::Moment(self)
    }
}

impl Typed for String {
    type Read<'v> = &'v str;

    fn read(value: &Value) -> Option<&str> {
        match value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    fn into_value(self) -> Value {
        Value::Text(self)
    }
}
