//! Compares what the store keeps in two places, and repairs what follows from its records: counts and sums
//! (`numbers`), quantities in stock, shipments, refunds and indexes of texts (`derived`). Both happen while hosts
//! serve the store.
//!
//! Each comparison reads one snapshot. A repair is done in short transactions, and is right whatever has
//! been written since the snapshot.
//!
//! A difference must be repaired only once. A run (`run`) stores its number in a table of one row when it
//! begins, and each of its transactions updates that row on condition that it still holds that
//! number. So if a second run begins, the first one stops before its next transaction, and the
//! second one reads its snapshots after all writes of the first one.

mod derived;
mod found;
mod numbers;
mod run;

use host_interface::ProgressHandle;

pub use self::found::Difference;

use self::found::Found;
use self::run::Run;
use crate::error::Error;
use crate::model::kept::{self, Records};
use crate::sql::kept::comparisons;
use crate::sql::{self, Statement};
use crate::store::{self, Store};

/// Reports where kept numbers, quantities, shipments, refunds and indexes differ from the records. If there are more
/// differences than are listed, the last one has how many are listed and how many there are.
pub async fn check(store: &Store, progress: &ProgressHandle) -> Result<Vec<Difference>, Error> {
    Ok(compare(store, None, progress).await?.listed())
}

/// Like [`check`], and repairs the differences of what follows from the records. Reports then read all
/// days again, because the cause of a difference may have bypassed the revisions of days too.
///
/// # Errors
/// Database errors, and when another run has begun meanwhile.
pub async fn recount(store: &Store, progress: &ProgressHandle) -> Result<Vec<Difference>, Error> {
    let run = Run::begin(store).await?;
    let found = compare(store, Some(run), progress).await?;
    if !found.is_empty() {
        let text = sql::kept::revise_all_days(store.dialect().kept);
        let revise = Statement { text, binds: Vec::new() };
        store::retry(|| store.write([revise.clone()])).await?;
    }
    Ok(found.listed())
}

/// Compares everything, and repairs it if a run is given.
async fn compare(
    store: &Store,
    run: Option<Run>,
    progress: &ProgressHandle,
) -> Result<Found, Error> {
    let comparisons = comparisons(store.dialect().kept);
    let compared = comparisons.iter().map(|comparison| (comparison.table, comparison.of));
    let kept = kept::ALL.into_iter().map(|kept| (kept.table, kept.of));
    let weights = weights(store, kept.chain(compared)).await?;
    let (mut done, total) = (0, weights.iter().map(|(_, weight)| *weight).sum::<u64>());
    let mut report = |step: usize, is_done: bool| {
        let (table, weight) = weights[step];
        done += if is_done { weight } else { 0 };
        progress.report(&table.trim_start_matches("shop_").replace('_', " "), done, total);
    };
    let mut found = Found::default();
    for (step, kept) in kept::ALL.into_iter().enumerate() {
        report(step, false);
        numbers::compare(kept, store, run, &mut found).await?;
        report(step, true);
    }
    let mut spoilt = Vec::new();
    for (step, comparison) in (kept::ALL.len()..).zip(&comparisons) {
        report(step, false);
        if derived::compare(comparison, store, run, &mut found).await? {
            spoilt.push(comparison);
        }
        report(step, true);
    }
    if let Some(run) = run {
        derived::rebuild(&spoilt, store, run).await?;
    }
    Ok(found)
}

/// How many records each table is about, which determines how long it takes.
async fn weights(
    store: &Store,
    tables: impl Iterator<Item = (&'static str, &'static Records)>,
) -> Result<Vec<(&'static str, u64)>, Error> {
    let mut reading = store.begin_read().await?;
    let mut counts = Vec::new();
    for of in kept::COUNTED {
        let count = reading.number(sql::count_rows(of.table)).await?;
        counts.push((of, count.unsigned_abs()));
    }
    reading.commit().await?;
    let weight = |(table, records): (&'static str, &Records)| {
        let count = counts.iter().find(|(of, _)| *of == records);
        let count = count.map(|(_, count)| (table, *count));
        count.ok_or(Error::Contract("a table is about no known records"))
    };
    tables.map(weight).collect()
}
