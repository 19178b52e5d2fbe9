//! Columns of the items of orders that are sums of lines of other records, such as shipments.

use super::terms::{Comparison, Correction, Repair};
use crate::model::kept::Records;
use crate::model::value::Kind;

/// A column of items, and the lines that it is the sum of.
pub(super) struct SumOfLines {
    /// The column.
    pub(super) column: &'static str,
    /// The lines, as a table with the columns `order_key` and `item`.
    pub(super) lines: &'static str,
    /// Their column that is added up.
    pub(super) summand: &'static str,
    /// A sum as a whole number.
    pub(super) units: fn(&str) -> String,
    /// The condition on an item that a sum follows, so that the sum can be stored.
    pub(super) within: &'static str,
    /// The records whose number determines how long a comparison takes.
    pub(super) of: &'static Records,
}

impl SumOfLines {
    /// Compares it. An item that is corrected has another version, and its order is then changed by this
    /// statement.
    pub(super) fn compared(self, change_order: &str) -> Comparison {
        let Self { column, lines, summand, units, within, of } = self;
        let [stored, counted] = ["sum(stored)", "sum(counted)"].map(units);
        let sum = format!(
            "(SELECT coalesce(sum({summand}), 0) FROM {lines} WHERE order_key = ? AND item = ?)"
        );
        let correct = format!(
            "UPDATE shop_orderitems SET version = version + 1, {column} = {sum} \
             WHERE shop_orderitem_id = ?{within}{sum}"
        );
        Comparison {
            table: "shop_orderitems",
            identity: vec![("order_key", Kind::COUNT), ("shop_orderitem_id", Kind::COUNT)],
            column,
            differences: format!(
                "SELECT order_key, item, {stored}, {counted} FROM (\
                 SELECT order_key, shop_orderitem_id AS item, {column} AS stored, 0 AS counted \
                 FROM shop_orderitems WHERE {column} <> 0 \
                 UNION ALL SELECT order_key, item, 0 AS stored, {summand} AS counted FROM {lines}) \
                 compared GROUP BY order_key, item HAVING sum(stored) <> sum(counted) \
                 ORDER BY order_key, item"
            ),
            of,
            repair: Repair::Each(vec![
                lock_order(),
                Correction::new(correct, &[0, 1, 1, 0, 1]),
                Correction::new(change_order, &[0]),
            ]),
        }
    }
}

/// How far an order has been shipped, as a value of its row: what was given back of an item is not open, and an order
/// without items is fulfilled once it has a shipment.
pub(super) const FULFILMENT_STATE: &str = "CASE WHEN EXISTS (SELECT 1 FROM shop_orderitems \
    WHERE order_key = shop_order_id \
    AND shipped + refunded_quantity < orderitem_quantity) THEN CASE WHEN EXISTS \
    (SELECT 1 FROM shop_shipments WHERE order_key = shop_order_id) THEN 'partial' \
    ELSE 'unfulfilled' END \
    WHEN EXISTS (SELECT 1 FROM shop_shipments WHERE order_key = shop_order_id) \
    OR EXISTS (SELECT 1 FROM shop_orderitems WHERE order_key = shop_order_id) \
    THEN 'fulfilled' ELSE 'unfulfilled' END";

/// Locks an order, like everything that ships an item or gives something back of it.
pub(super) fn lock_order() -> Correction {
    let lock = "UPDATE shop_orders SET version = version WHERE shop_order_id = ?";
    Correction::new(lock, &[0])
}
