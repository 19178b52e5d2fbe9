//! Changes of records as SQL, with their locks and checks.

use std::borrow::Cow;

use super::columns::{folded, rest};
use super::copy::insert_rows;
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
    sql.push("SELECT 1 FROM ");
    sql.push(resource.table);
    sql.by_key(resource, key);
    sql.push(locks.exclusive);
    Some(sql.finish())
}

/// Locks records in the order of their keys, so that writers who share some of them cannot wait for
/// each other; `None` on an engine with one writer at a time. On a cluster, this holds on all nodes only
/// for records that the transaction then changes.
pub fn lock_all(resource: &Resource, keys: &[i64], dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    let (key, table) = (resource.key, resource.table);
    let mut sql = Builder::new(dialect);
    sql.push(&format!("SELECT {key} FROM {table} WHERE {key} IN ("));
    sql.bind_list(keys.iter().map(|key| Value::Int(*key)).collect());
    sql.push(&format!(") ORDER BY {key}"));
    sql.push(locks.exclusive);
    Some(sql.finish())
}

/// Takes the lock for serialised writes of the store; `None` on an engine with one writer at a
/// time.
pub fn lock_store(dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    if locks.node_local {
        return Some(lock_row("shop_meta", None, dialect));
    }
    let mut sql = Builder::new(dialect);
    sql.push("SELECT one FROM shop_meta");
    sql.push(locks.exclusive);
    Some(sql.finish())
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
    let mut sql = Builder::new(dialect);
    sql.push("INSERT INTO ");
    sql.push(resource.table);
    sql.push(" (");
    let (columns, values) = row_of(resource, values);
    sql.list(columns.iter(), |sql, name| sql.push(name));
    sql.push(") VALUES (");
    sql.list(values.into_iter(), |sql, value| sql.bind(value));
    sql.push(")");
    if dialect.returns_keys {
        sql.push(" RETURNING ");
        sql.push(resource.key);
    }
    sql.finish()
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
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    for record in records {
        let row;
        (columns, row) = row_of(resource, record);
        rows.push(row);
    }
    let columns: Vec<&str> = columns.iter().map(|column| &**column).collect();
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
        sql.push("UPDATE ");
        sql.push(resource.table);
        sql.push(" SET version = version + 1");
        for (name, value) in &same {
            sql.push(&format!(", {name} = "));
            sql.bind(value.clone());
        }
        for (place, field) in fields.iter().enumerate() {
            sql.push(&format!(", {} = CASE {}", field.name, resource.key));
            for (key, values) in values {
                sql.push(" WHEN ");
                sql.bind(Value::Int(*key));
                sql.push(" THEN ");
                sql.bind(values[place].clone());
            }
            sql.push(" END");
        }
        sql.push(&format!(" WHERE {} IN (", resource.key));
        sql.bind_list(values.iter().map(|(key, _)| Value::Int(*key)).collect());
        sql.push(")");
        sql.finish()
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
    sql.push(&format!("UPDATE {} SET version = version + 1", resource.table));
    for (name, value) in columns_of(resource, values) {
        sql.push(&format!(", {name} = "));
        sql.bind(value);
    }
    sql.push(&format!(" WHERE {} IN (", resource.key));
    sql.bind_list(keys.iter().map(|key| Value::Int(*key)).collect());
    sql.push(")");
    Some(sql.finish())
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

/// Removes a record.
pub fn delete(resource: &Resource, key: i64, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("DELETE FROM ");
    sql.push(resource.table);
    sql.by_key(resource, key);
    sql.finish()
}

/// Removes the rows of a table with these keys.
pub(super) fn delete_keys(table: &str, key: &str, keys: Vec<i64>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push(&format!("DELETE FROM {table} WHERE {key} IN ("));
    sql.bind_list(keys.into_iter().map(Value::Int).collect());
    sql.push(")");
    sql.finish()
}

/// All checks in one query: one row with a number for each, 1 if it passed.
pub fn checks(checks: &[&Check], dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT ");
    sql.list(checks.iter(), |sql, check| match check {
        Check::Exists { target, column, value, within, .. } => {
            sql.push("EXISTS (SELECT 1 FROM ");
            sql.push(target.table);
            sql.push(" WHERE ");
            sql.push(column);
            sql.push(" = ");
            sql.bind(value.clone());
            if let Some((column, value)) = within {
                sql.push(" AND ");
                sql.push(column);
                sql.push(" = ");
                sql.bind(value.clone());
            }
            // The database itself does not protect a reference by a code.
            if let (true, Some(locks)) = (*column != target.key, dialect.locks) {
                sql.push(locks.shared);
            }
            sql.push(")");
        }
        Check::Free { resource, unique, values, except } => {
            let (table, key) = unique.among.unwrap_or((resource.table, resource.key));
            sql.push("NOT EXISTS (SELECT 1 FROM ");
            sql.push(table);
            sql.push(" WHERE ");
            for (name, value) in unique.fields.iter().zip(values) {
                let (column, value) = match value {
                    Value::Text(text) if unique.any_case => (folded(name), Value::Text(fold(text))),
                    _ => ((*name).to_owned(), value.clone()),
                };
                sql.push(&column);
                sql.push(" = ");
                sql.bind(value);
                sql.push(" AND ");
                if unique.unless_empty {
                    // An index without empty texts can be used only if the query excludes them.
                    sql.push(&column);
                    sql.push(" <> '' AND ");
                }
            }
            for (name, value) in resource.fixed.iter().filter(|_| unique.among.is_none()) {
                sql.push(name);
                sql.push(" = ");
                sql.bind(Value::Int(*value));
                sql.push(" AND ");
            }
            sql.push(key);
            sql.push(" <> ");
            sql.bind(Value::Int(*except));
            sql.push(")");
        }
    });
    sql.finish()
}

/// Counts the records that refer to one: one row with a number for each referring column, which is
/// given by its table, its name and the value that it contains.
pub fn count_references(referring: Vec<(&str, &str, Value)>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT ");
    sql.list(referring.into_iter(), |sql, (table, column, value)| {
        sql.push("(SELECT count(*) FROM ");
        sql.push(table);
        sql.push(" WHERE ");
        sql.push(column);
        sql.push(" = ");
        sql.bind(value);
        sql.push(")");
    });
    sql.finish()
}

/// Updates the paths and levels of all descendants of a category.
pub fn move_branch(old: &str, new: &str, deeper: i64, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE shop_categories SET version = version + 1, path = ");
    sql.bind(Value::Text(new.to_owned()));
    sql.push(" || substr(path, ");
    sql.push(dialect.char_length);
    sql.push("(");
    sql.bind(Value::Text(old.to_owned()));
    sql.push(") + 1), level = level + ");
    sql.bind(Value::Int(deeper));
    // The path of a descendant begins with the old path and a slash; '0' is the character after
    // '/'.
    sql.push(" WHERE path > ");
    sql.bind(Value::Text(format!("{old}/")));
    sql.push(" AND path < ");
    sql.bind(Value::Text(format!("{old}0")));
    sql.finish()
}

/// Changes columns of a row, and counts the change in its version.
fn change(
    resource: &Resource,
    key: i64,
    columns: impl IntoIterator<Item = (ColumnName, Value)>,
    dialect: &Dialect,
) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE ");
    sql.push(resource.table);
    sql.push(" SET version = version + 1");
    for (name, value) in columns {
        sql.push(", ");
        sql.push(&name);
        sql.push(" = ");
        sql.bind(value);
    }
    sql.by_key(resource, key);
    sql.finish()
}

impl Builder<'_> {
    pub(super) fn by_key(&mut self, resource: &Resource, key: i64) {
        self.push(" WHERE ");
        self.push(resource.key);
        self.push(" = ");
        self.bind(Value::Int(key));
    }
}

/// Locks, on all nodes of a cluster, the row with a value in a column, or the only row of a table,
/// by updating it.
fn lock_row(table: &str, of: Option<(&str, Value)>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE ");
    sql.push(table);
    sql.push(" SET locks = locks + 1");
    if let Some((column, value)) = of {
        sql.push(" WHERE ");
        sql.push(column);
        sql.push(" = ");
        sql.bind(value);
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
