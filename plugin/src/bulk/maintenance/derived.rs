//! What follows from other records besides counts and sums: each comparison is a statement, and so is each
//! repair (`sql/kept/derived.rs`).

use futures_util::TryStreamExt;

use super::found::{Difference, Found, identified};
use super::run::{CHUNK, Run};
use crate::error::Error;
use crate::model::value::{Kind, Value};
use crate::sql::Statement;
use crate::sql::kept::{Comparison, Correction, Repair};
use crate::store::Store;

/// Compares, and repairs the differences one by one if a run is given and if they can be. Returns whether
/// there are any.
pub(super) async fn compare(
    comparison: &Comparison,
    store: &Store,
    run: Option<Run>,
    found: &mut Found,
) -> Result<bool, Error> {
    let names = comparison.identity.iter().map(|(name, _)| *name);
    let kinds = comparison.identity.iter().map(|(_, kind)| *kind);
    let kinds: Vec<Kind> = kinds.chain([Kind::COUNT; 2]).collect();
    let statement = Statement { text: comparison.differences.clone(), binds: Vec::new() };
    let mut differs = false;
    let mut chunk = Vec::new();
    let mut reading = store.begin_read().await?;
    let mut rows = reading.stream(statement, &kinds)?;
    while let Some(row) = rows.try_next().await? {
        let [identity @ .., stored, counted] = &row[..] else {
            return Err(Error::Contract("a comparison has other columns"));
        };
        differs = true;
        let (stored, counted) = (stored.int("stored")?, counted.int("counted")?);
        let key = identified(names.clone(), identity);
        let [table, column] = [comparison.table, comparison.column].map(str::to_owned);
        found.extend([Difference { table, key, column, stored, counted }]);
        let Some(run) = run else { continue };
        chunk.push(repair(comparison, identity)?);
        if chunk.len() == CHUNK {
            run.write(store, &chunk.concat()).await?;
            chunk.clear();
        }
    }
    drop(rows);
    reading.commit().await?;
    if let Some(run) = run {
        run.write(store, &chunk.concat()).await?;
    }
    Ok(differs)
}

/// Rebuilds what can only be repaired as a whole, once for each table.
pub(super) async fn rebuild(spoilt: &[&Comparison], store: &Store, run: Run) -> Result<(), Error> {
    let mut rebuilt = Vec::new();
    for comparison in spoilt {
        let Repair::Whole(texts) = &comparison.repair else { continue };
        if !rebuilt.contains(&comparison.table) {
            rebuilt.push(comparison.table);
            let texts = texts.iter().cloned();
            let statements = texts.map(|text| Statement { text, binds: Vec::new() });
            run.write(store, &statements.collect::<Vec<_>>()).await?;
        }
    }
    Ok(())
}

/// The statements that repair the difference with this identity.
fn repair(comparison: &Comparison, identity: &[Value]) -> Result<Vec<Statement>, Error> {
    let Repair::Each(steps) = &comparison.repair else { return Ok(Vec::new()) };
    let statement = |step: &Correction| {
        let binds = step.binds.iter().map(|place| identity.get(*place).cloned());
        let binds = binds.collect::<Option<Vec<_>>>();
        let binds = binds.ok_or(Error::Contract("a repair binds other values"))?;
        Ok(Statement { text: step.text.clone(), binds })
    };
    steps.iter().map(statement).collect()
}
