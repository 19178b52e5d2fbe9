//! What follows from other records besides counts and sums: quantities in stock from their ledger, what has
//! been shipped from the shipments, what was given back from the refunds, indexes of texts from the texts.
//! Here are the statements that compare both, and those that correct what can be corrected.

use super::items::{FULFILMENT_STATE, SumOfLines};
use super::parts;
use super::refunds;
use super::terms::{Comparison, Correction, Repair, Terms};
use crate::model::kept::{OF_VARIANTS, ORDERS, PRODUCTS, VARIANTS};
use crate::model::value::Kind;

/// All comparisons.
pub fn comparisons(terms: &Terms) -> Vec<Comparison> {
    let mut all = vec![sums(), counts(), quantities(), of_variants(), entries(), shipped(terms)];
    all.extend(ranges(terms));
    all.extend(refunds::comparisons(terms));
    all.extend((terms.indexed)());
    all
}

/// The stock that a product itself has is the sum of its own entries: all of its quantity, or nothing where it is
/// in variants.
fn quantities() -> Comparison {
    let differences = "SELECT shop_product_id, held, coalesce(total, 0) FROM (\
        SELECT shop_product_id, CASE WHEN variant_count = 0 THEN quantity ELSE 0 END AS held \
        FROM shop_products) p LEFT JOIN (SELECT product_id, sum(quantity_delta) AS total \
        FROM shop_inventory_ledger WHERE variant_id IS NULL GROUP BY product_id) ledger \
        ON product_id = shop_product_id WHERE held <> coalesce(total, 0) \
        ORDER BY shop_product_id";
    Comparison::of(&PRODUCTS, "quantity", differences)
}

/// The quantity of a variant beside the master is the sum of its own entries.
fn of_variants() -> Comparison {
    let differences = "SELECT shop_variant_id, coalesce(quantity, 0), coalesce(total, 0) \
        FROM shop_variants LEFT JOIN (SELECT variant_id, sum(quantity_delta) AS total \
        FROM shop_inventory_ledger WHERE variant_id IS NOT NULL GROUP BY variant_id) ledger \
        ON variant_id = shop_variant_id \
        WHERE coalesce(quantity, 0) <> coalesce(total, 0) ORDER BY shop_variant_id";
    Comparison::of(&VARIANTS, "quantity", differences)
}

/// The quantity of a product is the sum of its further variants. The triggers add it up anew where a
/// variant changes.
fn sums() -> Comparison {
    let total = "coalesce(sum(v.quantity), 0)";
    compared_with_parts(OF_VARIANTS.column, str::to_owned, total, "parts > 0 AND")
}

/// The number of the further variants of a product.
fn counts() -> Comparison {
    compared_with_parts(OF_VARIANTS.count, str::to_owned, "count(v.shop_variant_id)", "")
}

/// The least and the greatest price of the further variants of a product; -1 where there is none.
fn ranges(terms: &Terms) -> [Comparison; 2] {
    let [from, to] = OF_VARIANTS.ends;
    [(from, "min(v.price)"), (to, "max(v.price)")]
        .map(|(column, end)| compared_with_parts(column, terms.units, end, ""))
}

fn compared_with_parts(
    column: &'static str,
    as_number: fn(&str) -> String,
    total: &str,
    these: &str,
) -> Comparison {
    let [stored, counted] = ["stored", "total"].map(as_number);
    let differences = format!(
        "SELECT shop_product_id, coalesce({stored}, -1), coalesce({counted}, -1) FROM (\
         SELECT shop_product_id, p.variant_count AS parts, p.{column} AS stored, {total} AS total \
         FROM shop_products p LEFT JOIN shop_variants v \
         ON v.product_id = shop_product_id AND v.is_master = 0 \
         GROUP BY shop_product_id, p.variant_count, p.{column}) compared \
         WHERE {these} coalesce(stored, -1) <> coalesce(total, -1) ORDER BY shop_product_id"
    );
    let add_up = parts::add_up(&OF_VARIANTS, "?");
    let add_up = Correction::new(add_up.trim_end_matches(";\n"), &[0; 5]);
    let repair = Repair::Each(vec![add_up]);
    Comparison { repair, ..Comparison::of(&PRODUCTS, column, differences) }
}

/// An entry of a ledger begins with the quantity that the one before it of the same stock has left.
fn entries() -> Comparison {
    let differences = "SELECT entry_id, quantity_before, reached FROM (\
        SELECT entry_id, quantity_before, coalesce(lag(quantity_after) OVER \
        (PARTITION BY product_id, variant_id ORDER BY entry_id), 0) AS reached \
        FROM shop_inventory_ledger) entries WHERE quantity_before <> reached ORDER BY entry_id";
    Comparison {
        table: "shop_inventory_ledger",
        identity: vec![("entry_id", Kind::COUNT)],
        ..Comparison::of(&PRODUCTS, "quantity_before", differences)
    }
}

/// What has been shipped of an item is what its shipments contain. Where they contain more than was
/// ordered, it stays as it is. A corrected order has another version, because clients see the change.
fn shipped(terms: &Terms) -> Comparison {
    let shipped = SumOfLines {
        column: "shipped",
        lines: terms.lines_of_shipments,
        summand: "quantity",
        units: str::to_owned,
        within: " AND orderitem_quantity >= ",
        of: &ORDERS,
    };
    shipped.compared(&format!(
        "UPDATE shop_orders SET version = version + 1, fulfilment_state = {FULFILMENT_STATE} \
         WHERE shop_order_id = ?"
    ))
}
