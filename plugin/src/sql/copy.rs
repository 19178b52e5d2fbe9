//! SQL for whole tables: inserting many rows, reading, summing and counting. Independent of
//! resources.

use super::dialect::Dialect;
use super::statement::{Builder, Statement};
use crate::model::value::Value;

/// Inserts many rows into a table, with few statements.
pub fn insert_rows(
    table: &str,
    columns: &[impl AsRef<str>],
    rows: Vec<Vec<Value>>,
    dialect: &Dialect,
) -> Vec<Statement> {
    let values = rows.into_iter().flatten().collect();
    insert_many(table, columns, values, usize::MAX, dialect)
}

/// Inserts rows with their keys, given as values row after row with the key first, and moves the
/// engine's key generator past them.
pub fn insert_keyed(
    table: &str,
    columns: &[&str],
    values: Vec<Value>,
    dialect: &Dialect,
) -> Vec<Statement> {
    let mut statements = insert_many(table, columns, values, usize::MAX, dialect);
    statements.extend(columns.first().and_then(|key| keys_follow(table, key, dialect)));
    statements
}

/// Inserts very many rows, given as values row after row, at most this many with one statement.
/// Statements of the same length are prepared once, so the lengths are powers of two. The engine's
/// key generator is not moved past given keys.
pub fn insert_many(
    table: &str,
    columns: &[impl AsRef<str>],
    values: Vec<Value>,
    at_once: usize,
    dialect: &Dialect,
) -> Vec<Statement> {
    let width = columns.len().max(1);
    let at_once = at_once.clamp(1, (dialect.max_binds / width).max(1));
    let mut rows = values.len() / width;
    let mut values = values.into_iter();
    let mut statements = Vec::new();
    while rows > 0 {
        let some = 1 << rows.min(at_once).ilog2();
        let values = values.by_ref().take(some * width).collect();
        statements.push(insert_at_once(table, columns, values, dialect));
        rows -= some;
    }
    statements
}

/// Inserts rows, given as values row after row, with one statement. The engine's key generator is not
/// moved past given keys.
pub fn insert_at_once(
    table: &str,
    columns: &[impl AsRef<str>],
    values: Vec<Value>,
    dialect: &Dialect,
) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("INSERT INTO ").push(table).push(" (");
    sql.list(columns, |sql, column| sql.push(column.as_ref())).push(") VALUES ");
    sql.list(0..values.len() / columns.len().max(1), |sql, _| {
        sql.push("(").list(columns, |sql, _| sql.push("?")).push(")")
    });
    Statement { binds: values, ..sql.finish() }
}

/// Inserts rows from a stream that follows the statement, on an engine with this feature.
pub fn copy_in(table: &str, columns: &[&str]) -> String {
    format!("COPY {table} ({}) FROM STDIN", columns.join(", "))
}

/// Moves the engine's key generator past the inserted keys; `None` where this happens
/// automatically.
pub fn keys_follow(table: &str, key: &str, dialect: &Dialect) -> Option<Statement> {
    dialect.keys_follow.then(|| {
        // The name that the engine gives to the sequence of a key.
        let sequence = format!("{table}_{key}_seq");
        Statement::from(format!(
            "SELECT setval('{sequence}', greatest((SELECT max({key}) FROM {table}), \
             (SELECT last_value FROM {sequence})))"
        ))
    })
}

/// Reads these columns of all rows of a table.
pub fn all_rows(table: &str, columns: &[&str], order: &str) -> Statement {
    Statement::from(format!("SELECT {} FROM {table} ORDER BY {order}", columns.join(", ")))
}

/// Reads the sums of columns, grouped by other columns, where the first sum is not 0.
pub fn all_groups(table: &str, by: &[&str], sums: &[&str]) -> Statement {
    let sums: Vec<String> = sums.iter().map(|column| format!("sum({column})")).collect();
    let (by, first) = (by.join(", "), sums.first().map_or("1", String::as_str));
    Statement::from(format!(
        "SELECT {by}, {} FROM {table} GROUP BY {by} HAVING {first} <> 0 ORDER BY {by}",
        sums.join(", ")
    ))
}

/// Counts the rows of a table.
pub fn count_rows(table: &str) -> Statement {
    Statement::from(format!("SELECT count(*) FROM {table}"))
}

/// Removes the rows of a table.
pub fn delete_rows(table: &str) -> Statement {
    Statement::from(format!("DELETE FROM {table}"))
}

/// Reads the key that a table generated last.
pub fn last_key(table: &str, key: &str, dialect: &Dialect) -> Statement {
    Statement::from((dialect.last_key)(table, key))
}

/// Makes a table generate keys above this one.
pub fn give_keys_above(table: &str, key: &str, last: i64, dialect: &Dialect) -> Vec<Statement> {
    (dialect.give_keys_above)(table, key, last).into_iter().map(Statement::from).collect()
}
