//! Stock movements: the ledger of every change of a quantity, with who made it and why. Entries are
//! only ever added, and those of a product remain after it. Independent of what changes a quantity.

use crate::error::Error;
use crate::model::field::{Handle, created_on, int, text, user};
use crate::model::presentation::Presentation;
use crate::model::resource::{Nested, Order, Permissions, Resource};
use crate::model::value::Value;
use crate::service::write::Write;

pub(crate) static STOCKMOVEMENTS: Resource = Resource {
    kind: "stockmovements",
    title: Some("Stock movements"),
    singular: "stock movement",
    table: "shop_inventory_ledger",
    key: "entry_id",
    list: &[
        PRODUCT.field,
        VARIANT.field,
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
    nested: &[
        Nested { parent: "inventory", segment: "ledger", by: PRODUCT.field.name, filters: &[] },
        Nested { parent: "variants", segment: "ledger", by: VARIANT.field.name, filters: &[] },
    ],
    versioned: false,
    folds: false,
    permissions: Permissions::Of("inventory"),
    shown: Presentation {
        label: &["created_on"],
        columns: &["created_on", "sku", "quantity_delta", "quantity_after", "reason", "reference"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

/// Not a reference, which would keep the product from being deleted.
const PRODUCT: Handle<i64> = int("product_id").number();
/// The variant with the stock; unset where it is that of the product.
const VARIANT: Handle<i64> = int("variant_id").nullable().number();

/// Why the store itself has changed a quantity.
pub(super) mod reason {
    pub(crate) const CREATED: &str = "product created";
    pub(crate) const SET: &str = "quantity set";
    pub(crate) const DELETED: &str = "product deleted";
    pub(crate) const STOCKED: &str = "stock record created";
    pub(crate) const UNSTOCKED: &str = "stock record removed";
    pub(crate) const ORDERED: &str = "order placed";
    pub(crate) const REFUNDED: &str = "refund";
    pub(crate) const REVERSED: &str = "refund reversed";
    pub(crate) const TO_VARIANT: &str = "moved to a variant";
    pub(crate) const FROM_VARIANT: &str = "moved from a variant";
    pub(crate) const CREATED_VARIANT: &str = "variant created";
    pub(crate) const REMOVED_VARIANT: &str = "variant removed";
}

/// A change of the quantity of a product, or of a variant.
#[derive(Clone, Debug)]
pub(super) struct Movement {
    /// The key of the product.
    pub(super) product: i64,
    /// The key of the variant that has the stock, unless the product itself has it.
    pub(super) variant: Option<i64>,
    /// The SKU of the two that has the stock.
    pub(super) sku: String,
    /// The quantity before.
    pub(super) before: i64,
    /// The quantity after.
    pub(super) after: i64,
    /// Why it changes.
    pub(super) reason: String,
    /// What the change belongs to, such as an order; empty for nothing.
    pub(super) reference: String,
}

impl Movement {
    /// A movement that the store itself makes, of a record that shows a SKU.
    pub(super) fn of(
        product: i64,
        sku: &str,
        [before, after]: [i64; 2],
        reason: &'static str,
    ) -> Self {
        let (sku, reason) = (sku.to_owned(), reason.to_owned());
        Self { product, variant: None, sku, before, after, reason, reference: String::new() }
    }

    /// The movement of the stock of this variant.
    pub(super) fn of_variant(self, key: i64) -> Self {
        Self { variant: Some(key), ..self }
    }
}

/// Adds these movements to the ledger in their order, without those that change nothing.
pub(super) async fn record(movements: Vec<Movement>, write: &mut Write<'_>) -> Result<(), Error> {
    let moved = movements.into_iter().filter(|movement| movement.before != movement.after);
    let entries = moved.map(|movement| {
        [
            ("product_id", Value::Int(movement.product)),
            ("variant_id", movement.variant.map_or(Value::Null, Value::Int)),
            ("sku", Value::Text(movement.sku)),
            ("quantity_delta", Value::Int(movement.after - movement.before)),
            ("quantity_before", Value::Int(movement.before)),
            ("quantity_after", Value::Int(movement.after)),
            ("reason", Value::Text(movement.reason)),
            ("reference", Value::Text(movement.reference)),
        ]
    });
    write.append(&STOCKMOVEMENTS, entries).await
}
