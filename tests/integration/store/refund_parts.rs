//! Generated orders that are given back in parts of any kind, some of which are undone: the parts add up to the order, to
//! the cent, and undone they leave nothing behind. Also the currency that a refund has, what of it goes back into the
//! stock, and what is left to ship.

use std::collections::HashMap;

use rust_decimal::Decimal;
use serde_json::{Value, json};

use super::refunds::{check, lasting};
use crate::support::harness::Shop;
use crate::support::ledger::decimal;

/// A decimal of so many coins in a currency with these decimals.
fn coins(rng: &mut fastrand::Rng, most: i64, decimals: u32) -> Decimal {
    Decimal::new(rng.i64(1..=most), decimals)
}

/// An order that is given back in parts of any kind, some of which are undone.
async fn give_back_in_parts(shop: &Shop, rng: &mut fastrand::Rng) {
    let (currency, decimals) = [("JPY", 0), ("EUR", 2), ("KWD", 3)][rng.usize(..3)];
    let lines = (0..rng.usize(1..=40)).map(|number| {
        let quantity = [1, 3, 7, rng.i64(1..=10_000)][rng.usize(..4)];
        let price = Decimal::new(rng.i64(0..100_000), rng.u32(..=4));
        let gross = price * Decimal::from(quantity);
        let tax = (gross * Decimal::new(rng.i64(0..=25), 2)).round_dp(decimals);
        let mut line = json!({
            "orderitem_sku": format!("S-{number}"), "orderitem_quantity": quantity,
            "orderitem_price": price.to_string(), "orderitem_tax": tax.to_string(),
        });
        if rng.bool() {
            line["orderitem_discount"] = json!((gross / Decimal::from(10)).round_dp(2).to_string());
        }
        line
    });
    let lines: Vec<Value> = lines.collect();
    let shipping = coins(rng, 1_000, decimals);
    let order = json!({
        "user_email": "ada@example.com", "currency_code": currency, "items": lines,
        "order_shipping": shipping.to_string(), "order_shipping_tax": shipping.to_string(),
    });
    let order = shop.create("/orders", order).await;
    let path = format!("/orders/{order}/refunds");
    let show = async || shop.get(&format!("/orders/{order}")).send().await.expect(200).json();
    let before = show().await["data"].clone();
    let total = decimal(&before["attributes"]["order_total"]);
    let left = async || show().await["data"]["meta"]["refundable"].clone();
    let mut made: Vec<i64> = Vec::new();
    for _ in 0..rng.u8(3..12) {
        if rng.u8(..4) == 0 && !made.is_empty() {
            let undone = made.swap_remove(rng.usize(..made.len()));
            let reverse = format!("{path}/{undone}/reverse");
            shop.post(&reverse, json!({"reason": "Wrong"})).send().await.expect(201);
            continue;
        }
        let open = left().await;
        let mut items = Vec::new();
        for (key, of) in open["items"].as_object().unwrap() {
            if rng.bool() {
                continue;
            }
            let mut line = json!({"orderitem_id": key.parse::<i64>().unwrap()});
            let quantity = of["quantity"].as_i64().unwrap();
            if quantity > 0 && rng.u8(..3) > 0 {
                line["quantity"] = json!(rng.i64(1..=quantity));
            }
            let amount = decimal(&of["amount"]).trunc_with_scale(decimals);
            let some = (amount * Decimal::new(rng.i64(1..=9), 1)).trunc_with_scale(decimals);
            if line.get("quantity").is_none() || rng.u8(..4) == 0 {
                if some.is_zero() {
                    continue;
                }
                line["amount"] = json!(some.to_string());
            }
            items.push(line);
        }
        if items.is_empty() {
            continue;
        }
        let answer = shop.post(&path, json!({"reason": "R", "items": items})).send().await;
        match answer.status {
            201 => made.push(answer.id()),
            // Pieces cost more than is left after an amount.
            _ => {
                let over = |error: &String| error.starts_with("422 over_refunded pointer /items/");
                assert!(answer.expect(422).errors().iter().all(over));
            }
        }
        let refund = decimal(&show().await["data"]["attributes"]["order_refund"]);
        assert!(refund <= total, "{refund} of {total}");
    }
    // Whatever is left of each is given back at last: the sum is the order's, to the cent.
    let open = left().await;
    let rest = open["items"].as_object().unwrap().iter().filter_map(|(key, of)| {
        let item = key.parse::<i64>().unwrap();
        let amount = decimal(&of["amount"]);
        (!amount.is_zero()).then(|| json!({"orderitem_id": item, "amount": amount.to_string()}))
    });
    let mut rest = json!({"reason": "Rest", "items": rest.collect::<Vec<_>>()});
    rest["shipping_amount"] = open["shipping"].clone();
    made.push(shop.post(&path, rest).send().await.expect(201).id());
    let items = shop.get(&format!("/orders/{order}/items?page[limit]=100")).send().await;
    let items = items.expect(200).json();
    let mut sums = HashMap::<i64, [Decimal; 2]>::new();
    let (mut all, mut tax) = (Decimal::ZERO, Decimal::ZERO);
    let refunds = shop.get(&format!("{path}?page[limit]=100")).send().await.expect(200).json();
    for refund in refunds["data"].as_array().unwrap() {
        let of = &refund["attributes"];
        all += decimal(&of["amount"]);
        tax += decimal(&of["tax_amount"]);
        for line in of["items"].as_array().unwrap() {
            let sum = sums.entry(line["orderitem_id"].as_i64().unwrap()).or_default();
            sum[0] += decimal(&line["amount"]);
            sum[1] += decimal(&line["tax_amount"]);
        }
    }
    let mut taxes = shipping;
    for item in items["data"].as_array().unwrap() {
        let key = item["attributes"]["shop_orderitem_id"].as_i64().unwrap();
        let path = format!("/orderitems/{key}");
        let item = shop.get(&path).send().await.expect(200);
        let expected = [
            decimal(&item.attribute("orderitem_finalprice_with_tax")),
            decimal(&item.attribute("orderitem_tax")),
        ];
        assert_eq!(sums.get(&key).copied().unwrap_or_default(), expected, "{path}");
        taxes += expected[1];
    }
    assert_eq!((all, tax), (total, taxes));
    check(shop).await;
    // And all of it undone leaves the order as it was.
    for refund in made {
        let reverse = format!("{path}/{refund}/reverse");
        shop.post(&reverse, json!({"reason": "Wrong"})).send().await.expect(201);
    }
    assert_eq!(lasting(show().await["data"].clone()), lasting(before));
    check(shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_parts_of_generated_orders_add_up_and_undone_leave_nothing() {
    let shop = Shop::open().await;
    let currency = json!({
        "currency_title": "Dinar", "currency_code": "KWD", "currency_num_decimals": 3,
    });
    let known = shop.get("/currencies?page[limit]=100").send().await.expect(200);
    if !known.column("currency_code").contains(&json!("KWD")) {
        shop.create("/currencies", currency).await;
    }
    for seed in 0..12 {
        println!("the seed is {seed}");
        give_back_in_parts(&shop, &mut fastrand::Rng::with_seed(seed)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_keeps_the_decimals_that_its_currency_had() {
    let shop = Shop::open().await;
    let body =
        json!({"currency_title": "Crown", "currency_code": "CRN", "currency_num_decimals": 3});
    let currency = format!("/currencies/{}", shop.create("/currencies", body).await);
    let order = async || {
        let item = json!({"orderitem_sku": "B-1", "orderitem_price": "1.23"});
        let body = json!({"user_email": "ada@example.com", "currency_code": "CRN",
            "currency_value": "1", "items": [item], "order_shipping": "0.555"});
        format!("/orders/{}", shop.create("/orders", body).await)
    };
    let left = async |order: &str| {
        let shown = shop.get(order).send().await.expect(200).json();
        let left = &shown["data"]["meta"]["refundable"];
        [left["amount"].clone(), left["shipping"].clone()]
    };
    let first = order().await;
    assert_eq!(left(&first).await, ["1.785", "0.555"]);
    shop.patch(&currency, json!({"currency_num_decimals": 0})).send().await.expect(200);
    let second = order().await;
    assert_eq!(left(&first).await, ["1.785", "0.555"]);
    assert_eq!(left(&second).await, ["1.00", "0.00"]);
    // One whose currency changes has those of the new one, and an order that is sent as it was read changes nothing.
    shop.patch(&first, json!({"currency_code": "CRN"})).send().await.expect(200);
    assert_eq!(left(&first).await, ["1.785", "0.555"]);
    shop.patch(&second, json!({"currency_code": "EUR"})).send().await.expect(200);
    assert_eq!(left(&second).await, ["1.55", "0.55"]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_order_with_refunds_keeps_its_currency() {
    let shop = Shop::open().await;
    let items =
        json!([{"orderitem_sku": "B-1", "orderitem_quantity": 3, "orderitem_price": "3.34"}]);
    let order = json!({"user_email": "ada@example.com", "currency_code": "EUR", "items": items});
    let path = format!("/orders/{}", shop.create("/orders", order).await);
    let currency =
        async |code: &str| shop.patch(&path, json!({"currency_code": code})).send().await;
    let item = shop.get(&format!("{path}/items")).send().await.expect(200).ids()[0];
    let one = json!({"reason": "Returned", "items": [{"orderitem_id": item, "quantity": 1}]});
    let refund = shop.post(&format!("{path}/refunds"), one).send().await.expect(201);
    let refused = currency("JPY").await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /currency_code"]);
    currency("EUR").await.expect(200);
    let reverse = format!("{path}/refunds/{}/reverse", refund.id());
    shop.post(&reverse, json!({"reason": "Wrong"})).send().await.expect(201);
    currency("JPY").await.expect(200);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_goes_back_into_the_stock_than_has_left_it() {
    let shop = Shop::open().await;
    let product = async |name: &str, quantity: i64| {
        let body = json!({"product_name": name, "price": "10", "quantity": quantity});
        shop.create("/products", body).await
    };
    let stock = async |product: i64| {
        let shown = shop.get(&format!("/inventory/{product}")).send().await.expect(200);
        shown.attribute("quantity")
    };
    // The key of an order, and that of its item.
    let order = async |product: i64, quantity: i64| {
        let line = json!({"product_id": product, "orderitem_quantity": quantity, "take_stock": 1});
        let body = json!({"user_email": "ada@example.com", "items": [line]});
        let key = shop.create("/orders", body).await;
        let items = shop.get(&format!("/orders/{key}/items")).send().await.expect(200).ids();
        (key, items[0])
    };
    let give = async |(order, item): (i64, i64), quantity: i64| {
        let line = json!({"orderitem_id": item, "quantity": quantity, "restock": 1});
        let body = json!({"reason": "Returned", "items": [line]});
        shop.post(&format!("/orders/{order}/refunds"), body).send().await
    };
    let reverse = async |order: i64, refund: i64, body: Value| {
        let path = format!("/orders/{order}/refunds/{refund}/reverse");
        shop.post(&path, body).send().await.expect(201)
    };

    // Of three hats one was there.
    let hat = product("Hat", 1).await;
    let master = shop.get(&format!("/products/{hat}/variants")).send().await.expect(200).ids()[0];
    let master = format!("/variants/{master}");
    shop.patch(&master, json!({"allow_backorder": 1})).send().await.expect(200);
    let hats = order(hat, 3).await;
    let refused = give(hats, 3).await.expect(422);
    assert_eq!(refused.errors(), ["422 invalid_value pointer /items/0/restock"]);
    let detail = "Only 1 pieces of it have left the stock.";
    assert_eq!(refused.json()["errors"][0]["detail"], detail);
    assert_eq!(stock(hat).await, 0);
    give(hats, 1).await.expect(201);
    assert_eq!(stock(hat).await, 1);
    give(hats, 1).await.expect(422);
    check(&shop).await;
    // What has been shipped has left it, whenever it came.
    let more = order(hat, 3).await;
    let parcel = json!({"items": [{"orderitem_id": more.1, "quantity": 2}]});
    shop.post(&format!("/orders/{}/shipments", more.0), parcel).send().await.expect(201);
    give(more, 3).await.expect(422);
    let two = give(more, 2).await.expect(201);
    assert_eq!(stock(hat).await, 2);
    // What is undone has left it once more, unless it stays where it is.
    reverse(more.0, two.id(), json!({"reason": "Wrong"})).await;
    assert_eq!(stock(hat).await, 0);
    let two = give(more, 2).await.expect(201);
    reverse(more.0, two.id(), json!({"reason": "Wrong", "restock": 0})).await;
    give(more, 1).await.expect(422);
    assert_eq!(stock(hat).await, 2);
    check(&shop).await;

    // A stock that is not counted has no movements.
    let pen = product("Pen", 10).await;
    let uncounted = json!({"manage_stock": 0});
    shop.patch(&format!("/inventory/{pen}"), uncounted).send().await.expect(200);
    let pens = order(pen, 4).await;
    let given = give(pens, 4).await.expect(201);
    assert_eq!(given.attribute("items")[0]["restock"], 0);
    assert_eq!(stock(pen).await, 10);
    let undone = reverse(pens.0, given.id(), json!({"reason": "Wrong"})).await;
    assert_eq!(undone.attribute("items")[0]["restock"], 0);
    assert_eq!(stock(pen).await, 10);
    check(&shop).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_was_given_back_is_not_shipped_unless_that_is_undone() {
    let shop = Shop::open().await;
    let lamp = json!({"product_name": "Lamp", "price": "10", "quantity": 5});
    let lamp = shop.create("/products", lamp).await;
    let items = json!([
        {"product_id": lamp, "orderitem_quantity": 3, "take_stock": 1},
        {"orderitem_sku": "B-1", "orderitem_quantity": 2, "orderitem_price": "2"},
    ]);
    let order = json!({"user_email": "ada@example.com", "is_shippable": 1, "items": items});
    let key = shop.create("/orders", order).await;
    let order = format!("/orders/{key}");
    let items = shop.get(&format!("{order}/items")).send().await.expect(200).ids();
    let [lamps, bulbs] = items[..] else { panic!("{items:?}") };
    // How far it has been shipped, and whether it is in the pick list.
    let state = async || {
        let shown = shop.get(&format!("{order}/fulfilment")).send().await.expect(200);
        let list = shop.get("/fulfilments").send().await.expect(200).ids();
        json!([shown.attribute("fulfilment_state"), list.contains(&key)])
    };
    let ship = async |mut body: Value| {
        body["order_state_id"] = json!(5);
        shop.post(&format!("{order}/shipments"), body).send().await
    };
    let line = |item: i64, quantity: i64| json!({"orderitem_id": item, "quantity": quantity});
    let give = async |line: Value| {
        let body = json!({"reason": "Returned", "items": [line]});
        shop.post(&format!("{order}/refunds"), body).send().await.expect(201).id()
    };
    let reverse = async |refund: i64| {
        let path = format!("{order}/refunds/{refund}/reverse");
        shop.post(&path, json!({"reason": "Wrong"})).send().await.expect(201);
    };

    let mut three = line(lamps, 3);
    three["restock"] = json!(1);
    let three = give(three).await;
    let one = give(line(bulbs, 1)).await;
    assert_eq!(state().await, json!(["unfulfilled", true]));
    for (item, quantity, open) in [(lamps, 1, 0), (bulbs, 2, 1)] {
        let refused = ship(json!({"items": [line(item, quantity)]})).await.expect(422);
        assert_eq!(refused.errors(), ["422 over_fulfilled pointer /items/0/quantity"]);
        assert_eq!(refused.json()["errors"][0]["meta"], json!({"open": open}));
    }
    let last = give(line(bulbs, 1)).await;
    assert_eq!(state().await, json!(["fulfilled", false]));
    let number = json!({"tracking_id": "P1"});
    let track = shop.post(&format!("{order}/tracking"), number).send();
    for refused in [ship(json!({})).await, track.await] {
        assert_eq!(refused.expect(422).errors(), ["422 over_fulfilled pointer /items"]);
    }
    assert_eq!(shop.get(&format!("{order}/shipments")).send().await.expect(200).total(), 0);

    // What is undone is open again.
    reverse(last).await;
    assert_eq!(state().await, json!(["unfulfilled", true]));
    let parcel = ship(json!({})).await.expect(201);
    assert_eq!(parcel.attribute("items"), json!([line(bulbs, 1)]));
    assert_eq!(state().await, json!(["fulfilled", false]));
    // The bulb that was given back is not the one that was shipped.
    ship(json!({})).await.expect(422);
    reverse(three).await;
    reverse(one).await;
    assert_eq!(state().await, json!(["partial", true]));
    let parcel = ship(json!({})).await.expect(201);
    assert_eq!(parcel.attribute("items"), json!([line(lamps, 3), line(bulbs, 1)]));

    // Pieces that come back after they were shipped change nothing, until their shipment is deleted.
    give(line(lamps, 2)).await;
    assert_eq!(state().await, json!(["fulfilled", false]));
    shop.delete(&format!("/shipments/{}", parcel.id())).send().await.expect(204);
    assert_eq!(state().await, json!(["partial", true]));
    let parcel = ship(json!({})).await.expect(201);
    assert_eq!(parcel.attribute("items"), json!([line(lamps, 1), line(bulbs, 1)]));
    check(&shop).await;
}
