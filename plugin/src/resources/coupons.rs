//! Coupons: codes that reduce the price of a cart or a product.

use time::PrimitiveDateTime;

use crate::error::Error;
use crate::model::field::{
    Complaint, ENABLED, Handle, Money, Units, choice, code, flag, ids, int, moment, money,
    quantity, text,
};
use crate::model::presentation::{Group, Presentation};
use crate::model::record::Record;
use crate::model::resource::{Resource, equals, search, unique};
use crate::service::hooks::Service;

/// A hundred percent, in units of 10^-5.
const WHOLE: Money = Units(10_000_000);

pub(crate) static COUPONS: Resource = Resource {
    kind: "coupons",
    singular: "coupon",
    table: "shop_coupons",
    impersonal: Some("reductions that everybody can have"),
    key: "shop_coupon_id",
    list: &[
        text("coupon_name", 255).required(),
        code("coupon_code", 255).required(),
        ENABLED.field,
        VALUE.field,
        VALUE_TYPE.field,
        VALID_FROM.field,
        VALID_TO.field,
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
    shown: Presentation {
        group: Some(Group::Sales),
        label: &["coupon_name"],
        columns: &["coupon_name", "coupon_code", "value", "value_type", "valid_to", "enabled"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

pub(crate) const SERVICE: Service = Service { check: values_go_together, ..Service::of(&COUPONS) };

/// An amount of money, or a percentage in the same units.
const VALUE: Handle<Money> = quantity("value").required().money();
const VALUE_TYPE: Handle<String> =
    choice("value_type", &["fixed_cart", "fixed_product", "percentage_cart", "percentage_product"])
        .words();
/// The first and the last moment of validity.
pub(super) const VALID_FROM: Handle<PrimitiveDateTime> = moment("valid_from").time();
pub(super) const VALID_TO: Handle<PrimitiveDateTime> = moment("valid_to").time();

fn values_go_together(coupon: &Record) -> Result<Vec<Complaint>, Error> {
    let mut complaints = Vec::new();
    let percentage = coupon.get(&VALUE_TYPE)?.is_some_and(|word| word.starts_with("percentage"));
    if percentage && coupon.get(&VALUE)?.is_some_and(|value| value > WHOLE) {
        complaints.push((VALUE.name, "A percentage must be at most 100.".to_owned()));
    }
    complaints.extend(valid_from_before_to(coupon)?);
    Ok(complaints)
}

/// A period of validity must not end before it begins.
pub(super) fn valid_from_before_to(record: &Record) -> Result<Option<Complaint>, Error> {
    let (from, to) = (record.get(&VALID_FROM)?, record.get(&VALID_TO)?);
    let reversed = from.zip(to).is_some_and(|(from, to)| from > to);
    Ok(reversed.then(|| (VALID_TO.name, "valid_to must not be before valid_from.".to_owned())))
}
