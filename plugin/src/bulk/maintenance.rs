//! Compares the counts and sums that are kept beside the records with the records, and mends them. Both are done
//! while hosts serve the store, and writers wait for them no longer than for each other.
//!
//! A table and its records are read in one snapshot. Every write changes both by the same amount, in one
//! transaction, so the difference of a row stays correct whatever is written later. Mending adds it to
//! the number that is kept by then, a few rows at a time, in short transactions.
//!
//! A difference must be added only once. A run stores its number in a table of one row when it begins, and each of
//! its transactions changes that row on condition that it still has that number. So if a second run
//! begins, the first one stops before its next transaction, and the second one reads its snapshots after
//! all that the first one has written.

use futures_util::TryStreamExt;
use host_interface::{Difference, ProgressHandle};

use crate::error::Error;
use crate::model::kept::{self, Kept, Room};
use crate::model::value::{Kind, Value};
use crate::sql::{self, Statement};
use crate::store::{self, Store};

/// How many rows are mended in one transaction at most.
const CHUNK: usize = 100;

/// Finds out where what is kept is not what the records come to.
///
/// # Errors
/// Those of the database.
pub async fn check(store: &Store, progress: &ProgressHandle) -> Result<Vec<Difference>, Error> {
    compare(store, None, progress).await
}

/// The same, and mends it. Reports then read all days again, since whatever caused a difference may have
/// bypassed the revisions of days too.
///
/// # Errors
/// Those of the database, and when another run has begun meanwhile.
pub async fn recount(store: &Store, progress: &ProgressHandle) -> Result<Vec<Difference>, Error> {
    let run = fastrand::i64(1..i64::MAX);
    let begin = Statement { text: sql::kept::begin_run(), binds: vec![Value::Int(run)] };
    store::persist(|| store.write([begin.clone()])).await?;
    let mended = compare(store, Some(run), progress).await?;
    if !mended.is_empty() {
        let text = sql::kept::revise_all_days(store.dialect().kept);
        let revise = Statement { text, binds: Vec::new() };
        store::persist(|| store.write([revise.clone()])).await?;
    }
    Ok(mended)
}

/// A row that is not what the records come to.
struct Row {
    /// What it is known by.
    known_by: Vec<Value>,
    /// What is kept and what was counted, of each sum.
    sums: Vec<[i64; 2]>,
}

/// Compares all tables, and mends them where there is a run to do it in.
async fn compare(
    store: &Store,
    run: Option<i64>,
    progress: &ProgressHandle,
) -> Result<Vec<Difference>, Error> {
    let weights = weights(store).await?;
    let (mut done, total) = (0, weights.iter().sum());
    let mut found = Vec::new();
    for (kept, weight) in kept::ALL.into_iter().zip(weights) {
        let step = kept.table.trim_start_matches("shop_").replace('_', " ");
        progress.report(&step, done, total);
        let terms = store.dialect().kept;
        let names = terms.known_by(kept);
        let statement = Statement { text: sql::kept::differences(kept, terms), binds: Vec::new() };
        let kinds = kinds(kept, names.len());
        let mut reading = store.begin_read().await?;
        let mut rows = reading.stream(statement, &kinds)?;
        let mut chunk = Vec::with_capacity(CHUNK);
        loop {
            let row = rows.try_next().await?.map(|row| Row::read(row, names.len()));
            let is_last = row.is_none();
            if let Some(row) = row {
                found.extend(row.differences(kept, &names));
                chunk.push(row);
            }
            if let Some(run) = run.filter(|_| is_last || chunk.len() == CHUNK) {
                mend(store, run, kept, &chunk).await?;
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

/// How many records each table is about, which is how long it takes.
async fn weights(store: &Store) -> Result<Vec<u64>, Error> {
    let mut reading = store.begin_read().await?;
    let mut counts = Vec::new();
    for of in kept::COUNTED {
        let count = reading.numbers(sql::count_rows(of.table)).await?;
        counts.push((of, count.first().copied().unwrap_or_default().unsigned_abs()));
    }
    reading.commit().await?;
    let weight =
        |kept: &Kept| counts.iter().find(|(of, _)| *of == kept.of).map(|(_, count)| *count);
    Ok(kept::ALL.into_iter().map(|kept| weight(kept).unwrap_or_default()).collect())
}

/// What the columns of a comparison hold.
fn kinds(kept: &Kept, known_by: usize) -> Vec<Kind> {
    let by = kept.by.iter().map(|group| match group.room {
        Room::Text(_) => Kind::WORD,
        Room::Small | Room::Whole => Kind::COUNT,
    });
    let slot_and_sums = known_by - kept.by.len() + 2 * kept.sums.len();
    by.chain(std::iter::repeat_n(Kind::COUNT, slot_and_sums)).collect()
}

/// Adds what these rows differ by to whatever they have now.
async fn mend(store: &Store, run: i64, kept: &Kept, rows: &[Row]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let [add, remove] = sql::kept::mend(kept, store.dialect().kept);
    store::persist(|| async {
        let mut transaction = store.begin().await?;
        let go_on = Statement { text: sql::kept::go_on(), binds: vec![Value::Int(run)] };
        if transaction.change(go_on).await? == 0 {
            return Err(Error::Superseded);
        }
        for row in rows {
            let missing = row.sums.iter().map(|[kept, counted]| counted.saturating_sub(*kept));
            let binds = row.known_by.iter().cloned().chain(missing.map(Value::Int)).collect();
            transaction.execute(Statement { text: add.clone(), binds }).await?;
            let binds = row.known_by.clone();
            transaction.execute(Statement { text: remove.clone(), binds }).await?;
        }
        transaction.commit().await
    })
    .await
}

impl Row {
    fn read(mut row: Vec<Value>, known_by: usize) -> Self {
        let sums = row.split_off(known_by.min(row.len()));
        let (pairs, _) = sums.as_chunks::<2>();
        let sums = pairs.iter().map(|[kept, counted]| [kept.int(), counted.int()]).collect();
        Self { known_by: row, sums }
    }

    /// What differs, as operators are told.
    fn differences(&self, of: &Kept, names: &[&str]) -> Vec<Difference> {
        let members = names.iter().zip(&self.known_by).map(|(name, value)| match value {
            Value::Int(number) => format!("\"{name}\":{number}"),
            text => format!("\"{name}\":{}", serde_json::Value::from(text.text())),
        });
        let key = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let sums = of.sums.iter().zip(&self.sums).filter(|(_, [kept, counted])| kept != counted);
        let difference = |(sum, [kept, counted]): (&kept::Sum, &[i64; 2])| Difference {
            table: of.table.to_owned(),
            key: key.clone(),
            column: sum.column.to_owned(),
            kept: *kept,
            counted: *counted,
        };
        sums.map(difference).collect()
    }
}
