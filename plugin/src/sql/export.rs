//! All records that satisfy some conditions, as one query without pages.

use super::approach::Texts;
use super::conditions::Joins;
use super::dialect::Dialect;
use super::statement::{Builder, Statement};
use crate::model::question::Page;
use crate::model::table::{Column, Naming, Parts};

/// Reads these columns of all records that satisfy the conditions of a page, in its order. The limits of
/// the page do not count. With parts there is a row for each part of a record, which ends with the keys of both and
/// the fields of the part; a record without parts has one row. The rows of a record follow each other, its parts in
/// any order, because sorting them here would sort all of them at once.
pub fn export(
    page: &Page,
    columns: &[Column],
    parts: Option<&Parts>,
    dialect: &Dialect,
) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.begin_long_sort(page).push("SELECT ").list(
        columns.iter().enumerate(),
        |sql, (position, column)| {
            let sql = match column {
                Column::Key(resource) => sql.own(resource.key),
                Column::Own(field) => sql.column(field),
                Column::Named(naming) => sql.name_of(naming),
            };
            sql.push(" AS ").cell(position)
        },
    );
    if let Some(Parts { children, fields, .. }) = parts {
        let keys = [format!("t.{}", page.resource.key), format!("p.{}", children.of.key)];
        let fields = fields.iter().map(|field| format!("p.{}", field.name));
        for (position, column) in keys.into_iter().chain(fields).enumerate() {
            sql.push(", ").push(&column).push(" AS ").cell(columns.len() + position);
        }
    }
    sql.from(page, Joins::All);
    if let Some(Parts { children, by, .. }) = parts {
        let (table, key) = (children.of.table, page.resource.key);
        sql.push(&format!(" LEFT JOIN {table} p ON p.{by} = t.{key}"));
    }
    sql.conditions(page, |_| true).order(page, None, Texts::Whole).finish()
}

impl Builder<'_> {
    /// The name of the record that a field refers to.
    fn name_of(&mut self, naming: &Naming) -> &mut Self {
        let Naming { one, by } = naming;
        let (table, key) = (one.target.table, one.target.key);
        let (name, field) = (by.name, one.field.name);
        self.push(&format!("(SELECT n.{name} FROM {table} n WHERE n.{key} = t.{field})"))
    }
}
