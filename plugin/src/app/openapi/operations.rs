//! Routes as operations of the OpenAPI document: parameters, bodies and responses.

use host_interface::Method;
use serde_json::{Map, Value, json};

use super::answers::{self, By};
use super::bodies::{self, Form};
use super::changes;
use super::common::{self, named, reference};
use super::examples;
use super::exports;
use super::imports;
use super::links;
use super::presentation;
use super::privacy;
use super::schema;
use super::selection;
use crate::app::routes::{Endpoint, Operation};
use crate::model::resource::{Filter, Resource, Test};
use crate::resources::REGISTRY;
use crate::service::call::Rights;
use crate::service::hooks::{Answer, Special};
use crate::wire::document::MEDIA_TYPE;
use crate::wire::request::MAX_SOUGHT;

/// The resource of the record that a route creates, if it does.
pub(super) fn created(endpoint: &Endpoint) -> Option<&'static Resource> {
    match endpoint.operation {
        Operation::Create => Some(endpoint.resource()),
        Operation::Special(Special { answer: Answer::Part(given, _), .. }) => Some(given),
        _ => None,
    }
}

/// The operation of a route, which is one of these.
pub(super) fn operation(endpoint: &Endpoint, endpoints: &[Endpoint]) -> Value {
    let resource = endpoint.resource();
    let mut responses = Map::new();
    let content = |schema| Some(json!({MEDIA_TYPE: {"schema": schema}}));
    let body = |of, name| content(named(of, name));
    let (status, what, content) = match endpoint.operation {
        Operation::List | Operation::Nested(..) => {
            ("200", "A page of records", body(resource, "list"))
        }
        Operation::Show => ("200", "The record", body(resource, "document")),
        Operation::Create => ("201", "The new record", body(resource, "document")),
        Operation::Update => ("200", "The changed record", body(resource, "document")),
        Operation::Delete => ("204", "The record is deleted", None),
        Operation::Import => ("200", "What became of each line", Some(imports::content())),
        Operation::Special(special) => match special.answer {
            Answer::Part(given, _) => ("201", "The new record", body(given, "document")),
            Answer::One(given) | Answer::Entry(given) => {
                ("200", "The record", body(given, "document"))
            }
            Answer::All(given) => ("200", "The changed records", body(given, "records")),
            Answer::Computed(view, _) => ("200", "A page of records", body(view, "list")),
            Answer::Report(report) => {
                let schema = reference("schemas", &format!("{}.list", report.view));
                ("200", "A page of rows, and the sums of all", content(schema))
            }
            Answer::Changes => ("200", "A page", content(reference("schemas", changes::PAGE))),
            Answer::Export => ("200", "All records", Some(exports::content())),
            Answer::Person(what) => {
                ("200", "What was found", content(reference("schemas", &privacy::name(what))))
            }
            Answer::Open => ("200", "The record", body(resource, "document")),
        },
    };
    let is_export =
        matches!(endpoint.operation, Operation::Special(Special { answer: Answer::Export, .. }));
    let is_import = matches!(endpoint.operation, Operation::Import);
    let mut headers = Vec::new();
    if status == "201" || is_import {
        headers.push("Location");
    }
    if endpoint.method == Method::Get {
        headers.push("Cache-Control");
    }
    if shows_version(endpoint) {
        headers.push("ETag");
    } else if is_export {
        headers.extend(exports::HEADERS);
    } else if endpoint.method == Method::Get {
        headers.push("ETag.any");
    }
    if endpoint.method != Method::Get {
        headers.push("Idempotent-Replayed");
    }
    let mut success = json!({"description": what, "headers": answers::references(&headers)});
    if let Some(content) = content {
        success["content"] = content;
    }
    if let Some(created) = created(endpoint) {
        success["links"] = json!(links::of(created, endpoints));
    }
    responses.insert(status.to_owned(), success);
    if endpoint.method == Method::Get && !is_export {
        responses.insert("304".to_owned(), reference("responses", answers::NOT_MODIFIED));
    }
    let with_id = endpoint.path.contains("{id");
    let is_list = match endpoint.operation {
        Operation::List | Operation::Nested(..) => true,
        Operation::Special(special) => {
            matches!(special.answer, Answer::Computed(..) | Answer::Report(_))
        }
        _ => false,
    };
    let has_body = matches!(endpoint.method, Method::Post | Method::Patch);
    let is_feed =
        matches!(endpoint.operation, Operation::Special(Special { answer: Answer::Changes, .. }));
    for failure in answers::FAILURES {
        let applies = match failure.by {
            By::Any => true,
            By::Reads => endpoint.method == Method::Get && !is_feed && !is_export,
            By::Feed => is_feed,
            By::Writes => endpoint.method != Method::Get,
            By::Bodies => has_body,
            By::Versions => takes_version(endpoint),
            By::Required => matches!(endpoint.operation, Operation::Update | Operation::Delete),
            By::Values => endpoint.method != Method::Get || is_list || is_feed || is_export,
        };
        if applies {
            responses.insert(failure.status(), reference("responses", failure.name));
        }
    }
    let mut operation = json!({
        "operationId": endpoint.name,
        "summary": summary(endpoint),
        "tags": [resource.kind],
        "parameters": parameters(endpoint, with_id, is_list),
        "responses": responses,
    });
    if is_import {
        operation["description"] = json!(imports::DESCRIPTION);
        operation["requestBody"] = imports::body();
        operation["x-import"] = imports::page();
    } else if has_body {
        let body = match endpoint.operation {
            Operation::Special(special) => special.body.unwrap_or(resource),
            _ => resource,
        };
        let form = if endpoint.method == Method::Post { Form::New } else { Form::Change };
        operation["requestBody"] = bodies::request(body, form);
    }
    if is_feed {
        operation["description"] =
            json!("Needs the permission store.view on each type that is named.");
    }
    if is_export {
        operation["description"] = json!(exports::DESCRIPTION);
        operation["x-export"] = exports::page();
    }
    let cascade = presentation::cascade(endpoint);
    if !cascade.is_empty() {
        operation["x-cascade"] = json!(cascade);
    }
    // Of imports, users see those of the types that they may view.
    if endpoint.service.visible.is_some() && endpoint.method == Method::Get {
        operation["x-permissions"] = imports::permissions_to_read();
    }
    if let Some(rights) = &endpoint.rights {
        let Rights { actions, asset } = rights;
        let needs = format!("Needs the permission {} on {asset}.", actions.join(" or "));
        operation["description"] = json!(needs);
        operation["x-permission"] = common::permission(rights);
    }
    operation
}

/// Whether the route answers with one record that has a version.
fn shows_version(endpoint: &Endpoint) -> bool {
    match endpoint.operation {
        Operation::Show | Operation::Create | Operation::Update => endpoint.resource().versioned,
        Operation::Special(special) => matches!(special.answer, Answer::Part(..) | Answer::One(_)),
        Operation::List | Operation::Nested(..) | Operation::Delete | Operation::Import => false,
    }
}

/// Whether the route changes the record in its path.
fn takes_version(endpoint: &Endpoint) -> bool {
    endpoint.method != Method::Get && endpoint.path.contains("{id")
}

fn summary(endpoint: &Endpoint) -> String {
    let Resource { singular, .. } = endpoint.resource();
    let all = endpoint.resource().title().to_lowercase();
    match endpoint.operation {
        Operation::List => format!("List {all}"),
        Operation::Show => format!("Read one {singular}"),
        Operation::Create => format!("Create one {singular}"),
        Operation::Update => format!("Change one {singular}"),
        Operation::Delete => format!("Delete one {singular}"),
        Operation::Nested(nested) => {
            let above = REGISTRY.find(nested.parent).map_or("record", |parent| parent.singular);
            format!("List the {} of one {above}", nested.segment)
        }
        Operation::Import => "Import a file of records".to_owned(),
        Operation::Special(special) => special.summary.to_owned(),
    }
}

/// The keys in the path: of the record, and of a part of it.
fn ids(endpoint: &Endpoint) -> impl Iterator<Item = Value> {
    let description = if links::names_user(endpoint) {
        "The key of the user of the host; 0 is the guests."
    } else {
        "The key of the record."
    };
    let first = common::id("id", description, examples::key(&endpoint.name));
    let further = links::further_keys(&endpoint.path).map(|name| {
        let example = examples::key(&format!("{}.{name}", endpoint.name));
        common::id(name, "The key of the part.", example)
    });
    std::iter::once(first).chain(further)
}

fn parameters(endpoint: &Endpoint, with_id: bool, is_list: bool) -> Vec<Value> {
    let mut parameters = Vec::new();
    if with_id {
        parameters.extend(ids(endpoint));
    }
    if takes_version(endpoint) {
        parameters.push(reference("parameters", "if-match"));
    }
    if let Operation::Special(Special { answer: Answer::Export, .. }) = endpoint.operation {
        return exports::parameters();
    }
    parameters.push(match endpoint.method {
        Method::Get => reference("parameters", "if-none-match"),
        _ => reference("parameters", "idempotency-key"),
    });
    if matches!(endpoint.operation, Operation::Import) {
        parameters.extend(imports::parameters());
    }
    if matches!(endpoint.operation, Operation::Show) {
        parameters.extend(selection::of(endpoint.resource()));
    }
    if let Operation::Special(special) = endpoint.operation {
        let kind = endpoint.resource().kind;
        match special.answer {
            Answer::Computed(_, shown) => parameters.push(selection::attributes(kind, shown)),
            Answer::Report(report) => parameters.push(selection::attributes(kind, report.row)),
            Answer::Open => parameters.push(selection::configuration(kind)),
            Answer::Changes => parameters.extend(changes::parameters()),
            _ => {}
        }
    }
    if !is_list {
        return parameters;
    }
    let resource = match endpoint.operation {
        Operation::Special(Special { answer: Answer::Computed(view, _), .. }) => view,
        Operation::Special(Special { answer: Answer::Report(report), .. }) => report.of,
        _ => endpoint.resource(),
    };
    let of_changes = matches!(endpoint.operation, Operation::List) && resource.lists_changes();
    parameters.push(if of_changes && resource.list.is_empty() {
        offset_or_changes()
    } else {
        reference("parameters", "page.offset")
    });
    parameters.push(reference("parameters", "page.limit"));
    if !resource.list.is_empty() {
        parameters.extend(ordering(resource));
        parameters.push(match endpoint.operation {
            Operation::Special(_) => selection::sort(resource),
            _ => reference("parameters", &format!("sort.{}", resource.kind)),
        });
    }
    if matches!(endpoint.operation, Operation::List | Operation::Nested(_)) {
        parameters.extend(selection::of(resource));
    }
    let only = match endpoint.operation {
        Operation::Nested(nested) => Some(nested.filters),
        _ => None,
    };
    let taken = |filter: &&Filter| only.is_none_or(|only: &[&str]| only.contains(&filter.name));
    parameters.extend(resource.filters.iter().filter(taken).map(|filter| query(resource, filter)));
    if of_changes {
        let of_all = ["filter.id", "filter.modified_since", "page.after"];
        parameters.extend(of_all.map(|name| reference("parameters", name)));
    }
    parameters
}

/// The offset of a list whose order is fixed: it has none with `filter[modified_since]`, so that only one of the two
/// has an example.
fn offset_or_changes() -> Value {
    json!({
        "name": "page[offset]",
        "in": "query",
        "description": "How many records to skip. Not with filter[modified_since].",
        "schema": {"type": "integer", "minimum": 0, "default": 0},
    })
}

fn ordering(resource: &Resource) -> [Value; 2] {
    let columns: Vec<&str> =
        std::iter::once(resource.key).chain(resource.list.iter().map(|field| field.name)).collect();
    let schema = json!({"type": "string", "enum": columns});
    let by = common::query("list[ordering]", "The field to order by.", schema, json!(resource.key));
    [by, reference("parameters", "list.direction")]
}

fn query(resource: &Resource, filter: &Filter) -> Value {
    let (description, schema, example) = match filter.test {
        Test::Contains(fields) => {
            // Some are columns made of several fields, for example the whole name of a person.
            let named = fields.iter().map(|name| match resource.position(name) {
                Some(_) => (*name).to_owned(),
                None => format!("the {}", name.replace('_', " ")),
            });
            let fields = named.collect::<Vec<_>>().join(", ");
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
        Test::OfPart(part) => {
            let text = format!(
                "The {} of the record or of one of its parts; case is ignored.",
                part.field
            );
            (text, schema::sought(MAX_SOUGHT), json!(examples::SKU))
        }
        Test::Equals(name) => {
            let field = resource.field(name);
            let schema = field.map_or_else(
                || json!({}),
                |field| presentation::of_field(schema::filter(field.kind), field),
            );
            let view = resource.schema_name();
            let example = field.map_or(Value::Null, |field| examples::value(resource, view, field));
            (format!("The value of {name}."), schema, example)
        }
    };
    let name = format!("filter[{}]", filter.name);
    let mut parameter = common::query(&name, &description, schema, example);
    // Of records that share a text, the whole is found: neither its parts, nor another view of it.
    if matches!(filter.test, Test::OfPart(part) if part.table != resource.table)
        && resource.fixed.is_empty()
    {
        parameter["x-exact"] = json!(true);
    }
    parameter
}
