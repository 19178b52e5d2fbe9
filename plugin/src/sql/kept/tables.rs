//! The statements that create the tables of kept numbers. Recounts are not in them, because their tables
//! are in the migrations.

use super::layout::listed;
use super::terms::Terms;
use crate::model::kept::{self, ColumnType, DAY_REVISIONS, SLOT};

/// The statements that create all tables.
pub fn tables(terms: &Terms) -> Vec<String> {
    let kept = kept::ALL.into_iter().map(|kept| {
        let by = kept.by.iter().map(|group| (group.column, group.room));
        table(terms, kept.table, by, kept.sums.iter().map(|sum| sum.column))
    });
    let by = [("day", ColumnType::Text(10))].into_iter();
    let days = table(terms, DAY_REVISIONS.table, by, [DAY_REVISIONS.column].into_iter());
    kept.chain([days]).collect()
}

fn table(
    terms: &Terms,
    name: &str,
    by: impl Iterator<Item = (&'static str, ColumnType)>,
    numbers: impl Iterator<Item = &'static str>,
) -> String {
    let by: Vec<_> = by.chain(terms.slot.map(|_| (SLOT, ColumnType::Small))).collect();
    let key: Vec<&str> = by.iter().map(|(column, _)| *column).collect();
    let numbers = numbers.map(|column| (column, ColumnType::Whole));
    let column = |(name, room)| format!("    {name} {} NOT NULL", (terms.room)(room));
    let mut columns: Vec<String> = by.iter().copied().chain(numbers).map(column).collect();
    let rowid = by.len() == 1 && !matches!(by[0].1, ColumnType::Text(_));
    match key.len() {
        1 => columns[0].push_str(" PRIMARY KEY"),
        _ => columns.push(format!("    {}", listed(0, "PRIMARY KEY (", &key, ")").trim_end())),
    }
    let end = if rowid { terms.plain_end } else { terms.table_end };
    format!("CREATE TABLE {name} (\n{}\n){end}", columns.join(",\n"))
}
