//! What follows from refunds: the sums that orders and their items have of them, the lines from which an order shows what
//! is left, and what refunds have moved in stock. Here are the statements that compare both, and those that correct them.

use super::items::{FULFILMENT_STATE, SumOfLines, lock_order};
use super::terms::{Comparison, Correction, Repair, Terms};
use crate::model::kept::{ORDERREFUNDS, ORDERS};

/// Writes the lines of a new order anew, or of one whose version is counted by another statement; its key is bound. The
/// order has them itself, because a subquery takes a third of the time in which one order is read.
pub fn keep_lines(terms: &Terms) -> String {
    let lines = terms.refundable_lines;
    format!("UPDATE shop_orders SET refundable_lines = {lines} WHERE shop_order_id = ?")
}

/// The same for an order of which something was given back: what was, is not open any more. Its version is counted by
/// another statement, too.
pub fn keep_refunded(terms: &Terms) -> String {
    let lines = format!("{}, fulfilment_state = {FULFILMENT_STATE}", terms.refundable_lines);
    format!("UPDATE shop_orders SET refundable_lines = {lines} WHERE shop_order_id = ?")
}

/// All comparisons.
pub(super) fn comparisons(terms: &Terms) -> Vec<Comparison> {
    let mut all = Vec::from(of_items(terms));
    all.extend(of_orders(terms));
    all.extend([kept_lines(terms), lost(terms), lines(terms), moved(terms)]);
    all
}

/// What was given back of an item. A corrected item has another version, because reports see the change; and so has
/// its order, which shows what is left.
fn of_items(terms: &Terms) -> [Comparison; 4] {
    // More pieces than were ordered cannot be stored.
    let (whole, ordered): (fn(&str) -> String, _) = (str::to_owned, " AND orderitem_quantity >= ");
    let (units, nothing) = (terms.units, " AND 0 <= ");
    [
        ("refunded_quantity", "quantity", whole, ordered),
        ("refunded_amount", "amount", units, nothing),
        ("refunded_tax", "tax", units, nothing),
        ("refunded_share", "share", units, nothing),
    ]
    .map(|(column, summand, units, within)| {
        let lines = terms.lines_of_refunds;
        SumOfLines { column, lines, summand, units, within, of: &ORDERREFUNDS }
            .compared(&changed_lines(terms))
    })
}

/// What was given back of an order in all, and of its shipping.
fn of_orders(terms: &Terms) -> [Comparison; 3] {
    let given = |what: &str| format!("SELECT order_key, {what} AS given FROM shop_orderrefunds");
    let shipping_tax = format!(
        "{} UNION ALL SELECT order_key, -tax AS given FROM {}",
        given("tax_amount"),
        terms.lines_of_refunds
    );
    [
        ("refunded", given("amount")),
        ("refunded_shipping", given("shipping_amount")),
        ("refunded_shipping_tax", shipping_tax),
    ]
    .map(|(column, given)| of_order(column, &given, terms))
}

fn of_order(column: &'static str, given: &str, terms: &Terms) -> Comparison {
    let [stored, counted] = ["sum(stored)", "sum(counted)"].map(terms.units);
    let correction = format!(
        "UPDATE shop_orders SET version = version + 1, {column} = \
         (SELECT coalesce(sum(given), 0) FROM ({given}) given WHERE order_key = ?) \
         WHERE shop_order_id = ?"
    );
    let differences = format!(
        "SELECT order_key, {stored}, {counted} FROM (\
         SELECT shop_order_id AS order_key, {column} AS stored, 0 AS counted \
         FROM shop_orders WHERE {column} <> 0 \
         UNION ALL SELECT order_key, 0 AS stored, given AS counted FROM ({given}) given) \
         compared GROUP BY order_key HAVING sum(stored) <> sum(counted) ORDER BY order_key"
    );
    let repair = Repair::Each(vec![lock_order(), Correction::new(correction, &[0, 0])]);
    Comparison { repair, ..Comparison::of(&ORDERS, column, differences) }
}

/// The lines of an order agree with its items, or not: there is no number to compare.
fn kept_lines(terms: &Terms) -> Comparison {
    let differences = format!(
        "SELECT shop_order_id, 0, 1 FROM shop_orders \
         WHERE {} <> {} ORDER BY shop_order_id",
        (terms.text)("refundable_lines"),
        (terms.text)(terms.refundable_lines)
    );
    let repair = Repair::Each(vec![lock_order(), Correction::new(changed_lines(terms), &[0])]);
    Comparison { repair, ..Comparison::of(&ORDERS, "refundable_lines", differences) }
}

/// Writes the lines of an order anew, and how far it has been shipped, which follows from the same. It has another
/// version, because clients see the change.
fn changed_lines(terms: &Terms) -> String {
    format!(
        "UPDATE shop_orders SET version = version + 1, refundable_lines = {}, \
         fulfilment_state = {FULFILMENT_STATE} WHERE shop_order_id = ?",
        terms.refundable_lines
    )
}

/// An order has at least what its refunds have: more may have been set by hand.
fn lost(terms: &Terms) -> Comparison {
    let [stored, counted] = ["order_refund", "refunded"].map(terms.units);
    let differences = format!(
        "SELECT shop_order_id, {stored}, {counted} FROM shop_orders \
         WHERE refunded > 0 AND order_refund < refunded ORDER BY shop_order_id"
    );
    Comparison::of(&ORDERS, "order_refund", differences)
}

/// The sum of a refund is at least what its lines and the shipping have: the rest is tied to neither.
fn lines(terms: &Terms) -> Comparison {
    let [stored, counted] = ["amount", "total"].map(terms.units);
    let differences = format!(
        "SELECT shop_orderrefund_id, {stored}, {counted} FROM (\
         SELECT shop_orderrefund_id, r.amount, is_reversal, \
         shipping_amount + coalesce(of_lines, 0) AS total FROM shop_orderrefunds r \
         LEFT JOIN (SELECT refund, sum(amount) AS of_lines FROM {} GROUP BY refund) added \
         ON refund = shop_orderrefund_id) compared \
         WHERE CASE WHEN is_reversal = 1 THEN amount > total ELSE amount < total END \
         ORDER BY shop_orderrefund_id",
        terms.lines_of_refunds
    );
    Comparison::of(&ORDERREFUNDS, "amount", differences)
}

/// The pieces that a refund has put into the stock are those that its request has entered in the ledger.
fn moved(terms: &Terms) -> Comparison {
    let differences = format!(
        "SELECT shop_orderrefund_id, coalesce(restocked, 0), coalesce(entered, 0) \
         FROM shop_orderrefunds r \
         LEFT JOIN (SELECT refund, sum(quantity) AS restocked FROM {} \
         WHERE restock = 1 GROUP BY refund) pieces ON refund = shop_orderrefund_id \
         LEFT JOIN (SELECT request_id, sum(quantity_delta) AS entered \
         FROM shop_inventory_ledger WHERE reason IN ('refund', 'refund reversed') \
         GROUP BY request_id) entries ON entries.request_id = r.request_id \
         WHERE r.request_id <> '' AND coalesce(restocked, 0) <> coalesce(entered, 0) \
         ORDER BY shop_orderrefund_id",
        terms.lines_of_refunds
    );
    Comparison::of(&ORDERREFUNDS, "restocked", differences)
}
