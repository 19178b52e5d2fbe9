//! Values as people read them: numbers with separators, moments and days in words, names of records in place of keys.
//! What is left out of the text is in `exact`.

use std::collections::HashMap;

use host_interface::with_separators;
use serde_json::Value;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{Date, OffsetDateTime, PrimitiveDateTime, UtcOffset};

use crate::admin::openapi::{self, indented, members};

use super::model::{Attribute, Kind, Shape};
use super::record::{Identity, Record};

/// A value on a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) text: String,
    /// The exact value, where the text is not; empty otherwise.
    pub(crate) exact: String,
    pub(crate) look: Look,
    /// The record that it names.
    pub(crate) names: Option<Identity>,
    /// Whether the text is the beginning of a longer one.
    pub(crate) cut: bool,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Look {
    #[default]
    Text,
    Number,
    /// The exact value is a moment or a day that programs can read.
    Time,
    Yes,
    No,
    /// The text is the address of a picture that the browser may load.
    Picture,
    Data,
}

/// The names of records, by their types and keys.
#[derive(Debug, Default)]
pub(crate) struct Names(HashMap<Identity, String>);

impl Names {
    /// Adds records whose types `kind` finds.
    pub(crate) fn add<'k>(&mut self, records: &[Record], kind: impl Fn(&str) -> Option<&'k Kind>) {
        for record in records {
            let Some(kind) = kind(&record.kind) else { continue };
            self.0.insert(record.identity(), label(record, kind));
        }
    }

    pub(crate) fn of(&self, record: &Identity) -> Option<&str> {
        self.0.get(record).map(String::as_str)
    }
}

impl Shown {
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// A value of an attribute; `longest` is the maximum number of characters of a text.
pub(crate) fn shown(attribute: &Attribute, value: &Value, names: &Names, longest: usize) -> Shown {
    let Some(kind) = &attribute.reference else {
        return of_attribute(attribute, value, longest);
    };
    let id = openapi::plain(value);
    // No record has the key 0 in stores that use it for none.
    if id.is_empty() || id == "0" {
        return Shown::default();
    }
    related(&Identity { kind: kind.clone(), id }, names, longest)
}

/// An attribute of a record. A related record that is not an attribute has the name of its relationship.
pub(crate) fn of_record(
    record: &Record,
    attribute: &Attribute,
    names: &Names,
    longest: usize,
) -> Shown {
    let value = record.attributes.get(&attribute.name);
    value.map_or_else(Shown::default, |value| shown(attribute, value, names, longest))
}

/// A value of which no more is known.
pub(crate) fn plain(value: &Value, longest: usize) -> Shown {
    let shape = match value {
        Value::Number(_) => Shape::Whole,
        Value::Bool(_) => Shape::Flag,
        _ => Shape::Raw,
    };
    of_shape(&shape, value, longest)
}

/// The name of a record, as people read it; its key if its attributes have no name.
pub(crate) fn label(record: &Record, kind: &Kind) -> String {
    let parts = kind.label.iter().filter_map(|name| {
        let attribute = kind.attribute(name)?;
        let shown = of_attribute(attribute, record.attributes.get(name)?, LABEL);
        (!shown.text.trim().is_empty()).then_some(shown.text)
    });
    let parts: Vec<String> = parts.collect();
    if parts.is_empty() { record.id.clone() } else { parts.join(" ") }
}

/// The maximum number of characters of a part of a name.
const LABEL: usize = 120;

/// A related record: its name, or else its key.
pub(crate) fn related(record: &Identity, names: &Names, longest: usize) -> Shown {
    let name = names.of(record).unwrap_or(&record.id);
    let exact = if name == record.id { String::new() } else { record.id.clone() };
    Shown { exact, names: Some(record.clone()), ..cut(name, longest) }
}

fn of_attribute(attribute: &Attribute, value: &Value, longest: usize) -> Shown {
    // People look for it with its digits, and no search finds separators.
    if attribute.identifies() && value.is_i64() {
        return Shown { look: Look::Number, ..cut(&openapi::plain(value), longest) };
    }
    of_shape(&attribute.shape, value, longest)
}

fn of_shape(shape: &Shape, value: &Value, longest: usize) -> Shown {
    let plain = openapi::plain(value);
    if value.is_null() || plain.is_empty() {
        return Shown::default();
    }
    match shape {
        Shape::Whole | Shape::Decimal => number(plain, longest),
        Shape::Flag => flag(plain),
        Shape::Date => {
            read_day(&plain).map_or_else(|| cut(&plain, longest), |day| at(&day, &plain))
        }
        Shape::Moment => read_moment(&plain)
            .map_or_else(|| cut(&plain, longest), |(text, exact)| at(&text, &exact)),
        Shape::Picture => picture(&plain, longest),
        Shape::List(of) => list(of, value, longest),
        Shape::Parts(_) => Shown {
            text: value.as_array().map_or(0, Vec::len).to_string(),
            look: Look::Number,
            ..Shown::default()
        },
        Shape::Object(_) | Shape::Raw => match value {
            Value::Array(_) | Value::Object(_) => data(value, longest),
            _ => cut(&plain, longest),
        },
        Shape::Text | Shape::LongText | Shape::Choice(_) => cut(&plain, longest),
    }
}

fn number(plain: String, longest: usize) -> Shown {
    let written = with_separators(&plain);
    let exact = if written == plain { String::new() } else { bounded(&plain, longest).0 };
    Shown { exact, look: Look::Number, ..cut(&written, longest) }
}

fn flag(plain: String) -> Shown {
    let (text, look) = match plain.as_str() {
        "1" | "true" => ("Yes".to_owned(), Look::Yes),
        "0" | "false" => ("No".to_owned(), Look::No),
        _ => (plain, Look::Text),
    };
    Shown { text, look, ..Shown::default() }
}

fn at(text: &str, exact: &str) -> Shown {
    let (text, exact) = (text.to_owned(), exact.to_owned());
    Shown { text, exact, look: Look::Time, ..Shown::default() }
}

/// A picture that the browser may load: one of this site. The address of any other is a text.
fn picture(plain: &str, longest: usize) -> Shown {
    let is_address = plain.contains(':') || plain.starts_with("//") || plain.contains('\\');
    if is_address || plain.len() > 1024 {
        return cut(plain, longest);
    }
    let path = format!("/{}", plain.trim_start_matches('/'));
    Shown { text: path, look: Look::Picture, ..Shown::default() }
}

fn list(of: &Shape, value: &Value, longest: usize) -> Shown {
    let mut written = String::new();
    for item in members(value) {
        if written.len() > longest {
            break;
        }
        let separator = if written.is_empty() { "" } else { ", " };
        written = format!("{written}{separator}{}", of_shape(of, item, longest).text);
    }
    cut(&written, longest)
}

fn data(value: &Value, longest: usize) -> Shown {
    let written = if longest > LABEL { indented(value) } else { value.to_string() };
    Shown { look: Look::Data, ..cut(&written, longest) }
}

fn cut(plain: &str, longest: usize) -> Shown {
    let (text, is_cut) = bounded(plain, longest);
    Shown { text, cut: is_cut, ..Shown::default() }
}

/// The beginning of a text, and whether there is more.
fn bounded(plain: &str, longest: usize) -> (String, bool) {
    match plain.char_indices().nth(longest) {
        Some((end, _)) => (format!("{}…", plain.get(..end).unwrap_or_default()), true),
        None => (plain.to_owned(), false),
    }
}

/// A day in words.
fn read_day(plain: &str) -> Option<String> {
    let day = Date::parse(plain, format_description!("[year]-[month]-[day]")).ok()?;
    day.format(format_description!("[day padding:none] [month repr:short] [year]")).ok()
}

/// A moment in words, and as programs read it. One without an offset is in UTC.
fn read_moment(plain: &str) -> Option<(String, String)> {
    let plainly = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
    let words =
        format_description!("[day padding:none] [month repr:short] [year], [hour]:[minute] UTC");
    let moment = match OffsetDateTime::parse(plain, &Rfc3339) {
        Ok(moment) => {
            let moment = moment.checked_to_offset(UtcOffset::UTC)?;
            PrimitiveDateTime::new(moment.date(), moment.time())
        }
        Err(_) => PrimitiveDateTime::parse(plain, plainly).ok()?,
    };
    Some((moment.format(words).ok()?, format!("{}Z", moment.format(plainly).ok()?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::admin::records::reading::kind_of_list;

    #[test]
    fn a_record_is_called_by_the_parts_of_its_name_or_by_its_key() {
        let whole = json!({"type": "integer"});
        let properties =
            json!({"id": whole, "name": {"type": "string"}, "size": whole, "part_number": whole});
        let item =
            json!({"x-label": ["name", "of", "size", "part_number"], "properties": properties});
        let kind = kind_of_list(&[], json!({"type": "array", "items": item}));
        let lamp = json!({"id": 7, "name": "Lamp", "size": 1200, "part_number": 4711});
        let records = json!([lamp, {"id": 8, "name": " "}]);
        let listed = crate::admin::records::record::Listed::read(&kind, &records);
        let labels: Vec<String> = listed.records.iter().map(|of| label(of, &kind)).collect();
        assert_eq!(labels, ["Lamp 1,200 4711", "8"]);
        let mut names = Names::default();
        names.add(&listed.records, |_| Some(&kind));
        assert_eq!(names.of(&listed.records[1].identity()), Some("8"));
    }

    fn see(shape: Shape, value: Value) -> (String, String) {
        let shown = of_shape(&shape, &value, 20);
        (shown.text, shown.exact)
    }

    #[test]
    fn values_are_shown_as_people_read_them() {
        for (shape, value, text, exact) in [
            (Shape::Decimal, json!("1234567.50000"), "1,234,567.50000", "1234567.50000"),
            (Shape::Decimal, json!("1.50"), "1.50", ""),
            (Shape::Whole, json!(-1234), "-1,234", "-1234"),
            (Shape::Date, json!("2026-01-31"), "31 Jan 2026", "2026-01-31"),
            (Shape::Date, json!("2026-13-31"), "2026-13-31", ""),
            (
                Shape::Moment,
                json!("2026-01-31T12:00:00"),
                "31 Jan 2026, 12:00 UTC",
                "2026-01-31T12:00:00Z",
            ),
            (
                Shape::Moment,
                json!("2026-02-01T00:30:00+02:00"),
                "31 Jan 2026, 22:30 UTC",
                "2026-01-31T22:30:00Z",
            ),
            (Shape::Moment, json!("soon"), "soon", ""),
            (Shape::Flag, json!(0), "No", ""),
            (Shape::Flag, json!(true), "Yes", ""),
            (Shape::List(Box::new(Shape::Text)), json!(["a", "b"]), "a, b", ""),
            (Shape::Parts(Vec::new()), json!([{}, {}]), "2", ""),
            (Shape::Raw, json!({"a": [1]}), "{\"a\":[1]}", ""),
            (Shape::Text, json!("x".repeat(21)), "xxxxxxxxxxxxxxxxxxxx…", ""),
            (Shape::Text, Value::Null, "", ""),
            (Shape::Whole, json!({"a": 1}), "{\"a\":1}", ""),
        ] {
            assert_eq!(see(shape, value.clone()), (text.to_owned(), exact.to_owned()), "{value}");
        }
    }

    #[test]
    fn only_pictures_of_this_site_are_loaded() {
        for (value, path) in [
            ("images/lamp.jpg", Some("/images/lamp.jpg")),
            ("/images/lamp.jpg", Some("/images/lamp.jpg")),
            ("https://elsewhere.example/x.png", None),
            ("//elsewhere.example/x.png", None),
            ("/\\elsewhere.example/x.png", None),
            ("javascript:alert(1)", None),
        ] {
            let shown = of_shape(&Shape::Picture, &json!(value), 100);
            let loaded = (shown.look == Look::Picture).then_some(shown.text.as_str());
            assert_eq!(loaded, path, "{value}");
        }
    }
}
