//! The OpenAPI 3.1 document of the store, generated from the resources and the routes. No resource
//! is mentioned by name.

mod common;
mod operations;
pub mod schema;
mod schemas;
mod selection;

use serde_json::{Map, Value, json};

use super::routes::Endpoint;
use crate::model::resource::Resource;
use crate::resources::{REGISTRY, SERVICES};
use crate::service::hooks::Gives;
use common::reference;

/// The document for a store whose routes are mounted at `root`.
pub fn document(endpoints: &[Endpoint], root: &str) -> Value {
    let mut paths = Map::new();
    for endpoint in endpoints {
        let path = format!("/{}", endpoint.path.replace("{id:digits}", "{id}"));
        let entry = paths.entry(path).or_insert_with(|| json!({}));
        if let Some(entry) = entry.as_object_mut() {
            let method = endpoint.method.as_str().to_lowercase();
            entry.insert(method, operations::operation(endpoint));
        }
    }
    let mut schemas = Map::new();
    for service in SERVICES {
        let special = service.special.iter().flat_map(|special| {
            let given = match special.gives {
                Gives::Part(given, _) | Gives::One(given) | Gives::All(given) => Some(given),
                Gives::Computed(..) | Gives::Report(_) | Gives::Open => None,
            };
            let brought = special.takes.and_then(|taken| taken.brings).map(|brings| brings.of);
            given.into_iter().chain(special.takes).chain(brought)
        });
        // A resource without a table has no schema of its own.
        let own = Some(service.of).filter(|resource| !resource.table.is_empty());
        for resource in own.into_iter().chain(special) {
            schemas.extend(schemas::of(resource));
        }
    }
    for special in SERVICES.iter().flat_map(|service| service.special) {
        match special.gives {
            Gives::Computed(view, fields) => {
                let meta = reference("schemas", "meta");
                let beside = Map::new();
                schemas.extend(schemas::of_computed(
                    view,
                    view.schema_name(),
                    fields,
                    meta,
                    beside,
                ));
            }
            Gives::Report(report) => {
                let (meta, beside) = schemas::report_meta(report);
                schemas.extend(schemas::of_computed(
                    report.of,
                    report.view,
                    report.row,
                    meta,
                    beside,
                ));
            }
            Gives::Part(..) | Gives::One(_) | Gives::All(_) | Gives::Open => {}
        }
    }
    schemas.extend(common::schemas());
    schemas.extend(schema::of_json().map(|(name, schema)| (name.to_owned(), schema)));
    let mut parameters = common::parameters();
    parameters.extend(selection::parameters());
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
        "tags": REGISTRY.iter().map(tag).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {
                "type": "http",
                "scheme": "bearer",
                "description": "The API token of one of the host's users.",
            }},
            "headers": common::headers(),
            "parameters": parameters,
            "responses": common::error_responses(),
            "schemas": schemas,
        },
    })
}

/// A group of routes: its technical name, and the title that people see.
fn tag(resource: &Resource) -> Value {
    json!({"name": resource.kind, "x-displayName": resource.title()})
}
