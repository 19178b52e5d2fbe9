//! Plans as SQL: the only place that makes dynamic SQL text. Names come from the resources alone;
//! whatever a client sent is bound.

pub mod approach;
pub mod dialect;
pub mod texts;

use crate::model::field::Field;
use crate::model::question::{Check, Condition, Page};
use crate::model::registry::Reference;
use crate::model::resource::{Count, Join, Resource, Steps};
use crate::model::value::{Kind, Value, fold};
use crate::resources;
use approach::{Approach, Group, Keys, Survey};
use dialect::Dialect;
use texts::{Column, Found};

/// How many characters a folded copy has at most. Folding makes three of one at the worst; an index
/// takes 3,072 bytes, in which two keys have to have room too.
const COPIED: usize = 750;

/// The limits that stand in a text. Others are rounded up to one of them, so that few texts are
/// prepared; whoever reads the page leaves the rest away.
const LIMITS: [i64; 6] = [1, 5, 10, 20, 50, 100];

/// SQL text with the values bound in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text. A question mark stands for a value, and for nothing else.
    pub text: String,
    /// The values in the order of their placeholders.
    pub binds: Vec<Value>,
}

impl Statement {
    /// A statement that is always the same text, but for its values.
    pub fn fixed(text: &'static str, binds: Vec<Value>) -> Self {
        Self { text: text.to_owned(), binds }
    }
}

/// Rows on their way to a table.
#[derive(Debug)]
pub struct RowsOf {
    /// The table.
    pub table: &'static str,
    /// Which of its columns have values.
    pub columns: &'static [&'static str],
    /// The values, row after row.
    pub values: Vec<Value>,
}

/// A question whose answer is no page of a resource. It names its columns `c0`, `c1` and so on.
#[derive(Clone, Debug)]
pub struct Table {
    /// The text; in place of each `?` stand as many values as are to be bound there, and in place of
    /// `{high column}` and `{low column}` the [parts](Dialect::wide_sum) of the sum of a column.
    text: &'static str,
    binds: Vec<Vec<Value>>,
    /// What the columns hold.
    pub columns: &'static [Kind],
}

impl Table {
    /// A question with the values of each of its `?`, which are one or those of a list.
    pub fn new(text: &'static str, binds: Vec<Vec<Value>>, columns: &'static [Kind]) -> Self {
        Self { text, binds, columns }
    }
}

/// Asks for a table.
pub fn table(table: Table, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.spread(table.text, table.binds);
    sql.finish()
}

/// Asks for a table: one row of the table as a JSON array of arrays of cells.
pub fn table_as_json(table: Table, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT 0, json_group_array(json_array(");
    sql.list(0..table.columns.len(), |sql, position| sql.push(&format!("c{position}")));
    sql.push(")) FROM (");
    sql.spread(table.text, table.binds);
    sql.push(")");
    sql.finish()
}

/// Asks what has to be known before a page is read.
pub fn survey(survey: &Survey, page: &Page, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    match survey {
        Survey::Few => sql.few(page),
        Survey::Totals => sql.totals(page),
        Survey::Steps(steps) => sql.steps(steps, page),
        Survey::Groups(join, count) => sql.groups(join, count, page),
    }
    sql.finish()
}

/// Reads a page and the total of records that satisfy its conditions: one row of the total and
/// the page as a JSON array of arrays of cells, the key first.
pub fn page_as_json(page: &Page, approach: &Approach, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT ");
    sql.known_total(page, approach);
    sql.push(", (SELECT json_group_array(json_array(");
    let width = page.columns().count() + 1;
    sql.list(0..width, |sql, position| sql.push(&format!("c{position}")));
    sql.push(")) FROM (SELECT ");
    sql.rows(page, approach);
    sql.push("))");
    sql.finish()
}

/// Reads a page and the total of records that satisfy its conditions: a row for each record, with
/// the total before the key and the cells. An empty page has no total.
pub fn page(page: &Page, approach: &Approach, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT ");
    match is_of_one(page) {
        true => sql.push("1"),
        false => sql.known_total(page, approach),
    }
    sql.push(" AS total, ");
    sql.rows(page, approach);
    sql.finish()
}

/// Reads the keys of a page alone, as a page is begun with.
pub fn keys(page: &Page, approach: &Approach, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.keys_of(page, approach);
    sql.finish()
}

/// Counts the records that satisfy a page's conditions.
pub fn total(page: &Page, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.total(page);
    sql.finish()
}

/// Keeps a record as it is until the transaction ends. Nothing where writers go one at a time.
pub fn lock(resource: &Resource, key: i64, dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    if resource.lock_row && locks.of_one_node {
        return Some(turn(resource.table, Some((resource.key, Value::Int(key))), dialect));
    }
    let mut sql = Builder::new(dialect);
    sql.push("SELECT 1 FROM ");
    sql.push(resource.table);
    sql.by_key(resource, key);
    sql.push(locks.alone);
    Some(sql.finish())
}

/// Takes the lock that writes of the whole store share. Nothing where writers go one at a time.
pub fn lock_store(dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    if locks.of_one_node {
        return Some(turn("shop_meta", None, dialect));
    }
    let mut sql = Builder::new(dialect);
    sql.push("SELECT one FROM shop_meta");
    sql.push(locks.alone);
    Some(sql.finish())
}

/// Keeps the records that are referred to by a code, which no foreign key upholds, where the lock of
/// a check would not hold for all nodes.
pub fn lock_referenced(checks: &[Check], dialect: &Dialect) -> Vec<Statement> {
    let of_one_node = dialect.locks.is_some_and(|locks| locks.of_one_node);
    let turns = checks.iter().filter_map(|check| match check {
        Check::Exists { target, column, value, .. } if target.lock_row && *column != target.key => {
            Some(turn(target.table, Some((column, value.clone())), dialect))
        }
        _ => None,
    });
    turns.filter(|_| of_one_node).collect()
}

/// Counts a turn at the row that has a value in a column, or at the only row of a table.
fn turn(table: &str, of: Option<(&str, Value)>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE ");
    sql.push(table);
    sql.push(" SET turn = turn + 1");
    if let Some((column, value)) = of {
        sql.push(" WHERE ");
        sql.push(column);
        sql.push(" = ");
        sql.bind(value);
    }
    sql.finish()
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
    let fixed = resource.fixed.iter();
    let fixed = fixed.map(|(name, value)| ((*name).to_owned(), Value::Int(*value)));
    let columns: Vec<(String, Value)> = columns_of(resource, values).chain(fixed).collect();
    sql.list(columns.iter(), |sql, (name, _)| sql.push(name));
    sql.push(") VALUES (");
    sql.list(columns.into_iter(), |sql, (_, value)| sql.bind(value));
    sql.push(")");
    if dialect.returns_keys {
        sql.push(" RETURNING ");
        sql.push(resource.key);
    }
    sql.finish()
}

/// Inserts records that all have values for the same fields.
pub fn insert_all<'a>(
    resource: &Resource,
    records: impl Iterator<Item = impl Iterator<Item = (&'a Field, &'a Value)>>,
    dialect: &Dialect,
) -> Vec<Statement> {
    let mut columns = Vec::new();
    let mut rows = Vec::new();
    for record in records {
        let (names, values) = columns_of(resource, record).unzip();
        columns = names;
        rows.push(values);
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    insert_rows(resource.table, &columns, &rows, dialect)
}

/// Changes fields of a record.
pub fn update<'a>(
    resource: &Resource,
    key: i64,
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
    dialect: &Dialect,
) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE ");
    sql.push(resource.table);
    sql.push(" SET ");
    sql.list(columns_of(resource, values), |sql, (name, value)| {
        sql.push(&name);
        sql.push(" = ");
        sql.bind(value);
    });
    sql.by_key(resource, key);
    sql.finish()
}

/// Removes a record.
pub fn delete(resource: &Resource, key: i64, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("DELETE FROM ");
    sql.push(resource.table);
    sql.by_key(resource, key);
    sql.finish()
}

/// Asks all checks at once: one row with one number for each, 1 where it passed.
pub fn checks(checks: &[Check], dialect: &Dialect) -> Statement {
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
            // A reference by a code is not one that the database upholds by itself.
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
                    // An index that has no empty texts is of use only where none is looked for.
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

/// Counts the records that refer to one: one row with one number for each referring field, which
/// has the value by which the record is known to it.
pub fn count_references(referring: &[Reference], dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT ");
    sql.list(referring.iter(), |sql, reference| {
        sql.push("(SELECT count(*) FROM ");
        sql.push(reference.resource.table);
        sql.push(" WHERE ");
        sql.push(reference.field.name);
        sql.push(" = ");
        sql.bind(reference.value.clone());
        sql.push(")");
    });
    sql.finish()
}

/// Brings the paths and levels of everything below a category into line with its own.
pub fn move_branch(old: &str, new: &str, deeper: i64, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("UPDATE shop_categories SET path = ");
    sql.bind(Value::Text(new.to_owned()));
    sql.push(" || substr(path, ");
    sql.push(dialect.char_length);
    sql.push("(");
    sql.bind(Value::Text(old.to_owned()));
    sql.push(") + 1), level = level + ");
    sql.bind(Value::Int(deeper));
    // What is below has a path that begins with the old one and a slash; '0' follows '/'.
    sql.push(" WHERE path > ");
    sql.bind(Value::Text(format!("{old}/")));
    sql.push(" AND path < ");
    sql.bind(Value::Text(format!("{old}0")));
    sql.finish()
}

/// Makes the keys that the engine gives follow those that were inserted. Nothing where they do so
/// by themselves.
pub fn keys_follow(table: &str, key: &str, dialect: &Dialect) -> Option<Statement> {
    dialect.keys_follow.then(|| {
        let mut sql = Builder::new(dialect);
        // The name that the engine gives to the sequence of a key.
        let sequence = format!("{table}_{key}_seq");
        sql.push(&format!(
            "SELECT setval('{sequence}', greatest((SELECT max({key}) FROM {table}), \
             (SELECT last_value FROM {sequence})))"
        ));
        sql.finish()
    })
}

/// Inserts many rows into a table, with few statements. Keys that are given are passed over by those
/// that the engine gives later.
pub fn insert_rows(
    table: &str,
    columns: &[&str],
    rows: &[Vec<Value>],
    dialect: &Dialect,
) -> Vec<Statement> {
    let gives_keys =
        |resource: &&Resource| resource.table == table && columns.contains(&resource.key);
    let given = resources::REGISTRY.iter().find(gives_keys);
    let after = given.and_then(|resource| keys_follow(table, resource.key, dialect));
    let inserts = insert_many(table, columns, rows.concat(), usize::MAX, dialect);
    inserts.into_iter().chain(after).collect()
}

/// Inserts very many rows, which are these values, row after row, no more than so many with one
/// statement. Statements of one length are prepared once, so the lengths are powers of two. The keys
/// that the engine gives know nothing of those.
pub fn insert_many(
    table: &str,
    columns: &[&str],
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

/// Inserts rows that follow the statement in a stream, on an engine that takes one.
pub fn copy_in(table: &str, columns: &[&str]) -> String {
    format!("COPY {table} ({}) FROM STDIN", columns.join(", "))
}

/// Inserts rows, which are these values, row after row, and no more than the engine permits in one
/// statement. The keys that it gives know nothing of those.
pub fn insert_at_once(
    table: &str,
    columns: &[&str],
    values: Vec<Value>,
    dialect: &Dialect,
) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("INSERT INTO ");
    sql.push(table);
    sql.push(" (");
    sql.list(columns.iter(), |sql, column| sql.push(column));
    sql.push(") VALUES ");
    sql.list(0..values.len() / columns.len().max(1), |sql, _| {
        sql.push("(");
        sql.list(columns.iter(), |sql, _| sql.push("?"));
        sql.push(")");
    });
    Statement { binds: values, ..sql.finish() }
}

/// Reads these columns of all rows of a table.
pub fn all_rows(table: &str, columns: &[&str], order: &str) -> Statement {
    let text = format!("SELECT {} FROM {table} ORDER BY {order}", columns.join(", "));
    Statement { text, binds: Vec::new() }
}

/// Reads the sums of columns over all rows that are alike in others, where the first sum is not 0.
pub fn all_groups(table: &str, by: &[&str], sums: &[&str]) -> Statement {
    let sums: Vec<String> = sums.iter().map(|column| format!("sum({column})")).collect();
    let (by, first) = (by.join(", "), sums.first().map_or("1", String::as_str));
    let text = format!(
        "SELECT {by}, {} FROM {table} GROUP BY {by} HAVING {first} <> 0 ORDER BY {by}",
        sums.join(", ")
    );
    Statement { text, binds: Vec::new() }
}

/// Counts the rows of a table.
pub fn count_rows(table: &str) -> Statement {
    Statement { text: format!("SELECT count(*) FROM {table}"), binds: Vec::new() }
}

/// Removes the rows of a table.
pub fn delete_rows(table: &str) -> Statement {
    Statement { text: format!("DELETE FROM {table}"), binds: Vec::new() }
}

/// Reads the key that a table gave last.
pub fn last_key(table: &str, key: &str, dialect: &Dialect) -> Statement {
    Statement { text: (dialect.last_key)(table, key), binds: Vec::new() }
}

/// Makes a table give keys above this one.
pub fn give_keys_above(table: &str, key: &str, last: i64, dialect: &Dialect) -> Vec<Statement> {
    let texts = (dialect.give_keys_above)(table, key, last).into_iter();
    texts.map(|text| Statement { text, binds: Vec::new() }).collect()
}

/// The name of the column that holds a text's case-folded copy.
pub fn folded(name: &str) -> String {
    format!("{name}_fold")
}

/// The columns that a record's values go to: each field's own, and the folded copy of a text.
fn columns_of<'a>(
    resource: &Resource,
    values: impl Iterator<Item = (&'a Field, &'a Value)>,
) -> impl Iterator<Item = (String, Value)> {
    values.flat_map(|(field, value)| {
        let copy = resource
            .is_folded(field)
            .then(|| (folded(field.name), Value::Text(copy_of(value.text(), field.kind))));
        std::iter::once((field.name.to_owned(), value.clone())).chain(copy)
    })
}

/// The folded copy of a text. Of a field that holds more than a name does it has the beginning: it
/// is not searched, and no index takes a text of any length.
fn copy_of(text: &str, kind: Kind) -> String {
    let mut copy = fold(text);
    let most = match kind {
        Kind::Text { max: 256.., .. } => 255,
        _ => COPIED,
    };
    if let Some((end, _)) = copy.char_indices().nth(most) {
        copy.truncate(end);
    }
    copy
}

/// Text in the making, with the values bound so far.
struct Builder<'a> {
    dialect: &'a Dialect,
    text: String,
    binds: Vec<Value>,
}

impl<'a> Builder<'a> {
    fn new(dialect: &'a Dialect) -> Self {
        Self { dialect, text: String::with_capacity(512), binds: Vec::new() }
    }

    fn finish(self) -> Statement {
        Statement { text: with_sums(self.text, self.dialect), binds: self.binds }
    }

    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn bind(&mut self, value: Value) {
        self.binds.push(value);
        self.text.push('?');
    }

    /// Values with a comma between them, of which the last is repeated: lists of many lengths have few
    /// texts, and what is in a list twice is in it.
    fn bind_list(&mut self, values: Vec<Value>) {
        let length = values.len().next_power_of_two();
        let last = values.last().cloned();
        let repeated = last.into_iter().cycle().take(length - values.len());
        self.list(values.into_iter().chain(repeated), |sql, value| sql.bind(value));
    }

    /// Text with the values of each of its `?`; where there are none, with null, which no value
    /// is equal to.
    fn spread(&mut self, text: &str, binds: Vec<Vec<Value>>) {
        let mut binds = binds.into_iter();
        for (position, piece) in text.split('?').enumerate() {
            if position > 0 {
                let values = binds.next().filter(|values| !values.is_empty());
                let values = values.unwrap_or_else(|| vec![Value::Null]);
                self.bind_list(values);
            }
            self.push(piece);
        }
    }

    fn list<T>(&mut self, items: impl Iterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        for (position, item) in items.enumerate() {
            if position > 0 {
                self.push(", ");
            }
            each(self, item);
        }
    }

    /// What follows the word for reading a page. The keys of the page come first, for which an
    /// index is walked as far as the page, and no more rows are read than the page has. A page at
    /// the beginning needs no such walk.
    fn rows(&mut self, page: &Page, approach: &Approach) {
        let key = own(page.resource.key);
        self.columns(page);
        if let Keys::These(keys) = &approach.keys {
            let page = Page { conditions: vec![Condition::Keys(keys.clone())], ..page.clone() };
            self.from(&page, Joins::All);
            self.conditions(&page, |_| true);
            return self.order(&page, true);
        }
        if is_of_one(page) {
            self.from(page, Joins::All);
            self.conditions(page, |_| true);
            return;
        }
        if begins_with_keys(page) {
            self.from(page, Joins::All);
            self.conditions(page, |_| true);
            self.order(page, true);
            return self.limits(page.limit, page.offset, true);
        }
        self.push(" FROM (");
        self.keys_of(page, approach);
        self.push(") p JOIN ");
        self.push(page.resource.table);
        self.push(" t ON ");
        self.push(&key);
        self.push(" = p.page_key");
        self.joins(page, Joins::All);
        match &approach.keys {
            Keys::Grouped(_) => {
                self.push(" ORDER BY p.place, ");
                self.key_order(page);
            }
            _ => self.order(page, true),
        }
    }

    fn keys_of(&mut self, page: &Page, approach: &Approach) {
        match &approach.keys {
            Keys::Grouped(groups) => self.keys_of_groups(page, groups),
            keys => self.keys(page, keys),
        }
    }

    /// Asks for the keys of a page, in a column `page_key`.
    fn keys(&mut self, page: &Page, keys: &Keys) {
        self.page_keys(page);
        self.push(" FROM ");
        self.push(page.resource.table);
        self.push(" t");
        if let Keys::Walked(Some(index)) = keys {
            self.push(&(self.dialect.by_index)(index.name));
        }
        self.joins(page, Joins::OfKeys);
        match keys {
            Keys::Walked(index) => {
                let narrowed = index.map_or(&[][..], |index| index.fields);
                let order = page.order.field.unwrap_or(page.resource.key);
                self.conditions(page, |test| {
                    test.field().is_some_and(|name| narrowed.contains(&name) || name == order)
                });
            }
            _ => self.conditions(page, |_| true),
        }
        let mut offset = page.offset;
        if let Keys::From(bound, passed) = keys {
            self.push(and(page));
            self.condition(page, bound, true);
            offset = *passed;
        }
        self.order(page, *keys != Keys::Gathered);
        self.limits(page.limit, offset, Survey::of(page).is_none());
    }

    /// Asks for the keys of a page, in a column `page_key`, of which each group is sorted by itself.
    /// The column `place` has the position of a key's group.
    fn keys_of_groups(&mut self, page: &Page, groups: &[Group]) {
        // Groups of which nothing is on the page are added, so that few numbers of them occur.
        let none = groups.last().map(|last| Group { offset: 0, limit: 0, ..last.clone() });
        let nones = none.iter().cycle().take(groups.len().next_power_of_two() - groups.len());
        for (place, group) in groups.iter().chain(nones).enumerate() {
            if place > 0 {
                self.push(" UNION ALL ");
            }
            self.push(&format!("SELECT page_key, {place} AS place FROM ("));
            self.page_keys(page);
            self.push(" FROM ");
            self.push(page.resource.table);
            self.push(" t");
            let sorted =
                page.resource.storage.indexes.iter().find(|index| index.fields == [group.by]);
            if let Some(index) = sorted {
                self.push(&(self.dialect.by_index)(index.name));
            }
            self.joins(page, Joins::OfConditions);
            self.conditions(page, |_| sorted.is_none());
            self.push(and(page));
            self.push(&own(group.by));
            match group.of[..] {
                [0] => self.push(" IS NULL"),
                _ => {
                    self.push(" IN (");
                    let keys = group.of.iter().map(|key| Value::Int(*key));
                    self.bind_list(keys.collect());
                    self.push(")");
                }
            }
            self.push(" ORDER BY ");
            self.key_order(page);
            self.limits(group.limit, group.offset, false);
            self.push(&format!(") g{place}"));
        }
    }

    fn page_keys(&mut self, page: &Page) {
        self.push("SELECT ");
        self.push(&own(page.resource.key));
        self.push(" AS page_key");
    }

    /// Ends what is read, where it is not the engine that plans anew for each limit that is bound, or no
    /// index leads `straight` to the page.
    fn limits(&mut self, limit: i64, offset: i64, straight: bool) {
        let known = offset == 0 && (straight || self.binds.is_empty());
        if known && self.dialect.limits_in_text {
            let rounded = LIMITS.into_iter().find(|rounded| *rounded >= limit).unwrap_or(limit);
            return self.push(&format!(" LIMIT {rounded}"));
        }
        self.push(" LIMIT ");
        self.bind(Value::Int(limit));
        self.push(" OFFSET ");
        self.bind(Value::Int(offset));
    }

    /// Asks for the keys of the records that satisfy the conditions, in one text, unless there are more
    /// than a few.
    fn few(&mut self, page: &Page) {
        let list = self.dialect.list;
        self.push(&format!("SELECT {list}(page_key) FROM ("));
        match self.finds_all(page) {
            Some(found) => {
                self.push(&format!("SELECT {} AS page_key FROM ", found.keys));
                self.found(found);
            }
            None => {
                self.page_keys(page);
                self.from(page, Joins::OfConditions);
                self.conditions(page, |_| true);
            }
        }
        self.push(&format!(" LIMIT {}) few", approach::FEW + 1));
    }

    /// Asks how many records satisfy the conditions, and how many there are in all.
    fn totals(&mut self, page: &Page) {
        self.push("SELECT (");
        self.total(page);
        self.push(") AS total, (");
        self.total(&Page { conditions: Vec::new(), ..page.clone() });
        self.push(") AS everything");
    }

    /// Asks for the last step before which there are no more records than the page passes over, and
    /// how many there are.
    fn steps(&mut self, steps: &Steps, page: &Page) {
        let step = if steps.day_of.is_some() { "day" } else { "block" };
        let (direction, back) = if page.order.descending { (" DESC", "") } else { ("", " DESC") };
        self.push(&format!(
            "SELECT step, passed FROM (SELECT {step} AS step, \
             sum(sum(n)) OVER (ORDER BY {step}{direction}) - sum(n) AS passed FROM {}",
            steps.table
        ));
        self.counted_conditions(page);
        self.push(&format!(" GROUP BY {step}) s WHERE passed <= "));
        self.bind(Value::Int(page.offset));
        self.push(&format!(" ORDER BY step{back} LIMIT 1"));
    }

    /// Asks for the joined records that the records of a page belong to: for each, how many records
    /// come before those of its name, and how many there are of its name.
    fn groups(&mut self, join: &Join, count: &Count, page: &Page) {
        let descending = page.order.descending;
        let direction = if descending { " DESC" } else { "" };
        let nulls = (self.dialect.nulls_least)(descending);
        let name = page.order.field.and_then(|name| order_column(page.resource, name));
        let name = name.unwrap_or_else(|| own(join.by));
        let (alias, by) = (join.alias, join.by);
        self.push(&format!(
            "SELECT joined, upto - named AS passed, named FROM (SELECT joined, \
             sum(n) OVER (PARTITION BY name) AS named, \
             sum(n) OVER (ORDER BY name{direction}{nulls}) AS upto \
             FROM (SELECT k.{by} AS joined, {name} AS name, sum(k.n) AS n FROM (SELECT * FROM {}",
            count.table
        ));
        self.counted_conditions(page);
        self.push(&format!(
            ") k LEFT JOIN {} {alias} ON {alias}.{} = k.{by} \
             GROUP BY k.{by}, {name}) c WHERE n > 0) g WHERE upto > ",
            join.table, join.key
        ));
        self.bind(Value::Int(page.offset));
        self.push(" AND upto - named < ");
        self.bind(Value::Int(page.offset.saturating_add(page.limit)));
        self.push(" ORDER BY passed, joined");
    }

    /// The key and the shown fields, named `c0`, `c1` and so on.
    fn columns(&mut self, page: &Page) {
        let key = own(page.resource.key);
        let fields = page.columns().map(column);
        self.list(std::iter::once(key).chain(fields).enumerate(), |sql, (position, column)| {
            sql.push(&column);
            sql.push(&format!(" AS c{position}"));
        });
    }

    /// The total of a page: as it is known, or how it is counted.
    fn known_total(&mut self, page: &Page, approach: &Approach) {
        match approach.total {
            Some(total) => self.bind(Value::Int(total)),
            None => {
                self.push("(");
                self.total(page);
                self.push(")");
            }
        }
    }

    /// How many records satisfy the conditions: from a table of kept counts where one fits.
    fn total(&mut self, page: &Page) {
        if let Some(count) = approach::counted(page, None) {
            self.push("SELECT coalesce(sum(n), 0) FROM ");
            self.push(count.table);
            self.counted_conditions(page);
            return;
        }
        if let Some(found) = self.finds_all(page) {
            self.push(&format!("SELECT count({}) FROM ", found.keys));
            return self.found(found);
        }
        self.push("SELECT count(*)");
        self.from(page, Joins::OfConditions);
        self.conditions(page, |_| true);
    }

    /// How the engine finds the records of a page, where a table that it has for texts knows all of them
    /// and no others.
    fn finds_all(&self, page: &Page) -> Option<Found> {
        match (&page.conditions[..], page.resource.fixed) {
            ([Condition::Contains(names, text)], []) => {
                self.finds(page.resource, names, text).filter(|found| found.exact)
            }
            _ => None,
        }
    }

    /// How the engine finds a text in one of these fields, where it has a table for that.
    fn finds(&self, resource: &Resource, names: &[&str], text: &str) -> Option<Found> {
        let columns =
            names.iter().map(|field| Column { field, name: text_column(resource, field) });
        (self.dialect.find)(resource, &columns.collect::<Vec<_>>(), text)
    }

    fn found(&mut self, found: Found) {
        self.push(&found.rows);
        self.binds.extend(found.binds.into_iter().map(Value::Text));
    }

    /// The conditions of a page where a table of kept counts has their columns.
    fn counted_conditions(&mut self, page: &Page) {
        let mut joint = " WHERE ";
        for (name, value) in page.resource.fixed {
            self.push(joint);
            self.push(name);
            self.push(" = ");
            self.bind(Value::Int(*value));
            joint = " AND ";
        }
        for condition in &page.conditions {
            let (name, test, value) = match condition {
                Condition::Equals(name, value) => (*name, " = ", value.clone()),
                Condition::AtLeast(_, value) => ("day", " >= ", day(value)),
                Condition::AtMost(_, value) => ("day", " <= ", day(value)),
                Condition::Key(_) | Condition::Keys(_) | Condition::Contains(..) => continue,
            };
            self.push(joint);
            self.push(name);
            self.push(test);
            self.bind(value);
            joint = " AND ";
        }
    }

    fn from(&mut self, page: &Page, joins: Joins) {
        self.push(" FROM ");
        self.push(page.resource.table);
        self.push(" t");
        self.joins(page, joins);
    }

    fn joins(&mut self, page: &Page, joins: Joins) {
        for join in page.resource.joins.iter().filter(|join| joins.need(join, page)) {
            self.push(" LEFT JOIN ");
            self.push(join.table);
            self.push(" ");
            self.push(join.alias);
            self.push(" ON ");
            self.push(&format!("{}.{} = t.{}", join.alias, join.key, join.by));
        }
    }

    fn by_key(&mut self, resource: &Resource, key: i64) {
        self.push(" WHERE ");
        self.push(resource.key);
        self.push(" = ");
        self.bind(Value::Int(key));
    }

    /// The conditions of a page. Those that are not to narrow what is walked are said so that no
    /// index serves them.
    fn conditions(&mut self, page: &Page, narrows: impl Fn(&Condition) -> bool) {
        let mut joint = " WHERE ";
        for (name, value) in page.resource.fixed {
            self.push(joint);
            self.push(&own(name));
            self.push(" = ");
            self.bind(Value::Int(*value));
            joint = " AND ";
        }
        for condition in &page.conditions {
            self.push(joint);
            joint = " AND ";
            self.condition(page, condition, narrows(condition));
        }
    }

    fn condition(&mut self, page: &Page, condition: &Condition, narrows: bool) {
        let resource = page.resource;
        let column = |name| match narrows {
            true => tested(resource, name),
            false => (self.dialect.walked_past)(&tested(resource, name)),
        };
        match condition {
            Condition::Key(key) => {
                self.push(&own(resource.key));
                self.push(" = ");
                self.bind(Value::Int(*key));
            }
            Condition::Keys(keys) => {
                self.push(&own(resource.key));
                self.push(" IN (");
                self.bind_list(keys.iter().map(|key| Value::Int(*key)).collect());
                self.push(")");
            }
            Condition::Equals(name, value) => {
                self.push(&column(name));
                self.push(" = ");
                self.bind(value.clone());
            }
            Condition::AtLeast(name, value) | Condition::AtMost(name, value) => {
                let least = matches!(condition, Condition::AtLeast(..));
                self.push(&column(name));
                self.push(if least { " >= " } else { " <= " });
                self.bind(value.clone());
            }
            Condition::Contains(names, text) => {
                let found = self.finds(resource, names, text).filter(|_| narrows);
                let is_exact = found.as_ref().is_some_and(|found| found.exact);
                if let Some(found) = found {
                    self.push(&own(resource.key));
                    self.push(&format!(" IN (SELECT {} FROM ", found.key));
                    self.found(found);
                    self.push(if is_exact { ")" } else { ") AND " });
                }
                if !is_exact {
                    self.contains(resource, names, text);
                }
            }
        }
    }

    fn contains(&mut self, resource: &Resource, names: &[&str], text: &str) {
        self.push("(");
        for (position, name) in names.iter().enumerate() {
            if position > 0 {
                self.push(" OR ");
            }
            self.binds.push(Value::Text((self.dialect.sought)(text)));
            (self.dialect.contains)(&mut self.text, &searched(resource, name));
        }
        self.push(")");
    }

    /// The order of a page, said so that no index serves it where none is to be walked for it.
    fn order(&mut self, page: &Page, walked: bool) {
        self.push(" ORDER BY ");
        if let Some(name) = page.order.field {
            let descending = page.order.descending;
            let column = order_column(page.resource, name).unwrap_or_else(|| own(name));
            match walked {
                true => self.push(&column),
                false => self.push(&(self.dialect.walked_past)(&column)),
            }
            self.push(direction(page));
            let field = page.resource.fields().find(|field| field.name == name);
            // Said of a column that is never unset, it would keep an engine from the index.
            if field.is_some_and(|field| field.nullable || field.joined.is_some()) {
                self.push((self.dialect.nulls_least)(descending));
            }
            self.push(", ");
        }
        self.key_order(page);
    }

    fn key_order(&mut self, page: &Page) {
        self.push(&own(page.resource.key));
        self.push(direction(page));
    }
}

/// Text with sums as the engine makes them, in place of their names in braces.
fn with_sums(text: String, dialect: &Dialect) -> String {
    if !text.contains('{') {
        return text;
    }
    let mut pieces = text.split('{');
    let mut whole = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (sum, rest) = piece.split_once('}').unwrap_or((piece, ""));
        let (name, column) = sum.split_once(' ').unwrap_or(("", sum));
        let [high, low] = (dialect.wide_sum)(column);
        whole.push_str(&match name {
            "high" => high,
            "low" => low,
            _ => (dialect.narrow_sum)(column),
        });
        whole.push_str(rest);
    }
    whole
}

fn direction(page: &Page) -> &'static str {
    if page.order.descending { " DESC" } else { "" }
}

/// What comes before one more condition than a page has.
fn and(page: &Page) -> &'static str {
    match page.conditions.is_empty() && page.resource.fixed.is_empty() {
        true => " WHERE ",
        false => " AND ",
    }
}

/// The column that a field is sorted by.
fn order_column(resource: &Resource, name: &str) -> Option<String> {
    let field = resource.fields().find(|field| field.name == name)?;
    Some(match resource.is_folded(field) {
        true => folded(&column(field)),
        false => column(field),
    })
}

/// The name of the column that a text is searched in.
fn text_column(resource: &Resource, name: &str) -> String {
    match resource.fields().find(|field| field.name == name) {
        Some(field) if resource.is_folded(field) => folded(name),
        _ => name.to_owned(),
    }
}

/// Which of a resource's joins a query needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joins {
    All,
    /// Those that say which records are on the page.
    OfKeys,
    /// Those that say which records there are.
    OfConditions,
}

impl Joins {
    fn need(self, join: &Join, page: &Page) -> bool {
        let of_conditions = || page.conditions.iter().any(|test| names(test, page, join));
        match self {
            Joins::All => true,
            Joins::OfKeys => {
                of_conditions() || page.order.field.is_some_and(|name| has(join, page, name))
            }
            Joins::OfConditions => of_conditions(),
        }
    }
}

/// Whether a page is one record at most.
fn is_of_one(page: &Page) -> bool {
    page.conditions.iter().any(|condition| matches!(condition, Condition::Key(_)))
}

/// Whether a page is where the primary key begins or ends, so that its rows are those that are met
/// first and no others are read.
fn begins_with_keys(page: &Page) -> bool {
    let Page { resource, conditions, order, offset, .. } = page;
    *offset == 0 && conditions.is_empty() && order.field.is_none() && resource.joins.is_empty()
}

/// A column of the resource's own table.
fn own(name: &str) -> String {
    format!("t.{name}")
}

/// The column that a field is read from.
fn column(field: &Field) -> String {
    match (field.computed, field.joined) {
        (Some(expression), _) => expression.to_owned(),
        (None, Some((alias, column))) => format!("{alias}.{column}"),
        (None, None) => own(field.name),
    }
}

/// The column in which a field is compared.
fn tested(resource: &Resource, name: &str) -> String {
    resource.fields().find(|field| field.name == name).map_or_else(|| own(name), column)
}

/// The column in which a field is searched without regard to case.
fn searched(resource: &Resource, name: &str) -> String {
    let column = tested(resource, name);
    match resource.fields().find(|field| field.name == name) {
        Some(field) if resource.is_folded(field) => folded(&column),
        // Capitals alone have no copy: lower case is their folding on every engine.
        Some(Field { kind: Kind::Text { .. }, .. }) => format!("lower({column})"),
        _ => column,
    }
}

/// The day of a moment.
fn day(moment: &Value) -> Value {
    Value::Text(moment.moment().map(|moment| moment.date().to_string()).unwrap_or_default())
}

/// Whether a condition is about a field of this join.
fn names(condition: &Condition, page: &Page, join: &Join) -> bool {
    match condition {
        Condition::Key(_) | Condition::Keys(_) => false,
        Condition::Equals(name, _) | Condition::AtLeast(name, _) | Condition::AtMost(name, _) => {
            has(join, page, name)
        }
        Condition::Contains(names, _) => names.iter().any(|name| has(join, page, name)),
    }
}

/// Whether a field is read from this join.
fn has(join: &Join, page: &Page, name: &str) -> bool {
    let field = page.resource.fields().find(|field| field.name == name);
    field.and_then(|field| field.joined).is_some_and(|(alias, _)| alias == join.alias)
}
