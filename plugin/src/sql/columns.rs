//! The columns in which fields are read, compared, searched and sorted.

use super::statement::Builder;
use crate::model::field::Field;
use crate::model::resource::Resource;
use crate::model::value::Kind;

/// The name of the column with the case-folded copy of a text.
pub fn folded(name: &str) -> String {
    format!("{name}_fold")
}

/// The name of the column with what follows the beginning of such a copy, if the text is long.
pub(super) fn rest(name: &str) -> String {
    format!("{name}_rest")
}

/// A column of the resource's own table.
pub(super) fn own(name: &str) -> String {
    format!("t.{name}")
}

/// The conditions by which the rows of a resource differ from others of its table. `of` precedes each column.
pub(super) fn only(resource: &Resource, of: &str) -> String {
    resource.fixed.iter().map(|(column, value)| format!(" AND {of}{column} = {value}")).collect()
}

/// The column that a field is read from.
pub(super) fn column(field: &Field) -> String {
    source(field).concat()
}

/// The parts of [`column`].
fn source(field: &Field) -> [&'static str; 3] {
    match (field.computed, field.joined) {
        (Some(expression), _) => [expression, "", ""],
        (None, Some((alias, column))) => [alias, ".", column],
        (None, None) => ["t", ".", field.name],
    }
}

impl Builder<'_> {
    /// Adds the column that a field is read from.
    pub(super) fn column(&mut self, field: &Field) -> &mut Self {
        let [table, dot, column] = source(field);
        self.push(table).push(dot).push(column)
    }

    /// Adds a column of the resource's own table.
    pub(super) fn own(&mut self, name: &str) -> &mut Self {
        self.push("t.").push(name)
    }
}

/// The column in which a field is compared.
pub(super) fn tested(resource: &Resource, name: &str) -> String {
    resource.field(name).map_or_else(|| own(name), column)
}

/// The column in which a field is searched, ignoring case.
pub(super) fn searched(resource: &Resource, name: &str) -> String {
    let column = tested(resource, name);
    match resource.field(name) {
        Some(field) if resource.is_folded(field) => folded(&column),
        // Text of capital letters has no copy: on every engine, lower case is its folded form.
        Some(Field { kind: Kind::Text { .. }, .. }) => format!("lower({column})"),
        _ => column,
    }
}

/// The column that a field is sorted by.
pub(super) fn order_column(resource: &Resource, name: &str) -> Option<String> {
    let field = resource.field(name)?;
    Some(if resource.is_folded(field) { folded(&column(field)) } else { column(field) })
}

/// The column that a field is sorted by where the first one has only the beginnings of texts.
pub(super) fn next_order_column(resource: &Resource, name: &str) -> Option<String> {
    let field = resource.field(name)?;
    resource.is_split(field).then(|| rest(&column(field)))
}

/// The greatest length of the texts in these two columns.
pub(super) fn longest(resource: &Resource, name: &str) -> Option<usize> {
    let field = resource.field(name)?;
    match field.kind {
        Kind::Text { max, .. } if resource.is_split(field) => Some(max),
        _ => None,
    }
}

/// The name of the column in which a text is searched.
pub(super) fn text_column(resource: &Resource, name: &str) -> String {
    match resource.field(name) {
        Some(field) if resource.is_folded(field) => folded(name),
        _ => name.to_owned(),
    }
}
