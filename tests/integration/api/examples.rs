//! The examples and links of the OpenAPI document: they fit its schemas, and are true of the demo store
//! of a first start.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::support::document::Document;
use crate::support::harness::{Ask, MEDIA_TYPE, NDJSON, Shop};

/// An example stands wherever a reader needs one, and fits.
#[test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
fn examples_match_their_schemas() {
    let mut document = Document::of_the_store();
    let json = document.json.clone();
    let components = &json["components"];
    for (name, schema) in components["schemas"].as_object().unwrap() {
        assert!(!schema["example"].is_null(), "{name} has an example");
        document.check(name, &schema["example"]);
    }
    for part in ["headers", "parameters"] {
        for (name, value) in components[part].as_object().unwrap() {
            // Of two parameters that exclude each other, one has an example, and only a store can make a cursor.
            if name.starts_with("sort.") || name == "page.after" {
                continue;
            }
            assert!(!value["example"].is_null(), "{name} has an example");
            let schema = format!("#/components/{part}/{name}/schema");
            document.check_at(&schema, &value["example"], name);
        }
    }
    for (name, response) in components["responses"].as_object().unwrap() {
        if name != "NotModified" {
            document.check("errors", &response["content"][MEDIA_TYPE]["example"]);
        }
    }
    let mut bodies = 0;
    for (method, path, operation) in Document::of_the_store().operations() {
        let content = &operation["requestBody"]["content"]["application/json"];
        for (form, schema) in [("fields", 0), ("document", 1)] {
            if content.is_object() {
                let schema = content["schema"]["anyOf"][schema]["$ref"].as_str().unwrap();
                let example = &content["examples"][form]["value"];
                document.check_at(schema, example, &format!("{method} {path}"));
                bodies += 1;
            }
        }
    }
    assert!(bodies > 60, "{bodies}");
}

/// Whoever sends the examples of an operation to the store of a first start gets what the document
/// promises, in either form of the body. The operations are sent in the order in which a store lives:
/// one that changes a record must not spoil the example of another one.
#[tokio::test(flavor = "multi_thread")]
async fn every_operation_succeeds_with_its_examples_in_the_demo_store() {
    for form in ["fields", "document"] {
        let shop = demo().await;
        let mut document = Document::of_the_store();
        replay_since(&mut document, &shop).await;
        let mut failures = Vec::new();
        for wanted in ["get", "post", "patch", "delete"] {
            for (_, path, operation) in document.operations().filter(|(of, ..)| *of == wanted) {
                let answer = with_examples(&shop, &document, operation, path, wanted, form);
                let answer = answer.send().await;
                let success = operation["responses"].as_object().unwrap().keys();
                let success = success.filter(|status| status.starts_with('2'));
                if success.map(|status| status.parse::<u16>().unwrap()).ne([answer.status]) {
                    let body = String::from_utf8_lossy(&answer.body).into_owned();
                    failures.push(format!("{wanted} {path}: {} {body}", answer.status));
                }
            }
        }
        assert!(failures.is_empty(), "{form}:\n{}", failures.join("\n"));
    }
}

/// A shop with the demo store of a first start.
async fn demo() -> Shop {
    let shop = Shop::open().await;
    shop.site.command("demo", &Map::new(), || ()).await.unwrap();
    shop.fail_to_import().await;
    // The feed reaches back to the second in which they are created.
    tokio::time::sleep(Duration::from_secs(1)).await;
    // One that is read, and one for each request that changes one.
    for _ in 0..5 {
        shop.add_webhook().await;
    }
    shop
}

/// Gives the examples of a replay a moment that the feed of a new store reaches back to.
async fn replay_since(document: &mut Document, shop: &Shop) {
    let webhook = shop.get("/webhooks/1").send().await.expect(200).json();
    let moment = webhook["data"]["attributes"]["created_on"].as_str().unwrap();
    let operation = &mut document.json["paths"]["/webhooks/{id}/replay"]["post"];
    let examples = &mut operation["requestBody"]["content"]["application/json"]["examples"];
    let text = examples.to_string();
    let example = "2026-01-31T12:00:00";
    assert_eq!(text.matches(example).count(), 2, "{text}");
    *examples = serde_json::from_str(&text.replace(example, moment)).unwrap();
}

/// The request of an operation with all of its examples. Each request of a client has a key of its own,
/// so that of the example is left out.
fn with_examples<'a>(
    shop: &'a Shop,
    document: &Document,
    operation: &Value,
    path: &str,
    method: &str,
    form: &str,
) -> Ask<'a> {
    let mut path = path.to_owned();
    let mut query = reqwest::Url::parse("query:").unwrap();
    let mut headers = Vec::new();
    for parameter in operation["parameters"].as_array().unwrap() {
        let parameter = document.resolve(parameter);
        let name = parameter["name"].as_str().unwrap();
        let value = match &parameter["example"] {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Array(words) => {
                words.iter().map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        match parameter["in"].as_str().unwrap() {
            "path" => path = path.replace(&format!("{{{name}}}"), &value),
            "query" => {
                query.query_pairs_mut().append_pair(name, &value);
            }
            _ if name == "Idempotency-Key" => {}
            _ => headers.push((name.to_lowercase(), value)),
        }
    }
    let path = format!("{path}?{}", query.query().unwrap_or_default());
    let mut ask = shop.request(&method.to_uppercase(), &path);
    for (name, value) in headers {
        ask = ask.header(&name, &value);
    }
    if let Value::String(file) = &operation["requestBody"]["content"][NDJSON]["example"] {
        return ask.file(NDJSON, file.as_str());
    }
    let content = &operation["requestBody"]["content"]["application/json"];
    if content.is_object() { ask.json(content["examples"][form]["value"].clone()) } else { ask }
}

/// From a new record, links lead to every operation that has its id in the path.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn links_lead_from_a_new_record_to_the_operations_on_it() {
    let shop = demo().await;
    let document = Document::of_the_store();
    let mut linked = 0;
    for (method, path, operation) in document.operations() {
        let created = &operation["responses"]["201"];
        assert_eq!(created["links"].is_object(), created.is_object(), "{method} {path}");
        let Some(links) = created["links"].as_object() else { continue };
        let ask = with_examples(&shop, &document, operation, path, method, "fields");
        let new = ask.send().await.expect(201).json();
        let id = new["data"]["id"].as_str().unwrap();
        for (name, link) in links {
            let link = document.resolve(link);
            assert_eq!(link["operationId"], name.as_str());
            assert_eq!(link["parameters"], serde_json::json!({"id": "$response.body#/data/id"}));
            let target = document.operations().find(|(.., target)| target["operationId"] == *name);
            let (method, path, _) = target.unwrap();
            if method == "get" {
                shop.get(&path.replace("{id}", id)).send().await.expect(200);
            }
            linked += 1;
        }
        let kind = new["data"]["type"].as_str().unwrap();
        let own =
            |(_, path, _): &(&str, &str, &Value)| path.starts_with(&format!("/{kind}/{{id}}"));
        let of_users = ["/customers/{id}/addresses", "/customers/{id}/orders"];
        let own = document.operations().filter(own);
        // A path with the key of a part too has one that the new record does not have.
        let with_part = |path: &str| path.matches('{').count() > 1;
        let own = own.filter(|(_, path, _)| !of_users.contains(path) && !with_part(path)).count();
        assert_eq!(links.len(), own, "{method} {path}");
    }
    assert!(linked > 60, "{linked}");
}
