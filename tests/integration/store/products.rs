//! Products with their variants and stock records.

use host_interface::Method;
use serde_json::{Value, json};

use crate::support::bare::Bare;
use crate::support::harness::Shop;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
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

    // Its master variant and its stock record were created with it.
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
async fn every_visible_change_updates_modified_on() {
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
        // An empty body changes nothing, and neither does a refused one.
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
async fn a_variant_other_than_the_master_keeps_its_own_values() {
    let store = Bare::open().await;
    let product = json!({"product_name": "Lamp", "sku": "L-1", "price": "10", "upc": "1"});
    assert_eq!(store.ask(Method::Post, "/products", product).await.status(), 201);
    let own = json!({
        "sku": "L-1-RED", "price": "12.5", "upc": "2", "quantity": 0, "options": {"Colour": "red"},
    });
    assert_eq!(store.ask(Method::Post, "/products/1/variants", own).await.status(), 201);
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
async fn sku_price_and_quantity_agree_wherever_they_are_written() {
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
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_stock_record_can_be_removed_and_created_again() {
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

    // A product without a stock record has a stock of zero, which cannot be changed.
    shop.delete("/inventory/1").send().await.expect(204);
    let more = json!({"quantity": 3});
    let refused = shop.patch("/products/1", more.clone()).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused pointer /quantity"]);
    assert_eq!(shop.get("/products/1").send().await.expect(200).attribute("quantity"), 0);
    // A record can be sent back as it was read.
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
    // A product does not conflict with itself.
    shop.patch("/products/1", json!({"sku": "l-1"})).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_found_by_every_filter_of_the_table() {
    let shop = Shop::stocked().await;
    let ids = async |filter: &str| {
        shop.get(&format!("/products?{filter}")).send().await.expect(200).ids()
    };
    assert_eq!(ids("filter[search]=LAM").await, [1]);
    assert_eq!(ids("filter[category]=2").await, [1]);
    assert_eq!(ids("filter[category]=1").await, [0_i64; 0], "only that category");
    assert_eq!(ids("filter[manufacturer]=1").await, [1]);
    assert_eq!(ids("filter[product_type]=simple").await, [1, 2]);
    assert_eq!(ids("filter[product_type]=variable").await, [0_i64; 0]);
    assert_eq!(ids("filter[enabled]=1&filter[visibility]=1").await, [1, 2]);
    assert_eq!(ids("filter[sku]=b-").await, [2]);
    assert_eq!(ids("filter[search]=lamp&filter[sku]=b-1").await, [2], "sku replaces search");
    shop.get("/products?filter[category]=x").send().await.expect(422);
}
