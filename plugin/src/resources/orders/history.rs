//! New entries in the history of an order, which give the order their status.

use host_interface::Response;

use super::entry::{
    COMMENT, CREATED_ON, Entry, NOTIFY_CUSTOMER, ORDER_VERSION, ORDERHISTORIES, STATUS,
    check_status,
};
use super::notice::{self, Occasion};
use super::order::ORDERS;
use crate::error::Error;
use crate::model::field::{Field, Handle, flag, key};
use crate::model::moment;
use crate::model::record::Record;
use crate::model::resource::Resource;
use crate::model::value::Value;
use crate::resources::orderstatuses::ORDERSTATUSES;
use crate::resources::route::post;
use crate::service::call::Call;
use crate::service::hooks::{Answer, Service, Special};
use crate::service::write::Write;
use crate::wire::draft::{Draft, Intent};

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
        asset: Some("orders"),
        ..post(
            "orders/{id:digits}/history",
            "create",
            "Add an entry to the history",
            &ORDERHISTORIES,
            Answer::Part(&ORDERHISTORIES, ORDER_VERSION),
            |call| Box::pin(create(call)),
        )
    }],
    ..Service::of(&ORDERHISTORIES)
};

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

/// Adds the entry that a body of this form describes. `status` and `notify` are its fields with the status
/// and with whether the customer gets a mail.
async fn add(
    call: &Call<'_>,
    form: &'static Resource,
    status: &Handle<i64>,
    notify: &Handle<bool>,
) -> Result<Response, Error> {
    let mut draft = Draft::sent(call.request, form, None, Intent::Create)?;
    let key = call.path_key(&ORDERS)?;
    let mut write = Write::begin(call).await?;
    let order = write.target(&ORDERS, key).await?;
    check_status(&mut draft, status, Some(&order), &mut write).await?;
    let described = draft.as_record();
    write.validate(&mut draft, &described).await?;
    let created_on = match form.position(CREATED_ON.name) {
        Some(_) => described.need(&CREATED_ON)?,
        None => moment::now(),
    };
    let entry = Entry {
        status: described.need(status)?,
        comment: described.need(&COMMENT)?.to_owned(),
        notify: described.need(notify)?,
        created_on,
    };
    let added = enter(&order, &entry, &[], &mut write).await?;
    if entry.notify {
        notice::queue_mail(&order, &entry, Occasion::Status, &mut write).await?;
    }
    let version = (ORDER_VERSION, order.version() + 1);
    let location = format!("{}/orders/{key}/history", call.shop.root);
    let answer = write.added(&ORDERHISTORIES, added, version, location).await?;
    write.commit(answer).await
}

/// Adds an entry to the history of an order, which is locked, and gives the order the status of the entry
/// and these further values. Returns the key of the entry.
pub(super) async fn enter(
    order: &Record,
    entry: &Entry,
    further: &[(&Field, Value)],
    write: &mut Write<'_>,
) -> Result<i64, Error> {
    let added = entry.add_to(order.key(), write).await?;
    let values = [&[(&*STATUS, Value::Int(entry.status))], further].concat();
    write.change(&ORDERS, order.key(), &values).await?;
    Ok(added)
}
