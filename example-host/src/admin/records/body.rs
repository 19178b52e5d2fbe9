//! The JSON body of a request, made of what was entered. Numbers are copied digit by digit, so that no decimal passes
//! through a float.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::entered::{Entered, below};
use super::faults::Faults;
use super::model::{Attribute, Shape};

/// A body for a new record, or of an action: fields that are empty are left out.
pub(crate) fn of_new(attributes: &[Attribute], entered: &Entered) -> Result<String, Faults> {
    let mut body = Body { entered, faults: Faults::default() };
    let members = attributes.iter().filter_map(|attribute| {
        let value = body.value(attribute, &below("", &attribute.name), None)?;
        Some((attribute.name.as_str(), value))
    });
    let members = members.collect::<Vec<_>>();
    body.finished(&members)
}

/// A body with these changed attributes of a record, whose values are of the same kind as those that it has. A field
/// that was emptied becomes null where that is allowed, and else an empty value.
pub(crate) fn of_changes(
    changed: &[&Attribute],
    entered: &Entered,
    values: &Map<String, Value>,
) -> Result<String, Faults> {
    let mut body = Body { entered, faults: Faults::default() };
    let members = changed.iter().map(|attribute| {
        let like = values.get(&attribute.name);
        let value = body.value(attribute, &below("", &attribute.name), like);
        (attribute.name.as_str(), value.unwrap_or_else(|| emptied(attribute, like)))
    });
    let members = members.collect::<Vec<_>>();
    body.finished(&members)
}

struct Body<'e> {
    entered: &'e Entered,
    faults: Faults,
}

impl Body<'_> {
    fn finished(self, members: &[(&str, String)]) -> Result<String, Faults> {
        if self.faults.is_empty() { Ok(object(members)) } else { Err(self.faults) }
    }

    /// The JSON text of what was entered for an attribute; `None` if that is nothing.
    fn value(
        &mut self,
        attribute: &Attribute,
        pointer: &str,
        like: Option<&Value>,
    ) -> Option<String> {
        if let Some(text) = self.entered.get(pointer) {
            return self.simple(attribute, pointer, text, like);
        }
        match &attribute.shape {
            Shape::Object(members) => self.members(members, pointer, like),
            Shape::Parts(members) => {
                let rows = (0..self.entered.rows(pointer)).map(|nth| {
                    let row = like.and_then(|rows| rows.get(nth));
                    let at = below(pointer, &nth.to_string());
                    self.members(members, &at, row).unwrap_or_else(|| object(&[]))
                });
                let rows: Vec<String> = rows.collect();
                (!rows.is_empty()).then(|| format!("[{}]", rows.join(",")))
            }
            _ => None,
        }
    }

    fn members(
        &mut self,
        members: &[Attribute],
        pointer: &str,
        like: Option<&Value>,
    ) -> Option<String> {
        let given = members.iter().filter_map(|member| {
            let at = below(pointer, &member.name);
            let text = self.entered.get(&at)?;
            let like = like.and_then(|of| of.get(&member.name));
            let value = match self.simple(member, &at, text, like) {
                Some(value) => value,
                None => like.filter(|of| !of.is_null()).map(|_| emptied(member, like))?,
            };
            Some((member.name.as_str(), value))
        });
        let given: Vec<(&str, String)> = given.collect();
        (!given.is_empty()).then(|| object(&given))
    }

    fn simple(
        &mut self,
        attribute: &Attribute,
        pointer: &str,
        text: &str,
        like: Option<&Value>,
    ) -> Option<String> {
        if text.is_empty() {
            return None;
        }
        let is_json = matches!(like, Some(Value::Object(_)))
            || matches!(attribute.shape, Shape::Raw | Shape::Object(_) | Shape::Parts(_));
        if !is_json {
            return Some(written(attribute, text, like));
        }
        match serde_json::from_str::<Box<RawValue>>(text) {
            Ok(value) => Some(value.get().to_owned()),
            Err(error) => {
                self.faults.add(pointer, format!("This is not valid JSON: {error}."));
                Some("null".to_owned())
            }
        }
    }
}

/// A value in the kind of JSON that its shape has. What is not of this shape is sent as text, so that the API can
/// report what is wrong with it.
fn written(attribute: &Attribute, text: &str, like: Option<&Value>) -> String {
    let has_number = matches!(like, Some(Value::Number(_)));
    match &attribute.shape {
        Shape::List(of) => {
            let likes = like.and_then(|list| list.get(0));
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let member = Attribute { shape: (**of).clone(), ..attribute.clone() };
            let members: Vec<String> = lines.map(|line| written(&member, line, likes)).collect();
            format!("[{}]", members.join(","))
        }
        Shape::Flag => {
            let words = [&attribute.example].into_iter().chain(&attribute.default);
            let is_boolean = match like {
                Some(Value::Null) | None => {
                    words.into_iter().any(|of| of == "true" || of == "false")
                }
                Some(like) => like.is_boolean(),
            };
            match (text, is_boolean) {
                ("1", true) => "true".to_owned(),
                ("0", true) => "false".to_owned(),
                ("1" | "0", false) => text.to_owned(),
                _ => quoted(text),
            }
        }
        Shape::Whole => whole(text),
        _ if attribute.reference.is_some() && !matches!(like, Some(Value::String(_))) => {
            whole(text)
        }
        Shape::Decimal | Shape::Choice(_) if has_number => number(text),
        Shape::Moment => match (like.and_then(Value::as_str), attribute.example.as_str()) {
            (Some(zoned), _) | (None, zoned) if zoned.ends_with('Z') => quoted(&format!("{text}Z")),
            _ => quoted(text),
        },
        _ => quoted(text),
    }
}

/// The value of a field that was emptied.
fn emptied(attribute: &Attribute, like: Option<&Value>) -> String {
    let value = match (&attribute.shape, like) {
        _ if attribute.nullable => Value::Null,
        (Shape::List(_) | Shape::Parts(_), _) | (Shape::Raw, Some(Value::Array(_))) => json!([]),
        (Shape::Object(_) | Shape::Raw, _) => json!({}),
        _ => json!(""),
    };
    value.to_string()
}

fn whole(text: &str) -> String {
    match text.parse::<i64>() {
        Ok(number) => number.to_string(),
        Err(_) => quoted(text),
    }
}

/// A number with the digits that were entered.
fn number(text: &str) -> String {
    match serde_json::from_str::<serde_json::Number>(text) {
        Ok(_) => text.trim().to_owned(),
        Err(_) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn object(members: &[(&str, String)]) -> String {
    let members = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::super::schema::Schemas;
    use super::*;
    use crate::admin::form::Form;

    fn attributes() -> Vec<Attribute> {
        let schema = json!({
            "properties": {
                "name": {"type": "string"},
                "note": {"type": ["string", "null"]},
                "count": {"type": "integer"},
                "price": {"type": "number"},
                "enabled": {"type": "boolean", "example": true},
                "tags": {"type": "array", "items": {"type": "string"}},
                "extra": {"type": "object"},
                "until": {"type": "string", "format": "date-time", "example": "2026-01-31T12:00:00Z"},
                "items": {"type": "array", "items": {"type": "object", "properties": {
                    "sku": {"type": "string"}, "pieces": {"type": "integer"},
                }}},
                "size": {"type": "object", "properties": {"width": {"type": "number"}}},
            },
        });
        Schemas::of(&schema).attributes(&schema)
    }

    fn form(fields: &[(&str, &str)]) -> Form {
        Form::of_fields(
            fields.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
        )
    }

    fn new(fields: &[(&str, &str)]) -> Result<String, Vec<String>> {
        let attributes = attributes();
        let entered = Entered::of_form(&attributes, &form(fields));
        of_new(&attributes, &entered).map_err(Faults::rest)
    }

    fn changes(values: &Value, fields: &[(&str, &str)]) -> String {
        let attributes = attributes();
        let entered = Entered::of_form(&attributes, &form(fields));
        let changed: Vec<&Attribute> =
            attributes.iter().filter(|attribute| entered.has(attribute)).collect();
        let nothing = Map::new();
        let values = values.as_object().unwrap_or(&nothing);
        of_changes(&changed, &entered, values).unwrap_or_default()
    }

    #[test]
    fn each_value_has_the_kind_of_its_shape_and_what_is_empty_is_left_out() {
        for (fields, expected) in [
            (&[][..], "{}"),
            (&[("/name", ""), ("/count", "")], "{}"),
            (&[("/name", "a \"b\"\r\n<c>")], r#"{"name":"a \"b\"\n<c>"}"#),
            (&[("/count", "007")], r#"{"count":7}"#),
            (&[("/count", "many")], r#"{"count":"many"}"#),
            (&[("/price", "1.50")], r#"{"price":"1.50"}"#),
            (&[("/enabled", "0")], r#"{"enabled":false}"#),
            (&[("/tags", "a\r\n\r\n b ")], r#"{"tags":["a","b"]}"#),
            (&[("/extra", "{\"a\": 1.00}")], r#"{"extra":{"a": 1.00}}"#),
            (&[("/until", "2026-01-31T12:00")], r#"{"until":"2026-01-31T12:00:00Z"}"#),
            (&[("/size/width", "2")], r#"{"size":{"width":"2"}}"#),
            (
                &[("/items/0/sku", ""), ("/items/2/sku", "x"), ("/items/10/pieces", "3")],
                r#"{"items":[{"sku":"x"},{"pieces":3}]}"#,
            ),
            (&[("/unknown", "x"), ("csrf_token", "x")], "{}"),
        ] {
            assert_eq!(new(fields).as_deref(), Ok(expected), "{fields:?}");
        }
        let wrong = new(&[("/extra", "{")]).unwrap_or_default();
        assert!(wrong.is_empty(), "what is not JSON is not sent: {wrong}");
    }

    #[test]
    fn a_changed_value_is_of_the_kind_that_the_record_has() {
        for (values, fields, expected) in [
            (json!({"price": 1.5}), &[("/price", "1.50")][..], r#"{"price":1.50}"#),
            (json!({"price": 1.5}), &[("/price", "a")], r#"{"price":"a"}"#),
            (
                json!({"price": 0.1}),
                &[("/price", "12345678901234567890.12345")],
                r#"{"price":12345678901234567890.12345}"#,
            ),
            (json!({"price": "1.5"}), &[("/price", "2")], r#"{"price":"2"}"#),
            (json!({"enabled": 1}), &[("/enabled", "0")], r#"{"enabled":0}"#),
            (json!({"enabled": true}), &[("/enabled", "0")], r#"{"enabled":false}"#),
            (json!({"note": "a"}), &[("/note", "")], r#"{"note":null}"#),
            (json!({"name": "a"}), &[("/name", "")], r#"{"name":""}"#),
            (json!({"tags": ["a"]}), &[("/tags", "")], r#"{"tags":[]}"#),
            (json!({"items": [{"sku": "a"}]}), &[("list", "/items")], r#"{"items":[]}"#),
            (json!({"name": {"a": 1}}), &[("/name", "[1]")], r#"{"name":[1]}"#),
        ] {
            assert_eq!(changes(&values, fields), expected, "{values}");
        }
    }

    #[test]
    fn a_record_that_is_sent_back_as_it_is_shown_has_not_changed() {
        let attributes = attributes();
        for values in [
            json!({}),
            json!({"name": "a\r\nb\rc\n", "note": null, "count": -1, "price": "1.00"}),
            json!({"enabled": true, "tags": ["a", " b"], "extra": {"b": [1], "a": {}}}),
            json!({"until": "2026-01-31T12:00:00Z", "items": [{"sku": "a"}, {"pieces": 1}]}),
            json!({"size": {"width": 1.5}, "name": 7, "tags": {"a": 1}, "items": "none"}),
        ] {
            let nothing = Map::new();
            let shown = Entered::of_record(&attributes, values.as_object().unwrap_or(&nothing));
            let sent = attributes.iter().flat_map(|of| shown.at(&below("", &of.name)));
            let sent = sent.map(|(name, text)| (name, text.replace('\n', "\r\n")));
            let entered = Entered::of_form(&attributes, &Form::of_fields(sent.collect()));
            assert_eq!(entered.hashes(&attributes), shown.hashes(&attributes), "{values}");
        }
    }
}
