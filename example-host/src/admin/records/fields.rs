//! The fields of a form for attributes, by their shapes. Lists of objects and objects are groups of fields; what is
//! deeper than that is entered as JSON.

use askama::Template;
use askama::filters::HtmlSafe;

use crate::admin::view::{Field, YES_OR_NO};

use super::entered::{Entered, below, is_composed};
use super::faults::Faults;
use super::model::{Attribute, Shape};
use super::references::{Known, References};

/// The maximum size of the fields of a form, in bytes of HTML. Attributes beyond that are left out, and keep their
/// values.
const SIZE: usize = 44 * 1024;

/// The number of characters above which an example is not shown.
const EXAMPLE: usize = 80;

/// A part of a form.
pub(crate) enum Part {
    Field(Box<Field>),
    Group(Group),
}

/// The fields of an object, or of each object of a list.
#[derive(Template)]
#[template(path = "admin/records/group.html")]
pub(crate) struct Group {
    name: String,
    legend: String,
    hint: String,
    fault: String,
    rows: Vec<Vec<Field>>,
    is_list: bool,
}

impl HtmlSafe for Group {}

impl Group {
    /// The ids of the elements that describe it.
    fn described_by(&self) -> String {
        let parts = [("fault", &self.fault), ("hint", &self.hint)];
        let ids = parts.iter().filter(|(_, text)| !text.is_empty());
        ids.map(|(end, _)| format!("{}-{end}", self.name)).collect::<Vec<_>>().join(" ")
    }
}

impl Part {
    /// Whether rows can be added to it.
    pub(crate) fn grows(&self) -> bool {
        matches!(self, Part::Group(group) if group.is_list)
    }

    fn size(&self) -> usize {
        let html = match self {
            Part::Field(field) => field.render(),
            Part::Group(group) => group.render(),
        };
        html.map_or(0, |html| html.len())
    }
}

/// What a form is filled with.
pub(crate) struct Filling<'a> {
    pub(crate) entered: &'a Entered,
    /// The faults; each field takes its own.
    pub(crate) faults: &'a mut Faults,
    pub(crate) references: &'a References,
    /// Whether it makes something new, so that what is required must be entered.
    pub(crate) is_new: bool,
    /// The list that gets another row; empty for none.
    pub(crate) grown: &'a str,
}

impl Filling<'_> {
    /// The parts of a form for these attributes, and the titles of those that are left out.
    pub(crate) fn parts<'a>(&mut self, attributes: &'a [Attribute]) -> (Vec<Part>, Vec<&'a str>) {
        let (mut parts, mut left_out) = (Vec::new(), Vec::new());
        let mut left = SIZE;
        for attribute in attributes.iter().filter(|attribute| !attribute.read_only) {
            let before = self.faults.clone();
            let part = self.part(attribute);
            match left.checked_sub(part.size()) {
                Some(rest) => {
                    left = rest;
                    parts.push(part);
                }
                None => {
                    *self.faults = before;
                    left_out.push(attribute.title.as_str());
                }
            }
        }
        (parts, left_out)
    }

    fn part(&mut self, attribute: &Attribute) -> Part {
        let pointer = below("", &attribute.name);
        let is_json = self.entered.get(&pointer).is_some();
        let (members, is_list) = match &attribute.shape {
            Shape::Object(members) if !is_json => (members, false),
            Shape::Parts(members) if !is_json => (members, true),
            _ => return Part::Field(Box::new(self.field(attribute, &pointer, false))),
        };
        let numbers = if is_list {
            let least = usize::from(self.is_new);
            let more = usize::from(self.grown == pointer);
            let rows = (self.entered.rows(&pointer) + more).max(least);
            (0..rows).map(|nth| below(&pointer, &nth.to_string())).collect()
        } else {
            vec![pointer.clone()]
        };
        let rows = numbers.iter().map(|at| {
            let members = members.iter().filter(|member| !member.read_only);
            members.map(|member| self.field(member, &below(at, &member.name), true)).collect()
        });
        let rows = rows.collect();
        Part::Group(Group {
            legend: attribute.title.clone(),
            hint: attribute.description.clone(),
            fault: self.faults.take(&pointer),
            name: pointer,
            rows,
            is_list,
        })
    }

    fn field(&mut self, attribute: &Attribute, pointer: &str, in_group: bool) -> Field {
        let text = self.entered.get(pointer).unwrap_or_default();
        let fault = self.faults.take(pointer);
        let field = self.suitable(attribute, pointer, text);
        let field = match (self.is_new, in_group) {
            (true, false) if attribute.required => field,
            (true, false) => field.optional(),
            _ => field.maybe_empty(),
        };
        // Each row would repeat it.
        let field =
            if in_group { field } else { field.code(attribute.name.clone()).hint(hint(attribute)) };
        Field { fault, ..field }
    }

    fn suitable(&self, attribute: &Attribute, pointer: &str, text: &str) -> Field {
        let (name, label) = (pointer.to_owned(), attribute.title.clone());
        let words = |choices: Vec<(String, String)>| {
            let choices = with_entered(attribute, self.is_new, choices, text);
            Field::choice(name.clone(), label.clone(), choices)
        };
        if let Some(candidates) = self.references.candidates.get(pointer) {
            let none = (text.to_owned(), "None of these".to_owned());
            let choices = candidates.iter().cloned().chain([none]);
            return Field::choice(name, label, choices).value(text);
        }
        if let Some(known) =
            attribute.reference.as_ref().and_then(|of| self.references.kinds.get(of))
        {
            return match known {
                Known::All(all) => words(all.clone()).value(text),
                Known::Some(names) => {
                    let named = names.get(text).map(|called| format!("{called} #{text}"));
                    let value = named.unwrap_or_else(|| text.to_owned());
                    Field::text(name, label).longest(None).value(value)
                }
            };
        }
        let field = match &attribute.shape {
            Shape::Flag => {
                words(YES_OR_NO.map(|(value, title)| (value.to_owned(), title.to_owned())).into())
            }
            Shape::Choice(all) => words(all.iter().map(|of| (of.clone(), of.clone())).collect()),
            Shape::Whole if is_whole(text) => {
                let Attribute { minimum, maximum, .. } = attribute;
                Field::number(name, label, minimum.clone(), maximum.clone())
            }
            Shape::Date if is_like(text, "0000-00-00") => Field::date(name, label),
            Shape::Moment if is_like(text, "0000-00-00T00:00:00") => {
                Field { step: "1", ..Field::moment(name, label, None) }
            }
            shape if is_composed(shape) => Field::area(name, label),
            Shape::LongText | Shape::Raw | Shape::List(_) => Field::area(name, label),
            _ if text.contains('\n') => Field::area(name, label),
            _ => Field::text(name, label),
        };
        let longest = match attribute.shape {
            Shape::Text | Shape::LongText | Shape::Picture => attribute.max_length,
            _ => None,
        };
        field.longest(longest).value(text)
    }
}

/// The explanation of an attribute below its label.
fn hint(attribute: &Attribute) -> String {
    let Attribute { description, shape, example, reference, .. } = attribute;
    let how = match shape {
        _ if reference.is_some() => "A name or a key.".to_owned(),
        Shape::List(of) => match &**of {
            Shape::Choice(words) => format!("One on each line: {}.", words.join(", ")),
            _ => "One on each line.".to_owned(),
        },
        Shape::Moment => "In UTC.".to_owned(),
        Shape::Raw if !example.is_empty() && example.len() <= EXAMPLE => {
            format!("JSON, such as {example}")
        }
        Shape::Raw => "JSON.".to_owned(),
        _ => String::new(),
    };
    match (description.is_empty(), how.is_empty()) {
        (false, false) if !description.contains(&how) => format!("{description} {how}"),
        (true, _) => how,
        _ => description.clone(),
    }
}

/// The choices, with what is there now, and with an empty one where nothing may be chosen.
fn with_entered(
    attribute: &Attribute,
    is_new: bool,
    mut choices: Vec<(String, String)>,
    text: &str,
) -> Vec<(String, String)> {
    if !text.is_empty() && choices.iter().all(|(value, _)| value != text) {
        choices.insert(0, (text.to_owned(), text.to_owned()));
    }
    let may_be_empty = attribute.nullable || is_new && attribute.default.is_none();
    if text.is_empty() || may_be_empty {
        let title = if attribute.required { "Choose …" } else { "–" };
        choices.insert(0, (String::new(), title.to_owned()));
    }
    choices
}

fn is_whole(text: &str) -> bool {
    text.is_empty() || text.parse::<i64>().is_ok()
}

/// Whether a text is empty, or has digits where the form has them, and else the same characters.
fn is_like(text: &str, form: &str) -> bool {
    let alike =
        |(is, should): (u8, u8)| if should == b'0' { is.is_ascii_digit() } else { is == should };
    text.is_empty() || text.len() == form.len() && text.bytes().zip(form.bytes()).all(alike)
}
