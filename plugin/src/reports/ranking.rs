//! A page of lines, the best first, with the sums of each currency: from the days that are kept, or
//! where they are too many, from the database.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::asked::Asked;
use super::days::{Days, Line, Words};
use crate::error::Error;
use crate::model::value::Cell;
use crate::sql::Table;
use crate::store::{Cells, Transaction};

/// A line that has a place among others.
pub(super) trait Ranked: Line {
    /// Asks for the page itself, in place of the lines: rows (0), and the sums of each currency (1)
    /// with how many rows there are of it. The limit and what is passed over are bound last.
    const PAGE: &'static str;

    fn currency(&self) -> &Arc<str>;
    /// Whether it is a row of the report, and not only a part of a sum.
    fn is_row(&self) -> bool;
    /// The place among the rows.
    fn rank(&self, other: &Self) -> Ordering;
    /// What it adds to the sum of its currency.
    fn total(&self) -> Self;
}

/// The page of a report, and what stands beside it.
pub(super) struct Ranking<L> {
    pub(super) page: Vec<L>,
    /// The sums of each currency, with how many rows there are of it.
    pub(super) totals: Vec<(i64, L)>,
    /// How many rows there are.
    pub(super) total: i64,
}

impl<L: Ranked> Ranking<L> {
    /// # Errors
    /// Those of the database, and when a sum is beyond what is counted.
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
        // Those of the page and before it are put in front, and then only these in order.
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
                    total += rows.int();
                    totals.push((rows.int(), line));
                }
                _ => page.push(line),
            }
        }
        // An engine need not keep the order of the page that it took.
        page.sort_unstable_by(L::rank);
        totals.sort_unstable_by(|(_, one), (_, other)| one.currency().cmp(other.currency()));
        Ok(Self { page, totals, total })
    }
}

/// Rows by the keys that they begin with.
pub(super) fn by_key(cells: &Cells) -> Result<HashMap<i64, Vec<Cell<'_>>>, Error> {
    let rows = cells.rows()?.into_iter();
    Ok(rows.map(|row| (row.first().map_or(0, Cell::int), row)).collect())
}

/// A word as a cell.
pub(super) fn word(word: &str) -> Cell<'_> {
    Cell::Text(word.into())
}
