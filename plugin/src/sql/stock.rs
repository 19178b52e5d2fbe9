//! What is in stock, as rows of a report. Independent of what a report shows of them.

use super::statement::Table;
use crate::model::value::Kind;

/// A page of the products and variants that have a stock of their own, the lowest first: the product, the variant,
/// its SKU or that of the product, the name of the product, the options of the variant, the quantity, the limits
/// below which it is low and out of stock, whether it is counted, and the price.
pub fn in_stock(offset: i64, limit: i64) -> Table {
    const COLUMNS: &[Kind] = &[
        Kind::COUNT,
        Kind::COUNT,
        Kind::WORD,
        Kind::WORD,
        Kind::Json,
        Kind::COUNT,
        Kind::MONEY,
        Kind::MONEY,
        Kind::Flag,
        Kind::MONEY,
    ];
    let end = offset.saturating_add(limit);
    // Products and variants come from an index each. SQLite would prepare a statement anew for each bound limit.
    let text = format!(
        "SELECT h.p AS c0, v.shop_variant_id AS c1, coalesce(v.sku, p.sku) AS c2, p.product_name AS c3, \
         v.options AS c4, h.q AS c5, p.notify_qty AS c6, p.min_out_qty AS c7, \
         coalesce(v.manage_stock, p.manage_stock) AS c8, coalesce(v.price, p.price) AS c9 \
         FROM (SELECT q, p, v FROM (SELECT q, p, v FROM (SELECT quantity AS q, \
         shop_product_id AS p, variant_count AS v FROM shop_products WHERE variant_count = 0 \
         ORDER BY quantity, shop_product_id LIMIT {end}) simple \
         UNION ALL SELECT q, p, v FROM (SELECT quantity AS q, product_id AS p, \
         shop_variant_id AS v FROM shop_variants WHERE is_master = 0 \
         ORDER BY quantity, product_id, shop_variant_id LIMIT {end}) further) of_both \
         ORDER BY q, p, v LIMIT {limit} OFFSET {offset}) h \
         JOIN shop_products p ON p.shop_product_id = h.p \
         LEFT JOIN shop_variants v ON v.shop_variant_id = h.v ORDER BY h.q, h.p, h.v"
    );
    Table::new(text, Vec::new(), COLUMNS)
}
