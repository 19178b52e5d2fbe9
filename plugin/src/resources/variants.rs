//! Variants: what of a product is really sold. They belong to their product and are read below it.

use crate::model::resource::{Nested, Resource, amount, flag, int, key, money, text};

pub(super) const VARIANTS: Resource = Resource {
    kind: "variants",
    singular: "variant",
    table: "shop_variants",
    key: "shop_variant_id",
    list: &[
        key("product_id", "products").owned(),
        flag("is_master").default(0),
        text("sku", 255),
        money("price"),
        flag("manage_stock"),
        flag("availability"),
        amount("sold"),
        flag("isdefault_variant").default(0),
    ],
    detail: &[
        text("upc", 64),
        flag("quantity_restriction").default(0),
        amount("min_sale_qty").nullable(),
        amount("max_sale_qty").nullable(),
        int("allow_backorder").between(0, 2),
        amount("weight").nullable(),
        amount("length").nullable(),
        amount("width").nullable(),
        amount("height").nullable(),
        flag("shipping").default(0),
    ],
    crud: false,
    nested: &[Nested { parent: "products", segment: "variants", by: "product_id", filters: &[] }],
    ..Resource::CRUD
};
