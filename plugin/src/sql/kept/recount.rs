//! Recounts: all at once while nothing else writes, or beside writers, by adding the differences.

use super::layout::{joined, listed, places};
use super::terms::{Rebuild, Terms, only, zeros};
use crate::model::kept::{self, Aggregate, COUNTED, DAY_REVISIONS, RECOUNTS, SLOT, SLOTS};

/// Recounts everything from the records, into slot 0. Nothing else may write meanwhile.
pub fn recount(terms: &Terms) -> Vec<Rebuild> {
    // The slowest tables come first.
    let mut all = (terms.texts)();
    all.extend(kept::ALL.into_iter().map(|kept| counted(kept, terms)));
    if terms.slot.is_some() {
        let last =
            COUNTED.map(|of| format!("(SELECT coalesce(max({}), 0) FROM {})", of.key, of.table));
        let fill = listed(0, "SELECT 1, ", &last, "");
        let fill = format!("INSERT INTO {SLOTS}\n{}", fill.trim_end());
        all.push(Rebuild { table: SLOTS, statements: vec![format!("DELETE FROM {SLOTS}"), fill] });
    }
    all
}

fn counted(kept: &'static Aggregate, terms: &Terms) -> Rebuild {
    let table = kept.table;
    let slot = terms.slot.map(|_| "0".to_owned());
    let sums = kept.sums.iter().map(|sum| terms.total(sum));
    let values: Vec<String> = terms.groups(kept, "").into_iter().chain(slot).chain(sums).collect();
    let fill = format!(
        "INSERT INTO {table}\n{}FROM {}{} GROUP BY {}",
        listed(0, "SELECT ", &values, ""),
        kept.of.table,
        only(kept.only, " WHERE ", ""),
        places(kept.by.len())
    );
    let mut statements = vec![format!("DELETE FROM {table}"), fill];
    if *kept == kept::ORDER_COUNTS_BY_DAY {
        statements.push(revise_all_days(terms));
    }
    Rebuild { table, statements }
}

/// How new tables are filled while others write: what they lack is added in one statement, whatever
/// triggers have counted since the table exists.
pub fn fills(terms: &Terms) -> Vec<Rebuild> {
    let mut all = (terms.texts)();
    // What is new is empty, and may already get pieces of texts that are changed meanwhile.
    for texts in &mut all {
        texts.statements.retain(|statement| !statement.starts_with("DELETE"));
    }
    all.extend(kept::ALL.into_iter().map(|kept| {
        let identity = terms.identity(kept);
        let numbered = kept.sums.iter().zip(0..);
        let missing = numbered.map(|(_, place)| format!("counted_{place} - kept_{place}"));
        let values: Vec<String> =
            identity.iter().map(|column| (*column).to_owned()).chain(missing).collect();
        let fill = format!(
            "INSERT INTO {}\n{}WHERE true\n{}",
            kept.table,
            listed(
                0,
                "SELECT ",
                &values,
                &format!(" FROM (\n{}) AS missing", differences(kept, terms))
            ),
            more(kept, terms)
        );
        Rebuild { table: kept.table, statements: vec![fill] }
    }));
    all.push(Rebuild { table: DAY_REVISIONS.table, statements: vec![revise_all_days(terms)] });
    all
}

/// Gives each day a new revision, because a report may have kept a wrong result for any of them.
pub fn revise_all_days(terms: &Terms) -> String {
    let (table, number) = (DAY_REVISIONS.table, DAY_REVISIONS.column);
    let slot = terms.slot.map_or("", |_| ", 0");
    let key = terms.slot.map_or_else(|| "day".to_owned(), |_| format!("day, {SLOT}"));
    format!(
        "INSERT INTO {table}\nSELECT day{slot}, {}\nFROM (SELECT DISTINCT day FROM {}) AS days\n\
         WHERE true ORDER BY day\n{}",
        terms.revision,
        kept::ORDER_COUNTS_BY_DAY.table,
        (terms.on_conflict)(&key, &format!("{number} = {}", (terms.given)(number)))
    )
}

/// Reads the rows of a table that differ from its records: the columns that identify a row, and for
/// each sum the kept and the counted number.
pub fn differences(kept: &Aggregate, terms: &Terms) -> String {
    let names: Vec<String> = terms.identity(kept).into_iter().map(str::to_owned).collect();
    let places = places(names.len());
    let counted = terms.groups(kept, "").into_iter().chain(terms.slot(kept.of, ""));
    let counted = counted.zip(&names).map(|(value, name)| format!("{value} AS {name}"));
    let (mut columns, mut unequal) = (names.clone(), Vec::new());
    let (mut here, mut there) = (names.clone(), counted.collect::<Vec<_>>());
    for (place, sum) in kept.sums.iter().enumerate() {
        here.extend([sum.column.to_owned(), "0".to_owned()]);
        there.extend([
            format!("0 AS stored_{place}"),
            format!("{} AS found_{place}", terms.total(sum)),
        ]);
        columns.extend([
            format!("sum(stored_{place}) AS kept_{place}"),
            format!("sum(found_{place}) AS counted_{place}"),
        ]);
        unequal.push(format!("sum(stored_{place}) <> sum(found_{place})"));
    }
    let from = format!(" FROM {}{}", kept.of.table, only(kept.only, " WHERE ", ""));
    // Records come first, because a writer too locks its record before the numbers.
    let text = listed(0, "SELECT ", &columns, " FROM (")
        + &listed(4, "SELECT ", &there, &format!("{from} GROUP BY {places}"))
        + "    UNION ALL\n"
        + &listed(4, "SELECT ", &here, &format!(" FROM {}", kept.table))
        + &format!(") AS compared GROUP BY {places}\n")
        + &joined(0, "HAVING ", &unequal, " OR ", &format!("\nORDER BY {places}"));
    text.trim_end().to_owned()
}

/// Begins a recount, whose number is bound.
pub fn begin_run() -> String {
    format!("UPDATE {RECOUNTS} SET run = ?, writes = 0")
}

/// Continues a recount, whose number is bound; changes no row if another one has begun.
pub fn continue_run() -> String {
    format!("UPDATE {RECOUNTS} SET writes = writes + 1 WHERE run = ?")
}

/// Adds differences to a row, and removes the row if its numbers become zero. The bound values are
/// the columns that identify the row, the differences, and these columns again.
pub fn repair(kept: &Aggregate, terms: &Terms) -> [String; 2] {
    let identity = terms.identity(kept);
    let table = kept.table;
    let values = vec!["?"; identity.len() + kept.sums.len()].join(", ");
    let same = identity.iter().map(|column| format!("{column} = ?"));
    let gone: Vec<String> = same.chain(zeros(kept, "")).collect();
    [
        format!("INSERT INTO {table} VALUES ({values}) {}", more(kept, terms)),
        format!("DELETE FROM {table} WHERE {}", gone.join(" AND ")),
    ]
}

/// The suffix of an insertion that adds the numbers to those of a row which is there already.
fn more(kept: &Aggregate, terms: &Terms) -> String {
    let added = terms.added(kept, &format!("{}.", kept.table));
    (terms.on_conflict)(&terms.identity(kept).join(", "), &added.join(", "))
}
