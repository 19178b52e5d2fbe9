//! The lowest and the highest price of the variants of a product, for those who read one product. The database keeps
//! both with the product.

use serde_json::value::to_raw_value;

use crate::model::field::{Handle, Money, money};
use crate::model::meta::DerivedMeta;
use crate::model::value::money_text;

/// Unset where a product has no variants beside its master.
pub(super) const FROM: Handle<Money> = money("price_from").nullable().read_only().money();
pub(super) const TO: Handle<Money> = money("price_to").nullable().read_only().money();

pub(super) static RANGE: DerivedMeta = DerivedMeta {
    members: &[FROM.field, TO.field],
    from: &[FROM.field.name, TO.field.name],
    derive: |cells| {
        let ends = [FROM.field.name, TO.field.name].into_iter().zip(cells);
        let ends = ends.map(|(name, cell)| {
            let price = cell.optional_int(name)?;
            price.map(|price| Ok((name, to_raw_value(&money_text(price))?))).transpose()
        });
        ends.filter_map(Result::transpose).collect()
    },
};
