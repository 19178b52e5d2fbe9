//! A year of orders up to yesterday (three years in a large store), the oldest first, with their
//! items, the first and the last entry of their histories, their shipments and their refunds. Their amounts add up
//! exactly in the currency of the order.

use fastrand::Rng;

use crate::model::value::Value;
use crate::sql::RowsOf;

use super::catalogue::{Product, VARIANTS, Variant, as_object, product, variant};
use super::make::{cents, chance, days_ago, moment, pick};
use super::people::{home, person};
use super::refunds;
use super::setup::{PAYMENTS, RATES, SHIPPING};
use super::world::{DemoStep, World};
use crate::bulk::rows::{flag, folded, key, keyed_rows_of, push, rows_of, text};

pub(super) static ORDERS: DemoStep = DemoStep {
    name: "orders",
    count: "SELECT count(*), coalesce(max(shop_order_id), 0) FROM shop_orders",
    wanted: |world| if world.products == 0 { 0 } else { world.orders },
    make,
    tables: || {
        vec![
            keyed_rows_of("shop_orders", &["shop_order_id"]),
            keyed_rows_of("shop_orderitems", &["shop_orderitem_id"]),
            rows_of("shop_orderhistories"),
            rows_of("shop_shipments"),
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

    let mut lines = Vec::new();
    let (mut subtotal, mut tax, mut pieces) = (0, 0, 0);
    for place in 0..u64::from(rng.u8(1..=MOST_LINES)) {
        let bought = rng.u64(..world.products);
        let product = product(bought);
        let quantity = pick(&mut rng, &[1, 1, 1, 1, 2, 2, 3]);
        let price = convert(product.price, rate, places);
        let amount = price * quantity;
        let line_tax = round(i128::from(amount) * 19 / 100, places);
        subtotal += amount;
        tax += line_tax;
        pieces += quantity;
        // The line of a shipment names the item, so its key is determined here.
        let item = number * u64::from(MOST_LINES) + place;
        lines.push(Line { item, bought, product, quantity, price, amount, tax: line_tax });
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
    let everything: i64 = lines.iter().map(|line| shipped(line.item)).sum();
    let fulfilled = match everything {
        0 => "unfulfilled",
        some if some < pieces => "partial",
        _ => "fulfilled",
    };
    let method = pick(&mut chance(8, number), &SHIPPING);
    let by_hand = if state == DELIVERED && rng.u8(..30) == 0 { total } else { 0 };
    let is_given_back = matches!(state, SHIPPED | DELIVERED) && discount == 0 && by_hand == 0;
    let refund = (is_given_back && refunds::is_one(number)).then(|| {
        let Line { item, quantity, tax, .. } = lines[0];
        let (line, amount) = ((item, quantity), lines[0].with_tax());
        refunds::Refund { order: number, line, amount, tax, currency }
    });
    let given = refund.as_ref().map_or(0, refunds::Refund::given);
    let mut refundable = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let (sku, name, options) = sold(&line.product, line.item);
        let [quantity, amount, line_tax] = match place {
            0 if given > 0 => [line.quantity, line.with_tax(), line.tax],
            _ => [0; 3],
        };
        let (item, ordered, price) = (line.item + 1, line.quantity, line.with_tax());
        refundable.push(format!("[{item},{ordered},{price},{quantity},{amount}]"));
        push!(
            tables[1],
            ("shop_orderitem_id", key(line.item)),
            ("order_key", key(number)),
            ("orderitem_sku", text(&sku)),
            ("orderitem_sku_fold", folded(&sku)),
            ("orderitem_name", text(&name)),
            ("orderitem_name_fold", folded(&name)),
            ("orderitem_quantity", Value::Int(line.quantity)),
            ("orderitem_price", Value::money(line.price)),
            ("orderitem_finalprice", Value::money(line.amount)),
            ("orderitem_tax", Value::money(line.tax)),
            ("orderitem_finalprice_with_tax", Value::money(line.with_tax())),
            ("product_id", key(line.bought)),
            ("created_on", moment(&created)),
            ("shipped", Value::Int(shipped(line.item))),
            ("orderitem_attributes", Value::Json(options)),
            ("refunded_quantity", Value::Int(quantity)),
            ("refunded_amount", Value::money(amount)),
            ("refunded_tax", Value::money(line_tax)),
            ("refunded_share", Value::money(amount)),
        );
    }
    let payment = pick(&mut rng, &PAYMENTS).1;
    let reference = format!("{}-{:07}", created[..10].replace('-', ""), number + 1);
    push!(
        tables[0],
        ("shop_order_id", key(number)),
        ("order_id", text(&reference)),
        ("order_id_fold", folded(&reference)),
        ("user_email", text(&buyer.email)),
        ("user_email_fold", folded(&buyer.email)),
        ("order_state_id", Value::Int(state)),
        ("order_total", Value::money(total)),
        ("orderpayment_type", text(payment)),
        ("orderpayment_type_fold", folded(payment)),
        ("currency_code", text(currency)),
        ("currency_decimals", Value::Int(places.into())),
        ("billing_first_name", text(buyer.first_name)),
        ("billing_first_name_fold", folded(buyer.first_name)),
        ("billing_last_name", text(buyer.last_name)),
        ("billing_last_name_fold", folded(buyer.last_name)),
        ("created_on", moment(&created)),
        ("order_subtotal", Value::money(subtotal)),
        ("order_tax", Value::money(tax)),
        ("order_shipping", Value::money(shipping)),
        ("order_discount", Value::money(discount)),
        ("order_refund", Value::money(by_hand + given)),
        ("transaction_id", text(format!("T{:012}", rng.u64(..1_000_000_000_000)))),
        ("transaction_status", text(if state == CANCELLED { "void" } else { "settled" })),
        ("currency_value", Value::Decimal { units: rate, places: 8 }),
        ("customer_language", text(buyer.language)),
        ("is_shippable", flag(true)),
        ("item_quantity", Value::Int(pieces)),
        ("modified_on", moment(&created)),
        ("shipping_first_name", text(buyer.first_name)),
        ("shipping_last_name", text(buyer.last_name)),
        ("shipping_company", text(home.company)),
        ("shipping_phone_1", text(home.phone)),
        ("shipping_address_1", text(home.address)),
        ("shipping_city", text(buyer.city)),
        ("shipping_zip", text(home.zip)),
        ("shipping_zone_id", zone.map_or(Value::Null, |(zone, _)| Value::Int(*zone))),
        ("shipping_zone_name", text(zone.map_or("", |(_, name)| name))),
        ("shipping_country_id", country.map_or(Value::Null, |country| Value::Int(country.key))),
        ("shipping_country_name", text(country.map_or("", |country| &country.name))),
        ("ordershipping_name", text(method.0)),
        ("ordershipping_code", text(method.1)),
        ("ordershipping_type", text("parcel")),
        ("fulfilment_state", text(fulfilled)),
        ("refunded", Value::money(given)),
        ("refundable_lines", Value::Json(format!("[{}]", refundable.join(",")))),
    );
    for parcel in parcels {
        let sent = days_ago(world.today, parcel.age, &mut chance(9, parcel.number));
        let code = format!("PP{:010}", parcel.number + 1);
        let items = parcel.lines.iter().map(|(item, quantity)| {
            format!("{{\"orderitem_id\":{},\"quantity\":{quantity}}}", item + 1)
        });
        let items = items.collect::<Vec<_>>().join(",");
        let status = |status| if parcel.is_last { Value::Int(status) } else { Value::Null };
        push!(
            tables[3],
            ("order_key", key(number)),
            ("tracking_id", text(&code)),
            ("carrier", text("Parcel Post")),
            ("tracking_url", text(format!("https://track.example.com/{code}"))),
            ("items", Value::Json(format!("[{items}]"))),
            ("status_before", status(CONFIRMED)),
            ("status_after", status(SHIPPED)),
            ("created_on", moment(&sent)),
            ("modified_on", moment(&sent)),
        );
    }
    let moved = (state != NEW).then_some(state);
    for state in [NEW].into_iter().chain(moved) {
        let comment = comment_on(state);
        push!(
            tables[2],
            ("order_key", key(number)),
            ("order_state_id", Value::Int(state)),
            ("comment", text(comment)),
            ("comment_fold", folded(comment)),
            ("created_on", moment(&created)),
        );
    }
    if let Some(refund) = refund {
        refund.add_to(&mut tables[4], world.today, age);
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

/// A line of an order.
struct Line {
    /// The number of the item, and that of its product.
    item: u64,
    bought: u64,
    product: Product,
    quantity: i64,
    price: i64,
    /// What all pieces cost, without the tax.
    amount: i64,
    tax: i64,
}

impl Line {
    fn with_tax(&self) -> i64 {
        self.amount + self.tax
    }
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
fn parcels(number: u64, state: i64, age: u64, lines: &[Line]) -> Vec<Parcel> {
    let every = if state == CONFIRMED { 2 } else { 8 };
    let is_split = lines.len() > 1 && chance(7, number).u8(..every) == 0;
    let parcel = |nth: u64, lines: &[Line], is_last| Parcel {
        number: 2 * number + nth,
        age: age.saturating_sub(1 + nth),
        is_last,
        lines: lines.iter().map(|line| (line.item, line.quantity)).collect(),
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
