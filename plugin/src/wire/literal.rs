//! Literals: how values of each kind are read from a client's literal text, and how they are
//! written back. Independent of records.
//!
//! Decimals are read digit by digit, so that no value passes through binary floating point, and
//! none is rounded.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Error as _, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value as Json};
use url::Url;

use crate::model::moment;
use crate::model::value::{Cell, Form, Kind, Value, decimal_text, is_noncharacter, short};

/// Reads a member of a body. An error completes a sentence that begins with the field's name.
///
/// # Errors
/// When the literal is not a value of the kind, or is outside its limits.
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
            if text.is_empty() || email_address::EmailAddress::is_valid(&text) {
                Ok(Value::Text(text.into_owned()))
            } else {
                Err("must be an e-mail address".to_owned())
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
            let mut text = unquote(literal).ok_or("must be a string")?;
            if form.is_trimmed() {
                // A schema can only limit what is sent, unless it has a pattern for the rest.
                if form != Form::Capitals {
                    check_length(&text, max)?;
                }
                text = trimmed(text);
            }
            check_text(&text, max, form)?;
            Ok(Value::Text(text.into_owned()))
        }
        Kind::Code { max, .. } => {
            let text = trimmed(unquote(literal).ok_or("must be a string")?);
            check_text(&text, max, Form::Identifier)?;
            Ok(Value::Text(text.into_owned()))
        }
        Kind::Choice(words) => match unquote(literal) {
            Some(word) if words.contains(&word.as_ref()) => Ok(Value::Text(word.into_owned())),
            _ => Err(format!("must be one of {}", words.join(", "))),
        },
        Kind::DateTime => {
            let text = unquote(literal).ok_or_else(moment_form)?;
            moment::read(&text).map(Value::Moment).ok_or_else(moment_form)
        }
        Kind::Ids => ids(literal).map(Value::Text),
        Kind::Words(known) => words(literal, known).map(Value::Text),
        Kind::Json | Kind::JsonObject(_) | Kind::JsonByKey(_) => object(literal).map(Value::Text),
        Kind::JsonList(_) => match serde_json::from_str::<Vec<&RawValue>>(literal) {
            Ok(_) => Ok(Value::Text(literal.to_owned())),
            Err(_) => Err("must be a list".to_owned()),
        },
    };
    value.map(|value| kind.typed(value))
}

/// Reads the value of a filter, which arrives as plain text. An error completes a sentence that
/// begins with the filter's name.
///
/// # Errors
/// When the text is not a value of the kind.
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
        Kind::DateTime => moment::read(text).map(Value::Moment).ok_or_else(moment_form),
        Kind::Text { .. }
        | Kind::Code { .. }
        | Kind::Email
        | Kind::Ids
        | Kind::Words(_)
        | Kind::Json
        | Kind::JsonList(_)
        | Kind::JsonObject(_)
        | Kind::JsonByKey(_) => Ok(Value::Text(text.to_owned())),
    };
    value.map(|value| kind.typed(value))
}

/// Writes a cell in the form of its kind.
///
/// # Errors
/// Errors of the serialiser.
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
        (Kind::Words(_), Cell::Text(text)) => {
            serializer.collect_seq(text.split(',').filter(|word| !word.is_empty()))
        }
        (Kind::JsonList(members), Cell::Text(text)) if has_decimals(members) => {
            let list: Vec<Map<String, Json>> =
                serde_json::from_str(text).map_err(S::Error::custom)?;
            serializer.collect_seq(list.iter().map(|item| Item { members, item }))
        }
        (kind, Cell::Text(text)) if kind.is_json() => {
            let raw: &RawValue = serde_json::from_str(text).map_err(S::Error::custom)?;
            raw.serialize(serializer)
        }
        (_, Cell::Text(text)) => serializer.serialize_str(text),
    }
}

fn has_decimals(members: &[(&str, Kind)]) -> bool {
    members.iter().any(|(_, kind)| matches!(kind, Kind::Decimal { .. }))
}

/// An object in a list that the store has written, in which decimals are in units. Members that are not named are
/// for the store alone.
struct Item<'a> {
    members: &'static [(&'static str, Kind)],
    item: &'a Map<String, Json>,
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.members.len()))?;
        for (name, kind) in self.members {
            match (kind, self.item.get(*name)) {
                (Kind::Decimal { places, shown, .. }, Some(Json::Number(units))) => {
                    let units = units.as_i64().ok_or_else(|| S::Error::custom("no units"))?;
                    map.serialize_entry(name, &decimal_text(units, *places, *shown))?;
                }
                (_, value) => map.serialize_entry(name, &value)?,
            }
        }
        map.end()
    }
}

/// The reason why a literal cannot be converted exactly into units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inexact {
    /// It has more fraction digits than the field keeps.
    TooPrecise,
    /// It is too large.
    TooLarge,
}

/// Converts the literal text of a JSON number, which may have an exponent, exactly into units of
/// `10^-places`.
///
/// # Errors
/// When the number of units would not be whole, or is too large.
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
    // The number of zeros after the significant digits when the literal is expressed in units.
    let zeros =
        exponent - length(fraction) + length(&digits) - length(significant) + i64::from(places);
    if zeros < 0 {
        return Err(Inexact::TooPrecise);
    }
    let significant = significant.trim_start_matches('0');
    // 18 digits always fit into 64 bits, and no field needs more.
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

/// An exponent that is out of range stays out of range.
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

/// The greatest length of an e-mail address.
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
    // A literal without escapes is its own text.
    match literal.get(1..literal.len() - 1) {
        Some(text) if !text.contains('\\') => Some(Cow::Borrowed(text)),
        _ => serde_json::from_str::<String>(literal).ok().map(Cow::Owned),
    }
}

/// A text without white space at its ends.
fn trimmed(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) if text.trim().len() == text.len() => Cow::Owned(text),
        Cow::Owned(text) => Cow::Owned(text.trim().to_owned()),
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

/// The complaint about a text with characters that not every engine can keep or find.
fn unstorable(text: &str) -> Option<&'static str> {
    if text.contains('\0') {
        return Some("must not contain a NUL character");
    }
    let found = !text.is_ascii() && text.chars().any(is_noncharacter);
    found.then_some("must not contain a noncharacter of Unicode, such as U+FFFE")
}

fn check_length(text: &str, max: usize) -> Result<(), String> {
    // A text never has more characters than bytes, so bytes are counted first.
    if text.len() > max && text.chars().count() > max {
        Err(format!("must be at most {max} characters long"))
    } else {
        Ok(())
    }
}

fn check_text(text: &str, max: usize, form: Form) -> Result<(), String> {
    if let Some(complaint) = unstorable(text) {
        return Err(complaint.to_owned());
    }
    check_length(text, max)?;
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match form {
        Form::Capitals
            if text.len() != max || !text.bytes().all(|byte| byte.is_ascii_uppercase()) =>
        {
            Err(format!("must be {max} capital letters A to Z"))
        }
        Form::Name if text.is_empty() || !text.bytes().all(is_name) => {
            Err("may contain only small letters a to z, digits and underscores".to_owned())
        }
        Form::Code if text.chars().any(|c| c.is_whitespace() || c.is_control()) => {
            Err("must not contain spaces".to_owned())
        }
        Form::Printable if text.chars().any(char::is_control) => {
            Err("must contain only printable characters".to_owned())
        }
        Form::WebAddress if !text.is_empty() && !is_web_address(text) => {
            Err("must be a URL that begins with http:// or https://".to_owned())
        }
        _ => Ok(()),
    }
}

/// Whether a text is an absolute URL that a mail may contain as a link. The parser passes over white
/// space, which would end the link.
fn is_web_address(text: &str) -> bool {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    let url = Url::parse(text).ok().filter(|_| !text.contains(blank));
    url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn moment_form() -> String {
    "must be a date YYYY-MM-DD or a date and time YYYY-MM-DDTHH:MM:SS".to_owned()
}

/// Reads a list of keys, or a string of keys separated by commas, and returns it as the latter.
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

/// How many words a list of any words has at most.
pub const MAX_WORDS: usize = 64;
/// How long each of them may be.
pub const MAX_WORD: usize = 32;

/// Reads a list of words, and returns it with commas between them. The order of known words is theirs.
fn words(literal: &str, known: &[&str]) -> Result<String, String> {
    let complaint = || match known {
        [] => format!("must be a list of at most {MAX_WORDS} names in small letters"),
        known => format!("must be a list of some of {}", known.join(", ")),
    };
    let list = serde_json::from_str::<Vec<Cow<'_, str>>>(literal).map_err(|_| complaint())?;
    let is_name = |word: &str| {
        let letters = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        letters && (1..=MAX_WORD).contains(&word.len())
    };
    if list.len() > MAX_WORDS || list.iter().any(|word| !is_name(word)) {
        return Err(complaint());
    }
    let mut sent = list.iter().map(|word| &**word);
    let chosen: Vec<&str> = if known.is_empty() {
        let mut seen = HashSet::new();
        sent.filter(|word| seen.insert(*word)).collect()
    } else if sent.all(|word| known.contains(&word)) {
        known.iter().copied().filter(|word| list.iter().any(|sent| sent == word)).collect()
    } else {
        return Err(complaint());
    };
    Ok(chosen.join(","))
}

/// Deeper nesting has no use and overflows the stacks of clients.
const MAX_DEPTH: usize = 64;

/// The greatest length of a JSON object in bytes, without the white space around its members.
pub const MAX_OBJECT: usize = 64 * 1024;

/// Reads a JSON object and stores it as it was sent, apart from the white space around its members.
fn object(literal: &str) -> Result<String, String> {
    if !literal.starts_with('{') {
        return Err("must be a JSON object".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_str(literal);
    Strict { depth: MAX_DEPTH }.deserialize(&mut reader).map_err(|error| {
        let message = error.to_string();
        match (error.classify(), message.rsplit_once(" at line ")) {
            (serde_json::error::Category::Data, Some((complaint, _))) => complaint.to_owned(),
            // The text has been parsed before, but without interpreting its numbers and escapes.
            _ => "must not contain a number outside the range of a double, or an unpaired \
                  surrogate"
                .into(),
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
    if text.len() > MAX_OBJECT {
        Err(format!("must be at most {MAX_OBJECT} bytes long"))
    } else {
        Ok(text)
    }
}

/// JSON that all readers accept and interpret in the same way, because clients get it back
/// verbatim. Numbers and escapes are checked by parsing them.
#[derive(Clone, Copy)]
struct Strict {
    /// How many more levels are allowed.
    depth: usize,
}

impl Strict {
    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        let depth = self.depth.checked_sub(1);
        depth.map(|depth| Strict { depth }).ok_or_else(|| {
            E::custom(format_args!("must not be nested more than {MAX_DEPTH} levels deep"))
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
        unstorable(text).map_or(Ok(()), |complaint| Err(E::custom(complaint)))
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
                return Err(A::Error::custom(format_args!(
                    "must not contain the member {name:?} twice"
                )));
            }
            names.insert(name);
            map.next_value_seed(inner)?;
        }
        Ok(())
    }
}
