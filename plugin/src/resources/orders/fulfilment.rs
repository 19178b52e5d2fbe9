//! Order fulfilments: orders as a warehouse sees them. They show what is to be sent and where, and what has
//! been sent, but neither prices nor payment. The list of the open ones is the pick list.

use super::entry::{FULFIL, ORDER_VERSION, ORDERHISTORIES, STATUS};
use super::history::{self, STATUS_CHANGE};
use super::items::FULFILMENT_ITEMS;
use super::order::{
    BY_STATUS, CREATED_ON, CUSTOMER_NOTE, IS_SHIPPABLE, ORDER_STATE, REFERENCE, STATUS_JOIN,
    STATUS_NAME,
};
use super::ship::{self, TRACKING};
use super::shipment::SHIPMENTS;
use super::shipping;
use super::state::{STATE, State};
use crate::error::Error;
use crate::model::field::{Field, text};
use crate::model::kept;
use crate::model::presentation::{Group, Presentation};
use crate::model::question::{Condition, Page};
use crate::model::resource::{
    Order, Permissions, Resource, Storage, date_from, date_to, filter, index,
};
use crate::model::value::Value;
use crate::resources::route::post;
use crate::service::call::Shop;
use crate::service::hooks::{Answer, Service};
use crate::sql::{Rows, row};

pub(crate) static ORDERFULFILMENTS: Resource = Resource {
    kind: "orderfulfilments",
    title: Some("Order fulfilments"),
    singular: "order fulfilment",
    table: "shop_orders",
    key: "shop_order_id",
    detail: &[
        REFERENCE.field,
        STATUS.field,
        STATUS_NAME,
        ORDER_STATE,
        IS_SHIPPABLE.field,
        CUSTOMER_NOTE,
        CREATED_ON.field,
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
        LAST_TRACKING_ID,
        STATE.field,
    ],
    crud: false,
    readable: true,
    listed_at: Some("fulfilments"),
    below: Some(("orders", "fulfilment")),
    shows_key: false,
    joins: &[STATUS_JOIN],
    // First come, first served.
    order: Order { field: Some(CREATED_ON.field.name), descending: false },
    filters: &[
        filter("state", STATE.field.name),
        filter("status", STATUS.field.name),
        filter("country", shipping::COUNTRY.field.name),
        date_from(CREATED_ON.field.name),
        date_to(CREATED_ON.field.name),
    ],
    parts: &[&FULFILMENT_ITEMS, &SHIPMENTS],
    permissions: Permissions::Of("orders"),
    or_action: Some(FULFIL),
    storage: Storage {
        counts: &[&kept::FULFILMENT_COUNTS],
        indexes: &[
            index(
                "shop_orders_fulfilment",
                &[
                    IS_SHIPPABLE.field.name,
                    STATE.field.name,
                    STATUS.field.name,
                    CREATED_ON.field.name,
                ],
            ),
            index(
                "shop_orders_fulfilment_state",
                &[IS_SHIPPABLE.field.name, STATE.field.name, CREATED_ON.field.name],
            ),
            index("shop_orders_ship_to", &[shipping::COUNTRY.field.name, CREATED_ON.field.name]),
            BY_STATUS,
        ],
        ..Storage::PLAIN
    },
    shown: Presentation {
        group: Some(Group::Sales),
        label: &["order_id"],
        columns: &[
            "order_id",
            "created_on",
            "fulfilment_state",
            "orderstatus_name",
            "shipping_last_name",
            "shipping_city",
        ],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    narrow: Some(|shop, filters| Box::pin(open_ones(shop, filters))),
    special: &[
        post(
            "orders/{id:digits}/status",
            "status",
            "Change the status of an order",
            &STATUS_CHANGE,
            Answer::Part(&ORDERHISTORIES, ORDER_VERSION),
            |call| Box::pin(history::change_status(call)),
        ),
        post(
            "orders/{id:digits}/tracking",
            "tracking",
            "Add a tracking number to an order",
            &TRACKING,
            Answer::Part(&SHIPMENTS, ORDER_VERSION),
            |call| Box::pin(ship::track(call)),
        ),
    ],
    ..Service::of(&ORDERFULFILMENTS)
};

const LAST_TRACKING_ID: Field = text("ordershipping_tracking_id", 255).computed(
    "(SELECT parcel.tracking_id FROM shop_shipments parcel \
     WHERE parcel.order_key = t.shop_order_id ORDER BY parcel.shop_shipment_id DESC LIMIT 1)",
);

/// The pick list: this many of the open orders, the oldest first.
pub async fn pick_list(shop: &Shop, limit: i64) -> Result<Page, Error> {
    let (conditions, order) = (open_ones(shop, &[]).await?, ORDERFULFILMENTS.order);
    Ok(Page { conditions, order, limit, ..Page::of(&ORDERFULFILMENTS) })
}

/// Limits a list to orders that are to be shipped, and to open ones unless a client filters by state or
/// status.
async fn open_ones(shop: &Shop, filters: &[Condition]) -> Result<Vec<Condition>, Error> {
    let shippable = Condition::equals(&IS_SHIPPABLE, Value::Int(1));
    let asked = |filter: &Condition| {
        filter.column().is_some_and(|name| name == STATE.name || name == STATUS.name)
    };
    if filters.iter().any(asked) {
        return Ok(vec![shippable]);
    }
    row! {
        struct Status {
            id: i64 = "shop_orderstatus_id",
        }
    }
    let closed = &shop.parameters.current()?.closed_statuses;
    let mut open = Vec::new();
    let all = Rows::<Status>::select("FROM shop_orderstatuses", Vec::new());
    for Status { id } in shop.store.rows(all).await? {
        open.extend((!closed.contains(&id)).then_some(Value::Int(id)));
    }
    if open.is_empty() {
        // No order has the status 0.
        open.push(Value::Int(0));
    }
    let states = [State::Unfulfilled, State::Partial].map(State::into_value).to_vec();
    Ok(vec![
        shippable,
        Condition::OneOf(STATE.field.name, states),
        Condition::OneOf(STATUS.field.name, open),
    ])
}
