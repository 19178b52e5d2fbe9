//! Coupons: codes that take something off a cart or a product.

use crate::model::question::Record;
use crate::model::resource::{
    Complaint, Resource, amount, choice, code, equals, flag, ids, int, moment, money, search, text,
    unique,
};

/// A hundred percent, in units of 10^-5.
const WHOLE: i64 = 10_000_000;

pub(super) const COUPONS: Resource = Resource {
    kind: "coupons",
    singular: "coupon",
    table: "shop_coupons",
    key: "shop_coupon_id",
    list: &[
        text("coupon_name", 255).required(),
        code("coupon_code", 255).required(),
        flag("enabled"),
        amount("value").required(),
        choice(
            "value_type",
            &["fixed_cart", "fixed_product", "percentage_cart", "percentage_product"],
        ),
        moment("valid_from"),
        moment("valid_to"),
    ],
    detail: &[
        money("max_value").nullable(),
        flag("free_shipping").default(0),
        int("max_uses").between(0, i32::MAX as i64),
        int("max_customer_uses").between(0, i32::MAX as i64),
        int("max_quantity").between(0, i32::MAX as i64),
        ids("product_category"),
        ids("products"),
        money("min_subtotal").nullable(),
        ids("brand_ids"),
    ],
    filters: &[search(&["coupon_name", "coupon_code"]), equals("enabled")],
    unique: &[unique(&["coupon_code"]).in_any_case()],
    check: values_go_together,
    ..Resource::CRUD
};

fn values_go_together(coupon: &Record) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    let percentage = coupon.value("value_type").text().starts_with("percentage");
    if percentage && coupon.value("value").int() > WHOLE {
        complaints.push(("value", "A percentage must be at most 100.".to_owned()));
    }
    complaints.extend(valid_from_before_to(coupon));
    complaints
}

/// A period must not end before it begins.
pub(super) fn valid_from_before_to(record: &Record) -> Option<Complaint> {
    let (from, to) = (record.value("valid_from").moment(), record.value("valid_to").moment());
    let reversed = from.zip(to).is_some_and(|(from, to)| from > to);
    reversed.then(|| ("valid_to", "valid_to must not be before valid_from.".to_owned()))
}
