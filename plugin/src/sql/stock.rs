//! What is in stock, as rows of a report. Independent of what a report shows of them.

use super::row::{Amount, Json, Rows, row};

row! {
    /// A product or a variant that has a stock of its own.
    pub struct InStock {
        /// The key of the product.
        pub product: i64 = "h.p",
        /// The key of the variant, if it has the stock.
        pub variant: Option<i64> = "v.shop_variant_id",
        /// Its SKU, or that of the product.
        pub sku: String = "coalesce(v.sku, p.sku)",
        /// The name of the product.
        pub name: String = "p.product_name",
        /// The options of the variant.
        pub options: Option<Json> = "v.options",
        /// The quantity.
        pub quantity: i64 = "h.q",
        /// The limit below which it is low.
        pub notify: Option<Amount> = "p.notify_qty",
        /// The limit at which it is out of stock.
        pub out: Option<Amount> = "p.min_out_qty",
        /// Whether it is counted.
        pub is_managed: bool = "coalesce(v.manage_stock, p.manage_stock)",
        /// The price.
        pub price: Amount = "coalesce(v.price, p.price)",
    }
}

/// A page of the products and variants that have a stock of their own, the lowest first.
pub fn in_stock(offset: i64, limit: i64) -> Rows<InStock> {
    let end = offset.saturating_add(limit);
    // Products and variants come from an index each. SQLite would prepare a statement anew for each bound limit.
    let text = format!(
        "FROM (SELECT q, p, v FROM (SELECT q, p, v FROM (SELECT quantity AS q, \
         shop_product_id AS p, variant_count AS v FROM shop_products WHERE variant_count = 0 \
         ORDER BY quantity, shop_product_id LIMIT {end}) simple \
         UNION ALL SELECT q, p, v FROM (SELECT quantity AS q, product_id AS p, \
         shop_variant_id AS v FROM shop_variants WHERE is_master = 0 \
         ORDER BY quantity, product_id, shop_variant_id LIMIT {end}) further) of_both \
         ORDER BY q, p, v LIMIT {limit} OFFSET {offset}) h \
         JOIN shop_products p ON p.shop_product_id = h.p \
         LEFT JOIN shop_variants v ON v.shop_variant_id = h.v ORDER BY h.q, h.p, h.v"
    );
    Rows::select(&text, Vec::new())
}
