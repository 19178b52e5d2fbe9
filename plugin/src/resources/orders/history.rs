//! Order histories: every status that an order was given, by whom, and what was said about it.
//! Adding an entry moves the order.

use host_interface::{Mail, Method, Response};

use crate::app::Call;
use crate::error::Error;
use crate::model::question::{Draft, Intent, Page, Record};
use crate::model::resource::{
    Field, Gives, Join, Nested, Resource, Scene, Special, created_on, flag, int, key, text,
};
use crate::model::value::{Value, decimal_text};
use crate::service::crud;
use crate::service::notification::Notice;
use crate::service::outbox;
use crate::sql::{self, Statement};
use crate::store::Transaction;
use crate::wire::request::{self, Body};

use super::order::{self, ORDERS, refuse_disabled};
use crate::resources::orderstatuses::ORDERSTATUSES;

pub(crate) const ORDERHISTORIES: Resource = Resource {
    kind: "orderhistories",
    title: Some("Order history"),
    singular: "order history entry",
    table: "shop_orderhistories",
    key: "shop_orderhistory_id",
    list: &[
        ORDER_REFERENCE,
        key("order_state_id", "orderstatuses").required().related_as("orderstatus"),
        text("comment", 65_535),
        created_on(),
    ],
    detail: &[flag("notify_customer").default(0), int("created_by").read_only()],
    hidden: &[ORDER_KEY],
    joins: &[ORDER],
    crud: false,
    nested: &[Nested { parent: "orders", segment: "history", by: "order_key", filters: &[] }],
    special: &[Special {
        method: Method::Post,
        path: "orders/{id:digits}/history",
        name: "create",
        action: Some("store.edit"),
        asset: Some("orders"),
        takes: Some(|| &ORDERHISTORIES),
        gives: Gives::New(|| &ORDERHISTORIES),
        run: |call, resource| Box::pin(create(call, resource)),
    }],
    ..Resource::CRUD
};

/// The human-readable reference of the order that a record belongs to.
pub(super) const ORDER_REFERENCE: Field = text("order_id", 64).joined("o", "order_id");
/// The order that a record belongs to.
pub(super) const ORDER_KEY: Field =
    key("order_key", "orders").owned().read_only().related_as("order");
/// The order's row.
pub(super) const ORDER: Join =
    Join { alias: "o", table: "shop_orders", key: "shop_order_id", by: "order_key" };

/// An entry that follows from a write to its order.
pub(super) struct Entry {
    pub(super) order: i64,
    pub(super) status: i64,
    pub(super) created_on: Value,
}

/// Writes an entry that says nothing but the status.
pub(super) async fn write(entry: Entry, scene: &mut Scene<'_>) -> Result<(), Error> {
    let statement = Statement::fixed(
        "INSERT INTO shop_orderhistories (order_key, order_state_id, created_by, created_on) \
         VALUES (?, ?, ?, ?)",
        vec![
            Value::Int(entry.order),
            Value::Int(entry.status),
            Value::Int(acting_user(scene.call)),
            entry.created_on,
        ],
    );
    scene.transaction.execute(statement).await.map(|_| ())
}

/// Refuses a status that is disabled. One that does not exist is found with the other references,
/// and one that the order has already may stay: a note on the order says it again.
pub(super) async fn check_status(
    draft: &mut Draft,
    before: Option<&Record>,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    let Some(status) = draft.given("order_state_id").cloned() else { return Ok(()) };
    if before.is_some_and(|before| *before.value("order_state_id") == status) {
        return Ok(());
    }
    let statement = Statement::fixed(
        "SELECT enabled FROM shop_orderstatuses WHERE shop_orderstatus_id = ?",
        vec![status],
    );
    if transaction.numbers(statement).await? == [0] {
        refuse_disabled(draft);
    }
    Ok(())
}

/// Adds an entry and moves the order, in one transaction.
async fn create(call: &Call<'_>, resource: &'static Resource) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let body = Body::read(call.request, resource, None)?;
    let order = crud::path_key(call, &ORDERS)?;
    let mut draft = Draft::read(resource, &body, Intent::Create);
    draft.set("order_key", Value::Int(order));
    draft.set("created_by", Value::Int(acting_user(call)));
    let mut transaction = call.app.store.begin().await?;
    let moved = crud::locked(&mut transaction, &ORDERS, order).await?;
    check_status(&mut draft, Some(&moved), &mut transaction).await?;
    let after = draft.as_record();
    crud::settle(&mut draft, &after, &mut transaction).await?;
    let insert = sql::insert(resource, draft.changes(), transaction.dialect());
    let key = transaction.execute(insert).await?;
    let update = Statement::fixed(
        "UPDATE shop_orders SET order_state_id = ?, modified_on = ? WHERE shop_order_id = ?",
        vec![after.value("order_state_id").clone(), Value::now(), Value::Int(order)],
    );
    transaction.execute(update).await?;
    let notify = after.value("notify_customer").int() == 1;
    if notify {
        let mail = mail(&moved, &after, call, &mut transaction).await?;
        outbox::put(mail, &mut transaction).await?;
    }
    let cells = transaction.page(&Page::of_one(resource, key)).await?;
    transaction.commit().await?;
    if notify {
        call.app.sender.wake();
    }
    let location = format!("{}/orders/{order}/history", call.app.root);
    Ok(crud::single(201, call, resource, &cells)?.with_header("location", location))
}

/// What the customer is told about the order and its new entry.
async fn mail(
    order: &Record,
    entry: &Record,
    call: &Call<'_>,
    transaction: &mut Transaction,
) -> Result<Mail, Error> {
    let parameters = call.app.parameters.current()?;
    let status = entry.value("order_state_id").int();
    let status = crud::record(transaction, &ORDERSTATUSES, status).await?;
    let currency = order::by_code(order.value("currency_code"), transaction).await?;
    let decimals = currency.map_or(2, |currency| currency.value("currency_num_decimals").int());
    let decimals = u8::try_from(decimals.clamp(0, 5)).unwrap_or(2);
    let text = |name| order.value(name).text().to_owned();
    let created_on = order.value("created_on").moment();
    let notice = Notice {
        store_name: parameters.store_name.clone(),
        order_id: text("order_id"),
        created_on: created_on.map(|moment| moment.date().to_string()).unwrap_or_default(),
        status: status.value("orderstatus_name").text().to_owned(),
        comment: entry.value("comment").text().to_owned(),
        first_name: text("billing_first_name"),
        last_name: text("billing_last_name"),
        email: text("user_email"),
        order_total: decimal_text(order.value("order_total").int(), 5, decimals),
        currency_code: text("currency_code"),
    };
    notice.into_mail(&parameters)
}

fn acting_user(call: &Call<'_>) -> i64 {
    call.request.user().map_or(0, host_interface::User::id)
}
