//! Records of one table that a transaction inserts with one statement, with the keys that they will have. Knows nothing
//! of when that is.

use std::collections::VecDeque;

use crate::model::resource::Resource;
use crate::model::value::Value;
use crate::sql::dialect::Dialect;
use crate::sql::{self, ColumnName, Key, Statement};

/// How many records one statement inserts at most. The time that a transaction takes is looked at between statements.
pub(super) const AT_ONCE: usize = 128;

/// Records that are to be inserted.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    table: &'static str,
    key: &'static str,
    /// The columns beside the key, which is the last one.
    columns: Vec<ColumnName>,
    rows: Vec<Vec<Value>>,
    /// Keys of the table that no record has yet.
    keys: VecDeque<i64>,
}

impl Gathered {
    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a row of these columns can be added.
    pub(super) fn takes(&self, resource: &Resource, columns: &[ColumnName]) -> bool {
        let is_alike = self.table == resource.table && self.columns == columns;
        self.is_empty() || (is_alike && self.rows.len() < AT_ONCE)
    }

    /// A key for a record of this resource, if any is left.
    pub(super) fn free_key(&mut self, resource: &Resource) -> Option<i64> {
        if self.table == resource.table { self.keys.pop_front() } else { None }
    }

    /// Takes keys for records of a resource, and returns the first one.
    pub(super) fn take_keys(&mut self, resource: &Resource, keys: Vec<Key>) -> Option<i64> {
        (self.table, self.key) = (resource.table, resource.key);
        self.keys = keys.into_iter().map(|of| of.key).collect();
        self.keys.pop_front()
    }

    /// Adds a row that [is taken](Self::takes), with one of the keys.
    pub(super) fn push(&mut self, columns: Vec<ColumnName>, key: i64, mut values: Vec<Value>) {
        self.columns = columns;
        values.push(Value::Int(key));
        self.rows.push(values);
    }

    /// The statements that insert these records, which are then no longer here.
    pub(super) fn take(&mut self, dialect: &Dialect) -> Vec<Statement> {
        if self.is_empty() {
            return Vec::new();
        }
        if !dialect.free_keys.as_ref().is_some_and(|of| of.stay_free) {
            self.keys.clear();
        }
        let mut columns: Vec<&str> = self.columns.iter().map(|column| &**column).collect();
        columns.push(self.key);
        sql::insert_rows(self.table, &columns, std::mem::take(&mut self.rows), dialect)
    }
}
