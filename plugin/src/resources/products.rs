//! Products. Each has a master variant, which carries the product's sku, price and upc: the
//! database itself keeps it in step. Its stock is part of its row, and shown by the inventory.

use crate::error::{Error, FaultKind};
use crate::model::kept::{self, Kept};
use crate::model::question::{Draft, Record};
use crate::model::resource::{
    Resource, Scene, contains, created_on, equals, filter, flag, index, int, key, modified_on,
    money, name, search, text, unique,
};
use crate::model::value::Value;
use crate::sql::Statement;

pub(crate) const PRODUCTS: Resource = Resource {
    kind: "products",
    singular: "product",
    table: "shop_products",
    key: "shop_product_id",
    list: &[
        int("product_source_id").nullable(),
        name("product_type", 64).default_text("simple"),
        text("product_name", 255).required(),
        flag("visibility"),
        flag("enabled"),
        key("manufacturer_id", "manufacturers").nullable(),
        flag("has_options").default(0),
        text("sku", 255),
        money("price"),
        money("sale_price").nullable(),
        int("quantity").between(0, i32::MAX as i64),
        text("main_image", 2048),
        created_on(),
    ],
    detail: &[
        key("taxprofile_id", "taxprofiles").nullable(),
        int("vendor_id").nullable(),
        text("upc", 64),
        modified_on(),
    ],
    hidden: &[key("category_id", "categories").nullable()],
    filters: &[
        search(&["product_name"]),
        filter("category", "category_id"),
        filter("manufacturer", "manufacturer_id"),
        equals("product_type"),
        equals("enabled"),
        contains("sku", &["sku"]).replacing("search"),
        equals("visibility"),
    ],
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
    unique: &[unique(&["sku"])
        .in_any_case()
        .unless_empty()
        // Among all variants, the product's own master aside.
        .among("shop_variants", "CASE is_master WHEN 1 THEN product_id ELSE 0 END")],
    derive: Some(|draft, before, scene| Box::pin(refuse_unstocked(draft, before, scene))),
    ..Resource::CRUD
};

/// What a product without a stock record has in stock is nothing, and stays so.
async fn refuse_unstocked(
    draft: &mut Draft,
    before: Option<&Record>,
    scene: &mut Scene<'_>,
) -> Result<(), Error> {
    let pieces = draft.given("quantity").map_or(0, Value::int);
    let Some(before) = before.filter(|_| pieces != 0) else { return Ok(()) };
    let statement = Statement::fixed(
        "SELECT has_stock FROM shop_products WHERE shop_product_id = ?",
        vec![Value::Int(before.key())],
    );
    if scene.transaction.numbers(statement).await? == [0] {
        let detail = "This product has no stock record; POST /inventory creates one.";
        draft.fault_at(FaultKind::Refused, "quantity", detail);
    }
    Ok(())
}

/// How many products there are, the smallest table first.
pub(crate) const PRODUCT_COUNTS: &[&Kept] = &[
    &kept::PRODUCT_COUNTS,
    &kept::PRODUCT_COUNTS_BY_MANUFACTURER,
    &kept::PRODUCT_COUNTS_BY_CATEGORY,
];
