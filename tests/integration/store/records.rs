//! Records: what each resource takes, refuses, and shows.

use std::sync::Arc;

use example_host::NewUser;
use host_interface::Method;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::support::bare::Bare;
use crate::support::databases::Engine;
use crate::support::harness::{Answer, ROOT, Shop};
use crate::support::process::Place;

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
    // A key is never given twice.
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
    // The longest that fits does.
    let long =
        json!({"manufacturer_name": "ü".repeat(255), "manufacturer_desc": "ü".repeat(65_535)});
    shop.patch("/manufacturers/1", long).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_of_exchange_is_exact_to_eight_places() {
    let shop = Shop::open().await;
    // (literal as sent, as shown)
    let cases = [
        ("\"1\"", "1"),
        ("1", "1"),
        ("\"1.10\"", "1.1"),
        ("0.00000001", "0.00000001"),
        ("1e-8", "0.00000001"),
        ("12.5E+2", "1250"),
        ("9999999999.99999999", "9999999999.99999999"),
        ("\"0.1\"", "0.1"),
        ("0.30000000", "0.3"),
        ("1.000000000000", "1"),
        ("-0e5", ""),
        ("0", ""),
    ];
    for (sent, shown) in cases {
        let body = format!("{{\"currency_value\":{sent}}}");
        let answer = shop.request("PATCH", "/currencies/1").text(&body).send().await;
        match shown {
            "" => answer.expect(422).errors().clear(),
            _ => assert_eq!(answer.expect(200).attribute("currency_value"), shown, "{sent}"),
        }
    }
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
    // A record does not stand in its own way.
    shop.patch(&format!("/zones/{first}"), zone(1)).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_parallel_posts_of_one_code_one_is_created() {
    let shop = std::sync::Arc::new(Shop::open().await);
    let posts = (0..32).map(|number| {
        let shop = shop.clone();
        tokio::spawn(async move {
            let body = json!({
                "zone_name": format!("Twin {number}"), "zone_code": "TWIN", "country_id": 1,
            });
            shop.post("/zones", body).send().await.status
        })
    });
    let mut statuses = Vec::new();
    for post in posts.collect::<Vec<_>>() {
        statuses.push(post.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses[0], 201);
    assert!(statuses[1..].iter().all(|status| *status == 422), "{statuses:?}");
    let found = shop.get("/countries/1/zones?filter[search]=twin").send().await.expect(200);
    assert_eq!(found.total(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_country_that_zones_refer_to_cannot_be_deleted() {
    let shop = Shop::open().await;
    let body = json!({
        "country_name": "Newland", "country_isocode_2": "XX", "country_isocode_3": "XXX",
    });
    let country = shop.create("/countries", body).await;
    let path = format!("/countries/{country}");
    let zone = |code: &str| json!({"zone_name": code, "zone_code": code, "country_id": country});
    let first = shop.create("/zones", zone("A")).await;
    let second = shop.create("/zones", zone("B")).await;
    let refused = shop.delete(&path).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 referenced"]);
    assert!(refused.json()["errors"][0]["detail"].as_str().unwrap().contains("2 zones"));
    for zone in [first, second] {
        shop.delete(&format!("/zones/{zone}")).send().await.expect(204);
    }
    shop.delete(&path).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_default_currency_cannot_be_deleted() {
    let shop = Shop::open().await;
    let (euro, franc) = (shop.currency("EUR").await, shop.currency("CHF").await);
    let refused = shop.delete(&format!("/currencies/{euro}")).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused"]);
    // The next request already knows what the site has set.
    shop.set_default_currency("CHF").await;
    shop.delete(&format!("/currencies/{franc}")).send().await.expect(422);
    shop.delete(&format!("/currencies/{euro}")).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_cannot_disable_the_default_currency_nor_take_away_its_code() {
    let shop = Shop::open().await;
    let euro = format!("/currencies/{}", shop.currency("EUR").await);
    let both = json!({"currency_code": "EUX", "enabled": 0});
    let refused = shop.patch(&euro, both).send().await.expect(422);
    assert_eq!(
        refused.errors(),
        ["422 refused pointer /currency_code", "422 refused pointer /enabled"]
    );
    // What it has already may be sent back, and everything else of it may change.
    let change = json!({"currency_code": "EUR", "enabled": 1, "currency_title": "The euro"});
    shop.patch(&euro, change).send().await.expect(200);

    shop.set_default_currency("CHF").await;
    let franc = format!("/currencies/{}", shop.currency("CHF").await);
    shop.patch(&franc, json!({"enabled": 0})).send().await.expect(422);
    shop.patch(&euro, json!({"currency_code": "EUX", "enabled": 0})).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_record_is_known_by_stays_while_others_refer_to_it() {
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
        assert!(detail.contains(&format!("is referred to by {by}.")), "{detail}");
        assert_eq!(shop.get(path).send().await.expect(200).body, before, "{path} is as it was");
    }
    // Nothing was orphaned: the voucher still keeps its order, and what nobody names may change.
    let refused = shop.delete("/orders/3").send().await.expect(422);
    assert_eq!(refused.errors(), ["422 referenced"]);
    shop.patch("/orders/3", json!({"order_id": "A-1"})).send().await.expect(200);
    shop.patch("/vouchers/1", json!({"order_id": ""})).send().await.expect(200);
    shop.patch("/orders/3", json!({"order_id": "A-2"})).send().await.expect(200);
    shop.patch("/vouchers/1", named).send().await.expect(422);
    shop.delete("/orders/3").send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn zones_of_a_country_are_its_own_and_none_for_a_missing_one() {
    let shop = Shop::open().await;
    let germany = shop.get("/countries?filter[search]=deu").send().await.expect(200).ids()[0];
    let zones = shop.get(&format!("/countries/{germany}/zones?page[limit]=100"));
    let zones = zones.send().await.expect(200);
    assert_eq!(zones.total(), 16);
    assert!(zones.column("country_id").iter().all(|id| *id == germany));
    let codes = zones.column("zone_code");
    assert!(codes.contains(&json!("BY")), "codes stand without the country: {codes:?}");
    let bavaria = &zones.json()["data"][0];
    assert_eq!(
        bavaria["relationships"]["country"],
        json!({
            "links": {"related": format!("/api/index.php/v1/shop/countries/{germany}")},
            "data": {"type": "countries", "id": germany.to_string()},
        })
    );
    for id in ["999999999", "99999999999999999999999"] {
        let none = shop.get(&format!("/countries/{id}/zones")).send().await.expect(200);
        assert_eq!(none.json()["data"], json!([]));
        assert_eq!(none.json()["meta"], json!({"total-pages": 0, "total": 0}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_store_has_the_countries_zones_and_currencies_of_iso() {
    let shop = Shop::open().await;
    assert_eq!(shop.get("/countries").send().await.expect(200).total(), 249);
    assert!(shop.get("/zones").send().await.expect(200).total() > 3_000);
    let yen = shop.get("/currencies?page[limit]=100&list[ordering]=currency_code");
    let codes = yen.send().await.expect(200).column("currency_code");
    assert!(codes.contains(&json!("EUR")) && !codes.contains(&json!("XTS")));
    let decimals = async |code: &str| {
        let all = shop.get("/currencies?page[limit]=100&list[ordering]=currency_code");
        let mut all = all.send().await.expect(200);
        if !all.column("currency_code").contains(&json!(code)) {
            let rest = "/currencies?page[limit]=100&page[offset]=100&list[ordering]=currency_code";
            all = shop.get(rest).send().await.expect(200);
        }
        let position = all.column("currency_code").iter().position(|known| known == code);
        let path = format!("/currencies/{}", all.ids()[position.unwrap()]);
        shop.get(&path).send().await.expect(200).attribute("currency_num_decimals")
    };
    assert_eq!(decimals("EUR").await, 2);
    assert_eq!(decimals("JPY").await, 0);
    assert_eq!(decimals("KWD").await, 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_from_creation_to_removal() {
    let shop = Shop::stocked().await;
    let body = json!({
        "product_name": "Shade", "sku": "S-1", "price": "12.5", "sale_price": 9.99,
        "quantity": "3", "category_id": 1, "created_on": "2020-02-29T12:00:00+01:00",
    });
    let created = shop.post("/products", body).send().await.expect(201);
    let id = created.id();
    assert_eq!(created.attribute("price"), "12.50");
    assert_eq!(created.attribute("sale_price"), "9.99");
    assert_eq!(created.attribute("quantity"), 3);
    assert_eq!(created.attribute("created_on"), "2020-02-29T11:00:00");
    let json = created.json();
    assert_eq!(json["data"]["attributes"].get("category_id"), None);
    let relationships = &json["data"]["relationships"];
    assert_eq!(relationships["category"]["data"], json!({"type": "categories", "id": "1"}));
    assert_eq!(relationships["manufacturer"], json!({"data": null}));

    // Its master variant and its stock record were made with it.
    let variants = shop.get(&format!("/products/{id}/variants")).send().await.expect(200);
    assert_eq!(variants.column("sku"), ["S-1"]);
    assert_eq!(variants.column("price"), ["12.50"]);
    assert_eq!(variants.column("is_master"), [1]);
    let stock = shop.get(&format!("/inventory/{id}")).send().await.expect(200);
    assert_eq!(stock.attribute("quantity"), 3);

    // created_on is ignored on PATCH, modified_on always.
    let change = json!({"created_on": "2001-01-01", "modified_on": "2001-01-01", "price": "1"});
    let changed = shop.patch(&format!("/products/{id}"), change).send().await.expect(200);
    assert_eq!(changed.attribute("created_on"), "2020-02-29T11:00:00");
    assert_ne!(changed.attribute("modified_on"), "2001-01-01T00:00:00");

    shop.delete(&format!("/products/{id}")).send().await.expect(204);
    shop.get(&format!("/inventory/{id}")).send().await.expect(404);
    let variants = shop.get(&format!("/products/{id}/variants")).send().await.expect(200);
    assert_eq!(variants.total(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_write_of_what_a_record_shows_moves_its_modified_on() {
    const LONG_AGO: &str = "2001-02-03T04:05:06";
    let store = Bare::open().await;
    for (path, body) in [
        ("/products", json!({"product_name": "Lamp", "sku": "L-1", "quantity": 5})),
        ("/orders", json!({"user_email": "ada@example.com"})),
    ] {
        assert_eq!(store.ask(Method::Post, path, body).await.status(), 201);
    }
    let modified_on = async |record: &str| {
        let shown = store.ask(Method::Get, record, json!(null)).await;
        let shown: Value = serde_json::from_slice(shown.body()).unwrap();
        shown["data"]["attributes"]["modified_on"].as_str().unwrap().to_owned()
    };
    for (record, method, path, body) in [
        ("/products/1", Method::Patch, "/products/1", json!({"price": "1"})),
        ("/products/1", Method::Patch, "/inventory/1", json!({"quantity": 6})),
        ("/products/1", Method::Patch, "/inventory/1", json!({"sku": "L-2"})),
        ("/products/1", Method::Delete, "/inventory/1", json!(null)),
        ("/products/1", Method::Post, "/inventory", json!({"shop_product_id": 1})),
        ("/orders/1", Method::Patch, "/orders/1", json!({"customer_note": "Ring twice."})),
        ("/orders/1", Method::Post, "/orders/1/history", json!({"order_state_id": 7})),
        ("/orders/1", Method::Post, "/orders/1/history", json!({"order_state_id": 7})),
    ] {
        store.run(format!("UPDATE shop_products SET modified_on = '{LONG_AGO}'")).await;
        store.run(format!("UPDATE shop_orders SET modified_on = '{LONG_AGO}'")).await;
        // A body without a field changes nothing, and so does one that is refused.
        store.ask(Method::Patch, record, json!({"created_on": "2026-01-01"})).await;
        store.ask(Method::Patch, record, json!({"modified_on": "2026-01-01", "x": 1})).await;
        assert_eq!(modified_on(record).await, LONG_AGO, "before {method} {path}");
        let before = plugin::model::moment::render(plugin::model::moment::now());
        let answer = store.ask(method, path, body.clone()).await;
        assert!(answer.status() < 300, "{method} {path} {body}: {}", answer.status());
        assert!(modified_on(record).await >= before, "after {method} {path} {body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_that_is_not_the_master_keeps_what_is_its_own() {
    let store = Bare::open().await;
    let product = json!({"product_name": "Lamp", "sku": "L-1", "price": "10", "upc": "1"});
    assert_eq!(store.ask(Method::Post, "/products", product).await.status(), 201);
    let price = match store.database.engine {
        Engine::Sqlite => "1250000",
        Engine::Postgres | Engine::MariaDb => "12.5",
    };
    let columns = "product_id, sku, sku_fold, price, upc, manage_stock";
    let own = format!("1, 'L-1-RED', 'l-1-red', {price}, '2', 1");
    store.run(format!("INSERT INTO shop_variants ({columns}) VALUES ({own})")).await;
    for (path, change) in [
        ("/products/1", json!({"sku": "L-2", "price": "11", "upc": "3"})),
        ("/inventory/1", json!({"sku": "L-3", "manage_stock": 0})),
    ] {
        assert_eq!(store.ask(Method::Patch, path, change).await.status(), 200);
    }
    let variants = store.ask(Method::Get, "/products/1/variants", json!(null)).await;
    let variants: Value = serde_json::from_slice(variants.body()).unwrap();
    let shown = ["is_master", "sku", "price", "manage_stock"];
    let shown = |row: usize| shown.map(|name| variants["data"][row]["attributes"][name].clone());
    assert_eq!(shown(0), [json!(1), json!("L-3"), json!("11.00"), json!(0)]);
    assert_eq!(shown(1), [json!(0), json!("L-1-RED"), json!("12.50"), json!(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sku_price_and_quantity_are_one_truth_wherever_they_are_written() {
    let shop = Shop::stocked().await;
    let seen = async || {
        let product = shop.get("/products/1").send().await.expect(200);
        let variant = shop.get("/products/1/variants").send().await.expect(200);
        let stock = shop.get("/inventory/1").send().await.expect(200);
        assert_eq!(variant.column("sku"), [product.attribute("sku")]);
        assert_eq!(variant.column("price"), [product.attribute("price")]);
        assert_eq!(variant.column("manage_stock"), [stock.attribute("manage_stock")]);
        assert_eq!(stock.attribute("sku"), product.attribute("sku"));
        assert_eq!(stock.attribute("quantity"), product.attribute("quantity"));
        (product.attribute("sku"), product.attribute("price"), product.attribute("quantity"))
    };
    assert_eq!(seen().await, (json!("L-1"), json!("19.99"), json!(5)));
    let change = json!({"sku": "L-2", "price": "0.12345"});
    shop.patch("/products/1", change).send().await.expect(200);
    assert_eq!(seen().await, (json!("L-2"), json!("0.12345"), json!(5)));
    let change = json!({"sku": "L-3", "quantity": 8, "manage_stock": 0});
    shop.patch("/inventory/1", change).send().await.expect(200);
    assert_eq!(seen().await, (json!("L-3"), json!("0.12345"), json!(8)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stock_record_can_be_removed_and_made_again() {
    let shop = Shop::stocked().await;
    let again = json!({"shop_product_id": 1, "quantity": 7});
    let stands = shop.post("/inventory", again.clone()).send().await.expect(422);
    assert_eq!(stands.errors(), ["422 duplicate pointer /shop_product_id"]);
    shop.patch("/inventory/1", json!({"notify_qty": "2.5"})).send().await.expect(200);
    shop.delete("/inventory/1").send().await.expect(204);
    shop.get("/inventory/1").send().await.expect(404);
    shop.delete("/inventory/1").send().await.expect(404);
    let product = shop.get("/products/1").send().await.expect(200);
    assert_eq!(product.attribute("quantity"), 0);
    let variants = shop.get("/products/1/variants").send().await.expect(200);
    assert_eq!(variants.column("manage_stock"), [0]);

    let made = shop.post("/inventory", again).send().await.expect(201);
    assert!(made.header("location").ends_with("/inventory/1"));
    assert_eq!(made.attribute("quantity"), 7);
    assert_eq!(made.attribute("manage_stock"), 1);
    assert_eq!(made.attribute("notify_qty"), Value::Null);
    assert_eq!(shop.get("/products/1").send().await.expect(200).attribute("quantity"), 7);

    // A product without a stock record has nothing in stock, and cannot be given anything.
    shop.delete("/inventory/1").send().await.expect(204);
    let more = json!({"quantity": 3});
    let refused = shop.patch("/products/1", more.clone()).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused pointer /quantity"]);
    assert_eq!(shop.get("/products/1").send().await.expect(200).attribute("quantity"), 0);
    // What was read can be sent back.
    let read = json!({"quantity": 0, "product_name": "Lamp"});
    shop.patch("/products/1", read).send().await.expect(200);
    shop.post("/inventory", json!({"shop_product_id": 1})).send().await.expect(201);
    shop.patch("/products/1", more).send().await.expect(200);
    assert_eq!(shop.get("/inventory/1").send().await.expect(200).attribute("quantity"), 3);

    let missing = shop.post("/inventory", json!({"quantity": "x"})).send().await.expect(400);
    assert_eq!(
        missing.errors(),
        ["422 invalid_value pointer /quantity", "400 missing_field pointer /shop_product_id"]
    );
    let unknown = shop.post("/inventory", json!({"shop_product_id": 999})).send().await;
    assert_eq!(unknown.expect(422).errors(), ["422 missing_reference pointer /shop_product_id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sku_is_unique_in_any_case_among_all_variants_unless_empty() {
    let shop = Shop::stocked().await;
    let twin = |sku: &str| json!({"product_name": "Twin", "sku": sku});
    let refused = shop.post("/products", twin("l-1")).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /sku"]);
    shop.create("/products", twin("")).await;
    let second = shop.create("/products", twin("")).await;
    let path = format!("/products/{second}");
    let refused = shop.patch(&path, json!({"sku": "b-1"})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /sku"]);
    let path = format!("/inventory/{second}");
    shop.patch(&path, json!({"sku": "L-1"})).send().await.expect(422);
    // A product does not stand in its own way.
    shop.patch("/products/1", json!({"sku": "l-1"})).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_parallel_posts_of_one_sku_coupon_or_voucher_code_one_is_created() {
    let shop = std::sync::Arc::new(Shop::open().await);
    let product = json!({"product_name": "Twin", "sku": "TWIN"});
    let coupon = json!({"coupon_name": "Twin", "coupon_code": "TWIN", "value": 1});
    let voucher = json!({"voucher_code": "TWIN", "voucher_value": 1});
    for (path, body) in [("/products", product), ("/coupons", coupon), ("/vouchers", voucher)] {
        let posts = (0..32).map(|_| {
            let (shop, body) = (shop.clone(), body.clone());
            tokio::spawn(async move { shop.post(path, body).send().await.status })
        });
        let mut statuses = Vec::new();
        for post in posts.collect::<Vec<_>>() {
            statuses.push(post.await.unwrap());
        }
        statuses.sort_unstable();
        assert_eq!(statuses[0], 201, "{path}");
        assert!(statuses[1..].iter().all(|status| *status == 422), "{path}: {statuses:?}");
        assert_eq!(shop.get(path).send().await.expect(200).total(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_filtered_by_everything_of_the_table() {
    let shop = Shop::stocked().await;
    let ids = async |filter: &str| {
        shop.get(&format!("/products?{filter}")).send().await.expect(200).ids()
    };
    assert_eq!(ids("filter[search]=LAM").await, [1]);
    assert_eq!(ids("filter[category]=2").await, [1]);
    assert_eq!(ids("filter[category]=1").await, [0_i64; 0], "that category only");
    assert_eq!(ids("filter[manufacturer]=1").await, [1]);
    assert_eq!(ids("filter[product_type]=simple").await, [1, 2]);
    assert_eq!(ids("filter[product_type]=variable").await, [0_i64; 0]);
    assert_eq!(ids("filter[enabled]=1&filter[visibility]=1").await, [1, 2]);
    assert_eq!(ids("filter[sku]=b-").await, [2]);
    assert_eq!(ids("filter[search]=lamp&filter[sku]=b-1").await, [2], "sku replaces search");
    shop.get("/products?filter[category]=x").send().await.expect(422);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_category_has_an_alias_of_its_own_a_level_and_a_path() {
    let shop = Shop::open().await;
    let make = async |body: Value| shop.post("/categories", body).send().await.expect(201);
    let lamps = make(json!({"title": "Große Lampen!"})).await;
    assert_eq!(lamps.attribute("alias"), "grosse-lampen");
    assert_eq!(
        (lamps.attribute("level"), lamps.attribute("path")),
        (json!(1), json!("grosse-lampen"))
    );
    assert_eq!(make(json!({"title": "Große Lampen"})).await.attribute("alias"), "grosse-lampen-2");
    assert_eq!(make(json!({"title": "grosse lampen"})).await.attribute("alias"), "grosse-lampen-3");
    assert_eq!(make(json!({"title": "!?"})).await.attribute("alias"), "category");

    let taken = json!({"title": "x", "alias": "grosse-lampen"});
    let refused = shop.post("/categories", taken).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /alias"]);
    // Among its siblings only.
    let below = make(json!({"title": "x", "alias": "grosse-lampen", "parent_id": 1})).await;
    assert_eq!(below.attribute("path"), "grosse-lampen/grosse-lampen");
    assert_eq!(below.attribute("level"), 2);
    assert_eq!(below.json()["data"]["relationships"]["parent"]["data"]["id"], "1");

    // A new title leaves the alias.
    let renamed = shop.patch("/categories/1", json!({"title": "Lights"})).send().await.expect(200);
    assert_eq!(renamed.attribute("alias"), "grosse-lampen");
    for wrong in [json!({"alias": "a/b"}), json!({"published": -1}), json!({"parent_id": 99})] {
        shop.patch("/categories/1", wrong).send().await.expect(422);
    }
}

/// Found by requests made up from the OpenAPI document: the alias that was made is the one that the
/// category had, so nothing seemed to change, and the empty one was written.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_alias_is_made_from_the_title_also_where_the_category_has_it_already() {
    let shop = Shop::open().await;
    shop.create("/categories", json!({"title": "Lamps"})).await;
    for alias in ["", "lights", "", ""] {
        let changed = shop.patch("/categories/1", json!({"alias": alias})).send().await.expect(200);
        let expected = if alias.is_empty() { "lamps" } else { alias };
        assert_eq!(changed.attribute("alias"), expected);
        assert_eq!(changed.attribute("path"), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_a_category_moves_its_branch_and_a_cycle_is_refused() {
    let shop = Shop::open().await;
    let mut above = 0;
    for title in ["a", "b", "c", "d"] {
        above = shop.create("/categories", json!({"title": title, "parent_id": above})).await;
    }
    let other = shop.create("/categories", json!({"title": "other"})).await;
    // Its path begins with that of `b`, and that of what is below it too.
    let sibling = shop.create("/categories", json!({"title": "b-2", "parent_id": 1})).await;
    let below = shop.create("/categories", json!({"title": "e", "parent_id": sibling})).await;
    let place = async |id: i64| {
        let read = shop.get(&format!("/categories/{id}")).send().await.expect(200);
        (read.attribute("level").as_i64().unwrap(), read.attribute("path"))
    };
    assert_eq!(place(4).await, (4, json!("a/b/c/d")));
    for parent in [2, 3, 4] {
        let refused = shop.patch("/categories/2", json!({"parent_id": parent})).send().await;
        assert_eq!(refused.expect(422).errors(), ["422 invalid_value pointer /parent_id"]);
    }
    let to_other = json!({"parent_id": other, "alias": "bb"});
    shop.patch("/categories/2", to_other).send().await.expect(200);
    assert_eq!(place(2).await, (2, json!("other/bb")));
    assert_eq!(place(4).await, (4, json!("other/bb/c/d")));
    assert_eq!(place(sibling).await, (2, json!("a/b-2")));
    assert_eq!(place(below).await, (3, json!("a/b-2/e")));
    shop.patch("/categories/3", json!({"parent_id": 0})).send().await.expect(200);
    assert_eq!(place(4).await, (2, json!("c/d")));
    assert_eq!(place(1).await, (1, json!("a")));

    let refused = shop.delete("/categories/3").send().await.expect(422);
    assert_eq!(refused.errors(), ["422 referenced"]);
    shop.delete("/categories/4").send().await.expect(204);
    shop.delete("/categories/3").send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_customer_and_the_addresses_of_a_user() {
    let shop = Shop::stocked().await;
    let customer = shop.get("/customers/1").send().await.expect(200);
    assert_eq!(customer.attribute("country_name"), "Afghanistan");
    assert!(!customer.attribute("zone_name").as_str().unwrap().is_empty());
    let guest = json!({
        "first_name": "Cleo", "last_name": "Dahl", "email": "cleo@example.com",
        "type": "shipping", "country_name": "ignored",
    });
    let guest = shop.post("/customers", guest).send().await.expect(201);
    assert_eq!(guest.attribute("country_name"), "");
    assert_eq!(guest.attribute("user_id"), 0);

    let addresses = shop.get("/customers/1/addresses").send().await.expect(200);
    assert_eq!(addresses.column("type"), ["billing"]);
    assert_eq!(addresses.json()["data"][0].get("links"), None, "no route reads one alone");
    assert_eq!(shop.get("/customers/2/addresses").send().await.expect(200).total(), 0);

    for (wrong, error) in [
        (json!({"email": "nobody"}), "422 invalid_value pointer /email"),
        (json!({"email": ""}), "422 invalid_value pointer /email"),
        (json!({"user_id": 999}), "422 missing_reference pointer /user_id"),
        (json!({"country_id": 2}), "422 missing_reference pointer /zone_id"),
        (json!({"country_id": null}), "422 missing_reference pointer /zone_id"),
        (json!({"type": "home"}), "422 invalid_value pointer /type"),
    ] {
        let answer = shop.patch("/customers/1", wrong.clone()).send().await.expect(422);
        assert_eq!(answer.errors(), [error], "{wrong}");
    }
    let free = json!({"country_id": null, "zone_id": null});
    let moved = shop.patch("/customers/1", free).send().await.expect(200);
    assert_eq!(moved.attribute("zone_name"), "");

    let search = async |text: &str| {
        shop.get(&format!("/customers?filter[search]={text}")).send().await.expect(200).ids()
    };
    assert_eq!(search("BERG").await, [1]);
    assert_eq!(search("cleo@").await, [2]);
    assert_eq!(shop.get("/customers?filter[country]=1").send().await.expect(200).total(), 0);
}

#[tokio::test(flavor = "multi_thread")]
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
async fn a_core_order_status_can_be_neither_disabled_nor_deleted() {
    let shop = Shop::open().await;
    let names = shop.get("/orderstatuses").send().await.expect(200).column("orderstatus_name");
    assert_eq!(
        names,
        ["Confirmed", "Processed", "Failed", "Pending", "New", "Cancelled", "Shipped", "Delivered"]
    );
    let refused = shop.patch("/orderstatuses/1", json!({"enabled": 0})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /enabled"]);
    shop.delete("/orderstatuses/1").send().await.expect(422);
    shop.patch("/orderstatuses/1", json!({"orderstatus_name": "Paid"})).send().await.expect(200);
    let own = json!({"orderstatus_name": "Packed", "orderstatus_core": 1});
    let own = shop.post("/orderstatuses", own).send().await.expect(201);
    assert_eq!(own.attribute("orderstatus_core"), 0);
    let path = format!("/orderstatuses/{}", own.id());
    shop.patch(&path, json!({"enabled": 0})).send().await.expect(200);
    shop.delete(&path).send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_values_of_a_coupon_go_together() {
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
async fn ids_of_methods_are_unique_across_both_kinds_and_elements_within_one() {
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
async fn a_new_order_takes_what_is_left_open_from_the_store() {
    let shop = Shop::stocked().await;
    shop.site.set_parameter("invoice_prefix", &json!("R-")).await.unwrap();
    let body = json!({
        "user_email": "cleo@example.com", "order_subtotal": "100", "order_tax": 19,
        "order_shipping": "4.90", "order_shipping_tax": "0.93", "order_surcharge": 1,
        "order_fees": "0.5", "order_discount": "10", "order_credit": "0.00001",
        "currency_code": "", "order_state": "ignored", "invoice_number": 77,
    });
    let order = shop.post("/orders", body).send().await.expect(201);
    assert_eq!(order.attribute("order_total"), "116.32999");
    assert_eq!(order.attribute("currency_code"), "EUR");
    assert_eq!(order.attribute("currency_value"), "1");
    assert_eq!(order.attribute("orderstatus_name"), "New");
    assert_eq!(order.attribute("order_state"), "New");
    assert_eq!(order.attribute("invoice_prefix"), "R-");
    assert_eq!(order.attribute("invoice_number"), order.id());
    let history = shop.get(&format!("/orders/{}/history", order.id())).send().await.expect(200);
    assert_eq!(history.column("order_state_id"), [5]);
    assert_eq!(history.column("order_id"), [order.attribute("order_id")]);

    // Never below nothing; references sort as the orders were made.
    let body = json!({"user_email": "cleo@example.com", "order_credit": 5});
    let next = shop.post("/orders", body).send().await.expect(201);
    assert_eq!(next.attribute("order_total"), "0.00");
    let reference = |answer: &crate::support::harness::Answer| {
        answer.attribute("order_id").as_str().unwrap()[..10].to_owned()
    };
    assert!(reference(&order) <= reference(&next));

    // A change never works out again what it leaves out.
    let path = format!("/orders/{}", order.id());
    let changed = shop.patch(&path, json!({"order_subtotal": 1})).send().await.expect(200);
    assert_eq!(changed.attribute("order_total"), "116.32999");

    for (wrong, error) in [
        (json!({"currency_code": "XXX"}), "422 missing_reference pointer /currency_code"),
        (json!({"order_state_id": 99}), "422 missing_reference pointer /order_state_id"),
        (json!({"order_total": "-1"}), "422 invalid_value pointer /order_total"),
        (json!({"order_id": ""}), "422 invalid_value pointer /order_id"),
        (json!({"user_id": 99}), "422 missing_reference pointer /user_id"),
        (json!({"order_id": next.attribute("order_id")}), "422 duplicate pointer /order_id"),
    ] {
        let answer = shop.patch(&path, wrong.clone()).send().await.expect(422);
        assert_eq!(answer.errors(), [error], "{wrong}");
    }
    shop.delete(&path).send().await.expect(204);
    let history = shop.get(&format!("{path}/history")).send().await.expect(200);
    assert_eq!(history.total(), 0, "its history went with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_moves_by_history_and_by_change_and_each_leaves_an_entry() {
    let shop = Shop::stocked().await;
    let entry = json!({"order_state_id": "7", "notify_customer": true, "comment": "On its way."});
    let added = shop.post("/orders/1/history", entry).send().await.expect(201);
    assert_eq!(
        added.header("location"),
        format!("{}/orders/1/history", crate::support::harness::ROOT)
    );
    assert_eq!(added.attribute("notify_customer"), 1);
    assert!(added.attribute("created_by").as_i64().unwrap() > 0);
    assert_eq!(added.json()["data"]["relationships"]["order"]["data"]["id"], "1");
    let state = async || {
        let order = shop.get("/orders/1").send().await.expect(200);
        order.attribute("orderstatus_name")
    };
    assert_eq!(state().await, "Shipped");
    // The same status again is a note in the history, and nothing in a change.
    shop.post("/orders/1/history", json!({"order_state_id": 7})).send().await.expect(201);
    shop.patch("/orders/1", json!({"order_state_id": 7})).send().await.expect(200);
    shop.patch("/orders/1", json!({"order_state_id": 8})).send().await.expect(200);
    assert_eq!(state().await, "Delivered");
    let history = shop.get("/orders/1/history").send().await.expect(200);
    assert_eq!(history.column("order_state_id"), [5, 7, 7, 8]);

    shop.post("/orders/999/history", json!({})).send().await.expect(404);
    shop.request("POST", "/orders/999/history").text("{").send().await.expect(400);
    let missing = shop.post("/orders/1/history", json!({"comment": 1})).send().await.expect(400);
    assert_eq!(
        missing.errors(),
        ["422 invalid_value pointer /comment", "400 missing_field pointer /order_state_id"]
    );
    let own = shop.create("/orderstatuses", json!({"orderstatus_name": "Old", "enabled": 0})).await;
    let disabled = json!({"order_state_id": own});
    shop.post("/orders/1/history", disabled.clone()).send().await.expect(422);
    shop.patch("/orders/1", disabled).send().await.expect(422);
    let history = shop.get("/orders/1/history").send().await.expect(200);
    assert_eq!(history.total(), 4);

    // A note on an order is possible whatever has become of its status.
    shop.patch(&format!("/orderstatuses/{own}"), json!({"enabled": 1})).send().await.expect(200);
    shop.post("/orders/1/history", json!({"order_state_id": own})).send().await.expect(201);
    shop.patch(&format!("/orderstatuses/{own}"), json!({"enabled": 0})).send().await.expect(200);
    let note = json!({"order_state_id": own, "comment": "Still waiting."});
    let note = shop.post("/orders/1/history", note).send().await.expect(201);
    assert_eq!(note.attribute("order_state_id"), own);
    assert_eq!(state().await, "Old");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_moves_are_taken_one_after_the_other() {
    let shop = std::sync::Arc::new(Shop::stocked().await);
    let moves = (0..24_i64).map(|number| {
        let shop = shop.clone();
        tokio::spawn(async move {
            let body = json!({"order_state_id": 1 + number % 8});
            shop.post("/orders/1/history", body).send().await.status
        })
    });
    for moved in moves.collect::<Vec<_>>() {
        assert_eq!(moved.await.unwrap(), 201);
    }
    let history = shop.get("/orders/1/history?page[limit]=100").send().await.expect(200);
    assert_eq!(history.total(), 25);
    let last = history.column("order_state_id").pop().unwrap();
    let order = shop.get("/orders/1").send().await.expect(200);
    assert_eq!(order.attribute("order_state_id"), last);
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_found_by_everything_of_the_table() {
    let shop = Shop::open().await;
    let user = 4;
    for (email, first, last, created) in [
        ("ada@example.com", "Ada", "Łęcka", "2026-01-31T23:59:59"),
        ("bo@example.com", "Bo", "Weiß", "2026-02-01"),
        ("cy@example.com", "Cy", "Ada", "2026-02-28T12:00:00"),
    ] {
        let body = json!({
            "user_email": email, "billing_first_name": first, "billing_last_name": last,
            "created_on": created, "orderpayment_type": format!("pay_{first}"), "user_id": user,
        });
        shop.create("/orders", body).await;
    }
    let ids =
        async |filter: &str| shop.get(&format!("/orders?{filter}")).send().await.expect(200).ids();
    assert_eq!(ids("").await, [3, 2, 1], "the newest first");
    assert_eq!(ids("list[ordering]=created_on").await, [1, 2, 3]);
    assert_eq!(ids("filter[search]=ada").await, [3, 1]);
    assert_eq!(ids("filter[search]=ADA+%C5%81").await, [1], "both names, joined by a space");
    assert_eq!(ids("filter[search]=bo%40").await, [2]);
    assert_eq!(ids("filter[search]=weiss").await, [2]);
    assert_eq!(ids("filter[date_from]=2026-02-01").await, [3, 2]);
    assert_eq!(ids("filter[date_to]=2026-02-01").await, [2, 1]);
    assert_eq!(ids("filter[date_from]=2026-02-01&filter[date_to]=2026-02-01").await, [2]);
    assert_eq!(ids("filter[payment_type]=pay_Bo").await, [2]);
    assert_eq!(ids("filter[status]=5").await, [3, 2, 1]);
    assert_eq!(ids("filter[customer_id]=1").await, [0_i64; 0]);
    let own = shop.get("/customers/4/orders?filter[search]=bo").send().await.expect(200);
    assert_eq!(own.ids(), [2]);
    assert_eq!(shop.get("/customers/5/orders").send().await.expect(200).total(), 0);
    shop.get("/customers/4/orders?filter[customer_id]=4").send().await.expect(400);
    for (query, error) in [
        ("filter[date_from]=2026-02-30", "422 invalid_filter parameter filter[date_from]"),
        ("filter[date_from]=2026-02-01T00:00:00", "422 invalid_filter parameter filter[date_from]"),
        (
            "filter[date_from]=2026-02-02&filter[date_to]=2026-02-01",
            "422 invalid_filter parameter filter[date_to]",
        ),
        ("filter[status]=new", "422 invalid_filter parameter filter[status]"),
    ] {
        let answer = shop.get(&format!("/orders?{query}")).send().await.expect(422);
        assert_eq!(answer.errors(), [error]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_has_a_code_of_its_own_and_keeps_to_its_rules() {
    let shop = Shop::stocked().await;
    let made = shop.get("/vouchers/1").send().await.expect(200);
    let code = made.attribute("voucher_code");
    assert_eq!(code.as_str().unwrap().len(), 19, "{code}");
    assert_eq!(made.attribute("voucher_type"), "giftcard");
    let lower = code.as_str().unwrap().to_lowercase();
    let twin = json!({"voucher_value": 1, "voucher_code": lower});
    let refused = shop.post("/vouchers", twin).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /voucher_code"]);
    for (wrong, error) in [
        (json!({"voucher_code": "a\tb"}), "422 invalid_value pointer /voucher_code"),
        (json!({"voucher_code": ""}), "422 invalid_value pointer /voucher_code"),
        (json!({"email_to": "nobody"}), "422 invalid_value pointer /email_to"),
        (json!({"order_id": "nothing"}), "422 missing_reference pointer /order_id"),
        (json!({"voucher_value": -1}), "422 invalid_value pointer /voucher_value"),
        (
            json!({"valid_from": "2026-02-01", "valid_to": "2026-01-01"}),
            "422 invalid_value pointer /valid_to",
        ),
    ] {
        let answer = shop.patch("/vouchers/1", wrong.clone()).send().await.expect(422);
        assert_eq!(answer.errors(), [error], "{wrong}");
    }
    let reference = shop.get("/orders/1").send().await.expect(200).attribute("order_id");
    let named = json!({"order_id": reference, "email_to": "", "voucher_code": "Für Ada 1"});
    shop.patch("/vouchers/1", named).send().await.expect(200);
    let kept = shop.delete("/orders/1").send().await.expect(422);
    assert_eq!(kept.errors(), ["422 referenced"]);
    shop.delete("/vouchers/1").send().await.expect(204);
    shop.delete("/orders/1").send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_value_of_a_voucher_cannot_drop_below_what_is_spent() {
    let shop = Shop::filled().await;
    // Every other voucher of the demonstration has been used for a quarter.
    let voucher = shop.get("/vouchers/3").send().await.expect(200);
    assert_eq!(voucher.attribute("voucher_value"), "75.00");
    let less = json!({"voucher_value": "18.74999"});
    let refused = shop.patch("/vouchers/3", less).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /voucher_value"]);
    shop.patch("/vouchers/3", json!({"voucher_value": "18.75"})).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_balance_of_a_voucher_is_never_beyond_what_money_can_be() {
    let shop = Arc::new(Shop::stocked().await);
    let adjust = |kind: &str, amount: &str| {
        let body = json!({"adjustment_type": kind, "amount": amount, "reason": "Test"});
        shop.post("/vouchers/1/adjust", body).send()
    };
    let value = |value: &str| shop.patch("/vouchers/1", json!({"voucher_value": value})).send();
    adjust("credit", "1000").await.expect(200);
    let refused = value("999999999000").await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /voucher_value"]);
    value("999999998999.99999").await.expect(200);
    let refused = adjust("credit", "0.00001").await.expect(422);
    assert_eq!(refused.errors(), ["422 refused pointer /amount"]);
    // What was debited makes room again.
    adjust("debit", "0.00001").await.expect(200);
    value("999999999000").await.expect(200);

    // However much has gone to and fro, the ledger is added up.
    for _ in 0..100 {
        adjust("debit", "999999999999.99").await.expect(200);
        adjust("credit", "999999999999.99").await.expect(200);
    }

    // Changes and adjustments at the same time are taken one after the other.
    value("999999998000").await.expect(200);
    let writes = (0..24).map(|number| {
        let shop = Arc::clone(&shop);
        tokio::spawn(async move {
            let credit = json!({"adjustment_type": "credit", "amount": "600", "reason": "Test"});
            let more = json!({"voucher_value": "999999998600"});
            match number % 2 {
                0 => shop.post("/vouchers/1/adjust", credit).send().await.status,
                _ => shop.patch("/vouchers/1", more).send().await.status,
            }
        })
    });
    let mut statuses = Vec::new();
    for write in writes.collect::<Vec<_>>() {
        statuses.push(write.await.unwrap());
    }
    assert!(statuses.iter().all(|status| [200, 422].contains(status)), "{statuses:?}");
    assert!(statuses.contains(&200) && statuses.contains(&422), "{statuses:?}");
    let debit = adjust("debit", "0.00001").await.expect(200);
    let left: Decimal = debit.attribute("remaining_balance").as_str().unwrap().parse().unwrap();
    assert!(left < Decimal::from(1_000_000_000_000_i64), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
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
          "order_mail_text": "Hello{% if first_name %} {{ first_name }}{% endif %},\n\nthe status of your order {{ order_id }} of {{ created_on }} is now: {{ status }}.\n{% if comment %}\n\n{{ comment }}\n{% endif %}\n\nTotal: {{ order_total }} {{ currency_code }}\n\n{{ store_name }}\n"
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
async fn two_demonstrations_are_the_same_and_add_up() {
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
    // A geographic zone is no resource of the store, so there is no link to it.
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
async fn a_vouchers_balance_moves_by_adjustments_and_never_below_zero() {
    let shop = Shop::stocked().await;
    let adjust = async |kind: &str, amount: Value| {
        let body = json!({"adjustment_type": kind, "amount": amount, "reason": "Test"});
        shop.post("/vouchers/1/adjust", body).send().await
    };
    let spent = adjust("debit", json!("12.34567")).await.expect(200);
    assert_eq!(spent.attribute("remaining_balance"), "37.65433");
    assert_eq!(spent.attribute("voucher_value"), "50.00", "the value stays");
    assert_eq!(spent.attribute("subject"), "");
    assert_eq!(spent.json()["data"]["type"], "vouchers");
    let credit = adjust("credit", json!(10)).await.expect(200);
    assert_eq!(credit.attribute("remaining_balance"), "47.65433");
    let corrected = adjust("correction", json!("-7.65433")).await.expect(200);
    assert_eq!(corrected.attribute("remaining_balance"), "40.00");
    for (kind, amount, error) in [
        ("debit", json!("40.00001"), "422 refused pointer /amount"),
        ("correction", json!(-41), "422 refused pointer /amount"),
        ("debit", json!(0), "422 invalid_value pointer /amount"),
        ("credit", json!("-1"), "422 invalid_value pointer /amount"),
        ("debit", json!("-1"), "422 invalid_value pointer /amount"),
        ("gift", json!(1), "422 invalid_value pointer /adjustment_type"),
        ("credit", json!("999999999999"), "422 refused pointer /amount"),
    ] {
        let answer = adjust(kind, amount.clone()).await.expect(422);
        assert_eq!(answer.errors(), [error], "{kind} {amount}");
    }
    let empty = shop.post("/vouchers/1/adjust", json!({"amount": "x"})).send().await.expect(400);
    assert_eq!(
        empty.errors(),
        [
            "422 invalid_value pointer /amount",
            "400 missing_field pointer /adjustment_type",
            "400 missing_field pointer /reason",
        ]
    );
    shop.post("/vouchers/999/adjust", json!({})).send().await.expect(404);
    let all = adjust("debit", json!(40)).await.expect(200);
    assert_eq!(all.attribute("remaining_balance"), "0.00");
    // What is spent stays spent: the value cannot drop below it.
    shop.patch("/vouchers/1", json!({"voucher_value": "49.99"})).send().await.expect(422);
    shop.delete("/vouchers/1").send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_150_parallel_debits_of_1_01_on_100_exactly_99_succeed() {
    let shop = std::sync::Arc::new(Shop::stocked().await);
    let voucher = shop.create("/vouchers", json!({"voucher_value": "100.00"})).await;
    let debits = (0..150).map(|_| {
        let shop = shop.clone();
        tokio::spawn(async move {
            let body = json!({"adjustment_type": "debit", "amount": "1.01", "reason": "Test"});
            let path = format!("/vouchers/{voucher}/adjust");
            shop.post(&path, body).send().await.status
        })
    });
    let mut statuses = Vec::new();
    for debit in debits.collect::<Vec<_>>() {
        statuses.push(debit.await.unwrap());
    }
    let of = |status: u16| statuses.iter().filter(|known| **known == status).count();
    assert_eq!((of(200), of(422)), (99, 51));
    let last = json!({"adjustment_type": "debit", "amount": "0.01", "reason": "The rest"});
    let last = shop.post(&format!("/vouchers/{voucher}/adjust"), last).send().await.expect(200);
    assert_eq!(last.attribute("remaining_balance"), "0.00");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voucher_is_not_overspent_through_two_hosts_on_one_database() {
    let place = Place::of_the_store();
    let token = place.user("ann", "Manager").await;
    let hosts = [place.serve().await, place.serve().await];
    let ask = |host: usize, path: &str, body: Value| {
        let request = hosts[host].ask("POST", &format!("{ROOT}{path}"), &token);
        request.header("content-type", "application/json").body(body.to_string())
    };
    let voucher = json!({"voucher_value": "100.00", "email_to": "ann@example.com"});
    let voucher = Answer::to(ask(0, "/vouchers", voucher)).await.expect(201).id();
    let debits = (0..150).map(|number| {
        let body = json!({"adjustment_type": "debit", "amount": "1.01", "reason": "Test"});
        let debit = ask(number % 2, &format!("/vouchers/{voucher}/adjust"), body);
        tokio::spawn(async move { Answer::to(debit).await.status })
    });
    let mut statuses = Vec::new();
    for debit in debits.collect::<Vec<_>>() {
        statuses.push(debit.await.unwrap());
    }
    let of = |status: u16| statuses.iter().filter(|known| **known == status).count();
    assert_eq!((of(200), of(422)), (99, 51));
    for host in &hosts {
        let mine = Answer::to(host.get(&format!("{ROOT}/vouchers/mine"), &token)).await.expect(200);
        assert_eq!(mine.column("remaining_balance"), ["0.01"]);
    }
    for host in hosts {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_vouchers_are_shown_with_masked_codes_balances_and_states() {
    let shop = Shop::open().await;
    for (code, extra) in [
        ("ABCDEFGH", json!({})),
        ("1234", json!({"enabled": 0})),
        ("Żółć-code", json!({"valid_from": "2999-01-01"})),
        ("EXPIRED1", json!({"valid_to": "2001-01-01"})),
        ("EMPTY-01", json!({"voucher_value": 0})),
        ("SOMEBODY", json!({"email_to": "else@example.com"})),
        ("NOBODYS1", json!({"email_to": ""})),
    ] {
        let mut body = json!({
            "voucher_code": code, "voucher_value": 5, "email_to": "Registered@EXAMPLE.com",
        });
        for (name, value) in extra.as_object().unwrap() {
            body[name] = value.clone();
        }
        shop.create("/vouchers", body).await;
    }
    let debit = json!({"adjustment_type": "debit", "amount": "1.5", "reason": "Test"});
    shop.post("/vouchers/1/adjust", debit).send().await.expect(200);
    let registered = crate::support::harness::Role::Registered;
    let mine = shop.get("/vouchers/mine").by(registered).send().await.expect(200);
    assert_eq!(mine.ids(), [1, 2, 3, 4, 5]);
    assert_eq!(mine.total(), 5);
    assert_eq!(
        mine.column("masked_code"),
        ["****EFGH", "****", "*****code", "****RED1", "****Y-01"]
    );
    assert_eq!(mine.column("remaining_balance"), ["3.50", "5.00", "5.00", "5.00", "0.00"]);
    assert_eq!(
        mine.column("status"),
        ["active", "disabled", "not_yet_valid", "expired", "depleted"]
    );
    let first = &mine.json()["data"][0];
    assert_eq!(first["type"], "vouchers");
    let names: Vec<&String> = first["attributes"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "masked_code",
            "voucher_type",
            "voucher_value",
            "remaining_balance",
            "valid_from",
            "valid_to",
            "status",
        ]
    );
    let sorted = "/vouchers/mine?list[ordering]=remaining_balance&page[limit]=1";
    assert_eq!(shop.get(sorted).by(registered).send().await.expect(200).ids(), [5]);
    assert_eq!(shop.get("/vouchers/mine").send().await.expect(200).total(), 0);
    shop.get("/vouchers/mine?filter[enabled]=1").send().await.expect(400);
    // The order of the codes would tell what their masks cover.
    for column in ["masked_code", "voucher_code"] {
        let sorted = format!("/vouchers/mine?list[ordering]={column}");
        let refused = shop.get(&sorted).by(registered).send().await.expect(400);
        assert_eq!(refused.errors(), ["400 invalid_parameter parameter list[ordering]"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ones_own_vouchers_are_those_of_ones_address_in_any_case() {
    let shop = Shop::open().await;
    let ada = NewUser {
        username: "ada".to_owned(),
        email: "Ada@Example.com".to_owned(),
        groups: vec!["Registered".to_owned()],
        password: None,
    };
    shop.site.add_user(ada).await.unwrap();
    let token = format!("Bearer {}", shop.site.generate_token("ada").await.unwrap());
    for address in ["Ada@Example.com", "ada@example.com", "ADA@EXAMPLE.COM", "bob@example.com"] {
        shop.create("/vouchers", json!({"voucher_value": 5, "email_to": address})).await;
    }
    let mine = shop.get("/vouchers/mine").header("authorization", &token);
    assert_eq!(mine.send().await.expect(200).ids(), [1, 2, 3]);
}
