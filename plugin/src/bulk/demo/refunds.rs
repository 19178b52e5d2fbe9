//! The refunds of the demo store: of one order of forty the first item is given back, and every third of these
//! refunds is undone. Independent of how orders are made.

use time::Date;

use crate::model::value::Value;
use crate::sql::RowsOf;

use super::make::{chance, days_ago, flag, key, keyed_rows_of, moment, text};

/// One order of so many has a refund.
const EVERY: u64 = 40;
/// The remainder of its number.
const NTH: u64 = 7;

/// A refund of the first item of an order.
pub(super) struct Refund {
    /// The number of the order.
    pub(super) order: u64,
    /// The number of the item, and how many pieces it has.
    pub(super) line: (u64, i64),
    /// What the item has cost, with tax.
    pub(super) amount: i64,
    /// The tax in it.
    pub(super) tax: i64,
    /// The code of the currency.
    pub(super) currency: &'static str,
}

/// Whether the order with this number has a refund, if anything of it can be given back.
pub(super) fn is_one(order: u64) -> bool {
    order % EVERY == NTH
}

/// The table of refunds.
pub(super) fn table() -> RowsOf {
    keyed_rows_of(
        "shop_orderrefunds",
        &[
            "shop_orderrefund_id",
            "order_key",
            "amount",
            "tax_amount",
            "shipping_amount",
            "currency_code",
            "reason",
            "reverses",
            "reversed",
            "is_reversal",
            "items",
            "created_on",
        ],
    )
}

impl Refund {
    /// What is given back in the end.
    pub(super) fn given(&self) -> i64 {
        if self.is_undone() { 0 } else { self.amount }
    }

    /// Its row, and that of the refund that undoes it.
    pub(super) fn rows(&self, today: Date, age: u64) -> Vec<[Value; 12]> {
        let made = days_ago(today, age.saturating_sub(3), &mut chance(11, self.order));
        let number = self.order / EVERY * 2;
        let row = |number: u64, sign: i64, reason: &str| {
            let (item, quantity) = self.line;
            let [amount, tax] = [self.amount, self.tax].map(|amount| sign * amount);
            let line = format!(
                "[{{\"orderitem_id\":{},\"quantity\":{},\"amount\":{amount},\"tax_amount\":{tax},\
                 \"restock\":0,\"share\":{amount}}}]",
                item + 1,
                sign * quantity
            );
            [
                key(number),
                key(self.order),
                Value::money(amount),
                Value::money(tax),
                Value::money(0),
                text(self.currency),
                text(reason),
                if sign < 0 { key(number - 1) } else { Value::Null },
                flag(sign > 0 && self.is_undone()),
                flag(sign < 0),
                Value::Json(line),
                moment(&made),
            ]
        };
        let undoes = self.is_undone().then(|| row(number + 1, -1, "Recorded twice"));
        std::iter::once(row(number, 1, "Damaged in transit")).chain(undoes).collect()
    }

    fn is_undone(&self) -> bool {
        self.order / EVERY % 3 == 2
    }
}
