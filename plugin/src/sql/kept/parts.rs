//! What is kept of the parts of a record, in its own row.

use crate::model::kept::OfParts;

/// What is kept of a column of the parts, and follows each change of it.
pub(super) struct Followed {
    /// What the names of its triggers end with.
    pub(super) name: &'static str,
    /// The column of the parts.
    pub(super) column: &'static str,
    /// The condition on a changed part under which the record changes.
    pub(super) changed: String,
    /// The statement that changes the record.
    pub(super) does: String,
}

/// Counts the parts of the record with this key, adds them up, and finds the ends of their range.
pub(super) fn add_up(of: &OfParts, key: &str) -> String {
    let count = format!("{} = (SELECT count(*) {})", of.count, these(of, key));
    let [least, greatest] = range(of, key);
    changed(of, key, &[count, sum(of, key), least, greatest])
}

/// The sum, and the range, apart: an order changes the quantities of parts, and never their prices. The value of a part
/// that follows the record changes with that of the record, which then has the new range already or finds it itself.
pub(super) fn followed(of: &OfParts, key: &str, differs: fn(&str) -> String) -> [Followed; 2] {
    let OfParts { column, ranged, follows, .. } = of;
    let value = differs(ranged);
    [
        Followed {
            name: "sum",
            column,
            changed: differs(column),
            does: changed(of, key, &[sum(of, key)]),
        },
        Followed {
            name: "range",
            column: ranged,
            changed: format!("{value} AND NOT (OLD.{follows} = 1 AND NEW.{follows} = 1)"),
            does: changed(of, key, &range(of, key)),
        },
    ]
}

fn sum(of: &OfParts, key: &str) -> String {
    format!("{0} = coalesce((SELECT sum({0}) {1}), {0})", of.column, these(of, key))
}

fn range(of: &OfParts, key: &str) -> [String; 2] {
    let ([least, greatest], ranged, these) = (of.ends, of.ranged, these(of, key));
    [(least, "min"), (greatest, "max")]
        .map(|(column, end)| format!("{column} = (SELECT {end}({ranged}) {these})"))
}

/// The parts that count. With a plus, an index on what all parts have in common is not used in place of that on
/// their whole.
fn these(of: &OfParts, key: &str) -> String {
    let OfParts { parts, by, only: (only, value), .. } = of;
    format!("FROM {}\n    WHERE {by} = {key} AND +{only} = {value}", parts.table)
}

/// Changes these columns of the record.
fn changed(of: &OfParts, key: &str, columns: &[String]) -> String {
    let columns = columns.join(",\n    ");
    format!("UPDATE {} SET {columns}\nWHERE {} = {key};\n", of.whole.table, of.whole.key)
}
