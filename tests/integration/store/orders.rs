//! Orders with their items: defaults from the catalogue, the computation of amounts, and refusals.

use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};

use crate::support::harness::{Answer, Shop};

fn amount(text: &Value) -> Decimal {
    text.as_str().unwrap().parse().unwrap()
}

async fn items_of(shop: &Shop, order: &Answer) -> Answer {
    let path = format!("/orders/{}/items?page[limit]=100", order.id());
    shop.get(&path).send().await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn omitted_names_skus_and_prices_come_from_the_catalogue() {
    let shop = Shop::stocked().await;
    shop.patch("/products/2", json!({"sale_price": "1.50"})).send().await.expect(200);
    let body = json!({
        "user_email": "ada@example.com", "created_on": "2026-02-03T04:05:06",
        "order_shipping": "4.90", "order_discount": "1",
        "items": [
            {"product_id": 1, "orderitem_quantity": 3, "orderitem_tax": "11.39"},
            {"product_id": 2, "orderitem_name": "Bulb, warm", "orderitem_discount": "0.25"},
            {"variant_id": 1, "orderitem_price": "10", "orderitem_option_price": "2.5"},
            {"orderitem_name": "Gift wrap", "orderitem_price": 1, "orderitem_finalprice": "99"},
            {},
        ],
    });
    let order = shop.post("/orders", body).send().await.expect(201);
    let items = items_of(&shop, &order).await;
    assert_eq!(items.column("orderitem_sku"), ["L-1", "B-1", "L-1", "", ""]);
    let names = ["Lamp", "Bulb, warm", "Lamp", "Gift wrap", ""];
    assert_eq!(items.column("orderitem_name"), names);
    assert_eq!(items.column("orderitem_quantity"), [3, 1, 1, 1, 1]);
    let finalprices = ["59.97", "1.25", "12.50", "1.00", "0.00"];
    assert_eq!(items.column("orderitem_finalprice"), finalprices);
    assert_eq!(items.column("orderitem_tax"), ["11.39", "0.00", "0.00", "0.00", "0.00"]);
    assert_eq!(order.attribute("order_subtotal"), "74.72");
    assert_eq!(order.attribute("order_tax"), "11.39");
    assert_eq!(order.attribute("order_total"), "90.01");

    // Amounts that are given for the order are kept, whatever the sum of its items.
    let body = json!({
        "user_email": "ada@example.com", "order_subtotal": "5", "order_tax": "1",
        "items": [{"product_id": 1}],
    });
    let order = shop.post("/orders", body).send().await.expect(201);
    assert_eq!(order.attribute("order_subtotal"), "5.00");
    assert_eq!(order.attribute("order_total"), "6.00");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_order_is_created_with_items_or_without() {
    let shop = Shop::stocked().await;
    let attributes = json!({"user_email": "ada@example.com", "items": [{"product_id": 1}]});
    let body = json!({"data": {"type": "orders", "attributes": attributes}});
    let order = shop.post("/orders", body).send().await.expect(201);
    assert_eq!(items_of(&shop, &order).await.total(), 1);
    assert!(order.json()["data"]["attributes"].get("items").is_none());
    let none = json!({"user_email": "ada@example.com", "items": []});
    let order = shop.post("/orders", none).send().await.expect(201);
    assert_eq!(order.attribute("order_total"), "0.00");
    assert_eq!(items_of(&shop, &order).await.total(), 0);
}

/// Another library computes the same sums, for many random lines in three currencies.
#[tokio::test(flavor = "multi_thread")]
async fn amounts_are_exact_and_rounded_once_per_line() {
    let shop = Shop::open().await;
    let mut rng = fastrand::Rng::with_seed(4);
    let mut random =
        |digits: u32, places: u32| Decimal::new(rng.i64(1..10_i64.pow(digits)), places);
    let mut prices = Vec::new();
    for number in 0..20 {
        let (price, sale) = (random(7, 5), random(6, 4));
        let sale = (number % 3 == 0).then_some(sale);
        let product = json!({
            "product_name": format!("p{number}"), "price": price.to_string(),
            "sale_price": sale.map(|price| price.to_string()),
        });
        shop.create("/products", product).await;
        prices.push(sale.unwrap_or(price));
    }
    let mut rng = fastrand::Rng::with_seed(5);
    for (currency, decimals) in [("EUR", 2), ("JPY", 0), ("KWD", 3)] {
        for _ in 0..8 {
            let rate = Decimal::new(rng.i64(1..10_000_000_000), 8);
            let mut items = Vec::new();
            let mut expected = Vec::new();
            for _ in 0..rng.usize(1..12) {
                let product = rng.usize(..prices.len());
                let quantity = rng.i64(1..2_000);
                let option = Decimal::new(rng.i64(0..100_000), 5);
                let price = prices[product] * rate;
                let gross = Decimal::from(quantity) * (price + option);
                let discount = (gross / Decimal::from(7)).trunc_with_scale(5);
                let tax = Decimal::new(rng.i64(0..1_000_000), 5);
                items.push(json!({
                    "product_id": product + 1, "orderitem_quantity": quantity,
                    "orderitem_option_price": option.to_string(),
                    "orderitem_discount": discount.to_string(),
                    "orderitem_tax": tax.to_string(),
                }));
                let rounding = RoundingStrategy::MidpointAwayFromZero;
                let finalprice = (gross - discount).round_dp_with_strategy(decimals, rounding);
                expected.push((finalprice, tax));
            }
            let body = json!({
                "user_email": "ada@example.com", "currency_code": currency,
                "currency_value": rate.to_string(), "items": items,
            });
            let order = shop.post("/orders", body).send().await.expect(201);
            let shown = items_of(&shop, &order).await;
            let finalprices: Vec<Decimal> =
                shown.column("orderitem_finalprice").iter().map(amount).collect();
            let (lines, taxes): (Vec<Decimal>, Vec<Decimal>) = expected.into_iter().unzip();
            assert_eq!(finalprices, lines);
            let (subtotal, tax): (Decimal, Decimal) = (lines.iter().sum(), taxes.iter().sum());
            assert_eq!(amount(&order.attribute("order_subtotal")), subtotal);
            assert_eq!(amount(&order.attribute("order_tax")), tax);
            assert_eq!(amount(&order.attribute("order_total")), subtotal + tax);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_half_is_rounded_away_from_zero() {
    let shop = Shop::open().await;
    for (currency, price, quantity, finalprice) in [
        ("EUR", "0.335", 1, "0.34"),
        ("EUR", "0.00335", 100, "0.34"),
        ("EUR", "0.33499", 1, "0.33"),
        ("JPY", "0.5", 1, "1.00"),
        ("JPY", "0.49999", 1, "0.00"),
        ("KWD", "0.0005", 1, "0.001"),
    ] {
        let item = json!({"orderitem_price": price, "orderitem_quantity": quantity});
        let body = json!({
            "user_email": "ada@example.com", "currency_code": currency, "items": [item],
        });
        let order = shop.post("/orders", body).send().await.expect(201);
        assert_eq!(order.attribute("order_subtotal"), finalprice, "{quantity} of {price}");
        let items = items_of(&shop, &order).await;
        assert_eq!(items.column("orderitem_finalprice"), [finalprice]);
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn faults_of_items_name_their_positions_and_nothing_is_written() {
    let shop = Shop::stocked().await;
    let before = shop.get("/orders").send().await.expect(200).total();
    let huge = "999999999999.99999";
    for (items, status, errors) in [
        (json!("x"), 422, vec!["422 invalid_value pointer /items"]),
        (json!({"product_id": 1}), 422, vec!["422 invalid_value pointer /items"]),
        (json!(null), 422, vec!["422 invalid_value pointer /items"]),
        (json!([{}, 7]), 422, vec!["422 invalid_value pointer /items/1"]),
        (
            json!([{"product_id": 99}, {"variant_id": 98}, {"product_id": 1, "variant_id": 2}]),
            422,
            vec![
                "422 missing_reference pointer /items/0/product_id",
                "422 missing_reference pointer /items/1/variant_id",
                "422 invalid_value pointer /items/2/variant_id",
            ],
        ),
        (
            json!([{"orderitem_quantity": 0, "orderitem_sku": 5, "price": 1}]),
            422,
            vec![
                "422 invalid_value pointer /items/0/orderitem_quantity",
                "422 invalid_value pointer /items/0/orderitem_sku",
                "422 unknown_field pointer /items/0/price",
            ],
        ),
        (
            json!([{"orderitem_price": "1", "orderitem_discount": "1.00001"}]),
            422,
            vec!["422 invalid_value pointer /items/0/orderitem_discount"],
        ),
        (
            json!([{"orderitem_price": huge, "orderitem_quantity": i32::MAX}]),
            422,
            vec!["422 invalid_value pointer /items/0/orderitem_quantity"],
        ),
        (
            json!([{"orderitem_price": huge}, {"orderitem_price": huge}]),
            422,
            vec![
                "422 invalid_value pointer /items/0/orderitem_quantity",
                "422 invalid_value pointer /items/1/orderitem_quantity",
            ],
        ),
        (
            json!([{"orderitem_price": "999999999999"}, {"orderitem_price": "999999999999"}]),
            422,
            vec!["422 invalid_value pointer /order_subtotal"],
        ),
        (Value::Array(vec![json!({}); 1_001]), 422, vec!["422 invalid_value pointer /items"]),
    ] {
        let body = json!({"user_email": "ada@example.com", "items": items});
        let answer = shop.post("/orders", body).send().await.expect(status);
        assert_eq!(answer.errors(), errors, "{items}");
    }
    let twice = r#"{"user_email": "a@example.com", "items": [{"product_id": 1, "product_id": 2}]}"#;
    let answer = shop.request("POST", "/orders").text(twice).send().await.expect(400);
    assert_eq!(answer.errors(), ["400 malformed_body pointer /items/0"]);
    // A missing field makes it a 400, and all faults are reported together.
    let both = json!({"items": [{"orderitem_quantity": 0}]});
    let answer = shop.post("/orders", both).send().await.expect(400);
    assert_eq!(
        answer.errors(),
        [
            "400 missing_field pointer /user_email",
            "422 invalid_value pointer /items/0/orderitem_quantity"
        ]
    );
    assert_eq!(shop.get("/orders").send().await.expect(200).total(), before);

    let answer = shop.patch("/orders/1", json!({"items": []})).send().await.expect(422);
    assert_eq!(answer.errors(), ["422 refused pointer /items"]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_complete_item_may_refer_to_a_removed_product() {
    let shop = Shop::stocked().await;
    let item = json!({
        "product_id": 77, "variant_id": 78, "orderitem_name": "Old lamp", "orderitem_sku": "OLD",
        "orderitem_price": "3", "orderitem_attributes": {"colour": "red"}, "orderitem_weight": "0.5",
    });
    let body = json!({"user_email": "ada@example.com", "items": [item, {"product_id": 1}]});
    let order = shop.post("/orders", body).send().await.expect(201);
    shop.delete("/products/1").send().await.expect(204);
    let items = items_of(&shop, &order).await;
    assert_eq!(items.column("orderitem_name"), ["Old lamp", "Lamp"]);
    assert_eq!(order.attribute("order_total"), "22.99");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_complete_item_gets_the_product_and_the_options_of_its_variant() {
    let shop = Shop::open().await;
    let variants = json!([{"options": {"Size": "M"}}, {"options": {"Size": "L"}}]);
    let shirt = json!({"product_name": "Shirt", "price": "20", "variants": variants});
    let shirt = shop.create("/products", shirt).await;
    let keys = shop.get(&format!("/products/{shirt}/variants")).send().await.expect(200).ids();
    let line = |variant: i64, more: Value| {
        let mut line = json!({
            "variant_id": variant, "orderitem_name": "Tee", "orderitem_sku": "T",
            "orderitem_price": "3",
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let red = json!({"Colour": "red"});
    let items = json!([
        line(keys[1], json!({})),
        line(keys[2], json!({"product_id": shirt})),
        line(keys[2], json!({"orderitem_attributes": red})),
        line(keys[2], json!({"product_id": 77})),
        // A master has no options, and one that is gone is no fault.
        line(keys[0], json!({})),
        line(999, json!({})),
    ]);
    let body = json!({"user_email": "ada@example.com", "items": items});
    let order = shop.post("/orders", body).send().await.expect(201);
    let mut seen = Vec::new();
    for item in items_of(&shop, &order).await.ids() {
        let item = shop.get(&format!("/orderitems/{item}")).send().await.expect(200);
        assert_eq!(
            [item.attribute("orderitem_name"), item.attribute("orderitem_sku")],
            ["Tee", "T"]
        );
        assert_eq!(item.attribute("orderitem_price"), "3.00");
        seen.push([item.attribute("product_id"), item.attribute("orderitem_attributes")]);
    }
    let none = json!({});
    let expected = [
        [json!(shirt), json!({"Size": "M"})],
        [json!(shirt), json!({"Size": "L"})],
        [json!(shirt), red],
        [json!(77), none.clone()],
        [json!(shirt), none.clone()],
        [json!(null), none],
    ];
    assert_eq!(seen, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_order_is_one_write() {
    let shop = Shop::stocked().await;
    let items = vec![json!({"product_id": 1, "orderitem_quantity": 2}); 1_000];
    let body = json!({"user_email": "ada@example.com", "items": items});
    let order = shop.post("/orders", body).send().await.expect(201);
    assert_eq!(order.attribute("order_total"), "39980.00");
    assert_eq!(items_of(&shop, &order).await.total(), 1_000);
    shop.delete(&format!("/orders/{}", order.id())).send().await.expect(204);
    assert_eq!(items_of(&shop, &order).await.total(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn order_references_are_unique_and_sort_by_creation() {
    let shop = Shop::open().await;
    let makers = (0..8).map(async |_| {
        let mut references = Vec::new();
        for _ in 0..10 {
            let body = json!({"user_email": "ada@example.com"});
            let order = shop.post("/orders", body).send().await.expect(201);
            references.push(order.attribute("order_id").as_str().unwrap().to_owned());
        }
        references
    });
    let mut all = std::collections::BTreeSet::new();
    for references in futures_util::future::join_all(makers).await {
        assert!(references.is_sorted(), "{references:?}");
        all.extend(references);
    }
    assert_eq!(all.len(), 80);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_invalid_parameter_of_the_store_is_refused() {
    let shop = Shop::open().await;
    let own = shop.create("/orderstatuses", json!({"orderstatus_name": "Picked"})).await;
    let off = json!({"orderstatus_name": "Old", "enabled": 0});
    let off = shop.create("/orderstatuses", off).await;
    for (name, value, why) in [
        ("default_currency", json!("XYZ"), "there is no currency with the code \"XYZ\""),
        ("default_currency", json!("CHF"), "the currency CHF is disabled"),
        ("default_currency", json!(5), "must be a string"),
        ("initial_order_status", json!(99), "there is no order status with the id 99"),
        ("initial_order_status", json!(off), "is disabled"),
        ("initial_order_status", json!("5"), "must be a whole number"),
        ("report_statuses", json!([1, 99]), "there is no order status with the id 99"),
        ("report_statuses", json!("1,2"), "must be a list of whole numbers"),
        ("low_stock_threshold", json!(-1), "from 0"),
        ("low_stock_threshold", json!(1.5), "must be a whole number"),
        ("invoice_prefix", json!("x".repeat(33)), "at most 32 characters"),
        ("order_mail_subject", json!("{{ order"), "syntax error"),
        ("order_mail_text", json!("{{ order_nr }}"), "undefined"),
    ] {
        let refused = shop.site.set_parameter(name, &value).await.unwrap_err().to_string();
        assert!(refused.contains(name) && refused.contains(why), "{name} {value}: {refused}");
    }
    let config = shop.get("/config").send().await.expect(200);
    assert_eq!(config.attribute("default_currency"), "EUR");

    shop.site.set_parameter("initial_order_status", &json!(own)).await.unwrap();
    let order = json!({"user_email": "ada@example.com"});
    let order = shop.post("/orders", order).send().await.expect(201);
    assert_eq!(order.attribute("orderstatus_name"), "Picked");
    shop.delete(&format!("/orders/{}", order.id())).send().await.expect(204);
    let own = format!("/orderstatuses/{own}");
    let refused = shop.delete(&own).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused"]);
    let refused = shop.patch(&own, json!({"enabled": 0})).send().await.expect(422);
    assert_eq!(refused.errors(), ["422 refused pointer /enabled"]);
    shop.patch(&own, json!({"orderstatus_name": "In the basket"})).send().await.expect(200);
    shop.site.set_parameter("initial_order_status", &json!(5)).await.unwrap();
    shop.patch(&own, json!({"enabled": 0})).send().await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_new_order_takes_its_defaults_from_the_store() {
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

    // The total is never negative; references sort in the order of creation.
    let body = json!({"user_email": "cleo@example.com", "order_credit": 5});
    let next = shop.post("/orders", body).send().await.expect(201);
    assert_eq!(next.attribute("order_total"), "0.00");
    let reference = |answer: &crate::support::harness::Answer| {
        answer.attribute("order_id").as_str().unwrap()[..10].to_owned()
    };
    assert!(reference(&order) <= reference(&next));

    // A change never recomputes what it omits.
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
    assert_eq!(history.total(), 0, "its history was deleted with it");
}

#[tokio::test(flavor = "multi_thread")]
async fn orders_are_found_by_every_filter_of_the_table() {
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
    assert_eq!(ids("filter[search]=ADA+%C5%81").await, [1], "both names are searched as one text");
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
