//! The values of a form as texts, each by its JSON pointer, which is also the name of its field: those of a record for
//! a new form, and those that were entered. Both have the same form, so that they can be compared.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::admin::form::{Form, fingerprint};
use crate::admin::openapi::indented;

use super::model::{Attribute, Shape};

/// The field with the pointers of the lists that a form shows: a list without rows has no other field.
pub(crate) const LISTS: &str = "list";

/// Texts by JSON pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entered {
    texts: BTreeMap<String, String>,
    lists: Vec<String>,
}

impl Entered {
    /// The values of a record.
    pub(crate) fn of_record(attributes: &[Attribute], values: &Map<String, Value>) -> Self {
        let mut entered = Self::default();
        for attribute in attributes {
            let value = values.get(&attribute.name).unwrap_or(&Value::Null);
            entered.read(attribute, &below("", &attribute.name), value);
        }
        entered
    }

    /// The defaults of the members of a body.
    pub(crate) fn of_defaults(attributes: &[Attribute]) -> Self {
        let mut entered = Self::default();
        for attribute in attributes.iter().filter(|of| !is_composed(&of.shape)) {
            let default = attribute.default.clone().unwrap_or_default();
            entered.set(below("", &attribute.name), normal(attribute, &default));
        }
        entered
    }

    /// What was entered. Rows of a list that are empty are left out.
    pub(crate) fn of_form(attributes: &[Attribute], form: &Form) -> Self {
        let mut entered = Self::default();
        let given: BTreeMap<&str, &str> =
            form.fields().filter(|of| of.0.starts_with('/')).collect();
        for attribute in attributes {
            let pointer = below("", &attribute.name);
            match (&attribute.shape, given.get(pointer.as_str())) {
                (_, Some(text)) => entered.set(pointer, normal(attribute, text)),
                (Shape::Object(members), None) => entered.take(members, &pointer, &given, &pointer),
                (Shape::Parts(members), None) => {
                    entered.take_rows(members, &pointer, &given);
                    if form.all(LISTS).any(|of| of == pointer) {
                        entered.lists.push(pointer);
                    }
                }
                _ => {}
            }
        }
        entered
    }

    /// The text of a field, if the form has the field.
    pub(crate) fn get(&self, pointer: &str) -> Option<&str> {
        self.texts.get(pointer).map(String::as_str)
    }

    pub(crate) fn set(&mut self, pointer: String, text: String) {
        self.texts.insert(pointer, text);
    }

    /// Every simple field that the form has, with its attribute and its text.
    pub(crate) fn fields<'s, 'a>(
        &'s self,
        attributes: &'a [Attribute],
    ) -> Vec<(String, &'a Attribute, &'s str)> {
        let mut places = Vec::new();
        for attribute in attributes {
            let pointer = below("", &attribute.name);
            match &attribute.shape {
                Shape::Object(members) => {
                    places.extend(members.iter().map(|of| (below(&pointer, &of.name), of)));
                }
                Shape::Parts(members) => {
                    for row in (0..self.rows(&pointer)).map(|nth| below(&pointer, &nth.to_string()))
                    {
                        places.extend(members.iter().map(|of| (below(&row, &of.name), of)));
                    }
                }
                _ => places.push((pointer, attribute)),
            }
        }
        let with_text = |(pointer, of): (String, &'a Attribute)| {
            let text = self.get(&pointer)?;
            Some((pointer, of, text))
        };
        places.into_iter().filter_map(with_text).collect()
    }

    /// The number of rows of a list.
    pub(crate) fn rows(&self, pointer: &str) -> usize {
        let row = |at: &String| at.strip_prefix(pointer)?.split('/').nth(1)?.parse::<usize>().ok();
        self.texts.keys().filter_map(row).max().map_or(0, |last| last + 1)
    }

    /// The texts at a pointer and below it.
    pub(crate) fn at(&self, pointer: &str) -> Vec<(String, String)> {
        let within = self.texts.iter().filter(|(at, _)| is_within(at, pointer));
        within.map(|(at, text)| (at.clone(), text.clone())).collect()
    }

    /// Whether the form has the attribute.
    pub(crate) fn has(&self, attribute: &Attribute) -> bool {
        let pointer = below("", &attribute.name);
        self.lists.contains(&pointer) || self.texts.keys().any(|at| is_within(at, &pointer))
    }

    /// A hash of the value of each attribute, to see later which have changed.
    pub(crate) fn hashes(&self, attributes: &[Attribute]) -> Vec<String> {
        let hash = |attribute: &Attribute| {
            let texts = self.at(&below("", &attribute.name)).into_iter();
            let texts = texts.filter(|(_, text)| !text.is_empty());
            fingerprint(texts.map(|(at, text)| format!("{at}={text}")))
        };
        attributes.iter().map(hash).collect()
    }

    fn read(&mut self, attribute: &Attribute, pointer: &str, value: &Value) {
        match (&attribute.shape, value) {
            (Shape::Object(members), Value::Object(values)) => {
                for member in members {
                    let value = values.get(&member.name).unwrap_or(&Value::Null);
                    self.read_simple(member, below(pointer, &member.name), value);
                }
            }
            (Shape::Parts(members), Value::Array(rows)) if rows.iter().all(Value::is_object) => {
                self.lists.push(pointer.to_owned());
                for (nth, row) in rows.iter().enumerate() {
                    let row_at = below(pointer, &nth.to_string());
                    for member in members {
                        self.read_simple(member, below(&row_at, &member.name), &row[&member.name]);
                    }
                }
            }
            (Shape::Object(_) | Shape::Parts(_), Value::Null) => {}
            _ => self.read_simple(attribute, pointer.to_owned(), value),
        }
    }

    fn read_simple(&mut self, attribute: &Attribute, pointer: String, value: &Value) {
        self.set(pointer, normal(attribute, &text_of(&attribute.shape, value)));
    }

    /// Takes the fields of an object from one place to another.
    fn take(&mut self, members: &[Attribute], from: &str, given: &BTreeMap<&str, &str>, to: &str) {
        for member in members {
            if let Some(text) = given.get(below(from, &member.name).as_str()) {
                self.set(below(to, &member.name), normal(member, text));
            }
        }
    }

    fn take_rows(&mut self, members: &[Attribute], pointer: &str, given: &BTreeMap<&str, &str>) {
        let inside =
            given.iter().filter(|(at, text)| is_within(at, pointer) && !text.trim().is_empty());
        let number = |at: &&str| at.strip_prefix(pointer)?.split('/').nth(1)?.parse::<usize>().ok();
        let mut numbers: Vec<usize> = inside.filter_map(|(at, _)| number(at)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        for (nth, number) in numbers.into_iter().enumerate() {
            let [from, to] = [number, nth].map(|of| below(pointer, &of.to_string()));
            self.take(members, &from, given, &to);
        }
    }
}

/// Whether the values of a shape have members with fields of their own.
pub(crate) fn is_composed(shape: &Shape) -> bool {
    matches!(shape, Shape::Object(_) | Shape::Parts(_))
}

/// The pointer of a member.
pub(crate) fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Whether a pointer leads to the same place as another one, or below it.
pub(crate) fn is_within(pointer: &str, other: &str) -> bool {
    pointer.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A value as it is entered.
fn text_of(shape: &Shape, value: &Value) -> String {
    match (shape, value) {
        (_, Value::Null) => String::new(),
        (Shape::Raw, value) => indented(value),
        (Shape::Flag, Value::Bool(yes)) => u8::from(*yes).to_string(),
        (_, Value::String(text)) => text.clone(),
        (Shape::List(of), Value::Array(members)) if members.iter().all(is_simple) => {
            members.iter().map(|member| text_of(of, member)).collect::<Vec<_>>().join("\n")
        }
        (_, value) if is_simple(value) => value.to_string(),
        (_, value) => indented(value),
    }
}

fn is_simple(value: &Value) -> bool {
    !value.is_array() && !value.is_object()
}

/// A text in the one form that browsers leave as it is: they send line breaks as two characters, leave out seconds
/// that are 0, and have no time zone. What names a record is reduced to its key.
fn normal(attribute: &Attribute, text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    match attribute.shape {
        Shape::Moment => {
            let local = text.trim().trim_end_matches('Z');
            match local.len() {
                16 => format!("{local}:00"),
                _ => local.to_owned(),
            }
        }
        Shape::List(_) | Shape::Raw => text.trim_end().to_owned(),
        _ if attribute.reference.is_some() => match text.trim().rsplit_once('#') {
            Some((_, key)) if !key.is_empty() && key.bytes().all(|of| of.is_ascii_digit()) => {
                key.to_owned()
            }
            _ => text.trim().to_owned(),
        },
        Shape::Whole | Shape::Decimal | Shape::Date => text.trim().to_owned(),
        _ => text,
    }
}
