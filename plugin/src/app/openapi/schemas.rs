//! Schemas of answers: records and computed rows, their lists and documents.
//!
//! `fields` leaves out attributes and relationships, so no answer must have a particular one.

use host_interface::{Parameter, ParameterKind};
use serde_json::{Map, Value, json};

use super::common::{self, document, named, reference};
use super::examples;
use super::presentation;
use super::properties::meaning;
use super::schema::{self, described, output};
use crate::model::field::{Access, Field};
use crate::model::parameters;
use crate::model::relation::Many;
use crate::model::resource::{Report, Resource, VERSION};
use crate::resources::{REGISTRY, SERVICES};
use crate::service::hooks::Answer;
use crate::wire::included::MAX_INCLUDED;
use crate::wire::object::record_path;

/// Where a store is in the examples.
const ROOT: &str = "/api/index.php/v1/shop";

/// The schemas of the records of a resource: the attributes, the record, and its document.
pub(super) fn of(resource: &'static Resource) -> Vec<(String, Value)> {
    let kind = resource.kind;
    let all: Vec<&Field> = resource.list.iter().chain(resource.detail).collect();
    let mut properties = json!({
        "type": {"type": "string", "const": kind, "description": "The type of the record."},
        "id": {
            "type": "string",
            "pattern": "^[0-9]+$",
            "description": "The key of the record, as text.",
        },
        "attributes": named(resource, "attributes"),
    });
    let mut required = vec!["type", "id", "attributes"];
    let to_one = all.iter().copied().chain(resource.hidden).filter_map(Field::relationship);
    let to_one = to_one.map(|related| {
        let schema = reference("schemas", "relationship");
        (related.name, presentation::naming(schema, related.kind))
    });
    let lists = Many::of(resource, REGISTRY).map(|many| {
        let schema = reference("schemas", "relationship.list");
        (many.nested.segment, presentation::naming(schema, many.target.kind))
    });
    let relationships: Map<String, Value> =
        to_one.chain(lists).map(|(name, schema)| (name.to_owned(), schema)).collect();
    if !relationships.is_empty() {
        properties["relationships"] = json!({
            "type": "object",
            "description": "The records that the record refers to, and those that belong to it.",
            "additionalProperties": false,
            "properties": relationships,
        });
    }
    if resource.has_own_route() {
        required.push("links");
        properties["links"] = reference("schemas", "links");
    }
    if resource.versioned {
        required.push("meta");
        properties["meta"] = match beside_version(resource).next() {
            Some(_) => meta_with(resource),
            None => reference("schemas", VERSION),
        };
    }
    let mut record = json!({
        "type": "object",
        "description": format!("A record of the type {kind}: the {}.", resource.singular),
        "required": required,
        "properties": properties,
        "example": record(resource, &all),
    });
    presentation::of_record(&mut record, resource);
    let example = json!({
        "links": {"self": record_path(resource, 1, ROOT)},
        "data": record["example"],
    });
    let mut document = document("A record.", named(resource, "resource"), example);
    document["properties"]["included"] = included(resource);
    if let Some(name) = version_beside(resource) {
        document["properties"]["meta"] = json!({
            "type": "object",
            "description": "Only in the answer to the request that creates the record.",
            "required": [name],
            "properties": {name: described(
                schema::key(),
                "The version that the whole has with the new record.",
            )},
        });
    }
    let mut schemas = vec![
        (name(resource, "attributes"), attributes(resource, &all)),
        (name(resource, "resource"), record),
    ];
    if resource.has_own_route() || is_entry(resource) {
        schemas.push((name(resource, "document"), document));
    }
    schemas
}

/// Whether a request answers with one of these records although there is no route to read one.
fn is_entry(resource: &Resource) -> bool {
    let mut special = SERVICES.iter().flat_map(|service| service.special);
    special.any(|of| matches!(of.answer, Answer::Entry(given) if std::ptr::eq(given, resource)))
}

/// The records beside those of a resource. Parts have forms of their own.
fn included(resource: &Resource) -> Value {
    let parts = resource.parts.iter().map(|part| named(part, "resource"));
    match resource.parts {
        [] => reference("schemas", "included"),
        _ => json!({
            "type": "array",
            "description": "The related records that the client asked for.",
            "maxItems": MAX_INCLUDED,
            "items": {"anyOf": parts.chain([reference("schemas", "resource")]).collect::<Vec<_>>()},
        }),
    }
}

/// What records have in their `meta` beside their version.
fn beside_version(resource: &Resource) -> impl Iterator<Item = &'static Field> {
    let Resource { meta, derived_meta, .. } = *resource;
    let derived = derived_meta.map_or(&[][..], |derived| derived.members);
    resource.fields().filter(move |field| meta.contains(&field.name)).chain(derived)
}

/// The `meta` of records that have something beside their version.
fn meta_with(resource: &Resource) -> Value {
    let properties = beside_version(resource).map(|field| {
        let meaning = meaning(resource.schema_name(), resource.kind, field.name);
        let schema = output(&Field { nullable: false, ..*field });
        (field.name.to_owned(), described(explained(schema, resource), meaning))
    });
    let mut schema = json!({
        "allOf": [reference("schemas", VERSION)],
        "type": "object",
        "description": "The version of the record, and what else is known of it.",
        "properties": properties.collect::<Map<String, Value>>(),
    });
    let always = beside_version(resource).filter(|field| !field.nullable);
    let always: Vec<&str> = always.map(|field| field.name).collect();
    if !always.is_empty() {
        schema["required"] = json!(always);
    }
    schema
}

/// A schema with what the members of its objects mean.
fn explained(mut schema: Value, resource: &Resource) -> Value {
    for at in ["/properties", "/items/properties", "/additionalProperties/properties"] {
        let members = schema.pointer_mut(at).and_then(Value::as_object_mut);
        for (name, member) in members.into_iter().flatten() {
            let meaning = meaning(resource.schema_name(), resource.kind, name);
            *member = described(explained(member.take(), resource), meaning);
        }
    }
    schema
}

/// The schema of all records that a request has changed.
pub(super) fn records(resource: &'static Resource) -> (String, Value) {
    let all: Vec<&Field> = resource.list.iter().chain(resource.detail).collect();
    let data = json!({
        "type": "array",
        "description": "The records, in the order in which the request first names them.",
        "items": named(resource, "resource"),
    });
    let example = json!({
        "links": {"self": format!("{ROOT}/{}/adjust", resource.kind)},
        "data": [record(resource, &all)],
    });
    let schema = document("The changed records, each once.", data, example);
    (name(resource, "records"), schema)
}

/// The schema of a list of records.
pub(super) fn list(resource: &'static Resource) -> (String, Value) {
    let kind = resource.kind;
    let shown: Vec<&Field> = if resource.lists_all() {
        resource.detail.iter().collect()
    } else {
        resource.list.iter().collect()
    };
    let key = resource.shows_key.then_some(resource.key);
    let names: Vec<&str> = key.into_iter().chain(shown.iter().map(|field| field.name)).collect();
    let path = resource.listed_at.unwrap_or(kind);
    let schema = json!({
        "type": "object",
        "description": format!(
            "A page of records. Without fields[{kind}], each has {}.", names.join(", ")
        ),
        "required": ["links", "data", "meta"],
        "properties": {
            "links": reference("schemas", "links"),
            "data": {
                "type": "array",
                "description": "The records of the page.",
                "items": named(resource, "resource"),
            },
            "included": included(resource),
            "meta": reference("schemas", "meta"),
        },
        "example": {
            "links": {"self": format!("{ROOT}/{path}")},
            "data": [record(resource, &shown)],
            "meta": {"total-pages": 1, "total": 1},
        },
    });
    (name(resource, "list"), schema)
}

fn name(resource: &Resource, suffix: &str) -> String {
    format!("{}.{suffix}", resource.schema_name())
}

/// The member of `meta` with the version of the record that this one is part of.
fn version_beside(resource: &Resource) -> Option<&'static str> {
    let services = SERVICES.iter().filter(|service| std::ptr::eq(service.of, resource));
    services.flat_map(|service| service.special).find_map(|special| match special.answer {
        Answer::Part(_, name) => Some(name),
        _ => None,
    })
}

/// An example of a record with these fields.
fn record(resource: &Resource, fields: &[&Field]) -> Value {
    let kind = resource.kind;
    let key = resource.shows_key.then(|| (resource.key.to_owned(), json!(1)));
    let shown = fields.iter().map(|field| {
        (field.name.to_owned(), examples::value(resource, resource.schema_name(), field))
    });
    let attributes: Map<String, Value> = key.into_iter().chain(shown).collect();
    let mut record = json!({"type": kind, "id": "1", "attributes": attributes});
    let related = fields.iter().copied().chain(resource.hidden).filter_map(Field::relationship);
    let related: Map<String, Value> =
        related.map(|related| (related.name.to_owned(), json!({"data": null}))).collect();
    if !related.is_empty() {
        record["relationships"] = json!(related);
    }
    if resource.has_own_route() {
        record["links"] = json!({"self": record_path(resource, 1, ROOT)});
    }
    if resource.versioned {
        record["meta"] = json!({VERSION: 1});
    }
    for field in beside_version(resource).filter(|field| !field.nullable) {
        record["meta"][field.name] = json!(0);
    }
    record
}

/// The attributes of a record.
fn attributes(resource: &Resource, fields: &[&Field]) -> Value {
    let meaning = |name: &str| meaning(resource.schema_name(), resource.kind, name);
    let mut properties = json!({});
    if resource.shows_key {
        let key = presentation::of_key(schema::key());
        properties[resource.key] = described(key, meaning(resource.key));
    }
    for field in fields {
        let schema = presentation::of_field(output(field), field);
        let mut schema = described(explained(schema, resource), meaning(field.name));
        if matches!(field.access, Access::ReadOnly | Access::Touched) {
            schema["readOnly"] = json!(true);
        }
        if resource.shown.picture == Some(field.name) {
            schema["x-picture"] = json!(true);
        }
        if meaning(field.name).contains("Deprecated:") {
            schema["deprecated"] = json!(true);
        }
        properties[field.name] = schema;
    }
    json!({
        "type": "object",
        "description": "The fields of the record.",
        "additionalProperties": false,
        "properties": properties,
        "example": record(resource, fields)["attributes"],
    })
}

/// The `meta` of a report, and an example of its members beyond those of a list.
pub(super) fn report_meta(report: &Report) -> (Value, Map<String, Value>) {
    let (row, example) = columns(report.of, report.view, report.totals);
    let row = json!({
        "type": "object",
        "description": "The sums of all rows.",
        "required": row.keys().collect::<Vec<_>>(),
        "additionalProperties": false,
        "properties": row,
    });
    let (totals, example) = if report.by_currency {
        (json!({"type": "array", "items": row}), json!([example]))
    } else {
        (row, json!(example))
    };
    let day = |text: &str| json!({"type": "string", "format": "date", "description": text});
    let mut properties = common::totals();
    let sums = "The sums of the whole range, for each currency.";
    properties["totals"] =
        if report.by_currency { described(totals.clone(), sums) } else { totals.clone() };
    let mut beside = Map::new();
    if report.of_days {
        properties["range"] = json!({
            "type": "object",
            "description": "The days that the report covers.",
            "required": ["date_from", "date_to"],
            "properties": {"date_from": day("The first day."), "date_to": day("The last day.")},
        });
        let range = json!({"date_from": "2026-01-01", "date_to": "2026-01-31"});
        beside.insert("range".to_owned(), range);
    }
    beside.insert("totals".to_owned(), example.clone());
    if report.previous {
        let sums = "The sums of the preceding range of the same length, for each currency.";
        properties["previous"] = described(totals, sums);
        beside.insert("previous".to_owned(), example);
    }
    let required: Vec<&String> = properties.as_object().into_iter().flat_map(Map::keys).collect();
    let meta = json!({
        "type": "object",
        "description": "How long the whole report is, and its sums.",
        "required": required,
        "properties": properties,
    });
    (meta, beside)
}

/// The schemas of fields, and an example of each.
fn columns(
    of: &Resource,
    view: &str,
    fields: &[Field],
) -> (Map<String, Value>, Map<String, Value>) {
    let columns = fields.iter().map(|field| {
        let schema = presentation::of_field(output(field), field);
        let mut schema = described(schema, meaning(view, of.kind, field.name));
        schema["readOnly"] = json!(true);
        let example = examples::value(of, view, field);
        ((field.name.to_owned(), schema), (field.name.to_owned(), example))
    });
    columns.unzip()
}

/// The schemas of a list of computed records: their attributes do not include a key.
pub(super) fn of_computed(
    of: &Resource,
    view: &str,
    fields: &[Field],
    meta: Value,
    beside: Map<String, Value>,
) -> [(String, Value); 3] {
    let (properties, example) = columns(of, view, fields);
    let kind = of.kind;
    let mut page = common::object(json!({"total-pages": 1, "total": 1}));
    page.extend(beside);
    let row = json!({"type": kind, "id": "1", "attributes": example});
    let attributes = json!({
        "type": "object",
        "description": "What the row shows.",
        "additionalProperties": false,
        "properties": properties,
        "example": example,
    });
    let mut record = json!({
        "type": "object",
        "description": "A row, which is computed and has no route of its own.",
        "required": ["type", "id", "attributes"],
        "properties": {
            "type": {"type": "string", "const": kind, "description": "The type of the row."},
            "id": {"type": "string", "description": "What identifies the row."},
            "attributes": reference("schemas", &format!("{view}.attributes")),
        },
        "example": row,
    });
    presentation::of_row(&mut record, of);
    let list = json!({
        "type": "object",
        "description": "A page of rows.",
        "required": ["links", "data", "meta"],
        "properties": {
            "links": reference("schemas", "links"),
            "data": {
                "type": "array",
                "description": "The rows of the page.",
                "items": reference("schemas", &format!("{view}.resource")),
            },
            "meta": meta,
        },
        "example": {
            "links": {"self": format!("{ROOT}/{}", view.replace('.', "/"))},
            "data": [row],
            "meta": page,
        },
    });
    [
        (format!("{view}.attributes"), attributes),
        (format!("{view}.resource"), record),
        (format!("{view}.list"), list),
    ]
}

/// The schemas of the record whose attributes are the parameters of the site.
pub(super) fn of_configuration(resource: &Resource) -> [(String, Value); 3] {
    let kind = resource.kind;
    let declared = parameters::declared();
    let example: Map<String, Value> = declared
        .iter()
        .map(|parameter| (parameter.name.clone(), parameter.default.clone()))
        .collect();
    let example = json!({"type": kind, "id": "1", "attributes": example,
        "links": {"self": format!("{ROOT}/{kind}")}});
    let properties: Map<String, Value> =
        declared.iter().map(|parameter| (parameter.name.clone(), value_of(parameter))).collect();
    let attributes = json!({
        "type": "object",
        "description": "The parameters of the store.",
        "properties": properties,
        "example": example["attributes"],
    });
    let record = json!({
        "type": "object",
        "description": "The configuration.",
        "required": ["type", "id", "attributes", "links"],
        "properties": {
            "type": {"type": "string", "const": kind, "description": "The type of the record."},
            "id": {"type": "string", "const": "1", "description": "There is one record only."},
            "attributes": named(resource, "attributes"),
            "links": reference("schemas", "links"),
        },
        "example": example,
    });
    let example = json!({"links": example["links"], "data": example});
    let document = document("The configuration.", named(resource, "resource"), example);
    [
        (name(resource, "attributes"), attributes),
        (name(resource, "resource"), record),
        (name(resource, "document"), document),
    ]
}

/// The values of a parameter. Its description is the one that administrators see.
fn value_of(parameter: &Parameter) -> Value {
    let limits = &parameter.limits;
    let integer = || {
        let mut schema = json!({"type": "integer", "format": "int64"});
        let limits = [("minimum", &limits.least), ("maximum", &limits.greatest)];
        for (name, limit) in limits {
            if let Some(limit) = limit.as_ref().and_then(|limit| limit.parse::<i64>().ok()) {
                schema[name] = json!(limit);
            }
        }
        schema
    };
    let mut schema = match parameter.kind {
        ParameterKind::Text | ParameterKind::Decimal => json!({"type": "string"}),
        ParameterKind::Integer => integer(),
        ParameterKind::Flag => json!({"type": "integer", "enum": [0, 1]}),
        ParameterKind::IntegerList => json!({"type": "array", "items": integer()}),
        ParameterKind::Secret => {
            let hidden = "A secret, which is null here whether it is set or not.";
            let schema = json!({"type": "null", "readOnly": true});
            return described(schema, &format!("{} {hidden}", parameter.description));
        }
        _ => json!({}),
    };
    if let Some(length) = limits.length {
        let list = parameter.kind == ParameterKind::IntegerList;
        schema[if list { "maxItems" } else { "maxLength" }] = json!(length);
    }
    schema["readOnly"] = json!(true);
    described(schema, &parameter.description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_described_as_null() {
        let schema = value_of(&Parameter::secret("key", "The key.").max_length(40));
        let description = "The key. A secret, which is null here whether it is set or not.";
        let expected = json!({"type": "null", "readOnly": true, "description": description});
        assert_eq!(schema, expected);
    }
}
