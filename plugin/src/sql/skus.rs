//! SQL that finds products by SKU. Independent of what is done with them.

use super::statement::Table;
use crate::model::value::{Kind, Value};

/// Finds the products whose variants have these SKUs, which are case-folded: a row for each SKU that is
/// found, with the keys of the product and of the variant; none of a master.
pub fn find_skus(folded: Vec<String>) -> Table {
    // An index without empty texts can be used only if the query excludes them.
    const FIND: &str = "SELECT sku_fold AS c0, product_id AS c1, \
        CASE is_master WHEN 0 THEN shop_variant_id END AS c2 FROM shop_variants \
        WHERE sku_fold IN (?) AND sku_fold <> ''";
    let skus = folded.into_iter().map(Value::Text).collect();
    Table::new(FIND, vec![skus], &[Kind::WORD, Kind::COUNT, Kind::COUNT])
}
