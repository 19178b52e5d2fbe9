//! The bodies of requests: media types, JSON, relationships, and all faults of a body in one
//! answer.

use serde_json::{Value, json};

use crate::support::harness::Shop;

#[tokio::test(flavor = "multi_thread")]
async fn a_write_without_content_type_json_has_no_effect() {
    let shop = Shop::open().await;
    let id = shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let path = format!("/manufacturers/{id}");
    for wrong in [
        "text/plain",
        "application/vnd.api+json",
        "application/json; charset=latin-1",
        "application/json; version=1",
        "application/jsonx",
        "nonsense",
    ] {
        let ask = shop.patch(&path, json!({"manufacturer_name": "Oak"}));
        let answer = ask.header("content-type", wrong).send().await.expect(400);
        assert_eq!(answer.errors(), ["400 invalid_header header Content-Type"], "{wrong}");
    }
    let ask = shop.patch(&path, json!({"manufacturer_name": "Oak"}));
    ask.without("content-type").send().await.expect(400);
    let name = shop.get(&path).send().await.expect(200).attribute("manufacturer_name");
    assert_eq!(name, "Birch");
    for right in ["application/json", "application/json;charset=UTF-8", "Application/JSON"] {
        let ask = shop.patch(&path, json!({"manufacturer_name": "Oak"}));
        ask.header("content-type", right).send().await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_has_one_content_type_and_no_encoding() {
    let shop = Shop::open().await;
    let id = shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let path = format!("/manufacturers/{id}");
    let oak = || json!({"manufacturer_name": "Oak"});
    for second in ["application/json", "text/plain"] {
        let ask = shop.patch(&path, oak()).also("content-type", second);
        let answer = ask.send().await.expect(400);
        assert_eq!(answer.errors(), ["400 invalid_header header Content-Type"], "{second}");
    }
    for encoding in ["gzip", "br", "identity, gzip", "GZIP", "nonsense", "gzip, identity"] {
        for ask in [shop.patch(&path, oak()), shop.post("/manufacturers", oak())] {
            let answer = ask.header("content-encoding", encoding).send().await.expect(415);
            let error = "415 unsupported_encoding header Content-Encoding";
            assert_eq!(answer.errors(), [error], "{encoding}");
            assert_eq!(answer.header("accept-encoding"), "identity");
        }
    }
    let ask = shop.patch(&path, oak()).header("content-encoding", "identity");
    ask.also("content-encoding", "gzip").send().await.expect(415);
    // A file may be compressed, once.
    for (first, second) in [("gzip", "gzip"), ("identity", "identity"), ("gzip", "identity")] {
        let ask = shop.request("POST", "/imports?type=zones").file("text/csv", "zone_name\n");
        let ask = ask.header("content-encoding", first).also("content-encoding", second);
        let answer = ask.send().await.expect(415);
        assert_eq!(answer.errors(), ["415 unsupported_encoding header Content-Encoding"]);
    }
    // All faults of the headers are reported together, before the body is read.
    let ask = shop.request("PATCH", &path).text("{").also("content-type", "application/json");
    let answer = ask.header("content-encoding", "gzip").send().await.expect(400);
    assert_eq!(answer.errors().len(), 2);
    let all = shop.get("/manufacturers").send().await.expect(200);
    assert_eq!(all.column("manufacturer_name"), ["Birch"]);
    for plain in ["identity", "Identity", ""] {
        shop.patch(&path, oak()).header("content-encoding", plain).send().await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_is_one_json_object_without_duplicate_names() {
    let shop = Shop::open().await;
    let before = shop.get("/manufacturers").send().await.expect(200).total();
    for body in [
        "",
        " ",
        "{",
        "[]",
        "1",
        "null",
        "\"text\"",
        r#"{"a":1}{"b":2}"#,
        r#"{"a":1,}"#,
        r#"{"manufacturer_name":"a","manufacturer_name":"b"}"#,
        "{\"manufacturer_name\":\"\u{1}\"}",
        r#"{'manufacturer_name':'a'}"#,
        r#"{"data":[]}"#,
        r#"{"data":null}"#,
        r#"{"data":{"attributes":[]}}"#,
        r#"{"data":{"attributes":{"enabled":1,"enabled":0}}}"#,
    ] {
        let answer = shop.request("POST", "/manufacturers").text(body).send().await.expect(400);
        let errors = answer.errors();
        assert!(errors[0].starts_with("400 malformed_body pointer "), "{body}: {errors:?}");
    }
    let after = shop.get("/manufacturers").send().await.expect(200).total();
    assert_eq!(before, after);
    let many: String = (0..=1000).map(|number| format!("\"m{number}\":0,")).collect();
    let many = format!("{{{}}}", many.trim_end_matches(','));
    for (body, detail) in [
        ("", "The body is empty; it must be a JSON object."),
        ("{", "The body is not valid JSON at line 1, column 1."),
        ("{\n,", "The body is not valid JSON at line 2, column 1."),
        ("[]", "The body must be a JSON object."),
        (r#"{"a":1,"a":2}"#, "The body contains the member \"a\" more than once."),
        (&many, "The body has more than 1000 members."),
    ] {
        let answer = shop.request("POST", "/manufacturers").text(body).send().await.expect(400);
        assert_eq!(answer.json()["errors"][0]["detail"], detail);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_faults_of_a_body_are_reported_together() {
    let shop = Shop::open().await;
    let body = json!({
        "zone_nam": "x", "zone_code": 7, "country_id": 999_999, "enabled": 2,
    });
    let answer = shop.post("/zones", body).send().await.expect(400);
    assert_eq!(
        answer.errors(),
        [
            "422 unknown_field pointer /zone_nam",
            "422 invalid_value pointer /zone_code",
            "422 invalid_value pointer /enabled",
            "400 missing_field pointer /zone_name",
            "422 missing_reference pointer /country_id",
        ]
    );
    assert!(answer.json()["errors"][0]["detail"].as_str().unwrap().contains("zone_name"));
    // Without the missing field it is a 422.
    let body = json!({"zone_name": "x", "zone_code": 7, "country_id": 999_999, "enabled": 2});
    shop.post("/zones", body).send().await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_json_api_document_is_accepted_too() {
    let shop = Shop::open().await;
    let document = |id: Option<&str>, kind: &str| {
        let mut document = json!({"data": {
            "type": kind, "attributes": {"manufacturer_name": "Birch", "ordering": "3"},
        }});
        if let Some(id) = id {
            document["data"]["id"] = json!(id);
        }
        document
    };
    let sent = shop.post("/manufacturers", document(None, "manufacturers"));
    let id = sent.send().await.expect(201).id();
    let path = format!("/manufacturers/{id}");
    let right = document(Some(&id.to_string()), "manufacturers");
    shop.patch(&path, right).send().await.expect(200);
    let answer = shop.patch(&path, document(Some("1000"), "zones")).send().await.expect(422);
    assert_eq!(
        answer.errors(),
        ["422 invalid_value pointer /data/type", "422 invalid_value pointer /data/id"]
    );
    let wrong = json!({"data": {"type": "manufacturers", "attributes": {"ordering": "x"}}});
    let answer = shop.patch(&path, wrong).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 invalid_value pointer /data/attributes/ordering"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_can_be_sent_back_as_it_was_read() {
    let shop = Shop::stocked().await;
    // A key that refers to no resource of the store can be sent back, too.
    shop.patch("/taxrates/1", json!({"geozone_id": 7})).send().await.expect(200);
    for resource in plugin::resources::REGISTRY.iter().filter(|resource| resource.crud) {
        for id in shop.get(&format!("/{}", resource.kind)).send().await.expect(200).ids() {
            let path = format!("/{}/{id}", resource.kind);
            let read = shop.get(&path).send().await.expect(200).json();
            for sent in [&read, &read["data"]["attributes"]] {
                let mut again = shop.patch(&path, sent.clone()).send().await.expect(200).json();
                let modified = &read["data"]["attributes"]["modified_on"];
                if !modified.is_null() {
                    again["data"]["attributes"]["modified_on"] = modified.clone();
                }
                assert_eq!(read, again, "{path}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writing_a_relationship_sets_its_key() {
    let shop = Shop::stocked().await;
    let document = |kind: &str, attributes: Value, relationships: Value| json!({"data": {"type": kind, "attributes": attributes, "relationships": relationships}});
    let to = |kind: &str, id: &str| json!({"data": {"type": kind, "id": id}});
    let none = || json!({"data": null});
    let patch = async |path: &str, relationships: Value| {
        let kind = path.split('/').nth(1).unwrap();
        let answer = shop.patch(path, document(kind, json!({}), relationships)).send().await;
        answer.expect(200).json()["data"].clone()
    };
    let both = json!({"manufacturer": to("manufacturers", "1"), "category": to("categories", "1")});
    let product = patch("/products/2", both).await;
    assert_eq!(product["attributes"]["manufacturer_id"], 1);
    assert_eq!(product["relationships"]["category"]["data"]["id"], "1");
    let product = patch("/products/2", json!({"manufacturer": none(), "category": none()})).await;
    assert_eq!(product["attributes"]["manufacturer_id"], Value::Null);
    assert_eq!(product["relationships"]["category"], none());
    assert_eq!(product["attributes"]["product_name"], "Bulb");

    // Where the key 0 means that there is no record, null does too.
    let category = patch("/categories/2", json!({"parent": none()})).await;
    assert_eq!(
        (&category["attributes"]["parent_id"], &category["attributes"]["level"]),
        (&json!(0), &json!(1))
    );
    let category = patch("/categories/2", json!({"parent": to("categories", "1")})).await;
    assert_eq!(category["attributes"]["path"], "lamps/desk-lamps");
    // The target of a relationship need not be a resource of the store.
    let rate = patch("/taxrates/1", json!({"geozone": to("geozones", "7")})).await;
    assert_eq!(rate["attributes"]["geozone_id"], 7);

    let zone = document(
        "zones",
        json!({"zone_name": "Nowhere", "zone_code": "NW-1"}),
        json!({"country": to("countries", "84")}),
    );
    let zone = shop.post("/zones", zone).send().await.expect(201);
    assert_eq!(zone.attribute("country_id"), 84);
    let entry = document(
        "orderhistories",
        json!({"comment": "paid"}),
        // The order comes from the path, and a body may contain it as it was read.
        json!({"orderstatus": to("orderstatuses", "1"), "order": to("orders", "1")}),
    );
    let entry = shop.post("/orders/1/history", entry).send().await.expect(201);
    assert_eq!(entry.attribute("order_state_id"), 1);
    assert_eq!(shop.get("/orders/1").send().await.expect(200).attribute("order_state_id"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_relationship_is_a_fault_and_changes_nothing() {
    let shop = Shop::stocked().await;
    let before = shop.get("/products/1").send().await.expect(200).json();
    let maker = |value: Value| json!({"manufacturer": value});
    let with_data = |data: Value| maker(json!({"data": data}));
    let at =
        |code: &str, name: &str| vec![format!("422 {code} pointer /data/relationships/{name}")];
    let wrong = || at("invalid_value", "manufacturer");
    for (relationships, errors) in [
        (json!({"maker": {"data": null}}), at("unknown_field", "maker")),
        // A field that refers to no record has no relationship.
        (json!({"price": {"data": null}}), at("unknown_field", "price")),
        (json!({"a/b~": {"data": null}}), at("unknown_field", "a~1b~0")),
        (maker(json!({})), wrong()),
        (maker(json!(null)), wrong()),
        (maker(json!("1")), wrong()),
        (maker(json!([])), wrong()),
        (maker(json!({"links": {"related": "/x"}})), wrong()),
        (with_data(json!([{"type": "manufacturers", "id": "1"}])), wrong()),
        (with_data(json!({"id": "1"})), wrong()),
        (with_data(json!({"type": "manufacturers"})), wrong()),
        (with_data(json!({"type": "manufacturers", "id": 1})), wrong()),
        (with_data(json!({"type": "manufacturers", "id": "one"})), wrong()),
        (with_data(json!({"type": "manufacturers", "id": "99999999999999999999"})), wrong()),
        (with_data(json!({"type": "categories", "id": "1"})), wrong()),
        (
            with_data(json!({"type": "manufacturers", "id": "999"})),
            at("missing_reference", "manufacturer"),
        ),
    ] {
        let sent = json!({"data": {
            "attributes": {"product_name": "Changed"}, "relationships": relationships,
        }});
        let answer = shop.patch("/products/1", sent).send().await.expect(422);
        assert_eq!(answer.errors(), errors, "{relationships}");
    }
    // A key beside the relationship must refer to the same record.
    let sent = |key: Value, relationships: Value| json!({"data": {"attributes": {"manufacturer_id": key}, "relationships": relationships}});
    let birch = || with_data(json!({"type": "manufacturers", "id": "1"}));
    for (key, relationships) in [(json!(1), with_data(json!(null))), (json!(null), birch())] {
        let answer = shop.patch("/products/1", sent(key, relationships)).send().await.expect(422);
        assert_eq!(answer.errors(), wrong());
    }
    let read = shop.get("/products/1").send().await.expect(200).json();
    assert_eq!(read, before);
    shop.patch("/products/1", sent(json!("1"), birch())).send().await.expect(200);

    let zone = |relationships: Value| {
        let attributes = json!({"zone_name": "Nowhere", "zone_code": "NW-1"});
        json!({"data": {"attributes": attributes, "relationships": relationships}})
    };
    let unset = shop.post("/zones", zone(json!({"country": {"data": null}}))).send().await;
    assert_eq!(unset.expect(422).errors(), at("invalid_value", "country"));
    let missing = shop.post("/zones", zone(json!({}))).send().await.expect(400);
    assert_eq!(missing.errors(), ["400 missing_field pointer /data/attributes/country_id"]);
    let zero = json!({"parent": {"data": {"type": "categories", "id": "0"}}});
    let sent = json!({"data": {"relationships": zero}});
    let zero = shop.patch("/categories/2", sent).send().await.expect(422);
    assert_eq!(zero.errors(), at("invalid_value", "parent"));
    // The order of an entry cannot be written, but its identifier must be valid.
    let entry = json!({"data": {"attributes": {"order_state_id": 1}, "relationships": {
        "order": {"data": {"type": "zones", "id": "1"}},
    }}});
    let entry = shop.post("/orders/1/history", entry).send().await.expect(422);
    assert_eq!(entry.errors(), at("invalid_value", "order"));
    let sent = json!({"data": {"relationships": []}});
    shop.patch("/products/1", sent).send().await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_most_100_faults_of_a_request_are_reported() {
    let shop = Shop::open().await;
    let long = "n".repeat(1_000);
    // The greatest number of members, with nearly a mebibyte of names.
    let members: Vec<String> = (0..1_000).map(|n| format!("\"{n}{long}\":0")).collect();
    let body = format!("{{{}}}", members.join(","));
    let ask = || shop.request("PATCH", "/manufacturers/1").text(&body);
    shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    let answer = ask().send().await.expect(422);
    let errors = answer.errors();
    assert_eq!(errors.len(), 101);
    assert!(errors[99].starts_with("422 unknown_field pointer /99nnn"), "{}", errors[99]);
    assert_eq!(errors[100], "422 too_many_faults");
    let detail = answer.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
    assert!(detail.len() < 200 && !detail.contains("did you mean"), "{detail}");
    // The faults that determine the status are among them.
    let answer = shop.request("POST", "/manufacturers").text(&body).send().await.expect(400);
    assert_eq!(answer.errors()[0], "400 missing_field pointer /manufacturer_name");
    assert_eq!(answer.errors().len(), 101);

    let items = vec![json!({"a": 0, "b": 0, "c": 0}); 1_000];
    let order = json!({"user_email": "ada@example.com", "items": items});
    let answer = shop.post("/orders", order).send().await.expect(422);
    assert_eq!(answer.errors().len(), 101);
    assert_eq!(answer.errors()[98], "422 unknown_field pointer /items/32/c");

    let query: Vec<String> = (0..2_000).map(|n| format!("filter[x{n}]=1")).collect();
    let path = format!("/manufacturers?{}", query.join("&"));
    let answer = shop.get(&path).send().await.expect(400);
    assert_eq!(answer.errors().len(), 101);
    let again = "page[limit]=1&".repeat(2_000);
    let answer = shop.get(&format!("/manufacturers/1?{again}")).send().await.expect(400);
    assert_eq!(answer.errors().len(), 101);
}

#[test]
fn a_similar_name_is_suggested_for_an_unknown_one() {
    let nearest = |name: &str| plugin::wire::names::nearest(name, ["enabled", "sku"].into_iter());
    assert_eq!(nearest("enable"), Some("enabled"));
    assert_eq!(nearest("skus"), Some("sku"));
    assert_eq!(nearest("is_enabled"), Some("enabled"));
    assert_eq!(nearest(&"enabled".repeat(10)), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_record_is_reported_before_invalid_values_and_after_invalid_syntax() {
    let shop = Shop::open().await;
    for id in ["999999999", "99999999999999999999999999", "0"] {
        let path = format!("/manufacturers/{id}");
        let wrong = json!({"enabled": 7, "unheard_of": 1});
        let answer = shop.patch(&path, wrong).send().await.expect(404);
        assert_eq!(answer.errors(), ["404 record_not_found"]);
        shop.request("PATCH", &path).text("{").send().await.expect(400);
        shop.get(&path).send().await.expect(404);
        shop.delete(&path).send().await.expect(404);
    }
}
