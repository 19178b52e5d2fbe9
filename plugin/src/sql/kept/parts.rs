//! Sums of the parts of a record, kept in its own row.

use crate::model::kept::PartSum;

/// Adds up the parts of the record with this key, and counts them.
pub(super) fn add_up(of: &PartSum, key: &str) -> String {
    let PartSum { column, count, whole, parts, by, only: (only, value) } = of;
    // With a plus, an index on what all parts have in common is not used in place of that on their whole.
    let these = format!("FROM {}\n    WHERE {by} = {key} AND +{only} = {value}", parts.table);
    format!(
        "UPDATE {} SET {count} = (SELECT count(*) {these}),\n    \
         {column} = coalesce((SELECT sum({column}) {these}), {column})\nWHERE {} = {key};\n",
        whole.table, whole.key
    )
}
