//! The conditions of a page as SQL, the joins that they need, and the number of records that
//! satisfy them.

use super::approach;
use super::columns::{folded, own, searched, tested, text_column};
use super::statement::Builder;
use super::texts::{Column, Found};
use crate::model::question::{Condition, Page};
use crate::model::resource::{Join, Resource};
use crate::model::value::Value;

/// Which of a resource's joins a query needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joins {
    All,
    /// Those that determine which records are on the page.
    OfKeys,
    /// Those that determine which records satisfy the conditions.
    OfConditions,
}

impl Joins {
    pub(super) fn need(self, join: &Join, page: &Page) -> bool {
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

impl Builder<'_> {
    pub(super) fn from(&mut self, page: &Page, joins: Joins) {
        self.push(" FROM ");
        self.push(page.resource.table);
        self.push(" t");
        self.changes(page);
        self.joins(page, joins);
    }

    /// Joins the places of the records in the feed of changes, where the page is limited by them.
    pub(super) fn changes(&mut self, page: &Page) {
        if page.by_change().is_some() {
            let Resource { kind, key, .. } = page.resource;
            self.push(&format!(" JOIN shop_changes x ON x.kind = '{kind}' AND x.record = t.{key}"));
        }
    }

    pub(super) fn joins(&mut self, page: &Page, joins: Joins) {
        for join in page.resource.joins.iter().filter(|join| joins.need(join, page)) {
            self.push(" LEFT JOIN ");
            self.push(join.table);
            self.push(" ");
            self.push(join.alias);
            self.push(" ON ");
            self.push(&format!("{}.{} = t.{}", join.alias, join.key, join.by));
        }
    }

    /// The conditions of a page. Conditions that must not bound a scan are written in a form that
    /// no index supports.
    pub(super) fn conditions(&mut self, page: &Page, narrows: impl Fn(&Condition) -> bool) {
        let mut joint = " WHERE ";
        for (name, value) in page.resource.fixed {
            self.push(joint);
            self.own(name);
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

    pub(super) fn condition(&mut self, page: &Page, condition: &Condition, narrows: bool) {
        let resource = page.resource;
        let column = |name| {
            if narrows {
                tested(resource, name)
            } else {
                (self.dialect.without_index)(&tested(resource, name))
            }
        };
        match condition {
            Condition::Key(key) => {
                self.own(resource.key);
                self.push(" = ");
                self.bind(Value::Int(*key));
            }
            Condition::Keys(keys) => {
                self.one_of(&own(resource.key), keys.iter().map(|key| Value::Int(*key)).collect());
            }
            Condition::Above(key) => {
                self.own(resource.key);
                self.push(" > ");
                self.bind(Value::Int(*key));
            }
            Condition::Among(name, keys) => {
                self.one_of(&column(name), keys.iter().map(|key| Value::Int(*key)).collect());
            }
            Condition::Equals(name, value) => {
                self.push(&column(name));
                self.push(" = ");
                self.bind(value.clone());
            }
            Condition::OneOf(name, values) => {
                self.one_of(&column(name), values.clone());
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
                    self.own(resource.key);
                    self.push(&format!(" IN (SELECT {} FROM ", found.key));
                    self.found(found);
                    self.push(if is_exact { ")" } else { ") AND " });
                }
                if !is_exact {
                    self.contains(resource, names, text);
                }
            }
            Condition::Changed { since, .. } => {
                self.push("x.seq >= ");
                self.bind(Value::Int(*since));
            }
            Condition::OfPart(part, text) => {
                let (by, table, text_column) = (part.by, part.table, folded(part.field));
                self.own(resource.key);
                self.push(&format!(" = (SELECT {by} FROM {table} WHERE {text_column} = "));
                self.bind(Value::Text(text.clone()));
                // An index without empty texts can be used only if the query excludes them.
                self.push(&format!(" AND {text_column} <> '')"));
            }
        }
    }

    fn one_of(&mut self, column: &str, values: Vec<Value>) {
        self.push(column);
        self.push(" IN (");
        self.bind_list(values);
        self.push(")");
    }

    pub(super) fn contains(&mut self, resource: &Resource, names: &[&str], text: &str) {
        self.push("(");
        for (position, name) in names.iter().enumerate() {
            if position > 0 {
                self.push(" OR ");
            }
            self.binds.push(Value::Text((self.dialect.search_pattern)(text)));
            (self.dialect.contains)(&mut self.text, &searched(resource, name));
        }
        self.push(")");
    }

    /// The number of records that satisfy the conditions, from a table of kept counts if one fits.
    pub(super) fn total(&mut self, page: &Page) {
        if let Some(count) = approach::counted(page, None) {
            self.push("SELECT coalesce(sum(n), 0) FROM ");
            self.push(count.table);
            self.counted_conditions(page);
            return;
        }
        if let Some(everything) = page.resource.storage.everything
            && page.conditions.is_empty()
        {
            return self.push(everything);
        }
        if let Some(found) = self.finds_all(page) {
            self.push(&format!("SELECT count({}) FROM ", found.keys));
            return self.found(found);
        }
        self.push("SELECT count(*)");
        if let Some(since) = page.only_changed() {
            return self.in_feed(page, since);
        }
        self.from(page, Joins::OfConditions);
        self.conditions(page, |_| true);
    }

    /// The changed records as the feed has them. It knows which of them exist, so one of its indexes
    /// is enough to count them and to find those of a page.
    pub(super) fn in_feed(&mut self, page: &Page, since: i64) {
        let kind = page.resource.kind;
        self.push(&format!(
            " FROM shop_changes x WHERE x.kind = '{kind}' AND x.deleted = 0 AND x.seq >= "
        ));
        self.bind(Value::Int(since));
    }

    /// The conditions of a page in terms of a table of kept counts.
    pub(super) fn counted_conditions(&mut self, page: &Page) {
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
                Condition::OneOf(name, values) => {
                    self.push(joint);
                    self.one_of(name, values.clone());
                    joint = " AND ";
                    continue;
                }
                Condition::AtLeast(_, value) => ("day", " >= ", day(value)),
                Condition::AtMost(_, value) => ("day", " <= ", day(value)),
                Condition::Key(_)
                | Condition::Keys(_)
                | Condition::Above(_)
                | Condition::Among(..)
                | Condition::Contains(..)
                | Condition::OfPart(..)
                | Condition::Changed { .. } => continue,
            };
            self.push(joint);
            self.push(name);
            self.push(test);
            self.bind(value);
            joint = " AND ";
        }
    }

    /// How the engine finds the records of a page, if its table of texts covers exactly these
    /// fields.
    pub(super) fn finds_all(&self, page: &Page) -> Option<Found> {
        match (&page.conditions[..], page.resource.fixed) {
            ([Condition::Contains(names, text)], []) => {
                self.finds(page.resource, names, text).filter(|found| found.exact)
            }
            _ => None,
        }
    }

    /// How the engine finds a text in one of these fields, if it has a table of their texts.
    pub(super) fn finds(&self, resource: &Resource, names: &[&str], text: &str) -> Option<Found> {
        let columns =
            names.iter().map(|field| Column { field, name: text_column(resource, field) });
        let columns: Vec<_> = columns.collect();
        let found = (self.dialect.find)(resource, &columns, text)?;
        let Some(shared) = resource.storage.shared else { return Some(found) };
        let others = (self.dialect.find)(shared.with, &columns, text)?;
        Some(found.or_sharing(others, shared, resource))
    }

    pub(super) fn found(&mut self, found: Found) {
        self.push(&found.rows);
        self.binds.extend(found.binds.into_iter().map(Value::Text));
    }
}

/// The keyword before one more condition.
pub(super) fn and(page: &Page) -> &'static str {
    if page.conditions.is_empty() && page.resource.fixed.is_empty() { " WHERE " } else { " AND " }
}

/// The day of a moment.
fn day(moment: &Value) -> Value {
    Value::Text(moment.moment().map(|moment| moment.date().to_string()).unwrap_or_default())
}

/// Whether a condition uses a field of this join.
fn names(condition: &Condition, page: &Page, join: &Join) -> bool {
    match condition {
        Condition::Key(_)
        | Condition::Keys(_)
        | Condition::Above(_)
        | Condition::OfPart(..)
        | Condition::Changed { .. } => false,
        Condition::Among(name, _)
        | Condition::Equals(name, _)
        | Condition::OneOf(name, _)
        | Condition::AtLeast(name, _)
        | Condition::AtMost(name, _) => has(join, page, name),
        Condition::Contains(names, _) => names.iter().any(|name| has(join, page, name)),
    }
}

/// Whether a field comes from this join.
fn has(join: &Join, page: &Page, name: &str) -> bool {
    let field = page.resource.fields().find(|field| field.name == name);
    field.and_then(|field| field.joined).is_some_and(|(alias, _)| alias == join.alias)
}
