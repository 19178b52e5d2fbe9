//! Stock: changes by differences, one and many at a time, orders that take their items, and the
//! ledgers of stock and of vouchers.

use example_host::Force;
use std::collections::BTreeMap;

use plugin::sql::Statement;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::harness::{Answer, Role, Shop};
use crate::support::ledger::Client;
use crate::support::process::{Place, stop};

/// The adjustment of one product.
fn step(delta: i64) -> Value {
    json!({"quantity_delta": delta, "reason": "Counted"})
}

/// What a ledger shows of each movement: difference, quantities before and after, reason, reference.
async fn ledger(shop: &Shop, product: i64) -> Vec<Value> {
    let list = shop.get(&format!("/inventory/{product}/ledger")).send().await.expect(200);
    let rows = list.json()["data"].as_array().unwrap().clone();
    let names = ["quantity_delta", "quantity_before", "quantity_after", "reason", "reference"];
    rows.iter()
        .map(|row| names.iter().map(|name| row["attributes"][name].clone()).collect())
        .collect()
}

/// The quantity of a product.
async fn quantity(shop: &Shop, product: i64) -> Value {
    shop.get(&format!("/products/{product}")).send().await.expect(200).attribute("quantity")
}

/// The number in the `meta` of each error that has one.
fn quantities(answer: &Answer) -> Vec<i64> {
    let errors = answer.json()["errors"].as_array().unwrap().clone();
    errors.iter().filter_map(|error| error["meta"]["quantity"].as_i64()).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_quantity_is_changed_by_a_difference_and_never_falls_below_zero() {
    let shop = Shop::stocked().await;
    let adjust = |body: Value| shop.post("/inventory/1/adjust", body).send();
    let sold = adjust(json!({"quantity_delta": -2, "reason": "Sold", "reference": "Till 4"})).await;
    let sold = sold.expect(200);
    assert_eq!(sold.json()["data"]["type"], "inventory");
    assert_eq!(sold.attribute("quantity"), 3);
    assert_eq!(sold.json()["data"]["meta"]["version"], 2);
    let shown = shop.get("/inventory/1").send().await.expect(200);
    assert_eq!(
        (shown.body.as_slice(), shown.header("etag")),
        (&sold.body[..], sold.header("etag"))
    );
    for (body, error, quantity) in [
        (step(-4), "422 insufficient_stock pointer /quantity_delta", Some(3)),
        (step(i64::from(i32::MAX)), "422 invalid_value pointer /quantity_delta", None),
        (step(0), "422 invalid_value pointer /quantity_delta", None),
        (json!({"quantity_delta": 1}), "400 missing_field pointer /reason", None),
        (json!({"reason": "Sold"}), "400 missing_field pointer /quantity_delta", None),
        (
            json!({"quantity_delta": 1, "reason": "Sold", "expected_quantity": 5}),
            "422 stock_changed pointer /expected_quantity",
            Some(3),
        ),
        (json!({"quantity_delta": 1, "reason": " "}), "422 invalid_value pointer /reason", None),
        (
            json!({"quantity_delta": 1, "reason": "Sold", "quantity": 5}),
            "422 unknown_field pointer /quantity",
            None,
        ),
    ] {
        let refused = adjust(body.clone()).await;
        assert_eq!(refused.errors(), [error], "{body}");
        assert_eq!(quantities(&refused), Vec::from_iter(quantity), "{body}");
    }
    adjust(json!({"quantity_delta": -3, "reason": "Sold", "expected_quantity": 3}))
        .await
        .expect(200);
    assert_eq!(quantity(&shop, 1).await, 0);
    shop.post("/inventory/99/adjust", step(1)).send().await.expect(404);
    // A product without a stock record.
    shop.delete("/inventory/2").send().await.expect(204);
    shop.post("/inventory/2/adjust", step(1)).send().await.expect(404);
    // A version is compared like that of any other change.
    let stale = shop.post("/inventory/1/adjust", step(1)).header("if-match", "\"2\"");
    assert_eq!(stale.send().await.expect(412).errors(), ["412 version_mismatch header If-Match"]);
    let fresh = shop.post("/inventory/1/adjust", step(1)).header("if-match", "\"3\"");
    assert_eq!(fresh.send().await.expect(200).attribute("quantity"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_quantities_change_in_the_order_sent_or_none_does() {
    let shop = Shop::stocked().await;
    let adjust = |body: Value| shop.post("/inventory/adjust", body).send();
    let steps = json!({"adjustments": [
        {"sku": "b-1", "quantity_delta": 4, "reason": "Delivered"},
        {"shop_product_id": 1, "quantity_delta": -5, "reason": "Sold", "reference": "R-7"},
        {"sku": "B-1", "quantity_delta": -3, "reason": "Sold", "expected_quantity": 4},
    ]});
    let done = adjust(steps.clone()).await.expect(200);
    assert_eq!((done.ids(), done.column("quantity")), (vec![2, 1], vec![json!(1), json!(0)]));
    let single = shop.get("/inventory/2").send().await.expect(200);
    assert_eq!(done.json()["data"][0], single.json()["data"]);
    assert_eq!(single.json()["data"]["meta"]["version"], 2, "one change for all steps");

    // What one step leaves is what the next one finds.
    let refused = adjust(json!({"adjustments": [
        {"sku": "B-1", "quantity_delta": 2, "reason": "Delivered"},
        {"sku": "L-1", "quantity_delta": -1, "reason": "Sold"},
        {"sku": "B-1", "quantity_delta": -4, "reason": "Sold"},
        {"sku": "none", "quantity_delta": 1, "reason": "Found"},
        {"shop_product_id": 99, "quantity_delta": 1, "reason": "Found"},
        {"sku": "B-1", "quantity_delta": 1, "reason": "Found", "expected_quantity": 8},
        {"quantity_delta": 1, "reason": "Found"},
        {"sku": "B-1", "shop_product_id": 1, "quantity_delta": 1, "reason": "Found"},
    ]}));
    let refused = refused.await.expect(400);
    assert_eq!(
        refused.errors(),
        [
            "422 insufficient_stock pointer /adjustments/1/quantity_delta",
            "422 insufficient_stock pointer /adjustments/2/quantity_delta",
            "422 missing_reference pointer /adjustments/3/sku",
            "422 missing_reference pointer /adjustments/4/shop_product_id",
            "422 stock_changed pointer /adjustments/5/expected_quantity",
            "400 missing_field pointer /adjustments/6/sku",
            "422 invalid_value pointer /adjustments/7/shop_product_id",
        ]
    );
    assert_eq!(quantities(&refused), [0, 3, 3]);
    for (body, error) in [
        (json!({}), "400 missing_field pointer /adjustments"),
        (json!({"adjustments": []}), "422 invalid_value pointer /adjustments"),
        (json!({"adjustments": {}}), "422 invalid_value pointer /adjustments"),
        (json!({"adjustments": [1]}), "422 invalid_value pointer /adjustments/0"),
        (json!({"adjustments": vec![step(1); 1_001]}), "422 invalid_value pointer /adjustments"),
    ] {
        assert_eq!(adjust(body).await.errors(), [error]);
    }
    let versioned = shop.post("/inventory/adjust", steps).header("if-match", "*");
    assert_eq!(versioned.send().await.expect(400).errors(), ["400 invalid_header header If-Match"]);
    assert_eq!((quantity(&shop, 1).await, quantity(&shop, 2).await), (json!(0), json!(1)));
    assert_eq!(
        ledger(&shop, 2).await,
        [json!([-3, 4, 1, "Sold", ""]), json!([4, 0, 4, "Delivered", ""]),]
    );

    // A thousand at once, in the form of a JSON:API document.
    let steps: Vec<Value> = (0..1_000)
        .map(|number| match number % 2 {
            0 => json!({"sku": "L-1", "quantity_delta": 3, "reason": "Delivered"}),
            _ => json!({"shop_product_id": 1, "quantity_delta": -2, "reason": "Sold"}),
        })
        .collect();
    let document = json!({"data": {"type": "inventory", "attributes": {"adjustments": steps}}});
    assert_eq!(adjust(document).await.expect(200).column("quantity"), [json!(500)]);
    let list = shop.get("/inventory/1/ledger?page[limit]=1").send().await.expect(200);
    assert_eq!((list.total(), list.column("quantity_after")), (1_002, vec![json!(500)]));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_a_quantity_is_in_the_ledger() {
    let shop = Shop::stocked().await;
    let lamp = json!({"product_name": "Desk lamp", "sku": "D-1", "quantity": 8});
    let key = shop.create("/products", lamp).await;
    let path = format!("/inventory/{key}");
    shop.patch(&format!("/products/{key}"), json!({"quantity": 9, "sku": "D-2"}))
        .send()
        .await
        .expect(200);
    shop.patch(&format!("/products/{key}"), json!({"price": "1"})).send().await.expect(200);
    shop.patch(&path, json!({"quantity": 4})).send().await.expect(200);
    shop.patch(&path, json!({"quantity": 4, "min_out_qty": 1})).send().await.expect(200);
    let body = json!({"quantity_delta": 2, "reason": "Delivered", "reference": "D 17"});
    shop.post(&format!("{path}/adjust"), body).by(Role::Manager).send().await.expect(200);
    shop.delete(&path).send().await.expect(204);
    shop.post("/inventory", json!({"shop_product_id": key, "quantity": 3}))
        .send()
        .await
        .expect(201);
    let line = json!({"product_id": key, "orderitem_quantity": 2, "take_stock": 1});
    let order = json!({"user_email": "ada@example.com", "order_id": "R-1", "items": [line]});
    shop.create("/orders", order).await;
    shop.delete(&format!("/products/{key}")).send().await.expect(204);
    let expected = [
        json!([-1, 1, 0, "product deleted", ""]),
        json!([-2, 3, 1, "order placed", "R-1"]),
        json!([3, 0, 3, "stock record created", ""]),
        json!([-6, 6, 0, "stock record removed", ""]),
        json!([2, 4, 6, "Delivered", "D 17"]),
        json!([-5, 9, 4, "quantity set", ""]),
        json!([1, 8, 9, "quantity set", ""]),
        json!([8, 0, 8, "product created", ""]),
    ];
    assert_eq!(ledger(&shop, key).await, expected, "it outlives the product");
    let path = format!("{path}/ledger");
    let list = shop.get(&path).send().await.expect(200);
    assert_eq!(list.json()["data"][0]["type"], "stockmovements");
    assert_eq!(list.column("sku"), ["D-2", "D-2", "D-2", "D-2", "D-2", "D-2", "D-2", "D-1"]);
    let by_manager = &list.json()["data"][4]["attributes"];
    assert_ne!(by_manager["user_id"], list.json()["data"][0]["attributes"]["user_id"]);
    assert_eq!(by_manager["token_name"], "default");
    // It is paged, sorted and narrowed like any list.
    let page = shop.get(&format!("{path}?page[limit]=2&page[offset]=2")).send().await.expect(200);
    assert_eq!((page.total(), page.column("quantity_delta")), (8, vec![json!(3), json!(-6)]));
    let sorted = shop.get(&format!("{path}?sort=reason&fields[stockmovements]=reason"));
    assert_eq!(sorted.send().await.expect(200).column("reason")[0], "Delivered");
    shop.get(&path).by(Role::Registered).send().await.expect(403);
    assert_eq!(shop.get("/inventory/12345/ledger").send().await.expect(200).total(), 0);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_ledger_of_a_voucher_shows_its_adjustments_newest_first() {
    let shop = Shop::stocked().await;
    for (kind, amount) in [("debit", "12.5"), ("credit", "2.00001")] {
        let body =
            json!({"adjustment_type": kind, "amount": amount, "reason": "Test", "note": "n"});
        shop.post("/vouchers/1/adjust", body).send().await.expect(200);
    }
    let list = shop.get("/vouchers/1/ledger").send().await.expect(200);
    let mut newest = list.json()["data"][0].clone();
    assert_eq!(newest["type"], "vouchermovements");
    let attributes = newest["attributes"].as_object_mut().unwrap();
    assert!(attributes.remove("created_on").is_some_and(|moment| moment.is_string()));
    assert!(attributes.remove("user_id").is_some_and(|user| user.as_i64() > Some(0)));
    assert_eq!(
        newest["attributes"],
        json!({
            "entry_id": 2, "voucher_id": 1, "adjustment_type": "credit", "amount": "2.00001",
            "balance_before": "37.50", "balance_after": "39.50001", "reason": "Test", "note": "n",
            "token_name": "default",
        })
    );
    assert_eq!(list.column("amount"), ["2.00001", "-12.50"]);
    // A rule on vouchers is one on their ledgers.
    let deny = example_host::Setting::Deny;
    shop.site
        .set_rule("Manager", "store.view", "com_shop.vouchers", deny, Force::No)
        .await
        .unwrap();
    shop.get("/vouchers/1/ledger").by(Role::Manager).send().await.expect(403);
    shop.get("/inventory/1/ledger").by(Role::Manager).send().await.expect(200);
    let inherit = example_host::Setting::Inherit;
    shop.site
        .set_rule("Manager", "store.view", "com_shop.vouchers", inherit, Force::No)
        .await
        .unwrap();
    // It goes with its voucher.
    shop.delete("/vouchers/1").send().await.expect(204);
    assert_eq!(shop.get("/vouchers/1/ledger").send().await.expect(200).total(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_itself_refuses_to_change_a_ledger() {
    let (place, token) = Place::with_ann("Administrator").await;
    let host = place.serve().await;
    let client = Client::of(&host, &token);
    client.create("/products", json!({"product_name": "Lamp", "quantity": 5})).await;
    let voucher = client.create("/vouchers", json!({"voucher_value": "50"})).await;
    let debit = json!({"adjustment_type": "debit", "amount": "1", "reason": "Test"});
    client.expect(200, "POST", &format!("/vouchers/{voucher}/adjust"), Some(debit)).await;
    let store = place.store();
    for text in [
        "UPDATE shop_inventory_ledger SET reason = 'Other'",
        "DELETE FROM shop_inventory_ledger",
        "UPDATE shop_voucher_ledger SET reason = 'Other'",
        "DELETE FROM shop_voucher_ledger",
    ] {
        let mut transaction = store.begin().await.unwrap();
        let statement = Statement::fixed(text, Vec::new());
        transaction.execute(statement).await.expect_err(text);
    }
    assert_eq!(client.all("/inventory/1/ledger").await.len(), 1);
    assert_eq!(client.all(&format!("/vouchers/{voucher}/ledger")).await.len(), 1);
    client.expect(204, "DELETE", &format!("/vouchers/{voucher}"), None).await;
    assert_eq!(client.all(&format!("/vouchers/{voucher}/ledger")).await.len(), 0);
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_order_takes_its_items_out_of_the_stock_if_it_is_asked_to() {
    let shop = Shop::stocked().await;
    let order = |items: Value| {
        let order = json!({"user_email": "ada@example.com", "items": items});
        shop.post("/orders", order).send()
    };
    order(json!([{"product_id": 1, "orderitem_quantity": 4}])).await.expect(201);
    assert_eq!(quantity(&shop, 1).await, 5, "orders do not move stock unless they are asked to");
    let orders = shop.get("/orders").send().await.expect(200).total();
    for (items, errors) in [
        (
            json!([
                {"product_id": 1, "orderitem_quantity": 3, "take_stock": 1},
                {"product_id": 1, "orderitem_quantity": 3, "take_stock": 1},
            ]),
            vec!["422 insufficient_stock pointer /items/1/orderitem_quantity"],
        ),
        (
            json!([{"orderitem_sku": "L-1", "take_stock": 1}, {"product_id": 99, "take_stock": 1}]),
            vec![
                "422 invalid_value pointer /items/0/take_stock",
                "422 missing_reference pointer /items/1/product_id",
            ],
        ),
        (
            json!([{"product_id": 1, "take_stock": 2}]),
            vec!["422 invalid_value pointer /items/0/take_stock"],
        ),
        // A later fault of the order itself.
        (
            json!([{"product_id": 1, "take_stock": 1}, {"product_id": 1, "orderitem_price": "x"}]),
            vec!["422 invalid_value pointer /items/1/orderitem_price"],
        ),
    ] {
        assert_eq!(order(items).await.errors(), errors);
    }
    let invalid = json!({
        "user_email": "ada@example.com", "order_state_id": 999,
        "items": [{"product_id": 1, "take_stock": 1}],
    });
    shop.post("/orders", invalid).send().await.expect(422);
    assert_eq!(quantity(&shop, 1).await, 5, "a refused order leaves nothing");
    assert_eq!(shop.get("/orders").send().await.expect(200).total(), orders);
    assert_eq!(ledger(&shop, 1).await.len(), 1);

    let variant = shop.get("/products/1/variants").send().await.expect(200).ids()[0];
    let items = json!([
        {"variant_id": variant, "orderitem_quantity": 2, "take_stock": true},
        {"product_id": 1, "orderitem_sku": "x", "orderitem_name": "x", "orderitem_price": 1,
            "take_stock": "1"},
        {"product_id": 2},
    ]);
    let made = order(items).await.expect(201);
    let reference = made.attribute("order_id");
    assert_eq!(quantity(&shop, 1).await, 2);
    let movements = ledger(&shop, 1).await;
    assert_eq!(movements[0], json!([-1, 3, 2, "order placed", reference]));
    assert_eq!(movements[1], json!([-2, 5, 3, "order placed", reference]));
    // The lines show what the specification lists.
    let items = shop.get(&format!("/orders/{}/items", made.id())).send().await.expect(200);
    assert_eq!(items.json()["data"][0]["attributes"].get("take_stock"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_product_is_found_by_exactly_one_of_its_skus() {
    let shop = Shop::filled().await;
    let mut of_variants = BTreeMap::new();
    for key in shop.get("/products?page[limit]=100").send().await.expect(200).ids() {
        let variants = shop.get(&format!("/products/{key}/variants")).send().await.expect(200);
        for sku in variants.column("sku") {
            of_variants.insert(sku.as_str().unwrap().to_owned(), key);
        }
    }
    assert!(of_variants.len() > 60, "some products have several variants");
    for (sku, key) in of_variants {
        for sku in [sku.to_lowercase(), sku.clone()] {
            for kind in ["products", "inventory"] {
                let found = shop.get(&format!("/{kind}?filter[sku_exact]={sku}")).send().await;
                let found = found.expect(200);
                assert_eq!((found.ids(), found.total()), (vec![key], 1), "{kind} {sku}");
            }
        }
        // Never a part of one, unless it is another's.
        let part = &sku[..sku.len() - 1];
        let none =
            shop.get(&format!("/products?filter[sku_exact]={part}")).send().await.expect(200);
        assert!(!none.ids().contains(&key) || part == sku);
    }
    let both = "/products?filter[sku_exact]=none&filter[enabled]=1&list[ordering]=price";
    assert_eq!(shop.get(both).send().await.expect(200).total(), 0);
    assert!(shop.get("/products?filter[sku_exact]=").send().await.expect(200).total() > 1);
}

/// The ledger of a product must lead from 0 to its quantity without a gap.
async fn expect_chain(client: &Client, product: i64) {
    let record = client.expect(200, "GET", &format!("/inventory/{product}"), None).await;
    let mut quantity = record["data"]["attributes"]["quantity"].clone();
    for movement in client.all(&format!("/inventory/{product}/ledger")).await {
        let attributes = &movement["attributes"];
        assert_eq!(attributes["quantity_after"], quantity);
        quantity = attributes["quantity_before"].clone();
    }
    assert_eq!(quantity, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_that_sell_the_last_pieces_never_sell_one_twice() {
    const PRODUCTS: i64 = 40;
    const PIECES: i64 = 10;
    const CLIENTS: usize = 64;
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[]).await;
    let client = Client::of(&hosts[0], &token);
    for number in 0..PRODUCTS {
        let product =
            json!({"product_name": "Lamp", "sku": format!("L-{number}"), "quantity": PIECES});
        client.create("/products", product).await;
    }
    // Each client sells one piece of each product in turn, some of them several products at once.
    let mut tasks = JoinSet::new();
    for number in 0..CLIENTS {
        let client = Client::of(&hosts[number % hosts.len()], &token);
        tasks.spawn(async move {
            let mut sold = 0;
            for product in 1..=PRODUCTS {
                let sale = json!({"quantity_delta": -1, "reason": "Sold"});
                let (path, body) = match number % 2 {
                    0 => (format!("/inventory/{product}/adjust"), sale),
                    _ => {
                        // In another order than that of the keys.
                        let other = PRODUCTS - product;
                        let mut back = sale.clone();
                        back["sku"] = json!(format!("L-{other}"));
                        ("/inventory/adjust".to_owned(), json!({"adjustments": [back]}))
                    }
                };
                match client.in_turn("POST", &path, &body).await {
                    (200, _) => sold += 1,
                    (422, document) => {
                        assert_eq!(document["errors"][0]["code"], "insufficient_stock");
                    }
                    other => panic!("{other:?}"),
                }
            }
            sold
        });
    }
    let sold: i64 = tasks.join_all().await.into_iter().sum();
    assert_eq!(sold, PRODUCTS * PIECES);
    for product in 1..=PRODUCTS {
        let record = client.expect(200, "GET", &format!("/inventory/{product}"), None).await;
        assert_eq!(record["data"]["attributes"]["quantity"], 0);
        expect_chain(&client, product).await;
    }
    stop(hosts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_name_the_same_products_in_another_order_do_not_block_each_other() {
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[]).await;
    let client = Client::of(&hosts[0], &token);
    for number in 0..8 {
        let product = json!({"product_name": "Lamp", "sku": format!("L-{number}"), "quantity": 40});
        client.create("/products", product).await;
    }
    let mut tasks = JoinSet::new();
    for number in 0..32_usize {
        let client = Client::of(&hosts[number % hosts.len()], &token);
        let step =
            |sku: usize| json!({"sku": format!("L-{sku}"), "quantity_delta": -1, "reason": "Sold"});
        let steps: Vec<Value> = match number % 2 {
            0 => (0..8).map(step).collect(),
            _ => (0..8).rev().map(step).collect(),
        };
        let body = json!({"adjustments": steps});
        tasks.spawn(
            async move { client.expect(200, "POST", "/inventory/adjust", Some(body)).await },
        );
    }
    tasks.join_all().await;
    for product in 1..=8 {
        let record = client.expect(200, "GET", &format!("/inventory/{product}"), None).await;
        assert_eq!(record["data"]["attributes"]["quantity"], 8);
        expect_chain(&client, product).await;
    }
    stop(hosts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_orders_for_the_last_pieces_only_those_pass_that_get_theirs() {
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[]).await;
    let client = Client::of(&hosts[0], &token);
    let product = client.create("/products", json!({"product_name": "Lamp", "quantity": 5})).await;
    let line = json!({"product_id": product, "orderitem_quantity": 2, "take_stock": 1});
    let order = json!({"user_email": "ada@example.com", "items": [line]});
    let mut tasks = JoinSet::new();
    for number in 0..12 {
        let (client, order) = (Client::of(&hosts[number % hosts.len()], &token), order.clone());
        tasks.spawn(async move { client.in_turn("POST", "/orders", &order).await });
    }
    let answers = tasks.join_all().await;
    let (passed, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|(status, _)| *status == 201);
    assert_eq!(passed.len(), 2);
    for (status, document) in refused {
        let error = &document["errors"][0];
        assert_eq!((status, &error["code"]), (422, &json!("insufficient_stock")));
        assert_eq!(error["source"]["pointer"], "/items/0/orderitem_quantity");
        assert_eq!(error["meta"]["quantity"], 1);
    }
    assert_eq!(client.all("/orders").await.len(), 2);
    expect_chain(&client, product).await;
    stop(hosts).await;
}
