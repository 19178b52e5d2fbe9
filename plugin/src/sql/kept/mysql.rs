//! Triggers of MariaDB and MySQL: one for each event of a table, so that the slot of a record is
//! looked up once. Its body updates only the numbers that have changed.

use super::layout::{indented, joined, listed};
use super::parts;
use super::terms::{self, Comparison, Correction, Rebuild, Repair, Terms, only};
use crate::model::kept::{
    self, Aggregate, COUNTED, ColumnType, DAY_REVISIONS, Pieces, Records, SLOT, SLOTS,
};
use crate::model::value::Kind;

/// The SQL in which these engines differ.
pub static TERMS: Terms = Terms {
    day: |moment| format!("date_format({moment}, '%Y-%m-%d')"),
    divided_by: "DIV",
    units: |amount| format!("cast({amount} * 100000 AS signed)"),
    high: |amount| format!("{amount} DIV 10000"),
    low: |amount| format!("{amount} % 10000 * 100000"),
    as_amount: str::to_owned,
    slot: Some(|key, floor| format!("IF({key} > {floor}, {}, 0)", terms::remainder(key))),
    // The engine's own random numbers have too few bits.
    revision: "conv(left(md5(uuid()), 13), 16, 10)",
    own_slot: Some("connection_id() % 16"),
    on_conflict: |_, change| format!("ON DUPLICATE KEY UPDATE {change}"),
    given: |column| format!("value({column})"),
    table_end: " DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_nopad_bin",
    plain_end: "",
    room: |room| match room {
        ColumnType::Small => "smallint".to_owned(),
        ColumnType::Whole => "bigint".to_owned(),
        ColumnType::Text(characters) => format!("varchar({characters})"),
    },
    indexes,
    triggers,
    texts,
    indexed,
    lines_of_shipments: "(SELECT s.order_key, line.item, line.quantity FROM shop_shipments s, \
        JSON_TABLE(s.items, '$[*]' COLUMNS (item bigint PATH '$.orderitem_id', \
        quantity bigint PATH '$.quantity')) line) sent",
    lines_of_refunds: "(SELECT r.shop_orderrefund_id AS refund, r.order_key, line.item, \
        line.quantity, line.restock, line.amount * 0.00001 AS amount, line.tax * 0.00001 AS tax, \
        line.share * 0.00001 AS share FROM shop_orderrefunds r, \
        JSON_TABLE(r.items, '$[*]' COLUMNS (item bigint PATH '$.orderitem_id', \
        quantity bigint PATH '$.quantity', restock bigint PATH '$.restock', \
        amount bigint PATH '$.amount', tax bigint PATH '$.tax_amount', \
        share bigint PATH '$.share')) line) given_lines",
};

/// The statements that create all triggers.
fn triggers() -> Vec<String> {
    let mut made = Vec::new();
    for of in COUNTED {
        let kept: Vec<&Aggregate> = kept::ALL.into_iter().filter(|kept| kept.of == of).collect();
        let own_days = DAY_REVISIONS.of == of;
        let each = |count: &dyn Fn(&Aggregate) -> String| {
            kept.iter().map(|kept| count(kept)).collect::<String>()
        };
        let days = |rows: &[&str]| {
            if own_days {
                rows.iter().map(|row| revised(row)).collect::<String>()
            } else {
                String::new()
            }
        };
        let new = each(&|kept| added(kept, "NEW.")) + &days(&["NEW."]);
        let old = each(&|kept| added(kept, "OLD.")) + &days(&["OLD."]);
        let mut change = each(&|kept| {
            let reads = kept.reads();
            if reads.is_empty() {
                String::new()
            } else {
                where_changed(&reads, &(added(kept, "OLD.") + &added(kept, "NEW.")))
            }
        });
        if own_days {
            change.push_str(&where_changed(DAY_REVISIONS.watched, &days(&["OLD.", "NEW."])));
        }
        for (event, row, does) in
            [("INSERT", "NEW.", new), ("DELETE", "OLD.", old), ("UPDATE", "OLD.", change)]
        {
            made.push(trigger("kept", event, of.table, &(slot(of, row) + &does)));
        }
    }
    let (parts, whole) = DAY_REVISIONS.parts;
    let of = |row: &str| revised_for(&format!("{row}{whole}"));
    let change = where_changed(DAY_REVISIONS.watched_of_parts, &(of("OLD.") + &of("NEW.")));
    made.push(trigger("day", "INSERT", parts, &of("NEW.")));
    made.push(trigger("day", "DELETE", parts, &of("OLD.")));
    made.push(trigger("day", "UPDATE", parts, &change));
    made.extend(added_up());
    made
}

/// Triggers that keep the sum of the parts of a record.
fn added_up() -> [String; 3] {
    let of = &kept::STOCK_OF_VARIANTS;
    let (parts, (only, value), column) = (of.parts.table, of.only, of.column);
    [("INSERT", "NEW"), ("DELETE", "OLD"), ("UPDATE", "NEW")].map(|(event, row)| {
        let changed = match event {
            "UPDATE" => format!(" AND NOT OLD.{column} <=> NEW.{column}"),
            _ => String::new(),
        };
        let does = indented(&parts::add_up(of, &format!("{row}.{}", of.by)));
        let does = format!("IF {row}.{only} = {value}{changed} THEN\n{does}END IF;\n");
        trigger("sum", event, parts, &does)
    })
}

/// The statements that create the tables of pieces, and their triggers. A piece of a text begins at every
/// third character, so a text within it is at the beginning of a piece, except for its first one or two
/// characters, which the piece has ahead.
fn indexes() -> Vec<String> {
    let table = |pieces: &Pieces| {
        format!(
            "CREATE TABLE {} (\n    piece varchar(12) NOT NULL,\n    record bigint NOT NULL,\n    \
             place smallint NOT NULL,\n    ahead varchar(2) NOT NULL,\n    \
             PRIMARY KEY (piece, record, place)\n){}",
            pieces.table, TERMS.table_end
        )
    };
    let mut made: Vec<String> = kept::PIECES.iter().map(table).collect();
    for of in COUNTED {
        let pieces: Vec<&Pieces> = kept::PIECES.iter().filter(|pieces| pieces.of == of).collect();
        if pieces.is_empty() {
            continue;
        }
        let each = |does: fn(&Pieces) -> String| {
            let does: String = pieces.iter().map(|pieces| does(pieces)).collect();
            format!("DECLARE at integer;\n{does}")
        };
        let change = |pieces: &Pieces| {
            let changed = format!("OLD.{0} <> NEW.{0}", pieces.text);
            let these = only(pieces.only, " AND ", "NEW.");
            let does = without(pieces) + &with(pieces);
            format!("IF {changed}{these} THEN\n{}END IF;\n", indented(&does))
        };
        let with = |pieces: &Pieces| these(pieces, "NEW.", with(pieces));
        let without = |pieces: &Pieces| these(pieces, "OLD.", without(pieces));
        made.push(trigger("pieces", "INSERT", of.table, &each(with)));
        made.push(trigger("pieces", "DELETE", of.table, &each(without)));
        made.push(trigger("pieces", "UPDATE", of.table, &each(change)));
    }
    made
}

/// Does something for the records that are in a table of pieces.
fn these(pieces: &Pieces, row: &str, does: String) -> String {
    match only(pieces.only, "IF ", row) {
        all if all.is_empty() => does,
        only => format!("{only} THEN\n{}END IF;\n", indented(&does)),
    }
}

/// Adds the pieces of a text.
fn with(pieces: &Pieces) -> String {
    let Pieces { table, of, text, .. } = *pieces;
    for_each_place(
        &format!("NEW.{text}"),
        &format!(
            "INSERT INTO {table} VALUES (substr(NEW.{text}, at, 12), NEW.{}, at,\n    \
             IF(at = 1, '', substr(NEW.{text}, at - 2, 2)));\n",
            of.key
        ),
    )
}

/// Removes them.
fn without(pieces: &Pieces) -> String {
    let Pieces { table, of, text, .. } = *pieces;
    for_each_place(
        &format!("OLD.{text}"),
        &format!(
            "DELETE FROM {table}\nWHERE piece = substr(OLD.{text}, at, 12) \
             AND record = OLD.{} AND place = at;\n",
            of.key
        ),
    )
}

fn for_each_place(text: &str, does: &str) -> String {
    let does = indented(&format!("{does}SET at = at + 3;\n"));
    format!("SET at = 1;\nWHILE at <= char_length({text}) DO\n{does}END WHILE;\n")
}

/// How the pieces of texts are rebuilt, in the order of the table's keys.
fn texts() -> Vec<Rebuild> {
    let rebuild = |pieces: &Pieces| {
        let Pieces { table, of, only: these, text } = *pieces;
        let (from, key, these) = (of.table, of.key, only(these, " AND ", ""));
        let fill = format!(
            "INSERT INTO {table}\n\
             WITH RECURSIVE longest (characters) AS (SELECT max(char_length({text})) FROM {from}),\n\
             places (place) AS (\n    \
             SELECT 1 UNION ALL SELECT place + 3 FROM places JOIN longest ON place + 3 <= characters\n\
             )\n\
             SELECT substr({text}, place, 12), {key}, place,\n    \
             IF(place = 1, '', substr({text}, place - 2, 2))\n\
             FROM places JOIN {from} ON place <= char_length({text}){these}\nORDER BY 1, 2, 3\n\
             ON DUPLICATE KEY UPDATE ahead = value(ahead)"
        );
        Rebuild { table, statements: vec![format!("DELETE FROM {table}"), fill] }
    };
    kept::PIECES.iter().map(rebuild).collect()
}

/// How the pieces of texts are compared with the texts: none may be there that its text does not have, and
/// none may be missing.
fn indexed() -> Vec<Comparison> {
    kept::PIECES.iter().flat_map(|pieces| [surplus(pieces), missing(pieces)]).collect()
}

const PIECE: &[(&str, Kind)] =
    &[("piece", Kind::WORD), ("record", Kind::COUNT), ("place", Kind::COUNT)];

fn surplus(pieces: &'static Pieces) -> Comparison {
    let Pieces { table, of, only: these, text } = *pieces;
    let (from, key) = (of.table, of.key);
    let has = format!(
        "place % 3 = 1 AND place <= char_length({text}) AND piece = substr({text}, place, 12) \
         AND ahead = IF(place = 1, '', substr({text}, place - 2, 2)){}",
        only(these, " AND ", "")
    );
    let delete = format!(
        "DELETE FROM {table} WHERE piece = ? AND record = ? AND place = ? \
         AND NOT EXISTS (SELECT 1 FROM {from} WHERE {key} = record AND {has})"
    );
    Comparison {
        table,
        identity: PIECE,
        column: "piece",
        differences: format!(
            "SELECT piece, record, place, 1, 0 FROM {table} LEFT JOIN {from} ON {key} = record \
             WHERE {key} IS NULL OR NOT ({has})"
        ),
        of,
        repair: Repair::Each(vec![locked(of), Correction { text: delete, binds: &[0, 1, 2] }]),
    }
}

fn missing(pieces: &'static Pieces) -> Comparison {
    let Pieces { table, of, only: these, text } = *pieces;
    let (from, key, these) = (of.table, of.key, only(these, " AND ", ""));
    let insert = format!(
        "INSERT INTO {table} SELECT substr({text}, ?, 12), {key}, ?, \
         IF(? = 1, '', substr({text}, ? - 2, 2)) FROM {from} \
         WHERE {key} = ?{these} AND ? <= char_length({text}) ON DUPLICATE KEY UPDATE ahead = value(ahead)"
    );
    Comparison {
        table,
        identity: PIECE,
        column: "piece",
        differences: format!(
            "WITH RECURSIVE longest (characters) AS (SELECT max(char_length({text})) FROM {from}), \
             places (begins) AS (SELECT 1 UNION ALL SELECT begins + 3 \
             FROM places JOIN longest ON begins + 3 <= characters) \
             SELECT substr({text}, begins, 12), {key}, begins, 0, 1 \
             FROM places JOIN {from} ON begins <= char_length({text}){these} \
             LEFT JOIN {table} ON piece = substr({text}, begins, 12) AND record = {key} \
             AND place = begins AND ahead = IF(begins = 1, '', substr({text}, begins - 2, 2)) \
             WHERE record IS NULL"
        ),
        of,
        repair: Repair::Each(vec![
            locked(of),
            Correction { text: insert, binds: &[2, 2, 2, 2, 1, 2] },
        ]),
    }
}

/// Locks the record of a piece, so that its text stays as it is.
fn locked(of: &Records) -> Correction {
    let Records { table, key, .. } = of;
    Correction {
        text: format!("SELECT {key} FROM {table} WHERE {key} = ? FOR UPDATE"),
        binds: &[1],
    }
}

fn trigger(name: &str, event: &str, of: &str, does: &str) -> String {
    let end = match event {
        "INSERT" => "new",
        "DELETE" => "old",
        _ => "change",
    };
    format!(
        "CREATE TRIGGER {of}_{name}_{end} AFTER {event} ON {of} FOR EACH ROW\nBEGIN\n{}END",
        indented(does)
    )
}

/// Looks up the slot of a record.
fn slot(of: &Records, row: &str) -> String {
    let key = format!("{row}{}", of.key);
    format!(
        "DECLARE mine smallint DEFAULT\n    (SELECT IF({key} > {}, {}, 0) FROM {});\n",
        of.floor,
        terms::remainder(&key),
        SLOTS
    )
}

/// Runs statements if at least one of these columns has changed.
fn where_changed(columns: &[&str], does: &str) -> String {
    let row =
        |row: &str| columns.iter().map(|column| format!("{row}.{column}")).collect::<Vec<_>>();
    listed(0, "IF NOT ((", &row("OLD"), ")")
        + &listed(4, "<=> (", &row("NEW"), "))")
        + "THEN\n"
        + &indented(does)
        + "END IF;\n"
}

/// Adds a record to its row, or subtracts it and removes the row if its numbers become zero.
fn added(kept: &Aggregate, row: &str) -> String {
    let table = kept.table;
    let groups = TERMS.groups(kept, row);
    let sums = kept.sums.iter().map(|sum| match (TERMS.summand(sum, row), row) {
        (summand, "NEW.") => summand,
        (one, _) if one == "1" => "-1".to_owned(),
        (summand, _) => format!("-({summand})"),
    });
    let mine = std::iter::once("mine".to_owned());
    let values: Vec<String> = groups.iter().cloned().chain(mine).chain(sums).collect();
    let more = kept.sums.iter().map(|sum| format!("{0} = {0} + value({0})", sum.column));
    let insert = format!("INSERT INTO {table}\n")
        + &listed(0, "VALUES (", &values, ")")
        + &listed(0, "ON DUPLICATE KEY UPDATE ", &more.collect::<Vec<_>>(), ";");
    if row == "NEW." {
        return of_these(kept, row, insert);
    }
    let columns = kept.by.iter().map(|group| group.column);
    let same = columns.zip(groups).map(|(column, group)| format!("{column} = {group}"));
    let nothing = kept.sums.iter().map(|sum| format!("{} = 0", sum.column));
    let same = same.chain([format!("{SLOT} = mine")]).chain(nothing);
    let delete = joined(0, "WHERE ", &same.collect::<Vec<_>>(), " AND ", ";");
    of_these(kept, row, format!("{insert}DELETE FROM {table}\n{delete}"))
}

/// Runs statements if the record is one of those that are counted.
fn of_these(kept: &Aggregate, row: &str, does: String) -> String {
    match only(kept.only, "IF ", row) {
        all if all.is_empty() => does,
        only => format!("{only} THEN\n{}END IF;\n", indented(&does)),
    }
}

/// Gives the day of a record a new revision.
fn revised(row: &str) -> String {
    let day = (TERMS.day)(&format!("{row}{}", DAY_REVISIONS.day_of));
    format!(
        "INSERT INTO {}\nVALUES ({day}, {}, {})\n{}",
        DAY_REVISIONS.table,
        TERMS.own_slot.unwrap_or_default(),
        TERMS.revision,
        another()
    )
}

/// Gives the day of the record with this key a new revision.
fn revised_for(key: &str) -> String {
    let days = &DAY_REVISIONS;
    format!(
        "INSERT INTO {}\nSELECT {}, {}, {}\nFROM {} WHERE {} = {key}\n{}",
        days.table,
        (TERMS.day)(days.day_of),
        TERMS.own_slot.unwrap_or_default(),
        TERMS.revision,
        days.of.table,
        days.of.key,
        another()
    )
}

fn another() -> String {
    format!("ON DUPLICATE KEY UPDATE {0} = value({0});\n", DAY_REVISIONS.column)
}
