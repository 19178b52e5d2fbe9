//! Order items: the lines of orders. They are snapshots, so what they were made from may change or
//! go.

use crate::resource::{Nested, Resource, amount, created_on, int, json, money, text};

use super::orderhistories::{ORDER, ORDER_KEY, ORDER_REFERENCE};

pub(super) const ORDERITEMS: Resource = Resource {
    kind: "orderitems",
    singular: "order item",
    table: "shop_orderitems",
    key: "shop_orderitem_id",
    list: &[
        ORDER_REFERENCE,
        text("orderitem_sku", 255),
        text("orderitem_name", 255),
        int("orderitem_quantity").between(1, i32::MAX as i64).default(1),
        money("orderitem_finalprice"),
        money("orderitem_tax"),
    ],
    detail: &[
        int("product_id").nullable(),
        int("variant_id").nullable(),
        json("orderitem_attributes"),
        money("orderitem_price"),
        money("orderitem_option_price"),
        money("orderitem_finalprice_with_tax"),
        money("orderitem_discount"),
        amount("orderitem_weight").nullable(),
        created_on(),
    ],
    hidden: &[ORDER_KEY],
    joins: &[ORDER],
    crud: false,
    nested: &[Nested { parent: "orders", segment: "items", by: "order_key", filters: &[] }],
    ..Resource::CRUD
};
