//! The statements that create the tables of kept numbers.

use super::layout::listed;
use super::terms::Terms;
use crate::model::kept::{self, COUNTED, DAY_REVISIONS, ONLY, RECOUNTS, Room, SLOT, SLOTS};

/// The statements that create all tables, with the rows that a new store needs.
pub fn tables(terms: &Terms) -> Vec<String> {
    let mut made = Vec::new();
    for kept in kept::ALL {
        let by = kept.by.iter().map(|group| (group.column, group.room));
        let sums = kept.sums.iter().map(|sum| (sum.column, Room::Whole));
        made.push(table(terms, kept.table, by, sums));
    }
    let by = [("day", Room::Text(10))].into_iter();
    let number = [(DAY_REVISIONS.column, Room::Whole)].into_iter();
    made.push(table(terms, DAY_REVISIONS.table, by, number));
    let small = (terms.room)(Room::Small);
    let whole = (terms.room)(Room::Whole);
    let one = format!("{ONLY} {small} NOT NULL PRIMARY KEY CHECK ({ONLY} = 1)");
    if terms.slot.is_some() {
        let floors = COUNTED.iter().map(|of| format!("{} {whole} NOT NULL", of.floor));
        made.push(create(SLOTS, std::iter::once(one.clone()).chain(floors), terms.plain_end));
    }
    let numbers = ["run", "writes"].map(|name| format!("{name} {whole} NOT NULL"));
    made.push(create(RECOUNTS, std::iter::once(one).chain(numbers), terms.plain_end));
    made.push(format!("INSERT INTO {RECOUNTS} VALUES (1, 0, 0)"));
    made
}

fn table(
    terms: &Terms,
    name: &str,
    by: impl Iterator<Item = (&'static str, Room)>,
    sums: impl Iterator<Item = (&'static str, Room)>,
) -> String {
    let by: Vec<_> = by.chain(terms.slot.map(|_| (SLOT, Room::Small))).collect();
    let key: Vec<String> = by.iter().map(|(column, _)| (*column).to_owned()).collect();
    let column = |(name, room)| format!("{name} {} NOT NULL", (terms.room)(room));
    let mut columns: Vec<String> = by.iter().copied().chain(sums).map(column).collect();
    let rowid = by.len() == 1 && !matches!(by[0].1, Room::Text(_));
    match key.len() {
        1 => columns[0].push_str(" PRIMARY KEY"),
        _ => columns.push(listed(0, "PRIMARY KEY (", &key, ")").trim_end().to_owned()),
    }
    create(name, columns.into_iter(), if rowid { terms.plain_end } else { terms.table_end })
}

fn create(name: &str, columns: impl Iterator<Item = String>, end: &str) -> String {
    let columns: Vec<String> = columns.map(|column| format!("    {column}")).collect();
    format!("CREATE TABLE {name} (\n{}\n){end}", columns.join(",\n"))
}
