//! Schemas of bodies. A body is an object of fields, or a JSON:API document with the same fields as
//! attributes and with relationships, which set keys as well.

use serde_json::{Map, Value, json};

use super::common::{named, reference};
use super::examples;
use super::presentation;
use super::properties::{self, meaning};
use super::schema::{self, described};
use crate::model::field::{Access, Field, Relationship};
use crate::model::resource::Resource;
use crate::resources::SERVICES;
use crate::service::hooks::Answer;
use crate::wire::draft::MAX_CHILDREN;

/// What a body does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// It creates a record.
    New,
    /// It changes one.
    Change,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Form::New => "new",
            Form::Change => "change",
        }
    }
}

/// The body of a request, in either form, with an example of each.
pub(super) fn request(resource: &Resource, form: Form) -> Value {
    let name = form.name();
    let fields = example(resource, form);
    json!({
        // A body without attributes need not be sent.
        "required": resource.fields().next().is_some(),
        "description": "The fields, or a JSON:API document with them.",
        "content": {"application/json": {
            "schema": {"anyOf": [
                named(resource, name),
                named(resource, &format!("{name}.document")),
            ]},
            "examples": {
                "fields": {"summary": "The fields", "value": fields},
                "document": {
                    "summary": "A JSON:API document",
                    "value": {"data": {"type": resource.kind, "attributes": fields}},
                },
            },
        }},
    })
}

/// The schemas of the bodies of a resource: of the fields, and of the document.
pub(super) fn of(resource: &Resource, form: Form) -> Vec<(String, Value)> {
    let name = |suffix: &str| format!("{}.{}{suffix}", resource.schema_name(), form.name());
    let mut schemas = vec![(name(""), fields(resource, form))];
    if let Some(children) = resource.children.filter(|_| form == Form::New) {
        let child = format!("{}.{}", children.of.schema_name(), form.name());
        schemas.push((child, fields(children.of, form)));
    }
    let mut forms = vec![data(resource, form, named(resource, form.name()), None)];
    // A required key may be given as an attribute or by its relationship; no resource has two.
    let required = resource.fields().filter(|field| field.required && form == Form::New);
    if let Some(related) = required.clone().find_map(Field::relationship) {
        let mut rest = fields(resource, form);
        let left = required.filter(|field| field.relationship().is_none());
        let left = left.map(|field| field.name).collect::<Vec<_>>();
        if let Some(example) = rest["example"].as_object_mut() {
            example.retain(|name, _| left.contains(&name.as_str()));
        }
        rest["required"] = json!(left);
        schemas.push((name(".related"), rest));
        let rest = reference("schemas", &name(".related"));
        forms.push(data(resource, form, rest, Some(related)));
    }
    let data = match <[Value; 1]>::try_from(forms) {
        Ok([only]) => only,
        Err(forms) => json!({"anyOf": forms, "description": "The record."}),
    };
    let document = json!({
        "type": "object",
        "description": "The fields as a JSON:API document. Other members are ignored.",
        "required": ["data"],
        "properties": {"data": data},
        "example": {"data": {"type": resource.kind, "attributes": example(resource, form)}},
    });
    schemas.push((name(".document"), document));
    schemas
}

/// The fields that a client may send.
fn fields(resource: &Resource, form: Form) -> Value {
    let new = form == Form::New;
    let meaning = |name: &str| meaning(resource.schema_name(), resource.kind, name);
    let gives_key = new && gives_key(resource);
    let mut properties = Map::new();
    if gives_key {
        let key = described(schema::key(), meaning(resource.key));
        properties.insert(resource.key.to_owned(), key);
    }
    for field in settable(resource, form) {
        let schema = presentation::of_field(schema::input(field), field);
        let mut schema = described(schema, meaning(field.name));
        // Completing a record leaves its other fields as they are.
        if let Some(default) =
            schema::default_of(field).filter(|_| new && !field.required && !gives_key)
            && let Some(description) = schema["description"].as_str()
        {
            schema["description"] = json!(format!("{description} {default}"));
        }
        properties.insert(field.name.to_owned(), schema);
    }
    // A client may send back what it has read, so fields that only the server sets are accepted and
    // ignored.
    let shown = resource.list.iter().chain(resource.detail).map(|field| field.name);
    let key = Some(resource.key).filter(|key| !key.is_empty() && resource.shows_key);
    for name in key.into_iter().chain(shown) {
        let ignored = || json!({"readOnly": true, "description": "Ignored here."});
        properties.entry(name).or_insert_with(|| described(ignored(), meaning(name)));
    }
    if let Some(children) = resource.children.filter(|_| new) {
        let items = json!({
            "type": "array",
            "minItems": usize::from(children.if_empty.is_some()),
            "maxItems": MAX_CHILDREN,
            "items": named(children.of, Form::New.name()),
        });
        properties.insert(children.name.to_owned(), described(items, meaning(children.name)));
    }
    let mut schema = json!({
        "type": "object",
        "description": match form {
            Form::New => format!("The fields of a new {}.", resource.singular),
            Form::Change => format!(
                "The fields of the {} to change; the others keep their values.", resource.singular
            ),
        },
        "additionalProperties": false,
        "properties": properties,
    });
    let required: Vec<&str> = settable(resource, form)
        .filter(|field| field.required)
        .map(|field| field.name)
        .chain(Some(resource.key).filter(|_| gives_key))
        .chain(resource.children.filter(|_| is_list(resource)).map(|children| children.name))
        .collect();
    if new && !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema["example"] = example(resource, form);
    schema
}

/// The member `data` of a document with these attributes, in which a relationship may be required.
fn data(
    resource: &Resource,
    form: Form,
    attributes: Value,
    required: Option<Relationship>,
) -> Value {
    let mut needed = Vec::new();
    let mut properties = json!({
        "type": {"type": "string", "const": resource.kind, "description": "The type of the record."},
    });
    // The store assigns the id of a new record, and a list has none; otherwise it is that in the path.
    let is_new = !resource.key.is_empty() || is_list(resource) || makes_part(resource);
    let assigned = form == Form::New && is_new;
    if !assigned {
        properties["id"] = json!({"type": "string", "description": "The id in the path."});
    }
    properties["attributes"] = attributes;
    if form == Form::New {
        needed.push("attributes");
    }
    let related = resource.fields().filter_map(|field| Some((field, field.relationship()?)));
    let related: Map<String, Value> = related
        .map(|(field, relationship)| (relationship.name.to_owned(), linkage(field, relationship)))
        .collect();
    if !related.is_empty() {
        let mut relationships = json!({
            "type": "object",
            "description": "The records that the record refers to. A key among the attributes must \
                agree.",
            "additionalProperties": false,
            "properties": related,
        });
        if let Some(required) = required {
            relationships["required"] = json!([required.name]);
            needed.push("relationships");
        }
        properties["relationships"] = relationships;
    }
    let mut data = json!({
        "type": "object",
        "description": "The record. Links and other members are ignored.",
        "required": needed,
        "properties": properties,
    });
    if assigned {
        data["not"] = json!({"required": ["id"]});
    }
    data
}

/// A relationship that sets a field.
fn linkage(field: &Field, relationship: Relationship) -> Value {
    let kind = relationship.kind;
    let id = described(schema::id_for(field), "The key of the record, as text.");
    let identifier = json!({
        "type": "object",
        "description": "The record.",
        "required": ["type", "id"],
        "properties": {
            "type": {"type": "string", "const": kind, "description": "The type of the record."},
            "id": id,
        },
    });
    let data = if field.nullable || field.zero_is_none {
        json!({
            "anyOf": [identifier, {"type": "null"}], "description": "The record; null is none.",
        })
    } else {
        identifier
    };
    let mut schema = json!({
        "type": "object",
        "description": format!("Sets {}.", field.name),
        "required": ["data"],
        "properties": {"data": data},
    });
    if matches!(field.access, Access::ReadOnly | Access::Touched) {
        schema["readOnly"] = json!(true);
        schema["description"] = json!("Ignored here.");
    }
    schema
}

/// The fields that a body sets.
fn settable(resource: &Resource, form: Form) -> impl Iterator<Item = &'static Field> + Clone {
    resource.fields().filter(move |field| match field.access {
        Access::Open => true,
        Access::Once => form == Form::New,
        Access::ReadOnly | Access::Touched => false,
    })
}

/// Whether creating a record means completing another one, whose key the client gives.
fn gives_key(resource: &Resource) -> bool {
    let mut services = SERVICES.iter().filter(|service| std::ptr::eq(service.of, resource));
    // The record that is completed is in the same table, and not yet one of these.
    services.any(|service| service.create.is_some()) && !resource.fixed.is_empty()
}

/// Whether a body, which has no key of its own, makes a record that is part of the one in the path, or one that has
/// no id at all.
fn makes_part(resource: &Resource) -> bool {
    let mut specials = SERVICES.iter().flat_map(|service| service.special);
    specials.any(|special| {
        let is_body = special.body.is_some_and(|taken| std::ptr::eq(taken, resource));
        is_body && matches!(special.answer, Answer::Part(..) | Answer::Person(_))
    })
}

/// Whether a body is a list of others, and nothing without them.
fn is_list(resource: &Resource) -> bool {
    resource.list.is_empty() && resource.children.is_some()
}

/// An example of the fields: those that a new record needs, or one that changes. Of pure input it is
/// also the texts that have an example.
fn example(resource: &Resource, form: Form) -> Value {
    let known = examples::key(&format!("{}.create", resource.kind));
    let key = Some((resource.key.to_owned(), json!(known)));
    let key = key.filter(|_| form == Form::New && gives_key(resource));
    let view = resource.schema_name();
    let shown = settable(resource, form).filter(|field| {
        let property = || properties::find(view, resource.kind, field.name);
        let has_example = || property().is_some_and(|of| of.example.is_some());
        form == Form::Change || field.required || (resource.key.is_empty() && has_example())
    });
    let value = if form == Form::New { examples::new_value } else { examples::value };
    let shown = shown.map(|field| (field.name.to_owned(), value(resource, view, field)));
    let count = if form == Form::New { usize::MAX } else { 1 };
    let children = resource.children.filter(|_| form == Form::New && is_list(resource));
    let children =
        children.map(|children| (children.name.to_owned(), json!([example(children.of, form)])));
    Value::Object(key.into_iter().chain(shown.take(count)).chain(children).collect())
}
