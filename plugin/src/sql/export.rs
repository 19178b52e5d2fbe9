//! All records that satisfy some conditions, as one query without pages.

use super::approach::Texts;
use super::conditions::Joins;
use super::dialect::Dialect;
use super::statement::{Builder, Statement};
use crate::model::question::Page;
use crate::model::table::{Column, Naming};

/// Reads these columns of all records that satisfy the conditions of a page, in its order. The limits of
/// the page do not count.
pub fn export(page: &Page, columns: &[Column], dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.begin_long_sort(page);
    sql.push("SELECT ");
    sql.list(columns.iter().enumerate(), |sql, (position, column)| {
        match column {
            Column::Key(resource) => sql.own(resource.key),
            Column::Own(field) => sql.column(field),
            Column::Named(naming) => sql.name_of(naming),
        }
        sql.push(" AS ");
        sql.cell(position);
    });
    sql.from(page, Joins::All);
    sql.conditions(page, |_| true);
    sql.order(page, None, Texts::Whole);
    sql.finish()
}

impl Builder<'_> {
    /// The name of the record that a field refers to.
    fn name_of(&mut self, naming: &Naming) {
        let Naming { one, by } = naming;
        let (table, key) = (one.target.table, one.target.key);
        let (name, field) = (by.name, one.field.name);
        self.push(&format!("(SELECT n.{name} FROM {table} n WHERE n.{key} = t.{field})"));
    }
}
