//! The parts of the OpenAPI document that routes share: parameters, and the schemas around every
//! record.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::schema::{self, described};
use crate::model::field::Field;
use crate::model::resource::{Resource, VERSION};
use crate::model::value::Kind;
use crate::service::call::Rights;
use crate::wire::ids::{DIGITS, IDS, MAX_IDS};
use crate::wire::included::MAX_INCLUDED;
use crate::wire::request::{AFTER, DEFAULT_LIMIT, MAX_LIMIT, MODIFIED_SINCE};

/// An `Idempotency-Key`: 1 to 255 visible characters, or as many within quotes.
const KEY: &str = "^(\"|[!#-~][!-~]{0,254}|\"[!-~]{0,253}[!#-~]|\"[!-~]{1,255}\")$";

/// A cursor of a list of changed records or of the feed.
pub(super) const CURSOR: &str = "^[0-9A-Za-z_-]+$";

/// The parameters that routes share.
pub(super) fn parameters() -> Map<String, Value> {
    let key = format!("[0-9]{{1,{DIGITS}}}");
    let keys = format!("^{key}(,{key}){{0,{}}}$", MAX_IDS - 1);
    object(json!({
        "if-match": {
            "name": "If-Match",
            "in": "header",
            "description": "The ETag of the record that you have read, or in quotes its meta.version: \
                the record is changed only if it still has that version. Several are separated by \
                commas; * stands for any. The site may require it for PATCH and DELETE.",
            "schema": {"type": "string"},
            "example": "\"1\"",
        },
        "if-none-match": {
            "name": "If-None-Match",
            "in": "header",
            "description": "The ETag of the content that you have: if it is still the same, the \
                answer is 304 without a body. Several are separated by commas.",
            "schema": {"type": "string"},
            "example": "W/\"3c1-9a0364b9e99bb480\"",
        },
        "idempotency-key": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A key of your choice, such as a UUID, that no other request of yours has: a \
                request that is sent again under its key is not done again, and gets the first answer. \
                Quotes around it do not count.",
            "schema": {"type": "string", "pattern": KEY},
            "example": "8e03978e-40d5-43e8-bc93-6894a57f9324",
        },
        "page.offset": {
            "name": "page[offset]",
            "in": "query",
            "description": "How many records to skip.",
            "schema": {"type": "integer", "minimum": 0, "default": 0},
            "example": 20,
        },
        "page.limit": {
            "name": "page[limit]",
            "in": "query",
            "description": format!("How many records to return; more than {MAX_LIMIT} counts as {MAX_LIMIT}."),
            "schema": {"type": "integer", "minimum": 1, "default": DEFAULT_LIMIT},
            "example": 20,
        },
        "filter.id": {
            "name": IDS,
            "in": "query",
            "description": format!("Only the records with these keys, up to {MAX_IDS}, separated by commas. \
                Those that are not there are left out."),
            "schema": schema::or_empty(json!({"type": "string", "pattern": keys})),
            "example": "1,2",
            "x-keys": true,
        },
        "filter.modified_since": {
            "name": MODIFIED_SINCE,
            "in": "query",
            "description": "Only records that have changed at this moment or later, in the order of \
                their changes unless another one is given. Follow links.next to the last page, and send \
                its meta.as_of next time. In the order of changes there is no page[offset].",
            "schema": schema::or_empty(schema::input_moment()),
            "example": "2026-01-31T12:00:00",
        },
        "page.after": {
            "name": AFTER,
            "in": "query",
            "description": "Only with filter[modified_since], in the order of changes: the cursor that \
                links.next of the page before has.",
            // Only a store can make a cursor, so there is no example.
            "schema": {"type": "string", "pattern": CURSOR},
        },
        "list.direction": {
            "name": "list[direction]",
            "in": "query",
            "description": "Ascending, which is the default with list[ordering], or descending.",
            "schema": {"type": "string", "enum": ["asc", "desc"]},
            "example": "desc",
        },
    }))
}

/// The schemas that do not belong to a resource.
pub(super) fn schemas() -> Map<String, Value> {
    let link = |description: &str| json!({"type": "string", "format": "uri-reference", "description": description});
    let related = json!({
        "type": "object",
        "description": "Where the related records are.",
        "required": ["related"],
        "properties": {"related": link("The path of the related record, or of the list of them.")},
    });
    object(json!({
        "links": {
            "type": "object",
            "description": "Paths without the name of the host.",
            "required": ["self"],
            "properties": {
                "self": link("The path of what has the link, with the parameters that count."),
                "first": link("The first page."),
                "prev": link("The page before, if there is one; not in a list of changes."),
                "next": link("The next page, if there is one."),
                "last": link("The last page; not in a list of changes."),
            },
            "example": {"self": "/api/index.php/v1/shop/zones"},
        },
        "meta": {
            "type": "object",
            "description": "How long the whole list is.",
            "required": ["total-pages", "total"],
            "properties": {
                "total-pages": totals()["total-pages"],
                "total": totals()["total"],
                "as_of": described(
                    schema::moment(),
                    "Only with filter[modified_since]: the moment to send next time. It is never later \
                     than what this page and those before it have shown.",
                ),
            },
            "example": {"total-pages": 3, "total": 45},
        },
        "version": {
            "type": "object",
            "description": "The version of the record, for If-Match.",
            "required": [VERSION],
            "properties": {VERSION: described(
                schema::key(),
                "1 for a new record, and one more after each change.",
            )},
            "example": {VERSION: 1},
        },
        "identifier": {
            "type": "object",
            "description": "A record, by its type and its id.",
            "required": ["type", "id"],
            "properties": {
                "type": {"type": "string", "description": "The type of the record."},
                "id": {"type": "string", "description": "The key of the record, as text."},
            },
            "example": {"type": "countries", "id": "84"},
        },
        "relationship": {
            "type": "object",
            "description": "The record that this record refers to.",
            "required": ["data"],
            "properties": {
                "links": related,
                "data": {
                    "anyOf": [reference("schemas", "identifier"), {"type": "null"}],
                    "description": "The record; null is none.",
                },
            },
            "example": {
                "links": {"related": "/api/index.php/v1/shop/countries/84"},
                "data": {"type": "countries", "id": "84"},
            },
        },
        "relationship.list": {
            "type": "object",
            "description": "The records that belong to this record.",
            "required": ["links"],
            "properties": {
                "links": related,
                "data": {
                    "type": "array",
                    "description": "The records, if the answer includes them.",
                    "items": reference("schemas", "identifier"),
                },
            },
            "example": {
                "links": {"related": "/api/index.php/v1/shop/orders/7/items"},
                "data": [{"type": "orderitems", "id": "1"}],
            },
        },
        "resource": {
            "type": "object",
            "description": "A record of any type; its schema is that of the data in a document of \
                the type.",
            "required": ["type", "id", "attributes"],
            "properties": {
                "type": {"type": "string", "description": "The type of the record."},
                "id": {"type": "string", "description": "The key of the record, as text."},
                "attributes": {"type": "object", "description": "The fields of the record."},
                "relationships": {
                    "type": "object",
                    "description": "The records that the record refers to, and those that belong \
                        to it.",
                },
                "links": reference("schemas", "links"),
                "meta": reference("schemas", VERSION),
            },
            "example": {
                "type": "taxprofiles",
                "id": "1",
                "attributes": {"shop_taxprofile_id": 1, "taxprofile_name": "Standard", "enabled": 1},
                "links": {"self": "/api/index.php/v1/shop/taxprofiles/1"},
                "meta": {VERSION: 1},
            },
        },
        "included": {
            "type": "array",
            "description": "The related records that the client asked for.",
            "maxItems": MAX_INCLUDED,
            "items": reference("schemas", "resource"),
            "example": [],
        },
        "errors": {
            "type": "object",
            "description": "Why the request failed.",
            "required": ["errors"],
            "properties": {
                "errors": {
                    "type": "array",
                    "description": "Every fault of the request.",
                    "minItems": 1,
                    "items": reference("schemas", "error"),
                },
                "links": {
                    "type": "object",
                    "description": "Only with the error cursor_expired.",
                    "required": ["first"],
                    "properties": {"first": link("Where a client starts over.")},
                },
            },
            "example": {"errors": [failed()]},
        },
        "error": {
            "type": "object",
            "description": "A fault of the request.",
            "required": ["status", "code", "title", "detail"],
            "properties": {
                "status": {
                    "type": "integer",
                    "minimum": 400,
                    "maximum": 599,
                    "description": "The status of HTTP. The answer has the lowest of its errors.",
                },
                "code": {
                    "type": "string",
                    "pattern": "^[a-z_]+$",
                    "description": "The kind of fault, for programs: its meaning never changes.",
                },
                "title": {"type": "string", "description": "The kind of fault in words."},
                "detail": {"type": "string", "description": "The fault, as a sentence for people."},
                "source": {
                    "type": "object",
                    "description": "The part of the request that has the fault.",
                    "properties": {
                        "pointer": {
                            "type": "string",
                            "format": "json-pointer",
                            "description": "The place in the body.",
                        },
                        "parameter": {
                            "type": "string",
                            "description": "The name of the parameter of the query.",
                        },
                        "header": {"type": "string", "description": "The name of the header."},
                    },
                },
                "meta": {
                    "type": "object",
                    "description": "What a program needs to go on.",
                    "properties": {"current_version": described(
                        schema::key(),
                        "The version of a record that has another one than the client expects.",
                    ), "quantity": described(
                        schema::count(),
                        "How many pieces are in stock where a change of the stock is refused.",
                    ), "open": described(
                        json!({"anyOf": [
                            schema::count(),
                            {"type": "array", "items": {"type": "string"}},
                        ]}),
                        "How many pieces of an item are open where more are to be shipped, or the \
                         references of the orders that keep a person from being erased.",
                    ), "variants": {
                        "type": "array",
                        "description": "The variants that have the stock of a product.",
                        "items": schema::key(),
                    }, "left": {
                        "type": "object",
                        "description": "What can be given back where more is to be: how much, and of \
                            an item how many pieces.",
                        "required": ["amount"],
                        "properties": {
                            "quantity": described(
                                schema::count(),
                                "How many pieces of the item.",
                            ),
                            "amount": described(
                                schema::output(&Field::of_kind("amount", Kind::MONEY)),
                                "How much, of the item, the shipping or the order.",
                            ),
                        },
                    }},
                },
            },
            "example": failed(),
        },
    }))
}

/// The members that the `meta` of every list has.
pub(super) fn totals() -> Value {
    json!({
        "total-pages": described(schema::count(), "How many pages there are of this length."),
        "total": described(schema::count(), "How many records there are on all pages."),
    })
}

fn failed() -> Value {
    json!({
        "status": 422,
        "code": "invalid_value",
        "title": "Invalid value",
        "detail": "enabled must be 0 or 1.",
        "source": {"pointer": "/enabled"},
    })
}

/// The members of an object.
pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// A document: its links, and its data.
pub(super) fn document(description: &str, data: Value, example: Value) -> Value {
    json!({
        "type": "object",
        "description": description,
        "required": ["links", "data"],
        "properties": {"links": reference("schemas", "links"), "data": data},
        "example": example,
    })
}

/// The content of a body or an answer that is a file.
pub(super) fn file(description: &str, example: &str) -> Value {
    json!({
        "schema": {"type": "string", "format": "binary", "description": description},
        "example": example,
    })
}

/// A parameter of a query.
pub(super) fn query(name: &str, description: &str, schema: Value, example: Value) -> Value {
    json!({
        "name": name,
        "in": "query",
        "description": description,
        "schema": schema,
        "example": example,
    })
}

/// A parameter of a query that is one of these words; nothing is the first.
pub(super) fn word(name: &str, description: &str, words: &[&str], example: &str) -> Value {
    let schema = json!({"type": "string", "enum": words, "default": words.first()});
    query(name, description, schema, json!(example))
}

/// A parameter of a query that is 1 for on.
pub(super) fn switch(name: &str, description: &str) -> Value {
    let schema = json!({"type": "integer", "enum": [0, 1], "default": 0});
    query(name, description, schema, json!(0))
}

/// A parameter of a query that is a list of some of these words.
pub(super) fn words(name: &str, description: &str, words: &[impl Serialize]) -> Value {
    json!({
        "name": name,
        "in": "query",
        "description": description,
        "style": "form",
        "explode": false,
        "schema": {"type": "array", "items": {"type": "string", "enum": words}},
    })
}

/// The parameter of this name with a key in a path.
pub(super) fn id(name: &str, description: &str, example: i64) -> Value {
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": format!("{description} Digits only."),
        "schema": {"type": "integer", "minimum": 0},
        "example": example,
    })
}

/// A schema of a resource.
pub(super) fn named(resource: &Resource, name: &str) -> Value {
    reference("schemas", &format!("{}.{name}", resource.schema_name()))
}

/// A permission in a form that hosts read.
pub(super) fn permission(Rights { actions, asset }: &Rights) -> Value {
    let mut permission = json!({"action": actions.first(), "asset": asset});
    if actions.len() > 1 {
        permission["or"] = json!(&actions[1..]);
    }
    permission
}

pub(super) fn reference(of: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{of}/{name}")})
}
