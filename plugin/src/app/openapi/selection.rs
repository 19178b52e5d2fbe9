//! The parameters of the OpenAPI document by which a client selects fields, related records and an
//! order, as JSON:API defines them. Routes share them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::common::{reference, words};
use crate::model::field::Field;
use crate::model::parameters;
use crate::model::relation::{Many, Relation};
use crate::model::resource::Resource;
use crate::resources::REGISTRY;
use crate::wire::included::MAX_INCLUDED;
use crate::wire::view::DEEPEST;

/// The parameters of all resources.
pub(super) fn parameters() -> Map<String, Value> {
    let mut parameters = Map::new();
    for resource in REGISTRY.iter().filter(|resource| !resource.table.is_empty()) {
        let kind = resource.kind;
        for of in std::iter::once(resource).chain(resource.parts.iter().copied()) {
            parameters.insert(format!("fields.{}", of.schema_name()), fields(of));
        }
        if !resource.lists_all() {
            parameters.insert(format!("sort.{kind}"), sort(resource));
        }
        let paths = paths(resource, DEEPEST);
        if !paths.is_empty() {
            parameters.insert(format!("include.{kind}"), include(&paths));
        }
    }
    parameters
}

/// The references to the parameters that select what is shown of a resource.
pub(super) fn of(resource: &'static Resource) -> Vec<Value> {
    let mut shown = vec![resource.schema_name()];
    let paths = paths(resource, DEEPEST);
    for (_, relation) in &paths {
        let name = relation.target().schema_name();
        if !shown.contains(&name) {
            shown.push(name);
        }
    }
    let include = (!paths.is_empty()).then(|| format!("include.{}", resource.kind));
    let fields = shown.iter().map(|name| format!("fields.{name}"));
    include.into_iter().chain(fields).map(|name| reference("parameters", &name)).collect()
}

/// The parameter with the order of a list.
pub(super) fn sort(resource: &Resource) -> Value {
    let names = std::iter::once(resource.key).chain(resource.list.iter().map(|field| field.name));
    let both = names.clone().flat_map(|name| [name.to_owned(), format!("-{name}")]);
    // Generators would number the values that begin with a minus.
    let constants = names.flat_map(|name| [name.to_owned(), format!("{name}_descending")]);
    // It has no example, so that the examples of an operation can be sent together: `list[ordering]` has
    // one.
    json!({
        "name": "sort",
        "in": "query",
        "description": "The field to order by; the greatest value comes first after a minus. Not \
            together with list[ordering] or list[direction].",
        "schema": {
            "type": "string",
            "enum": both.collect::<Vec<String>>(),
            "x-enum-varnames": constants.collect::<Vec<String>>(),
        },
    })
}

/// The parameter that selects attributes of computed records.
pub(super) fn attributes(kind: &str, known: &[Field]) -> Value {
    named(kind, &known.iter().map(|field| field.name).collect::<Vec<_>>())
}

/// The parameter that selects parameters of the configuration.
pub(super) fn configuration(kind: &str) -> Value {
    let names = parameters::declared().into_iter().map(|parameter| parameter.name);
    named(kind, &names.collect::<Vec<_>>())
}

fn named(kind: &str, names: &[impl Serialize]) -> Value {
    let what = "The attributes that the answer has. Empty means none.";
    words(&format!("fields[{kind}]"), what, names)
}

fn fields(resource: &'static Resource) -> Value {
    let shown = resource.list.iter().chain(resource.detail).map(|field| field.name);
    let related = resource.fields().filter_map(|field| field.relationship());
    let related = related.map(|relationship| relationship.name);
    let lists = Many::of(resource, REGISTRY).map(|many| many.nested.segment);
    let key = resource.shows_key.then_some(resource.key);
    let names = key.into_iter().chain(shown).chain(related).chain(lists);
    let names: Vec<&str> = names.collect();
    let kind = resource.kind;
    json!({
        "name": format!("fields[{kind}]"),
        "in": "query",
        "description": format!(
            "The attributes and relationships that {kind} have in the answer; in lists, too, all of \
             them can be named. Empty means none."
        ),
        "style": "form",
        "explode": false,
        "example": [names.first()],
        "schema": {"type": "array", "items": {"type": "string", "enum": names}},
    })
}

fn include(paths: &[(String, Relation)]) -> Value {
    let names: Vec<&str> = paths.iter().map(|(name, _)| name.as_str()).collect();
    let what = format!(
        "Relationships whose records the answer includes, at most {MAX_INCLUDED}. Needs the permission to \
         read each type."
    );
    let mut include = words("include", &what, &names);
    include["example"] = json!([names.first()]);
    include
}

/// The paths of relations from a resource, each with its last relation.
fn paths(resource: &'static Resource, depth: usize) -> Vec<(String, Relation)> {
    let mut paths = Vec::new();
    for relation in Relation::of(resource, REGISTRY).filter(|_| depth > 0) {
        paths.push((relation.name().to_owned(), relation));
        for (further, last) in self::paths(relation.target(), depth - 1) {
            paths.push((format!("{}.{further}", relation.name()), last));
        }
    }
    paths
}
