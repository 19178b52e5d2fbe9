//! `If-Match`: a change of a record that has another version than the client expects is refused.

use serde_json::{Value, json};

use crate::support::harness::{Answer, Shop};

/// The tag of a record.
async fn tag(shop: &Shop, path: &str) -> String {
    shop.get(path).send().await.expect(200).header("etag").to_owned()
}

/// The version of a record.
async fn version(shop: &Shop, path: &str) -> Value {
    shop.get(path).send().await.expect(200).json()["data"]["meta"]["version"].clone()
}

/// Checks that a change was refused because the record has this version.
fn is_refused(answer: Answer, version: &Value) {
    let answer = answer.expect(412).json();
    let error = &answer["errors"][0];
    assert_eq!(error["code"], "version_mismatch");
    assert_eq!(error["source"], json!({"header": "If-Match"}));
    assert_eq!(error["meta"], json!({"current_version": version}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_is_the_version_and_a_digest_and_changes_with_the_record() {
    let shop = Shop::open().await;
    let made = shop.post("/manufacturers", json!({"manufacturer_name": "Birch"})).send().await;
    let made = made.expect(201);
    // The digest is the same on every engine and in every build.
    assert_eq!(made.header("etag"), "\"1-34d4c1011c13a458\"");
    assert_eq!(made.json()["data"]["meta"], json!({"version": 1}));
    let path = format!("/manufacturers/{}", made.id());
    let list = shop.get("/manufacturers").send().await.expect(200);
    assert_eq!(list.json()["data"][0]["meta"], json!({"version": 1}));
    for method in ["GET", "HEAD"] {
        let read = shop.request(method, &path).send().await.expect(200);
        assert_eq!(read.header("etag"), made.header("etag"));
    }
    let mut known = made.header("etag").to_owned();
    for (number, expected) in [(1, 2), (1, 2), (2, 3), (1, 4)] {
        let change = shop.patch(&path, json!({"ordering": number})).header("if-match", &known);
        let changed = change.send().await.expect(200);
        assert_eq!(changed.json()["data"]["meta"]["version"], expected);
        known = changed.header("etag").to_owned();
        assert!(known.starts_with(&format!("\"{expected}-")), "{known}");
        assert_eq!(known, tag(&shop, &path).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_number_of_a_strong_tag_is_compared() {
    let shop = Shop::stocked().await;
    let path = "/products/1";
    shop.patch(path, json!({"price": "20"})).send().await.expect(200);
    let strong = tag(&shop, path).await;
    let gzip = format!("{}-gzip\"", strong.strip_suffix('"').unwrap());
    let several = format!("\"1-x\", {strong}");
    for known in [strong.as_str(), &gzip, &several, "\"2\"", "\"2-other\"", "*", "W/\"2\", \"2\""] {
        let change = shop.patch(path, json!({"price": "20"})).header("if-match", known);
        let changed = change.send().await.expect(200);
        assert_eq!(changed.header("etag"), strong, "{known}");
    }
    let twice = shop.patch(path, json!({"price": "20"})).header("if-match", "\"1\"");
    twice.also("if-match", "\"2\"").send().await.expect(200);
    for other in
        ["\"1\"", "\"1-2\"", "2", "\"02\"", "\"\"", "", "\"3\", \"1\"", "\"*\"", "\"2", "-2"]
    {
        let change = shop.patch(path, json!({"price": "30"})).header("if-match", other);
        is_refused(change.send().await, &json!(2));
    }
    let weak = shop.patch(path, json!({"price": "30"})).header("if-match", &format!("W/{strong}"));
    let weak = weak.send().await;
    let detail = weak.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("strong tags only"), "{detail}");
    is_refused(weak, &json!(2));
    assert_eq!(tag(&shop, path).await, strong, "nothing has changed");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_that_changes_a_record_compares_versions() {
    let shop = Shop::stocked().await;
    let order = json!({"order_state_id": 7});
    let adjustment = json!({"adjustment_type": "debit", "amount": "1", "reason": "used"});
    for (method, path, record, body) in [
        ("PATCH", "/orders/1", "/orders/1", json!({"customer_note": "Ring."})),
        ("POST", "/orders/1/history", "/orders/1", order),
        ("POST", "/vouchers/1/adjust", "/vouchers/1", adjustment),
        ("PATCH", "/inventory/1", "/products/1", json!({"quantity": 3})),
        ("PATCH", "/categories/1", "/categories/1", json!({"title": "Light"})),
        ("DELETE", "/inventory/1", "/products/1", json!({})),
        ("DELETE", "/products/1", "/products/1", json!({})),
    ] {
        let known = tag(&shop, record).await;
        let of = version(&shop, record).await;
        let ask = |tag: &str| shop.request(method, path).json(body.clone()).header("if-match", tag);
        is_refused(ask("\"99\"").send().await, &of);
        assert_eq!(tag(&shop, record).await, known, "{method} {path}");
        let done = ask(&known).send().await;
        assert!(done.status < 300, "{method} {path}: {}", done.status);
        if path != record && path != "/inventory/1" {
            assert!(done.header("etag").starts_with('"'), "{method} {path}");
        }
        if method != "DELETE" || path != record {
            assert_eq!(version(&shop, record).await, json!(of.as_i64().unwrap() + 1));
        }
        // What the client knows is no longer so.
        let again = ask(&known).send().await;
        assert!([404, 412].contains(&again.status), "{method} {path}: {}", again.status);
    }
    // A missing record is a 404, and a record that is created or read has no version to compare.
    for (method, path) in [("PATCH", "/products/99"), ("DELETE", "/products/99")] {
        let ask = shop.request(method, path).json(json!({})).header("if-match", "*");
        ask.send().await.expect(404);
    }
    shop.get("/products/2").header("if-match", "\"99\"").send().await.expect(200);
    let new = shop.post("/manufacturers", json!({"manufacturer_name": "Oak"}));
    new.header("if-match", "\"99\"").send().await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_compared_after_the_syntax_and_before_the_values() {
    let shop = Shop::stocked().await;
    let ask = |body: &str| shop.request("PATCH", "/products/1").text(body);
    ask("{").header("if-match", "\"99\"").send().await.expect(400);
    let wrong = ask(r#"{"enabled": 7}"#);
    is_refused(wrong.header("if-match", "\"99\"").send().await, &json!(1));
    ask(r#"{"enabled": 7}"#).header("if-match", "\"1\"").send().await.expect(422);
    // What cannot be deleted is a 422 only for a client that knows its version.
    let delete = || shop.delete("/categories/1");
    is_refused(delete().header("if-match", "\"99\"").send().await, &json!(1));
    delete().header("if-match", "\"1\"").send().await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_may_require_the_version() {
    let shop = Shop::stocked().await;
    shop.patch("/products/1", json!({"price": "20"})).send().await.expect(200);
    shop.site.set_parameter("require_if_match", &json!(1)).await.unwrap();
    for method in ["PATCH", "DELETE"] {
        let ask = |path: &str| shop.request(method, path).json(json!({"price": "30"}));
        let answer = ask("/products/1").send().await.expect(428).json();
        assert_eq!(answer["errors"][0]["code"], "precondition_required");
        assert_eq!(answer["errors"][0]["source"], json!({"header": "If-Match"}));
        ask("/products/99").send().await.expect(404);
        is_refused(ask("/products/1").header("if-match", "\"1\"").send().await, &json!(2));
    }
    assert_eq!(shop.get("/products/1").send().await.expect(200).attribute("price"), "20.00");
    // Other writes do not need it.
    let entry = shop.post("/orders/1/history", json!({"order_state_id": 7}));
    entry.send().await.expect(201);
    shop.patch("/products/1", json!({})).header("if-match", "*").send().await.expect(200);
    shop.delete("/products/1").header("if-match", "\"2\"").send().await.expect(204);
}
