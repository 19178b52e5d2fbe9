//! Compares kept counts and sums with the records, and repairs them. Both happen while hosts serve
//! the store, and block a writer no longer than another writer would.
//!
//! A table and its records are read in one snapshot. Every write changes both by the same amount,
//! in one transaction, so the difference of a row stays correct whatever is written later. A repair
//! adds the difference to the current number, a few rows at a time, in short transactions.
//!
//! A difference must be added only once. A run stores its number in a table of one row when it
//! begins, and each of its transactions updates that row on condition that it still holds that
//! number. So if a second run begins, the first one stops before its next transaction, and the
//! second one reads its snapshots after all writes of the first one.

use futures_util::TryStreamExt;
use host_interface::{Difference, ProgressHandle};

use crate::error::Error;
use crate::model::kept::{self, Kept, Room};
use crate::model::value::{Kind, Value};
use crate::sql::{self, Statement};
use crate::store::{self, Store};

/// How many rows one transaction repairs at most.
const CHUNK: usize = 100;
/// How many differences are listed. A table without its triggers may have as many as there are records,
/// which are more than fit into memory, and more than anybody reads.
const LISTED: usize = 1_000;

/// Reports where kept numbers differ from the records. If there are more differences than are
/// listed, the last one has how many are listed and how many there are.
///
/// # Errors
/// Database errors.
pub async fn check(store: &Store, progress: &ProgressHandle) -> Result<Vec<Difference>, Error> {
    Ok(compare(store, None, progress).await?.listed())
}

/// Like [`check`], and repairs the differences. Reports then read all days again, because the cause
/// of a difference may have bypassed the revisions of days too.
///
/// # Errors
/// Database errors, and when another run has begun meanwhile.
pub async fn recount(store: &Store, progress: &ProgressHandle) -> Result<Vec<Difference>, Error> {
    let run = fastrand::i64(1..i64::MAX);
    let begin = Statement { text: sql::kept::begin_run(), binds: vec![Value::Int(run)] };
    store::persist(|| store.write([begin.clone()])).await?;
    let repaired = compare(store, Some(run), progress).await?;
    if repaired.count > 0 {
        let text = sql::kept::revise_all_days(store.dialect().kept);
        let revise = Statement { text, binds: Vec::new() };
        store::persist(|| store.write([revise.clone()])).await?;
    }
    Ok(repaired.listed())
}

/// Differences, of which only the first are in memory.
#[derive(Default)]
struct Found {
    first: Vec<Difference>,
    /// How many there are.
    count: usize,
}

impl Found {
    fn extend(&mut self, differences: Vec<Difference>) {
        self.count += differences.len();
        let room = LISTED - self.first.len();
        self.first.extend(differences.into_iter().take(room));
    }

    /// The first ones, and if there are more, how many of how many these are.
    fn listed(self) -> Vec<Difference> {
        let Self { mut first, count } = self;
        if count > first.len() {
            let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
            let (kept, counted) = (number(first.len()), number(count));
            first.push(Difference::new("...", "{}", "listed", kept, counted));
        }
        first
    }
}

/// A row whose numbers differ from the records.
struct Row {
    /// The values that identify it.
    identity: Vec<Value>,
    /// The kept and the counted number of each sum.
    sums: Vec<[i64; 2]>,
}

/// Compares all tables, and repairs them if a run is given.
async fn compare(
    store: &Store,
    run: Option<i64>,
    progress: &ProgressHandle,
) -> Result<Found, Error> {
    let weights = weights(store).await?;
    let (mut done, total) = (0, weights.iter().sum());
    let mut found = Found::default();
    for (kept, weight) in kept::ALL.into_iter().zip(weights) {
        let step = kept.table.trim_start_matches("shop_").replace('_', " ");
        progress.report(&step, done, total);
        let terms = store.dialect().kept;
        let names = terms.identity(kept);
        let statement = Statement { text: sql::kept::differences(kept, terms), binds: Vec::new() };
        let kinds = kinds(kept, names.len());
        let mut reading = store.begin_read().await?;
        let mut rows = reading.stream(statement, &kinds)?;
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            let row = rows.try_next().await?.map(|row| Row::read(row, kept, names.len()));
            let row = row.transpose()?;
            let is_last = row.is_none();
            if let Some(row) = row {
                found.extend(row.differences(kept, &names));
                chunk.push(row);
            }
            if let Some(run) = run.filter(|_| is_last || chunk.len() == CHUNK) {
                repair(store, run, kept, &chunk).await?;
                chunk.clear();
            }
            if is_last {
                break;
            }
        }
        drop(rows);
        reading.commit().await?;
        done += weight;
        progress.report(&step, done, total);
    }
    Ok(found)
}

/// How many records each table summarises, which determines how long it takes.
async fn weights(store: &Store) -> Result<Vec<u64>, Error> {
    let mut reading = store.begin_read().await?;
    let mut counts = Vec::new();
    for of in kept::COUNTED {
        let count = reading.number(sql::count_rows(of.table)).await?;
        counts.push((of, count.unsigned_abs()));
    }
    reading.commit().await?;
    let weight = |kept: &Kept| {
        let count = counts.iter().find(|(of, _)| *of == kept.of);
        count.map(|(_, count)| *count).ok_or(Error::Contract("a table is about no known records"))
    };
    kept::ALL.into_iter().map(weight).collect()
}

/// The kinds of the columns of a comparison.
fn kinds(kept: &Kept, columns: usize) -> Vec<Kind> {
    let by = kept.by.iter().map(|group| match group.room {
        Room::Text(_) => Kind::WORD,
        Room::Small | Room::Whole => Kind::COUNT,
    });
    let slot_and_sums = columns - kept.by.len() + 2 * kept.sums.len();
    by.chain(std::iter::repeat_n(Kind::COUNT, slot_and_sums)).collect()
}

/// Adds the differences of these rows to their current numbers.
async fn repair(store: &Store, run: i64, kept: &Kept, rows: &[Row]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let [add, remove] = sql::kept::repair(kept, store.dialect().kept);
    store::persist(|| async {
        let mut transaction = store.begin().await?;
        let go_on = Statement { text: sql::kept::continue_run(), binds: vec![Value::Int(run)] };
        if transaction.change(go_on).await? == 0 {
            return Err(Error::Superseded);
        }
        for row in rows {
            let missing = row.sums.iter().map(|[kept, counted]| counted.saturating_sub(*kept));
            let binds = row.identity.iter().cloned().chain(missing.map(Value::Int)).collect();
            transaction.execute(Statement { text: add.clone(), binds }).await?;
            let binds = row.identity.clone();
            transaction.execute(Statement { text: remove.clone(), binds }).await?;
        }
        transaction.commit().await
    })
    .await
}

impl Row {
    fn read(mut row: Vec<Value>, of: &Kept, columns: usize) -> Result<Self, Error> {
        let sums = row.split_off(columns.min(row.len()));
        let (pairs, _) = sums.as_chunks::<2>();
        let sums =
            of.sums.iter().zip(pairs).map(|(sum, [kept, counted])| {
                Ok([kept.int(sum.column)?, counted.int(sum.column)?])
            });
        Ok(Self { identity: row, sums: sums.collect::<Result<_, Error>>()? })
    }

    /// The messages about differences, for operators.
    fn differences(&self, of: &Kept, names: &[&str]) -> Vec<Difference> {
        let members = names.iter().zip(&self.identity).map(|(name, value)| match value {
            Value::Int(number) => format!("\"{name}\":{number}"),
            text => format!("\"{name}\":{}", serde_json::Value::from(text.to_string())),
        });
        let key = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let sums = of.sums.iter().zip(&self.sums).filter(|(_, [kept, counted])| kept != counted);
        let difference = |(sum, [kept, counted]): (&kept::Sum, &[i64; 2])| {
            Difference::new(of.table, &*key, sum.column, *kept, *counted)
        };
        sums.map(difference).collect()
    }
}
