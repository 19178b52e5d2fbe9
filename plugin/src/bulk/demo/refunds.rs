//! The refunds of the demo store: of one order of forty the first item is given back, and every third of these
//! refunds is undone. Independent of how orders are made.

use time::Date;

use crate::model::value::Value;
use crate::sql::RowsOf;

use super::make::{chance, days_ago, moment};
use crate::bulk::rows::{flag, key, keyed_rows_of, push, text};

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
    keyed_rows_of("shop_orderrefunds", &["shop_orderrefund_id"])
}

impl Refund {
    /// What is given back in the end.
    pub(super) fn given(&self) -> i64 {
        if self.is_undone() { 0 } else { self.amount }
    }

    /// Adds its row, and that of the refund that undoes it.
    pub(super) fn add_to(&self, rows: &mut RowsOf, today: Date, age: u64) {
        let made = days_ago(today, age.saturating_sub(3), &mut chance(11, self.order));
        let number = self.order / EVERY * 2;
        let mut add = |number: u64, sign: i64, reason: &str| {
            let (item, quantity) = self.line;
            let [amount, tax] = [self.amount, self.tax].map(|amount| sign * amount);
            let line = format!(
                "[{{\"orderitem_id\":{},\"quantity\":{},\"amount\":{amount},\"tax_amount\":{tax},\
                 \"restock\":0,\"share\":{amount}}}]",
                item + 1,
                sign * quantity
            );
            push!(
                rows,
                ("shop_orderrefund_id", key(number)),
                ("order_key", key(self.order)),
                ("amount", Value::money(amount)),
                ("tax_amount", Value::money(tax)),
                ("shipping_amount", Value::money(0)),
                ("currency_code", text(self.currency)),
                ("reason", text(reason)),
                ("reverses", if sign < 0 { key(number - 1) } else { Value::Null }),
                ("reversed", flag(sign > 0 && self.is_undone())),
                ("is_reversal", flag(sign < 0)),
                ("items", Value::Json(line)),
                ("created_on", moment(&made)),
            );
        };
        add(number, 1, "Damaged in transit");
        if self.is_undone() {
            add(number + 1, -1, "Recorded twice");
        }
    }

    fn is_undone(&self) -> bool {
        self.order / EVERY % 3 == 2
    }
}
