//! The parts of the OpenAPI document that routes share: parameters, errors, and the schemas around
//! every record.

use serde_json::{Map, Value, json};

use crate::error::FaultKind;
use crate::model::resource::{Resource, VERSION};
use crate::wire::document::MEDIA_TYPE;
use crate::wire::included::MAX_INCLUDED;
use crate::wire::request::{DEFAULT_LIMIT, MAX_LIMIT};

/// The parameters that routes share.
pub(super) fn parameters() -> Map<String, Value> {
    object(json!({
        "id": {
            "name": "id",
            "in": "path",
            "required": true,
            "description": "The key of the record; digits only.",
            "schema": {"type": "integer", "minimum": 0},
            "example": 1,
        },
        "if-match": {
            "name": "If-Match",
            "in": "header",
            "description": "The ETag of the record that you have read, or in quotes its meta.version: \
                the record is changed only if it still has that version. Several are separated by \
                commas; * stands for any. The site may require it for PATCH and DELETE.",
            "schema": {"type": "string"},
            "example": "\"17\"",
        },
        "idempotency-key": {
            "name": "Idempotency-Key",
            "in": "header",
            "description": "A key of your choice, such as a UUID, that no other request of yours has: a \
                request that is sent again under its key is not done again, and gets the first answer. \
                Quotes around it do not count.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
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
        "list.direction": {
            "name": "list[direction]",
            "in": "query",
            "description": "Ascending or descending.",
            "schema": {"type": "string", "enum": ["asc", "desc"], "default": "asc"},
            "example": "desc",
        },
    }))
}

/// The headers that responses share.
pub(super) fn headers() -> Value {
    json!({
        "ETag": {
            "description": "The version of the record and a digest of the document, as a strong tag.",
            "schema": {"type": "string"},
            "example": "\"17-0f343b0931126a20\"",
        },
        "Idempotent-Replayed": {
            "description": "Sent if this is the answer to an earlier request with the same \
                Idempotency-Key.",
            "schema": {"type": "string", "const": "true"},
            "example": "true",
        },
    })
}

/// The responses to requests that fail.
pub(super) fn error_responses() -> Value {
    let responses = ERRORS.iter().map(|(name, description, kind)| {
        // The codes of errors that the host answers are not in the store's table of errors.
        let (status, code, title) = match *name {
            "Unauthorised" => (401, "unauthorised", "Unauthorised"),
            "NotAcceptable" => (406, "not_acceptable", "Not acceptable"),
            _ => kind.row(),
        };
        let error = json!({
            "status": status, "code": code, "title": title, "detail": description,
        });
        let response = json!({
            "description": description,
            "content": {MEDIA_TYPE: {
                "schema": reference("schemas", "errors"),
                "example": {"errors": [error]},
            }},
        });
        ((*name).to_owned(), response)
    });
    Value::Object(responses.collect())
}

/// The schemas that do not belong to a resource.
pub(super) fn schemas() -> Map<String, Value> {
    let link = json!({"type": "string", "format": "uri-reference"});
    object(json!({
        "links": {
            "type": "object",
            "required": ["self"],
            "properties": {
                "self": link, "first": link, "prev": link, "next": link, "last": link,
            },
            "example": {"self": "/api/index.php/v1/shop/zones"},
        },
        "meta": {
            "type": "object",
            "required": ["total-pages", "total"],
            "properties": {
                "total-pages": {"type": "integer", "minimum": 0},
                "total": {"type": "integer", "minimum": 0},
            },
            "example": {"total-pages": 3, "total": 45},
        },
        "version": {
            "type": "object",
            "required": [VERSION],
            "properties": {VERSION: {
                "type": "integer",
                "minimum": 1,
                "description": "One more after each change of the record.",
            }},
            "example": {VERSION: 1},
        },
        "relationship": {
            "type": "object",
            "description": "The records that this record refers to.",
            "required": ["data"],
            "properties": {
                "links": {"type": "object", "properties": {"related": link}},
                "data": {
                    "type": ["object", "null"],
                    "required": ["type", "id"],
                    "properties": {"type": {"type": "string"}, "id": {"type": "string"}},
                },
            },
            "example": {
                "links": {"related": "/api/index.php/v1/shop/countries/84"},
                "data": {"type": "countries", "id": "84"},
            },
        },
        "relationship.list": {
            "type": "object",
            "description": "The records that belong to this record; its data if they are included.",
            "required": ["links"],
            "properties": {
                "links": {"type": "object", "required": ["related"], "properties": {"related": link}},
                "data": {"type": "array", "items": {
                    "type": "object",
                    "required": ["type", "id"],
                    "properties": {"type": {"type": "string"}, "id": {"type": "string"}},
                }},
            },
            "example": {
                "links": {"related": "/api/index.php/v1/shop/orders/7/items"},
                "data": [{"type": "orderitems", "id": "1"}],
            },
        },
        "included": {
            "type": "array",
            "description": "The related records that the client asked for.",
            "maxItems": MAX_INCLUDED,
            "items": {
                "type": "object",
                "required": ["type", "id", "attributes", "links"],
                "properties": {
                    "type": {"type": "string"},
                    "id": {"type": "string"},
                    "attributes": {"type": "object"},
                    "relationships": {"type": "object"},
                    "links": reference("schemas", "links"),
                },
            },
            "example": [{
                "type": "taxprofiles",
                "id": "1",
                "attributes": {"shop_taxprofile_id": 1, "taxprofile_name": "Standard", "enabled": 1},
                "links": {"self": "/api/index.php/v1/shop/taxprofiles/1"},
            }],
        },
        "any.document": {
            "type": "object",
            "required": ["links", "data"],
            "properties": {
                "links": reference("schemas", "links"),
                "data": {
                    "type": "object",
                    "required": ["type", "id", "attributes"],
                    "properties": {
                        "type": {"type": "string"},
                        "id": {"type": "string"},
                        "attributes": {"type": "object"},
                    },
                },
            },
            "example": {
                "links": {"self": "/api/index.php/v1/shop/config"},
                "data": {"type": "config", "id": "1", "attributes": {"default_currency": "EUR"}},
            },
        },
        "errors": {
            "type": "object",
            "required": ["errors"],
            "properties": {"errors": {"type": "array", "minItems": 1, "items": {
                "type": "object",
                "required": ["status", "code", "title", "detail"],
                "properties": {
                    "status": {"type": "integer"},
                    "code": {"type": "string"},
                    "title": {"type": "string"},
                    "detail": {"type": "string"},
                    "source": {
                        "type": "object",
                        "properties": {
                            "pointer": {"type": "string"},
                            "parameter": {"type": "string"},
                            "header": {"type": "string"},
                        },
                    },
                    "meta": {
                        "type": "object",
                        "description": "What a program needs to go on, such as the current_version \
                            of a record that has another one than the client expects.",
                    },
                },
            }}},
            "example": {"errors": [{
                "status": 422,
                "code": "invalid_value",
                "title": "Invalid value",
                "detail": "enabled must be 0 or 1.",
                "source": {"pointer": "/enabled"},
            }]},
        },
    }))
}

/// The members of an object.
fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// The errors that any route may answer, followed by those of some routes only.
const ERRORS: [(&str, &str, FaultKind); 12] = [
    ("BadRequest", "The query, a header or the body is malformed.", FaultKind::InvalidParameter),
    (
        "Unauthorised",
        "The token is missing or wrong, or its user has no access to the API.",
        FaultKind::Forbidden,
    ),
    ("Forbidden", "The user lacks the permission.", FaultKind::Forbidden),
    ("NotFound", "There is no such record.", FaultKind::NotFound),
    ("NotAcceptable", "The Accept header does not name the media type.", FaultKind::Forbidden),
    (
        "RequestInProgress",
        "A request with the same Idempotency-Key is in progress; try again.",
        FaultKind::RequestInProgress,
    ),
    (
        "VersionMismatch",
        "The record has another version than If-Match names.",
        FaultKind::VersionMismatch,
    ),
    (
        "UnsupportedEncoding",
        "The body is compressed or otherwise encoded.",
        FaultKind::UnsupportedEncoding,
    ),
    ("Unprocessable", "A value breaks a rule.", FaultKind::InvalidValue),
    (
        "PreconditionRequired",
        "The site requires If-Match, and it is missing.",
        FaultKind::PreconditionRequired,
    ),
    ("Internal", "The store failed to answer.", FaultKind::Internal),
    ("Unavailable", "The store is temporarily unavailable; try again.", FaultKind::Unavailable),
];

/// A schema of a resource.
pub(super) fn named(resource: &Resource, name: &str) -> Value {
    reference("schemas", &format!("{}.{name}", resource.schema_name()))
}

pub(super) fn reference(of: &str, name: &str) -> Value {
    json!({"$ref": format!("#/components/{of}/{name}")})
}
