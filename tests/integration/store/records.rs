//! Common rules of all records: creation, limits of values, unique values, references, and
//! deletion; and the small resources with few rules of their own.

use serde_json::{Value, json};

use crate::support::harness::{Shop, statuses};

#[tokio::test(flavor = "multi_thread")]
async fn a_manufacturer_from_creation_to_removal() {
    let shop = Shop::open().await;
    let created = shop.post("/manufacturers", json!({"manufacturer_name": "Birch"}));
    let created = created.send().await.expect(201);
    let path = format!("/manufacturers/{}", created.id());
    assert_eq!(created.header("location"), format!("{}{path}", crate::support::harness::ROOT));
    insta::assert_json_snapshot!(created.json(), @r#"
    {
      "links": {
        "self": "/api/index.php/v1/shop/manufacturers/1"
      },
      "data": {
        "type": "manufacturers",
        "id": "1",
        "attributes": {
          "shop_manufacturer_id": 1,
          "manufacturer_name": "Birch",
          "enabled": 1,
          "ordering": 0,
          "manufacturer_desc": ""
        },
        "links": {
          "self": "/api/index.php/v1/shop/manufacturers/1"
        },
        "meta": {
          "version": 1
        }
      }
    }
    "#);
    let change = json!({"enabled": false, "ordering": "-7", "manufacturer_desc": "Wood.\n"});
    let changed = shop.patch(&path, change).send().await.expect(200);
    assert_eq!(changed.attribute("manufacturer_name"), "Birch");
    assert_eq!(changed.attribute("enabled"), 0);
    assert_eq!(changed.attribute("ordering"), -7);
    assert_eq!(changed.json(), shop.get(&path).send().await.expect(200).json());
    let unchanged = shop.patch(&path, json!({})).send().await.expect(200);
    assert_eq!(unchanged.json(), changed.json());

    let list = shop.get("/manufacturers?filter[enabled]=0").send().await.expect(200);
    assert_eq!(list.ids(), [created.id()]);
    assert_eq!(shop.get("/manufacturers?filter[enabled]=1").send().await.expect(200).total(), 0);

    let gone = shop.delete(&path).send().await.expect(204);
    assert!(gone.body.is_empty());
    shop.get(&path).send().await.expect(404);
    shop.delete(&path).send().await.expect(404);
    // A key is never generated twice.
    let next = shop.create("/manufacturers", json!({"manufacturer_name": "Oak"})).await;
    assert!(next > created.id());
}

#[tokio::test(flavor = "multi_thread")]
async fn values_beyond_a_fields_limits_are_422_and_change_nothing() {
    let shop = Shop::open().await;
    let cases: &[(&str, &str, Value)] = &[
        ("/manufacturers", "manufacturer_name", json!("")),
        ("/manufacturers", "manufacturer_name", json!("  ")),
        ("/manufacturers", "manufacturer_name", json!(null)),
        ("/manufacturers", "manufacturer_name", json!(7)),
        ("/manufacturers", "manufacturer_name", json!("x".repeat(256))),
        ("/manufacturers", "manufacturer_name", json!("a\u{0}b")),
        ("/manufacturers", "manufacturer_desc", json!("x".repeat(65_536))),
        ("/manufacturers", "manufacturer_desc", json!(null)),
        ("/manufacturers", "enabled", json!(2)),
        ("/manufacturers", "enabled", json!("yes")),
        ("/manufacturers", "enabled", json!(null)),
        ("/manufacturers", "ordering", json!(1.5)),
        ("/manufacturers", "ordering", json!("")),
        ("/manufacturers", "ordering", json!(2_147_483_648_i64)),
        ("/currencies", "currency_code", json!("eur")),
        ("/currencies", "currency_code", json!("EURO")),
        ("/currencies", "currency_code", json!("ÄÖÜ")),
        ("/currencies", "currency_value", json!(0)),
        ("/currencies", "currency_value", json!("-1")),
        ("/currencies", "currency_value", json!("0.123456789")),
        ("/currencies", "currency_value", json!("1e3")),
        ("/currencies", "currency_value", json!("10000000000")),
        ("/currencies", "currency_value", json!(true)),
        ("/currencies", "currency_position", json!("between")),
        ("/currencies", "currency_num_decimals", json!(9)),
        ("/currencies", "currency_num_decimals", json!(-1)),
        ("/currencies", "currency_decimal", json!("12345")),
        ("/countries", "country_isocode_2", json!("D")),
        ("/countries", "country_isocode_3", json!("deu")),
        ("/zones", "zone_code", json!("x".repeat(33))),
        ("/zones", "country_id", json!(null)),
        ("/zones", "country_id", json!(0)),
        ("/zones", "country_id", json!("one")),
    ];
    shop.create("/manufacturers", json!({"manufacturer_name": "Birch"})).await;
    for (path, field, value) in cases {
        let path = format!("{path}/1");
        let before = shop.get(&path).send().await.expect(200).json();
        let answer = shop.patch(&path, json!({*field: value})).send().await.expect(422);
        let errors = answer.errors();
        assert!(errors[0].ends_with(&format!(" pointer /{field}")), "{field} {value}: {errors:?}");
        assert_eq!(before, shop.get(&path).send().await.expect(200).json());
    }
    // The longest permitted text is accepted.
    let long =
        json!({"manufacturer_name": "ü".repeat(255), "manufacturer_desc": "ü".repeat(65_535)});
    shop.patch("/manufacturers/1", long).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_are_unique() {
    let shop = Shop::open().await;
    let body = json!({"currency_title": "Another euro", "currency_code": "EUR"});
    let answer = shop.post("/currencies", body).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 duplicate pointer /currency_code"]);

    let body = json!({
        "country_name": "Twin", "country_isocode_2": "DE", "country_isocode_3": "FRA",
    });
    let answer = shop.post("/countries", body).send().await.expect(422);
    assert_eq!(
        answer.errors(),
        ["422 duplicate pointer /country_isocode_2", "422 duplicate pointer /country_isocode_3"]
    );

    // A zone's code is unique within its country.
    let zone =
        |country: i64| json!({"zone_name": "New", "zone_code": "NEW", "country_id": country});
    let first = shop.create("/zones", zone(1)).await;
    let answer = shop.post("/zones", zone(1)).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 duplicate pointer /zone_code"]);
    let second = shop.create("/zones", zone(2)).await;
    let path = format!("/zones/{second}");
    shop.patch(&path, json!({"country_id": 1})).send().await.expect(422);
    // A record does not conflict with itself.
    shop.patch(&format!("/zones/{first}"), zone(1)).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_32_parallel_posts_of_the_same_code_succeeds() {
    let shop = Shop::open().await;
    let twins = (0..32).map(|number| {
        let name = format!("Twin {number}");
        shop.post("/zones", json!({"zone_name": name, "zone_code": "TWIN", "country_id": 1}))
            .in_turn()
    });
    assert_eq!(statuses(twins).await, [(201, 1), (422, 31)]);
    let found = shop.get("/countries/1/zones?filter[search]=twin").send().await.expect(200);
    assert_eq!(found.total(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn codes_and_references_cannot_change_while_others_refer_to_them() {
    let shop = Shop::stocked().await;
    for own in [json!({"currency_code": "USD"}), json!({"order_id": "A-1"})] {
        let mut order = own;
        order["user_email"] = "ada@example.com".into();
        shop.create("/orders", order).await;
    }
    let named = json!({"order_id": "A-1"});
    shop.patch("/vouchers/1", named.clone()).send().await.expect(200);
    let dollar = format!("/currencies/{}", shop.currency("USD").await);
    for (path, change, by) in [
        (dollar.as_str(), json!({"currency_code": "USX"}), "1 order"),
        ("/orders/3", json!({"order_id": "A-2"}), "1 voucher"),
        ("/zones/1", json!({"country_id": 2}), "1 address"),
    ] {
        let before = shop.get(path).send().await.expect(200).body;
        let column = change.as_object().unwrap().keys().next().unwrap().clone();
        let refused = shop.patch(path, change).send().await.expect(422);
        assert_eq!(refused.errors(), [format!("422 referenced pointer /{column}")], "{path}");
        let detail = refused.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(&format!("cannot be changed: {by} refers to this ")), "{detail}");
        assert_eq!(shop.get(path).send().await.expect(200).body, before, "{path} is as it was");
    }
    // Nothing was orphaned: the voucher still refers to its order, and values without references
    // may change.
    let refused = shop.delete("/orders/3").send().await.expect(422);
    assert_eq!(refused.errors(), ["422 referenced"]);
    shop.patch("/orders/3", json!({"order_id": "A-1"})).send().await.expect(200);
    shop.patch("/vouchers/1", json!({"order_id": ""})).send().await.expect(200);
    shop.patch("/orders/3", json!({"order_id": "A-2"})).send().await.expect(200);
    shop.patch("/vouchers/1", named).send().await.expect(422);
    shop.delete("/orders/3").send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_32_parallel_posts_of_the_same_sku_coupon_or_voucher_code_succeeds() {
    let shop = Shop::open().await;
    let product = json!({"product_name": "Twin", "sku": "TWIN"});
    let coupon = json!({"coupon_name": "Twin", "coupon_code": "TWIN", "value": 1});
    let voucher = json!({"voucher_code": "TWIN", "voucher_value": 1});
    for (path, body) in [("/products", product), ("/coupons", coupon), ("/vouchers", voucher)] {
        let twins = (0..32).map(|_| shop.post(path, body.clone()).in_turn());
        assert_eq!(statuses(twins).await, [(201, 1), (422, 31)], "{path}");
        assert_eq!(shop.get(path).send().await.expect(200).total(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_record_that_others_refer_to_cannot_be_deleted() {
    let shop = Shop::stocked().await;
    for (path, by) in [
        ("/manufacturers/1", "1 product"),
        ("/categories/2", "1 product"),
        ("/categories/1", "1 category"),
        ("/taxprofiles/1", "1 product"),
        ("/countries/1", "1 address"),
        ("/zones/1", "1 address"),
    ] {
        let refused = shop.delete(path).send().await.expect(422);
        assert_eq!(refused.errors(), ["422 referenced"], "{path}");
        let detail = refused.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
        assert!(detail.contains(by), "{path}: {detail}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_values_of_a_coupon_must_be_consistent() {
    let shop = Shop::stocked().await;
    for (wrong, error) in [
        (json!({"coupon_code": "a b"}), "422 invalid_value pointer /coupon_code"),
        (json!({"value": -1}), "422 invalid_value pointer /value"),
        (json!({"value": "0.123456"}), "422 invalid_value pointer /value"),
        (
            json!({"value": 101, "value_type": "percentage_cart"}),
            "422 invalid_value pointer /value",
        ),
        (
            json!({"valid_from": "2026-02-01", "valid_to": "2026-01-31T23:59:59"}),
            "422 invalid_value pointer /valid_to",
        ),
        (json!({"valid_from": "2026-02-30"}), "422 invalid_value pointer /valid_from"),
        (json!({"max_uses": -1}), "422 invalid_value pointer /max_uses"),
        (json!({"products": [1, "x"]}), "422 invalid_value pointer /products"),
        (json!({"max_value": "1000000000000"}), "422 invalid_value pointer /max_value"),
    ] {
        let answer = shop.patch("/coupons/1", wrong.clone()).send().await.expect(422);
        assert_eq!(answer.errors(), [error], "{wrong}");
    }
    let right = json!({
        "value": "12.50", "valid_from": "2026-01-01", "valid_to": "2026-01-31T12:00:00-02:00",
        "products": "3,1", "brand_ids": [7], "max_value": 10, "min_subtotal": null,
    });
    let coupon = shop.patch("/coupons/1", right).send().await.expect(200);
    assert_eq!(coupon.attribute("value"), "12.5");
    assert_eq!(coupon.attribute("valid_to"), "2026-01-31T14:00:00");
    assert_eq!(coupon.attribute("products"), json!([3, 1]));
    assert_eq!(coupon.attribute("max_value"), "10.00");
    let twin = json!({"coupon_name": "x", "coupon_code": "spring", "value": 0});
    let refused = shop.post("/coupons", twin).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /coupon_code"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn method_ids_are_unique_across_both_kinds_and_elements_within_each() {
    let shop = Shop::stocked().await;
    shop.get("/paymentmethods/1").send().await.expect(404);
    shop.patch("/paymentmethods/1", json!({"enabled": 0})).send().await.expect(404);
    shop.delete("/paymentmethods/1").send().await.expect(404);
    assert_eq!(shop.get("/paymentmethods").send().await.expect(200).ids(), [2]);
    let same = json!({"name": "x", "element": "payment_invoice", "params": {"a": [1.50, "x"]}});
    let refused = shop.post("/paymentmethods", same.clone()).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /element"]);
    let other = shop.post("/shippingmethods", same).send().await.expect(201);
    assert_eq!((other.id(), other.attribute("params")), (3, json!({"a": [1.5, "x"]})));
    for wrong in ["", "A", "a-b", "ä"] {
        let body = json!({"name": "x", "element": wrong});
        shop.post("/shippingmethods", body).send().await.expect(422);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_configuration_is_one_record_of_all_parameters() {
    let shop = Shop::open().await;
    shop.site.set_parameter("invoice_prefix", &json!("R-")).await.unwrap();
    let config = shop.get("/config").send().await.expect(200);
    insta::assert_json_snapshot!(config.json(), @r#"
    {
      "links": {
        "self": "/api/index.php/v1/shop/config"
      },
      "data": {
        "type": "config",
        "id": "1",
        "attributes": {
          "default_currency": "EUR",
          "initial_order_status": 5,
          "invoice_prefix": "R-",
          "report_statuses": [
            1,
            2,
            7,
            8
          ],
          "low_stock_threshold": 2,
          "store_name": "Online store",
          "order_mail_subject": "{{ store_name }}: your order {{ order_id }} is {{ status }}",
          "order_mail_text": "Hello{% if first_name %} {{ first_name }}{% endif %},\n\nthe status of your order {{ order_id }} of {{ created_on }} is now: {{ status }}.\n{% if comment %}\n\n{{ comment }}\n{% endif %}\n{% for item in backordered %}\n\nNot in stock, and sent later: {{ item.quantity }} x {{ item.name or item.sku }}\n{% endfor %}\n\nTotal: {{ order_total }} {{ currency_code }}\n{% if tracking_url %}\n\nFollow your parcel: {{ tracking_url }}\n{% endif %}\n\n{{ store_name }}\n",
          "closed_statuses": [
            3,
            6,
            7,
            8
          ],
          "shipped_status": 7,
          "shipment_mail_subject": "{{ store_name }}: a parcel of your order {{ order_id }} is on its way",
          "shipment_mail_text": "Hello{% if first_name %} {{ first_name }}{% endif %},\n\na parcel of your order {{ order_id }} of {{ created_on }} is on its way.\n{% if items %}\n\n{% for item in items %}\n{{ item.quantity }} x {{ item.name or item.sku }}\n{% endfor %}\n{% endif %}\n{% if comment %}\n\n{{ comment }}\n{% endif %}\n{% if tracking_id %}\n\nNumber: {{ tracking_id }}{% if carrier %} ({{ carrier }}){% endif %}\n\n{% endif %}\n{% if tracking_url %}\n\nFollow your parcel: {{ tracking_url }}\n{% endif %}\n\n{{ store_name }}\n",
          "require_if_match": 0,
          "require_refund_key": 0,
          "idempotency_days": 7,
          "change_days": 90,
          "import_lines": 500,
          "retention_closed_months": 0,
          "retention_open_months": 0,
          "retention_customers_months": 0
        },
        "links": {
          "self": "/api/index.php/v1/shop/config"
        }
      }
    }
    "#);
    shop.get("/config?filter[x]=1").send().await.expect(400);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn two_demo_stores_are_equal_and_consistent() {
    let (first, second) = (Shop::filled().await, Shop::filled().await);
    for path in ["/products/7", "/orders/40", "/orders/40/items", "/customers/9", "/vouchers/5"] {
        let one = first.get(path).send().await.expect(200);
        assert_eq!(one.json(), second.get(path).send().await.expect(200).json(), "{path}");
    }
    let amount =
        |value: &Value| -> rust_decimal::Decimal { value.as_str().unwrap().parse().unwrap() };
    let mut pieces = 0;
    for id in 1..=40 {
        let order = first.get(&format!("/orders/{id}")).send().await.expect(200);
        let items = first.get(&format!("/orders/{id}/items")).send().await.expect(200);
        let lines = items.column("orderitem_finalprice");
        let subtotal: rust_decimal::Decimal = lines.iter().map(amount).sum();
        assert_eq!(amount(&order.attribute("order_subtotal")), subtotal);
        let of = |name: &str| amount(&order.attribute(name));
        let total = subtotal + of("order_tax") + of("order_shipping") - of("order_discount");
        assert_eq!(of("order_total"), total);
        if [1, 2, 7, 8].contains(&order.attribute("order_state_id").as_i64().unwrap()) {
            let quantities = items.column("orderitem_quantity");
            pieces += quantities.iter().map(|pieces| pieces.as_i64().unwrap()).sum::<i64>();
        }
    }
    let ever = "filter[date_from]=2000-01-01&filter[period]=year";
    let sales = first.get(&format!("/reports/sales?{ever}")).send().await.expect(200).json();
    let totals = sales["meta"]["totals"].as_array().unwrap();
    let sold: i64 = totals.iter().map(|sums| sums["items_sold"].as_i64().unwrap()).sum();
    assert_eq!(sold, pieces);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn tax_profiles_and_rates_from_creation_to_removal() {
    let shop = Shop::open().await;
    let profile = shop.create("/taxprofiles", json!({"taxprofile_name": "Books"})).await;
    let path = format!("/taxprofiles/{profile}");
    let changed = shop.patch(&path, json!({"enabled": "0"})).send().await.expect(200);
    assert_eq!(changed.attribute("enabled"), 0);
    shop.delete(&path).send().await.expect(204);

    let rate = json!({"taxrate_name": "VAT", "tax_percent": 7.125, "geozone_id": 3});
    let rate = shop.post("/taxrates", rate).send().await.expect(201);
    assert_eq!(rate.attribute("tax_percent"), "7.125");
    // A geographic zone is not a resource of the store, so there is no link to it.
    assert_eq!(
        rate.json()["data"]["relationships"]["geozone"],
        json!({"data": {"type": "geozones", "id": "3"}})
    );
    let path = format!("/taxrates/{}", rate.id());
    for wrong in [json!("100.001"), json!(-1), json!("7.1255"), json!("7%"), json!(null)] {
        let answer = shop.patch(&path, json!({"tax_percent": wrong})).send().await.expect(422);
        assert_eq!(answer.errors(), ["422 invalid_value pointer /tax_percent"]);
    }
    let whole = json!({"tax_percent": "100.000", "geozone_id": null});
    let whole = shop.patch(&path, whole).send().await.expect(200);
    assert_eq!(whole.attribute("tax_percent"), "100");
    shop.delete(&path).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn params_are_returned_unchanged_or_refused() {
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
        r#"{"a":"\ufffe"}"#,
        r#"{"b":[{"\ud83f\udfff":0}]}"#,
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
    // An object has at most 64 KiB, without white space between its members.
    let of_length = |length: usize| format!(r#"{{ "a": "{}" }}"#, "x".repeat(length - 8));
    let long = of_length(64 * 1024 + 1);
    let answer = method(&long).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 invalid_value pointer /params"]);
    let error = "422 invalid_value pointer /items/0/orderitem_attributes";
    assert_eq!(order(&long).send().await.expect(422).errors(), [error]);
    assert_eq!(shop.get(path).send().await.expect(200).body, before);
    method(&of_length(64 * 1024)).send().await.expect(200);
}

/// The characters that Unicode reserves for programs: an index of texts replaces them, so that a search would
/// not find what was written.
#[tokio::test(flavor = "multi_thread")]
async fn noncharacters_are_refused_in_texts_and_left_out_of_filters() {
    let shop = Shop::stocked().await;
    let last_two = (0..=16).flat_map(|plane| [plane << 16 | 0xfffe, plane << 16 | 0xffff]);
    for code in (0xfdd0..=0xfdef).chain(last_two) {
        let text = format!("Oak {}", char::from_u32(code).unwrap());
        let name = json!({"manufacturer_name": text});
        let refused = shop.post("/manufacturers", name.clone()).send().await.expect(422);
        assert_eq!(refused.errors(), ["422 invalid_value pointer /manufacturer_name"], "{code:x}");
        let document = json!({"data": {"type": "manufacturers", "attributes": name}});
        let refused = shop.patch("/manufacturers/1", document).send().await.expect(422);
        let error = "422 invalid_value pointer /data/attributes/manufacturer_name";
        assert_eq!(refused.errors(), [error], "{code:x}");
    }
    let order = |item| json!({"user_email": "ada@example.com", "items": [item]});
    for (path, body, pointer) in [
        ("/products", json!({"product_name": "x", "sku": "x\u{fdd0}"}), "/sku"),
        (
            "/coupons",
            json!({"coupon_name": "x", "coupon_code": "x\u{ffff}", "value": 1}),
            "/coupon_code",
        ),
        ("/orders", json!({"user_email": "ada\u{fffe}@example.com"}), "/user_email"),
        ("/orders", order(json!({"orderitem_name": "\u{1ffff}"})), "/items/0/orderitem_name"),
    ] {
        let refused = shop.post(path, body).send().await.expect(422);
        assert_eq!(refused.errors(), [format!("422 invalid_value pointer {pointer}")]);
    }
    // Their neighbours are characters as any others.
    for text in ["\u{fdcf}", "\u{fdf0}", "\u{fffd}", "\u{1fffd}", "\u{20000}", "\u{10fffd}"] {
        let name = json!({"manufacturer_name": format!("Elm {text} tree")});
        let id = shop.post("/manufacturers", name).send().await.expect(201).id();
        for sought in [format!("elm {text}"), format!("elm\u{fffe} {text}\0 tr")] {
            let sought = url::form_urlencoded::byte_serialize(sought.as_bytes());
            let path = format!("/manufacturers?filter[search]={}", sought.collect::<String>());
            assert_eq!(shop.get(&path).send().await.expect(200).ids(), [id], "{path}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moments_in_bodies_are_strict_and_equal_on_every_engine() {
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
