//! The statements that create the tables of kept numbers. Recounts are not in them, because their tables
//! are in the migrations.

use super::layout::listed;
use super::terms::Terms;
use crate::model::kept::{self, ColumnType, DAY_REVISIONS, SLOT};

/// The statements that create all tables.
pub fn tables(terms: &Terms) -> Vec<String> {
    let mut made = Vec::new();
    for kept in kept::ALL {
        let by = kept.by.iter().map(|group| (group.column, group.room));
        let sums = kept.sums.iter().map(|sum| (sum.column, ColumnType::Whole));
        made.push(table(terms, kept.table, by, sums));
    }
    let by = [("day", ColumnType::Text(10))].into_iter();
    let number = [(DAY_REVISIONS.column, ColumnType::Whole)].into_iter();
    made.push(table(terms, DAY_REVISIONS.table, by, number));
    made
}

fn table(
    terms: &Terms,
    name: &str,
    by: impl Iterator<Item = (&'static str, ColumnType)>,
    sums: impl Iterator<Item = (&'static str, ColumnType)>,
) -> String {
    let by: Vec<_> = by.chain(terms.slot.map(|_| (SLOT, ColumnType::Small))).collect();
    let key: Vec<String> = by.iter().map(|(column, _)| (*column).to_owned()).collect();
    let column = |(name, room)| format!("{name} {} NOT NULL", (terms.room)(room));
    let mut columns: Vec<String> = by.iter().copied().chain(sums).map(column).collect();
    let rowid = by.len() == 1 && !matches!(by[0].1, ColumnType::Text(_));
    match key.len() {
        1 => columns[0].push_str(" PRIMARY KEY"),
        _ => columns.push(listed(0, "PRIMARY KEY (", &key, ")").trim_end().to_owned()),
    }
    let end = if rowid { terms.plain_end } else { terms.table_end };
    let columns: Vec<String> = columns.iter().map(|column| format!("    {column}")).collect();
    format!("CREATE TABLE {name} (\n{}\n){end}", columns.join(",\n"))
}
