//! The lines of each day, kept in memory until something of that day changes, so that a report on
//! thirty days of a large store adds up thirty lists and reads no orders. Independent of particular
//! reports.
//!
//! When an order or an item changes, triggers give its day a new revision in the same transaction.
//! The revisions are read in the transaction that reads the missing lines, so a report includes
//! everything that was committed when it was requested.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use time::Date;

use super::asked::Asked;
use super::period::Range;
use crate::error::Error;
use crate::model::moment;
use crate::model::value::{Cell, Kind, Value};
use crate::sql::{Rows, Table, row};
use crate::store::{self, Transaction};

/// How many lines are kept for each report at most. A line takes about 100 bytes.
const MOST_LINES: usize = 500_000;
/// The longest range that is added up here, in days. The database adds up longer ranges, and those
/// with more than half of the lines that may be kept.
const MOST_DAYS: i64 = 366;

row! {
    /// A day with orders that count.
    struct Revised {
        day: String = "n.day",
        revision: i64 = "coalesce(r.revision, 0)",
    }
}

/// The days of a range with orders that count, each with its revision.
const REVISIONS: &str = "FROM (SELECT day FROM shop_order_counts_by_day \
    WHERE day >= ? AND day <= ? AND order_state_id IN (?) GROUP BY day HAVING sum(n) > 0) n \
    LEFT JOIN (SELECT day, sum(revision) AS revision FROM shop_revisions_by_day \
    WHERE day >= ? AND day <= ? GROUP BY day) r ON r.day = n.day";

/// The part of a report that comes from some orders, which can be added to the part from others.
pub(crate) trait Line: Clone {
    /// Reads the lines of the orders of a range.
    const TEXT: &'static str;
    /// How often the range is bound in the text.
    const RANGES: usize;
    const COLUMNS: &'static [Kind];

    /// Converts a row into a line.
    fn read(row: &[Cell<'_>], words: &mut Words) -> Result<Self, Error>;
    /// The order of lines. Lines that are equal in it are added up.
    fn order(&self, other: &Self) -> Ordering;
    /// Adds another line to this one.
    ///
    /// # Errors
    /// When a sum is too large to be represented.
    fn add(&mut self, other: &Self) -> Result<(), Error>;
}

/// Interns words that occur often, so that each is stored once.
#[derive(Default)]
pub(crate) struct Words(Vec<Arc<str>>);

impl Words {
    pub(super) fn get(&mut self, word: &str) -> Arc<str> {
        if let Some(known) = self.0.iter().find(|known| ***known == *word) {
            return Arc::clone(known);
        }
        let word: Arc<str> = word.into();
        self.0.push(Arc::clone(&word));
        word
    }
}

/// Adds to a sum.
///
/// # Errors
/// When it is too large to be represented.
pub(super) fn add(sum: &mut i64, more: i64) -> Result<(), Error> {
    *sum = sum.checked_add(more).ok_or_else(store::too_large)?;
    Ok(())
}

/// The kept days of a report.
#[derive(Debug)]
pub(crate) struct Days<L>(Mutex<CachedDays<L>>);

impl<L> Default for Days<L> {
    fn default() -> Self {
        Self(Mutex::new(CachedDays { days: BTreeMap::new(), lines: 0, uses: 0 }))
    }
}

#[derive(Debug)]
struct CachedDays<L> {
    days: BTreeMap<Date, Day<L>>,
    /// The number of lines of all days.
    lines: usize,
    /// A counter of uses of any day.
    uses: u64,
}

#[derive(Debug)]
struct Day<L> {
    revision: i64,
    /// The statuses of the orders that were counted.
    statuses: Vec<Value>,
    /// In order, each once.
    lines: Arc<[L]>,
    /// The value of the counter when the day was last used.
    used: u64,
}

impl<L: Line> Days<L> {
    /// The lines of the requested range, in order, each once; `None` where they are too many to be
    /// kept.
    ///
    /// # Errors
    /// Database errors, and when a sum is too large to be represented.
    pub(super) async fn lines(
        &self,
        asked: &Asked,
        transaction: &mut Transaction,
    ) -> Result<Option<Vec<L>>, Error> {
        let Range { from, to } = asked.range;
        if (to - from).whole_days() >= MOST_DAYS {
            return Ok(None);
        }
        let (mut days, mut length) = (Vec::new(), 0);
        for (day, revision) in revisions(asked, transaction).await? {
            let lines = match self.kept(day, revision, &asked.statuses) {
                Some(lines) => lines,
                None => {
                    let lines = read(day, asked, transaction).await?;
                    self.keep(day, revision, &asked.statuses, &lines);
                    lines
                }
            };
            length += lines.len();
            if length > MOST_LINES / 2 {
                return Ok(None);
            }
            days.push(lines);
        }
        merged(&days).map(Some)
    }

    fn kept(&self, day: Date, revision: i64, statuses: &[Value]) -> Option<Arc<[L]>> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.uses += 1;
        let uses = kept.uses;
        let day = kept.days.get_mut(&day)?;
        if day.revision != revision || day.statuses != statuses {
            return None;
        }
        day.used = uses;
        Some(Arc::clone(&day.lines))
    }

    /// Keeps a day, and drops the least recently used ones if there are too many lines.
    fn keep(&self, day: Date, revision: i64, statuses: &[Value], lines: &Arc<[L]>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.forget(day);
        if lines.len() > MOST_LINES {
            return;
        }
        while kept.lines + lines.len() > MOST_LINES {
            let longest = kept.days.iter().min_by_key(|(_, day)| day.used);
            let Some(longest) = longest.map(|(day, _)| *day) else { break };
            kept.forget(longest);
        }
        kept.lines += lines.len();
        let (statuses, lines, used) = (statuses.to_vec(), Arc::clone(lines), kept.uses);
        kept.days.insert(day, Day { revision, statuses, lines, used });
    }
}

impl<L> CachedDays<L> {
    fn forget(&mut self, day: Date) {
        if let Some(day) = self.days.remove(&day) {
            self.lines -= day.lines.len();
        }
    }
}

/// The days with orders that count, each with its revision.
async fn revisions(
    asked: &Asked,
    transaction: &mut Transaction,
) -> Result<Vec<(Date, i64)>, Error> {
    let Range { from, to } = asked.range;
    let [from, to] = [from, to].map(|day| vec![Value::Text(day.to_string())]);
    let binds = vec![from.clone(), to.clone(), asked.statuses.clone(), from, to];
    let days = transaction.rows(Rows::<Revised>::select(REVISIONS, binds)).await?;
    let revision = |Revised { day, revision }: Revised| {
        let day = moment::day(&day).ok_or_else(|| Error::column("day", "a day", "text"))?;
        Ok((day, revision))
    };
    days.into_iter().map(revision).collect()
}

async fn read<L: Line>(
    day: Date,
    asked: &Asked,
    transaction: &mut Transaction,
) -> Result<Arc<[L]>, Error> {
    let day = Range { from: day, to: day };
    let binds = (0..L::RANGES).flat_map(|_| asked.orders_of(day)).collect();
    let cells = transaction.table(Table::new(L::TEXT, binds, L::COLUMNS)).await?;
    let mut words = Words::default();
    let rows = cells.rows()?;
    let lines: Result<Vec<L>, Error> = rows.iter().map(|row| L::read(row, &mut words)).collect();
    let mut lines = lines?;
    lines.sort_unstable_by(L::order);
    Ok(lines.into())
}

/// The lines of all days in one order, with equal ones added up.
fn merged<L: Line>(days: &[Arc<[L]>]) -> Result<Vec<L>, Error> {
    let mut all: Vec<&L> = days.iter().flat_map(|lines| lines.iter()).collect();
    // A stable sort recognises the sorted run of each day, and only merges them.
    all.sort_by(|one, other| one.order(other));
    let mut merged: Vec<L> = Vec::new();
    for line in all {
        match merged.last_mut() {
            Some(last) if last.order(line).is_eq() => last.add(line)?,
            _ => merged.push(line.clone()),
        }
    }
    Ok(merged)
}
