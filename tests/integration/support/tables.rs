//! The tables of the specification, read from `tests/spec`.

use std::collections::BTreeMap;

pub const FIELDS: &str = include_str!("../../spec/fields.md");

pub const ROWS: &str = include_str!("../../spec/rows.md");

/// One row of the table of fields.
pub struct Row {
    pub kind: &'static str,
    pub key: &'static str,
    pub list: Vec<&'static str>,
    pub detail: Vec<&'static str>,
}

/// The rows of the table whose header begins with these cells, as lists of cells.
pub fn table(text: &'static str, header: &[&str]) -> Vec<Vec<&'static str>> {
    let cells = |line: &'static str| -> Vec<&'static str> {
        line.trim_matches('|').split('|').map(str::trim).collect()
    };
    let mut lines = text.lines().skip_while(|line| cells(line) != header).skip(2);
    let mut rows = Vec::new();
    while let Some(line) = lines.next().filter(|line| line.starts_with('|')) {
        rows.push(cells(line));
    }
    assert!(!rows.is_empty(), "there is a table {header:?}");
    rows
}

pub fn names(cell: &'static str) -> Vec<&'static str> {
    match cell {
        "none" => Vec::new(),
        _ => cell.split(", ").collect(),
    }
}

/// The table of fields.
pub fn fields() -> Vec<Row> {
    table(FIELDS, &["type", "key", "list fields", "detail fields"])
        .into_iter()
        .map(|row| Row { kind: row[0], key: row[1], list: names(row[2]), detail: names(row[3]) })
        .collect()
}

/// The table of filters, by resource.
pub fn filters() -> BTreeMap<&'static str, Vec<&'static str>> {
    let rows = table(FIELDS, &["type", "filters"]).into_iter();
    rows.map(|row| (row[0], names(row[1]))).collect()
}

/// Whether the resource has routes to list, read and write its records.
pub fn is_crud(kind: &str) -> bool {
    plugin::resources::REGISTRY.find(kind).unwrap().crud
}
