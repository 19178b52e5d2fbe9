//! A page of ranked lines, with the sums of each currency: from the kept days or, where they are
//! too many, from the database.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::asked::Asked;
use super::days::{Days, Line, Words};
use crate::error::Error;
use crate::model::value::Cell;
use crate::sql::Table;
use crate::store::Transaction;

/// A line that has a rank.
pub(super) trait Ranked: Line {
    /// Reads the page itself instead of the lines: rows (0), and the sums of each currency with its
    /// number of rows (1). Limit and offset are bound last.
    const PAGE: &'static str;

    fn currency(&self) -> &Arc<str>;
    /// Whether it is a row of the report, and not only a part of a sum.
    fn is_row(&self) -> bool;
    /// The order of the rows.
    fn rank(&self, other: &Self) -> Ordering;
    /// Its contribution to the sum of its currency.
    fn total(&self) -> Self;
}

/// The page of a report, with its totals.
pub(super) struct Ranking<L> {
    pub(super) page: Vec<L>,
    /// The sums of each currency, with its number of rows.
    pub(super) totals: Vec<(i64, L)>,
    /// The total number of rows.
    pub(super) total: i64,
}

impl<L: Ranked> Ranking<L> {
    /// # Errors
    /// Database errors, and when a sum is too large to be represented.
    pub(super) async fn of(
        days: &Days<L>,
        asked: &Asked,
        transaction: &mut Transaction,
    ) -> Result<Self, Error> {
        match days.lines(asked, transaction).await? {
            Some(lines) => Self::of_lines(lines, asked),
            None => Self::of_database(asked, transaction).await,
        }
    }

    fn of_lines(lines: Vec<L>, asked: &Asked) -> Result<Self, Error> {
        let mut totals: BTreeMap<Arc<str>, (i64, L)> = BTreeMap::new();
        for line in &lines {
            let rows = i64::from(line.is_row());
            match totals.get_mut(line.currency()) {
                Some((count, total)) => {
                    *count += rows;
                    total.add(&line.total())?;
                }
                None => drop(totals.insert(Arc::clone(line.currency()), (rows, line.total()))),
            }
        }
        let mut rows = lines;
        rows.retain(L::is_row);
        let total = rows.len();
        let place = |number: i64| usize::try_from(number).unwrap_or(usize::MAX).min(total);
        let (begin, limit) = (place(asked.listing.offset), place(asked.listing.limit));
        let end = begin.saturating_add(limit).min(total);
        // Select the rows up to the end of the page, and sort only these.
        if end < total {
            rows.select_nth_unstable_by(end, L::rank);
            rows.truncate(end);
        }
        rows.sort_unstable_by(L::rank);
        let total = i64::try_from(total).unwrap_or(i64::MAX);
        Ok(Self { page: rows.split_off(begin), totals: totals.into_values().collect(), total })
    }

    async fn of_database(asked: &Asked, transaction: &mut Transaction) -> Result<Self, Error> {
        let ranges = (0..L::RANGES).flat_map(|_| asked.orders_of(asked.range));
        let binds = ranges.chain(asked.limits()).collect();
        let cells = transaction.table(Table::new(L::PAGE, binds, L::COLUMNS)).await?;
        let mut words = Words::default();
        let (mut page, mut totals, mut total) = (Vec::new(), Vec::new(), 0);
        for row in cells.rows()? {
            let line = L::read(&row, &mut words)?;
            match &row[..] {
                [Cell::Int(1), rows, ..] => {
                    let rows = rows.int("rows")?;
                    total += rows;
                    totals.push((rows, line));
                }
                _ => page.push(line),
            }
        }
        // An engine need not preserve the order of a subquery.
        page.sort_unstable_by(L::rank);
        totals.sort_unstable_by(|(_, one), (_, other)| one.currency().cmp(other.currency()));
        Ok(Self { page, totals, total })
    }
}

/// A text as a cell.
pub(super) fn word(word: &str) -> Cell<'_> {
    Cell::Text(word.into())
}
