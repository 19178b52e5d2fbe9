//! The OpenAPI 3.1 document of the store, generated from the resources and the routes. No resource
//! is mentioned by name but where its examples have to be true (`examples`, `properties.txt`).

mod answers;
mod bodies;
mod changes;
mod common;
mod examples;
mod exports;
mod imports;
mod links;
mod operations;
mod presentation;
mod privacy;
pub mod properties;
pub mod schema;
mod schemas;
mod selection;

use serde_json::{Map, Value, json};

use super::routes::Endpoint;
use crate::model::presentation::Group;
use crate::model::resource::{Report, Resource};
use crate::resources::{REGISTRY, SERVICES};
use crate::service::hooks::{Answer, Service};
use bodies::Form;
use common::reference;

/// The document for a store whose routes are mounted at `root`.
pub fn document(endpoints: &[Endpoint], root: &str) -> Value {
    let mut paths = Map::new();
    for endpoint in endpoints {
        let path = format!("/{}", endpoint.path.replace(":digits}", "}"));
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            let method = endpoint.method.as_str().to_lowercase();
            entry.insert(method, operations::operation(endpoint, endpoints));
        }
    }
    let mut schemas: Map<String, Value> = SERVICES.iter().flat_map(of_service).collect();
    schemas.extend(common::schemas());
    let mut parameters = common::parameters();
    parameters.extend(selection::parameters());
    let created: Vec<&Resource> = endpoints.iter().filter_map(operations::created).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Online store",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "An online store's data as JSON:API. Every request needs the header \
                Accept: application/vnd.api+json, and a bearer token. Money and other decimals are \
                strings and exact. Where a path has GET, it has HEAD as well; every path answers 405 \
                to a method that is not named here.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": root}],
        "security": [{"token": []}],
        "tags": REGISTRY.iter().map(tag).collect::<Vec<_>>(),
        "x-groups": Group::ALL.map(Group::title),
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {
                "type": "http",
                "scheme": "bearer",
                "description": "The API token of one of the host's users.",
            }},
            "headers": answers::headers(),
            "links": links::components(&created, endpoints),
            "parameters": parameters,
            "responses": answers::responses(),
            "schemas": schemas,
        },
    })
}

/// The schemas that the routes of a service use.
fn of_service(service: &Service) -> Vec<(String, Value)> {
    let own = service.of;
    let mut all = Vec::new();
    // A resource without a table has no schema of its own.
    if !own.table.is_empty() {
        all.extend(schemas::of(own));
        all.push(schemas::list(own));
    }
    all.extend(own.parts.iter().flat_map(|part| schemas::of(part)));
    if own.crud {
        all.extend(bodies::of(own, Form::New));
    }
    if own.crud || own.editable {
        all.extend(bodies::of(own, Form::Change));
    }
    for special in service.special {
        match special.answer {
            Answer::Part(given, _) | Answer::One(given) if !std::ptr::eq(given, own) => {
                all.extend(schemas::of(given));
            }
            Answer::Part(..) | Answer::One(_) | Answer::Entry(_) | Answer::Export => {}
            Answer::All(given) => all.push(schemas::records(given)),
            Answer::Computed(view, fields) => {
                let meta = reference("schemas", "meta");
                let name = view.schema_name();
                all.extend(schemas::of_computed(view, name, fields, meta, Map::new()));
            }
            Answer::Report(report) => {
                let (meta, beside) = schemas::report_meta(report);
                let &Report { of, view, row, .. } = report;
                all.extend(schemas::of_computed(of, view, row, meta, beside));
            }
            Answer::Changes => all.extend(changes::schemas()),
            Answer::Person(what) => all.extend(privacy::schemas(what)),
            Answer::Open => all.extend(schemas::of_configuration(own)),
        }
        all.extend(special.body.into_iter().flat_map(|body| bodies::of(body, Form::New)));
    }
    all
}

/// A group of routes: its technical name, and the title that people see.
fn tag(resource: &Resource) -> Value {
    json!({"name": resource.kind, "x-displayName": resource.title()})
}
