//! The history of an order: every status that it was given, by whom, and with which comment. Also the
//! fields by which parts of an order refer to it, and the right of a warehouse. Independent of orders and
//! items.

use time::PrimitiveDateTime;

use crate::error::Error;
use crate::model::field::{Field, Handle, Typed, created_on, flag, int, key, text};
use crate::model::moment;
use crate::model::personal::Personal;
use crate::model::presentation::Presentation;
use crate::model::record::Record;
use crate::model::resource::{Join, Nested, Resource};
use crate::model::value::Value;
use crate::service::write::Write;
use crate::sql::Statement;
use crate::wire::draft::Draft;

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
    nested: &[below_order("history")],
    shown: Presentation {
        label: &["created_on"],
        columns: &["created_on", "order_state_id", "comment", "notify_customer"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

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

/// The list of the parts of an order at this segment below it.
pub(super) const fn below_order(segment: &'static str) -> Nested {
    Nested { parent: "orders", segment, by: ORDER_KEY.field.name, filters: &[] }
}

/// The action that permits all that a warehouse does, and nothing else.
pub const FULFIL: &str = "store.fulfil";

/// The member of `meta` with the version that an order has after a request about a part of it.
pub(super) const ORDER_VERSION: &str = "order_version";

pub(super) const COMMENT: Handle<String> =
    text("comment", 65_535).personal(Personal::FreeText).words();
pub(super) const NOTIFY_CUSTOMER: Handle<bool> = flag("notify_customer").default(0).truth();
pub(super) const CREATED_ON: Handle<PrimitiveDateTime> = created_on().time();
const CREATED_BY: Handle<i64> = int("created_by").read_only().number();

/// A new entry.
pub(super) struct Entry {
    /// The status that the order gets, or has already.
    pub(super) status: i64,
    /// The comment; may be empty.
    pub(super) comment: String,
    /// Whether the customer gets a mail.
    pub(super) notify: bool,
    /// When it is made.
    pub(super) created_on: PrimitiveDateTime,
}

impl Entry {
    /// An entry of now with only a status.
    pub(super) fn of(status: i64) -> Self {
        Self { status, comment: String::new(), notify: false, created_on: moment::now() }
    }

    /// Adds it to the history of an order, and returns its key.
    pub(super) async fn add_to(&self, order: i64, write: &mut Write<'_>) -> Result<i64, Error> {
        let values = [
            (&*ORDER_KEY, Value::Int(order)),
            (&*STATUS, Value::Int(self.status)),
            (&*COMMENT, Value::Text(self.comment.clone())),
            (&*NOTIFY_CUSTOMER, Value::Int(self.notify.into())),
            (&*CREATED_BY, Value::Int(write.call.user())),
            (&*CREATED_ON, self.created_on.into_value()),
        ];
        write.add(&ORDERHISTORIES, &values).await
    }
}

/// Refuses a disabled status in this field. The check of references reports a missing one, and the
/// present status of the order may remain: a note on the order repeats it.
pub(super) async fn check_status(
    draft: &mut Draft,
    field: &Handle<i64>,
    before: Option<&Record>,
    write: &mut Write<'_>,
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
    if write.transaction.numbers(statement).await? == [0] {
        draft.refuse(field, format!("{} must be an enabled order status.", field.name));
    }
    Ok(())
}
