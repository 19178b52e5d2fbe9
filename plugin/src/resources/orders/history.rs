//! Order histories: every status that an order was given, by whom, and with which comment. A new
//! entry changes the status of the order.

use std::ops::ControlFlow::{Break, Continue};

use host_interface::{Method, Response};
use time::PrimitiveDateTime;

use super::entry::{
    COMMENT, NOTIFY_CUSTOMER, NewEntry, ORDER, ORDER_KEY, ORDER_REFERENCE, ORDER_VERSION, STATUS,
    check_status,
};
use super::notice::{self, Occasion};
use super::order::{self, ORDERS};
use crate::error::Error;
use crate::model::field::{Field, Handle, created_on, flag, int, key};
use crate::model::moment;
use crate::model::question::Page;
use crate::model::record::Record;
use crate::model::resource::{Nested, Resource};
use crate::model::value::Value;
use crate::resources::orderstatuses::ORDERSTATUSES;
use crate::service::call::Call;
use crate::service::hooks::{Gives, Scene, Service, Special};
use crate::service::{crud, once};
use crate::sql;
use crate::wire::body::Body;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request;

pub(crate) static ORDERHISTORIES: Resource = Resource {
    kind: "orderhistories",
    title: Some("Order history"),
    singular: "order history entry",
    table: "shop_orderhistories",
    key: "shop_orderhistory_id",
    list: &[ORDER_REFERENCE, STATUS.field.required(), COMMENT.field, CREATED_ON.field],
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

/// An entry as clients of other systems send it.
pub(super) static STATUS_CHANGE: Resource = Resource {
    kind: "orderhistories",
    view: Some("orderhistories.status"),
    singular: "status change",
    list: &[NEW_STATUS.field.required(), NOTIFY.field, COMMENT.field],
    versioned: false,
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

const CREATED_BY: Handle<i64> = int("created_by").read_only().number();
const CREATED_ON: Handle<PrimitiveDateTime> = created_on().time();

const NEW_STATUS: Handle<i64> = key("status_id", ORDERSTATUSES.kind).number();
const NOTIFY: Handle<bool> = flag("notify").default(0).truth();

/// `POST /orders/<id>/history`
async fn create(call: &Call<'_>) -> Result<Response, Error> {
    add(call, &ORDERHISTORIES, &STATUS, &NOTIFY_CUSTOMER).await
}

/// `POST /orders/<id>/status`
pub(super) async fn change_status(call: &Call<'_>) -> Result<Response, Error> {
    add(call, &STATUS_CHANGE, &NEW_STATUS, &NOTIFY).await
}

/// Adds the entry that a body of this form describes, in which these fields are the status and whether
/// the customer is told.
async fn add(
    call: &Call<'_>,
    form: &'static Resource,
    status: &Handle<i64>,
    notify: &Handle<bool>,
) -> Result<Response, Error> {
    request::no_listing(call.request.query())?;
    let body = Body::read(call.request, form, None)?;
    let key = crud::path_key(call, &ORDERS)?;
    let mut draft = Draft::read(form, &body, Intent::Create);
    let mut transaction = match once::begin(call).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let order = crud::locked(call, &mut transaction, &ORDERS, key).await?;
    check_status(&mut draft, status, Some(&order), &mut transaction).await?;
    let described = draft.as_record();
    let mut scene = Scene { call, transaction: &mut transaction };
    crud::validate(&mut draft, &described, Vec::new(), &mut scene).await?;
    let created_on = match form.position(CREATED_ON.name) {
        Some(_) => described.need(&CREATED_ON)?,
        None => moment::now(),
    };
    let entry = NewEntry {
        status: described.need(status)?,
        comment: described.need(&COMMENT)?.to_owned(),
        notify: described.need(notify)?,
        created_on,
    };
    let added = enter(&order, &entry, &[], &mut scene).await?;
    if entry.notify {
        notice::queue_mail(&order, &entry, Occasion::Status, &mut scene).await?;
    }
    let cells = transaction.page(&Page::of_one(&ORDERHISTORIES, added)).await?;
    let location = format!("{}/orders/{key}/history", call.shop.root);
    let of_order = Some((ORDER_VERSION, order.version() + 1));
    let answer = crud::single_with(201, call, &ORDERHISTORIES, &cells, of_order)?;
    let answer = answer.with_header("location", location);
    let answer = once::commit(call, transaction, answer).await?;
    if entry.notify {
        call.shop.sender.wake();
    }
    Ok(answer)
}

/// Adds an entry to the history of an order, which is locked, and gives the order its status and these
/// further values. Returns the key of the entry.
pub(super) async fn enter(
    order: &Record,
    entry: &NewEntry,
    further: &[(&Field, Value)],
    scene: &mut Scene<'_>,
) -> Result<i64, Error> {
    let values = [
        (&*ORDER_KEY, Value::Int(order.key())),
        (&*STATUS, Value::Int(entry.status)),
        (&*COMMENT, Value::Text(entry.comment.clone())),
        (&*NOTIFY_CUSTOMER, Value::Int(entry.notify.into())),
        (&*CREATED_BY, Value::Int(scene.call.user())),
        (&*CREATED_ON, Value::Moment(entry.created_on)),
    ];
    let transaction = &mut *scene.transaction;
    let values = values.iter().map(|(field, value)| (*field, value));
    let insert = sql::insert(&ORDERHISTORIES, values, transaction.dialect());
    let key = transaction.insert(insert).await?;
    let changes = [&[(&*STATUS, Value::Int(entry.status))], further].concat();
    order::change(order.key(), &changes, transaction).await?;
    Ok(key)
}
