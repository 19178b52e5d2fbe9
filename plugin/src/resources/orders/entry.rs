//! Entries of the history of orders, the fields by which parts of an order refer to it, and the right of
//! a warehouse. Independent of orders and items.

use time::PrimitiveDateTime;

use crate::error::Error;
use crate::model::field::{Field, Handle, Typed, flag, key, text};
use crate::model::record::Record;
use crate::model::resource::Join;
use crate::model::value::Value;
use crate::service::hooks::Scene;
use crate::sql::Statement;
use crate::store::Transaction;
use crate::wire::draft::Draft;

/// The status of an order, which is that of its latest entry.
pub(super) const STATUS: Handle<i64> =
    key("order_state_id", "orderstatuses").related_as("orderstatus").number();

/// The human-readable reference of the order that a record belongs to.
pub(super) const ORDER_REFERENCE: Field = text("order_id", 64).joined("o", "order_id");
/// The order that a record belongs to.
pub(super) const ORDER_KEY: Handle<i64> =
    key("order_key", "orders").owned().read_only().related_as("order").number();
/// The join of the order's row.
pub(super) const ORDER: Join =
    Join { alias: "o", table: "shop_orders", key: "shop_order_id", by: ORDER_KEY.field.name };

/// The action that is enough for all that a warehouse does, and for nothing else.
pub const FULFIL: &str = "store.fulfil";

/// The member of `meta` with the version of the order that a request about a part of it has left.
pub(super) const ORDER_VERSION: &str = "order_version";

pub(super) const COMMENT: Handle<String> = text("comment", 65_535).words();
pub(super) const NOTIFY_CUSTOMER: Handle<bool> = flag("notify_customer").default(0).truth();

/// A new entry that a client or a shipment makes.
pub(super) struct NewEntry {
    /// The status that the order gets, or has already.
    pub(super) status: i64,
    /// The comment; may be empty.
    pub(super) comment: String,
    /// Whether the customer is told.
    pub(super) notify: bool,
    /// When it is made.
    pub(super) created_on: PrimitiveDateTime,
}

/// An entry that results from a write of its order.
pub(super) struct Entry {
    pub(super) order: i64,
    pub(super) status: i64,
    pub(super) created_on: PrimitiveDateTime,
}

/// Writes an entry with only a status.
pub(super) async fn write(entry: Entry, scene: &mut Scene<'_>) -> Result<(), Error> {
    let statement = Statement::fixed(
        "INSERT INTO shop_orderhistories (order_key, order_state_id, created_by, created_on) \
         VALUES (?, ?, ?, ?)",
        vec![
            Value::Int(entry.order),
            Value::Int(entry.status),
            Value::Int(scene.call.user()),
            entry.created_on.into_value(),
        ],
    );
    scene.transaction.execute(statement).await.map(|_| ())
}

/// Refuses a disabled status in this field. The check of references reports a missing one, and the
/// present status of the order may remain: a note on the order repeats it.
pub(super) async fn check_status(
    draft: &mut Draft,
    field: &Handle<i64>,
    before: Option<&Record>,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    let Some(status) = draft.get(field)? else { return Ok(()) };
    if let Some(before) = before
        && before.need(&STATUS)? == status
    {
        return Ok(());
    }
    let statement = Statement::fixed(
        "SELECT enabled FROM shop_orderstatuses WHERE shop_orderstatus_id = ?",
        vec![Value::Int(status)],
    );
    if transaction.numbers(statement).await? == [0] {
        draft.refuse(field, format!("{} must be an enabled order status.", field.name));
    }
    Ok(())
}
