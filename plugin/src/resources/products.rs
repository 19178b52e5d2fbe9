//! Products. Each has a master variant with the product's SKU, price and UPC, which the database
//! itself keeps in sync. The stock is part of the product's row, and the inventory resource shows
//! it.

use super::stockmovements::{Movement, reason, record};
use crate::error::{Error, FaultKind};
use crate::model::field::{
    ENABLED, Handle, Money, created_on, flag, identifier, int, key, modified_on, money, name, text,
};
use crate::model::kept::{self, Aggregate};
use crate::model::record::Record;
use crate::model::resource::{
    Filter, Part, Resource, Storage, contains, equals, filter, index, of_part, search, unique,
};
use crate::model::value::Value;
use crate::service::hooks::Service;
use crate::service::write::Write;
use crate::sql::Statement;
use crate::wire::draft::Draft;

pub(crate) static PRODUCTS: Resource = Resource {
    kind: "products",
    singular: "product",
    table: "shop_products",
    key: "shop_product_id",
    list: &[
        int("product_source_id").nullable(),
        name("product_type", 64).default_text("simple"),
        NAME.field,
        flag("visibility"),
        ENABLED.field,
        key("manufacturer_id", "manufacturers").nullable(),
        flag("has_options").default(0),
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
    hidden: &[key("category_id", "categories").nullable()],
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
    },
    unique: &[unique(&["sku"])
        .in_any_case()
        .unless_empty()
        // Among all variants except the product's own master variant.
        .among("shop_variants", "CASE is_master WHEN 1 THEN product_id ELSE 0 END")],
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service {
    derive: Some(|draft, before, write| Box::pin(refuse_unstocked(draft, before, write))),
    after_insert: Some(|key, product, write| Box::pin(first_quantity(key, product, write))),
    before_update: Some(|before, after, write| Box::pin(next_quantity(before, after, write))),
    after_delete: Some(|product, write| Box::pin(last_quantity(product, write))),
    ..Service::of(&PRODUCTS)
};

/// The name on the lines of orders.
pub(super) const NAME: Handle<String> = text("product_name", 255).required().words();
pub(super) const SKU: Handle<String> = identifier("sku", 255).words();
pub(super) const PRICE: Handle<Money> = money("price").money();
/// The price while the product is on sale.
pub(super) const SALE_PRICE: Handle<Money> = money("sale_price").nullable().money();
/// The number of pieces in stock.
pub(super) const QUANTITY: Handle<i64> = int("quantity").between(0, i32::MAX as i64).number();

/// `filter[sku_exact]`: the product with the SKU, or with a variant that has it.
pub(super) const SKU_EXACT: Filter =
    of_part("sku_exact", &Part { table: "shop_variants", by: "product_id", field: "sku" });

/// A product without a stock record has a stock of zero, which cannot be changed.
async fn refuse_unstocked(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let adds = draft.get(&QUANTITY)?.is_some_and(|pieces| pieces != 0);
    let Some(before) = before.filter(|_| adds) else { return Ok(()) };
    let statement = Statement::fixed(
        "SELECT has_stock FROM shop_products WHERE shop_product_id = ?",
        vec![Value::Int(before.key())],
    );
    if write.transaction.numbers(statement).await? == [0] {
        let detail = "This product has no stock record; POST /inventory creates one.";
        draft.fault_at(FaultKind::Refused, QUANTITY.name, detail);
    }
    Ok(())
}

async fn first_quantity(key: i64, product: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    let quantities = [0, product.need(&QUANTITY)?];
    record(vec![Movement::of(key, product.need(&SKU)?, quantities, reason::CREATED)], write).await
}

/// Records the change of the quantity of a product or of its stock record.
pub(super) async fn next_quantity(
    before: &Record,
    after: &Record,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let quantities = [before.need(&QUANTITY)?, after.need(&QUANTITY)?];
    let moved = Movement::of(after.key(), after.need(&SKU)?, quantities, reason::SET);
    record(vec![moved], write).await
}

async fn last_quantity(product: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    let quantities = [product.need(&QUANTITY)?, 0];
    let moved = Movement::of(product.key(), product.need(&SKU)?, quantities, reason::DELETED);
    record(vec![moved], write).await
}

/// The tables with counts of products, the smallest first.
pub(crate) const PRODUCT_COUNTS: &[&Aggregate] = &[
    &kept::PRODUCT_COUNTS,
    &kept::PRODUCT_COUNTS_BY_MANUFACTURER,
    &kept::PRODUCT_COUNTS_BY_CATEGORY,
];
