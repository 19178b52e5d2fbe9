//! Orders: what somebody bought, as it was then. Every status that an order has had stands in its
//! history.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, FaultKind};
use crate::model::kept;
use crate::model::question::{Condition, Draft, Order, Page, Record};
use crate::model::resource::{
    Brings, Field, Join, Nested, Resource, Scene, code_of, created_on, date_from, date_to, decimal,
    email, filter, flag, index, int, key, modified_on, money, search, text, unique, user,
};
use crate::model::value::{MAX_AMOUNT, Value};
use crate::store::Transaction;

use super::history::{self, Entry};
use super::items::{self, ORDERITEMS, Terms};
use crate::resources::currencies::CURRENCIES;

pub(crate) const ORDERS: Resource = Resource {
    kind: "orders",
    singular: "order",
    table: "shop_orders",
    key: "shop_order_id",
    list: &[
        text("order_id", 64).derived(),
        user("user_id"),
        email("user_email").required(),
        key("order_state_id", "orderstatuses").derived().related_as("orderstatus"),
        STATUS_NAME,
        money("order_total").derived(),
        text("orderpayment_type", 255),
        code_of("currency_code", "currencies", "currency_code", 3).derived(),
        text("billing_first_name", 255),
        text("billing_last_name", 255),
        created_on(),
    ],
    detail: &[
        text("order_state", 64).joined("s", "orderstatus_name"),
        money("order_subtotal").derived(),
        money("order_tax").derived(),
        money("order_shipping"),
        money("order_shipping_tax"),
        money("order_discount"),
        money("order_surcharge"),
        money("order_fees"),
        money("order_credit"),
        money("order_refund"),
        text("transaction_id", 255),
        text("transaction_status", 255),
        decimal("currency_value", 8, 1, 10_i64.pow(18) - 1).derived(),
        text("customer_note", 65_535),
        text("customer_language", 32),
        flag("is_shippable").default(0),
        text("invoice_prefix", 32).derived(),
        int("invoice_number").joined("t", "shop_order_id"),
        modified_on(),
    ],
    hidden: &[ITEM_QUANTITY],
    joins: &[Join {
        alias: "s",
        table: "shop_orderstatuses",
        key: "shop_orderstatus_id",
        by: "order_state_id",
    }],
    order: Order { field: Some("created_on"), descending: true },
    filters: &[
        search(&["order_id", "billing_name", "user_email"]),
        filter("status", "order_state_id"),
        filter("customer_id", "user_id"),
        date_from("created_on"),
        date_to("created_on"),
        filter("payment_type", "orderpayment_type"),
    ],
    counts: &[&kept::ORDER_COUNTS, &kept::ORDER_COUNTS_BY_USER, &kept::ORDER_COUNTS_BY_DAY],
    steps: &[&kept::ORDER_BLOCKS, &kept::ORDER_COUNTS_BY_DAY],
    indexes: &[
        index("shop_orders_status_key", &["order_state_id"]),
        index("shop_orders_status", &["order_state_id", "created_on"]),
        index("shop_orders_status_total", &["order_state_id", "order_total"]),
        index("shop_orders_status_payment", &["order_state_id", "orderpayment_type", "created_on"]),
        index("shop_orders_payment_key", &["orderpayment_type"]),
        index("shop_orders_payment", &["orderpayment_type", "created_on"]),
        index("shop_orders_user_key", &["user_id"]),
        index("shop_orders_user", &["user_id", "created_on"]),
        index("shop_orders_user_total", &["user_id", "order_total"]),
        index("shop_orders_user_status", &["user_id", "order_state_id", "created_on"]),
    ],
    search: Some(kept::ORDER_SEARCH),
    unique: &[unique(&["order_id"])],
    turns: true,
    nested: &[Nested {
        parent: "customers",
        segment: "orders",
        by: "user_id",
        filters: &["search", "status", "date_from", "date_to", "payment_type"],
    }],
    brings: Some(Brings { name: "items", of: || &ORDERITEMS, by: "order_key" }),
    derive: Some(|draft, before, scene| Box::pin(derive(draft, before, scene))),
    added: Some(|key, order, scene| Box::pin(first_entry(key, order, scene))),
    spread: Some(|before, after, scene| Box::pin(next_entry(before, after, scene))),
    ..Resource::CRUD
};

const STATUS_NAME: Field = text("orderstatus_name", 64).joined("s", "orderstatus_name");

/// How many pieces the order's items are of, for reports.
const ITEM_QUANTITY: Field = int("item_quantity").between(0, i64::MAX).read_only();

/// What the total of an order is made of, and with which sign.
const TOTAL: [(&str, i64); 8] = [
    ("order_subtotal", 1),
    ("order_tax", 1),
    ("order_shipping", 1),
    ("order_shipping_tax", 1),
    ("order_surcharge", 1),
    ("order_fees", 1),
    ("order_discount", -1),
    ("order_credit", -1),
];

/// Works out what a new order leaves open. A change never works out again what it leaves out.
async fn derive(
    draft: &mut Draft,
    before: Option<&Record>,
    scene: &mut Scene<'_>,
) -> Result<(), Error> {
    if before.is_some() {
        if draft.given("order_id").is_some_and(Value::is_blank) {
            draft.refuse("order_id", "order_id must not be empty.");
        }
        if draft.given("currency_code").is_some_and(Value::is_blank) {
            draft.refuse("currency_code", "currency_code must not be empty.");
        }
        return history::check_status(draft, before, scene.transaction).await;
    }
    let parameters = scene.call.app.parameters.current()?;
    if draft.given("order_id").is_none_or(Value::is_blank) {
        draft.set("order_id", Value::Text(new_reference()?));
    }
    if draft.given("currency_code").is_none_or(Value::is_blank) {
        draft.set("currency_code", Value::Text(parameters.default_currency.clone()));
    }
    if draft.given("order_state_id").is_none() {
        draft.set("order_state_id", Value::Int(parameters.initial_order_status));
    }
    if draft.given("invoice_prefix").is_none() {
        draft.set("invoice_prefix", Value::Text(parameters.invoice_prefix.clone()));
    }
    let code = draft.given("currency_code").cloned().unwrap_or(Value::Null);
    let currency = by_code(&code, scene.transaction).await?;
    if let Some(currency) = &currency
        && draft.given("currency_value").is_none()
    {
        draft.set("currency_value", currency.value("currency_value").clone());
    }
    let terms = Terms {
        rate: draft.given("currency_value").map_or(0, Value::int),
        decimals: currency.map_or(0, |currency| currency.value("currency_num_decimals").int()),
        created_on: draft.given("created_on").cloned().unwrap_or(Value::Null),
    };
    let sums = items::complete(&mut draft.parts, &terms, scene.transaction).await?;
    draft.set("item_quantity", Value::Int(sums.quantity));
    for (name, sum) in [("order_subtotal", sums.finalprice), ("order_tax", sums.tax)] {
        if draft.given(name).is_none() {
            match i64::try_from(sum).ok().filter(|sum| *sum <= MAX_AMOUNT) {
                Some(sum) => draft.set(name, Value::Int(sum)),
                None => draft.refuse(name, format!("{name} would be too large.")),
            }
        }
    }
    if draft.given("order_total").is_none() {
        let amount = |(name, sign): (&str, i64)| sign * draft.given(name).map_or(0, Value::int);
        let total: i64 = TOTAL.into_iter().map(amount).sum();
        match total.max(0) {
            total if total <= MAX_AMOUNT => draft.set("order_total", Value::Int(total)),
            _ => draft.refuse("order_total", "The total of the order is too large."),
        }
    }
    history::check_status(draft, before, scene.transaction).await
}

/// The currency with this code, if there is one.
pub(super) async fn by_code(
    code: &Value,
    transaction: &mut Transaction,
) -> Result<Option<Record>, Error> {
    let page = Page {
        conditions: vec![Condition::Equals("currency_code", code.clone())],
        ..Page::of_one(&CURRENCIES, 0)
    };
    let cells = transaction.page(&page).await?;
    Ok(Record::all(&CURRENCIES, &cells)?.pop())
}

async fn first_entry(key: i64, order: &Record, scene: &mut Scene<'_>) -> Result<(), Error> {
    let entry = Entry {
        order: key,
        status: order.value("order_state_id").int(),
        created_on: order.value("created_on").clone(),
    };
    history::write(entry, scene).await
}

async fn next_entry(before: &Record, after: &Record, scene: &mut Scene<'_>) -> Result<(), Error> {
    if before.value("order_state_id") == after.value("order_state_id") {
        return Ok(());
    }
    let entry = Entry {
        order: after.key(),
        status: after.value("order_state_id").int(),
        created_on: Value::now(),
    };
    history::write(entry, scene).await
}

/// A reference that sorts by the moment it was made: ten characters of milliseconds, and eight at
/// random, so that no two makers have to agree. Of those that one maker makes within a
/// millisecond, each is the next after the one before.
fn new_reference() -> Result<String, Error> {
    static LAST: Mutex<(u64, u64)> = Mutex::new((0, 0));
    const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let chance = getrandom::u64().map_err(host_interface::Error::failed)?;
    let now = time::UtcDateTime::now().unix_timestamp_nanos() / 1_000_000;
    let now = u64::try_from(now).unwrap_or_default();
    let (moment, chance) = {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = match *last {
            (moment, chance) if moment >= now => (moment, chance + 1),
            // The highest bit is left for those that follow within the millisecond.
            _ => (now, chance >> 25),
        };
        *last
    };
    let digits = |value: u64, places: u32| {
        let digit = move |place| usize::from((value >> (5 * place)) as u8 % 32);
        (0..places).rev().map(move |place| char::from(DIGITS[digit(place)]))
    };
    Ok(digits(moment, 10).chain(std::iter::once('-')).chain(digits(chance, 8)).collect())
}

/// The status of an order must be there and enabled.
pub(super) fn refuse_disabled(draft: &mut Draft) {
    draft.fault_at(
        FaultKind::InvalidValue,
        "order_state_id",
        "order_state_id must be an enabled order status.",
    );
}
