//! What is kept of the parts of a record, in its own row.

use crate::model::kept::OfParts;

/// Counts the parts of the record with this key, adds them up, and finds the ends of their range.
pub(super) fn add_up(of: &OfParts, key: &str) -> String {
    let OfParts { column, count, ranged, ends: [least, greatest], .. } = of;
    let these = these(of, key);
    let changes = format!(
        "{count} = (SELECT count(*) {these}),\n    \
         {column} = coalesce((SELECT sum({column}) {these}), {column}),\n    \
         {least} = (SELECT min({ranged}) {these}),\n    \
         {greatest} = (SELECT max({ranged}) {these})"
    );
    format!("UPDATE {} SET {changes}\nWHERE {} = {key};\n", of.whole.table, of.whole.key)
}

/// The condition under which the change of a part changes what is kept of it. The value of a part that follows the
/// record changes with that of the record, which then has the new range already or finds it itself.
pub(super) fn changed(of: &OfParts, differs: fn(&str) -> String) -> String {
    let OfParts { column, ranged, follows, .. } = of;
    let [number, value] = [differs(column), differs(ranged)];
    format!("({number} OR ({value} AND NOT (OLD.{follows} = 1 AND NEW.{follows} = 1)))")
}

/// The parts that count. With a plus, an index on what all parts have in common is not used in place of that on
/// their whole.
fn these(of: &OfParts, key: &str) -> String {
    let OfParts { parts, by, only: (only, value), .. } = of;
    format!("FROM {}\n    WHERE {by} = {key} AND +{only} = {value}", parts.table)
}
