//! Orders with their items: what the catalogue fills in, what it all comes to, and what is refused.

use rust_decimal::{Decimal, RoundingStrategy};
use serde_json::{Value, json};

use crate::support::harness::{Answer, ROOT, Shop};
use crate::support::process::Place;
use crate::support::smtp::Sink;

fn amount(text: &Value) -> Decimal {
    text.as_str().unwrap().parse().unwrap()
}

async fn items_of(shop: &Shop, order: &Answer) -> Answer {
    let path = format!("/orders/{}/items?page[limit]=100", order.id());
    shop.get(&path).send().await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn names_skus_and_prices_come_from_the_catalogue_where_omitted() {
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

    // What is given for the order stands, whatever the items come to.
    let body = json!({
        "user_email": "ada@example.com", "order_subtotal": "5", "order_tax": "1",
        "items": [{"product_id": 1}],
    });
    let order = shop.post("/orders", body).send().await.expect(201);
    assert_eq!(order.attribute("order_subtotal"), "5.00");
    assert_eq!(order.attribute("order_total"), "6.00");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_document_may_bring_items_and_an_order_may_have_none() {
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

/// The same sums by another library, for many random lines in three currencies.
#[tokio::test(flavor = "multi_thread")]
async fn amounts_are_exact_and_rounded_once_at_the_line() {
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
async fn faults_of_items_name_their_places_and_nothing_is_written() {
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
    // A missing field makes it a 400, and all faults are told together.
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
async fn an_item_that_says_it_all_is_a_snapshot_of_what_may_have_gone() {
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
async fn references_are_unique_and_sort_as_the_orders_were_made() {
    let shop = std::sync::Arc::new(Shop::open().await);
    let makers = (0..8).map(|_| {
        let shop = shop.clone();
        tokio::spawn(async move {
            let mut references = Vec::new();
            for _ in 0..10 {
                let body = json!({"user_email": "ada@example.com"});
                let order = shop.post("/orders", body).send().await.expect(201);
                references.push(order.attribute("order_id").as_str().unwrap().to_owned());
            }
            references
        })
    });
    let mut all = std::collections::BTreeSet::new();
    for maker in makers.collect::<Vec<_>>() {
        let references = maker.await.unwrap();
        assert!(references.is_sorted(), "{references:?}");
        all.extend(references);
    }
    assert_eq!(all.len(), 80);
}

/// What the customer is told, by a mail server that is down at first.
#[tokio::test(flavor = "multi_thread")]
async fn a_customer_is_told_of_a_move_in_the_words_of_the_site() {
    let sink = Sink::start().await;
    let shop = Shop::with(&sink).await;
    let order = json!({
        "user_email": "ada@example.com", "billing_first_name": "Ada", "billing_last_name": "Berg",
        "order_id": "A-7", "order_total": "1234.5", "created_on": "2026-02-03",
    });
    let order = shop.create("/orders", order).await;
    let history = format!("/orders/{order}/history");
    let entry = |state: i64, notify: i64, comment: &str| json!({"order_state_id": state, "notify_customer": notify, "comment": comment});
    shop.post(&history, entry(7, 0, "not told")).send().await.expect(201);
    shop.post(&history, entry(99, 1, "refused")).send().await.expect(422);
    sink.stop().await;
    shop.post(&history, entry(7, 1, "Parcel 1 of 2.")).send().await.expect(201);
    sink.restart().await;
    let mails = sink.wait_for(1).await;
    assert_eq!(mails[0].to, ["ada@example.com"]);
    assert_eq!(mails[0].to_name(), "Ada Berg");
    assert_eq!(mails[0].subject(), "Online store: your order A-7 is Shipped");
    insta::assert_snapshot!(mails[0].text().replace("\r\n", "\n"), @"
    Hello Ada,

    the status of your order A-7 of 2026-02-03 is now: Shipped.

    Parcel 1 of 2.

    Total: 1234.50 EUR

    Online store
    ");

    for (name, value) in [
        ("store_name", "Lampenladen Jürgensen"),
        ("order_mail_subject", "{{ store_name }}:\n {{ status|upper }}"),
        (
            "order_mail_text",
            "{% if comment %}{{ comment }}{% else %}-{% endif %} {{ last_name }}\n",
        ),
    ] {
        shop.site.set_parameter(name, &json!(value)).await.unwrap();
    }
    shop.post(&history, entry(8, 1, "")).send().await.expect(201);
    let mails = sink.wait_for(2).await;
    assert_eq!(mails[1].subject(), "Lampenladen Jürgensen: DELIVERED");
    assert_eq!(mails[1].text().trim_end(), "- Berg");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mail_that_is_refused_for_ever_is_given_up_and_keeps_no_other_waiting() {
    let sink = Sink::start().await;
    let place = Place::of_the_store();
    let token = place.user("ann", "Manager").await;
    let served = place.serve_with(&[("HOST_SMTP_URL", &sink.url())]).await;
    let ask = async |path: &str, body: Value| {
        let request = served.ask("POST", &format!("{ROOT}{path}"), &token);
        let request = request.header("content-type", "application/json").body(body.to_string());
        Answer::to(request).await.expect(201);
    };
    ask("/orders", json!({"user_email": "ada@example.com"})).await;
    let entry =
        |comment: &str| json!({"order_state_id": 7, "notify_customer": 1, "comment": comment});
    sink.refuse(550);
    ask("/orders/1/history", entry("refused")).await;
    served.log.wait_for("a mail is given up").await;
    sink.refuse(450);
    ask("/orders/1/history", entry("delayed")).await;
    served.log.wait_for("a mail has to wait").await;
    sink.accept();
    ask("/orders/1/history", entry("prompt")).await;
    let mut told: Vec<String> = sink.wait_for(2).await.iter().map(|mail| mail.text()).collect();
    told.sort();
    assert!(told[0].contains("delayed") && told[1].contains("prompt"), "{told:?}");
    served.stop().await;
    assert_eq!(sink.mails().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parameter_that_the_store_cannot_work_with_is_refused() {
    let shop = Shop::open().await;
    let own = shop.create("/orderstatuses", json!({"orderstatus_name": "Picked"})).await;
    let off = json!({"orderstatus_name": "Old", "enabled": 0});
    let off = shop.create("/orderstatuses", off).await;
    for (name, value, why) in [
        ("default_currency", json!("XYZ"), "there is no currency with the code \"XYZ\""),
        ("default_currency", json!("CHF"), "the currency CHF is disabled"),
        ("default_currency", json!(5), "is a string"),
        ("initial_order_status", json!(99), "there is no order status with the id 99"),
        ("initial_order_status", json!(off), "is disabled"),
        ("initial_order_status", json!("5"), "is a whole number"),
        ("report_statuses", json!([1, 99]), "there is no order status with the id 99"),
        ("report_statuses", json!("1,2"), "is a list of whole numbers"),
        ("low_stock_threshold", json!(-1), "from 0"),
        ("low_stock_threshold", json!(1.5), "is a whole number"),
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
