//! SQL that finds records by what a client knows them by. Independent of what is done with them.

use super::columns::{folded, only, own};
use super::row::{Rows, row};
use crate::model::field::Field;
use crate::model::resource::Resource;
use crate::model::value::Value;

row! {
    /// A record that was found by a text.
    pub struct Found {
        /// Its key.
        pub key: i64,
        /// The text.
        pub text: String,
        /// What it is within, if that was asked for.
        pub within: Option<i64>,
    }
}

/// Finds the records of a resource with these values in a text field, which are case-folded where the field
/// has a folded copy. `within` is a column to be read beside.
pub fn find_by(
    resource: &Resource,
    field: &Field,
    values: Vec<String>,
    within: Option<&str>,
) -> Rows<Found> {
    let column = own(field.name);
    let searched = if resource.is_folded(field) { folded(&column) } else { column.clone() };
    let key = own(resource.key);
    let beside = within.map_or_else(|| "NULL".to_owned(), own);
    // An index without empty texts can be used only if the query excludes them.
    let text = format!(
        "SELECT {key} AS c0, {column} AS c1, {beside} AS c2 FROM {} t \
         WHERE {searched} IN (?) AND {searched} <> ''{}",
        resource.table,
        only(resource, "t.")
    );
    let values = values.into_iter().map(Value::Text).collect();
    Rows::written(text, vec![values]).planned_anew()
}
