//! Shipments: what of an order has left the store, when, and with which carrier.

use super::entry::{FULFIL, ORDER, ORDER_KEY, ORDER_REFERENCE, below_order};
use super::order::ORDERS;
use crate::error::Error;
use crate::model::field::{
    Field, Handle, created_on, int, json_list, key, modified_on, text, web_address,
};
use crate::model::personal::Personal;
use crate::model::presentation::Presentation;
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::{Order, PartOf, Permissions, Resource};
use crate::model::value::{Kind, Value};
use crate::service::write::Write;

pub(crate) static SHIPMENTS: Resource = Resource {
    kind: "shipments",
    singular: "shipment",
    table: "shop_shipments",
    key: "shop_shipment_id",
    detail: &[
        ORDER_REFERENCE,
        TRACKING_ID.field,
        CARRIER.field,
        TRACKING_URL.field,
        ITEMS,
        CREATED_BY.field,
        created_on(),
        modified_on(),
    ],
    hidden: &[ORDER_KEY.field, STATUS_BEFORE.field, STATUS_AFTER.field],
    joins: &[ORDER],
    crud: false,
    readable: true,
    editable: true,
    nested: &[below_order("shipments")],
    part_of: Some(&PartOf { whole: &ORDERS, by: ORDER_KEY }),
    permissions: Permissions::Of("orders"),
    or_action: Some(FULFIL),
    shown: Presentation {
        label: &["tracking_id"],
        columns: &["tracking_id", "carrier", "created_on"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(super) const TRACKING_ID: Handle<String> =
    text("tracking_id", 255).personal(Personal::Identifier).words();
pub(super) const CARRIER: Handle<String> = text("carrier", 255).words();
pub(super) const TRACKING_URL: Handle<String> =
    web_address("tracking_url").personal(Personal::Identifier).words();
pub(super) const ITEMS: Field =
    json_list("items", &[("orderitem_id", Kind::Key("orderitems")), ("quantity", PIECES)]);
/// A number of pieces.
const PIECES: Kind = Kind::Int { min: 1, max: i32::MAX as i64 };
pub(super) const CREATED_BY: Handle<i64> = int("created_by").read_only().number();

/// The status that the order had before, and the one that it got, if the shipment has changed it.
pub(super) const STATUS_BEFORE: Handle<i64> = status_of("status_before");
pub(super) const STATUS_AFTER: Handle<i64> = status_of("status_after");

const fn status_of(name: &'static str) -> Handle<i64> {
    key(name, "orderstatuses").nullable().snapshot().read_only().number()
}

/// The latest shipment of an order.
pub(super) async fn last(order: i64, write: &mut Write<'_>) -> Result<Option<Record>, Error> {
    Ok(read(order, 1, write).await?.pop())
}

/// The shipments of an order, the latest first.
pub(super) async fn all(order: i64, write: &mut Write<'_>) -> Result<Vec<Record>, Error> {
    read(order, i64::MAX, write).await
}

async fn read(order: i64, limit: i64, write: &mut Write<'_>) -> Result<Vec<Record>, Error> {
    let page = Page {
        conditions: vec![Condition::equals(&ORDER_KEY, Value::Int(order))],
        order: Order { field: None, descending: true },
        limit,
        ..Page::of(&SHIPMENTS)
    };
    write.transaction.page(&page).await?.records(&SHIPMENTS)
}
