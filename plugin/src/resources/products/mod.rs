//! Products and their variants. `catalogue` describes both, which refer to each other, `product` and `variant`
//! have their rules, `options` what variants of one product differ by, and `prices` what they cost.

mod catalogue;
mod options;
mod prices;
mod product;
mod variant;

pub(super) use catalogue::{
    ALLOW_BACKORDER, FOLLOWS, IS_MASTER, MAX_SALE, MIN_SALE, NAME, OPTIONS, OWNER, PRICE,
    PRODUCT_COUNTS, PRODUCTS, QUANTITY, RESTRICTED, SALE_PRICE, SKU, SKU_EXACT, VARIANT_COUNT,
    VARIANT_QUANTITY, VARIANTS,
};
pub(super) use product::{SERVICE, next_quantity, refuse_sum};
pub(super) use variant::{SERVICE as VARIANT_SERVICE, of_product};
