//! The rules of requests: headers, query, body, and what is said of each fault.

use std::collections::{BTreeSet, VecDeque};
use std::io::Read;

use serde_json::{Value, json};

use crate::support::harness::{ROOT, Role, Shop};

#[tokio::test(flavor = "multi_thread")]
async fn a_write_needs_content_type_json_and_has_no_effect_without() {
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
    // What is wrong with the headers comes together, before the body is looked at.
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
async fn a_body_is_one_json_object_whose_names_stand_once() {
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
async fn what_was_read_can_be_sent_back() {
    let shop = Shop::stocked().await;
    // What names a record of no other resource is sent back, too.
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
async fn a_relationship_that_is_written_sets_its_key() {
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

    // Where the key 0 is no record, so is no data.
    let category = patch("/categories/2", json!({"parent": none()})).await;
    assert_eq!(
        (&category["attributes"]["parent_id"], &category["attributes"]["level"]),
        (&json!(0), &json!(1))
    );
    let category = patch("/categories/2", json!({"parent": to("categories", "1")})).await;
    assert_eq!(category["attributes"]["path"], "lamps/desk-lamps");
    // What it names need be no resource of the store.
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
        // The order is that of the path, and comes back with what was read.
        json!({"orderstatus": to("orderstatuses", "1"), "order": to("orders", "1")}),
    );
    let entry = shop.post("/orders/1/history", entry).send().await.expect(201);
    assert_eq!(entry.attribute("order_state_id"), 1);
    assert_eq!(shop.get("/orders/1").send().await.expect(200).attribute("order_state_id"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relationship_that_cannot_be_set_is_a_fault_and_changes_nothing() {
    let shop = Shop::stocked().await;
    let before = shop.get("/products/1").send().await.expect(200).json();
    let maker = |value: Value| json!({"manufacturer": value});
    let with_data = |data: Value| maker(json!({"data": data}));
    let at =
        |code: &str, name: &str| vec![format!("422 {code} pointer /data/relationships/{name}")];
    let wrong = || at("invalid_value", "manufacturer");
    for (relationships, errors) in [
        (json!({"maker": {"data": null}}), at("unknown_field", "maker")),
        // What refers to nothing has no relationship.
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
    // The key beside it has to name the same record.
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
    // The order of an entry cannot be written, but what is no order is not taken for one.
    let entry = json!({"data": {"attributes": {"order_state_id": 1}, "relationships": {
        "order": {"data": {"type": "zones", "id": "1"}},
    }}});
    let entry = shop.post("/orders/1/history", entry).send().await.expect(422);
    assert_eq!(entry.errors(), at("invalid_value", "order"));
    let sent = json!({"data": {"relationships": []}});
    shop.patch("/products/1", sent).send().await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_request_that_is_wrong_everywhere_so_many_faults_are_reported() {
    let shop = Shop::open().await;
    let long = "n".repeat(1_000);
    // As many names as a body may have, nearly a mebibyte of them.
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
    // What decides on the status is among them.
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
fn a_name_is_suggested_that_is_like_the_one_that_was_sent() {
    let nearest = |name: &str| plugin::wire::request::nearest(name, ["enabled", "sku"].into_iter());
    assert_eq!(nearest("enable"), Some("enabled"));
    assert_eq!(nearest("skus"), Some("sku"));
    assert_eq!(nearest("is_enabled"), Some("enabled"));
    assert_eq!(nearest(&"enabled".repeat(10)), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn params_go_back_as_they_came_or_are_refused() {
    let shop = Shop::stocked().await;
    let path = "/shippingmethods/1";
    let method =
        |params: &str| shop.request("PATCH", path).text(&format!(r#"{{"params":{params}}}"#));
    let order = |attributes: &str| {
        let item = format!(r#"{{"orderitem_name":"x","orderitem_attributes":{attributes}}}"#);
        let order = format!(r#"{{"user_email":"ada@example.com","items":[{item}]}}"#);
        shop.request("POST", "/orders").text(&order)
    };
    for kept in [
        r#"{"a":"\\u0000"}"#,
        r#"{"a":[1e2,1.50,-0,123456789012345678901234567890],"b":{"a":"\ud83d\ude00"}}"#,
    ] {
        let answer = method(kept).send().await.expect(200);
        let text = String::from_utf8(answer.body).unwrap();
        assert!(text.contains(&format!(r#""params":{kept}"#)), "{text}");
        order(kept).send().await.expect(201);
    }
    let before = shop.get(path).send().await.expect(200).body;
    let deep = format!("{}1{}", "{\"a\":".repeat(65), "}".repeat(65));
    for refused in [
        r#"{"a":"\u0000"}"#,
        r#"{"a":"\\\u0000"}"#,
        r#"{"\u0000":0}"#,
        r#"{"a":1e400}"#,
        r#"{"a":"\ud800"}"#,
        r#"{"a":1,"a":1}"#,
        r#"{"b":[{"a":1,"\u0061":2}]}"#,
        &deep,
        "[]",
        "\"text\"",
    ] {
        let answer = method(refused).send().await.expect(422);
        assert_eq!(answer.errors(), ["422 invalid_value pointer /params"], "{refused}");
        let answer = order(refused).send().await.expect(422);
        let error = "422 invalid_value pointer /items/0/orderitem_attributes";
        assert_eq!(answer.errors(), [error], "{refused}");
    }
    assert_eq!(shop.get(path).send().await.expect(200).body, before);
}

/// What looks like a day and is none, percent-encoded.
const NO_DAYS: [&str; 16] = [
    "%2B2026-01-01",
    "-2026-01-01",
    "%2B026-01-01",
    "2026-1-1",
    "20260101",
    "2026-01-01T00:00:00",
    "2026-02-30",
    "2026-13-01",
    "2026-00-10",
    "2026-01-00",
    "2026%20-01-01",
    "2026-01-%2B1",
    "0000-01-01",
    "10000-01-01",
    "%EF%BC%92026-01-01",
    "today",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_day_in_a_filter_is_one_of_the_calendar() {
    let shop = Shop::stocked().await;
    for list in [
        "/orders",
        "/customers/0/orders",
        "/reports/sales",
        "/reports/products",
        "/reports/customers",
        "/reports/inventory",
    ] {
        for day in NO_DAYS {
            for filter in ["filter[date_from]", "filter[date_to]"] {
                let answer = shop.get(&format!("{list}?{filter}={day}")).send().await.expect(422);
                let error = format!("422 invalid_filter parameter {filter}");
                assert_eq!(answer.errors(), [error], "{list} {day}");
            }
        }
        // Values are trimmed, and the first and the last day that can be written are days.
        for query in [
            "filter[date_from]=%202026-01-01%20",
            "filter[date_from]=0001-01-01&filter[date_to]=0001-01-31",
            "filter[date_from]=9999-12-01&filter[date_to]=9999-12-31",
            "filter[date_to]=0001-01-01",
        ] {
            shop.get(&format!("{list}?{query}")).send().await.expect(200);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_in_a_body_is_strict_and_the_same_on_every_engine() {
    let shop = Shop::open().await;
    let coupon = |moment: &str| json!({"coupon_name": "c", "coupon_code": moment.replace(' ', ""), "value": 1, "valid_from": moment});
    let order = |moment: &str| json!({"user_email": "ada@example.com", "created_on": moment});
    for wrong in [
        " 2026-01-01",
        "2026-01-01 ",
        "+2026-01-01",
        "-2026-01-01T00:00:00",
        "+026-01-01T00:00:00",
        "2026-01-01T+1:00:00",
        "2026-01-01T24:00:00",
        "2026-01-01T00:00:60",
        "2026-01-01Z",
        "2026-01-01T00:00:00+25:00",
        "2026-01-01T00:00:00+24:00",
        "2026-01-01T00:00:00+01:60",
        "2026-01-01T00:00:00+0100",
        "2026-01-01T00:00:00 +01:00",
        "0000-01-01",
        "0000-12-31T23:30:00-01:00",
        "0001-01-01T00:30:00+01:00",
        "9999-12-31T23:30:00-01:00",
    ] {
        let answer = shop.post("/coupons", coupon(wrong)).send().await.expect(422);
        assert_eq!(answer.errors(), ["422 invalid_value pointer /valid_from"], "{wrong}");
        let answer = shop.post("/orders", order(wrong)).send().await.expect(422);
        assert_eq!(answer.errors(), ["422 invalid_value pointer /created_on"], "{wrong}");
    }
    for (sent, kept) in [
        ("0001-01-01", "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59"),
        ("2026-01-01T00:30:00+23:59", "2025-12-31T00:31:00"),
        ("2026-01-01T00:00:00-00:30", "2026-01-01T00:30:00"),
    ] {
        let coupon = shop.post("/coupons", coupon(sent)).send().await.expect(201);
        assert_eq!(coupon.attribute("valid_from"), kept);
        let order = shop.post("/orders", order(sent)).send().await.expect(201);
        assert_eq!(order.attribute("created_on"), kept);
        let day = &kept[..10];
        let query = format!("/orders?filter[date_from]={day}&filter[date_to]={day}");
        assert_eq!(shop.get(&query).send().await.expect(200).ids(), [order.id()], "{day}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_below_an_id_that_fits_no_key_is_empty() {
    let shop = Shop::stocked().await;
    // A guest's records have the user id 0.
    let guest = json!({"first_name": "Ada", "last_name": "Berg", "email": "ada@example.com"});
    shop.create("/customers", guest).await;
    let below = |id: &str| {
        let nested = plugin::resources::REGISTRY.iter().flat_map(|resource| resource.nested);
        let path = |nested: &plugin::model::resource::Nested| {
            format!("/{}/{id}/{}", nested.parent, nested.segment)
        };
        nested.map(path).collect::<Vec<_>>()
    };
    for id in
        ["9223372036854775807", "9223372036854775808", "99999999999999999999", &"9".repeat(200)]
    {
        for path in below(id) {
            let none = shop.get(&path).send().await.expect(200).json();
            assert_eq!(none["data"], json!([]), "{path}");
            assert_eq!(none["meta"], json!({"total-pages": 0, "total": 0}), "{path}");
            assert_eq!(none["links"], json!({"self": format!("{ROOT}{path}")}));
            shop.get(&format!("{path}?page[limit]=0")).send().await.expect(400);
        }
    }
    for path in ["/customers/0/orders", "/customers/0/addresses"] {
        assert_eq!(shop.get(path).send().await.expect(200).total(), 1, "{path}");
    }
    // A filter or a body by such an id is told so.
    for query in ["filter[customer_id]=99999999999999999999", "filter[status]=99999999999999999999"]
    {
        shop.get(&format!("/orders?{query}")).send().await.expect(422);
    }
    for query in ["filter[category]", "filter[manufacturer]"] {
        shop.get(&format!("/products?{query}=99999999999999999999")).send().await.expect(422);
        let none = shop.get(&format!("/products?{query}=9223372036854775807")).send().await;
        assert_eq!(none.expect(200).total(), 0);
    }
    let long = "99999999999999999999";
    for (path, body) in [
        ("/orders", json!({"user_email": "ada@example.com", "user_id": long})),
        ("/products", json!({"product_name": "x", "category_id": long})),
        ("/categories", json!({"title": "x", "parent_id": long})),
        ("/inventory", json!({"shop_product_id": long})),
    ] {
        shop.post(path, body).send().await.expect(422);
    }
    let body = json!({"order_state_id": 1});
    shop.post(&format!("/orders/{long}/history"), body).send().await.expect(404);
    let body = json!({"adjustment_type": "credit", "amount": 1, "reason": "x"});
    shop.post(&format!("/vouchers/{long}/adjust"), body).send().await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_record_is_said_before_wrong_values_and_after_wrong_syntax() {
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

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_query_name_the_parameter() {
    let shop = Shop::open().await;
    let cases: &[(&str, &str)] = &[
        ("page[limit]=0", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=-1", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=ten", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=1.5", "400 invalid_parameter parameter page[limit]"),
        ("page[limit]=", "400 invalid_parameter parameter page[limit]"),
        ("page[offset]=-1", "400 invalid_parameter parameter page[offset]"),
        ("page[size]=1", "400 unknown_parameter parameter page[size]"),
        ("page[limit]=1&page[limit]=2", "400 repeated_parameter parameter page[limit]"),
        ("list[ordering]=nothing", "400 invalid_parameter parameter list[ordering]"),
        ("list[ordering]=manufacturer_desc", "400 invalid_parameter parameter list[ordering]"),
        ("list[direction]=up", "400 invalid_parameter parameter list[direction]"),
        ("list[sort]=x", "400 unknown_parameter parameter list[sort]"),
        ("filter[enable]=1", "400 unknown_parameter parameter filter[enable]"),
        ("filter[search][x]=1", "400 unknown_parameter parameter filter[search][x]"),
        ("filter%5Benabled%5D=yes", "422 invalid_filter parameter filter[enabled]"),
        ("filter[enabled]=2", "422 invalid_filter parameter filter[enabled]"),
        ("filter[enabled]=1&filter[enabled]=1", "400 repeated_parameter parameter filter[enabled]"),
        ("filter[search]=%ff", "400 invalid_parameter parameter filter[search]"),
        ("page[%ff]=1", "400 invalid_parameter parameter page[\u{fffd}]"),
        ("%ff", "400 invalid_parameter parameter \u{fffd}"),
        ("utm=%ff", "400 invalid_parameter parameter utm"),
        ("page=2", "400 unknown_parameter parameter page"),
        ("page", "400 unknown_parameter parameter page"),
        ("page[]=2", "400 unknown_parameter parameter page[]"),
        ("include=zones", "400 unknown_parameter parameter include"),
        ("sort=-manufacturer_name", "400 unknown_parameter parameter sort"),
        ("fields=a", "400 unknown_parameter parameter fields"),
        ("fields%5Bmanufacturers%5D=a", "400 unknown_parameter parameter fields[manufacturers]"),
    ];
    for (query, error) in cases {
        let answer = shop.get(&format!("/manufacturers?{query}")).send().await;
        let status = error[..3].parse().unwrap();
        assert_eq!(answer.expect(status).errors(), [*error], "{query}");
    }
    let both = "/manufacturers?filter[enabled]=2&page[limit]=0";
    assert_eq!(shop.get(both).send().await.expect(400).errors().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_parameters_are_ignored_and_none_overrides_the_path() {
    let shop = Shop::open().await;
    let plain = shop.get("/countries/84/zones").send().await.expect(200);
    let query = "/countries/84/zones?country_id=1&id=1&utm=%zz&filter=x&pages=2&=";
    let other = shop.get(query).send().await.expect(200);
    assert_eq!(plain.body, other.body);
    shop.get("/countries/84/zones?filter[country_id]=1").send().await.expect(400);
    shop.get("/countries/84/zones?filter[enabled]=1").send().await.expect(400);
    shop.get("/countries/84?page[limit]=1").send().await.expect(400);
    shop.request("DELETE", "/countries/84?filter[x]=1").send().await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_route_ignores_a_member_of_the_query_that_json_api_means() {
    let shop = Shop::stocked().await;
    for route in plugin::app::describe().routes {
        let path = route.pattern.strip_prefix("v1/shop").unwrap().replace("{id:digits}", "1");
        for (member, name) in [
            ("page=2", "page"),
            ("include=orders", "include"),
            ("sort=-id", "sort"),
            ("fields[orders]=id", "fields[orders]"),
            ("page[number]=2", "page[number]"),
            ("page[%ff]=2", "page[\u{fffd}]"),
        ] {
            let method = route.method.to_string();
            let ask = shop.request(&method, &format!("{path}?{member}"));
            let ask = if method == "GET" { ask } else { ask.text("{}") };
            let answer = ask.send().await.expect(400);
            let errors = answer.errors();
            assert!(errors[0].ends_with(&format!("_parameter parameter {name}")), "{errors:?}");
        }
    }
}

/// Collects the addresses in all members `links`.
fn links(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            let own = members.get("links").and_then(Value::as_object).into_iter().flatten();
            found.extend(own.map(|(_, link)| link.as_str().unwrap().to_owned()));
            members.values().for_each(|member| links(member, found));
        }
        Value::Array(members) => members.iter().for_each(|member| links(member, found)),
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_link_and_location_leads_to_what_can_be_read() {
    let shop = Shop::stocked().await;
    let mut found = BTreeSet::new();
    let new = json!({"user_email": "ada@example.com", "items": [{"product_id": 1}]});
    let (status, note) =
        (json!({"order_state_id": 1}), json!({"order_state_id": 1, "comment": "x"}));
    let credit = json!({"adjustment_type": "credit", "amount": 1, "reason": "x"});
    let zone = json!({"zone_name": "x", "zone_code": "X", "country_id": 1});
    for (path, body) in [
        ("/orders", new),
        ("/orders/1/history", status),
        ("/orders/01/history?utm=1", note),
        ("/vouchers/1/adjust", credit),
        ("/zones", zone),
    ] {
        let answer = shop.post(path, body).send().await;
        assert!(answer.status < 300, "{path}");
        links(&answer.json(), &mut found);
        found.extend(answer.headers.get("location").map(|at| at.to_str().unwrap().to_owned()));
    }
    for route in plugin::app::describe().routes {
        if route.method.to_string() == "GET" {
            let path = route.pattern.strip_prefix("v1/shop").unwrap();
            // Methods of payment share their ids with those of shipping, which come first.
            let id = if path.starts_with("/paymentmethods") { "2" } else { "1" };
            found.insert(format!("{ROOT}{}", path.replace("{id:digits}", id)));
        }
    }
    let mut open: VecDeque<String> = found.iter().cloned().collect();
    // Countries have too many zones to be read one after the other.
    while let Some(link) = open.pop_front().filter(|_| found.len() < 2_000) {
        let answer = shop.get(link.strip_prefix(ROOT).unwrap()).send().await.expect(200);
        let mut more = BTreeSet::new();
        links(&answer.json(), &mut more);
        open.extend(more.into_iter().filter(|link| found.insert(link.clone())));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_page_has_no_next_one_where_it_is_full() {
    let shop = Shop::open().await;
    for number in 1..=6 {
        let name = format!("Birch {number}");
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
        let order = json!({"user_email": "ada@example.com", "user_id": 0});
        shop.create("/orders", order).await;
        let email = "administrator@example.com";
        shop.create("/vouchers", json!({"voucher_value": 1, "email_to": email})).await;
    }
    for list in ["/manufacturers", "/customers/0/orders", "/vouchers/mine"] {
        for (offset, limit, next) in [(4, 2, None), (0, 6, None), (3, 3, None), (3, 2, Some(5))] {
            let path = format!("{list}?page[offset]={offset}&page[limit]={limit}");
            let page = shop.get(&path).send().await.expect(200).json();
            assert_eq!(page["data"].as_array().unwrap().len(), limit);
            let expected = next.map(|offset: usize| {
                json!(format!("{ROOT}{list}?page%5Boffset%5D={offset}&page%5Blimit%5D={limit}"))
            });
            assert_eq!(page["links"].get("next"), expected.as_ref(), "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_link_to_each_other_and_count() {
    let shop = Shop::open().await;
    for number in 1..=7 {
        let body = json!({"manufacturer_name": format!("Birch {number}"), "enabled": number % 2});
        shop.create("/manufacturers", body).await;
    }
    let at = "/api/index.php/v1/shop/manufacturers";
    let page = shop.get("/manufacturers?page[offset]=2&page[limit]=2").send().await.expect(200);
    let link = |offset: i64| format!("{at}?page%5Boffset%5D={offset}&page%5Blimit%5D=2");
    assert_eq!(
        page.json()["links"],
        json!({
            "self": link(2), "first": link(0), "prev": link(0), "next": link(4), "last": link(6),
        })
    );
    assert_eq!(page.json()["meta"], json!({"total-pages": 4, "total": 7}));

    let past = shop.get("/manufacturers?page[offset]=99&page[limit]=2").send().await.expect(200);
    assert_eq!(past.json()["data"], json!([]));
    assert_eq!(past.json()["links"]["prev"], link(6));
    assert_eq!(past.json()["links"].get("next"), None);
    let far = "/manufacturers?page[offset]=99999999999999999999&page[limit]=99999999999999999999";
    assert_eq!(shop.get(far).send().await.expect(200).json()["data"], json!([]));

    let none = shop.get("/manufacturers?filter[search]=zzz").send().await.expect(200).json();
    assert_eq!(none["links"], json!({"self": format!("{at}?filter%5Bsearch%5D=zzz")}));
    assert_eq!(none["meta"], json!({"total-pages": 0, "total": 0}));

    let all = shop.get("/manufacturers").send().await.expect(200).json();
    assert_eq!(all["links"]["self"], at);
    assert_eq!(all["meta"], json!({"total-pages": 1, "total": 7}));
}

#[tokio::test(flavor = "multi_thread")]
async fn following_next_meets_every_record_once() {
    let shop = Shop::open().await;
    let mut path =
        "/zones?page[limit]=100&list[ordering]=enabled&list[direction]=desc&filter[search]=A"
            .to_owned();
    let mut met = Vec::new();
    let mut pages = 0;
    let total = loop {
        let answer = shop.get(&path).send().await.expect(200);
        met.extend(answer.ids());
        pages += 1;
        let json = answer.json();
        match json["links"]["next"].as_str() {
            Some(next) => {
                path = next.strip_prefix(crate::support::harness::ROOT).unwrap().to_owned()
            }
            None => {
                assert_eq!(json["meta"]["total-pages"], pages);
                break answer.total();
            }
        }
    };
    assert_eq!(met.len(), usize::try_from(total).unwrap());
    // All have the same value in the ordering column: the key breaks the tie the same way.
    assert!(met.windows(2).all(|pair| pair[0] > pair[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_page_has_20_records_and_the_largest_100() {
    let shop = Shop::open().await;
    assert_eq!(shop.get("/zones").send().await.expect(200).ids().len(), 20);
    assert_eq!(shop.get("/zones?page[limit]=100").send().await.expect(200).ids().len(), 100);
    let more = shop.get("/zones?page[limit]=5000").send().await.expect(200);
    assert_eq!(more.ids().len(), 100);
    let total = more.total();
    assert_eq!(more.json()["meta"]["total-pages"], Value::from((total + 99) / 100));
}

#[tokio::test(flavor = "multi_thread")]
async fn search_takes_text_plainly_anywhere_and_in_any_case() {
    let shop = Shop::open().await;
    for name in ["100% Wolle", "under_score", r"back\slash", "ŁĄKA Straße", "Ünïcode 'quoted'"]
    {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let search = async |text: &str| {
        let query: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/manufacturers?filter[search]={query}");
        shop.get(&path).send().await.expect(200).column("manufacturer_name")
    };
    assert_eq!(search("%").await, ["100% Wolle"]);
    assert_eq!(search("_").await, ["under_score"]);
    assert_eq!(search(r"\").await, [r"back\slash"]);
    assert_eq!(search("0% w").await, ["100% Wolle"]);
    assert_eq!(search("łąka").await, ["ŁĄKA Straße"]);
    assert_eq!(search("STRASSE").await, ["ŁĄKA Straße"]);
    assert_eq!(search("üNÏ").await, ["Ünïcode 'quoted'"]);
    assert_eq!(search("'QUOTED'").await, ["Ünïcode 'quoted'"]);
    assert_eq!(search("  \u{1}back  ").await, [r"back\slash"]);
    assert_eq!(search("   ").await.len(), 5, "an empty filter counts as not sent");
    assert_eq!(search("nothing").await, Vec::<Value>::new());
    let plus = shop.get("/manufacturers?filter[search]=100%25+w").send().await.expect(200);
    assert_eq!(plus.column("manufacturer_name"), ["100% Wolle"]);
}

/// Each expectation is written out, from Unicode's table of full case folding.
#[tokio::test(flavor = "multi_thread")]
async fn letters_are_the_same_in_any_case_where_unicode_folds_them_to_the_same() {
    let shop = Shop::open().await;
    for name in ["Straße", "İzmir", "ırmak", "ΟΔΟΣ", "Éclair", "Žižka"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let search = async |text: &str| {
        let query: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let path = format!("/manufacturers?filter[search]={query}");
        shop.get(&path).send().await.expect(200).column("manufacturer_name")
    };
    for (text, found) in [
        ("strasse", "Straße"),
        ("STRAẞE", "Straße"),
        ("i\u{307}zmir", "İzmir"),
        ("ırmak", "ırmak"),
        ("οδοσ", "ΟΔΟΣ"),
        ("οδος", "ΟΔΟΣ"),
        ("éCLAIR", "Éclair"),
        ("žiŽKA", "Žižka"),
    ] {
        assert_eq!(search(text).await, [found], "{text}");
    }
    // Neither a dot nor an accent is passed over.
    for text in ["izmir", "İZMİR", "irmak", "eclair", "ziz"] {
        assert_eq!(search(text).await, Vec::<Value>::new(), "{text}");
    }
    let coupon = |code: &str| json!({"coupon_name": "c", "coupon_code": code, "value": 1});
    for (first, same) in [("STRASSE", "straße"), ("ΟΔΟΣ", "οδος"), ("ÉTÉ", "été")] {
        shop.create("/coupons", coupon(first)).await;
        let answer = shop.post("/coupons", coupon(same)).send().await.expect(422);
        assert_eq!(answer.errors(), ["422 duplicate pointer /coupon_code"], "{same}");
    }
    for other in ["STRASE", "ETE"] {
        shop.create("/coupons", coupon(other)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn text_sorts_by_code_point_of_the_folded_value() {
    let shop = Shop::open().await;
    for name in ["b", "A", "ä", "Z", "a", "B", "Ä", "é", "1", "ß", "st"] {
        shop.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let path = "/manufacturers?list[ordering]=manufacturer_name";
    let sorted = shop.get(path).send().await.expect(200).column("manufacturer_name");
    assert_eq!(sorted, ["1", "A", "a", "b", "B", "ß", "st", "Z", "ä", "Ä", "é"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn get_answers_head_too() {
    let shop = Shop::open().await;
    for path in ["/countries", "/countries/1", "/countries/999999999"] {
        let get = shop.get(path).send().await;
        let head = shop.request("HEAD", path).send().await;
        assert_eq!(head.status, get.status);
        assert!(head.body.is_empty());
        assert_eq!(head.header("content-length"), get.body.len().to_string());
        assert_eq!(head.header("content-type"), get.header("content-type"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_requests_are_all_answered() {
    let shop = std::sync::Arc::new(Shop::open().await);
    let asking = (0..8).map(|_| {
        let shop = shop.clone();
        tokio::spawn(async move {
            for _ in 0..50 {
                shop.get("/countries?page[limit]=1").send().await.expect(200);
            }
        })
    });
    for asked in asking.collect::<Vec<_>>() {
        asked.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_not_changed_is_not_sent_again() {
    let shop = Shop::stocked().await;
    let tag_of = async |path: &str| {
        let answer = shop.get(path).send().await.expect(200);
        assert_eq!(answer.header("cache-control"), "private, no-cache");
        answer.header("etag").to_owned()
    };
    for path in ["/products", "/products/1", "/products?filter[search]=lamp", "/reports/sales"] {
        let tag = tag_of(path).await;
        for known in [tag.as_str(), &format!("\"x\", {tag}"), &tag.replace("W/", ""), "*"] {
            for method in ["GET", "HEAD"] {
                let ask = shop.request(method, path).header("if-none-match", known);
                let unchanged = ask.send().await;
                assert_eq!(unchanged.status, 304, "{method} {path} {known}");
                assert!(unchanged.body.is_empty());
                assert_eq!(unchanged.header("etag"), tag);
                assert!(unchanged.headers.get("content-type").is_none());
            }
        }
        shop.get(path).header("if-none-match", "W/\"x\"").send().await.expect(200);
    }

    let (list, other) = (tag_of("/products").await, tag_of("/products/2").await);
    let mine = tag_of("/products/1").await;
    let changed = shop.patch("/products/1", json!({"price": "20"})).header("if-none-match", "*");
    let changed = changed.send().await.expect(200);
    assert!(changed.headers.get("etag").is_none(), "what is written has no tag");
    for (path, tag) in [("/products", &list), ("/products/1", &mine)] {
        shop.get(path).header("if-none-match", tag).send().await.expect(200);
        assert_ne!(&tag_of(path).await, tag, "{path}");
    }
    assert_eq!(tag_of("/products/2").await, other);

    // Who may not read is told so, whatever is known.
    let ask = shop.get("/products").header("if-none-match", &list);
    ask.by(Role::Registered).send().await.expect(403);
    let missing = shop.get("/products/999").header("if-none-match", "*").send().await.expect(404);
    assert!(missing.headers.get("etag").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_compressed_when_the_client_asks() {
    let shop = Shop::open().await;
    let path = "/countries?page[limit]=100";
    let plain = shop.get(path).send().await.expect(200);
    let ask = shop.get(path).header("accept-encoding", "br;q=1.0, gzip;q=0.8");
    let compressed = ask.send().await.expect(200);
    assert_eq!(compressed.header("content-encoding"), "gzip");
    assert!(compressed.body.len() * 4 < plain.body.len(), "{}", compressed.body.len());
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(&compressed.body[..]).read_to_end(&mut text).unwrap();
    assert_eq!(text, plain.body);
    assert_eq!(compressed.header("etag"), plain.header("etag"));
    for answer in [&plain, &compressed] {
        let vary = answer.headers.get_all("vary").iter().map(|value| value.to_str().unwrap());
        let vary = vary.collect::<Vec<_>>().join(", ").to_lowercase();
        assert_eq!(vary, "accept, authorization, accept-encoding");
    }
    // Not what is small already, and not for who cannot read it.
    for (path, encoding) in [("/countries/1", "gzip"), (path, "gzip;q=0"), (path, "identity")] {
        let answer = shop.get(path).header("accept-encoding", encoding).send().await.expect(200);
        assert!(answer.headers.get("content-encoding").is_none(), "{path} {encoding}");
        assert_eq!(answer.header("content-length"), answer.body.len().to_string());
    }
}

/// What a text costs that is searched for does not grow with what a stranger sends.
#[tokio::test(flavor = "multi_thread")]
async fn a_text_longer_than_any_that_is_searched_is_refused() {
    let shop = Shop::open().await;
    for (kind, filter) in [("products", "search"), ("products", "sku"), ("zones", "search")] {
        let search = |text: &str| format!("/{kind}?filter[{filter}]={text}");
        let longest = "ä".repeat(255);
        let found = shop.get(&search(&longest)).send().await.expect(200);
        assert_eq!(found.total(), 0);
        let refused = shop.get(&search(&format!("{longest}0"))).send().await.expect(422);
        assert_eq!(refused.errors(), [format!("422 invalid_filter parameter filter[{filter}]")]);
        let detail = refused.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains("255"), "{detail}");
        // What nobody can see does not count.
        shop.get(&search(&format!("+{longest}+%00"))).send().await.expect(200);
    }
}

/// Long texts are found by a part of them, and must be there as a whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_text_is_found_as_a_whole() {
    let shop = Shop::open().await;
    let letters =
        |from: u32| (from..from + 80).map(|n| char::from_u32('a' as u32 + n * 7 % 26).unwrap());
    let long: String = letters(0).chain(letters(1)).chain(letters(3)).collect();
    for (name, sku) in [
        (long.clone(), "0".repeat(255)),
        // The same at both ends.
        (
            long.replacen(&long[100..110], "##########", 1),
            format!("{}1{}", "0".repeat(99), "0".repeat(99)),
        ),
    ] {
        shop.create("/products", json!({"product_name": name, "sku": sku})).await;
    }
    let found = async |query: String| {
        let found = shop.get(&format!("/products?{query}")).send().await.expect(200);
        (found.ids(), found.total())
    };
    for length in [3, 17, 18, 19, 20, 40, 150, 240] {
        let whole = found(format!("filter[search]={}", &long[..length])).await;
        let expected = if length > 100 { (vec![1], 1) } else { (vec![1, 2], 2) };
        assert_eq!(whole, expected, "{length}");
        let none =
            found(format!("filter[search]={}!{}", &long[..length / 2], &long[length / 2..length]));
        assert_eq!(none.await, (vec![], 0), "{length}");
    }
    for (zeros, expected) in [(99, vec![1, 2]), (100, vec![1]), (255, vec![1])] {
        let ids = found(format!("filter[sku]={}", "0".repeat(zeros))).await.0;
        assert_eq!(ids, expected, "{zeros} zeros");
    }
}
