//! The OpenAPI 3.1 document of the store, made from the resources and the routes. Knows nothing of
//! any resource in particular.

pub mod schema;

use host_interface::Method;
use serde_json::{Map, Value, json};

use crate::app::{Endpoint, Operation};
use crate::error::FaultKind;
use crate::model::resource::{Access, Field, Filter, Gives, Report, Resource, Special, Test};
use crate::resources;
use crate::wire::document::MEDIA_TYPE;
use crate::wire::request::{DEFAULT_LIMIT, MAX_LIMIT, MAX_SOUGHT};
use schema::{example_of, output};

/// The document for a store whose routes are mounted at `root`.
pub fn document(endpoints: &[Endpoint], root: &str) -> Value {
    let mut paths = Map::new();
    for endpoint in endpoints {
        let path = format!("/{}", endpoint.path.replace("{id:digits}", "{id}"));
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            let method = endpoint.method.as_str().to_lowercase();
            entry.insert(method, operation(endpoint));
        }
    }
    let mut schemas = Map::new();
    for resource in resources::ALL {
        let special = resource.special.iter().flat_map(|special| {
            let given = match special.gives {
                Gives::New(given) | Gives::One(given) => Some(given),
                Gives::Computed(..) | Gives::Report(_) | Gives::Open => None,
            };
            given.into_iter().chain(special.takes)
        });
        // What has no table has no schema of its own.
        let own = Some(resource).filter(|resource| !resource.table.is_empty());
        for resource in own.into_iter().chain(special.map(|view| view())) {
            schemas.extend(schemas_of(resource));
        }
    }
    for special in resources::ALL.iter().flat_map(|resource| resource.special) {
        match special.gives {
            Gives::Computed(view, fields) => {
                let view = view();
                let meta = reference("schemas", "meta");
                let beside = Map::new();
                schemas.extend(computed_schemas(view, view.schema_name(), fields, meta, beside));
            }
            Gives::Report(report) => {
                let (meta, beside) = report_meta(report);
                schemas.extend(computed_schemas(
                    (report.of)(),
                    report.view,
                    report.row,
                    meta,
                    beside,
                ));
            }
            Gives::New(_) | Gives::One(_) | Gives::Open => {}
        }
    }
    schemas.extend(common_schemas());
    schemas.extend(schema::of_json().map(|(name, schema)| (name.to_owned(), schema)));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Online store",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An online store's data as JSON:API. Every request needs the header \
                Accept: application/vnd.api+json, and a bearer token. Money and other decimals are \
                strings and exact.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": root}],
        "security": [{"token": []}],
        "tags": resources::ALL.iter().map(tag).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {
                "type": "http",
                "scheme": "bearer",
                "description": "The API token of one of the host's users.",
            }},
            "parameters": common_parameters(),
            "responses": error_responses(),
            "schemas": schemas,
        },
    })
}

/// A group of routes: its name for programs, and the one that people are shown.
fn tag(resource: &Resource) -> Value {
    json!({"name": resource.kind, "x-displayName": resource.title()})
}

/// The errors that any route may answer, then those of some.
const ERRORS: [(&str, &str, FaultKind); 9] = [
    ("BadRequest", "The query, a header or the body is malformed.", FaultKind::InvalidParameter),
    (
        "Unauthorised",
        "The token is missing or wrong, or its user has no access to the API.",
        FaultKind::Forbidden,
    ),
    ("Forbidden", "The user lacks the permission.", FaultKind::Forbidden),
    ("NotFound", "There is no such record.", FaultKind::NotFound),
    ("NotAcceptable", "The Accept header does not name the media type.", FaultKind::Forbidden),
    (
        "UnsupportedEncoding",
        "The body is compressed or otherwise encoded.",
        FaultKind::UnsupportedEncoding,
    ),
    ("Unprocessable", "A value breaks a rule.", FaultKind::InvalidValue),
    ("Internal", "The store failed to answer.", FaultKind::Internal),
    ("Unavailable", "The store is temporarily unavailable; try again.", FaultKind::Unavailable),
];

fn operation(endpoint: &Endpoint) -> Value {
    let resource = endpoint.resource();
    let mut responses = Map::new();
    let one = || named(resource, "document");
    let list = || named(resource, "list");
    let (status, what, schema) = match endpoint.operation {
        Operation::List(_) | Operation::Nested(..) => ("200", "A page of records", Some(list())),
        Operation::Show(_) => ("200", "The record", Some(one())),
        Operation::Create(_) => ("201", "The new record", Some(one())),
        Operation::Update(_) => ("200", "The changed record", Some(one())),
        Operation::Delete(_) => ("204", "The record is deleted", None),
        Operation::Special(_, special) => match special.gives {
            Gives::New(given) => ("201", "The new record", Some(named(given(), "document"))),
            Gives::One(given) => ("200", "The record", Some(named(given(), "document"))),
            Gives::Computed(view, _) => ("200", "A page of records", Some(named(view(), "list"))),
            Gives::Report(report) => {
                let schema = reference("schemas", &format!("{}.list", report.view));
                ("200", "A page of rows, and the sums of all", Some(schema))
            }
            Gives::Open => ("200", "The record", Some(reference("schemas", "any.document"))),
        },
    };
    let mut success = json!({"description": what});
    if let Some(schema) = schema {
        success["content"] = json!({MEDIA_TYPE: {"schema": schema}});
    }
    if status == "201" {
        success["headers"] = json!({"Location": {
            "description": "The path of the record, or of the list that contains it.",
            "schema": {"type": "string"},
        }});
    }
    responses.insert(status.to_owned(), success);
    let with_id = endpoint.path.contains("{id");
    let is_list = match endpoint.operation {
        Operation::List(_) | Operation::Nested(..) => true,
        Operation::Special(_, special) => {
            matches!(special.gives, Gives::Computed(..) | Gives::Report(_))
        }
        _ => false,
    };
    for (status, name, applies) in [
        ("400", "BadRequest", true),
        ("401", "Unauthorised", true),
        ("403", "Forbidden", endpoint.action.is_some()),
        // A list below a record that does not exist is empty, but an id of other than digits is
        // the path of no route.
        ("404", "NotFound", with_id),
        ("406", "NotAcceptable", true),
        ("415", "UnsupportedEncoding", matches!(endpoint.method, Method::Post | Method::Patch)),
        ("422", "Unprocessable", endpoint.method != Method::Get || is_list),
        ("500", "Internal", true),
        ("503", "Unavailable", true),
    ] {
        if applies {
            responses.insert(status.to_owned(), reference("responses", name));
        }
    }
    let mut operation = json!({
        "operationId": endpoint.name,
        "summary": summary(endpoint),
        "tags": [resource.kind],
        "parameters": parameters(endpoint, with_id, is_list),
        "responses": responses,
    });
    if matches!(endpoint.method, Method::Post | Method::Patch) {
        let input = match endpoint.method {
            Method::Post => "new",
            _ => "change",
        };
        let taken = match endpoint.operation {
            Operation::Special(_, special) => special.takes.map_or(resource, |taken| taken()),
            _ => resource,
        };
        let schema = named(taken, input);
        operation["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": schema}},
        });
    }
    if let Some(action) = endpoint.action {
        let needs = format!("Needs the permission {action} on {}.", endpoint.asset);
        operation["description"] = json!(needs);
        operation["x-permission"] = json!({"action": action, "asset": endpoint.asset});
    }
    operation
}

fn summary(endpoint: &Endpoint) -> String {
    let Resource { singular, .. } = endpoint.resource();
    let all = endpoint.resource().title().to_lowercase();
    match endpoint.operation {
        Operation::List(_) => format!("List {all}"),
        Operation::Show(_) => format!("Read one {singular}"),
        Operation::Create(_) => format!("Create one {singular}"),
        Operation::Update(_) => format!("Change one {singular}"),
        Operation::Delete(_) => format!("Delete one {singular}"),
        Operation::Nested(_, nested) => {
            let above = resources::find(nested.parent).map_or("record", |parent| parent.singular);
            format!("List the {} of one {above}", nested.segment)
        }
        Operation::Special(_, Special { gives: Gives::New(_), .. }) => {
            format!("Add one {singular}")
        }
        Operation::Special(_, Special { gives: Gives::Computed(..), .. }) => {
            format!("List your own {all}")
        }
        Operation::Special(_, Special { gives: Gives::Report(_), name, .. }) => {
            format!("Report on {name}")
        }
        Operation::Special(_, Special { takes: Some(taken), .. }) => {
            format!("Add one {} of a {singular}", taken().singular)
        }
        Operation::Special(..) => format!("Read the {singular}"),
    }
}

fn parameters(endpoint: &Endpoint, with_id: bool, is_list: bool) -> Vec<Value> {
    let mut parameters = Vec::new();
    if with_id {
        parameters.push(reference("parameters", "id"));
    }
    if !is_list {
        return parameters;
    }
    let resource = match endpoint.operation {
        Operation::Special(_, Special { gives: Gives::Computed(view, _), .. }) => view(),
        Operation::Special(_, Special { gives: Gives::Report(report), .. }) => (report.of)(),
        _ => endpoint.resource(),
    };
    parameters.push(reference("parameters", "page.offset"));
    parameters.push(reference("parameters", "page.limit"));
    if !resource.list.is_empty() {
        parameters.extend(ordering(resource));
    }
    let only = match endpoint.operation {
        Operation::Nested(_, nested) => Some(nested.filters),
        _ => None,
    };
    let taken = |filter: &&Filter| only.is_none_or(|only: &[&str]| only.contains(&filter.name));
    parameters.extend(resource.filters.iter().filter(taken).map(|filter| query(resource, filter)));
    parameters
}

fn ordering(resource: &Resource) -> [Value; 2] {
    let columns: Vec<&str> =
        std::iter::once(resource.key).chain(resource.list.iter().map(|field| field.name)).collect();
    let by = json!({
        "name": "list[ordering]",
        "in": "query",
        "description": "The field to order by.",
        "schema": {"type": "string", "enum": columns},
        "example": resource.key,
    });
    [by, reference("parameters", "list.direction")]
}

fn query(resource: &Resource, filter: &Filter) -> Value {
    let (description, schema, example) = match filter.test {
        Test::Contains(fields) => {
            let fields = fields.join(", ");
            let text = format!("Text that occurs anywhere in {fields}; case is ignored.");
            let schema = schema::sought(MAX_SOUGHT);
            (text, schema, json!("lamp"))
        }
        Test::From(field) => {
            let day = schema::or_empty(schema::input_day());
            (format!("The first day of {field}."), day, json!("2026-01-01"))
        }
        Test::To(field) => {
            let day = schema::or_empty(schema::input_day());
            (format!("The last day of {field}."), day, json!("2026-01-31"))
        }
        Test::Equals(name) => {
            let field = resource.fields().find(|field| field.name == name);
            let schema = field.map_or_else(|| json!({}), |field| schema::filter(field.kind));
            let example = field.map_or(Value::Null, example_of);
            (format!("The value of {name}."), schema, example)
        }
    };
    json!({
        "name": format!("filter[{}]", filter.name),
        "in": "query",
        "description": description,
        "schema": schema,
        "example": example,
    })
}

fn common_parameters() -> Value {
    json!({
        "id": {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "The key of the record; digits only.",
            "schema": {"type": "integer", "minimum": 0},
            "example": 1,
        },
        "page.offset": {
            "name": "page[offset]",
            "in": "query",
            "description": "How many records to skip.",
            "schema": {"type": "integer", "minimum": 0, "default": 0},
            "example": 20,
        },
        "page.limit": {
            "name": "page[limit]",
            "in": "query",
            "description": format!(
                "How many records to return; more than {MAX_LIMIT} counts as {MAX_LIMIT}."
            ),
            "schema": {"type": "integer", "minimum": 1, "default": DEFAULT_LIMIT},
            "example": 20,
        },
        "list.direction": {
            "name": "list[direction]",
            "in": "query",
            "description": "Ascending or descending.",
            "schema": {"type": "string", "enum": ["asc", "desc"], "default": "asc"},
            "example": "desc",
        },
    })
}

fn error_responses() -> Value {
    let responses = ERRORS.iter().map(|(name, description, kind)| {
        // What the host answers has its own codes; the rest is of the table of errors.
        let (status, code, title) = match *name {
            "Unauthorised" => (401, "unauthorised", "Unauthorised"),
            "NotAcceptable" => (406, "not_acceptable", "Not acceptable"),
            _ => kind.row(),
        };
        let error = json!({
            "status": status, "code": code, "title": title, "detail": description,
        });
        let response = json!({
            "description": description,
            "content": {MEDIA_TYPE: {
                "schema": reference("schemas", "errors"),
                "example": {"errors": [error]},
            }},
        });
        ((*name).to_owned(), response)
    });
    Value::Object(responses.collect())
}

fn common_schemas() -> Map<String, Value> {
    let link = json!({"type": "string", "format": "uri-reference"});
    let schemas = json!({
        "links": {
            "type": "object",
            "required": ["self"],
            "properties": {
                "self": link, "first": link, "prev": link, "next": link, "last": link,
            },
            "example": {"self": "/api/index.php/v1/shop/zones"},
        },
        "meta": {
            "type": "object",
            "required": ["total-pages", "total"],
            "properties": {
                "total-pages": {"type": "integer", "minimum": 0},
                "total": {"type": "integer", "minimum": 0},
            },
            "example": {"total-pages": 3, "total": 45},
        },
        "relationship": {
            "type": "object",
            "description": "The records that this record refers to.",
            "required": ["data"],
            "properties": {
                "links": {"type": "object", "properties": {"related": link}},
                "data": {
                    "type": ["object", "null"],
                    "required": ["type", "id"],
                    "properties": {"type": {"type": "string"}, "id": {"type": "string"}},
                },
            },
            "example": {
                "links": {"related": "/api/index.php/v1/shop/countries/84"},
                "data": {"type": "countries", "id": "84"},
            },
        },
        "any.document": {
            "type": "object",
            "required": ["links", "data"],
            "properties": {
                "links": reference("schemas", "links"),
                "data": {
                    "type": "object",
                    "required": ["type", "id", "attributes"],
                    "properties": {
                        "type": {"type": "string"},
                        "id": {"type": "string"},
                        "attributes": {"type": "object"},
                    },
                },
            },
            "example": {
                "links": {"self": "/api/index.php/v1/shop/config"},
                "data": {"type": "config", "id": "1", "attributes": {"default_currency": "EUR"}},
            },
        },
        "errors": {
            "type": "object",
            "required": ["errors"],
            "properties": {"errors": {"type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["status", "code", "title", "detail"],
                "properties": {
                    "status": {"type": "integer"},
                    "code": {"type": "string"},
                    "title": {"type": "string"},
                    "detail": {"type": "string"},
                    "source": {
                        "type": "object",
                        "properties": {
                            "pointer": {"type": "string"},
                            "parameter": {"type": "string"},
                            "header": {"type": "string"},
                        },
                    },
                },
            }}},
            "example": {"errors": [{
                "status": 422,
                "code": "invalid_value",
                "title": "Invalid value",
                "detail": "enabled must be 0 or 1.",
                "source": {"pointer": "/enabled"},
            }]},
        },
    });
    match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    }
}

/// The schemas of a resource: its attributes in lists and alone, its documents, and its bodies.
fn schemas_of(resource: &Resource) -> Map<String, Value> {
    let kind = resource.kind;
    let of = resource.schema_name();
    let schema = |name: &str| named(resource, name);
    let list: Vec<&Field> = resource.list.iter().collect();
    let all: Vec<&Field> = resource.list.iter().chain(resource.detail).collect();
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
        let relationships = relationships(fields);
        if !relationships.is_empty() {
            required.push("relationships");
            properties["relationships"] = json!({
                "type": "object",
                "required": relationships.keys().collect::<Vec<_>>(),
                "properties": relationships,
                "additionalProperties": false,
            });
        }
        if resource.crud {
            required.push("links");
        }
        properties["links"] = reference("schemas", "links");
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
        if resource.crud {
            record["links"] = json!({"self": format!("/api/index.php/v1/shop/{kind}/1")});
        }
        record
    };
    let mut schemas = Map::new();
    let mut add = |name: &str, schema: Value| schemas.insert(format!("{of}.{name}"), schema);
    add("row", attributes(resource, &list));
    add("record", attributes(resource, &all));
    add(
        "list",
        json!({
            "type": "object",
            "required": ["links", "data", "meta"],
            "properties": {
                "links": reference("schemas", "links"),
                "data": {"type": "array", "items": object("row", &list)},
                "meta": reference("schemas", "meta"),
            },
            "example": {
                "links": {"self": format!("/api/index.php/v1/shop/{kind}")},
                "data": [record(&list)],
                "meta": {"total-pages": 1, "total": 1},
            },
        }),
    );
    let brought = resources::ALL.iter().filter_map(|other| other.brings);
    if !resource.crud && brought.into_iter().any(|brings| (brings.of)().kind == kind) {
        add("new", body(resource, true));
    }
    let writes_history = resource.special.iter().any(|special| special.method == Method::Post);
    if resource.crud || writes_history {
        add(
            "document",
            json!({
                "type": "object",
                "required": ["links", "data"],
                "properties": {"links": reference("schemas", "links"), "data": object("record", &all)},
                "example": {
                    "links": {"self": format!("/api/index.php/v1/shop/{}", read_at(resource))},
                    "data": record(&all),
                },
            }),
        );
        add("new", body(resource, true));
    }
    if resource.crud {
        add("change", body(resource, false));
    }
    schemas
}

/// Where the record of a document is read: by itself, or in the list that it was added to.
fn read_at(resource: &Resource) -> String {
    let added = resource.special.iter().find(|special| matches!(special.gives, Gives::New(_)));
    match added.filter(|_| !resource.crud) {
        Some(special) => special.path.replace("{id:digits}", "1"),
        None => format!("{}/1", resource.kind),
    }
}

/// What stands in `meta` of a report, and an example of what it has beside the usual.
fn report_meta(report: &Report) -> (Value, Map<String, Value>) {
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

/// The schemas of fields, and an example of them.
fn columns(fields: &[Field]) -> (Map<String, Value>, Map<String, Value>) {
    let properties = fields
        .iter()
        .map(|field| (field.name.to_owned(), output(field.kind, field.nullable)))
        .collect();
    let example = fields.iter().map(|field| (field.name.to_owned(), example_of(field))).collect();
    (properties, example)
}

/// The schemas of a list whose records are worked out: they have no key among their attributes.
fn computed_schemas(
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

/// What a client may send.
fn body(resource: &Resource, new: bool) -> Value {
    let may_set = |field: &&Field| match field.access {
        Access::Open => true,
        Access::Once => new,
        Access::ReadOnly | Access::Touched => false,
    };
    let fields: Vec<&Field> = resource.fields().filter(may_set).collect();
    let mut properties = Map::new();
    // Where a record is made in the place of another one, the client gives its key.
    let gives_key = new && resource.create.is_some();
    if gives_key {
        properties.insert(resource.key.to_owned(), json!({"type": "integer", "minimum": 1}));
    }
    for field in &fields {
        properties.insert(field.name.to_owned(), schema::input(field));
    }
    // What was read may be sent back: a field that the server sets is there to be ignored.
    let shown = resource.list.iter().chain(resource.detail).map(|field| field.name);
    for name in std::iter::once(resource.key).chain(shown) {
        let ignored = || json!({"readOnly": true, "description": "Ignored."});
        properties.entry(name).or_insert_with(ignored);
    }
    if let Some(brings) = resource.brings.filter(|_| new) {
        let items = named((brings.of)(), "new");
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

/// A schema of a resource.
fn named(resource: &Resource, name: &str) -> Value {
    reference("schemas", &format!("{}.{name}", resource.schema_name()))
}

fn reference(of: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{of}/{name}")})
}
