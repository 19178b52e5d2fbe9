//! What refers to a record: it can neither be deleted nor lose the value by which others refer to it.

use super::write::Write;
use crate::error::{Error, Fault, FaultKind};
use crate::model::record::Record;
use crate::model::registry::Reference;
use crate::sql;
use crate::wire::draft::Draft;

/// Refuses to delete a record to which others refer.
pub(super) async fn refuse_if_referenced(
    record: &Record,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let referring = write.call.shop.references.to(record.resource());
    let Some(by) = referred_to_by(referring, record, write).await? else { return Ok(()) };
    let singular = record.resource().singular;
    let detail = format!("This {singular} cannot be deleted: {by} to it.");
    write.refuse(Fault::new(FaultKind::Referenced, detail)).await
}

/// Refuses to change a value by which other records refer to this one.
pub(super) async fn refuse_change_of_referenced_values(
    draft: &mut Draft,
    before: &Record,
    after: &Record,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    for reference in write.call.shop.references.to(before.resource()) {
        let Some(column) = reference.relies_on else { continue };
        if before.value(column)? == after.value(column)? {
            continue;
        }
        if let Some(by) = referred_to_by(std::slice::from_ref(reference), before, write).await? {
            let singular = before.resource().singular;
            let detail = format!("{column} cannot be changed: {by} to this {singular}.");
            draft.fault_at(FaultKind::Referenced, column, detail);
        }
    }
    Ok(())
}

/// The number of records, by kind, that refer to a record, as the beginning of a sentence; `None`
/// if there are none.
async fn referred_to_by(
    referring: &[Reference],
    record: &Record,
    write: &mut Write<'_>,
) -> Result<Option<String>, Error> {
    if referring.is_empty() {
        return Ok(None);
    }
    let columns = referring
        .iter()
        .map(|by| Ok((by.resource.table, by.field.name, by.value(record)?)))
        .collect::<Result<Vec<_>, Error>>()?;
    let statement = sql::count_references(columns, write.transaction.dialect());
    let counts = write.transaction.numbers(statement).await?;
    if counts.len() != referring.len() {
        return Err(Error::Contract("not all references to a record are counted"));
    }
    let total: i64 = counts.iter().sum();
    let by = referring.iter().zip(counts).filter(|(_, count)| *count > 0);
    let by = by.map(|(reference, count)| match count {
        1 => format!("1 {}", reference.resource.singular),
        _ => format!("{count} {}", plural(reference.resource.singular)),
    });
    let by = by.collect::<Vec<_>>().join(" and ");
    Ok(match total {
        0 => None,
        1 => Some(by + " refers"),
        _ => Some(by + " refer"),
    })
}

/// The regular plural, which suits all resources.
fn plural(singular: &str) -> String {
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with('s') => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}
