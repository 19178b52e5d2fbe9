//! Links of the OpenAPI document: from the answer with a new record to the operations on it.

use serde_json::{Map, Value, json};

use super::common::reference;
use crate::app::routes::{Endpoint, Operation};
use crate::model::resource::Resource;
use crate::model::value::Kind;

/// A link to each operation on a record that another operation creates.
pub(super) fn components(created: &[&Resource], endpoints: &[Endpoint]) -> Map<String, Value> {
    let is_led_to = |endpoint: &&Endpoint| created.iter().any(|kind| is_on(endpoint, kind));
    let links = endpoints.iter().filter(is_led_to).map(|endpoint| {
        let link = json!({
            "operationId": endpoint.name,
            "parameters": {"id": "$response.body#/data/id"},
        });
        (endpoint.name.clone(), link)
    });
    links.collect()
}

/// The references to the links from a new record.
pub(super) fn of(created: &Resource, endpoints: &[Endpoint]) -> Map<String, Value> {
    let on_it = endpoints.iter().filter(|endpoint| is_on(endpoint, created));
    on_it.map(|endpoint| (endpoint.name.clone(), reference("links", &endpoint.name))).collect()
}

/// Whether the id in the path of an operation is that of a record of this resource.
fn is_on(endpoint: &Endpoint, resource: &Resource) -> bool {
    let below = endpoint.path.strip_prefix(resource.kind);
    below.is_some_and(|below| below.starts_with("/{id"))
        && !names_user(endpoint)
        && further_keys(&endpoint.path).next().is_none()
}

/// The names of the keys in a path after the first one.
pub(super) fn further_keys(path: &str) -> impl Iterator<Item = &str> {
    let keys = path.split('{').skip(2);
    keys.map(|key| key.split([':', '}']).next().unwrap_or_default())
}

/// Whether the id in the path of an operation is that of a user of the host, as in the lists of a
/// customer.
pub(super) fn names_user(endpoint: &Endpoint) -> bool {
    let Operation::Nested(nested) = endpoint.operation else { return false };
    let mut fields = endpoint.resource().fields();
    fields.any(|field| field.name == nested.by && field.kind == Kind::User)
}
