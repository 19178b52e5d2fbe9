//! Values: what kinds there are, how each is read from a client's literal text, and how it is
//! written back. Nothing here knows where a value is stored.
//!
//! Decimals are whole numbers of the field's smallest unit, read digit by digit from the literal
//! text: no value ever passes through binary floating point, and none is rounded.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::RangeInclusive;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};
use serde_json::value::RawValue;
use time::format_description::BorrowedFormatItem;
use time::macros::{format_description, time};
use time::{Date, Duration, PrimitiveDateTime};

/// The greatest amount of money, and the greatest of most decimals, in units of 10^-5: a million
/// million less the last unit.
pub const MAX_AMOUNT: i64 = 10_i64.pow(17) - 1;

/// What a field holds, with its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number, limits included.
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
        /// How many fraction digits are kept.
        places: u8,
        /// How many fraction digits are shown at least.
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
        /// What else it must be.
        form: Form,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A moment in UTC, to the second.
    DateTime,
    /// A list of keys.
    Ids,
    /// A JSON object.
    Json,
    /// The key of a record of the resource of this kind.
    Key(&'static str),
    /// The code by which a record of the resource of this kind is known, the value of one of its
    /// text fields.
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

/// What text must be beside short enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Anything.
    Free,
    /// Exactly as many capital letters A to Z as the field is long.
    Capitals,
    /// Small letters a to z, digits and underscores, one at least.
    Name,
    /// No white space and no control characters.
    Code,
    /// No control characters.
    Printable,
}

impl Kind {
    /// How many there are of something.
    pub const COUNT: Kind = Kind::Int { min: 0, max: i64::MAX };
    /// Text of any length.
    pub const WORD: Kind = Kind::Text { max: usize::MAX, form: Form::Free };
    /// An amount of money.
    pub const MONEY: Kind = Kind::Decimal { places: 5, shown: 2, min: 0, max: MAX_AMOUNT };

    /// A value as one of this kind: what was read as a plain number or text says what it is.
    pub fn typed(self, value: Value) -> Value {
        match (self, value) {
            (Kind::Decimal { places, .. }, Value::Int(units)) => Value::Decimal { units, places },
            (Kind::DateTime, Value::Text(text)) => match read_moment(&text) {
                Some(moment) => Value::Moment(moment),
                // What no program of this store has written; an engine with types refuses it.
                None => Value::Text(text),
            },
            (Kind::Json, Value::Text(text)) => Value::Json(text),
            (_, value) => value,
        }
    }

    /// Whether the text is sorted and searched by a case-folded copy beside it.
    pub const fn is_folded(self) -> bool {
        match self {
            Kind::Text { form, .. } => matches!(form, Form::Free | Form::Code | Form::Printable),
            _ => matches!(self, Kind::Email),
        }
    }
}

/// A value of some [`Kind`]. Says what an engine with types of its own has to keep apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Unset.
    Null,
    /// An integer, a flag, or a key.
    Int(i64),
    /// An exact decimal: `units` of `10^-places`.
    Decimal {
        /// How many.
        units: i64,
        /// How many fraction digits are kept.
        places: u8,
    },
    /// Text, a word, or the text of a list.
    Text(String),
    /// A moment in UTC, to the second.
    Moment(PrimitiveDateTime),
    /// The text of an object.
    Json(String),
}

impl Value {
    /// An amount of money, in units of 10^-5.
    pub const fn money(units: i64) -> Self {
        Value::Decimal { units, places: 5 }
    }

    /// This moment.
    pub fn now() -> Self {
        Value::Moment(now())
    }

    /// The number, of a decimal its units; 0 where there is none.
    pub fn int(&self) -> i64 {
        match self {
            Value::Int(number) | Value::Decimal { units: number, .. } => *number,
            Value::Null | Value::Text(_) | Value::Moment(_) | Value::Json(_) => 0,
        }
    }

    /// Whether it is text with nothing in it but white space.
    pub fn is_blank(&self) -> bool {
        matches!(self, Value::Text(text) if text.trim().is_empty())
    }

    /// The moment, where it is one.
    pub fn moment(&self) -> Option<PrimitiveDateTime> {
        match self {
            Value::Moment(moment) => Some(*moment),
            _ => None,
        }
    }

    /// The text; empty where there is none.
    pub fn text(&self) -> &str {
        match self {
            Value::Text(text) | Value::Json(text) => text,
            Value::Null | Value::Int(_) | Value::Decimal { .. } | Value::Moment(_) => "",
        }
    }
}

/// As it stands in sentences.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Int(number) => write!(f, "{number}"),
            Value::Decimal { units, places } => f.write_str(&decimal_text(*units, *places, 0)),
            Value::Text(text) | Value::Json(text) => f.write_str(text),
            Value::Moment(moment) => f.write_str(&written(*moment)),
        }
    }
}

/// Reads a member of a body. The error completes a sentence that begins with the field's name.
///
/// # Errors
/// When the literal is no value of the kind, or beyond its limits.
pub fn read(kind: Kind, nullable: bool, literal: &RawValue) -> Result<Value, String> {
    let literal = literal.get();
    if nullable && literal == "null" {
        return Ok(Value::Null);
    }
    let value = match kind {
        Kind::Int { min, max } => int(literal, min, max).map(Value::Int),
        Kind::Key(_) => int(literal, i64::MIN, i64::MAX).map(Value::Int),
        Kind::User => int(literal, 0, i64::MAX).map(Value::Int),
        Kind::Flag => flag(literal).map(Value::Int),
        Kind::Email => {
            let text = unquote(literal).ok_or("must be a string")?;
            check_text(&text, MAX_EMAIL, Form::Code)?;
            match text.is_empty() || email_address::EmailAddress::is_valid(&text) {
                true => Ok(Value::Text(text.into_owned())),
                false => Err("must be an e-mail address".to_owned()),
            }
        }
        Kind::Decimal { places, min, max, .. } => {
            let units = match unquote(literal) {
                Some(text) if is_plain_decimal(&text) => units(&text, places),
                Some(_) => return Err(decimal_form()),
                None if literal.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                    units(literal, places)
                }
                None => return Err(decimal_form()),
            };
            in_limits(units, places, min, max).map(Value::Int)
        }
        Kind::Text { max, form } => {
            let text = unquote(literal).ok_or("must be a string")?;
            check_text(&text, max, form)?;
            Ok(Value::Text(text.into_owned()))
        }
        Kind::Code { max, .. } => {
            let text = unquote(literal).ok_or("must be a string")?;
            check_text(&text, max, Form::Free)?;
            Ok(Value::Text(text.into_owned()))
        }
        Kind::Choice(words) => match unquote(literal) {
            Some(word) if words.contains(&word.as_ref()) => Ok(Value::Text(word.into_owned())),
            _ => Err(format!("must be one of {}", words.join(", "))),
        },
        Kind::DateTime => {
            let text = unquote(literal).ok_or_else(moment_form)?;
            moment(&text).map(Value::Moment).ok_or_else(moment_form)
        }
        Kind::Ids => ids(literal).map(Value::Text),
        Kind::Json => object(literal).map(Value::Text),
    };
    value.map(|value| kind.typed(value))
}

/// Reads the value of a filter, which arrives as plain text. The error completes a sentence that
/// begins with the filter's name.
///
/// # Errors
/// When the text is no value of the kind.
pub fn read_plain(kind: Kind, text: &str) -> Result<Value, String> {
    let value = match kind {
        Kind::Int { .. } | Kind::Key(_) | Kind::User => {
            int(text, i64::MIN, i64::MAX).map(Value::Int)
        }
        Kind::Flag => flag(text).map(Value::Int),
        Kind::Decimal { places, min, max, .. } if is_plain_decimal(text) => {
            in_limits(units(text, places), places, min, max).map(Value::Int)
        }
        Kind::Decimal { .. } => Err(decimal_form()),
        Kind::Choice(words) if !words.contains(&text) => {
            Err(format!("must be one of {}", words.join(", ")))
        }
        Kind::Choice(_) => Ok(Value::Text(text.to_owned())),
        Kind::DateTime => moment(text).map(Value::Moment).ok_or_else(moment_form),
        Kind::Text { .. } | Kind::Code { .. } | Kind::Email | Kind::Ids | Kind::Json => {
            Ok(Value::Text(text.to_owned()))
        }
    };
    value.map(|value| kind.typed(value))
}

/// A value as it was stored, borrowed from the page that it came with. The field says what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Unset.
    Null,
    /// A number; of a decimal, its units.
    Int(i64),
    /// Anything else, as its text.
    Text(Cow<'a, str>),
}

impl Cell<'_> {
    /// The number; 0 where there is none.
    pub fn int(&self) -> i64 {
        match self {
            Cell::Int(number) => *number,
            Cell::Null | Cell::Text(_) => 0,
        }
    }

    /// The text; empty where there is none.
    pub fn text(&self) -> &str {
        match self {
            Cell::Text(text) => text,
            Cell::Null | Cell::Int(_) => "",
        }
    }

    /// The value, no longer borrowed; [`Kind::typed`] says what it is.
    pub fn to_value(&self) -> Value {
        match self {
            Cell::Null => Value::Null,
            Cell::Int(number) => Value::Int(*number),
            Cell::Text(text) => Value::Text(text.as_ref().to_owned()),
        }
    }
}

/// Writes a cell the way its kind is written on the wire.
///
/// # Errors
/// Those of the serialiser.
pub fn write<S: Serializer>(kind: Kind, cell: &Cell<'_>, serializer: S) -> Result<S::Ok, S::Error> {
    match (kind, cell) {
        (Kind::Text { .. } | Kind::Code { .. } | Kind::Email, Cell::Null) => {
            serializer.serialize_str("")
        }
        (_, Cell::Null) => serializer.serialize_none(),
        (Kind::Decimal { places, shown, .. }, Cell::Int(units)) => {
            serializer.serialize_str(&decimal_text(*units, places, shown))
        }
        (_, Cell::Int(number)) => serializer.serialize_i64(*number),
        (Kind::Ids, Cell::Text(text)) => {
            let mut list = serializer.serialize_seq(None)?;
            for id in text.split(',').filter_map(|id| id.parse::<i64>().ok()) {
                list.serialize_element(&id)?;
            }
            list.end()
        }
        (Kind::Json, Cell::Text(text)) => match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) => serde::Serialize::serialize(raw, serializer),
            Err(error) => Err(serde::ser::Error::custom(error)),
        },
        (_, Cell::Text(text)) => serializer.serialize_str(text),
    }
}

/// Text folded so that equal means equal without regard to case (Unicode, full folding).
pub fn fold(text: &str) -> String {
    unicase::UniCase::unicode(text).to_folded_case()
}

/// What a client sent, as it stands in sentences: the beginning of what is long.
pub fn short(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 64;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// A decimal in units of `10^-places` as its shortest exact text of at least `shown` fraction
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

/// Why a literal is no exact count of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexact {
    /// It has more fraction digits than the field keeps.
    TooPrecise,
    /// It is too large to count.
    TooLarge,
}

/// Reads a JSON number's literal text (which may have an exponent) as a count of units of
/// `10^-places`, exactly.
///
/// # Errors
/// When there is no such whole count, or it does not fit.
pub fn units(literal: &str, places: u8) -> Result<i64, Inexact> {
    let (negative, unsigned) = match literal.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, literal),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, saturating_exponent(exponent)),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    let significant = digits.trim_end_matches('0');
    if significant.trim_start_matches('0').is_empty() {
        return Ok(0);
    }
    // How many zeros follow the significant digits once the literal is counted in units.
    let zeros =
        exponent - length(fraction) + length(&digits) - length(significant) + i64::from(places);
    if zeros < 0 {
        return Err(Inexact::TooPrecise);
    }
    let significant = significant.trim_start_matches('0');
    // 18 digits always fit in 64 bits, and no field needs more.
    if length(significant) + zeros > 18 {
        return Err(Inexact::TooLarge);
    }
    let count = significant.bytes().map(|digit| i64::from(digit - b'0'));
    let count = count.chain((0..zeros).map(|_| 0)).fold(0, |sum, digit| sum * 10 + digit);
    Ok(if negative { -count } else { count })
}

fn length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX / 4)
}

/// An exponent beyond all numbers that can be counted stays beyond them.
fn saturating_exponent(text: &str) -> i64 {
    const BEYOND: i64 = i64::MAX / 4;
    let digits = text.trim_start_matches(['+', '-']);
    let size = digits.parse::<i64>().map_or(BEYOND, |size| size.min(BEYOND));
    if text.starts_with('-') { -size } else { size }
}

fn in_limits(units: Result<i64, Inexact>, places: u8, min: i64, max: i64) -> Result<i64, String> {
    match units {
        Ok(units) if units < min => {
            Err(format!("must be at least {}", decimal_text(min, places, 0)))
        }
        Ok(units) if units <= max => Ok(units),
        Err(Inexact::TooPrecise) => {
            Err(format!("must have at most {places} digits after the decimal point"))
        }
        Ok(_) | Err(Inexact::TooLarge) => Err(format!(
            "must be between {} and {}",
            decimal_text(min, places, 0),
            decimal_text(max, places, 0)
        )),
    }
}

/// The longest address that mail can be sent to.
const MAX_EMAIL: usize = 254;

fn decimal_form() -> String {
    "must be a decimal number such as \"19.99\"".to_owned()
}

/// `-?digits[.digits]`
fn is_plain_decimal(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    match unsigned.split_once('.') {
        None => digits(unsigned),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
    }
}

/// The text of a JSON string literal; `None` for any other literal.
fn unquote(literal: &str) -> Option<Cow<'_, str>> {
    if !literal.starts_with('"') {
        return None;
    }
    // A literal without an escape is its own text.
    match literal.get(1..literal.len() - 1) {
        Some(text) if !text.contains('\\') => Some(Cow::Borrowed(text)),
        _ => serde_json::from_str::<String>(literal).ok().map(Cow::Owned),
    }
}

fn int(literal: &str, min: i64, max: i64) -> Result<i64, String> {
    let text = unquote(literal).unwrap_or(Cow::Borrowed(literal));
    let digits = text.strip_prefix('-').unwrap_or(&text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("must be a whole number".to_owned());
    }
    match text.parse::<i64>() {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(format!("must be between {min} and {max}")),
    }
}

fn flag(literal: &str) -> Result<i64, String> {
    match literal {
        "0" | "\"0\"" | "false" => Ok(0),
        "1" | "\"1\"" | "true" => Ok(1),
        _ => Err("must be 0 or 1".to_owned()),
    }
}

fn check_text(text: &str, max: usize, form: Form) -> Result<(), String> {
    if text.contains('\0') {
        return Err("must not contain a NUL character".to_owned());
    }
    // Bytes are counted first because they are never fewer than characters.
    if text.len() > max && text.chars().count() > max {
        return Err(format!("must be at most {max} characters long"));
    }
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match form {
        Form::Capitals
            if text.len() != max || !text.bytes().all(|byte| byte.is_ascii_uppercase()) =>
        {
            Err(format!("must be {max} capital letters A to Z"))
        }
        Form::Name if text.is_empty() || !text.bytes().all(is_name) => {
            Err("must be of small letters a to z, digits and underscores".to_owned())
        }
        Form::Code if text.chars().any(|c| c.is_whitespace() || c.is_control()) => {
            Err("must not contain spaces".to_owned())
        }
        Form::Printable if text.chars().any(char::is_control) => {
            Err("must be of printable characters".to_owned())
        }
        Form::Free | Form::Capitals | Form::Name | Form::Code | Form::Printable => Ok(()),
    }
}

const DATE: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
const MOMENT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
/// The years that every engine keeps and that are written with four digits.
const YEARS: RangeInclusive<i32> = 1..=9999;

fn moment_form() -> String {
    "must be a date YYYY-MM-DD or a date and time YYYY-MM-DDTHH:MM:SS".to_owned()
}

/// Reads a day, `YYYY-MM-DD`.
pub fn day(text: &str) -> Option<Date> {
    let fits = has_shape(text, "0000-00-00");
    let day = fits.then(|| Date::parse(text, DATE).ok()).flatten();
    day.filter(|day| YEARS.contains(&day.year()))
}

/// Reads a date, or a date and time with or without an offset, as a moment in UTC.
pub fn moment(text: &str) -> Option<PrimitiveDateTime> {
    const SHAPE: &str = "0000-00-00T00:00:00";
    if let Some(day) = day(text) {
        return Some(day.midnight());
    }
    let (local, zone) = text.split_at_checked(SHAPE.len())?;
    if !has_shape(local, SHAPE) {
        return None;
    }
    let local = read_moment(local).filter(|local| YEARS.contains(&local.year()))?;
    let utc = match zone {
        "" | "Z" => local,
        _ => local.checked_sub(offset(zone)?)?,
    };
    YEARS.contains(&utc.year()).then_some(utc)
}

/// Reads how far a place is ahead of UTC: `+HH:MM` or `-HH:MM`.
fn offset(text: &str) -> Option<Duration> {
    let (sign, size) = match text.split_at_checked(1)? {
        ("+", size) => (1, size),
        ("-", size) => (-1, size),
        _ => return None,
    };
    if !has_shape(size, "00:00") {
        return None;
    }
    let (hours, minutes) = size.split_once(':')?;
    let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
    (hours < 24 && minutes < 60).then(|| Duration::minutes(sign * (60 * hours + minutes)))
}

/// Whether a text is of this shape, where 0 stands for any digit. The parsers of dates are asked only
/// then, because they take signs, too.
fn has_shape(text: &str, shape: &str) -> bool {
    let fits = |(byte, shape): (u8, u8)| match shape {
        b'0' => byte.is_ascii_digit(),
        _ => byte == shape,
    };
    text.len() == shape.len() && text.bytes().zip(shape.bytes()).all(fits)
}

/// The moment of a text in the form of the wire.
pub fn read_moment(text: &str) -> Option<PrimitiveDateTime> {
    PrimitiveDateTime::parse(text, MOMENT).ok()
}

/// This moment, to the second.
pub fn now() -> PrimitiveDateTime {
    let now = time::UtcDateTime::now();
    let time = now.time().replace_nanosecond(0).unwrap_or(now.time());
    PrimitiveDateTime::new(now.date(), time)
}

/// The first moment of a day, and the last one that is told from others.
pub fn bounds(day: Date) -> [PrimitiveDateTime; 2] {
    [day.midnight(), day.with_time(time!(23:59:59))]
}

/// A moment in the form of the wire.
pub fn written(moment: PrimitiveDateTime) -> String {
    // Only a writer that fails could make this fail, and memory does not.
    moment.format(MOMENT).unwrap_or_default()
}

/// Reads a list of keys, or a string of keys separated by commas, and keeps it as the latter.
fn ids(literal: &str) -> Result<String, String> {
    let complaint = || "must be a list of whole numbers greater than 0".to_owned();
    let list: Vec<Cow<'_, str>> = match unquote(literal) {
        Some(text) if text.trim().is_empty() => Vec::new(),
        Some(text) => text.split(',').map(|id| Cow::Owned(id.trim().to_owned())).collect(),
        None => serde_json::from_str::<Vec<&RawValue>>(literal)
            .map_err(|_| complaint())?
            .into_iter()
            .map(|id| Cow::Borrowed(id.get()))
            .collect(),
    };
    let mut seen = HashSet::new();
    let mut text = String::new();
    for id in list {
        let id = int(&id, 1, i64::MAX).map_err(|_| complaint())?;
        if seen.insert(id) {
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&id.to_string());
        }
    }
    Ok(text)
}

/// Deeper nesting serves nobody and overruns the stacks of clients.
const MAX_DEPTH: usize = 64;

/// Reads a JSON object and keeps it as it was sent, but for the white space around its members.
fn object(literal: &str) -> Result<String, String> {
    if !literal.starts_with('{') {
        return Err("must be a JSON object".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_str(literal);
    Strict { depth: MAX_DEPTH }.deserialize(&mut reader).map_err(|error| {
        let message = error.to_string();
        match (error.classify(), message.rsplit_once(" at line ")) {
            (serde_json::error::Category::Data, Some((complaint, _))) => complaint.to_owned(),
            // It has been read once already, but not its numbers and escapes.
            _ => "must not contain a number beyond all doubles, or half of a surrogate pair".into(),
        }
    })?;
    let mut text = String::with_capacity(literal.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in literal.chars() {
        if in_string {
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
        } else if matches!(character, ' ' | '\t' | '\n' | '\r') {
            continue;
        } else {
            in_string = character == '"';
        }
        text.push(character);
    }
    Ok(text)
}

/// JSON that all readers take, and take for the same: it goes back to clients as it came. Numbers and
/// escapes are tried by being read.
#[derive(Clone, Copy)]
struct Strict {
    /// How many levels may follow.
    depth: usize,
}

impl Strict {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1);
        depth.map(|depth| Strict { depth }).ok_or_else(|| {
            E::custom(format_args!("must not be nested deeper than {MAX_DEPTH} levels"))
        })
    }
}

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        match text.contains('\0') {
            true => Err(E::custom("must not contain a NUL character")),
            false => Ok(()),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        while list.next_element_seed(inner)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inner = self.inner()?;
        let mut names = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            self.visit_str(&name)?;
            if names.contains(&name) {
                let name = short(&name);
                return Err(A::Error::custom(format_args!("must not give {name:?} twice")));
            }
            names.insert(name);
            map.next_value_seed(inner)?;
        }
        Ok(())
    }
}
