//! A whole season of a shop: a catalogue, orders, status changes with mails, vouchers. At the end
//! the reports are compared with sums that another library computes here from requests and
//! responses.

use std::collections::BTreeSet;

use rust_decimal::Decimal;
use serde_json::json;
use time::{Date, Duration, Month};

use crate::support::harness::{Role, Shop};
use crate::support::ledger::{Client, Order, check_reports, decimal, new_order};
use crate::support::smtp::Sink;

#[tokio::test(flavor = "multi_thread")]
async fn the_reports_of_a_season_equal_an_independent_computation() {
    let sink = Sink::start().await;
    let shop = Shop::with(&sink).await;
    let client = Client {
        http: reqwest::Client::new(),
        base: shop.url(""),
        token: shop.token(Role::Administrator).to_owned(),
    };
    let mut rng = fastrand::Rng::with_seed(2024);
    let mut prices = Vec::new();
    for number in 0..12 {
        let price = Decimal::new(rng.i64(1..10_000_000), 5);
        let product = json!({
            "product_name": format!("Product {number}"), "price": price.to_string(),
            "quantity": rng.u8(..30),
        });
        client.create("/products", product).await;
        prices.push(price);
    }
    let voucher = json!({"voucher_value": "500", "email_to": "administrator@example.com"});
    let voucher = client.create("/vouchers", voucher).await;
    let mut balance = Decimal::from(500);

    let mut orders: Vec<Order> = Vec::new();
    let mut told = BTreeSet::new();
    for turn in 0..600 {
        let chosen = rng.usize(..orders.len().max(1));
        match rng.u8(..20) {
            0..=8 => {
                let (body, mut order) = new_order(&mut rng, &prices);
                order.key = client.create("/orders", body).await;
                orders.push(order);
            }
            _ if orders.is_empty() => {}
            9..=13 => {
                let order = &mut orders[chosen];
                order.state = rng.i64(1..=8);
                let notify = rng.bool();
                let comment = format!("turn {turn}");
                if notify {
                    told.insert((order.email.clone(), comment.clone()));
                }
                let entry = json!({
                    "order_state_id": order.state, "notify_customer": i32::from(notify),
                    "comment": comment,
                });
                client.create(&format!("/orders/{}/history", order.key), entry).await;
            }
            14 => {
                let order = &mut orders[chosen];
                order.refund = order.total;
                order.state = 8;
                let body = json!({"order_refund": order.refund.to_string(), "order_state_id": 8});
                client.expect(200, "PATCH", &format!("/orders/{}", order.key), Some(body)).await;
            }
            15 => {
                let order = orders.swap_remove(chosen);
                client.expect(204, "DELETE", &format!("/orders/{}", order.key), None).await;
            }
            16 => {
                let product = rng.usize(..prices.len());
                prices[product] = Decimal::new(rng.i64(1..10_000_000), 5);
                let body = json!({"price": prices[product].to_string()});
                let path = format!("/products/{}", product + 1);
                client.expect(200, "PATCH", &path, Some(body)).await;
            }
            _ => {
                let amount = Decimal::new(rng.i64(1..4_000), 2);
                let body = json!({
                    "adjustment_type": "debit", "amount": amount.to_string(), "reason": "spent",
                });
                let path = format!("/vouchers/{voucher}/adjust");
                let status = if amount <= balance { 200 } else { 422 };
                client.expect(status, "POST", &path, Some(body)).await;
                balance -= if amount <= balance { amount } else { Decimal::ZERO };
            }
        }
    }

    let day = |month, day| Date::from_calendar_date(2024, month, day).unwrap();
    check_reports(
        &client,
        &orders,
        day(Month::January, 1) - Duration::days(40),
        day(Month::March, 20),
    )
    .await;
    check_reports(&client, &orders, day(Month::January, 3), day(Month::February, 29)).await;
    check_reports(&client, &orders, day(Month::February, 29), day(Month::February, 29)).await;
    check_reports(&client, &orders, day(Month::July, 1), day(Month::July, 2)).await;

    let mine = client.expect(200, "GET", "/vouchers/mine", None).await;
    assert_eq!(decimal(&mine["data"][0]["attributes"]["remaining_balance"]), balance);

    // Each customer got exactly one mail for each status change that requested it.
    let mails = sink.wait_for(told.len()).await;
    assert_eq!(mails.len(), told.len());
    for mail in mails {
        let text = mail.text();
        let comment = text.lines().find(|line| line.starts_with("turn ")).unwrap();
        assert!(told.remove(&(mail.to[0].clone(), comment.to_owned())), "{comment}");
    }

    // The stock, counted from the products themselves.
    let products = client.all("/products").await;
    let mut worth: Vec<(i64, Decimal)> = products
        .iter()
        .map(|product| {
            let product = &product["attributes"];
            let quantity = product["quantity"].as_i64().unwrap();
            (quantity, Decimal::from(quantity) * decimal(&product["price"]))
        })
        .collect();
    worth.sort_by_key(|(quantity, _)| *quantity);
    let inventory = client.expect(200, "GET", "/reports/inventory", None).await;
    let values = inventory["data"].as_array().unwrap().iter().map(|row| {
        let row = &row["attributes"];
        (row["quantity"].as_i64().unwrap(), decimal(&row["stock_value"]))
    });
    let mut values: Vec<(i64, Decimal)> = values.collect();
    assert!(values.is_sorted_by_key(|(quantity, _)| *quantity));
    values.sort_unstable();
    worth.sort_unstable();
    assert_eq!(values, worth);
    let value: Decimal = worth.iter().map(|(_, value)| value).sum();
    assert_eq!(decimal(&inventory["meta"]["totals"]["value"]), value);
}
