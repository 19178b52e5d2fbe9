//! The conditions of a page as SQL, the joins that they need, and the number of records that
//! satisfy them.

use super::approach::Count;
use super::columns::{folded, searched, tested, text_column};
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
    /// The records that satisfy the conditions of a page.
    pub(super) fn records(&mut self, page: &Page, joins: Joins) -> &mut Self {
        self.from(page, joins).conditions(page, |_| true)
    }

    pub(super) fn from(&mut self, page: &Page, joins: Joins) -> &mut Self {
        self.push(" FROM ").push(page.resource.table).push(" t");
        self.changes(page).joins(page, joins)
    }

    /// Joins the places of the records in the feed of changes, where the page is limited by them.
    pub(super) fn changes(&mut self, page: &Page) -> &mut Self {
        if page.is_of_changed() {
            let Resource { kind, key, .. } = page.resource;
            self.push(&format!(" JOIN shop_changes x ON x.kind = '{kind}' AND x.record = t.{key}"));
        }
        self
    }

    pub(super) fn joins(&mut self, page: &Page, joins: Joins) -> &mut Self {
        for join in page.resource.joins.iter().filter(|join| joins.need(join, page)) {
            self.push(" LEFT JOIN ").push(join.table).push(" ").push(join.alias).push(" ON ");
            self.push(&format!("{}.{} = t.{}", join.alias, join.key, join.by));
        }
        self
    }

    /// The conditions of a page. Conditions that must not bound a scan are written in a form that
    /// no index supports.
    pub(super) fn conditions(
        &mut self,
        page: &Page,
        narrows: impl Fn(&Condition) -> bool,
    ) -> &mut Self {
        let mut joint = " WHERE ";
        for (name, value) in page.resource.fixed {
            self.push(joint).own(name).push(" = ").bind(Value::Int(*value));
            joint = " AND ";
        }
        for condition in &page.conditions {
            self.push(joint).condition(page, condition, narrows(condition));
            joint = " AND ";
        }
        self
    }

    pub(super) fn condition(
        &mut self,
        page: &Page,
        condition: &Condition,
        narrows: bool,
    ) -> &mut Self {
        let resource = page.resource;
        let column = |name| {
            if narrows {
                tested(resource, name)
            } else {
                (self.dialect.without_index)(&tested(resource, name))
            }
        };
        match condition {
            Condition::Equals(name, value) => {
                self.push(&column(name)).push(" = ").bind(value.clone())
            }
            Condition::OneOf(name, values) => self.one_of(&column(name), values.clone()),
            Condition::AtLeast(name, value) => {
                self.push(&column(name)).push(" >= ").bind(value.clone())
            }
            Condition::AtMost(name, value) => {
                self.push(&column(name)).push(" <= ").bind(value.clone())
            }
            Condition::Contains(names, text) => {
                let found = self.finds(resource, names, text).filter(|_| narrows);
                let is_exact = found.as_ref().is_some_and(|found| found.exact);
                if let Some(found) = found {
                    self.own(resource.key).push(" IN (SELECT ").push(found.key).push(" FROM ");
                    self.found(found).push(if is_exact { ")" } else { ") AND " });
                }
                if is_exact { self } else { self.contains(resource, names, text) }
            }
            Condition::Changed(since) => self.push("x.seq >= ").bind(Value::Int(*since)),
            Condition::OfPart(part, text) => {
                let (by, table, text_column) = (part.by, part.table, folded(part.field));
                self.own(resource.key);
                self.push(&format!(" = (SELECT {by} FROM {table} WHERE {text_column} = "));
                self.bind(Value::Text(text.clone()));
                // An index without empty texts can be used only if the query excludes them.
                self.push(&format!(" AND {text_column} <> '')"))
            }
        }
    }

    fn contains(&mut self, resource: &Resource, names: &[&str], text: &str) -> &mut Self {
        self.any_of(names, |sql, name| {
            sql.binds.push(Value::Text((sql.dialect.search_pattern)(text)));
            (sql.dialect.contains)(&mut sql.text, &searched(resource, name));
            sql
        })
    }

    /// The number of records that satisfy the conditions, from a table of kept counts if one fits.
    pub(super) fn total(&mut self, page: &Page) -> &mut Self {
        match Count::of(page) {
            Count::Kept(count) => {
                self.push("SELECT coalesce(sum(n), 0) FROM ").push(count.table);
                self.counted_conditions(page)
            }
            Count::Elsewhere(query) => self.push(query),
            Count::InFeed(since) => self.push("SELECT count(*)").in_feed(page, since),
            Count::Records => match self.finds_all(page) {
                Some(found) => {
                    self.push("SELECT count(").push(found.keys).push(") FROM ").found(found)
                }
                None => self.push("SELECT count(*)").records(page, Joins::OfConditions),
            },
        }
    }

    /// The changed records as the feed has them. It knows which of them exist, so one of its indexes
    /// is enough to count them and to find those of a page.
    pub(super) fn in_feed(&mut self, page: &Page, since: i64) -> &mut Self {
        let kind = page.resource.kind;
        self.push(&format!(
            " FROM shop_changes x WHERE x.kind = '{kind}' AND x.deleted = 0 AND x.seq >= "
        ));
        self.bind(Value::Int(since))
    }

    /// The conditions of a page in terms of a table of kept counts.
    pub(super) fn counted_conditions(&mut self, page: &Page) -> &mut Self {
        let mut joint = " WHERE ";
        for (name, value) in page.resource.fixed {
            self.push(joint).push(name).push(" = ").bind(Value::Int(*value));
            joint = " AND ";
        }
        for condition in &page.conditions {
            match condition {
                Condition::Equals(name, value) => {
                    self.push(joint).push(name).push(" = ").bind(value.clone())
                }
                Condition::OneOf(name, values) => self.push(joint).one_of(name, values.clone()),
                Condition::AtLeast(_, value) => self.push(joint).push("day >= ").bind(day(value)),
                Condition::AtMost(_, value) => self.push(joint).push("day <= ").bind(day(value)),
                Condition::Contains(..) | Condition::OfPart(..) | Condition::Changed(_) => continue,
            };
            joint = " AND ";
        }
        self
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

    pub(super) fn found(&mut self, found: Found) -> &mut Self {
        self.binds.extend(found.binds.into_iter().map(Value::Text));
        self.push(&found.rows)
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
        Condition::Contains(names, _) => names.iter().any(|name| has(join, page, name)),
        other => other.column().is_some_and(|name| has(join, page, name)),
    }
}

/// Whether a field comes from this join.
fn has(join: &Join, page: &Page, name: &str) -> bool {
    let joined = page.resource.field(name).and_then(|field| field.joined);
    joined.is_some_and(|(alias, _)| alias == join.alias)
}
