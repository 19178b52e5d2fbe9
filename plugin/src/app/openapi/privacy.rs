//! The answers about persons in the OpenAPI document, which the host composes of all parts of a site.

use serde_json::{Value, json};

use super::common::document;
use super::schema::{self, described};
use crate::privacy::PLACES;
use crate::service::call::NAME;

/// The name of the schema of an answer.
pub(super) fn name(what: &str) -> String {
    format!("privacy.{what}.document")
}

/// The schema of the answer of a route with this name.
pub(super) fn schemas(what: &str) -> [(String, Value); 1] {
    let (attributes, example) =
        if what == "erase" { (erased(), erased_example()) } else { (copied(), copied_example()) };
    let path = format!("/api/index.php/v1/shop/privacy/{what}");
    let data = json!({
        "type": "object",
        "description": "The answer.",
        "required": ["type", "id", "attributes"],
        "properties": {
            "type": {"type": "string", "const": "privacy", "description": "The type."},
            "id": {"type": "string", "const": what, "description": "What was done."},
            "attributes": attributes,
        },
    });
    let example = json!({
        "links": {"self": path},
        "data": {"type": "privacy", "id": what, "attributes": example},
    });
    let description = "What the site has of a person, or what was removed of it.";
    [(name(what), document(description, data, example))]
}

fn copied() -> Value {
    json!({
        "type": "object",
        "description": "Everything that the site has of the person.",
        "required": ["person", "parts", "unknown"],
        "properties": {
            "person": {
                "type": "object",
                "description": "Who was looked for.",
                "properties": {
                    "email": {"type": "string", "description": "The address."},
                    "user": {"type": "integer", "format": "int64", "description": "The id of the user."},
                },
            },
            "parts": {
                "type": "object",
                "description": "By the name of an extension; that of the site itself is host.",
                "additionalProperties": {"type": "object", "description": "What it has, by place."},
            },
            "unknown": unknown(),
        },
    })
}

fn copied_example() -> Value {
    let order = json!({"shop_order_id": 1, "user_email": EMAIL});
    json!({
        "person": {"email": EMAIL},
        "parts": {NAME: {PLACES[0].name(): [order]}},
        "unknown": [],
    })
}

const EMAIL: &str = "mia@example.com";

fn unknown() -> Value {
    json!({
        "type": "array",
        "description": "The extensions that do not declare whether they have data of persons.",
        "items": {"type": "string", "description": "The name of an extension."},
    })
}

fn erased() -> Value {
    let counts = |what: &str| {
        json!({
            "type": "object",
            "description": what,
            "additionalProperties": described(schema::count(), "A number of records."),
        })
    };
    let part = json!({
        "type": "object",
        "description": "What happened in a part of the site.",
        "required": ["counts", "remaining", "open"],
        "properties": {
            "counts": counts("How many records were changed or removed, by place."),
            "remaining": counts(
                "How many records a second search found, by place: none, but what is kept until a day."
            ),
            "open": {
                "type": "array",
                "description": "The references of orders that are not completed.",
                "items": {"type": "string", "description": "A reference."},
            },
        },
    });
    json!({
        "type": "object",
        "description": "What was removed, or would be.",
        "required": ["parts", "unknown", "dry_run"],
        "properties": {
            "parts": {
                "type": "object",
                "description": "By the name of an extension; that of the site itself is host.",
                "additionalProperties": part,
            },
            "unknown": unknown(),
            "dry_run": {
                "type": "integer", "enum": [0, 1], "description": "Whether it was only counted.",
            },
        },
    })
}

fn erased_example() -> Value {
    let part = json!({"counts": {"orders": 1, "addresses": 1}, "remaining": {}, "open": []});
    json!({"parts": {NAME: part}, "unknown": [], "dry_run": 0})
}
