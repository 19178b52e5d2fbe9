//! The route of exports in the OpenAPI document: its parameters, the forms of its answer, and what a page for people
//! needs to know.

use serde_json::{Value, json};

use super::common::{file, permission, switch, word};
use crate::model::table::Parts;
use crate::resources::{REGISTRY, exportable};
use crate::service::call::{Rights, VIEW};
use crate::wire::exporting::{COLUMNS, KEYS_OR_NAMES, PARTS, SAFE};
use crate::wire::table::{CSV, NDJSON};

/// The headers of an export beside those of every answer.
pub(super) const HEADERS: [&str; 2] = ["Content-Disposition", "Export-Cursor"];

/// The description of the route.
pub(super) const DESCRIPTION: &str = "All records of one moment as one stream, which can be imported again. \
    The route also has the filters, the order and the fields[...] of the list of the type, but neither pages \
    nor include. Needs the permission store.view on the type.";

/// The parameters.
pub(super) fn parameters() -> Vec<Value> {
    let kinds: Vec<&str> = exportable(REGISTRY).map(|resource| resource.kind).collect();
    vec![
        json!({
            "name": "type",
            "in": "path",
            "required": true,
            "description": "The type of the records.",
            "schema": {"type": "string", "enum": kinds},
            "example": "zones",
        }),
        word(
            COLUMNS,
            "Whether related records have their keys, or where they have some, names that another store knows \
             too, for example category.path.",
            &KEYS_OR_NAMES,
            KEYS_OR_NAMES[1],
        ),
        switch(
            PARTS,
            &format!(
                "1 adds the parts of the records as a last column, a list of objects: {}.",
                with_parts().join(", ")
            ),
        ),
        switch(
            SAFE,
            "1 puts an apostrophe before cells of CSV that a spreadsheet would compute. Such a file cannot be \
             imported.",
        ),
    ]
}

/// The types with parts, each with the name of these: `the items of orders`.
fn with_parts() -> Vec<String> {
    let types = exportable(REGISTRY).filter_map(|resource| {
        let parts = Parts::of(resource)?;
        Some(format!("the {} of {}", parts.children.name, resource.kind))
    });
    types.collect()
}

/// What the host's page for people needs: the types with their permissions, and the routes of their lists.
pub(super) fn page() -> Value {
    let types = exportable(REGISTRY).map(|resource| {
        json!({
            "name": resource.kind,
            "title": resource.title(),
            "permissions": [permission(&Rights::to(VIEW, resource))],
            "list": format!("{}.list", resource.kind),
        })
    });
    json!({"type": "type", "filters": true, "types": types.collect::<Vec<_>>()})
}

/// The forms of the answer.
pub(super) fn content() -> Value {
    json!({
        NDJSON: file(
            "A line with the member export, which has the type, the cursor and the moment; then a line for each \
             record, an object of its fields.",
            "{\"export\":{\"type\":\"zones\",\"cursor\":\"MmY1ZTE\",\"as_of\":\"2026-01-31T09:30:00\"}}\n\
             {\"shop_zone_id\":1,\"zone_name\":\"Zug\",\"zone_code\":\"ZG\",\"country_id\":1,\"enabled\":1}\n",
        ),
        CSV: file(
            "A line with the names of the fields, then a line for each record.",
            "shop_zone_id,zone_name,zone_code,country_id,enabled\r\n1,Zug,ZG,1,1\r\n",
        ),
    })
}
