//! SKUs and codes: white space at their ends does not count, neither when they are written nor when they are
//! looked up.

use serde_json::json;

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
    // So do those of variants.
    let further = json!({"sku": spaced("p 2"), "quantity": 5, "options": {"Size": "M"}});
    let variants = format!("/products/{}/variants", id[0]);
    let variant = shop.post(&variants, further.clone()).send().await.expect(201);
    assert_eq!(variant.attribute("sku"), "p 2");
    let refused = shop.post(&variants, further).send().await.expect(422).errors();
    assert!(refused.contains(&"422 duplicate pointer /sku".to_owned()), "{refused:?}");
    let step = json!({"sku": spaced("P 2"), "quantity_delta": 2, "reason": "Found"});
    let adjusted = shop.post("/inventory/adjust", json!({"adjustments": [step]}));
    assert_eq!(adjusted.send().await.expect(200).column("quantity"), [7]);
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
