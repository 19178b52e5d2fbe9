//! SKUs and codes: white space at their ends does not count, neither when they are written nor when they are
//! looked up.

use host_interface::{HostHandle, Method};
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use serde_json::{Value, json};

use super::shelves::{Directory, document, text};
use crate::support::bare::Bare;
use crate::support::databases::Engine;
use crate::support::harness::Shop;

/// White space at both ends, some of which is not ASCII.
fn spaced(text: &str) -> String {
    format!(" \t\u{a0}{text}\u{3000}\n ")
}

#[tokio::test(flavor = "multi_thread")]
async fn white_space_at_the_ends_of_a_code_does_not_count() {
    let shop = Shop::stocked().await;
    let country = json!({
        "country_name": "Utopia", "country_isocode_2": spaced("UT"), "country_isocode_3": spaced("UTO"),
    });
    let item = json!({
        "orderitem_name": "x", "orderitem_sku": spaced("o 1"), "orderitem_price": 1,
    });
    let order = json!({
        "user_email": "ada@example.com", "order_id": spaced("R-1"), "currency_code": spaced("EUR"),
        "ordershipping_code": spaced("parcel"), "items": [item],
    });
    let coupon = json!({"coupon_name": "c", "coupon_code": spaced("C-1"), "value": 1});
    let zone = json!({"zone_name": "z", "zone_code": spaced("Z 1"), "country_id": 1});
    let voucher = json!({
        "voucher_code": spaced("V 1"), "voucher_value": 1, "email_to": "ada@example.com",
        "order_id": spaced("R-1"),
    });
    for (path, body, names) in [
        (
            "/products",
            json!({"product_name": "p", "sku": spaced("p 1"), "upc": spaced("7")}),
            "sku upc",
        ),
        ("/countries", country, "country_isocode_2 country_isocode_3"),
        (
            "/currencies",
            json!({"currency_title": "x", "currency_code": spaced("XUT")}),
            "currency_code",
        ),
        ("/zones", zone, "zone_code"),
        ("/coupons", coupon, "coupon_code"),
        ("/orders", order, "order_id currency_code ordershipping_code"),
        ("/vouchers", voucher, "voucher_code order_id"),
    ] {
        let made = shop.post(path, body.clone()).send().await.expect(201);
        if path == "/orders" {
            let items = shop.get(&format!("/orders/{}/items", made.id())).send().await.expect(200);
            assert_eq!(items.column("orderitem_sku"), ["o 1"]);
        }
        let shown = shop.get(&format!("{path}/{}", made.id())).send().await.expect(200);
        for name in names.split(' ') {
            // An order does not show how it is shipped.
            let Some(value) = shown.json()["data"]["attributes"].get(name).cloned() else {
                continue;
            };
            let sent = body[name].as_str().unwrap();
            assert_eq!(value, json!(sent.trim()), "{path} {name}");
            assert_ne!(sent, sent.trim());
            // What is sent again is no change.
            let version = shown.json()["data"]["meta"]["version"].clone();
            let again = shop.patch(&format!("{path}/{}", made.id()), json!({name: sent}));
            assert_eq!(again.send().await.expect(200).json()["data"]["meta"]["version"], version);
        }
    }
    let twin = json!({"product_name": "twin", "sku": "P 1\u{2009}"});
    let refused = shop.post("/products", twin).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /sku"]);

    // The filter and an adjustment find the same product.
    let id = shop.get("/products?filter[sku_exact]=p+1").send().await.expect(200).ids();
    assert_eq!(id.len(), 1);
    assert_eq!(shop.get("/inventory?filter[sku_exact]=++P+1+").send().await.expect(200).ids(), id);
    shop.patch(&format!("/products/{}", id[0]), json!({"quantity": 5})).send().await.expect(200);
    let step = json!({"sku": spaced("P 1"), "quantity_delta": 2, "reason": "Found"});
    let body = json!({"adjustments": [step]});
    let adjusted = shop.post("/inventory/adjust", body).send().await.expect(200);
    assert_eq!(adjusted.column("quantity"), [7]);
    // Only white space is none.
    for (path, body, pointer) in [
        ("/coupons", json!({"coupon_name": "c", "coupon_code": "\t", "value": 1}), "/coupon_code"),
        ("/zones", json!({"zone_name": "z", "zone_code": " ", "country_id": 1}), "/zone_code"),
        ("/coupons", json!({"coupon_name": "c", "coupon_code": "a b", "value": 1}), "/coupon_code"),
    ] {
        let refused = shop.post(path, body).send().await.expect(422);
        assert_eq!(refused.errors(), [format!("422 invalid_value pointer {pointer}")]);
    }
    let none = json!({"product_name": "none", "sku": "  "});
    assert_eq!(shop.post("/products", none).send().await.expect(201).attribute("sku"), "");
}

/// A store of before that: what has white space at its ends loses it, unless it would become equal to
/// something else.
#[tokio::test]
async fn existing_codes_lose_the_white_space_at_their_ends() {
    let store = Bare::of(Engine::of_this_run(), HostHandle::new(Directory)).await;
    let write = async |path: &str, body: Value| {
        let answer = store.ask(Method::Post, path, body).await;
        assert_eq!(answer.status(), 201, "{path}: {}", text(&answer));
    };
    for number in 1..=8 {
        let product = json!({"product_name": format!("p{number}"), "sku": format!("s{number}")});
        write("/products", product).await;
        let order = json!({"user_email": "ada@example.com", "order_id": format!("r{number}")});
        write("/orders", order).await;
        let voucher = json!({
            "voucher_code": format!("v{number}"), "voucher_value": 1, "email_to": "ada@example.com",
            "order_id": format!("r{number}"),
        });
        write("/vouchers", voucher).await;
        let zone = json!({"zone_name": "z", "zone_code": format!("z{number}"), "country_id": 1 + number % 2});
        write("/zones", zone).await;
    }
    // Zones of the reference data come before.
    let zones = "SELECT max(shop_zone_id) - 8 FROM shop_zones";
    let mut reading = store.app.shop.store.begin_read().await.unwrap();
    let zones = Statement { text: zones.to_owned(), binds: Vec::new() };
    let zones = reading.number(zones).await.unwrap();
    reading.end();
    let values =
        ["A ", " a", "b\t", "b", "\u{a0}c\u{3000}\u{2028}", "d\u{85}", "  ", "e\u{2003} x"];
    for (number, value) in (1..).zip(values) {
        let folded = value.to_lowercase();
        for (table, key, name, before) in [
            ("shop_products", "shop_product_id", "sku", 0),
            ("shop_orders", "shop_order_id", "order_id", 0),
            ("shop_vouchers", "shop_voucher_id", "voucher_code", 0),
            ("shop_zones", "shop_zone_id", "zone_code", zones),
        ] {
            let key = format!("{key} = {}", before + number);
            store
                .run(format!(
                    "UPDATE {table} SET {name} = '{value}', {name}_fold = '{folded}' WHERE {key}"
                ))
                .await;
        }
        let order = format!("order_id = '{value}' WHERE shop_voucher_id = {number}");
        store.run(format!("UPDATE shop_vouchers SET {order}")).await;
    }
    let all = async |path: &str, name: &str| {
        let mut all = Vec::new();
        for number in 1..=8 {
            let key = if path == "/zones" { zones + number } else { number };
            let answer = store.ask(Method::Get, &format!("{path}/{key}"), Value::Null).await;
            let record = document(&answer)["data"].clone();
            let value = record["attributes"][name].as_str().unwrap().to_owned();
            all.push((value, record["meta"]["version"].as_i64().unwrap()));
        }
        all
    };
    let before = all("/products", "sku").await;
    assert_eq!(before[0], ("A ".to_owned(), 1));

    let table = match store.database.engine {
        Engine::Sqlite => "_sqlx_migrations",
        Engine::Postgres | Engine::MariaDb => "shop_migrations",
    };
    store.run(format!("DELETE FROM {table} WHERE description = 'trimmed'")).await;
    store.app.shop.store.migrate(REGISTRY).await.unwrap();

    // Of two that would become equal, the first loses it, if not another one has been so before.
    let either = |same: bool| {
        let second = if same { (" a", 1) } else { ("a", 2) };
        [("A", 2), second, ("b\t", 1), ("b", 1), ("c", 2), ("d", 2), ("", 2), ("e\u{2003} x", 1)]
    };
    let owned = |all: [(&str, i64); 8]| all.map(|(value, version)| (value.to_owned(), version));
    assert_eq!(all("/products", "sku").await, owned(either(true)));
    let mut codes = either(true);
    // A code must not be empty.
    codes[6] = ("  ", 1);
    let versions = |all: Vec<(String, i64)>| all.into_iter().map(|(value, _)| value);
    let values = |all: [(&str, i64); 8]| owned(all).map(|(value, _)| value);
    assert!(versions(all("/vouchers", "voucher_code").await).eq(values(codes)));
    let mut exact = either(false);
    exact[6] = ("  ", 1);
    assert_eq!(all("/orders", "order_id").await, owned(exact));
    assert!(
        versions(all("/vouchers", "order_id").await).eq(values(exact)),
        "vouchers refer to them"
    );
    let mut of_countries = exact;
    // The third and the fourth zone are of different countries.
    of_countries[2] = ("b", 2);
    assert_eq!(all("/zones", "zone_code").await, owned(of_countries));

    let found = async |query: &str| {
        let path = format!("/products?filter[sku_exact]={query}");
        let answer = store.ask(Method::Get, &path, Value::Null).await;
        document(&answer)["data"][0]["id"].clone()
    };
    assert_eq!(found("a").await, "1");
    assert_eq!(found("c").await, "5");
    assert_eq!(found("d").await, "6");
    let variants = store.ask(Method::Get, "/products/5/variants", Value::Null).await;
    assert_eq!(document(&variants)["data"][0]["attributes"]["sku"], "c");
    store.app.shop.store.close().await;
}
