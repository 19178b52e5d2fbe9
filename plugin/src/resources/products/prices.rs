//! The lowest and the highest price of the variants of a product, for those who read one product.

use serde_json::value::to_raw_value;

use crate::error::Error;
use crate::model::field::{Field, json, money};
use crate::model::meta::DerivedMeta;
use crate::model::value::{Cell, money_text};

/// The prices of the variants beside the master. With a plus, the index on all masters is not used in place of that
/// on the product.
pub(super) const OF_VARIANTS: Field = json("variant_prices").nullable().computed(
    "CASE WHEN t.variant_count > 0 THEN (SELECT {rows units v.price} FROM shop_variants v \
     WHERE v.product_id = t.shop_product_id AND +v.is_master = 0) END",
);

pub(super) static RANGE: DerivedMeta = DerivedMeta {
    members: &[FROM.nullable(), TO.nullable()],
    from: &[OF_VARIANTS.name],
    derive: |cells| {
        let [Cell::Text(prices)] = cells else { return Ok(Vec::new()) };
        let prices: Vec<[i64; 1]> = serde_json::from_str(prices)?;
        let ends = [(FROM, prices.iter().min()), (TO, prices.iter().max())];
        let ends = ends.into_iter().filter_map(|(field, price)| Some((field.name, price?)));
        ends.map(|(name, [price])| Ok::<_, Error>((name, to_raw_value(&money_text(*price))?)))
            .collect()
    },
};

const FROM: Field = money("price_from");
const TO: Field = money("price_to");
