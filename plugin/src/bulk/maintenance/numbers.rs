//! Kept counts and sums. Every write changes both a record and its numbers by the same amount, in one
//! transaction, so the difference of a row stays correct whatever is written later. A repair adds the
//! difference to the current number.

use futures_util::TryStreamExt;

use super::found::{Difference, Found, identified};
use super::run::{CHUNK, Run};
use crate::error::Error;
use crate::model::kept::{Aggregate, ColumnType, Sum};
use crate::model::value::{Kind, Value};
use crate::sql::{self, Statement};
use crate::store::Store;

/// Compares a table with its records, and repairs it if a run is given.
pub(super) async fn compare(
    kept: &Aggregate,
    store: &Store,
    run: Option<Run>,
    found: &mut Found,
) -> Result<(), Error> {
    let terms = store.dialect().kept;
    let names = terms.identity(kept);
    let statement = Statement { text: sql::kept::differences(kept, terms), binds: Vec::new() };
    let kinds = kinds(kept, names.len());
    let [add, remove] = sql::kept::repair(kept, terms);
    let mut reading = store.begin_read().await?;
    let mut rows = reading.stream(statement, &kinds)?;
    let mut chunk = Vec::with_capacity(2 * CHUNK);
    loop {
        let row = rows.try_next().await?.map(|row| Row::read(row, kept, names.len()));
        let row = row.transpose()?;
        let is_last = row.is_none();
        if let Some(row) = row {
            found.extend(row.differences(kept, &names));
            chunk.extend(row.repair(&add, &remove));
        }
        if is_last || chunk.len() == 2 * CHUNK {
            if let Some(run) = run {
                run.write(store, &chunk).await?;
            }
            chunk.clear();
        }
        if is_last {
            break;
        }
    }
    drop(rows);
    reading.commit().await
}

/// The kinds of the columns of a comparison.
fn kinds(kept: &Aggregate, columns: usize) -> Vec<Kind> {
    let by = kept.by.iter().map(|group| match group.room {
        ColumnType::Text(_) => Kind::WORD,
        ColumnType::Small | ColumnType::Whole => Kind::COUNT,
    });
    let slot_and_sums = columns - kept.by.len() + 2 * kept.sums.len();
    by.chain(std::iter::repeat_n(Kind::COUNT, slot_and_sums)).collect()
}

/// A row whose numbers differ from the records.
struct Row {
    /// The values that identify it.
    identity: Vec<Value>,
    /// The kept and the counted number of each sum.
    sums: Vec<[i64; 2]>,
}

impl Row {
    fn read(mut row: Vec<Value>, of: &Aggregate, columns: usize) -> Result<Self, Error> {
        let sums = row.split_off(columns.min(row.len()));
        let (pairs, _) = sums.as_chunks::<2>();
        let sums =
            of.sums.iter().zip(pairs).map(|(sum, [kept, counted])| {
                Ok([kept.int(sum.column)?, counted.int(sum.column)?])
            });
        Ok(Self { identity: row, sums: sums.collect::<Result<_, Error>>()? })
    }

    /// The messages about differences, for operators.
    fn differences(&self, of: &Aggregate, names: &[&str]) -> Vec<Difference> {
        let key = identified(names.iter().copied(), &self.identity);
        let sums = of.sums.iter().zip(&self.sums).filter(|(_, [kept, counted])| kept != counted);
        let difference = |(sum, [kept, counted]): (&Sum, &[i64; 2])| {
            let [table, column] = [of.table, sum.column].map(str::to_owned);
            Difference { table, key: key.clone(), column, stored: *kept, counted: *counted }
        };
        sums.map(difference).collect()
    }

    /// The statements that add the differences to the current numbers, and remove a row of zeros.
    fn repair(self, add: &str, remove: &str) -> [Statement; 2] {
        let missing = self.sums.iter().map(|[kept, counted]| counted.saturating_sub(*kept));
        let binds = self.identity.iter().cloned().chain(missing.map(Value::Int)).collect();
        [
            Statement { text: add.to_owned(), binds },
            Statement { text: remove.to_owned(), binds: self.identity },
        ]
    }
}
