//! The amounts of an order: those that its total is made of, and what was given back of it. Independent of how
//! they are computed.

use crate::model::field::{Handle, Money, int, money};

pub(super) const TOTAL: Handle<Money> = money("order_total").derived().money();
pub(super) const SUBTOTAL: Handle<Money> = money("order_subtotal").derived().money();
pub(super) const TAX: Handle<Money> = money("order_tax").derived().money();
pub(super) const SHIPPING: Handle<Money> = money("order_shipping").money();
pub(super) const SHIPPING_TAX: Handle<Money> = money("order_shipping_tax").money();
pub(super) const SURCHARGE: Handle<Money> = money("order_surcharge").money();
pub(super) const FEES: Handle<Money> = money("order_fees").money();
pub(super) const DISCOUNT: Handle<Money> = money("order_discount").money();
pub(super) const CREDIT: Handle<Money> = money("order_credit").money();

/// The parts of an order's total, with their signs.
pub(super) const PARTS_OF_TOTAL: [(Handle<Money>, i64); 8] = [
    (SUBTOTAL, 1),
    (TAX, 1),
    (SHIPPING, 1),
    (SHIPPING_TAX, 1),
    (SURCHARGE, 1),
    (FEES, 1),
    (DISCOUNT, -1),
    (CREDIT, -1),
];

/// What was given back, by refunds or by hand.
pub(super) const REFUND: Handle<Money> = money("order_refund").money();
/// The sum of its refunds.
pub(super) const REFUNDED: Handle<Money> = money("refunded").read_only().money();
/// What they have of its shipping, which includes the tax.
pub(super) const SHIPPING_REFUNDED: Handle<Money> = money("refunded_shipping").read_only().money();
/// The tax in that.
pub(super) const SHIPPING_TAX_REFUNDED: Handle<Money> =
    money("refunded_shipping_tax").read_only().money();

/// The fraction digits of amounts in the order's currency, at the time of the order.
pub(super) const CURRENCY_DECIMALS: Handle<i64> =
    int("currency_decimals").between(0, 8).default(2).read_only().number();
