//! Order histories: every status that an order was given, by whom, and with which comment. A new
//! entry changes the status of the order.

use std::ops::ControlFlow::{Break, Continue};

use host_interface::{Mail, Method, Response};

use super::entry::{ORDER, ORDER_KEY, ORDER_REFERENCE, STATUS, check_status};
use super::order::{self, ORDERS};
use crate::error::Error;
use crate::model::field::{Handle, created_on, flag, int, modified_on, text};
use crate::model::question::Page;
use crate::model::record::Record;
use crate::model::resource::{Nested, Resource};
use crate::model::value::{Value, decimal_text};
use crate::resources::currencies::{self, DECIMALS};
use crate::resources::orderstatuses::{self, ORDERSTATUSES};
use crate::service::call::Call;
use crate::service::hooks::{Gives, Scene, Service, Special};
use crate::service::notification::Notice;
use crate::service::{crud, once, outbox};
use crate::sql;
use crate::store::Transaction;
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request;

pub(crate) static ORDERHISTORIES: Resource = Resource {
    kind: "orderhistories",
    title: Some("Order history"),
    singular: "order history entry",
    table: "shop_orderhistories",
    key: "shop_orderhistory_id",
    list: &[ORDER_REFERENCE, STATUS.field.required(), COMMENT.field, created_on()],
    detail: &[NOTIFY_CUSTOMER.field, CREATED_BY.field],
    hidden: &[ORDER_KEY.field],
    joins: &[ORDER],
    crud: false,
    readable: true,
    nested: &[Nested {
        parent: "orders",
        segment: "history",
        by: ORDER_KEY.field.name,
        filters: &[],
    }],
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    special: &[Special {
        method: Method::Post,
        path: "orders/{id:digits}/history",
        name: "create",
        action: Some("store.edit"),
        asset: Some("orders"),
        takes: Some(&ORDERHISTORIES),
        gives: Gives::Part(&ORDERHISTORIES, ORDER_VERSION),
        run: |call| Box::pin(create(call)),
    }],
    ..Service::of(&ORDERHISTORIES)
};

const COMMENT: Handle<String> = text("comment", 65_535).words();
const NOTIFY_CUSTOMER: Handle<bool> = flag("notify_customer").default(0).truth();
const CREATED_BY: Handle<i64> = int("created_by").read_only().number();

/// The member of `meta` with the version of the order that has the new entry.
const ORDER_VERSION: &str = "order_version";

/// Adds an entry and updates the order, in one transaction.
async fn create(call: &Call<'_>) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let body = Body::read(call.request, &ORDERHISTORIES, None)?;
    let order = crud::path_key(call, &ORDERS)?;
    let mut draft = Draft::read(&ORDERHISTORIES, &body, Intent::Create);
    draft.set(&ORDER_KEY, order)?;
    draft.set(&CREATED_BY, call.user())?;
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let moved = crud::locked(call, &mut transaction, &ORDERS, order).await?;
    check_status(&mut draft, Some(&moved), &mut transaction).await?;
    let entry = draft.as_record();
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &entry, Vec::new(), &mut scene).await?;
    let insert = sql::insert(&ORDERHISTORIES, draft.changes(), transaction.dialect());
    let key = transaction.insert(insert).await?;
    let (touched, now) = (modified_on(), Value::now());
    let changes = [(&*STATUS, entry.value(STATUS.name)?), (&touched, &now)];
    let update = sql::update(&ORDERS, order, changes.into_iter(), transaction.dialect());
    transaction.execute(update).await?;
    let notify = entry.need(&NOTIFY_CUSTOMER)?;
    if notify {
        let mail = mail(&moved, &entry, call, &mut transaction).await?;
        outbox::put(mail, &mut transaction).await?;
    }
    let cells = transaction.page(&Page::of_one(&ORDERHISTORIES, key)).await?;
    let location = format!("{}/orders/{order}/history", call.shop.root);
    let of_order = Some((ORDER_VERSION, moved.version() + 1));
    let answer = crud::single_with(201, call, &ORDERHISTORIES, &cells, of_order)?;
    let answer = answer.with_header("location", location);
    let answer = once::commit(call, transaction, answer).await?;
    if notify {
        call.shop.sender.wake();
    }
    Ok(answer)
}

/// The mail to the customer about the new entry of the order.
async fn mail(
    order: &Record,
    entry: &Record,
    call: &Call<'_>,
    transaction: &mut Transaction,
) -> Result<Mail, Error> {
    let parameters = call.shop.parameters.current()?;
    let status = crud::record(transaction, &ORDERSTATUSES, entry.need(&STATUS)?).await?;
    let currency_code = order.need(&order::CURRENCY_CODE)?;
    let decimals = match currencies::by_code(currency_code, transaction).await? {
        Some(currency) => currency.need(&DECIMALS)?,
        None => 2,
    };
    let decimals = u8::try_from(decimals.clamp(0, 5)).unwrap_or(2);
    let text = |field: &Handle<String>| Ok::<_, Error>(order.need(field)?.to_owned());
    let notice = Notice {
        store_name: parameters.store_name.clone(),
        order_id: text(&order::REFERENCE)?,
        created_on: order.need(&order::CREATED_ON)?.date().to_string(),
        status: status.need(&orderstatuses::NAME)?.to_owned(),
        comment: entry.need(&COMMENT)?.to_owned(),
        first_name: text(&order::BILLING_FIRST_NAME)?,
        last_name: text(&order::BILLING_LAST_NAME)?,
        email: text(&order::USER_EMAIL)?,
        order_total: decimal_text(order.need(&order::TOTAL)?.0, 5, decimals),
        currency_code: currency_code.to_owned(),
    };
    notice.into_mail(&parameters)
}
