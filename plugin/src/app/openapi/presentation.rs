//! The `x-` members by which an administration shows records: what OpenAPI has no word for.

use serde_json::{Value, json};

use crate::app::routes::{Endpoint, Operation};
use crate::model::field::Field;
use crate::model::presentation::Group;
use crate::model::resource::Resource;
use crate::model::value::Kind;
use crate::resources::REGISTRY;

/// A schema of the key of a record of this kind, or of a relationship to one.
pub(super) fn naming(mut schema: Value, kind: &str) -> Value {
    if REGISTRY.find(kind).is_some_and(Resource::has_own_route) {
        schema["x-reference"] = json!(kind);
    }
    schema
}

/// A schema of values of a field, which may be the key of a record.
pub(super) fn of_field(schema: Value, field: &Field) -> Value {
    match (field.kind, field.refers) {
        (Kind::Key(kind), _) | (_, Some(kind)) => naming(schema, kind),
        _ => schema,
    }
}

/// Adds to the schema of a computed row where people find it.
pub(super) fn of_row(schema: &mut Value, resource: &Resource) {
    let group = REGISTRY.find(resource.kind).and_then(|of| of.shown.group);
    if let Some(group) = group.map(Group::title) {
        schema["x-group"] = json!(group);
    }
}

/// Adds to the schema of a record how it is named and listed.
pub(super) fn of_record(schema: &mut Value, resource: &Resource) {
    schema["x-singular"] = json!(resource.singular);
    of_row(schema, resource);
    for (member, names) in
        [("x-label", resource.shown.label), ("x-columns", resource.shown.columns)]
    {
        if !names.is_empty() {
            schema[member] = json!(names);
        }
    }
}

/// The kinds of the records that are deleted with a record, if the route deletes one.
pub(super) fn cascade(endpoint: &Endpoint) -> Vec<&'static str> {
    let Operation::Delete = endpoint.operation else { return Vec::new() };
    let is_owned = |field: &Field| field.owned && field.kind == Kind::Key(endpoint.resource().kind);
    let owned = REGISTRY.iter().filter(|resource| resource.fields().any(is_owned));
    owned.map(|resource| resource.kind).collect()
}
