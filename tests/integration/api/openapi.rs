//! The OpenAPI document: it contains every route, and describes responses as they are.

use std::collections::BTreeSet;

use plugin::model::relation::Many;
use serde_json::Value;

use crate::support::harness::{ROOT, Shop};

/// The schema behind a reference, or the schema itself.
fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            let found = document.pointer(reference.trim_start_matches('#'));
            resolve(document, found.unwrap_or_else(|| panic!("{reference} exists")))
        }
        None => schema,
    }
}

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
fn the_document_equals_the_reviewed_snapshot() {
    let document = plugin::app::openapi("/api/index.php");
    insta::assert_json_snapshot!("openapi", document);
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
            (route.method.to_string(), path.replace("{id:digits}", "{id}"))
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
        let list = &document["components"]["schemas"][format!("{}.list", resource.kind)];
        let documented = &list["properties"]["data"]["items"]["properties"]["relationships"];
        for name in documented["properties"].as_object().into_iter().flat_map(|names| names.keys())
        {
            assert!(distinct.contains(name.as_str()), "{}: {name}", resource.kind);
        }
    }
    let order = &document["components"]["schemas"]["orders.document"]["properties"]["data"];
    let names = order["properties"]["relationships"]["properties"].as_object().unwrap();
    assert_eq!(names.keys().collect::<Vec<_>>(), ["orderstatus", "history", "items"]);
}

/// Whether a value matches a schema, as far as the document uses JSON Schema.
fn check(document: &Value, schema: &Value, value: &Value, at: &str) {
    let schema = resolve(document, schema);
    if let Some(types) = schema.get("type") {
        let types: Vec<&str> = match types {
            Value::Array(types) => types.iter().filter_map(Value::as_str).collect(),
            other => other.as_str().into_iter().collect(),
        };
        let actual = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_i64() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        assert!(types.contains(&actual), "{at}: {value} is none of {types:?}");
    }
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        assert!(words.contains(value), "{at}: {value} is none of {words:?}");
    }
    if let Some(items) = schema.get("items") {
        for item in value.as_array().into_iter().flatten() {
            check(document, items, item, at);
        }
    }
    let Some(members) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        assert!(members.contains_key(name), "{at}: {name} is missing");
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, member) in members {
        let at = format!("{at}/{name}");
        match properties.and_then(|properties| properties.get(name)) {
            Some(schema) => check(document, schema, member, &at),
            None => {
                assert_ne!(schema.get("additionalProperties"), Some(&Value::Bool(false)), "{at}")
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_and_examples_match_the_document() {
    let shop = Shop::filled().await;
    let document: Value = serde_json::from_str(&shop.site.openapi().unwrap()[0]).unwrap();
    assert_eq!(document["servers"][0]["url"], ROOT);
    for (path, methods) in document["paths"].as_object().unwrap() {
        let operation = &methods["get"];
        if operation.is_null() {
            continue;
        }
        let id = match path.as_str() {
            // The customers in demo data are guests.
            "/customers/{id}/addresses" | "/customers/{id}/orders" => "0",
            // The two kinds of methods share their ids, and shipping methods come first.
            "/paymentmethods/{id}" => "4",
            _ => "1",
        };
        let real = path.replace("{id}", id);
        let answer = shop.get(&real).send().await.expect(200).json();
        let content = &operation["responses"]["200"]["content"]["application/vnd.api+json"];
        check(&document, &content["schema"], &answer, path);
    }
    // The administrator of this shop has a voucher.
    shop.create(
        "/vouchers",
        serde_json::json!({
            "voucher_value": 1, "email_to": "administrator@example.com",
        }),
    )
    .await;
    let mine = shop.get("/vouchers/mine").send().await.expect(200);
    assert_eq!(mine.total(), 1);
    let schema = &document["components"]["schemas"]["vouchers.mine.list"];
    check(&document, schema, &mine.json(), "/vouchers/mine");

    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let example = schema.get("example").unwrap_or_else(|| panic!("{name} has an example"));
        check(&document, schema, example, name);
    }
    for name in document["components"]["responses"].as_object().unwrap().keys() {
        let response = &document["components"]["responses"][name];
        let content = &response["content"]["application/vnd.api+json"];
        check(&document, &content["schema"], &content["example"], name);
    }
}

/// The store accepts the example of a body.
#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_each_new_record_is_accepted() {
    let shop = Shop::stocked().await;
    let document = plugin::app::openapi("/api/index.php");
    // A stock record can be created only for a product without one.
    shop.delete("/inventory/1").send().await.expect(204);
    for resource in plugin::resources::REGISTRY.iter().filter(|resource| resource.crud) {
        let mut example =
            document["components"]["schemas"][format!("{}.new", resource.kind)]["example"].clone();
        for (name, code) in
            [("currency_code", "QQQ"), ("country_isocode_2", "QQ"), ("country_isocode_3", "QQQ")]
        {
            // The codes in examples are those of real currencies and countries.
            if example.get(name).is_some() {
                example[name] = Value::from(code);
            }
        }
        let path = format!("/{}", resource.kind);
        shop.post(&path, example).send().await.expect(201);
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
