//! SQL that finds records by what a client knows them by. Independent of what is done with them.

use super::columns::{folded, only, own};
use super::dialect::Dialect;
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
    dialect: &Dialect,
) -> Rows<Found> {
    let column = own(field.name);
    let searched = if resource.is_folded(field) { folded(&column) } else { column.clone() };
    let key = own(resource.key);
    let beside = within.map_or_else(|| "NULL".to_owned(), own);
    let text = format!(
        "SELECT {key} AS c0, {column} AS c1, {beside} AS c2 FROM {}{}",
        with_texts(resource.table, &searched, dialect),
        only(resource, "t.")
    );
    let values = values.into_iter().map(Value::Text).collect();
    Rows::written(text, vec![values])
}

/// The rows of a table that have one of a list of texts in a column, and the condition for it, as `t`. The list is bound.
pub(super) fn with_texts(table: &str, column: &str, dialect: &Dialect) -> String {
    // An index without empty texts can be used only if the query excludes them.
    if dialect.seeks_each {
        return format!(
            "(SELECT DISTINCT unnest(ARRAY[?]) AS sought) list CROSS JOIN LATERAL \
             (SELECT * FROM {table} t WHERE {column} = sought AND {column} <> '' OFFSET 0) t \
             WHERE true"
        );
    }
    format!("{table} t WHERE {column} IN (?) AND {column} <> ''")
}
