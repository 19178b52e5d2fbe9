//! Variants: a product in several forms, each with options and a stock of its own.

use host_interface::Method;
use serde_json::{Value, json};

use crate::support::bare::Bare;
use crate::support::harness::{Answer, Shop};
use crate::support::smtp::Sink;

/// A shirt that is not in stock, by its key.
async fn shirt(shop: &Shop) -> i64 {
    let body = json!({"product_name": "Shirt", "sku": "SH", "price": "20", "quantity": 7});
    shop.create("/products", body).await
}

/// Adds a variant, and returns its key.
async fn add(shop: &Shop, product: i64, body: Value) -> i64 {
    shop.create(&format!("/products/{product}/variants"), body).await
}

/// A variant of this size.
fn size(size: &str) -> Value {
    json!({"sku": format!("SH-{size}"), "options": {"Size": size}})
}

async fn detail(shop: &Shop, path: &str) -> Answer {
    shop.get(path).send().await.expect(200)
}

/// Reason, variant and difference of each movement of a product, the newest first.
async fn movements(shop: &Shop, path: &str) -> Vec<Value> {
    let list = detail(shop, path).await;
    let names = ["reason", "variant_id", "sku", "quantity_delta", "quantity_after"];
    let rows = list.json()["data"].as_array().unwrap().clone();
    rows.iter().map(|row| names.map(|name| row["attributes"][name].clone()).into()).collect()
}

/// `check` finds nothing: variants, products and ledgers agree.
async fn check(shop: &Shop) {
    let found = shop.site.command("check", &serde_json::Map::new(), || ()).await.unwrap();
    assert_eq!(found.rows, Vec::<serde_json::Map<String, Value>>::new());
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_first_variant_gets_the_stock_and_the_last_one_gives_it_back() {
    let shop = Shop::open().await;
    let product = shirt(&shop).await;
    let path = format!("/products/{product}");
    let before = detail(&shop, &path).await;
    assert_eq!(before.json()["data"]["meta"], json!({"version": 1}));

    let created = shop.post(&format!("{path}/variants"), size("M")).send().await.expect(201);
    let medium = created.id();
    assert_eq!(created.header("location"), format!("/api/index.php/v1/shop/variants/{medium}"));
    assert_eq!(created.json()["meta"], json!({"product_version": 2}));
    assert_eq!(created.attribute("quantity"), 7);
    assert_eq!(created.attribute("price"), "20.00");
    assert_eq!(created.attribute("price_follows_product"), 1);
    assert_eq!(created.attribute("options"), json!({"Size": "M"}));
    let large = add(
        &shop,
        product,
        json!({"sku": "SH-L", "options": {"size": "L"}, "price": "22.5",
        "quantity": 3}),
    )
    .await;

    let shown = detail(&shop, &path).await;
    assert_eq!(shown.attribute("quantity"), 10);
    assert_eq!(shown.attribute("has_options"), 1);
    assert_eq!(shown.attribute("price"), "20.00");
    let meta = json!({"version": 3, "price_from": "20.00", "price_to": "22.50"});
    assert_eq!(shown.json()["data"]["meta"], meta);
    assert_eq!(detail(&shop, &format!("/inventory/{product}")).await.attribute("quantity"), 10);
    let listed = detail(&shop, &format!("{path}/variants")).await;
    assert_eq!(listed.column("sku"), ["SH", "SH-M", "SH-L"]);
    let master = detail(&shop, &format!("/variants/{}", listed.ids()[0])).await;
    assert_eq!(master.attribute("quantity"), Value::Null);
    check(&shop).await;

    // A price that follows the product's changes with it.
    shop.patch(&path, json!({"price": "21"})).send().await.expect(200);
    let prices = detail(&shop, &format!("{path}/variants")).await.column("price");
    assert_eq!(prices, ["21.00", "21.00", "22.50"]);

    let variant = format!("/variants/{medium}");
    shop.delete(&variant).send().await.expect(204);
    assert_eq!(detail(&shop, &path).await.attribute("quantity"), 3);
    shop.delete(&format!("/variants/{large}")).send().await.expect(204);
    let single = detail(&shop, &path).await;
    assert_eq!(
        (single.attribute("quantity"), single.attribute("has_options")),
        (json!(3), json!(0))
    );
    assert_eq!(single.json()["data"]["meta"], json!({"version": 6}));
    assert_eq!(
        movements(&shop, &format!("/inventory/{product}/ledger")).await,
        [
            json!(["moved from a variant", null, "SH", 3, 3]),
            json!(["moved from a variant", large, "SH-L", -3, 0]),
            json!(["variant removed", medium, "SH-M", -7, 0]),
            json!(["variant created", large, "SH-L", 3, 3]),
            json!(["moved to a variant", medium, "SH-M", 7, 7]),
            json!(["moved to a variant", null, "SH", -7, 0]),
            json!(["product created", null, "SH", 7, 7]),
        ]
    );
    let of_variant = movements(&shop, &format!("/variants/{large}/ledger")).await;
    assert_eq!(of_variant.len(), 2);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_has_the_range_of_its_variants_prices() {
    let shop = Shop::open().await;
    let product = shirt(&shop).await;
    let path = format!("/products/{product}");
    let range = async || {
        let meta = detail(&shop, &path).await.json()["data"]["meta"].clone();
        [meta["price_from"].clone(), meta["price_to"].clone()]
    };
    assert_eq!(range().await, [Value::Null, Value::Null]);
    // The first two follow the product, the third one does not.
    let mut keys = Vec::new();
    for (size, price) in [("S", Value::Null), ("M", Value::Null), ("L", json!("22.5"))] {
        let body = json!({"sku": format!("SH-{size}"), "options": {"Size": size}, "price": price});
        keys.push(add(&shop, product, body).await);
    }
    assert_eq!(range().await, ["20.00", "22.50"]);
    let [small, medium, large] = keys[..] else { panic!() };
    let product_costs = |price: &str| (path.clone(), json!({"price": price}));
    let variant_costs =
        |key: i64, price: Value| (format!("/variants/{key}"), json!({"price": price}));
    for ((path, change), expected) in [
        (product_costs("23"), ["22.50", "23.00"]),
        (variant_costs(large, json!("25.125")), ["23.00", "25.125"]),
        (variant_costs(small, json!("9.99")), ["9.99", "25.125"]),
        (product_costs("30"), ["9.99", "30.00"]),
        (variant_costs(large, Value::Null), ["9.99", "30.00"]),
        (variant_costs(small, Value::Null), ["30.00", "30.00"]),
        (product_costs("0"), ["0.00", "0.00"]),
    ] {
        shop.patch(&path, change.clone()).send().await.expect(200);
        assert_eq!(range().await, expected, "{path} with {change}");
        check(&shop).await;
    }
    shop.patch(&format!("/variants/{large}"), json!({"price": "1"})).send().await.expect(200);
    for (key, expected) in [(medium, ["0.00", "1.00"]), (small, ["1.00", "1.00"])] {
        shop.delete(&format!("/variants/{key}")).send().await.expect(204);
        assert_eq!(range().await, expected);
    }
    shop.delete(&format!("/variants/{large}")).send().await.expect(204);
    assert_eq!(range().await, [Value::Null, Value::Null]);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_product_is_created_with_its_variants() {
    let shop = Shop::open().await;
    let body = json!({
        "product_name": "Shirt", "sku": "SH", "price": "20", "quantity": 4,
        "variants": [
            {"sku": "SH-S", "options": {"Size": "S"}},
            {"sku": "SH-M", "options": {"Size": "M"}, "quantity": 2, "isdefault_variant": 1},
        ],
    });
    let created = shop.post("/products", body).send().await.expect(201);
    assert_eq!(created.attribute("quantity"), 6);
    assert_eq!(created.attribute("has_options"), 1);
    let path = format!("/products/{}", created.id());
    let variants = detail(&shop, &format!("{path}/variants")).await;
    assert_eq!(variants.column("isdefault_variant"), [0, 0, 1]);
    check(&shop).await;

    for (variants, errors) in [
        (
            json!([{"options": {"Size": "S"}}, {"options": {"SIZE": " s "}}]),
            vec!["422 duplicate pointer /variants/1/options"],
        ),
        (
            json!([{"options": {"Size": "S"}}, {"options": {"Colour": "red"}}]),
            vec!["422 invalid_value pointer /variants/1/options"],
        ),
        (
            json!([{"options": {"Size": "S"}, "sku": "x"}, {"options": {"Size": "M"}, "sku": "X"}]),
            vec!["422 duplicate pointer /variants/1/sku"],
        ),
        (
            json!([{"options": {"Size": "S"}, "sku": "sh-s"}]),
            vec!["422 duplicate pointer /variants/0/sku"],
        ),
        // What is wrong with one is not held against the others.
        (
            json!([{"options": {}}, {"options": {"Size": "S"}}]),
            vec!["422 invalid_value pointer /variants/0/options"],
        ),
        (
            json!([{"options": {"Size": "S"}, "quantity": -1}]),
            vec!["422 invalid_value pointer /variants/0/quantity"],
        ),
    ] {
        let body = json!({"product_name": "Shirt", "variants": variants});
        let refused = shop.post("/products", body).send().await.expect(422);
        assert_eq!(refused.errors(), errors, "{variants}");
    }
    // What the product had goes to the first variant or to none.
    let variants = json!([
        {"options": {"Size": "S"}, "quantity": 2},
        {"options": {"Size": "M"}},
    ]);
    let body = json!({"product_name": "Shirt", "quantity": 5, "variants": variants});
    let refused = shop.post("/products", body).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /quantity"]);
    let body = json!({"product_name": "Shirt", "variants": [{"sku": "Y"}]});
    let refused = shop.post("/products", body).send().await.expect(400);
    assert_eq!(refused.errors(), ["400 missing_field pointer /variants/0/options"]);
    assert_eq!(shop.get("/products").send().await.total(), 1);

    shop.delete(&path).send().await.expect(204);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_completes_a_new_variant_is_part_of_its_first_version() {
    let shop = Shop::open().await;
    let versions = async |product: i64| -> Vec<i64> {
        let list = detail(&shop, &format!("/products/{product}/variants")).await.json();
        let all = list["data"].as_array().unwrap().iter();
        all.map(|variant| variant["meta"]["version"].as_i64().unwrap()).collect()
    };
    let product = shirt(&shop).await;
    let limits = json!({"min_out_qty": "7", "notify_qty": "9"});
    shop.patch(&format!("/inventory/{product}"), limits).send().await.expect(200);
    let path = format!("/products/{product}/variants");
    let made = shop.post(&path, size("M")).send().await.expect(201);
    assert_eq!(made.json()["data"]["meta"]["version"], 1);
    let report = detail(&shop, "/reports/inventory").await;
    assert_eq!(report.column("stock_status"), ["out_of_stock"]);
    // The variant that was the default has changed.
    let before = versions(product).await;
    let mut large = size("L");
    large["isdefault_variant"] = json!(1);
    add(&shop, product, large).await;
    assert_eq!(versions(product).await, [before[0] + 1, before[1], 1]);

    let variants = json!([
        {"options": {"Size": "S"}},
        {"options": {"Size": "M"}, "isdefault_variant": 1},
    ]);
    let coat = json!({"product_name": "Coat", "variants": variants});
    let coat = shop.create("/products", coat).await;
    assert_eq!(versions(coat).await, [1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_variant_may_not_be_is_refused_by_pointer() {
    let shop = Shop::open().await;
    let product = shirt(&shop).await;
    let medium = add(&shop, product, size("M")).await;
    let path = format!("/products/{product}/variants");
    let six: Value = ["a", "b", "c", "d", "e", "f"].map(|name| (name, "x")).into_iter().collect();
    for (options, error) in [
        (json!({"Size": "m"}), "422 duplicate pointer /options"),
        (json!({"Colour": "red"}), "422 invalid_value pointer /options"),
        (json!({"Size": "L", "Colour": "red"}), "422 invalid_value pointer /options"),
        (json!({}), "422 invalid_value pointer /options"),
        (six, "422 invalid_value pointer /options"),
        (json!({"Size": 4}), "422 invalid_value pointer /options"),
        (json!({"Size": ""}), "422 invalid_value pointer /options"),
        (json!({"Size": "x".repeat(65)}), "422 invalid_value pointer /options"),
        (json!({"Size": "L", "size": "L"}), "422 invalid_value pointer /options"),
        (json!(["L"]), "422 invalid_value pointer /options"),
    ] {
        let refused = shop.post(&path, json!({"options": options})).send().await.expect(422);
        assert_eq!(refused.errors(), [error], "{options}");
    }
    let taken = json!({"sku": "sh-m", "options": {"Size": "L"}});
    let refused = shop.post(&path, taken).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /sku"]);
    shop.post("/products/99/variants", size("L")).send().await.expect(404);

    let master = detail(&shop, &path).await.ids()[0];
    let master = format!("/variants/{master}");
    for (body, error) in [
        (json!({"options": {"Size": "M"}}), "422 refused pointer /options"),
        (json!({"quantity": 1}), "422 refused pointer /quantity"),
        (json!({"price": "1"}), "422 refused pointer /price"),
        (json!({"sku": "Z"}), "422 refused pointer /sku"),
        (json!({"isdefault_variant": 0}), "422 refused pointer /isdefault_variant"),
    ] {
        let refused = shop.patch(&master, body.clone()).send().await.expect(422);
        assert_eq!(refused.errors(), [error], "{body}");
    }
    let refused = shop.delete(&master).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused"]);
    // What does not belong to the product can be changed, and sent back as it was read.
    let changed = shop.patch(&master, json!({"weight": "0.2", "sku": "SH"})).send().await;
    let read = changed.expect(200).json()["data"]["attributes"].clone();
    shop.patch(&master, read).send().await.expect(200);

    for path in ["products", "inventory"] {
        let path = format!("/{path}/{product}");
        let refused = shop.patch(&path, json!({"quantity": 8})).send().await.expect(422);
        assert_eq!(refused.errors(), ["422 stock_is_with_variants pointer /quantity"]);
        assert_eq!(refused.json()["errors"][0]["meta"], json!({"variants": [medium]}));
        shop.patch(&path, json!({"quantity": 7})).send().await.expect(200);
    }
    let body = json!({"has_options": 0});
    let refused = shop.patch(&format!("/products/{product}"), body).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused pointer /has_options"]);
    check(&shop).await;
}

/// Variants that a store had before they had options get them later, and say nothing about those of others.
#[tokio::test(flavor = "multi_thread")]
async fn a_variant_without_options_is_beside_others_that_have_them() {
    let store = Bare::open().await;
    let ask = async |method, path, body, status| {
        let answer = store.ask(method, path, body).await;
        assert_eq!(answer.status(), status, "{}", String::from_utf8_lossy(answer.body()));
    };
    ask(Method::Post, "/products", json!({"product_name": "Shirt"}), 201).await;
    let variants = "/products/1/variants";
    ask(Method::Post, variants, size("M"), 201).await;
    let none = "UPDATE shop_variants SET options = '{}', options_key = NULL WHERE is_master = 0";
    store.run(none).await;
    ask(Method::Post, variants, json!({"options": {"Colour": "red"}}), 201).await;
    ask(Method::Patch, "/variants/2", json!({"options": {"Size": "M"}}), 422).await;
    ask(Method::Patch, "/variants/2", json!({"options": {"Colour": "blue"}}), 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_variant_changes_with_its_rules() {
    let shop = Shop::open().await;
    let product = shirt(&shop).await;
    let medium = format!("/variants/{}", add(&shop, product, size("M")).await);
    let large = format!("/variants/{}", add(&shop, product, size("L")).await);

    let read = detail(&shop, &medium).await;
    let unchanged = read.json()["data"]["attributes"].clone();
    let same = shop.patch(&medium, unchanged).send().await.expect(200);
    assert_eq!(same.json()["data"], read.json()["data"]);
    let price = |body: Value| async {
        let changed = shop.patch(&medium, body).send().await.expect(200);
        (changed.attribute("price"), changed.attribute("price_follows_product"))
    };
    assert_eq!(price(json!({"price": "20"})).await, (json!("20.00"), json!(1)));
    assert_eq!(price(json!({"price": "19"})).await, (json!("19.00"), json!(0)));
    assert_eq!(price(json!({"price": null})).await, (json!("20.00"), json!(1)));
    assert_eq!(price(json!({"price_follows_product": 0})).await, (json!("20.00"), json!(0)));
    assert_eq!(price(json!({"price_follows_product": 1})).await, (json!("20.00"), json!(1)));

    let moved = shop.patch(&large, json!({"quantity": 5, "options": {"Size": "XL"}})).send().await;
    assert_eq!(moved.expect(200).attribute("quantity"), 5);
    assert_eq!(detail(&shop, &format!("/products/{product}")).await.attribute("quantity"), 12);
    let refused = shop.patch(&large, json!({"options": {"Size": "M"}})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 duplicate pointer /options"]);
    let refused = shop.patch(&large, json!({"quantity": i32::MAX})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /quantity"]);

    let defaults = || async {
        detail(&shop, &format!("/products/{product}/variants")).await.column("isdefault_variant")
    };
    assert_eq!(defaults().await, [1, 0, 0]);
    shop.patch(&large, json!({"isdefault_variant": 1})).send().await.expect(200);
    assert_eq!(defaults().await, [0, 0, 1]);
    shop.delete(&large).send().await.expect(204);
    assert_eq!(defaults().await, [1, 0]);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn stock_moves_where_a_variant_is_named() {
    let shop = Shop::open().await;
    let product = shirt(&shop).await;
    let medium = add(&shop, product, size("M")).await;
    let large = add(&shop, product, size("L")).await;
    let step = |by: Value| {
        let mut step = json!({"quantity_delta": 2, "reason": "Counted"});
        step.as_object_mut().unwrap().extend(by.as_object().unwrap().clone());
        step
    };
    let steps = json!({"adjustments": [
        step(json!({"sku": "sh-m"})),
        step(json!({"variant_id": large})),
        step(json!({"variant_id": large, "shop_product_id": product, "expected_quantity": 2})),
    ]});
    let done = shop.post("/inventory/adjust", steps).send().await.expect(200);
    assert_eq!((done.ids(), done.column("quantity")), (vec![product], vec![json!(13)]));
    let one = format!("/inventory/{product}/adjust");
    for (by, quantity) in [(json!({"sku": "SH-L"}), 15), (json!({"variant_id": medium}), 17)] {
        let done = shop.post(&one, step(by)).send().await.expect(200);
        assert_eq!(done.attribute("quantity"), quantity);
    }
    for (by, error) in [
        (json!({}), "422 variant_required pointer /variant_id"),
        (json!({"sku": "SH"}), "422 variant_required pointer /sku"),
        (json!({"sku": "none"}), "422 missing_reference pointer /sku"),
        (json!({"variant_id": 99}), "422 missing_reference pointer /variant_id"),
        (
            json!({"variant_id": medium, "quantity_delta": -12}),
            "422 insufficient_stock pointer /quantity_delta",
        ),
    ] {
        let refused = shop.post(&one, step(by.clone())).send().await.expect(422);
        assert_eq!(refused.errors(), [error], "{by}");
        if error.contains("variant_required") {
            let meta = json!({"variants": [medium, large]});
            assert_eq!(refused.json()["errors"][0]["meta"], meta);
        }
    }
    let other = shop.create("/products", json!({"product_name": "Hat"})).await;
    let steps =
        json!({"adjustments": [step(json!({"variant_id": medium, "shop_product_id": other}))]});
    let refused = shop.post("/inventory/adjust", steps).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 missing_reference pointer /adjustments/0/variant_id"]);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_sells_a_variant_by_its_rules() {
    let shop = Shop::open().await;
    let product = shirt(&shop).await;
    let path = format!("/products/{product}");
    shop.patch(&path, json!({"sale_price": "18"})).send().await.expect(200);
    let body = json!({"sku": "SH-M-R", "options": {"Size": "M", "Colour": "red"}, "quantity": 2});
    let red = add(&shop, product, body).await;
    let body = json!({"sku": "SH-M-B", "options": {"Size": "M", "Colour": "blue"}, "price": "25"});
    let blue = add(&shop, product, body).await;
    let order = |line: Value| {
        let mut line = line;
        line["take_stock"] = json!(1);
        let body = json!({"user_email": "ada@example.com", "items": [line]});
        shop.post("/orders", body).send()
    };
    let item = async |answer: Answer| {
        let list = detail(&shop, &format!("/orders/{}/items", answer.id())).await;
        let item = detail(&shop, &format!("/orderitems/{}", list.ids()[0])).await;
        item.json()["data"].clone()
    };

    let sold = item(order(json!({"variant_id": red})).await.expect(201)).await;
    let of = |name: &str| sold["attributes"][name].clone();
    assert_eq!(of("orderitem_name"), "Shirt, M, red");
    assert_eq!(of("orderitem_sku"), "SH-M-R");
    assert_eq!(of("orderitem_price"), "18.00", "on sale with its product");
    assert_eq!(of("orderitem_attributes"), json!({"Size": "M", "Colour": "red"}));
    assert_eq!(sold["meta"], json!({"version": 1}));
    assert_eq!(detail(&shop, &path).await.attribute("quantity"), 1);

    let refused = order(json!({"product_id": product})).await.expect(422);
    assert_eq!(refused.errors(), ["422 variant_required pointer /items/0/variant_id"]);
    assert_eq!(refused.json()["errors"][0]["meta"], json!({"variants": [red, blue]}));
    let refused = order(json!({"variant_id": blue})).await.expect(422);
    assert_eq!(refused.errors(), ["422 insufficient_stock pointer /items/0/orderitem_quantity"]);

    let variant = format!("/variants/{blue}");
    shop.patch(&variant, json!({"allow_backorder": 1, "quantity": 1})).send().await.expect(200);
    let sold = item(order(json!({"variant_id": blue, "orderitem_quantity": 3})).await.expect(201));
    let sold = sold.await;
    assert_eq!(sold["attributes"]["orderitem_price"], "25.00");
    assert_eq!(sold["meta"], json!({"version": 1, "backordered": 2}));
    assert_eq!(detail(&shop, &variant).await.attribute("quantity"), 0);

    let rules = json!({"quantity_restriction": 1, "min_sale_qty": "2", "max_sale_qty": "4"});
    shop.patch(&variant, rules).send().await.expect(200);
    for quantity in [1, 5] {
        let line = json!({"variant_id": blue, "orderitem_quantity": quantity});
        let refused = order(line).await.expect(422);
        assert_eq!(refused.errors(), ["422 invalid_value pointer /items/0/orderitem_quantity"]);
    }
    shop.patch(&variant, json!({"manage_stock": 0})).send().await.expect(200);
    let sold = order(json!({"variant_id": blue, "orderitem_quantity": 4})).await.expect(201);
    assert_eq!(item(sold).await["meta"], json!({"version": 1}));
    check(&shop).await;

    // The rules of a product without further variants are those of its master.
    let hat = shop.create("/products", json!({"product_name": "Hat", "quantity": 1})).await;
    let master = detail(&shop, &format!("/products/{hat}/variants")).await.ids()[0];
    let master = format!("/variants/{master}");
    let line = json!({"product_id": hat, "orderitem_quantity": 2});
    order(line.clone()).await.expect(422);
    shop.patch(&master, json!({"allow_backorder": 1})).send().await.expect(200);
    let sold = item(order(line).await.expect(201)).await;
    assert_eq!(sold["meta"], json!({"version": 1, "backordered": 1}));
    shop.patch(&format!("/inventory/{hat}"), json!({"manage_stock": 0})).send().await.expect(200);
    order(json!({"product_id": hat, "orderitem_quantity": 9})).await.expect(201);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_mail_mentions_what_is_missing_until_it_is_shipped() {
    let sink = Sink::start().await;
    let shop = Shop::with(&sink).await;
    let product = shirt(&shop).await;
    let variant = |size: &str, allowed: i64| json!({"sku": format!("SH-{size}"), "options": {"Size": size}, "quantity": 1, "allow_backorder": allowed});
    let [quiet, told] =
        [add(&shop, product, variant("S", 1)).await, add(&shop, product, variant("M", 2)).await];
    let line =
        |variant: i64| json!({"variant_id": variant, "orderitem_quantity": 3, "take_stock": 1});
    let order = json!({
        "user_email": "ada@example.com", "order_id": "A-7", "created_on": "2026-02-03",
        "items": [line(quiet), line(told)],
    });
    let order = shop.create("/orders", order).await;
    let history = format!("/orders/{order}/history");
    let entry = json!({"order_state_id": 1, "notify_customer": 1});
    shop.post(&history, entry.clone()).send().await.expect(201);
    insta::assert_snapshot!(sink.wait_for(1).await[0].text().replace("\r\n", "\n"), @"
    Hello,

    the status of your order A-7 of 2026-02-03 is now: Confirmed.

    Not in stock, and sent later: 2 x Shirt, M

    Total: 120.00 EUR

    Online store
    ");

    // One of the two pieces is there now; the other one is mentioned still.
    let items = detail(&shop, &format!("/orders/{order}/items")).await.ids();
    let shipments = format!("/orders/{order}/shipments");
    let parcel = json!({"items": [{"orderitem_id": items[1], "quantity": 2}]});
    shop.post(&shipments, parcel).send().await.expect(201);
    shop.post(&history, entry.clone()).send().await.expect(201);
    assert!(sink.wait_for(2).await[1].text().contains("sent later: 1 x Shirt, M"));
    shop.post(&shipments, json!({})).send().await.expect(201);
    shop.post(&history, entry).send().await.expect(201);
    assert!(!sink.wait_for(3).await[2].text().contains("sent later"));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn each_variant_with_a_stock_is_a_row_of_the_inventory() {
    let shop = Shop::open().await;
    let product = shirt(&shop).await;
    let medium = json!({"sku": "SH-M", "options": {"Size": "M", "Colour": "red"}});
    let medium = add(&shop, product, medium).await;
    let large = json!({"options": {"Size": "L", "Colour": "red"}, "quantity": 1, "price": "22.50"});
    let large = add(&shop, product, large).await;
    let hat = json!({"product_name": "Hat", "quantity": 3, "price": "5"});
    let hat = shop.create("/products", hat).await;
    shop.patch(&format!("/inventory/{product}"), json!({"min_out_qty": "1"}))
        .send()
        .await
        .expect(200);
    let names =
        ["product_id", "shop_variant_id", "sku", "name", "quantity", "stock_status", "stock_value"];
    let report = detail(&shop, "/reports/inventory").await;
    let rows = report.json()["data"].as_array().unwrap().clone();
    let rows: Vec<Value> =
        rows.iter().map(|row| names.map(|name| row["attributes"][name].clone()).into()).collect();
    assert_eq!(
        rows,
        [
            json!([product, large, "", "Shirt, L, red", 1, "out_of_stock", "22.50"]),
            json!([hat, null, "", "Hat", 3, "in_stock", "15.00"]),
            json!([product, medium, "SH-M", "Shirt, M, red", 7, "in_stock", "140.00"]),
        ]
    );
    let totals = report.json()["meta"]["totals"].clone();
    let expected = json!({
        "in_stock": 2, "low_stock": 0, "out_of_stock": 1, "unmanaged": 0, "units": 11, "value": "177.50",
    });
    assert_eq!(totals, expected);
    assert_eq!(report.total(), 3);
    let ids: Vec<Value> =
        report.json()["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    let [first, second] = [format!("inventory-{product}-{large}"), format!("inventory-{hat}")];
    assert_eq!(ids[..2], [json!(first), json!(second)]);
    for (offset, name) in ["Shirt, L, red", "Hat", "Shirt, M, red"].iter().enumerate() {
        let page = format!("/reports/inventory?page[limit]=1&page[offset]={offset}");
        assert_eq!(detail(&shop, &page).await.column("name"), [*name]);
    }
}
