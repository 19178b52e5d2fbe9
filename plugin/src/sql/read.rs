//! Pages and tables as SQL. A page is read in two stages: first its keys, from an index scan that stops
//! at the end of the page, then its rows.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use super::approach::{Approach, Group, Keys, Texts};
use super::columns::{longest, next_order_column, order_column, own};
use super::conditions::{Joins, and};
use super::dialect::{Dialect, Limits};
use super::statement::{Builder, Statement, Table, rounded_up};
use crate::model::question::{Condition, Page, Shape};
use crate::model::resource::{Index, VERSION};
use crate::model::value::Value;

/// The columns of pages whose fields are not selected, which would be half of the work of writing a page.
static COLUMNS: LazyLock<RwLock<HashMap<Shown, Arc<str>>>> = LazyLock::new(RwLock::default);

/// The address of a resource, and which of its fields are read.
type Shown = (usize, std::mem::Discriminant<Shape>);

/// A query for a table.
pub fn table(table: Table, dialect: &Dialect) -> Statement {
    Builder::new(dialect).push_with_lists(&table.text, table.binds).finish()
}

/// A query for a table as one row with a JSON array of arrays of cells.
pub fn table_as_json(table: Table, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT 0, json_group_array(json_array(");
    sql.list(0..table.columns.len(), Builder::cell).push(")) FROM (");
    sql.push_with_lists(&table.text, table.binds).push(")").finish()
}

/// Reads a page and the number of records that satisfy its conditions, as one row: the total, and
/// the page as a JSON array of arrays of cells, the key first. The array is NULL if the page is larger than
/// it may be. Its long texts are measured before it is made, and without reading them.
pub fn page_as_json(page: &Page, approach: &Approach, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("SELECT ").known_total(page, approach).push(", ");
    let is_measured = page.measured().next().is_some();
    if is_measured {
        sql.push("CASE WHEN (SELECT coalesce(sum(size), 0) FROM (SELECT ");
        sql.exactly(page, approach, Builder::size).push(")) <= ");
        sql.bind(Value::Int(i64::try_from(page.most_bytes).unwrap_or(i64::MAX))).push(" THEN ");
    }
    sql.push("(SELECT json_group_array(json_array(");
    sql.list(0..page.width(), Builder::cell).push(")) FROM (SELECT ");
    sql.exactly(page, approach, Builder::columns).push("))");
    if is_measured {
        sql.push(" END");
    }
    sql.finish()
}

/// Reads a page and the number of records that satisfy its conditions, as a row for each record:
/// the total, the key and the cells. An empty page has no total.
pub fn page(page: &Page, approach: &Approach, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    // A page along an index of beginnings is used only if none of its texts is long.
    if approach.texts == Texts::Whole {
        sql.begin_long_sort(page);
    }
    sql.push("SELECT ");
    let total =
        if approach.keys == Keys::One { sql.push("1") } else { sql.known_total(page, approach) };
    total.push(" AS total, ").columns(page).rows(page, approach).finish()
}

/// Reads only the keys of a page: its first stage alone, for the tests of query plans.
pub fn keys(page: &Page, approach: &Approach, dialect: &Dialect) -> Statement {
    Builder::new(dialect).keys_of(page, approach).finish()
}

/// Counts the records that satisfy a page's conditions.
pub fn total(page: &Page, dialect: &Dialect) -> Statement {
    Builder::new(dialect).total(page).finish()
}

impl Builder<'_> {
    /// The part after `SELECT` that reads these columns of a page, and of no further records where its
    /// limit is rounded up.
    fn exactly(
        &mut self,
        page: &Page,
        approach: &Approach,
        columns: for<'b> fn(&'b mut Self, &Page) -> &'b mut Self,
    ) -> &mut Self {
        let is_limited = page.offset == 0 && !matches!(approach.keys, Keys::Known(_));
        let is_rounded = is_limited && rounded(page.limit) != page.limit;
        if !is_rounded {
            return columns(self, page).rows(page, approach);
        }
        columns(self.push("* FROM (SELECT "), page).rows(page, approach);
        self.push(") LIMIT ").bind(Value::Int(page.limit))
    }

    /// The part after the columns that reads a page. The keys of the page come first: an index is
    /// scanned up to the end of the page, and only the rows of the page are read. A page at the
    /// beginning needs no such scan.
    fn rows(&mut self, page: &Page, approach: &Approach) -> &mut Self {
        match &approach.keys {
            Keys::Known(keys) => {
                let known = vec![Condition::among(page.resource.key, keys)];
                let page = Page { conditions: known, ..page.clone() };
                return self.records(&page, Joins::All).order(&page, None, Texts::Whole);
            }
            Keys::One => return self.records(page, Joins::All),
            Keys::Together => {
                self.records(page, Joins::All).order(page, None, approach.texts);
                return self.limits(page, page.offset, approach);
            }
            _ => {}
        }
        self.push(" FROM (").keys_of(page, approach);
        self.push(") p JOIN ").push(page.resource.table).push(" t ON ");
        self.own(page.resource.key).push(" = p.page_key").joins(page, Joins::All);
        match &approach.keys {
            Keys::Grouped(..) => self.push(" ORDER BY p.place, ").key_order(page),
            _ if page.by_change => self.push(" ORDER BY p.place"),
            _ => self.order(page, None, approach.texts),
        }
    }

    pub(super) fn keys_of(&mut self, page: &Page, approach: &Approach) -> &mut Self {
        match &approach.keys {
            Keys::Grouped(index, groups) => self.keys_of_groups(page, *index, groups),
            Keys::Feed(from) => {
                self.push("SELECT x.record AS page_key, x.seq AS place").in_feed(page, *from);
                self.push(" ORDER BY x.seq").limits(page, page.offset, approach)
            }
            _ => self.keys(page, approach),
        }
    }

    /// Begins a query that sorts long texts by all of their characters, if the order of a page needs it.
    pub(super) fn begin_long_sort(&mut self, page: &Page) -> &mut Self {
        match page.order.field.and_then(|name| longest(page.resource, name)) {
            Some(longest) => self.push(&(self.dialect.sorts_long)(longest)),
            None => self,
        }
    }

    /// Reads the keys of a page, in a column `page_key`.
    fn keys(&mut self, page: &Page, approach: &Approach) -> &mut Self {
        let keys = &approach.keys;
        self.page_keys(page);
        if page.by_change {
            self.push(", x.seq AS place");
        }
        if approach.texts == Texts::Beginnings {
            let column = page.order.field.and_then(|name| order_column(page.resource, name));
            self.push(&format!(", {} AS beginning", column.unwrap_or_default()));
        }
        self.push(" FROM ").push(page.resource.table).push(" t");
        if let Keys::IndexScan(Some(index)) | Keys::FilterThenSortBy(Some(index)) = keys {
            self.push(&(self.dialect.index_hint)(index.name));
        }
        self.changes(page).joins(page, Joins::OfKeys);
        match keys {
            Keys::IndexScan(index) => {
                let narrowed = index.map_or(&[][..], |index| index.fields);
                let order = page.order.field.unwrap_or(page.resource.key);
                self.conditions(page, |test| {
                    test.column().is_some_and(|name| narrowed.contains(&name) || name == order)
                })
            }
            // Another index would lead to all records of a country or a time.
            Keys::FilterThenSortBy(Some(index)) => self.conditions(page, |test| {
                let chooses = matches!(test, Condition::Equals(..) | Condition::OneOf(..));
                chooses && test.column().is_some_and(|name| index.fields.contains(&name))
            }),
            _ => self.conditions(page, |_| true),
        };
        let mut offset = page.offset;
        if let Keys::Seek(bound, passed) = keys {
            self.push(and(page)).condition(page, bound, true);
            offset = *passed;
        }
        if let Some(after) = page.after {
            self.push(and(page));
            let place =
                if page.by_change { self.push("x.seq") } else { self.own(page.resource.key) };
            place.push(" > ").bind(Value::Int(after));
        }
        let form = match keys {
            Keys::FilterThenSort => Some(self.dialect.without_index),
            Keys::FilterThenSortBy(_) => Some(self.dialect.defeat_order_index),
            _ => None,
        };
        let ordered = if page.by_change {
            self.push(" ORDER BY x.seq")
        } else {
            self.order(page, form, approach.texts)
        };
        ordered.limits(page, offset, approach)
    }

    /// Reads the keys of a page, in a column `page_key`, with each group sorted by itself. The
    /// column `place` is the position of a key's group.
    fn keys_of_groups(
        &mut self,
        page: &Page,
        index: Option<&Index>,
        groups: &[Group],
    ) -> &mut Self {
        // Empty groups are appended, so that few different numbers of groups occur.
        let none = groups.last().map(|last| Group { offset: 0, limit: 0, ..last.clone() });
        let nones = none.iter().cycle().take(rounded_up(groups.len()) - groups.len());
        for (place, group) in groups.iter().chain(nones).enumerate() {
            if place > 0 {
                self.push(" UNION ALL ");
            }
            self.push(&format!("SELECT page_key, {place} AS place FROM (")).page_keys(page);
            self.push(" FROM ").push(page.resource.table).push(" t");
            if let Some(index) = index {
                self.push(&(self.dialect.index_hint)(index.name));
            }
            self.joins(page, Joins::OfConditions).conditions(page, |_| index.is_none());
            self.push(and(page));
            match group.of[..] {
                [0] => self.own(group.by).push(" IS NULL"),
                _ => self.push("t.").among(group.by, &group.of),
            };
            self.push(" ORDER BY ").key_order(page).bind_limits(group.limit, group.offset);
            self.push(&format!(") g{place}"));
        }
        self
    }

    pub(super) fn page_keys(&mut self, page: &Page) -> &mut Self {
        self.push("SELECT ").own(page.resource.key).push(" AS page_key")
    }

    /// Adds the limit of a page and this offset.
    fn limits(&mut self, page: &Page, offset: i64, approach: &Approach) -> &mut Self {
        let in_text = match self.dialect.limits {
            Limits::Bound => false,
            Limits::TextOfIndex => offset == 0 && (approach.is_straight || self.binds.is_empty()),
            Limits::Text => offset == 0,
        };
        if !in_text {
            return self.bind_limits(page.limit, offset);
        }
        self.push(&format!(" LIMIT {}", rounded(page.limit)))
    }

    fn bind_limits(&mut self, limit: i64, offset: i64) -> &mut Self {
        self.push(" LIMIT ").bind(Value::Int(limit)).push(" OFFSET ").bind(Value::Int(offset))
    }

    /// The key, the shown fields and the version, named `c0`, `c1` and so on.
    fn columns(&mut self, page: &Page) -> &mut Self {
        let of = (std::ptr::from_ref(page.resource).addr(), std::mem::discriminant(&page.shape));
        if matches!(page.shape, Shape::Selected(_)) {
            return self.write_columns(page);
        }
        let known = COLUMNS.read().unwrap_or_else(PoisonError::into_inner).get(&of).cloned();
        if let Some(known) = known {
            return self.push(&known);
        }
        let begin = self.text.len();
        self.write_columns(page);
        let written = self.text.get(begin..).unwrap_or_default().into();
        COLUMNS.write().unwrap_or_else(PoisonError::into_inner).insert(of, written);
        self
    }

    fn write_columns(&mut self, page: &Page) -> &mut Self {
        let Page { resource, .. } = page;
        self.own(resource.key).push(" AS c0");
        let mut position = 1;
        for field in page.columns() {
            self.push(", ").column(field).push(" AS ").cell(position);
            position += 1;
        }
        if resource.versioned {
            self.push(", ").own(VERSION).push(" AS ").cell(position);
        }
        self
    }

    /// The number of bytes of the long texts of a row.
    fn size(&mut self, page: &Page) -> &mut Self {
        self.push("0");
        for (_, field) in page.measured() {
            self.push(" + coalesce(octet_length(").column(field).push("), 0)");
        }
        self.push(" AS size")
    }

    /// The total of a page: a known number, or the query that counts it.
    fn known_total(&mut self, page: &Page, approach: &Approach) -> &mut Self {
        match approach.total {
            Some(total) => self.bind(Value::Int(total)),
            None => self.push("(").total(page).push(")"),
        }
    }

    /// The order of a page. If no index must be scanned for it, it is written in a form that no
    /// index supports.
    pub(super) fn order(
        &mut self,
        page: &Page,
        form: Option<fn(&str) -> String>,
        texts: Texts,
    ) -> &mut Self {
        self.push(" ORDER BY ");
        if let Some(name) = page.order.field {
            let descending = page.order.descending;
            let column = order_column(page.resource, name).unwrap_or_else(|| own(name));
            let column = match form {
                None => column,
                Some(form) => form(&column),
            };
            self.push(&column).push(direction(page));
            let field = page.resource.field(name);
            // On a column that is never unset, this would keep an engine from using the index.
            if field.is_some_and(|field| field.nullable || field.joined.is_some()) {
                self.push((self.dialect.nulls_least)(descending));
            }
            self.push(", ");
            let next = next_order_column(page.resource, name).filter(|_| texts == Texts::Whole);
            if let Some(next) = next {
                self.push(&next).push(direction(page)).push(", ");
            }
        }
        self.key_order(page)
    }

    fn key_order(&mut self, page: &Page) -> &mut Self {
        self.own(page.resource.key).push(direction(page))
    }
}

/// A limit as it occurs in a text; the rest of the page is dropped.
fn rounded(limit: i64) -> i64 {
    let rounded = usize::try_from(limit).map(rounded_up);
    rounded.map_or(limit, |rounded| i64::try_from(rounded).unwrap_or(limit))
}

fn direction(page: &Page) -> &'static str {
    if page.order.descending { " DESC" } else { "" }
}
