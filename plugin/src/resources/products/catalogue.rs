//! The descriptors of products and of their variants.
//!
//! Each product has a master variant with its SKU, price and UPC, which the database itself keeps in sync. A
//! product without further variants has its stock in its own row; with some, these have it, and the row has the
//! sum, which the database keeps too.

use super::prices;
use crate::model::field::{
    ENABLED, Field, Handle, Money, created_on, flag, identifier, int, json, key, modified_on,
    money, name, quantity, text,
};
use crate::model::kept::{self, Aggregate};
use crate::model::presentation::{Group, Presentation};
use crate::model::resource::{
    Children, Filter, Nested, Part, PartOf, Resource, SharedTexts, Storage, contains, equals,
    filter, index, of_part, search, unique,
};

pub(crate) static PRODUCTS: Resource = Resource {
    kind: "products",
    singular: "product",
    table: "shop_products",
    impersonal: Some("what a store sells"),
    key: "shop_product_id",
    named_by: Some(SKU.field.name),
    list: &[
        int("product_source_id").nullable(),
        name("product_type", 64).default_text("simple"),
        NAME.field,
        flag("visibility"),
        ENABLED.field,
        key("manufacturer_id", "manufacturers").nullable(),
        HAS_OPTIONS.field,
        SKU.field,
        PRICE.field,
        SALE_PRICE.field,
        QUANTITY.field,
        text("main_image", 2048),
        created_on(),
    ],
    detail: &[
        key("taxprofile_id", "taxprofiles").nullable(),
        int("vendor_id").nullable(),
        identifier("upc", 64),
        modified_on(),
    ],
    hidden: &[
        key("category_id", "categories").nullable(),
        VARIANT_COUNT.field,
        HAD_OPTIONS.field,
        prices::FROM.field,
        prices::TO.field,
    ],
    derived_meta: Some(&prices::RANGE),
    children: Some(Children { name: "variants", of: &VARIANTS, if_empty: None }),
    filters: &[
        search(&["product_name"]),
        filter("category", "category_id"),
        filter("manufacturer", "manufacturer_id"),
        equals("product_type"),
        equals("enabled"),
        contains("sku", &["sku"]).replacing("search"),
        SKU_EXACT,
        equals("visibility"),
    ],
    storage: Storage {
        counts: PRODUCT_COUNTS,
        steps: &[&kept::PRODUCT_BLOCKS, &kept::PRODUCT_COUNTS_BY_DAY],
        indexes: &[
            index("shop_products_category", &["category_id"]),
            index("shop_products_category_created", &["category_id", "created_on"]),
            index("shop_products_category_enabled", &["category_id", "enabled"]),
            index("shop_products_category_manufacturer", &["category_id", "manufacturer_id"]),
            index("shop_products_category_price", &["category_id", "price"]),
            index("shop_products_category_name", &["category_id", "product_name"]),
            index("shop_products_enabled", &["enabled"]),
            index("shop_products_enabled_created", &["enabled", "created_on"]),
            index("shop_products_manufacturer", &["manufacturer_id"]),
            index("shop_products_manufacturer_created", &["manufacturer_id", "created_on"]),
            index("shop_products_manufacturer_enabled", &["manufacturer_id", "enabled"]),
            index("shop_products_manufacturer_price", &["manufacturer_id", "price"]),
            index("shop_products_manufacturer_name", &["manufacturer_id", "product_name"]),
            index("shop_products_type", &["product_type"]),
            index("shop_products_visibility", &["visibility"]),
        ],
        search: Some(kept::PRODUCT_SEARCH),
        pieces: &[("product_name", kept::PRODUCT_NAME_PIECES), ("sku", kept::PRODUCT_SKU_PIECES)],
        ..Storage::PLAIN
    },
    unique: &[unique(&["sku"])
        .in_any_case()
        .unless_empty()
        // Among all variants except the product's own master variant.
        .among("shop_variants", "CASE is_master WHEN 1 THEN product_id ELSE 0 END")],
    shown: Presentation {
        group: Some(Group::Catalogue),
        label: &["product_name"],
        columns: &[
            "main_image",
            "product_name",
            "sku",
            "price",
            "quantity",
            "manufacturer_id",
            "enabled",
        ],
        picture: Some("main_image"),
    },
    ..Resource::CRUD
}
.checked();

pub(crate) static VARIANTS: Resource = Resource {
    kind: "variants",
    singular: "variant",
    table: "shop_variants",
    impersonal: Some("what a store sells"),
    key: "shop_variant_id",
    list: &[
        OWNER.field,
        IS_MASTER.field,
        SKU.field,
        VARIANT_PRICE.field,
        MANAGE_STOCK.field,
        flag("availability"),
        quantity("sold"),
        DEFAULT.field,
    ],
    detail: &[
        UPC.field,
        RESTRICTED.field,
        MIN_SALE.field,
        MAX_SALE.field,
        ALLOW_BACKORDER.field,
        quantity("weight").nullable(),
        quantity("length").nullable(),
        quantity("width").nullable(),
        quantity("height").nullable(),
        flag("shipping").default(0),
        OPTIONS,
        VARIANT_QUANTITY.field,
        FOLLOWS.field,
    ],
    hidden: &[OPTIONS_KEY.field],
    crud: false,
    readable: true,
    editable: true,
    listed_at: Some("variants"),
    filters: &[
        contains("search", &["sku"]),
        of_part(
            "sku_exact",
            &Part { table: "shop_variants", by: "shop_variant_id", field: SKU.field.name },
        ),
        filter("product", OWNER.field.name),
    ],
    // Each product has one master, and the others are counted with their stock.
    storage: Storage {
        everything: Some(
            "SELECT (SELECT coalesce(sum(n), 0) FROM shop_product_counts) \
             + (SELECT coalesce(sum(products), 0) FROM shop_variant_stock)",
        ),
        search: Some(kept::VARIANT_SEARCH),
        pieces: &[("sku", kept::VARIANT_SKU_PIECES)],
        shared: Some(&SharedTexts { with: &PRODUCTS, by: "product_id", only: ("is_master", 1) }),
        ..Storage::PLAIN
    },
    unique: &[unique(&["sku"]).in_any_case().unless_empty()],
    nested: &[Nested {
        parent: "products",
        segment: "variants",
        by: OWNER.field.name,
        filters: &[],
    }],
    part_of: Some(&PartOf { whole: &PRODUCTS, by: OWNER }),
    shown: Presentation {
        group: Some(Group::Catalogue),
        label: &["sku"],
        columns: &["sku", "product_id", "price", "quantity", "is_master", "availability"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

/// The name on the lines of orders.
pub(crate) const NAME: Handle<String> = text("product_name", 255).required().words();
pub(crate) const SKU: Handle<String> = identifier("sku", 255).words();
pub(crate) const PRICE: Handle<Money> = money("price").money();
/// The price while the product is on sale.
pub(crate) const SALE_PRICE: Handle<Money> = money("sale_price").nullable().money();
/// The number of pieces in stock.
pub(crate) const QUANTITY: Handle<i64> = int("quantity").between(0, i32::MAX as i64).number();
/// Whether the product is offered in several forms. It is 1 while there are further variants.
pub(super) const HAS_OPTIONS: Handle<bool> = flag("has_options").default(0).truth();
/// Whether it was 1 before there were any.
pub(super) const HAD_OPTIONS: Handle<bool> = flag("had_options").default(0).read_only().truth();
/// How many variants a product has beside its master.
pub(crate) const VARIANT_COUNT: Handle<i64> =
    int("variant_count").between(0, i32::MAX as i64).read_only().number();

/// `filter[sku_exact]`: the product with the SKU, or with a variant that has it.
pub(crate) const SKU_EXACT: Filter =
    of_part("sku_exact", &Part { table: "shop_variants", by: "product_id", field: "sku" });

/// The tables with counts of products, the smallest first.
pub(crate) const PRODUCT_COUNTS: &[&Aggregate] = &[
    &kept::PRODUCT_COUNTS,
    &kept::PRODUCT_COUNTS_BY_MANUFACTURER,
    &kept::PRODUCT_COUNTS_BY_CATEGORY,
];

/// The product of a variant.
pub(crate) const OWNER: Handle<i64> = key("product_id", "products").owned().read_only().number();
/// Whether it represents the product as a whole.
pub(crate) const IS_MASTER: Handle<bool> = flag("is_master").default(0).read_only().truth();
/// The price of a variant; null in a body makes it that of the product.
pub(super) const VARIANT_PRICE: Handle<Money> = money("price").nullable().derived().money();
/// Whether the price of a variant is that of its product, whatever that becomes.
pub(crate) const FOLLOWS: Handle<bool> = flag("price_follows_product").derived().truth();
pub(super) const MANAGE_STOCK: Handle<bool> = flag("manage_stock").truth();
pub(super) const UPC: Handle<String> = identifier("upc", 64).words();
/// Whether customers see it first.
pub(super) const DEFAULT: Handle<bool> = flag("isdefault_variant").default(0).truth();
/// Whether the quantity of a line of an order is limited.
pub(crate) const RESTRICTED: Handle<bool> = flag("quantity_restriction").default(0).truth();
pub(crate) const MIN_SALE: Handle<Money> = quantity("min_sale_qty").nullable().units();
pub(crate) const MAX_SALE: Handle<Money> = quantity("max_sale_qty").nullable().units();
/// Whether orders may take more than there is: 0 never, 1 yes, 2 yes, and the customer is informed.
pub(crate) const ALLOW_BACKORDER: Handle<i64> = int("allow_backorder").between(0, 2).number();
/// What the variants of one product differ by.
pub(crate) const OPTIONS: Field = json("options").required();
/// A digest of the options; unset for a master.
pub(super) const OPTIONS_KEY: Handle<String> = text("options_key", 64).read_only().words();
/// The number of pieces in stock of a variant; null for a master, whose stock is the product's.
pub(crate) const VARIANT_QUANTITY: Handle<i64> =
    int("quantity").between(0, i32::MAX as i64).nullable().derived().number();
