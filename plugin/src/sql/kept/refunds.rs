//! What follows from refunds: the sums that orders and their items have of them, and what they have moved in stock.
//! Here are the statements that compare both, and those that correct the sums.

use super::terms::{Comparison, Correction, Repair, Terms};
use crate::model::kept::{ORDERREFUNDS, ORDERS};
use crate::model::value::Kind;

/// All comparisons.
pub(super) fn comparisons(terms: &Terms) -> Vec<Comparison> {
    let mut all = vec![pieces(terms)];
    all.extend(OF_ITEMS.map(|[column, given]| amounts(column, given, terms)));
    all.extend(of_orders(terms));
    all.extend([lost(terms), lines(terms), moved(terms)]);
    all
}

/// The amounts of an item, and those of the lines that they are the sums of.
const OF_ITEMS: [[&str; 2]; 3] =
    [["refunded_amount", "amount"], ["refunded_tax", "tax"], ["refunded_share", "share"]];

/// Locks an order, like everything that gives something back of it.
fn lock() -> Correction {
    Correction {
        text: "UPDATE shop_orders SET version = version WHERE shop_order_id = ?".to_owned(),
        binds: &[0],
    }
}

/// How many pieces of an item were given back.
fn pieces(terms: &Terms) -> Comparison {
    // More than was ordered cannot be stored.
    of_item("refunded_quantity", "quantity", str::to_owned, " AND orderitem_quantity >= ", terms)
}

/// What was given back of an item.
fn amounts(column: &'static str, given: &str, terms: &Terms) -> Comparison {
    of_item(column, given, terms.units, " AND 0 <= ", terms)
}

/// A corrected item has another version, because reports see the change; and so has its order, which shows what is
/// left.
fn of_item(
    column: &'static str,
    given: &str,
    whole: fn(&str) -> String,
    within: &str,
    terms: &Terms,
) -> Comparison {
    let lines = terms.lines_of_refunds;
    let [stored, counted] = ["sum(stored)", "sum(counted)"].map(whole);
    let sum =
        format!("(SELECT coalesce(sum({given}), 0) FROM {lines} WHERE order_key = ? AND item = ?)");
    let steps = vec![
        lock(),
        Correction {
            text: format!(
                "UPDATE shop_orderitems SET version = version + 1, {column} = {sum} \
                 WHERE shop_orderitem_id = ?{within}{sum}"
            ),
            binds: &[0, 1, 1, 0, 1],
        },
        Correction {
            text: "UPDATE shop_orders SET version = version + 1 WHERE shop_order_id = ?".to_owned(),
            binds: &[0],
        },
    ];
    Comparison {
        table: "shop_orderitems",
        identity: &[("order_key", Kind::COUNT), ("shop_orderitem_id", Kind::COUNT)],
        column,
        differences: format!(
            "SELECT order_key, item, {stored}, {counted} FROM (\
             SELECT order_key, shop_orderitem_id AS item, {column} AS stored, 0 AS counted \
             FROM shop_orderitems WHERE {column} <> 0 \
             UNION ALL SELECT order_key, item, 0 AS stored, {given} AS counted FROM {lines}) \
             compared GROUP BY order_key, item HAVING sum(stored) <> sum(counted) \
             ORDER BY order_key, item"
        ),
        of: &ORDERREFUNDS,
        repair: Repair::Each(steps),
    }
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
    Comparison {
        table: ORDERS.table,
        identity: &[("shop_order_id", Kind::COUNT)],
        column,
        differences: format!(
            "SELECT order_key, {stored}, {counted} FROM (\
             SELECT shop_order_id AS order_key, {column} AS stored, 0 AS counted \
             FROM shop_orders WHERE {column} <> 0 \
             UNION ALL SELECT order_key, 0 AS stored, given AS counted FROM ({given}) given) \
             compared GROUP BY order_key HAVING sum(stored) <> sum(counted) ORDER BY order_key"
        ),
        of: &ORDERS,
        repair: Repair::Each(vec![lock(), Correction { text: correction, binds: &[0, 0] }]),
    }
}

/// An order has at least what its refunds have: more may have been set by hand.
fn lost(terms: &Terms) -> Comparison {
    let [stored, counted] = ["order_refund", "refunded"].map(terms.units);
    Comparison {
        table: ORDERS.table,
        identity: &[("shop_order_id", Kind::COUNT)],
        column: "order_refund",
        differences: format!(
            "SELECT shop_order_id, {stored}, {counted} FROM shop_orders \
             WHERE refunded > 0 AND order_refund < refunded ORDER BY shop_order_id"
        ),
        of: &ORDERS,
        repair: Repair::Impossible,
    }
}

/// The sum of a refund is at least what its lines and the shipping have: the rest is tied to neither.
fn lines(terms: &Terms) -> Comparison {
    let [stored, counted] = ["amount", "total"].map(terms.units);
    Comparison {
        table: ORDERREFUNDS.table,
        identity: &[("shop_orderrefund_id", Kind::COUNT)],
        column: "amount",
        differences: format!(
            "SELECT shop_orderrefund_id, {stored}, {counted} FROM (\
             SELECT shop_orderrefund_id, r.amount, is_reversal, \
             shipping_amount + coalesce(of_lines, 0) AS total FROM shop_orderrefunds r \
             LEFT JOIN (SELECT refund, sum(amount) AS of_lines FROM {} GROUP BY refund) added \
             ON refund = shop_orderrefund_id) compared \
             WHERE CASE WHEN is_reversal = 1 THEN amount > total ELSE amount < total END \
             ORDER BY shop_orderrefund_id",
            terms.lines_of_refunds
        ),
        of: &ORDERREFUNDS,
        repair: Repair::Impossible,
    }
}

/// The pieces that a refund has put into the stock are those that its request has entered in the ledger.
fn moved(terms: &Terms) -> Comparison {
    Comparison {
        table: ORDERREFUNDS.table,
        identity: &[("shop_orderrefund_id", Kind::COUNT)],
        column: "restocked",
        differences: format!(
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
        ),
        of: &ORDERREFUNDS,
        repair: Repair::Impossible,
    }
}
