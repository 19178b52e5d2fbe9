//! Schemas of resources and of computed lists: attributes of rows and of records, documents, and
//! bodies.

use host_interface::Method;
use serde_json::{Map, Value, json};

use super::common::{named, reference};
use super::schema::{self, example_of, output};
use crate::model::field::{Access, Field};
use crate::model::relation::Many;
use crate::model::resource::{Report, Resource, VERSION};
use crate::resources::{REGISTRY, SERVICES};
use crate::service::hooks::{Gives, Service, Special};

/// The schemas of a resource: its attributes in lists and in single documents, its documents, and
/// its bodies.
pub(super) fn of(resource: &'static Resource) -> Map<String, Value> {
    let kind = resource.kind;
    let of = resource.schema_name();
    let schema = |name: &str| named(resource, name);
    let list: Vec<&Field> = resource.list.iter().collect();
    let shown: Vec<&Field> = resource.list.iter().chain(resource.detail).collect();
    let relationships = |fields: &[&Field]| -> Map<String, Value> {
        let related = fields.iter().copied().chain(resource.hidden).map(Field::relationship);
        let schema = || reference("schemas", "relationship");
        related.flatten().map(|related| (related.name.to_owned(), schema())).collect()
    };
    let object = |attributes: &str, fields: &[&Field]| {
        let mut required = vec!["type", "id", "attributes"];
        let mut properties = json!({
            "type": {"const": kind},
            "id": {"type": "string", "pattern": "^[0-9]+$"},
            "attributes": schema(attributes),
        });
        let always = relationships(fields);
        if !always.is_empty() {
            required.push("relationships");
        }
        // Others are shown where their records are included.
        let mut relationships = relationships(&shown);
        let lists = Many::of(resource, REGISTRY).map(|many| many.nested.segment.to_owned());
        let list = || reference("schemas", "relationship.list");
        relationships.extend(lists.map(|name| (name, list())));
        if !relationships.is_empty() {
            properties["relationships"] = json!({
                "type": "object",
                "required": always.keys().collect::<Vec<_>>(),
                "properties": relationships,
                "additionalProperties": false,
            });
        }
        if resource.has_own_route() {
            required.push("links");
        }
        properties["links"] = reference("schemas", "links");
        if resource.versioned {
            required.push("meta");
            properties["meta"] = reference("schemas", VERSION);
        }
        json!({"type": "object", "required": required, "properties": properties})
    };
    let record = |fields: &[&Field]| {
        let mut record = json!({"type": kind, "id": "1"});
        record["attributes"] = example(resource, fields);
        let related = relationships(fields).into_iter();
        let related: Map<String, Value> =
            related.map(|(name, _)| (name, json!({"data": null}))).collect();
        if !related.is_empty() {
            record["relationships"] = json!(related);
        }
        if resource.has_own_route() {
            record["links"] = json!({"self": format!("/api/index.php/v1/shop/{kind}/1")});
        }
        if resource.versioned {
            record["meta"] = json!({VERSION: 1});
        }
        record
    };
    let mut schemas = Map::new();
    let mut add = |name: &str, schema: Value| schemas.insert(format!("{of}.{name}"), schema);
    add("row", attributes(resource, &list));
    add("record", attributes(resource, &shown));
    add(
        "list",
        json!({
            "type": "object",
            "required": ["links", "data", "meta"],
            "properties": {
                "links": reference("schemas", "links"),
                "data": {"type": "array", "items": object("row", &list)},
                "included": reference("schemas", "included"),
                "meta": reference("schemas", "meta"),
            },
            "example": {
                "links": {"self": format!("/api/index.php/v1/shop/{kind}")},
                "data": [record(&list)],
                "meta": {"total-pages": 1, "total": 1},
            },
        }),
    );
    let specials = || SERVICES.iter().flat_map(|service| service.special);
    let taken = specials().filter_map(|special| special.takes);
    let mut brought = REGISTRY.iter().chain(taken).filter_map(|other| other.brings);
    if !resource.crud && brought.any(|brings| std::ptr::eq(brings.of, resource)) {
        add("new", body(resource, true));
    }
    let mut all = specials().map(|special| special.gives);
    if all.any(|gives| matches!(gives, Gives::All(given) if std::ptr::eq(given, resource))) {
        add(
            "records",
            json!({
                "type": "object",
                "required": ["links", "data"],
                "properties": {
                    "links": reference("schemas", "links"),
                    "data": {"type": "array", "items": object("record", &shown)},
                },
                "example": {
                    "links": {"self": format!("/api/index.php/v1/shop/{kind}/adjust")},
                    "data": [record(&shown)],
                },
            }),
        );
    }
    if resource.has_own_route() {
        let mut document = json!({
            "type": "object",
            "required": ["links", "data"],
            "properties": {
                "links": reference("schemas", "links"),
                "data": object("record", &shown),
                "included": reference("schemas", "included"),
            },
            "example": {
                "links": {"self": format!("/api/index.php/v1/shop/{kind}/1")},
                "data": record(&shown),
            },
        });
        if let Some(name) = version_beside(resource) {
            document["properties"]["meta"] = json!({
                "type": "object",
                "description": "Only in the answer to the request that creates the record.",
                "required": [name],
                "properties": {name: {"type": "integer", "minimum": 1}},
            });
        }
        add("document", document);
    }
    let is_posted = special(resource).iter().any(|special| special.method == Method::Post);
    if resource.crud || is_posted {
        add("new", body(resource, true));
    }
    if resource.crud {
        add("change", body(resource, false));
    }
    schemas
}

/// The service that the resource's file defines; `None` for a view of a resource.
fn service(resource: &Resource) -> Option<&'static Service> {
    SERVICES.iter().find(|service| std::ptr::eq(service.of, resource))
}

fn special(resource: &Resource) -> &'static [Special] {
    service(resource).map_or(&[], |service| service.special)
}

/// The member of `meta` with the version of the record that this one is part of.
fn version_beside(resource: &Resource) -> Option<&'static str> {
    special(resource).iter().find_map(|special| match special.gives {
        Gives::Part(_, name) => Some(name),
        Gives::One(_) | Gives::All(_) | Gives::Computed(..) | Gives::Report(_) | Gives::Open => {
            None
        }
    })
}

/// The `meta` of a report, and an example of its members beyond those of a list.
pub(super) fn report_meta(report: &Report) -> (Value, Map<String, Value>) {
    let (row, example) = columns(report.totals);
    let row = json!({"type": "object", "required": row.keys().collect::<Vec<_>>(),
        "additionalProperties": false, "properties": row});
    let (totals, example) = match report.by_currency {
        true => (json!({"type": "array", "items": row}), json!([example])),
        false => (row, json!(example)),
    };
    let day = json!({"type": "string", "format": "date"});
    let mut properties = json!({
        "total-pages": {"type": "integer", "minimum": 0},
        "total": {"type": "integer", "minimum": 0},
        "totals": totals,
    });
    let mut beside = Map::new();
    if report.of_days {
        properties["range"] = json!({
            "type": "object",
            "required": ["date_from", "date_to"],
            "properties": {"date_from": day, "date_to": day},
        });
        let range = json!({"date_from": "2026-01-01", "date_to": "2026-01-31"});
        beside.insert("range".to_owned(), range);
    }
    beside.insert("totals".to_owned(), example.clone());
    if report.previous {
        properties["previous"] = totals;
        beside.insert("previous".to_owned(), example);
    }
    let required: Vec<String> = match &properties {
        Value::Object(properties) => properties.keys().cloned().collect(),
        _ => Vec::new(),
    };
    let meta = json!({"type": "object", "required": required, "properties": properties});
    (meta, beside)
}

/// The schemas of fields, and an example of each.
fn columns(fields: &[Field]) -> (Map<String, Value>, Map<String, Value>) {
    let properties = fields
        .iter()
        .map(|field| (field.name.to_owned(), output(field.kind, field.nullable)))
        .collect();
    let example = fields.iter().map(|field| (field.name.to_owned(), example_of(field))).collect();
    (properties, example)
}

/// The schemas of a list of computed records: their attributes do not include a key.
pub(super) fn of_computed(
    view: &Resource,
    name: &str,
    fields: &[Field],
    meta: Value,
    beside: Map<String, Value>,
) -> [(String, Value); 2] {
    let (properties, example) = columns(fields);
    let mut page = Map::from_iter([("total-pages".to_owned(), json!(1))]);
    page.insert("total".to_owned(), json!(1));
    page.extend(beside);
    let row = json!({
        "type": "object",
        "required": properties.keys().collect::<Vec<_>>(),
        "additionalProperties": false,
        "properties": properties,
        "example": example,
    });
    let list = json!({
        "type": "object",
        "required": ["links", "data", "meta"],
        "properties": {
            "links": reference("schemas", "links"),
            "data": {"type": "array", "items": {
                "type": "object",
                "required": ["type", "id", "attributes"],
                "properties": {
                    "type": {"const": view.kind},
                    "id": {"type": "string"},
                    "attributes": reference("schemas", &format!("{name}.row")),
                },
            }},
            "meta": meta,
        },
        "example": {
            "links": {"self": format!("/api/index.php/v1/shop/{}", view.kind)},
            "data": [{"type": view.kind, "id": "1", "attributes": example}],
            "meta": page,
        },
    });
    [(format!("{name}.row"), row), (format!("{name}.list"), list)]
}

fn attributes(resource: &Resource, fields: &[&Field]) -> Value {
    let mut properties = Map::new();
    properties.insert(resource.key.to_owned(), json!({"type": "integer", "minimum": 1}));
    for field in fields {
        properties.insert(field.name.to_owned(), output(field.kind, field.nullable));
    }
    let required: Vec<&String> = properties.keys().collect();
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
        "example": example(resource, fields),
    })
}

/// The body that a client may send.
fn body(resource: &Resource, new: bool) -> Value {
    let may_set = |field: &&Field| match field.access {
        Access::Open => true,
        Access::Once => new,
        Access::ReadOnly | Access::Touched => false,
    };
    let fields: Vec<&Field> = resource.fields().filter(may_set).collect();
    let mut properties = Map::new();
    // Where creating a record means completing another one, the client gives its key.
    let gives_key = new && service(resource).is_some_and(|service| service.create.is_some());
    if gives_key {
        properties.insert(resource.key.to_owned(), json!({"type": "integer", "minimum": 1}));
    }
    for field in &fields {
        properties.insert(field.name.to_owned(), schema::input(field));
    }
    // A client may send back what it has read, so fields that only the server sets are accepted and
    // ignored.
    let shown = resource.list.iter().chain(resource.detail).map(|field| field.name);
    for name in std::iter::once(resource.key).chain(shown) {
        let ignored = || json!({"readOnly": true, "description": "Ignored."});
        properties.entry(name).or_insert_with(ignored);
    }
    if let Some(brings) = resource.brings.filter(|_| new) {
        let items = named(brings.of, "new");
        properties.insert(brings.name.to_owned(), json!({"type": "array", "items": items}));
    }
    let mut schema = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    });
    let mut required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name).collect();
    if gives_key {
        required.push(resource.key);
    }
    let shown: Vec<&&Field> = fields.iter().filter(|field| !new || field.required).collect();
    let mut example: Map<String, Value> = shown
        .into_iter()
        .take(if new { usize::MAX } else { 1 })
        .map(|field| (field.name.to_owned(), example_of(field)))
        .collect();
    if new && !required.is_empty() {
        if gives_key {
            example.insert(resource.key.to_owned(), json!(1));
        }
        schema["required"] = json!(required);
    }
    schema["example"] = Value::Object(example);
    schema
}

fn example(resource: &Resource, fields: &[&Field]) -> Value {
    let mut example = Map::new();
    example.insert(resource.key.to_owned(), json!(1));
    example.extend(fields.iter().map(|field| (field.name.to_owned(), example_of(field))));
    Value::Object(example)
}
