//! The OpenAPI document: it contains every route, and describes responses as they are.

use std::collections::BTreeSet;

use host_service::{Refusal, RequestIds};
use http_body_util::BodyExt as _;
use plugin::app::openapi::properties;
use plugin::model::relation::Many;
use serde_json::Value;

use crate::support::document::Document;
use crate::support::harness::{MEDIA_TYPE, ROOT, Role, Shop};

/// Every reference in the document, wherever it is.
fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(members) => members.iter().for_each(|member| references(member, found)),
        _ => {}
    }
}

#[test]
fn every_registered_route_is_in_the_document_and_every_reference_resolves() {
    let document = plugin::app::openapi("/api/index.php");
    let mut described = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            described.insert((method.to_uppercase(), path.clone()));
        }
    }
    let registered: BTreeSet<(String, String)> = plugin::app::describe()
        .routes
        .iter()
        .map(|route| {
            let path = route.pattern.strip_prefix("v1/shop").unwrap();
            (route.method.to_string(), path.replace(":digits}", "}"))
        })
        .collect();
    assert_eq!(described, registered);

    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} exists");
    }
}

/// JSON:API has one namespace for both.
#[test]
fn attributes_and_relationships_of_a_resource_have_different_names() {
    let document = plugin::app::openapi("/api/index.php");
    for resource in plugin::resources::REGISTRY.iter() {
        let to_one = resource.fields().filter_map(|field| field.relationship()).map(|to| to.name);
        let lists = Many::of(resource, plugin::resources::REGISTRY).map(|many| many.nested.segment);
        let names: Vec<&str> = to_one.chain(lists).collect();
        let distinct: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(distinct.len(), names.len(), "{}: {names:?}", resource.kind);
        let shown = resource.list.iter().chain(resource.detail).map(|field| field.name);
        for attribute in shown.chain([resource.key, "type", "id"]) {
            assert!(!distinct.contains(attribute), "{}: {attribute}", resource.kind);
        }
        let record = &document["components"]["schemas"][format!("{}.resource", resource.kind)];
        let documented = &record["properties"]["relationships"];
        for name in documented["properties"].as_object().into_iter().flat_map(|names| names.keys())
        {
            assert!(distinct.contains(name.as_str()), "{}: {name}", resource.kind);
        }
    }
    let order = &document["components"]["schemas"]["orders.resource"];
    let names = order["properties"]["relationships"]["properties"].as_object().unwrap();
    assert_eq!(
        names.keys().collect::<Vec<_>>(),
        ["orderstatus", "history", "items", "refunds", "shipments"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_match_their_schemas_whatever_the_client_selects() {
    let shop = Shop::filled().await;
    let mut document =
        Document::new(serde_json::from_str(&shop.site.openapi().unwrap()[0]).unwrap());
    assert_eq!(document.json["servers"][0]["url"], ROOT);
    // The administrator of this shop has a voucher.
    let voucher = serde_json::json!({
        "voucher_value": 1, "email_to": "administrator@example.com",
    });
    shop.create("/vouchers", voucher).await;
    // A stream of records is no document.
    let reads = document
        .operations()
        .filter(|(method, path, _)| *method == "get" && !path.starts_with("/exports/"));
    let reads: Vec<(String, Value)> =
        reads.map(|(_, path, operation)| (path.to_owned(), operation.clone())).collect();
    for (path, operation) in reads {
        let id = match path.as_str() {
            // The customers in demo data are guests.
            "/customers/{id}/addresses" | "/customers/{id}/orders" => "0",
            // The two kinds of methods share their ids, and shipping methods come first.
            "/paymentmethods/{id}" => "4",
            _ => "1",
        };
        let real = path.replace("{id}", id);
        let content = &operation["responses"]["200"]["content"][MEDIA_TYPE];
        let schema = content["schema"]["$ref"].as_str().unwrap();
        let whole = shop.get(&real).send().await.expect(200);
        document.check_at(schema, &whole.json(), &path);
        let headers = operation["responses"]["200"]["headers"].as_object().unwrap();
        for (name, header) in headers {
            let header = document.resolve(header);
            assert_eq!(
                whole.headers.contains_key(name),
                header["required"] == true,
                "{path} {name}"
            );
        }
        let parameters = operation["parameters"].as_array().unwrap().clone();
        for parameter in parameters {
            let parameter = document.resolve(&parameter).clone();
            let name = parameter["name"].as_str().unwrap();
            let all = &parameter["schema"]["items"]["enum"];
            for some in all.as_array().into_iter().flatten().filter_map(Value::as_str).chain([""]) {
                if name.starts_with("fields[") || (name == "include" && !some.is_empty()) {
                    let part = shop.get(&format!("{real}?page[limit]=3&{name}={some}"));
                    let of_one = ["{id}", "/fulfilment", "/config"];
                    let part = if of_one.iter().any(|end| path.ends_with(end)) {
                        shop.get(&format!("{real}?{name}={some}"))
                    } else {
                        part
                    };
                    let part = part.send().await.expect(200).json();
                    document.check_at(schema, &part, &format!("{path} {name}={some}"));
                }
            }
        }
    }
}

/// A document of JSON:API has an id only where the path has it, too.
#[test]
fn the_schemas_of_documents_refuse_an_id_that_the_store_assigns() {
    let mut document = Document::of_the_store();
    for (body, allowed) in [
        ("manufacturers.new", false),
        ("manufacturers.change", true),
        ("orderhistories.new", false),
        ("vouchers.adjustment.new", true),
        ("inventory.adjustment.new", true),
        ("inventory.adjustments.new", false),
        ("orderhistories.status.new", false),
        ("shipments.shipment.new", false),
        ("shipments.tracking.new", false),
    ] {
        let name = format!("#/components/schemas/{body}.document");
        let mut example = document.json.pointer(&name[1..]).unwrap()["example"].clone();
        document.check_at(&name, &example, body);
        example["data"]["id"] = "1".into();
        assert_eq!(document.faults(&name, &example).is_none(), allowed, "{body}");
    }
}

/// Whoever reads a schema need not guess what a property is.
#[test]
fn every_property_has_a_description_and_the_table_of_them_nothing_else() {
    let document = Document::of_the_store();
    let mut described = BTreeSet::new();
    let mut missing = Vec::new();
    let mut look = |at: &str, schema: &Value| {
        let mut open = vec![(at.to_owned(), schema)];
        while let Some((at, schema)) = open.pop() {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let at = format!("{at}/{name}");
                let text = document.resolve(property)["description"].as_str().unwrap_or_default();
                let sentence =
                    text.starts_with(|c: char| !c.is_whitespace()) && text.ends_with('.');
                if !sentence {
                    missing.push(at.clone());
                }
                described.insert((at.clone(), text.to_owned()));
            }
            let inner = schema.as_object().into_iter().flatten();
            open.extend(inner.filter(|(name, _)| *name != "example").flat_map(|(name, inner)| {
                let at = match name.as_str() {
                    "properties" | "items" | "anyOf" => at.clone(),
                    name => format!("{at}/{name}"),
                };
                let members = inner.as_array().into_iter().flatten();
                members
                    .map({
                        let at = at.clone();
                        move |member| (at.clone(), member)
                    })
                    .chain(inner.is_object().then(|| (at.clone(), inner)))
                    .collect::<Vec<_>>()
            }));
        }
    };
    for (name, schema) in document.json["components"]["schemas"].as_object().unwrap() {
        look(name, schema);
    }
    assert!(missing.is_empty(), "without a description: {missing:?}");

    let mut seen = BTreeSet::new();
    for property in properties::all() {
        let (name, meaning) = (property.name, property.meaning);
        assert!(meaning.ends_with('.') && !meaning.contains(".."), "{name}: {meaning}");
        for kind in property.kinds() {
            assert!(seen.insert((kind, name)), "{kind}/{name} occurs twice");
            let used = described.iter().any(|(at, text)| {
                let own = at.strip_prefix(kind).is_some_and(|rest| rest.starts_with('.'));
                own && at.ends_with(&format!("/{name}")) && text.starts_with(meaning)
            });
            assert!(used, "no {kind} has the property {name}");
        }
    }
    for line in include_str!("../../../plugin/src/app/openapi/properties.txt").lines() {
        assert!(line.is_empty() || line.starts_with("# ") || line.contains(": "), "{line}");
    }
}

#[test]
fn every_component_is_used() {
    let document = Document::of_the_store().json;
    let mut found = Vec::new();
    references(&document, &mut found);
    for part in ["headers", "links", "parameters", "responses", "schemas"] {
        for name in document["components"][part].as_object().unwrap().keys() {
            let reference = format!("#/components/{part}/{name}");
            assert!(found.contains(&reference.as_str()), "{reference}");
        }
    }
}

/// The host has its own table of errors, which the document repeats.
#[test]
fn the_errors_of_the_host_are_documented_as_it_sends_them() {
    let mut document = Document::of_the_store();
    let ids = RequestIds::new().unwrap();
    let allow = "GET, HEAD".to_owned();
    for (name, refusal) in [
        ("Unauthorised", Refusal::Unauthorised),
        ("MethodNotAllowed", Refusal::MethodNotAllowed { allow }),
        ("NotAcceptable", Refusal::NotAcceptable { media_type: MEDIA_TYPE.to_owned() }),
        ("RequestTimeout", Refusal::BodyTooSlow),
        ("ContentTooLarge", Refusal::BodyTooLarge { limit: 1 }),
        ("Internal", Refusal::Internal),
        ("Unavailable", Refusal::Unavailable),
        ("Timeout", Refusal::Timeout),
    ] {
        let response = refusal.response(&ids.of(&Default::default(), false));
        let (parts, body) = response.into_parts();
        let body = futures_util::FutureExt::now_or_never(body.collect()).unwrap().unwrap();
        let sent: Value = serde_json::from_slice(&body.to_bytes()).unwrap();
        document.check("errors", &sent);
        let documented = document.json["components"]["responses"][name].clone();
        let example = &documented["content"][MEDIA_TYPE]["example"]["errors"][0];
        for member in ["status", "code", "title"] {
            assert_eq!(example[member], sent["errors"][0][member], "{name}");
        }
        assert_eq!(parts.status.as_u16(), example["status"], "{name}");
        for (header, value) in documented["headers"].as_object().unwrap() {
            let required = document.resolve(value)["required"] == true;
            let always = ["Vary", "X-Request-Id"].contains(&header.as_str());
            assert!(!required || always || parts.headers.contains_key(header), "{name} {header}");
        }
    }
}

/// Requests that fail in each way that can be brought about from outside.
#[tokio::test(flavor = "multi_thread")]
async fn failures_are_documented_where_they_occur() {
    let shop = Shop::stocked().await;
    let mut document = Document::of_the_store();
    let body = || serde_json::json!({"ordering": 1});
    let one = "/manufacturers/1";
    let twice = || shop.post("/manufacturers", serde_json::json!({"manufacturer_name": "Oak"}));
    twice().header("idempotency-key", "k").send().await.expect(201);
    let reused = shop.post("/manufacturers", serde_json::json!({"manufacturer_name": "Elm"}));
    let tag = shop.get(one).send().await.expect(200).headers["etag"].to_str().unwrap().to_owned();
    for (method, path, ask, status) in [
        ("get", "/manufacturers/{id}", shop.get(one).header("if-none-match", &tag), 304),
        ("get", "/manufacturers", shop.get("/manufacturers?page[limit]=0"), 400),
        ("get", "/manufacturers", shop.get("/manufacturers").without("authorization"), 401),
        ("delete", "/manufacturers/{id}", shop.delete(one).by(Role::Manager), 403),
        ("get", "/manufacturers/{id}", shop.get("/manufacturers/99"), 404),
        ("get", "/manufacturers", shop.get("/manufacturers").header("accept", "*/*"), 406),
        ("patch", "/manufacturers/{id}", shop.patch(one, body()).header("if-match", "\"9\""), 412),
        ("patch", "/manufacturers/{id}", shop.patch(one, body()).text(&" ".repeat(2 << 20)), 413),
        (
            "patch",
            "/manufacturers/{id}",
            shop.patch(one, body()).header("content-encoding", "gzip"),
            415,
        ),
        ("post", "/manufacturers", reused.header("idempotency-key", "k"), 422),
    ] {
        let answer = ask.send().await.expect(status);
        let operation = &document.json["paths"][path][method]["responses"];
        let response = document.resolve(&operation[status.to_string()]).clone();
        assert!(response.is_object(), "{method} {path} {status}");
        for (name, header) in response["headers"].as_object().unwrap() {
            let required = document.resolve(header)["required"] == true;
            assert_eq!(answer.headers.contains_key(name), required, "{status} {name}");
        }
        if status != 304 {
            document.check("errors", &answer.json());
        }
    }
    shop.site.set_parameter("require_if_match", &1.into()).await.unwrap();
    shop.patch(one, body()).send().await.expect(428);
    let responses = &document.json["paths"]["/manufacturers/{id}"]["patch"]["responses"];
    assert!(responses["428"].is_object());
}

/// The methods that a path has are those that the document names for it, and HEAD beside GET.
#[tokio::test(flavor = "multi_thread")]
async fn every_path_answers_405_to_a_method_that_the_document_does_not_name() {
    let shop = Shop::open().await;
    let mut document = Document::of_the_store();
    let paths = document.json["paths"].as_object().unwrap().clone();
    for (path, operations) in paths {
        let mut allowed: Vec<String> = Vec::new();
        for (method, operation) in operations.as_object().unwrap() {
            allowed.push(method.to_uppercase());
            allowed.extend((method == "get").then(|| "HEAD".to_owned()));
            let answer = document.resolve(&operation["responses"]["405"]);
            assert!(answer["headers"]["Allow"].is_object(), "{method} {path}");
        }
        allowed.sort();
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            if allowed.iter().any(|allowed| allowed == method) {
                continue;
            }
            let ask = shop.request(method, &path.replace("{id}", "1").replace("{refund_id}", "1"));
            let answer = ask.send().await.expect(405);
            let mut sent: Vec<&str> = answer.header("allow").split(", ").collect();
            sent.sort_unstable();
            assert_eq!(sent, allowed, "{method} {path}");
            document.check("errors", &answer.json());
        }
    }
}

/// The patterns for strings accept what the store accepts, and nothing else.
#[test]
fn the_patterns_of_the_document_accept_what_the_store_accepts() {
    let document = plugin::app::openapi("/api/index.php");
    for (field, taken, refused) in [
        (
            "products.new/quantity",
            &["0", "-0", "007", "9", "2147483639", "2147483647"][..],
            &["", "-1", "2147483648", "2200000000", "9999999999", "1.0", " 1"][..],
        ),
        (
            "manufacturers.new/ordering",
            &["-2147483648", "-1", "0", "2147483647", "-007"],
            &["-2147483649", "2147483648", "--1", "+1"],
        ),
        (
            "categories.new/published",
            &["-2", "-1", "0", "1", "2", "02"],
            &["-3", "3", "10", "-02x"],
        ),
        (
            "zones.new/country_id",
            &["1", "10", "9223372036854775807"],
            &["0", "-1", "9223372036854775808", "99999999999999999999"],
        ),
        (
            "products.new/price",
            &["0", "19.99", "007.5", "999999999999.99999", "1.1000000"],
            &["-1", ".5", "1.", "1.000001", "1000000000000", "1e3"],
        ),
        (
            "currencies.new/currency_value",
            &["1", "0.00000001", "0.5", "10", "00.10"],
            &["0", "0.0", "0.000000001", "-1"],
        ),
        (
            "taxrates.new/tax_percent",
            &["0", "100", "100.000", "99.999"],
            &["100.001", "101", "1.0001"],
        ),
        (
            "orders.new/created_on",
            &["2024-02-29", "0001-01-01", "2000-02-29T23:59:59Z", "2026-12-31T00:00:00-23:59"],
            &[
                "2023-02-29",
                "1900-02-29",
                "0000-01-01",
                "2026-04-31",
                "2026-01-01T24:00:00",
                " 2026-01-01",
            ],
        ),
    ] {
        let (schema, name) = field.split_once('/').unwrap();
        let schema = &document["components"]["schemas"][schema]["properties"][name];
        let options = schema.get("anyOf").and_then(Value::as_array);
        let options = options.map_or_else(|| vec![schema], |options| options.iter().collect());
        let pattern = options.iter().find_map(|option| option.get("pattern")?.as_str()).unwrap();
        let pattern = regex_lite::Regex::new(pattern).unwrap();
        let body = |text: &str| {
            let kind = schema_field(field).kind;
            let literal = serde_json::value::to_raw_value(text).unwrap();
            plugin::wire::literal::read(kind, false, &literal)
        };
        for text in taken {
            assert!(pattern.is_match(text), "{field} takes {text:?}");
            assert!(body(text).is_ok(), "the store takes {text:?} for {field}");
        }
        for text in refused {
            assert!(!pattern.is_match(text), "{field} refuses {text:?}");
            // Whether a key belongs to a record can only be found in the database.
            let is_key = name == "country_id";
            assert!(is_key || body(text).is_err(), "the store refuses {text:?} for {field}");
        }
    }
}

/// The field behind a property of a schema.
fn schema_field(path: &str) -> &'static plugin::model::field::Field {
    let (schema, name) = path.split_once('/').unwrap();
    let resource = plugin::resources::REGISTRY.find(schema.split_once('.').unwrap().0).unwrap();
    resource.fields().find(|field| field.name == name).unwrap()
}
