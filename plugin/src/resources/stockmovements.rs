//! Stock movements: the ledger of every change of a quantity, with who made it and why. Entries are
//! only ever added, and those of a product remain after it. Independent of what changes a quantity.

use crate::error::Error;
use crate::model::field::{Handle, created_on, int, text, user};
use crate::model::resource::{Nested, Order, Resource};
use crate::model::value::Value;
use crate::service::hooks::Scene;
use crate::sql;

pub(crate) static STOCKMOVEMENTS: Resource = Resource {
    kind: "stockmovements",
    title: Some("Stock movements"),
    singular: "stock movement",
    table: "shop_inventory_ledger",
    key: "entry_id",
    list: &[
        PRODUCT.field,
        text("sku", 255),
        int("quantity_delta"),
        int("quantity_before"),
        int("quantity_after"),
        text("reason", 255),
        text("reference", 255),
        user("user_id"),
        text("token_name", 255),
        created_on(),
    ],
    crud: false,
    order: Order { field: None, descending: true },
    nested: &[Nested {
        parent: "inventory",
        segment: "ledger",
        by: PRODUCT.field.name,
        filters: &[],
    }],
    versioned: false,
    folds: false,
    governed_by: Some("inventory"),
    ..Resource::CRUD
}
.checked();

/// Not a reference, which would keep the product from being deleted.
const PRODUCT: Handle<i64> = int("product_id").number();

/// Why the store itself has changed a quantity.
pub(super) mod reason {
    pub(crate) const CREATED: &str = "product created";
    pub(crate) const SET: &str = "quantity set";
    pub(crate) const DELETED: &str = "product deleted";
    pub(crate) const STOCKED: &str = "stock record created";
    pub(crate) const UNSTOCKED: &str = "stock record removed";
    pub(crate) const ORDERED: &str = "order placed";
}

/// A change of the quantity of a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Movement<'a> {
    /// The key of the product.
    pub(super) product: i64,
    /// Its SKU.
    pub(super) sku: &'a str,
    /// The quantity before.
    pub(super) before: i64,
    /// The quantity after.
    pub(super) after: i64,
    /// Why it changes.
    pub(super) reason: &'a str,
    /// What the change belongs to, such as an order; empty for nothing.
    pub(super) reference: &'a str,
}

/// Adds these movements to the ledger in their order, but for those that change nothing.
pub(super) async fn record(movements: &[Movement<'_>], scene: &mut Scene<'_>) -> Result<(), Error> {
    const COLUMNS: [&str; 11] = [
        "product_id",
        "sku",
        "quantity_delta",
        "quantity_before",
        "quantity_after",
        "reason",
        "reference",
        "user_id",
        "token_name",
        "request_id",
        "created_on",
    ];
    let Scene { call, transaction } = scene;
    let text = |text: &str| Value::Text(text.to_owned());
    let (user, token, request) = (call.user(), call.token_name(), call.request.id());
    let now = Value::now();
    let moved = movements.iter().filter(|movement| movement.before != movement.after);
    let rows = moved.map(|movement| {
        vec![
            Value::Int(movement.product),
            text(movement.sku),
            Value::Int(movement.after - movement.before),
            Value::Int(movement.before),
            Value::Int(movement.after),
            text(movement.reason),
            text(movement.reference),
            Value::Int(user),
            text(token),
            text(request),
            now.clone(),
        ]
    });
    let rows: Vec<Vec<Value>> = rows.collect();
    for insert in sql::insert_rows(STOCKMOVEMENTS.table, &COLUMNS, &rows, transaction.dialect()) {
        transaction.execute(insert).await?;
    }
    Ok(())
}
