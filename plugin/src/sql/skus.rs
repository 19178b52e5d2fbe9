//! SQL that finds products by SKU. Independent of what is done with them.

use super::dialect::Dialect;
use super::lookup::with_texts;
use super::row::{Rows, row};
use crate::model::value::Value;

row! {
    /// Who has a SKU.
    pub struct OfSku {
        /// The SKU, case-folded.
        pub sku: String = "sku_fold",
        /// The key of the product.
        pub product: i64 = "product_id",
        /// The key of the variant; none of a master.
        pub variant: Option<i64> = "CASE is_master WHEN 0 THEN shop_variant_id END",
    }
}

/// Finds the products whose variants have these SKUs, which are case-folded: a row for each SKU that is found.
pub fn find_skus(folded: Vec<String>, dialect: &Dialect) -> Rows<OfSku> {
    let from = format!("FROM {}", with_texts("shop_variants", "t.sku_fold", dialect));
    Rows::select(&from, vec![folded.into_iter().map(Value::Text).collect()])
}
