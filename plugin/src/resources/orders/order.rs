//! Orders: snapshots of purchases, with their items. `place` is the list of steps that make a new order.

use std::sync::{Mutex, PoisonError};

use time::PrimitiveDateTime;

use super::amounts::{
    CREDIT, CURRENCY_DECIMALS, DISCOUNT, FEES, PARTS_OF_TOTAL, REFUND, REFUNDED, SHIPPING,
    SHIPPING_REFUNDED, SHIPPING_TAX, SHIPPING_TAX_REFUNDED, SUBTOTAL, SURCHARGE, TAX, TOTAL,
};
use super::entry::{self, Entry, ORDER_KEY, STATUS};
use super::items::{self, ORDERITEMS, Sums, Terms};
use super::refundable;
use super::shipping;
use crate::error::Error;
use crate::model::field::{
    Field, Handle, Units, code_of, created_on, decimal, email, flag, identifier, int, modified_on,
    text, user,
};
use crate::model::kept;
use crate::model::parameters::Parameters;
use crate::model::personal::Personal;
use crate::model::presentation::{Group, Presentation};
use crate::model::record::Record;
use crate::model::resource::{
    Children, Index, Join, Nested, Order, Resource, Storage, date_from, date_to, filter, index,
    search, unique,
};
use crate::model::value::{MAX_AMOUNT, Value, money_text};
use crate::resources::currencies::{self, DECIMALS, RATE};
use crate::service::hooks::Service;
use crate::service::write::Write;
use crate::sql::Statement;
use crate::wire::draft::Draft;

pub(crate) static ORDERS: Resource = Resource {
    kind: "orders",
    singular: "order",
    table: "shop_orders",
    key: "shop_order_id",
    list: &[
        REFERENCE.field,
        user("user_id").personal(Personal::Identifier),
        USER_EMAIL.field,
        STATUS.field.derived(),
        STATUS_NAME,
        TOTAL.field,
        text("orderpayment_type", 255),
        CURRENCY_CODE.field,
        BILLING_FIRST_NAME.field,
        BILLING_LAST_NAME.field,
        CREATED_ON.field,
    ],
    detail: &[
        ORDER_STATE,
        SUBTOTAL.field,
        TAX.field,
        SHIPPING.field,
        SHIPPING_TAX.field,
        DISCOUNT.field,
        SURCHARGE.field,
        FEES.field,
        CREDIT.field,
        REFUND.field,
        text("transaction_id", 255).personal(Personal::Identifier),
        text("transaction_status", 255),
        CURRENCY_VALUE.field,
        CUSTOMER_NOTE,
        text("customer_language", 32),
        IS_SHIPPABLE.field,
        INVOICE_PREFIX.field,
        int("invoice_number").joined("t", "shop_order_id"),
        modified_on(),
    ],
    hidden: &[
        ITEM_QUANTITY.field,
        REFUNDED.field,
        SHIPPING_REFUNDED.field,
        SHIPPING_TAX_REFUNDED.field,
        CURRENCY_DECIMALS.field,
        refundable::LINES,
        shipping::FIRST_NAME,
        shipping::LAST_NAME,
        shipping::COMPANY,
        shipping::PHONE_1,
        shipping::PHONE_2,
        shipping::ADDRESS_1,
        shipping::ADDRESS_2,
        shipping::CITY,
        shipping::ZIP,
        shipping::ZONE.field,
        shipping::ZONE_NAME.field,
        shipping::COUNTRY.field,
        shipping::COUNTRY_NAME.field,
        shipping::TAX_NUMBER,
        shipping::METHOD_NAME,
        shipping::METHOD_CODE,
        shipping::METHOD_TYPE,
    ],
    derived_meta: Some(&refundable::META),
    joins: &[STATUS_JOIN],
    order: Order { field: Some(CREATED_ON.field.name), descending: true },
    filters: &[
        search(&["order_id", "billing_name", "user_email"]),
        filter("status", "order_state_id"),
        filter("customer_id", "user_id"),
        date_from("created_on"),
        date_to("created_on"),
        filter("payment_type", "orderpayment_type"),
    ],
    storage: Storage {
        counts: &[&kept::ORDER_COUNTS, &kept::ORDER_COUNTS_BY_USER, &kept::ORDER_COUNTS_BY_DAY],
        steps: &[&kept::ORDER_BLOCKS, &kept::ORDER_COUNTS_BY_DAY],
        indexes: &[
            index("shop_orders_status_key", &["order_state_id"]),
            BY_STATUS,
            index("shop_orders_status_total", &["order_state_id", "order_total"]),
            index(
                "shop_orders_status_payment",
                &["order_state_id", "orderpayment_type", "created_on"],
            ),
            index("shop_orders_payment_key", &["orderpayment_type"]),
            index("shop_orders_payment", &["orderpayment_type", "created_on"]),
            index("shop_orders_user_key", &["user_id"]),
            index("shop_orders_user", &["user_id", "created_on"]),
            index("shop_orders_user_total", &["user_id", "order_total"]),
            index("shop_orders_user_status", &["user_id", "order_state_id", "created_on"]),
        ],
        search: Some(kept::ORDER_SEARCH),
        ..Storage::PLAIN
    },
    unique: &[unique(&["order_id"])],
    lock_row: true,
    nested: &[Nested {
        parent: "customers",
        segment: "orders",
        by: "user_id",
        filters: &["search", "status", "date_from", "date_to", "payment_type"],
    }],
    children: Some(Children { name: "items", of: &ORDERITEMS, if_empty: None }),
    shown: Presentation {
        group: Some(Group::Sales),
        label: &["order_id"],
        columns: &[
            "order_id",
            "created_on",
            "user_email",
            "orderstatus_name",
            "order_total",
            "currency_code",
        ],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    insert: Some(|draft, write| Box::pin(place(draft, write))),
    derive: Some(|draft, before, write| Box::pin(check_change(draft, before, write))),
    before_update: Some(|before, after, write| Box::pin(enter_status(before, after, write))),
    before_delete: Some(|order, write| Box::pin(remove_refunds(order, write))),
    ..Service::of(&ORDERS)
};

/// The join of the status's row.
pub(super) const STATUS_JOIN: Join = Join {
    alias: "s",
    table: "shop_orderstatuses",
    key: "shop_orderstatus_id",
    by: STATUS.field.name,
};

/// The index of each status in the order of time.
pub(super) const BY_STATUS: Index =
    index("shop_orders_status", &[STATUS.field.name, CREATED_ON.field.name]);

pub(super) const STATUS_NAME: Field = text("orderstatus_name", 64).joined("s", "orderstatus_name");
pub(super) const ORDER_STATE: Field = text("order_state", 64).joined("s", "orderstatus_name");
pub(super) const CUSTOMER_NOTE: Field = text("customer_note", 65_535).personal(Personal::FreeText);
pub(super) const IS_SHIPPABLE: Handle<bool> = flag("is_shippable").default(0).truth();

pub(super) const REFERENCE: Handle<String> = identifier("order_id", 64).derived().words();
pub(super) const CREATED_ON: Handle<PrimitiveDateTime> = created_on().time();
pub(super) const USER_EMAIL: Handle<String> =
    email("user_email").required().personal(Personal::Contact).words();
pub(super) const BILLING_FIRST_NAME: Handle<String> =
    text("billing_first_name", 255).personal(Personal::Name).words();
pub(super) const BILLING_LAST_NAME: Handle<String> =
    text("billing_last_name", 255).personal(Personal::Name).words();
pub(super) const CURRENCY_CODE: Handle<String> =
    code_of("currency_code", "currencies", "currency_code", 3).derived().words();
/// The exchange rate from the store's own currency to the order's, at the time of the order.
const CURRENCY_VALUE: Handle<Units<8>> =
    decimal("currency_value", 8, 1, 10_i64.pow(18) - 1).derived().units();
const INVOICE_PREFIX: Handle<String> = text("invoice_prefix", 32).derived().words();
/// The number of items in the order's lines, for reports.
const ITEM_QUANTITY: Handle<i64> = int("item_quantity").between(0, i64::MAX).read_only().number();

/// What `POST /orders` does between the body and the answer: completes the order that a draft describes, takes
/// its items out of the stock, and writes it with its items and the first entry of its history. Returns its
/// key.
async fn place(draft: &mut Draft, write: &mut Write<'_>) -> Result<i64, Error> {
    shipping::name_places(draft, None, write).await?;
    let parameters = write.call.shop.parameters.current()?;
    complete(draft, &parameters)?;
    let terms = terms(draft, write).await?;
    let sums = items::complete(&mut draft.children, &terms, write).await?;
    let reference = draft.need(&REFERENCE)?.to_owned();
    items::take_stock(&mut draft.children, &reference, write).await?;
    add_up(draft, &sums)?;
    entry::check_status(draft, &STATUS, None, write).await?;
    let order = draft.as_record();
    write.validate(draft, &order).await?;
    let key = write.insert(draft).await?;
    for item in &mut draft.children {
        item.set(&ORDER_KEY, key)?;
    }
    write.insert_all(&draft.children).await?;
    refundable::keep_lines(key, write).await?;
    let created_on = order.need(&CREATED_ON)?;
    let first = Entry { created_on, ..Entry::of(order.need(&STATUS)?) };
    first.add_to(key, write).await?;
    Ok(key)
}

/// Fills in what a new order omits and the site determines.
fn complete(draft: &mut Draft, parameters: &Parameters) -> Result<(), Error> {
    if draft.given(&REFERENCE)?.is_none_or(Value::is_blank) {
        draft.set(&REFERENCE, new_reference()?)?;
    }
    if draft.given(&CURRENCY_CODE)?.is_none_or(Value::is_blank) {
        draft.set(&CURRENCY_CODE, parameters.default_currency.clone())?;
    }
    if draft.given(&STATUS)?.is_none() {
        draft.set(&STATUS, parameters.initial_order_status)?;
    }
    if draft.given(&INVOICE_PREFIX)?.is_none() {
        draft.set(&INVOICE_PREFIX, parameters.invoice_prefix.clone())?;
    }
    Ok(())
}

/// What the items of a new order share, with the rate of its currency unless the body gives one.
async fn terms(draft: &mut Draft, write: &mut Write<'_>) -> Result<Terms, Error> {
    let currency = match draft.get(&CURRENCY_CODE)? {
        Some(code) => currencies::by_code(code, write).await?,
        None => None,
    };
    let mut decimals = 0;
    if let Some(currency) = currency {
        decimals = currency.need(&DECIMALS)?;
        draft.set(&CURRENCY_DECIMALS, decimals)?;
        if draft.given(&CURRENCY_VALUE)?.is_none() {
            draft.set(&CURRENCY_VALUE, currency.need(&RATE)?)?;
        }
    }
    // An invalid rate or moment makes the write fail, so the amounts do not matter.
    let rate = draft.get(&CURRENCY_VALUE)?.unwrap_or_default();
    Ok(Terms { rate, decimals, created_on: draft.get(&CREATED_ON)? })
}

/// Notes the sums of the items, and computes the total of an order that omits it.
fn add_up(draft: &mut Draft, sums: &Sums) -> Result<(), Error> {
    draft.set(&ITEM_QUANTITY, sums.quantity)?;
    for (field, sum) in [(SUBTOTAL, sums.finalprice), (TAX, sums.tax)] {
        if draft.given(&field)?.is_none() {
            match i64::try_from(sum).ok().filter(|sum| *sum <= MAX_AMOUNT) {
                Some(sum) => draft.set(&field, Units(sum))?,
                None => draft.refuse(&field, format!("{} would be too large.", field.name)),
            }
        }
    }
    if draft.given(&TOTAL)?.is_some() {
        return Ok(());
    }
    let mut total = 0;
    for (part, sign) in PARTS_OF_TOTAL {
        // An invalid part counts as 0, because the order will be refused.
        total += sign * draft.get(&part)?.unwrap_or_default().0;
    }
    match total.max(0) {
        total if total <= MAX_AMOUNT => draft.set(&TOTAL, Units(total))?,
        _ => draft.refuse(&TOTAL, "The total of the order is too large."),
    }
    Ok(())
}

/// Checks a change of an order. What it omits is never computed again.
async fn check_change(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    shipping::name_places(draft, before, write).await?;
    for field in [REFERENCE, CURRENCY_CODE] {
        if draft.given(&field)?.is_some_and(Value::is_blank) {
            draft.refuse(&field, format!("{} must not be empty.", field.name));
        }
    }
    if let Some(code) = draft.get(&CURRENCY_CODE)?
        && before.map(|before| before.need(&CURRENCY_CODE)).transpose()? != Some(code)
        && let Some(currency) = currencies::by_code(code, write).await?
    {
        draft.set(&CURRENCY_DECIMALS, currency.need(&DECIMALS)?)?;
    }
    if let (Some(before), Some(code)) = (before, draft.get(&CURRENCY_CODE)?)
        && before.need(&CURRENCY_CODE)? != code
        && before.need(&REFUNDED)?.0 != 0
    {
        let detail = "currency_code cannot change: the order has refunds in the present currency.";
        draft.refuse(&CURRENCY_CODE, detail);
    }
    if let (Some(before), Some(refund)) = (before, draft.get(&REFUND)?) {
        let refunded = before.need(&REFUNDED)?;
        if refund < refunded {
            let least = money_text(refunded.0);
            let detail = format!("order_refund must be at least {least}, the sum of its refunds.");
            draft.refuse(&REFUND, detail);
        }
    }
    entry::check_status(draft, &STATUS, before, write).await
}

/// Adds an entry to the history of an order that gets another status.
async fn enter_status(before: &Record, after: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    let status = after.need(&STATUS)?;
    if before.need(&STATUS)? != status {
        Entry::of(status).add_to(after.key(), write).await?;
    }
    Ok(())
}

/// Where a cascade fires no trigger, what refunds add up to would still be counted.
async fn remove_refunds(order: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    const REMOVE: &str = "DELETE FROM shop_orderrefunds WHERE order_key = ?";
    let statement = Statement::fixed(REMOVE, vec![Value::Int(order.key())]);
    write.transaction.execute(statement).await
}

/// A reference that sorts by the moment of its creation: ten characters for the milliseconds and
/// eight random ones, so that processes need no coordination. Within a millisecond, a process
/// increments the random part.
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
            // The highest bit remains free for increments within the millisecond.
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
