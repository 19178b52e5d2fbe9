//! Schemas of a document, read to attributes. A schema may come from anybody: what it refers to may be missing, or
//! lead back to it. What is read of a document is bounded in depth, number and size.

use std::cell::Cell;
use std::collections::HashSet;

use serde_json::Value;

use crate::admin::openapi::{plain, texts};
use crate::base::text::capitalised;

use super::model::{Attribute, Shape};

/// The maximum number of references that are followed to a schema.
const REFERENCES: usize = 8;
/// The maximum depth of lists and objects in an attribute.
const DEPTH: usize = 4;
/// The maximum number of attributes of a schema.
const ATTRIBUTES: usize = 500;
/// The maximum number of schemas that are alternatives of each other, or parts of one.
const ALTERNATIVES: usize = 16;
/// The maximum number of choices; a longer enumeration is entered as text.
const CHOICES: usize = 300;
/// The maximum number of characters of a description or an example.
const LONGEST: usize = 400;
/// Words of names that are written in capital letters.
const INITIALS: [&str; 10] = ["api", "ean", "id", "ip", "iso", "sku", "upc", "uri", "url", "vat"];
/// The number of characters above which a text is entered in several lines.
const LONG_TEXT: u64 = 2048;
/// The maximum size of what is read of a document, in bytes.
const SIZE: usize = 2 * 1024 * 1024;

/// A document whose schemas are read.
pub(super) struct Schemas<'d> {
    document: &'d Value,
    /// How many bytes may still be read.
    left: Cell<usize>,
    incomplete: Cell<bool>,
}

impl<'d> Schemas<'d> {
    pub(super) fn of(document: &'d Value) -> Self {
        Self { document, left: Cell::new(SIZE), incomplete: Cell::new(false) }
    }

    /// Whether something was left out.
    pub(super) fn is_incomplete(&self) -> bool {
        self.incomplete.get()
    }

    /// What a value refers to, or the value itself; nothing for a reference that leads nowhere.
    pub(super) fn resolved(&self, value: &'d Value) -> &'d Value {
        let mut found = value;
        for _ in 0..REFERENCES {
            let Some(reference) = found["$ref"].as_str() else { return found };
            let pointer = reference.strip_prefix('#').unwrap_or_default();
            found = if pointer.is_empty() {
                &Value::Null
            } else {
                self.document.pointer(pointer).unwrap_or(&Value::Null)
            };
        }
        &Value::Null
    }

    /// The attributes of a schema of an object.
    pub(super) fn attributes(&self, schema: &'d Value) -> Vec<Attribute> {
        self.attributes_at(schema, DEPTH)
    }

    /// The shape of the values of a schema.
    pub(super) fn shape(&self, schema: &'d Value, example: &Value) -> Shape {
        self.shape_at(schema, example, DEPTH)
    }

    /// The properties of an object, those of its parts included.
    pub(super) fn properties(&self, schema: &'d Value) -> Vec<(&'d String, &'d Value)> {
        let mut seen = HashSet::new();
        let views = self.views(schema);
        let all = views.iter().filter_map(|view| view["properties"].as_object()).flatten();
        let mut found: Vec<_> = all.filter(|(name, _)| seen.insert(*name)).collect();
        if found.len() > ATTRIBUTES {
            self.incomplete.set(true);
            found.truncate(ATTRIBUTES);
        }
        found
    }

    /// The property of an object with this name, without references.
    pub(super) fn property(&self, schema: &'d Value, name: &str) -> Option<&'d Value> {
        let views = self.views(schema);
        let found = views.iter().find_map(|view| view["properties"].get(name))?;
        Some(self.resolved(found))
    }

    pub(super) fn has_properties(&self, schema: &'d Value) -> bool {
        let has = |view: &Value| view["properties"].as_object().is_some_and(|of| !of.is_empty());
        self.views(schema).into_iter().any(has)
    }

    /// A schema with its parts and its alternatives, without references.
    fn views(&self, schema: &'d Value) -> Vec<&'d Value> {
        let mut found: Vec<&Value> = vec![self.resolved(schema)];
        let mut at = 0;
        while let Some(view) = found.get(at).copied() {
            let parts =
                ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|of| view[of].as_array());
            for part in parts.flatten() {
                if found.len() == ALTERNATIVES {
                    return found;
                }
                found.push(self.resolved(part));
            }
            at += 1;
        }
        found
    }

    fn attributes_at(&self, schema: &'d Value, depth: usize) -> Vec<Attribute> {
        let views = self.views(schema);
        let required = views.iter().filter_map(|view| view["required"].as_array()).flatten();
        let required: Vec<&str> = required.filter_map(Value::as_str).take(ATTRIBUTES).collect();
        let example = views.iter().map(|view| &view["example"]).find(|example| example.is_object());
        let current = self.properties(schema).into_iter();
        let current = current.filter(|(_, property)| property["deprecated"] != true);
        let mut read: Vec<Attribute> = current
            .map_while(|(name, property)| {
                let example = example.map_or(&Value::Null, |example| &example[name.as_str()]);
                let required = required.contains(&name.as_str());
                Some(Attribute { required, ..self.attribute(name, property, example, depth)? })
            })
            .collect();
        read.shrink_to_fit();
        read
    }

    /// An attribute, unless the document has too much.
    fn attribute(
        &self,
        name: &str,
        schema: &'d Value,
        example: &Value,
        depth: usize,
    ) -> Option<Attribute> {
        let views: Vec<&Value> = std::iter::once(schema).chain(self.views(schema)).collect();
        let first =
            |member: &str| views.iter().map(|view| &view[member]).find(|value| !value.is_null());
        let text = |member: &str| first(member).and_then(Value::as_str).map(bounded);
        let own = first("example").or_else(|| first("examples").and_then(|all| all.get(0)));
        let example = own.unwrap_or(example);
        let reference = text("x-reference");
        let longest = first("maxLength").and_then(Value::as_u64);
        let attribute = Attribute {
            name: name.to_owned(),
            title: text("title").unwrap_or_else(|| in_words(name, reference.is_some())),
            description: text("description").unwrap_or_default(),
            shape: Shape::Raw,
            required: false,
            read_only: first("readOnly").is_some_and(|value| *value == true),
            nullable: views.iter().any(|view| types(view).any(|of| of == "null")),
            example: bounded(&plain(example)),
            default: first("default").map(|value| bounded(&plain(value))),
            reference,
            minimum: first("minimum").map(plain),
            maximum: first("maximum").map(plain),
            max_length: longest.and_then(|length| usize::try_from(length).ok()),
        };
        // Counted before what it consists of, so that it has its place before that.
        let Attribute { name, title, description, example: shown, .. } = &attribute;
        let Attribute { default, reference, minimum, maximum, .. } = &attribute;
        let texts = [name, title, description, shown].map(String::len).iter().sum::<usize>();
        let others = [default, reference, minimum, maximum];
        let others = others.map(|text| text.as_ref().map_or(0, String::len)).iter().sum::<usize>();
        self.charge(size_of::<Attribute>() + texts + others)
            .then(|| Attribute { shape: self.shape_at(schema, example, depth), ..attribute })
    }

    fn shape_at(&self, schema: &'d Value, example: &Value, depth: usize) -> Shape {
        let views: Vec<&Value> = std::iter::once(schema).chain(self.views(schema)).collect();
        let is = |wanted: &str| views.iter().any(|view| types(view).any(|of| of == wanted));
        let has_format = |wanted: &str| views.iter().any(|view| view["format"] == wanted);
        let enumerations = || views.iter().filter_map(|view| view["enum"].as_array());
        if views.iter().any(|view| view["x-picture"] == true) {
            return Shape::Picture;
        }
        if is("boolean") || enumerations().any(|words| is_flag(words)) {
            return Shape::Flag;
        }
        if let Some(words) = enumerations().next() {
            return self.choice(words);
        }
        if is("array") {
            return self.list(&views, example, depth);
        }
        if is("object") || views.iter().any(|view| view["properties"].is_object()) {
            let inner = match depth.checked_sub(1) {
                Some(depth) => self.attributes_at(schema, depth),
                None => Vec::new(),
            };
            return if inner.is_empty() { Shape::Raw } else { Shape::Object(inner) };
        }
        if has_format("date") {
            return Shape::Date;
        }
        if has_format("date-time") || has_format("date-time-local") {
            return Shape::Moment;
        }
        if is("integer") {
            return Shape::Whole;
        }
        if is("number") || has_format("decimal") {
            return Shape::Decimal;
        }
        if !is("string") {
            return Shape::Raw;
        }
        if views.iter().filter_map(|view| view["pattern"].as_str()).any(is_of_decimals) {
            return Shape::Decimal;
        }
        // A pattern with digits and an example that follows it.
        let of_digits =
            |view: &&Value| view["pattern"].as_str().is_some_and(|of| of.contains("[0-9]"));
        let written = views.iter().any(of_digits).then(|| written(example)).flatten();
        let longest = views.iter().filter_map(|view| view["maxLength"].as_u64()).max();
        match written {
            Some(shape) => shape,
            None if longest.is_some_and(|longest| longest > LONG_TEXT) => Shape::LongText,
            None => Shape::Text,
        }
    }

    fn choice(&self, words: &[Value]) -> Shape {
        if words.len() > CHOICES {
            self.incomplete.set(true);
            return Shape::Text;
        }
        let words = words.iter().filter(|word| !word.is_null()).map(|word| bounded(&plain(word)));
        let words: Vec<String> = words.collect();
        let size = words.iter().map(|word| size_of::<String>() + word.len()).sum();
        if self.charge(size) { Shape::Choice(words) } else { Shape::Text }
    }

    fn list(&self, views: &[&'d Value], example: &Value, depth: usize) -> Shape {
        let items = views.iter().map(|view| &view["items"]).find(|items| items.is_object());
        let (Some(items), Some(depth)) = (items, depth.checked_sub(1)) else { return Shape::Raw };
        match self.shape_at(items, &example[0], depth) {
            Shape::Object(attributes) => Shape::Parts(attributes),
            Shape::Raw | Shape::Parts(_) | Shape::List(_) => Shape::Raw,
            simple => Shape::List(Box::new(simple)),
        }
    }

    /// Counts what is read; `false` if the document has too much.
    fn charge(&self, bytes: usize) -> bool {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(left.unwrap_or_default());
        self.incomplete.set(self.incomplete.get() || left.is_none());
        left.is_some()
    }
}

/// A text of a document, cut where it is too long.
pub(super) fn bounded(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

/// A name in words: `tax_percent` is "Tax percent", `sku` is "SKU", and `country_id`, which names another record,
/// "Country".
pub(crate) fn in_words(name: &str, is_reference: bool) -> String {
    let name = name.strip_suffix("_id").filter(|_| is_reference).unwrap_or(name);
    let name = bounded(name);
    let words = name.split(['_', '-', '.']).map(|word| {
        let is_short = INITIALS.iter().any(|of| word.eq_ignore_ascii_case(of));
        if is_short { word.to_ascii_uppercase() } else { word.to_owned() }
    });
    let words = words.collect::<Vec<_>>().join(" ");
    match words.trim() {
        "" => name,
        words => capitalised(words),
    }
}

fn types(schema: &Value) -> impl Iterator<Item = &str> {
    texts(&schema["type"])
}

/// Whether these are 0 and 1.
fn is_flag(words: &[Value]) -> bool {
    matches!(words, [no, yes] if *no == 0 && *yes == 1)
}

/// Whether a pattern admits digits and a point only.
fn is_of_decimals(pattern: &str) -> bool {
    pattern.contains("\\.") && pattern.chars().all(|of| "0123456789[](){}|.\\^$*?+-,".contains(of))
}

/// What a text is by its form.
fn written(example: &Value) -> Option<Shape> {
    let text = example.as_str()?;
    if is_day(text) {
        return Some(Shape::Date);
    }
    if text.split_once('T').is_some_and(|(day, time)| is_day(day) && time.contains(':')) {
        return Some(Shape::Moment);
    }
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|of| of.is_ascii_digit());
    (all_digits(whole) && all_digits(fraction)).then_some(Shape::Decimal)
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let digits = |part: &&str| part.bytes().all(|of| of.is_ascii_digit());
    matches!(parts.as_slice(), [year, month, day]
        if (year.len(), month.len(), day.len()) == (4, 2, 2))
        && parts.iter().all(digits)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shape(schema: Value, example: Value) -> Shape {
        Schemas::of(&Value::Null).shape(&schema, &example)
    }

    #[test]
    fn the_shape_of_a_value_follows_from_its_schema() {
        let digits = "^[0-9]+$";
        for (schema, example, expected) in [
            (json!({"type": "string"}), json!("1.50"), Shape::Text),
            (json!({"type": "string", "pattern": digits}), json!("1.50"), Shape::Decimal),
            (json!({"type": "string", "pattern": digits}), json!("2026-01-31"), Shape::Date),
            (
                json!({"type": "string", "pattern": digits}),
                json!("2026-01-31T12:00:00"),
                Shape::Moment,
            ),
            (json!({"type": "string", "pattern": digits}), json!("1-2"), Shape::Text),
            (
                json!({"type": "string", "pattern": r"^[0-9]+\.[0-9]{2}$"}),
                Value::Null,
                Shape::Decimal,
            ),
            (json!({"type": "string", "pattern": r"^[a-z]+\.[0-9]$"}), Value::Null, Shape::Text),
            (json!({"type": ["string", "null"], "maxLength": 5000}), Value::Null, Shape::LongText),
            (json!({"type": "string", "format": "date-time"}), Value::Null, Shape::Moment),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "number"}]}),
                Value::Null,
                Shape::Decimal,
            ),
            (json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}), Value::Null, Shape::Whole),
            (json!({"type": "integer", "enum": [0, 1]}), Value::Null, Shape::Flag),
            (json!({"enum": ["a", null]}), Value::Null, Shape::Choice(vec!["a".to_owned()])),
            (
                json!({"type": "array", "items": {"type": "integer"}}),
                Value::Null,
                Shape::List(Box::new(Shape::Whole)),
            ),
            (json!({"type": "array", "items": {}}), Value::Null, Shape::Raw),
            (json!({"type": "object"}), Value::Null, Shape::Raw),
            (json!({"type": "string", "x-picture": true}), Value::Null, Shape::Picture),
            (json!(7), json!(7), Shape::Raw),
        ] {
            assert_eq!(shape(schema.clone(), example), expected, "{schema}");
        }
    }

    #[test]
    fn what_a_name_means_is_said_in_words() {
        assert_eq!(in_words("tax_percent", false), "Tax percent");
        assert_eq!(in_words("vat_id", false), "VAT ID");
        assert_eq!(in_words("country_id", true), "Country");
        assert_eq!(in_words("___", false), "___");
    }
}
