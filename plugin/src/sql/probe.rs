//! The queries that precede the reading of a page, as SQL.

use super::approach::{self, Probe};
use super::columns::{next_order_column, order_column, own};
use super::conditions::{Joins, and};
use super::dialect::Dialect;
use super::statement::{Builder, Statement};
use super::ties::Tied;
use crate::model::kept::Aggregate;
use crate::model::question::Page;
use crate::model::resource::Join;
use crate::model::value::Value;

/// The query for a probe.
pub fn probe(probe: &Probe, page: &Page, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    match probe {
        Probe::Few => sql.few(page),
        Probe::Totals => sql.totals(page),
        Probe::Steps(steps) => sql.steps(steps, page),
        Probe::Groups(join, count) => sql.groups(join, count, page),
        Probe::Beginnings(along) => sql.keys_of(page, along),
        Probe::Ties(ties, _) => match ties.next() {
            Some(tied) => sql.tied(tied, page),
            None => &mut sql,
        },
    }
    .finish()
}

impl Builder<'_> {
    /// Reads the keys of the records that satisfy the conditions as one text, unless there are more
    /// than [`FEW`](approach::FEW).
    fn few(&mut self, page: &Page) -> &mut Self {
        let list = self.dialect.json_list;
        self.push(&format!("SELECT {list}(page_key) FROM ("));
        let keys = match self.finds_all(page) {
            Some(found) => {
                self.push("SELECT ").push(found.keys).push(" AS page_key FROM ").found(found)
            }
            None => self.page_keys(page).records(page, Joins::OfConditions),
        };
        keys.push(&format!(" LIMIT {}) few", approach::FEW + 1))
    }

    /// Reads the number of records that satisfy the conditions, and the number of all records.
    fn totals(&mut self, page: &Page) -> &mut Self {
        self.push("SELECT (").total(page).push(") AS total, (");
        self.total(&Page { conditions: Vec::new(), ..page.clone() }).push(") AS everything")
    }

    /// Reads the last step with no more records before it than the page skips, and their number.
    fn steps(&mut self, steps: &Aggregate, page: &Page) -> &mut Self {
        let step = if steps.day_of().is_some() { "day" } else { "block" };
        let (direction, back) = if page.order.descending { (" DESC", "") } else { ("", " DESC") };
        self.push(&format!(
            "SELECT step, passed FROM (SELECT {step} AS step, \
             sum(sum(n)) OVER (ORDER BY {step}{direction}) - sum(n) AS passed FROM {}",
            steps.table
        ));
        self.counted_conditions(page);
        self.push(&format!(" GROUP BY {step}) s WHERE passed <= ")).bind(Value::Int(page.offset));
        self.push(&format!(" ORDER BY step{back} LIMIT 1"))
    }

    /// Reads the joined records that the records of a page refer to: for each, the number of
    /// records before those of its name, and the number of records of its name.
    fn groups(&mut self, join: &Join, count: &Aggregate, page: &Page) -> &mut Self {
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
        self.bind(Value::Int(page.offset)).push(" AND upto - named < ");
        self.bind(Value::Int(page.offset.saturating_add(page.limit)));
        self.push(" ORDER BY passed, joined")
    }

    /// Reads the keys that a group of records whose texts have the same beginning has on a page.
    fn tied(&mut self, tied: &Tied, page: &Page) -> &mut Self {
        let (direction, before) = if page.order.descending { (" DESC", ">") } else { ("", "<") };
        let key = own(page.resource.key);
        let order = page.order.field.and_then(|name| {
            Some((order_column(page.resource, name)?, next_order_column(page.resource, name)?))
        });
        let (beginning, rest) = order.unwrap_or_else(|| (key.clone(), key.clone()));
        self.begin_long_sort(page).push(&format!(
            "SELECT page_key FROM (SELECT {key} AS page_key, \
             row_number() OVER (ORDER BY {rest}{direction}, {key}{direction}) AS place, \
             sum(CASE WHEN {key} {before} "
        ));
        self.bind(Value::Int(tied.first)).push(" THEN 1 ELSE 0 END) OVER () AS passed");
        self.records(page, Joins::OfConditions);
        self.push(and(page)).push(&beginning).push(" = ");
        self.bind(Value::Text(tied.beginning.clone()));
        self.push(") tied WHERE place > passed AND place <= passed + ");
        self.bind(Value::Int(tied.count)).push(" ORDER BY place")
    }
}
