//! A year of orders up to yesterday (three years in a large store), the oldest first, with their
//! items and the first and the last entry of their histories. Their amounts add up exactly in the
//! currency of the order.

use fastrand::Rng;

use crate::model::value::Value;
use crate::sql::RowsOf;

use super::catalogue::product;
use super::make::{
    cents, chance, days_ago, flag, folded, key, keyed_rows_of, moment, pick, rows_of, text,
};
use super::people::person;
use super::setup::{PAYMENTS, RATES};
use super::world::{Step, World};

pub(super) static ORDERS: Step = Step {
    name: "orders",
    count: "SELECT count(*), coalesce(max(shop_order_id), 0) FROM shop_orders",
    wanted: |world| if world.products == 0 { 0 } else { world.orders },
    make,
    tables: || {
        vec![
            keyed_rows_of(
                "shop_orders",
                &[
                    "shop_order_id",
                    "order_id",
                    "order_id_fold",
                    "user_email",
                    "user_email_fold",
                    "order_state_id",
                    "order_total",
                    "orderpayment_type",
                    "orderpayment_type_fold",
                    "currency_code",
                    "billing_first_name",
                    "billing_first_name_fold",
                    "billing_last_name",
                    "billing_last_name_fold",
                    "created_on",
                    "order_subtotal",
                    "order_tax",
                    "order_shipping",
                    "order_discount",
                    "order_refund",
                    "transaction_id",
                    "transaction_status",
                    "currency_value",
                    "customer_language",
                    "is_shippable",
                    "item_quantity",
                    "modified_on",
                ],
            ),
            rows_of(
                "shop_orderitems",
                &[
                    "order_key",
                    "orderitem_sku",
                    "orderitem_sku_fold",
                    "orderitem_name",
                    "orderitem_name_fold",
                    "orderitem_quantity",
                    "orderitem_price",
                    "orderitem_finalprice",
                    "orderitem_tax",
                    "orderitem_finalprice_with_tax",
                    "product_id",
                    "created_on",
                ],
            ),
            rows_of(
                "shop_orderhistories",
                &["order_key", "order_state_id", "comment", "comment_fold", "created_on"],
            ),
        ]
    },
};

/// The least and the greatest number of days with orders.
const DAYS: (u64, u64) = (365, 1_095);
/// How many orders a day has in a store with more than a year of them.
const ORDERS_OF_A_DAY: u64 = 100;
/// The value 1 in units of an exchange rate.
const ONE: i64 = 100_000_000;

/// The statuses of orders, by their keys.
const NEW: i64 = 5;
const CONFIRMED: i64 = 1;
const SHIPPED: i64 = 7;
const DELIVERED: i64 = 8;
const CANCELLED: i64 = 6;

fn make(world: &World, number: u64, tables: &mut [RowsOf]) {
    let mut rng = chance(6, number);
    let buyer = person(rng.u64(..world.customers.max(1)));
    let (currency, rate, places) = currency_of(buyer.country);
    let days = (world.orders / ORDERS_OF_A_DAY).clamp(DAYS.0, DAYS.1);
    let age = days - number * days / world.orders.max(1);
    let created = days_ago(world.today, age, &mut rng);

    let mut subtotal = 0;
    let mut tax = 0;
    let mut pieces = 0;
    for _ in 0..rng.u8(1..=3) {
        let bought = rng.u64(..world.products);
        let product = product(bought);
        let quantity = pick(&mut rng, &[1, 1, 1, 1, 2, 2, 3]);
        let price = convert(product.price, rate, places);
        let line = price * quantity;
        let line_tax = round(i128::from(line) * 19 / 100, places);
        subtotal += line;
        pieces += quantity;
        tax += line_tax;
        tables[1].push([
            key(number),
            text(&product.sku),
            folded(&product.sku),
            text(&product.name),
            folded(&product.name),
            Value::Int(quantity),
            Value::money(price),
            Value::money(line),
            Value::money(line_tax),
            Value::money(line + line_tax),
            key(bought),
            moment(&created),
        ]);
    }
    let shipping = if subtotal > convert(cents(8_000), rate, places) {
        0
    } else {
        convert(cents(490), rate, places)
    };
    let discount = if rng.u8(..9) == 0 { round(i128::from(subtotal) / 10, places) } else { 0 };
    let total = subtotal + tax + shipping - discount;

    let state = state(&mut rng, age);
    let refund = if state == DELIVERED && rng.u8(..30) == 0 { total } else { 0 };
    let payment = pick(&mut rng, &PAYMENTS).1;
    let reference = format!("{}-{:07}", created[..10].replace('-', ""), number + 1);
    tables[0].push([
        key(number),
        text(&reference),
        folded(&reference),
        text(&buyer.email),
        folded(&buyer.email),
        Value::Int(state),
        Value::money(total),
        text(payment),
        folded(payment),
        text(currency),
        text(buyer.first_name),
        folded(buyer.first_name),
        text(buyer.last_name),
        folded(buyer.last_name),
        moment(&created),
        Value::money(subtotal),
        Value::money(tax),
        Value::money(shipping),
        Value::money(discount),
        Value::money(refund),
        text(format!("T{:012}", rng.u64(..1_000_000_000_000))),
        text(if state == CANCELLED { "void" } else { "settled" }),
        Value::Decimal { units: rate, places: 8 },
        text(buyer.language),
        flag(true),
        Value::Int(pieces),
        moment(&created),
    ]);
    let moved = (state != NEW).then_some(state);
    for state in [NEW].into_iter().chain(moved) {
        let comment = comment_on(state);
        tables[2].push([
            key(number),
            Value::Int(state),
            text(comment),
            folded(comment),
            moment(&created),
        ]);
    }
}

/// The status that an order has reached by now; it depends on the order's age.
fn state(rng: &mut Rng, age: u64) -> i64 {
    if rng.u8(..16) == 0 {
        return CANCELLED;
    }
    match age {
        0..=1 => NEW,
        2..=3 => pick(rng, &[NEW, CONFIRMED]),
        4..=9 => pick(rng, &[CONFIRMED, SHIPPED]),
        _ => DELIVERED,
    }
}

/// The comment in the history of an order that has reached this status.
fn comment_on(state: i64) -> &'static str {
    match state {
        CONFIRMED => "Payment received.",
        SHIPPED => "On its way.",
        CANCELLED => "Cancelled by the customer.",
        _ => "",
    }
}

/// The currency of customers in a country, its rate, and its fraction digits.
fn currency_of(country: &str) -> (&'static str, i64, u32) {
    let code = match country {
        "CH" => "CHF",
        "DK" => "DKK",
        "GB" => "GBP",
        "JP" => "JPY",
        "NO" => "NOK",
        "PL" => "PLN",
        "SE" => "SEK",
        "US" => "USD",
        _ => "EUR",
    };
    let rate = RATES.iter().find(|(known, ..)| *known == code).map_or(ONE, |(_, rate, _)| *rate);
    (code, rate, if code == "JPY" { 0 } else { 2 })
}

/// Converts an amount in euros into another currency.
fn convert(amount: i64, rate: i64, places: u32) -> i64 {
    round(i128::from(amount) * i128::from(rate) / i128::from(ONE), places)
}

/// Rounds an amount in units of 10^-5 half up to the decimals of a currency.
fn round(amount: i128, places: u32) -> i64 {
    let unit = 10_i128.pow(5 - places);
    i64::try_from((amount + unit / 2) / unit * unit).unwrap_or(i64::MAX)
}
