//! A year of orders up to yesterday (three years in a large store), the oldest first, with their
//! items, the first and the last entry of their histories, their shipments and their refunds. Their amounts add up
//! exactly in the currency of the order.

use fastrand::Rng;

use crate::model::value::Value;
use crate::sql::RowsOf;

use super::catalogue::{Product, VARIANTS, Variant, as_object, product, variant};
use super::make::{
    cents, chance, days_ago, flag, folded, key, keyed_rows_of, moment, pick, rows_of, text,
};
use super::people::{home, person};
use super::refunds;
use super::setup::{PAYMENTS, RATES, SHIPPING};
use super::world::{DemoStep, World};

pub(super) static ORDERS: DemoStep = DemoStep {
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
                    "shipping_first_name",
                    "shipping_last_name",
                    "shipping_company",
                    "shipping_phone_1",
                    "shipping_address_1",
                    "shipping_city",
                    "shipping_zip",
                    "shipping_zone_id",
                    "shipping_zone_name",
                    "shipping_country_id",
                    "shipping_country_name",
                    "ordershipping_name",
                    "ordershipping_code",
                    "ordershipping_type",
                    "fulfilment_state",
                    "refunded",
                ],
            ),
            keyed_rows_of(
                "shop_orderitems",
                &[
                    "shop_orderitem_id",
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
                    "shipped",
                    "orderitem_attributes",
                    "refunded_quantity",
                    "refunded_amount",
                    "refunded_tax",
                    "refunded_share",
                ],
            ),
            rows_of(
                "shop_orderhistories",
                &["order_key", "order_state_id", "comment", "comment_fold", "created_on"],
            ),
            rows_of(
                "shop_shipments",
                &[
                    "order_key",
                    "tracking_id",
                    "carrier",
                    "tracking_url",
                    "items",
                    "status_before",
                    "status_after",
                    "created_on",
                    "modified_on",
                ],
            ),
            refunds::table(),
        ]
    },
    last: |dialect| Some(dialect.match_skus),
};

/// The least and the greatest number of days with orders.
const DAYS: (u64, u64) = (365, 1_095);
/// How many orders a day has in a store with more than a year of them.
const ORDERS_OF_A_DAY: u64 = 100;
/// How many lines an order has at most.
const MOST_LINES: u8 = 3;
/// The column of an item with what has been shipped of it, and the first one with what was given back.
const ITEM_SHIPPED: usize = 13;
const ITEM_REFUNDED: usize = 15;
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
    let buyer_number = rng.u64(..world.customers.max(1));
    let buyer = person(buyer_number);
    let (currency, rate, places) = currency_of(buyer.country);
    let days = (world.orders / ORDERS_OF_A_DAY).clamp(DAYS.0, DAYS.1);
    let age = days - number * days / world.orders.max(1);
    let created = days_ago(world.today, age, &mut rng);

    let mut items = Vec::new();
    let mut subtotal = 0;
    let mut tax = 0;
    let mut pieces = 0;
    let (mut lines, mut prices) = (Vec::new(), Vec::new());
    for place in 0..u64::from(rng.u8(1..=MOST_LINES)) {
        let bought = rng.u64(..world.products);
        let product = product(bought);
        let quantity = pick(&mut rng, &[1, 1, 1, 1, 2, 2, 3]);
        let price = convert(product.price, rate, places);
        let line = price * quantity;
        let line_tax = round(i128::from(line) * 19 / 100, places);
        subtotal += line;
        pieces += quantity;
        tax += line_tax;
        // The line of a shipment names the item, so its key is determined here.
        let item = number * u64::from(MOST_LINES) + place;
        lines.push((item, quantity));
        prices.push([line + line_tax, line_tax]);
        let (sku, name, options) = sold(&product, item);
        items.push([
            key(item),
            key(number),
            text(&sku),
            folded(&sku),
            text(&name),
            folded(&name),
            Value::Int(quantity),
            Value::money(price),
            Value::money(line),
            Value::money(line_tax),
            Value::money(line + line_tax),
            key(bought),
            moment(&created),
            Value::Int(0),
            Value::Json(options),
            Value::Int(0),
            Value::money(0),
            Value::money(0),
            Value::money(0),
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
    let home = home(buyer_number, &buyer);
    let country = world.setup.countries.get(buyer.country);
    let zone = country.and_then(|country| country.zone.as_ref());
    let parcels = parcels(number, state, age, &lines);
    let shipped = |item: u64| {
        let lines = parcels.iter().flat_map(|parcel| &parcel.lines);
        lines.filter(|(of, _)| *of == item).map(|(_, quantity)| quantity).sum::<i64>()
    };
    for (row, (item, _)) in items.iter_mut().zip(&lines) {
        row[ITEM_SHIPPED] = Value::Int(shipped(*item));
    }
    let everything: i64 = lines.iter().map(|(item, _)| shipped(*item)).sum();
    let fulfilled = match everything {
        0 => "unfulfilled",
        some if some < pieces => "partial",
        _ => "fulfilled",
    };
    let method = pick(&mut chance(8, number), &SHIPPING);
    let by_hand = if state == DELIVERED && rng.u8(..30) == 0 { total } else { 0 };
    let is_given_back = matches!(state, SHIPPED | DELIVERED) && discount == 0 && by_hand == 0;
    let refund = (is_given_back && refunds::is_one(number)).then(|| {
        let [amount, tax] = prices[0];
        refunds::Refund { order: number, line: lines[0], amount, tax, currency }
    });
    let given = refund.as_ref().map_or(0, refunds::Refund::given);
    if let (Some(row), true) = (items.first_mut(), given > 0) {
        let [amount, tax] = prices[0];
        let values = [Value::Int(lines[0].1), Value::money(amount), Value::money(tax)];
        let share = [Value::money(amount)];
        for (cell, value) in row[ITEM_REFUNDED..].iter_mut().zip(values.into_iter().chain(share)) {
            *cell = value;
        }
    }
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
        Value::money(by_hand + given),
        text(format!("T{:012}", rng.u64(..1_000_000_000_000))),
        text(if state == CANCELLED { "void" } else { "settled" }),
        Value::Decimal { units: rate, places: 8 },
        text(buyer.language),
        flag(true),
        Value::Int(pieces),
        moment(&created),
        text(buyer.first_name),
        text(buyer.last_name),
        text(home.company),
        text(home.phone),
        text(home.address),
        text(buyer.city),
        text(home.zip),
        zone.map_or(Value::Null, |(zone, _)| Value::Int(*zone)),
        text(zone.map_or("", |(_, name)| name)),
        country.map_or(Value::Null, |country| Value::Int(country.key)),
        text(country.map_or("", |country| &country.name)),
        text(method.0),
        text(method.1),
        text("parcel"),
        text(fulfilled),
        Value::money(given),
    ]);
    for row in items {
        tables[1].push(row);
    }
    for parcel in parcels {
        let sent = days_ago(world.today, parcel.age, &mut chance(9, parcel.number));
        let code = format!("PP{:010}", parcel.number + 1);
        let items = parcel.lines.iter().map(|(item, quantity)| {
            format!("{{\"orderitem_id\":{},\"quantity\":{quantity}}}", item + 1)
        });
        let items = items.collect::<Vec<_>>().join(",");
        let status = |status| if parcel.is_last { Value::Int(status) } else { Value::Null };
        tables[3].push([
            key(number),
            text(&code),
            text("Parcel Post"),
            text(format!("https://track.example.com/{code}")),
            Value::Json(format!("[{items}]")),
            status(CONFIRMED),
            status(SHIPPED),
            moment(&sent),
            moment(&sent),
        ]);
    }
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
    for row in refund.iter().flat_map(|refund| refund.rows(world.today, age)) {
        tables[4].push(row);
    }
}

/// The SKU and the name of what this item is of the product, and its options.
fn sold(product: &Product, item: u64) -> (String, String, String) {
    if !product.varies {
        return (product.sku.clone(), product.name.clone(), "{}".to_owned());
    }
    let Variant { sku, options } = variant(product, chance(10, item).u64(..VARIANTS));
    let [size, colour] = options.map(|(_, value)| value);
    (sku, format!("{}, {size}, {colour}", product.name), as_object(&options))
}

/// A parcel of an order.
struct Parcel {
    /// A number that no other parcel has.
    number: u64,
    /// How many days ago it was sent.
    age: u64,
    /// Whether nothing is open after it.
    is_last: bool,
    /// The numbers of the items in it, with their quantities.
    lines: Vec<(u64, i64)>,
}

/// The parcels of an order in this status. One order in eight with several lines has two parcels, and
/// of every other one that waits, the first line has been sent already.
fn parcels(number: u64, state: i64, age: u64, lines: &[(u64, i64)]) -> Vec<Parcel> {
    let every = if state == CONFIRMED { 2 } else { 8 };
    let is_split = lines.len() > 1 && chance(7, number).u8(..every) == 0;
    let parcel = |nth: u64, lines: &[(u64, i64)], is_last| Parcel {
        number: 2 * number + nth,
        age: age.saturating_sub(1 + nth),
        is_last,
        lines: lines.to_vec(),
    };
    match (state, is_split) {
        (SHIPPED | DELIVERED, true) => {
            vec![parcel(0, &lines[..1], false), parcel(1, &lines[1..], true)]
        }
        (SHIPPED | DELIVERED, false) => vec![parcel(0, lines, true)],
        (CONFIRMED, true) => vec![parcel(0, &lines[..1], false)],
        _ => Vec::new(),
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
