//! Rows of data that come with the program, each value beside the name of its column. Independent of what they are
//! about.

use crate::error::Error;
use crate::model::value::{Value, fold};
use crate::sql::{self, RowsOf};
use crate::store::Transaction;

/// Adds a row to rows of the same columns.
macro_rules! push {
    ($rows:expr, $(($column:literal, $value:expr)),+ $(,)?) => {
        $rows.columns = &[$($column),+];
        $rows.push([$($value),+]);
    };
}
pub(super) use push;

/// An empty set of rows. The engine generates the keys.
pub(super) fn rows_of(table: &'static str) -> RowsOf {
    RowsOf { table, columns: &[], keyed: false, values: Vec::new() }
}

/// An empty set of rows, whose first column is the key.
pub(super) fn keyed_rows_of(table: &'static str, key: &'static [&'static str; 1]) -> RowsOf {
    RowsOf { columns: key, keyed: true, ..rows_of(table) }
}

/// Writes rows.
pub(super) async fn write(rows: RowsOf, transaction: &mut Transaction) -> Result<(), Error> {
    let RowsOf { table, columns, keyed, values } = rows;
    let dialect = transaction.dialect();
    let statements = if keyed {
        sql::insert_keyed(table, columns, values, dialect)
    } else {
        sql::insert_many(table, columns, values, usize::MAX, dialect)
    };
    for statement in statements {
        transaction.execute(statement).await?;
    }
    Ok(())
}

/// The key of the record with this number, from 0.
pub(super) fn key(number: u64) -> Value {
    Value::Int(i64::try_from(number + 1).unwrap_or(i64::MAX))
}

pub(super) fn text(text: impl Into<String>) -> Value {
    Value::Text(text.into())
}

pub(super) fn folded(text: &str) -> Value {
    Value::Text(fold(text))
}

pub(super) fn flag(set: bool) -> Value {
    Value::Int(i64::from(set))
}
