//! SQL that finds records by what a client knows them by. Independent of what is done with them.

use super::columns::{folded, own};
use super::statement::Table;
use crate::model::field::Field;
use crate::model::resource::Resource;
use crate::model::value::{Kind, Value};

/// Finds the records of a resource with these values in a text field, which are case-folded where the field
/// has a folded copy: a row for each with its key, the text, and the value in the column `within`, if one is
/// named.
pub fn find_by(
    resource: &Resource,
    field: &Field,
    values: Vec<String>,
    within: Option<&str>,
) -> Table {
    let column = own(field.name);
    let searched = if resource.is_folded(field) { folded(&column) } else { column.clone() };
    let key = own(resource.key);
    let beside = within.map_or_else(String::new, |within| format!(", {} AS c2", own(within)));
    let fixed = resource.fixed.iter().map(|(name, value)| format!(" AND {} = {value}", own(name)));
    // An index without empty texts can be used only if the query excludes them.
    let text = format!(
        "SELECT {key} AS c0, {column} AS c1{beside} FROM {} t \
         WHERE {searched} IN (?) AND {searched} <> ''{}",
        resource.table,
        fixed.collect::<String>()
    );
    let values = values.into_iter().map(Value::Text).collect();
    let columns: &[Kind] = match within {
        Some(_) => &[Kind::COUNT, Kind::WORD, Kind::COUNT],
        None => &[Kind::COUNT, Kind::WORD],
    };
    Table::new(text, vec![values], columns)
}
