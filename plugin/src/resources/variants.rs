//! Variants: the sellable forms of a product. They belong to their product and are listed below it.

use super::products::{PRICE, SKU};
use crate::model::field::{Handle, flag, identifier, int, key, quantity};
use crate::model::resource::{Nested, Resource};

pub(crate) static VARIANTS: Resource = Resource {
    kind: "variants",
    singular: "variant",
    table: "shop_variants",
    key: "shop_variant_id",
    list: &[
        PRODUCT.field,
        IS_MASTER.field,
        SKU.field,
        PRICE.field,
        flag("manage_stock"),
        flag("availability"),
        quantity("sold"),
        flag("isdefault_variant").default(0),
    ],
    detail: &[
        identifier("upc", 64),
        flag("quantity_restriction").default(0),
        quantity("min_sale_qty").nullable(),
        quantity("max_sale_qty").nullable(),
        int("allow_backorder").between(0, 2),
        quantity("weight").nullable(),
        quantity("length").nullable(),
        quantity("width").nullable(),
        quantity("height").nullable(),
        flag("shipping").default(0),
    ],
    crud: false,
    readable: true,
    nested: &[Nested {
        parent: "products",
        segment: "variants",
        by: PRODUCT.field.name,
        filters: &[],
    }],
    ..Resource::CRUD
}
.checked();

/// The product of the variant.
pub(super) const PRODUCT: Handle<i64> = key("product_id", "products").owned().number();
/// Whether it represents the product as a whole.
pub(super) const IS_MASTER: Handle<bool> = flag("is_master").default(0).truth();
