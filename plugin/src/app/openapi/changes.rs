//! The route of the feed of changes in the OpenAPI document: its parameters and its schemas.

use serde_json::{Value, json};

use super::common::{CURSOR, query, reference, words};
use super::schema::{self, described};
use crate::resources::REGISTRY;
use crate::wire::following::{AFTER, DEFAULT_SIZE, MAX_SIZE, SIZE, TYPES};

/// The schema of a page.
pub(super) const PAGE: &str = "changes.list";

/// The parameters.
pub(super) fn parameters() -> [Value; 4] {
    let kinds: Vec<&str> = REGISTRY.followed().map(|resource| resource.kind).collect();
    let mut types = words(
        TYPES,
        "The types to follow, with commas between them; all that the user may view without this parameter.",
        &kinds,
    );
    types["example"] = json!(["orders", "products"]);
    [
        types,
        query(
            SIZE,
            &format!("How many records the page has at most; {MAX_SIZE} if it is greater."),
            json!({"type": "integer", "minimum": 1, "default": DEFAULT_SIZE}),
            json!(DEFAULT_SIZE),
        ),
        json!({
            "name": AFTER,
            "in": "query",
            "description": "The cursor that links.next of the page before has. Without it, the client \
                first gets all records, and then the changes since.",
            // Only the store can make one, so there is no example.
            "schema": {"type": "string", "pattern": CURSOR},
        }),
        json!({
            "name": "Prefer",
            "in": "header",
            "description": "wait=N holds an empty answer open for up to N seconds, 1 to 60, until there \
                is a change. The host may answer at once.",
            "schema": {"type": "string"},
            "example": "wait=30",
        }),
    ]
}

/// The schemas.
pub(super) fn schemas() -> [(String, Value); 2] {
    let deleted = json!({
        "type": "object",
        "description": "A record that does not exist any more.",
        "required": ["type", "id", "meta"],
        "additionalProperties": false,
        "properties": {
            "type": {"type": "string", "description": "The type of the record."},
            "id": {"type": "string", "description": "The key of the record, as text."},
            "meta": {
                "type": "object",
                "description": "That it is deleted, and since when.",
                "required": ["deleted", "changed_at"],
                "properties": {
                    "deleted": {"type": "boolean", "const": true, "description": "Always true."},
                    "changed_at": described(
                        schema::moment(),
                        "When the feed noticed the deletion, in UTC.",
                    ),
                },
            },
        },
        "example": deleted_example(),
    });
    let page = json!({
        "type": "object",
        "description": "A page of the feed. An empty one is the end for now.",
        "required": ["links", "data"],
        "properties": {
            "links": {
                "type": "object",
                "description": "Paths without the name of the host.",
                "required": ["self", "next"],
                "properties": {
                    "self": {"type": "string", "description": "This page."},
                    "next": {
                        "type": "string",
                        "description": "Where to go on, now or later. It is on every page.",
                    },
                },
            },
            "data": {
                "type": "array",
                "description": "The records, each in its present state with all fields.",
                "items": {"anyOf": [
                    reference("schemas", "resource"),
                    reference("schemas", "changes.deleted"),
                ]},
            },
        },
        "example": {
            "links": {
                "self": "/api/index.php/v1/shop/changes?filter%5Btypes%5D=orders",
                "next": "/api/index.php/v1/shop/changes?filter%5Btypes%5D=orders&page%5Bafter%5D=\
                    MmY1ZTE",
            },
            "data": [deleted_example()],
        },
    });
    [("changes.deleted".to_owned(), deleted), (PAGE.to_owned(), page)]
}

fn deleted_example() -> Value {
    json!({
        "type": "orders",
        "id": "7",
        "meta": {"deleted": true, "changed_at": "2026-01-31T09:30:00"},
    })
}
