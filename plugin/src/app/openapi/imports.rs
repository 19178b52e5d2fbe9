//! The route of imports in the OpenAPI document: its parameters, the forms of a file and of the report about it, and
//! what a page for people needs to know.

use serde_json::{Value, json};

use super::common::{file, named, permission, query, reference, switch, word};
use crate::resources::REGISTRY;
use crate::service::call::{Rights, VIEW};
use crate::wire::document::MEDIA_TYPE;
use crate::wire::importing::{
    DRY_RUN, FROM_LINE, KEY, MODE, MODES, ON_ERROR, ON_ERRORS, PREVIEW, REPORT, REPORTS, TYPE,
    importable,
};
use crate::wire::table::{CSV, NDJSON};

/// The description of the route.
pub(super) const DESCRIPTION: &str = "Every record of the file is written as by a request of its own, and reported \
    with its line. Sending a file again is safe. Needs the permissions store.create and store.edit on the type, or \
    the one that the mode needs.";

/// The parameters.
pub(super) fn parameters() -> Vec<Value> {
    let kinds: Vec<&str> = importable(REGISTRY).map(|resource| resource.kind).collect();
    let mut kind = query(
        TYPE,
        "The type of the records.",
        json!({"type": "string", "enum": kinds}),
        json!("manufacturers"),
    );
    kind["required"] = json!(true);
    vec![
        kind,
        word(
            MODE,
            "Whether records are changed if they exist and created otherwise, or only one of both.",
            &MODES,
            "create",
        ),
        query(
            KEY,
            "The field by which records are found: id, or a unique one, which is the default.",
            json!({"type": "string"}),
            json!("id"),
        ),
        switch(DRY_RUN, "1 does everything, and undoes it: the report is that of the import."),
        query(
            FROM_LINE,
            "The line of the file from which on it is imported.",
            json!({"type": "integer", "minimum": 1, "default": 1}),
            json!(1),
        ),
        word(
            ON_ERROR,
            "Whether the first line that fails ends the import.",
            &ON_ERRORS,
            ON_ERRORS[0],
        ),
        word(
            REPORT,
            "Whether the report has all lines, or only those that fail.",
            &REPORTS,
            REPORTS[0],
        ),
        switch(
            PREVIEW,
            "1 begins the report with a line with the member preview: the columns as they are understood, and \
                the first records.",
        ),
        json!({
            "name": "Import-Of",
            "in": "header",
            "description": "The id of an interrupted import, which this one goes on with: what came before \
                from_line must be the same.",
            // Only a store with such an import accepts one.
            "schema": {"type": "integer", "minimum": 1},
        }),
    ]
}

/// What the host's page for people needs: the types with their permissions, and what it sends beside them.
pub(super) fn page() -> Value {
    let types = importable(REGISTRY).map(|resource| {
        let rights = ["store.create", "store.edit"].map(|action| Rights::to(action, resource));
        let permissions: Vec<Value> = rights.iter().map(permission).collect();
        json!({"name": resource.kind, "title": resource.title(), "permissions": permissions})
    });
    json!({
        "type": TYPE,
        "types": types.collect::<Vec<_>>(),
        "dry_run": format!("{DRY_RUN}=1&{PREVIEW}=1"),
        "always": format!("{REPORT}={}", REPORTS[1]),
    })
}

/// The permissions of which one is enough for reading what is known of imports.
pub(super) fn permissions_to_read() -> Value {
    importable(REGISTRY).map(|resource| permission(&Rights::to(VIEW, resource))).collect()
}

/// The forms of the file.
pub(super) fn body() -> Value {
    json!({
        "required": true,
        "content": {
            NDJSON: file(
                "A line for each record, an object of its fields.",
                "{\"manufacturer_name\":\"Birch and Oak\"}\n",
            ),
            CSV: file(
                "A line with the names of the fields, then a line for each record, with commas, semicolons or \
                 tabs between the cells.",
                "manufacturer_name,ordering\r\nBirch and Oak,1\r\n",
            ),
        },
    })
}

/// The forms of the answer.
pub(super) fn content() -> Value {
    let document = REGISTRY
        .find("imports")
        .map_or_else(|| reference("schemas", "resource"), |imports| named(imports, "document"));
    json!({
        NDJSON: file(
            "A line for each line of the file: line, key, result, id, version and errors; at last one with the \
             member summary. Empty lines are signs of life.",
            "{\"line\":1,\"key\":null,\"result\":\"created\",\"id\":27,\"version\":1}\n\
             {\"summary\":{\"read\":1,\"created\":1,\"updated\":0,\"unchanged\":0,\"failed\":0,\
             \"committed_lines\":1,\"seconds\":0}}\n",
        ),
        MEDIA_TYPE: {"schema": document},
    })
}
