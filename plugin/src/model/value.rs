//! Values and their kinds. Independent of where a value is stored and how a client writes it.
//!
//! Decimals are whole numbers of the field's smallest unit: no value passes through binary floating
//! point, and none is rounded.

use std::borrow::Cow;
use std::fmt;

use time::PrimitiveDateTime;

use super::moment;
use crate::error::Error;

/// The greatest amount of money, and of most decimals, in units of 10^-5: 10^12 less one unit.
pub const MAX_AMOUNT: i64 = 10_i64.pow(17) - 1;

/// The kind of a field's values, with their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, limits inclusive.
    Int {
        /// The least.
        min: i64,
        /// The greatest.
        max: i64,
    },
    /// 0 or 1.
    Flag,
    /// An exact decimal, counted in units of `10^-places`.
    Decimal {
        /// The number of fraction digits that are stored.
        places: u8,
        /// The least number of fraction digits that are shown.
        shown: u8,
        /// The least, in units.
        min: i64,
        /// The greatest, in units.
        max: i64,
    },
    /// Text of at most `max` characters.
    Text {
        /// The greatest length in characters.
        max: usize,
        /// Further requirements.
        form: Form,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A moment in UTC, to the second.
    DateTime,
    /// A list of keys.
    Ids,
    /// A list of words, each once: some of these, or of any if there are none here.
    Words(&'static [&'static str]),
    /// A JSON object.
    Json,
    /// A list of JSON objects that the store has written, with these members.
    JsonList(&'static [(&'static str, Kind)]),
    /// A JSON object that the store has written, with these members.
    JsonObject(&'static [(&'static str, Kind)]),
    /// A JSON object that the store has written, with a member for each of some records by its key: an object with
    /// these members.
    JsonByKey(&'static [(&'static str, Kind)]),
    /// The key of a record of the resource of this kind.
    Key(&'static str),
    /// The code that identifies a record of the resource of this kind: the value of one of its text
    /// fields.
    Code {
        /// The kind.
        of: &'static str,
        /// The field.
        field: &'static str,
        /// The greatest length in characters.
        max: usize,
    },
    /// The key of one of the host's users, or 0 for none.
    User,
    /// An e-mail address; empty only where the field is not required.
    Email,
}

/// Requirements on text beyond its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Anything.
    Free,
    /// Capital letters A to Z, exactly as many as the field is long.
    Capitals,
    /// Lower-case letters a to z, digits and underscores, at least one.
    Name,
    /// No white space and no control characters.
    Code,
    /// No control characters.
    Printable,
    /// Anything that identifies something outside of the store, such as a SKU.
    Identifier,
    /// An absolute URL of http or https, or nothing.
    WebAddress,
}

impl Form {
    /// Whether white space at the ends of the text does not count: what identifies something is
    /// looked up, and nobody sees it there.
    pub const fn is_trimmed(self) -> bool {
        matches!(self, Form::Capitals | Form::Code | Form::Printable | Form::Identifier)
    }
}

impl Kind {
    /// A count of something.
    pub const COUNT: Kind = Kind::Int { min: 0, max: i64::MAX };
    /// Text of any length.
    pub const WORD: Kind = Kind::Text { max: usize::MAX, form: Form::Free };
    /// An amount of money.
    pub const MONEY: Kind = Kind::Decimal { places: 5, shown: 2, min: 0, max: MAX_AMOUNT };

    /// A value of this kind, from a plain number or text.
    pub fn typed(self, value: Value) -> Value {
        match (self, value) {
            (Kind::Decimal { places, .. }, Value::Int(units)) => Value::Decimal { units, places },
            (Kind::DateTime, Value::Text(text)) => match moment::parse(&text) {
                Some(moment) => Value::Moment(moment),
                // No version of this store has written such a value. An engine with types refuses
                // it.
                None => Value::Text(text),
            },
            (kind, Value::Text(text)) if kind.is_json() => Value::Json(text),
            (_, value) => value,
        }
    }

    /// Whether a value may be so long that a page of them has to be measured.
    pub const fn is_long(self) -> bool {
        match self {
            Kind::Text { max, .. } => max > 4_096,
            _ => self.is_json() || matches!(self, Kind::Ids),
        }
    }

    /// Whether it is JSON.
    pub const fn is_json(self) -> bool {
        matches!(self, Kind::Json | Kind::JsonList(_) | Kind::JsonObject(_) | Kind::JsonByKey(_))
    }

    /// Whether the text has a case-folded copy, which is used for sorting and searching.
    pub const fn is_folded(self) -> bool {
        use Form::{Code, Free, Identifier, Printable};
        matches!(self, Kind::Text { form: Free | Code | Printable | Identifier, .. } | Kind::Email)
    }

    /// Whether the folded copy is in two columns: its first [`BEGINNING`] characters, and the rest.
    pub const fn is_split(self) -> bool {
        matches!(self, Kind::Text { max, .. } if max > BEGINNING) && self.is_folded()
    }
}

/// A value of some [`Kind`]. The variants are the types that a typed engine distinguishes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Unset.
    Null,
    /// An integer, a flag, or a key.
    Int(i64),
    /// An exact decimal: `units` of `10^-places`.
    Decimal {
        /// The number of units.
        units: i64,
        /// The number of fraction digits that are stored.
        places: u8,
    },
    /// Text, one of several words, or the text of a list.
    Text(String),
    /// A moment in UTC, to the second.
    Moment(PrimitiveDateTime),
    /// The text of an object.
    Json(String),
}

impl Value {
    /// An amount of money in units of 10^-5.
    pub const fn money(units: i64) -> Self {
        Value::Decimal { units, places: 5 }
    }

    /// The current moment.
    pub fn now() -> Self {
        Value::Moment(moment::now())
    }

    /// The number in this column, or the units of a decimal.
    ///
    /// # Errors
    /// When it is unset, or no number.
    pub fn int(&self, column: &str) -> Result<i64, Error> {
        match self {
            Value::Int(number) | Value::Decimal { units: number, .. } => Ok(*number),
            Value::Null => Err(Error::column(column, "a number", "NULL")),
            Value::Text(_) | Value::Moment(_) | Value::Json(_) => {
                Err(Error::column(column, "a number", "text"))
            }
        }
    }

    /// The text in this column.
    ///
    /// # Errors
    /// When it is unset, or no text.
    pub fn text(&self, column: &str) -> Result<&str, Error> {
        match self {
            Value::Text(text) | Value::Json(text) => Ok(text),
            Value::Null => Err(Error::column(column, "text", "NULL")),
            Value::Int(_) | Value::Decimal { .. } => Err(Error::column(column, "text", "a number")),
            Value::Moment(_) => Err(Error::column(column, "text", "a moment")),
        }
    }

    /// Whether it is empty text.
    pub fn is_empty(&self) -> bool {
        matches!(self, Value::Text(text) if text.is_empty())
    }

    /// Whether it is text that is empty or only white space.
    pub fn is_blank(&self) -> bool {
        matches!(self, Value::Text(text) if text.trim().is_empty())
    }

    /// The moment; `None` for other values.
    pub fn moment(&self) -> Option<PrimitiveDateTime> {
        match self {
            Value::Moment(moment) => Some(*moment),
            _ => None,
        }
    }

    /// How many bytes its text has; none where it is no text.
    pub fn text_len(&self) -> usize {
        match self {
            Value::Text(text) | Value::Json(text) => text.len(),
            Value::Null | Value::Int(_) | Value::Decimal { .. } | Value::Moment(_) => 0,
        }
    }
}

/// The form in messages.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Decimal { units, places } => f.write_str(&decimal_text(*units, *places, 0)),
            Value::Text(text) | Value::Json(text) => f.write_str(text),
            Value::Moment(moment) => f.write_str(&moment::render(*moment)),
        }
    }
}

/// A stored value, borrowed from its page. Its type follows from its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Unset.
    Null,
    /// A number, or the units of a decimal.
    Int(i64),
    /// The text of any other value.
    Text(Cow<'a, str>),
}

impl Cell<'_> {
    /// The number in this column.
    ///
    /// # Errors
    /// When it is unset, or no number.
    pub fn int(&self, column: &str) -> Result<i64, Error> {
        let number = self.optional_int(column)?;
        number.ok_or_else(|| Error::column(column, "a number", "NULL"))
    }

    /// The number in this column, which may be unset.
    ///
    /// # Errors
    /// When it is no number.
    pub fn optional_int(&self, column: &str) -> Result<Option<i64>, Error> {
        match self {
            Cell::Null => Ok(None),
            Cell::Int(number) => Ok(Some(*number)),
            Cell::Text(_) => Err(Error::column(column, "a number", "text")),
        }
    }

    /// The text in this column.
    ///
    /// # Errors
    /// When it is unset, or no text.
    pub fn text(&self, column: &str) -> Result<&str, Error> {
        match self {
            Cell::Text(text) => Ok(text),
            Cell::Null => Err(Error::column(column, "text", "NULL")),
            Cell::Int(_) => Err(Error::column(column, "text", "a number")),
        }
    }

    /// A value as it is stored.
    pub fn of(value: &Value) -> Cell<'_> {
        match value {
            Value::Null => Cell::Null,
            Value::Int(number) | Value::Decimal { units: number, .. } => Cell::Int(*number),
            Value::Text(text) | Value::Json(text) => Cell::Text(text.into()),
            Value::Moment(moment) => Cell::Text(moment::render(*moment).into()),
        }
    }

    /// The value, no longer borrowed; [`Kind::typed`] converts it to its type.
    pub fn to_value(&self) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(*number),
            Cell::Text(text) => Value::Text(text.as_ref().to_owned()),
        }
    }
}

/// How many characters of the folded copy of a long text are in an index.
pub const BEGINNING: usize = 255;

/// Folds text so that texts that differ only in case become equal (Unicode, full folding).
pub fn fold(text: &str) -> String {
    unicase::UniCase::unicode(text).to_folded_case()
}

/// Whether a character is one of the 66 that Unicode reserves for programs' internal use, such as U+FFFE.
/// They cannot be searched for: an engine's index of texts replaces them.
pub fn is_noncharacter(character: char) -> bool {
    let code = u32::from(character);
    matches!(code, 0xfdd0..=0xfdef) || code & 0xfffe == 0xfffe
}

/// Shortens what a client sent, for quotation in messages.
pub fn short(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// An amount of money in units of its last place, as clients read it.
pub fn money_text(units: impl Into<i128>) -> String {
    decimal_text(units, 5, 2)
}

/// A decimal in units of `10^-places` as its shortest exact text with at least `shown` fraction
/// digits.
pub fn decimal_text(units: impl Into<i128>, places: u8, shown: u8) -> String {
    let units = units.into();
    let (places, shown) = (usize::from(places), usize::from(shown));
    let mut digits = units.unsigned_abs().to_string();
    if digits.len() <= places {
        digits.insert_str(0, &"0".repeat(places + 1 - digits.len()));
    }
    let whole = digits.len() - places;
    let fraction = digits[whole..].trim_end_matches('0').len().max(shown.min(places));
    digits.truncate(whole + fraction);
    if fraction > 0 {
        digits.insert(whole, '.');
    }
    if units < 0 {
        digits.insert(0, '-');
    }
    digits
}
