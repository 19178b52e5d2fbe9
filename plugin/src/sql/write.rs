//! Changes of records as SQL, with their locks and checks.

use std::borrow::Cow;

use super::columns::{folded, rest};
use super::copy::{insert_at_once, insert_rows};
use super::dialect::Dialect;
use super::row::{Key, Rows};
use super::statement::{Builder, Statement};
use crate::model::field::Field;
use crate::model::question::Check;
use crate::model::resource::Resource;
use crate::model::value::{BEGINNING, Value, fold};

/// The greatest length of the folded copy of a name, in characters. Folding turns one
/// character into three at worst; an index is limited to 3,072 bytes, which must suffice for two keys as
/// well. So the end of a text is lost if all of its 255 letters are folded to three.
const COPIED: usize = 763;

/// As many columns as most records have, so that few lists of them grow.
const MANY: usize = 32;

/// The name of a column: that of a field, or one made from it.
pub type ColumnName = Cow<'static, str>;

/// Locks a record against changes until the transaction ends; `None` on an engine with one writer
/// at a time.
pub fn lock(resource: &Resource, key: i64, dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    if resource.lock_row && locks.node_local {
        return Some(lock_row(resource.table, Some((resource.key, Value::Int(key))), dialect));
    }
    let mut sql = Builder::new(dialect);
    sql.push("SELECT 1 FROM ").push(resource.table).by_key(resource, key);
    Some(sql.push(locks.exclusive).finish())
}

/// Locks records in the order of their keys, so that writers who share some of them cannot wait for
/// each other; `None` on an engine with one writer at a time. On a cluster, this holds on all nodes only
/// for records that the transaction then changes.
pub fn lock_all(resource: &Resource, keys: &[i64], dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    let (key, table) = (resource.key, resource.table);
    let mut sql = Builder::new(dialect);
    sql.push("SELECT ").push(key).push(" FROM ").push(table).push(" WHERE ").among(key, keys);
    Some(sql.push(" ORDER BY ").push(key).push(locks.exclusive).finish())
}

/// Takes the lock for serialised writes of the store; `None` on an engine with one writer at a
/// time.
pub fn lock_store(dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    if locks.node_local {
        return Some(lock_row("shop_meta", None, dialect));
    }
    Some(format!("SELECT one FROM shop_meta{}", locks.exclusive).into())
}

/// Locks the records that a code refers to, which no foreign key protects, where the lock of a
/// check would not be valid on all nodes.
pub fn lock_referenced(checks: &[&Check], dialect: &Dialect) -> Vec<Statement> {
    let of_one_node = dialect.locks.is_some_and(|locks| locks.node_local);
    let rows = checks.iter().filter_map(|check| match check {
        Check::Exists { target, column, value, .. } if target.lock_row && *column != target.key => {
            Some(lock_row(target.table, Some((column, value.clone())), dialect))
        }
        _ => None,
    });
    rows.filter(|_| of_one_node).collect()
}

/// Inserts a record.
pub fn insert<'a>(
    resource: &Resource,
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
    dialect: &Dialect,
) -> Statement {
    let (columns, values) = row_of(resource, values);
    let mut insert = insert_at_once(resource.table, &columns, values, dialect);
    if dialect.returns_keys {
        insert.text.push_str(" RETURNING ");
        insert.text.push_str(resource.key);
    }
    insert
}

/// Reads keys that the table of a resource will not generate for other records; `None` on an engine that gives keys only
/// to rows.
pub fn free_keys(resource: &Resource, count: usize, dialect: &Dialect) -> Option<Rows<Key>> {
    let text = (dialect.free_keys.as_ref()?.read)(resource.table, resource.key);
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Some(Rows::written(text, vec![vec![Value::Int(count)]]))
}

/// A record as its columns, without the key, and their values.
pub fn row_of<'a>(
    resource: &Resource,
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
) -> (Vec<ColumnName>, Vec<Value>) {
    columns_of(resource, values).into_iter().chain(fixed(resource)).unzip()
}

/// Inserts records with values for the same fields.
pub fn insert_all<'a>(
    resource: &Resource,
    records: impl Iterator<Item = impl Iterator<Item = (&'a Field, &'a Value)>>,
    dialect: &Dialect,
) -> Vec<Statement> {
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    for record in records {
        let row;
        (columns, row) = row_of(resource, record);
        rows.push(row);
    }
    insert_rows(resource.table, &columns, rows, dialect)
}

/// Changes fields of a record, or without any only its parts, and counts the change in its version.
pub fn update<'a>(
    resource: &Resource,
    key: i64,
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
    dialect: &Dialect,
) -> Statement {
    change(resource, key, columns_of(resource, values), dialect)
}

/// Gives these fields of each of the records values of its own, and others the same in all of them.
/// Counts the change in their versions.
pub fn update_each<'a, const N: usize>(
    resource: &Resource,
    fields: [&Field; N],
    values: &[(i64, [Value; N])],
    same: impl Iterator<Item = (&'a Field, &'a Value)>,
    dialect: &Dialect,
) -> Vec<Statement> {
    /// A list of cases is searched from its beginning for each row, so it stays short.
    const AT_ONCE: usize = 64;
    let same = columns_of(resource, same);
    let chunks = values.chunks(AT_ONCE).map(|values| {
        let mut sql = Builder::new(dialect);
        sql.update(resource, same.iter().cloned());
        for (place, field) in fields.iter().enumerate() {
            sql.push(&format!(", {} = CASE {}", field.name, resource.key));
            for (key, values) in values {
                sql.push(" WHEN ").bind(Value::Int(*key));
                sql.push(" THEN ").bind(values[place].clone());
            }
            sql.push(" END");
        }
        let keys = values.iter().map(|(key, _)| Value::Int(*key));
        sql.push(" WHERE ").one_of(resource.key, keys.collect()).finish()
    });
    chunks.collect()
}

/// Gives these records the same values in some fields, and counts the change in their versions.
pub fn touch_all<'a>(
    resource: &Resource,
    keys: &[i64],
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
    dialect: &Dialect,
) -> Option<Statement> {
    if keys.is_empty() {
        return None;
    }
    let mut sql = Builder::new(dialect);
    sql.update(resource, columns_of(resource, values)).push(" WHERE ");
    Some(sql.among(resource.key, keys).finish())
}

/// Changes fields of a row of the table, which becomes a record of the resource.
pub fn create_stock_record<'a>(
    resource: &Resource,
    key: i64,
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
    dialect: &Dialect,
) -> Statement {
    change(resource, key, fixed(resource).chain(columns_of(resource, values)), dialect)
}

/// Completes rows that this transaction has made, as a part of their making: their versions stay. What is set and where
/// are texts of the store's own.
pub fn complete(
    resource: &Resource,
    set: &'static str,
    rows: &'static str,
    binds: Vec<Value>,
) -> Statement {
    let table = resource.table;
    Statement { text: format!("UPDATE {table} SET {set} WHERE {rows}"), binds }
}

/// Removes a record.
pub fn delete(resource: &Resource, key: i64, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("DELETE FROM ").push(resource.table).by_key(resource, key).finish()
}

/// Removes the rows of a table with these keys.
pub(super) fn delete_keys(table: &str, key: &str, keys: &[i64], dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("DELETE FROM ").push(table).push(" WHERE ").among(key, keys).finish()
}

/// All checks in one query: one row with a number for each, 1 if it passed.
pub fn checks(checks: &[&Check], dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    let all = sql.push("SELECT ").list(checks, |sql, check| match check {
        Check::Exists { target, column, value, within, .. } => {
            sql.push("EXISTS (SELECT 1 FROM ").push(target.table);
            sql.push(" WHERE ").push(column).push(" = ").bind(value.clone());
            if let Some((column, value)) = within {
                sql.push(" AND ").push(column).push(" = ").bind(value.clone());
            }
            // The database itself does not protect a reference by a code.
            if let (true, Some(locks)) = (*column != target.key, dialect.locks) {
                sql.push(locks.shared);
            }
            sql.push(")")
        }
        Check::Free { resource, unique, values, except } => {
            let (table, key) = unique.among.unwrap_or((resource.table, resource.key));
            sql.push("NOT EXISTS (SELECT 1 FROM ").push(table).push(" WHERE ");
            for (name, value) in unique.fields.iter().zip(values) {
                let (column, value) = match value {
                    Value::Text(text) if unique.any_case => (folded(name), Value::Text(fold(text))),
                    _ => ((*name).to_owned(), value.clone()),
                };
                sql.push(&column).push(" = ").bind(value).push(" AND ");
                if unique.unless_empty {
                    // An index without empty texts can be used only if the query excludes them.
                    sql.push(&column).push(" <> '' AND ");
                }
            }
            for (name, value) in resource.fixed.iter().filter(|_| unique.among.is_none()) {
                sql.push(name).push(" = ").bind(Value::Int(*value)).push(" AND ");
            }
            sql.push(key).push(" <> ").bind(Value::Int(*except)).push(")")
        }
    });
    all.finish()
}

/// Counts the records that refer to one: one row with a number for each referring column, which is
/// given by its table, its name and the value that it contains.
pub fn count_references(referring: Vec<(&str, &str, Value)>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    let counts = sql.push("SELECT ").list(referring, |sql, (table, column, value)| {
        sql.push("(SELECT count(*) FROM ").push(table);
        sql.push(" WHERE ").push(column).push(" = ").bind(value).push(")")
    });
    counts.finish()
}

/// Updates the paths and levels of all descendants of a category.
pub fn move_branch(old: &str, new: &str, deeper: i64, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE shop_categories SET version = version + 1, path = ");
    sql.bind(Value::Text(new.to_owned())).push(" || substr(path, ").push(dialect.char_length);
    sql.push("(").bind(Value::Text(old.to_owned())).push(") + 1)");
    sql.push(", level = level + ").bind(Value::Int(deeper));
    // The path of a descendant begins with the old path and a slash; '0' is the character after
    // '/'.
    sql.push(" WHERE path > ").bind(Value::Text(format!("{old}/")));
    sql.push(" AND path < ").bind(Value::Text(format!("{old}0"))).finish()
}

/// Changes columns of a row, and counts the change in its version.
fn change(
    resource: &Resource,
    key: i64,
    columns: impl IntoIterator<Item = (ColumnName, Value)>,
    dialect: &Dialect,
) -> Statement {
    Builder::new(dialect).update(resource, columns).by_key(resource, key).finish()
}

impl Builder<'_> {
    /// Begins to change columns of rows, and to count the change in their versions.
    fn update(
        &mut self,
        resource: &Resource,
        columns: impl IntoIterator<Item = (ColumnName, Value)>,
    ) -> &mut Self {
        self.push("UPDATE ").push(resource.table).push(" SET version = version + 1");
        for (name, value) in columns {
            self.push(", ").push(&name).push(" = ").bind(value);
        }
        self
    }

    fn by_key(&mut self, resource: &Resource, key: i64) -> &mut Self {
        self.push(" WHERE ").push(resource.key).push(" = ").bind(Value::Int(key))
    }
}

/// Locks, on all nodes of a cluster, the row with a value in a column, or the only row of a table,
/// by updating it.
fn lock_row(table: &str, of: Option<(&str, Value)>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE ").push(table).push(" SET locks = locks + 1");
    if let Some((column, value)) = of {
        sql.push(" WHERE ").push(column).push(" = ").bind(value);
    }
    sql.finish()
}

/// The columns with the same value in all records of a resource.
fn fixed(resource: &Resource) -> impl Iterator<Item = (ColumnName, Value)> {
    resource.fixed.iter().map(|(name, value)| (Cow::Borrowed(*name), Value::Int(*value)))
}

/// The columns and values that store a record: each field's own, and the folded copy of a text.
pub(super) fn columns_of<'a>(
    resource: &Resource,
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
) -> Vec<(ColumnName, Value)> {
    let mut columns = Vec::with_capacity(MANY);
    for (field, value) in values {
        columns.push((Cow::Borrowed(field.name), value.clone()));
        if resource.is_folded(field) {
            columns.extend(copy_of(value, field).into_iter().flatten());
        }
    }
    columns
}

/// The folded copy of a text, in two columns if it may be long.
fn copy_of(value: &Value, field: &Field) -> [Option<(ColumnName, Value)>; 2] {
    let Value::Text(text) = value else {
        // No column of a copy takes it, so the database refuses it.
        return [Some((folded(field.name).into(), value.clone())), None];
    };
    let mut copy = fold(text);
    let is_split = field.kind.is_split();
    let most = if is_split { BEGINNING } else { COPIED };
    let end = copy.char_indices().nth(most).map(|(end, _)| end);
    let after = end.map(|end| copy.split_off(end)).unwrap_or_default();
    let after = is_split.then(|| (rest(field.name).into(), Value::Text(after)));
    [Some((folded(field.name).into(), Value::Text(copy))), after]
}
