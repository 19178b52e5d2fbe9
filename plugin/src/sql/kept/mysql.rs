//! Triggers of MariaDB and MySQL: one for each event of a table, so that the slot of a record is
//! looked up once. Its body updates only the numbers that have changed.

use super::layout::{compared, conditional, indented, joined, listed};
use super::parts::{self, Followed};
use super::terms::{self, Comparison, Correction, Rebuild, Repair, Terms, only, zeros};
use crate::model::kept::{
    self, Aggregate, COUNTED, ColumnType, DAY_REVISIONS, Pieces, Records, Revisions, SLOT, SLOTS,
};
use crate::model::value::Kind;

/// The SQL in which these engines differ.
pub static TERMS: Terms = Terms {
    day: |moment| format!("date_format({moment}, '%Y-%m-%d')"),
    divided_by: "DIV",
    units: |amount| format!("cast({amount} * 100000 AS signed)"),
    text: str::to_owned,
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
    // A list has no order of its own on MySQL; the keys ascend in the index, and in the table.
    refundable_lines: "(SELECT coalesce(replace(json_arrayagg(json_array(shop_orderitem_id, \
        orderitem_quantity, cast(orderitem_finalprice_with_tax * 100000 AS signed), refunded_quantity, \
        cast(refunded_amount * 100000 AS signed))), ' ', ''), '[]') \
        FROM shop_orderitems WHERE order_key = shop_order_id)",
};

/// The statements that create all triggers.
fn triggers() -> Vec<String> {
    let mut made = Vec::new();
    for of in COUNTED {
        let kept: Vec<&Aggregate> = kept::ALL.into_iter().filter(|kept| kept.of == of).collect();
        let own_days = DAY_REVISIONS.of == of;
        let all = |row: &str| {
            let counts = kept.iter().map(|kept| added(kept, row));
            counts.chain(own_days.then(|| revised(row))).collect::<String>()
        };
        let counts = kept.iter().filter(|kept| !kept.reads().is_empty()).map(|kept| {
            where_changed(&kept.reads(), &(added(kept, "OLD.") + &added(kept, "NEW.")))
        });
        let days = revised("OLD.") + &revised("NEW.");
        let days = own_days.then(|| where_changed(DAY_REVISIONS.watched, &days));
        let change = counts.chain(days).collect();
        for (event, row, does) in [
            ("INSERT", "NEW.", all("NEW.")),
            ("DELETE", "OLD.", all("OLD.")),
            ("UPDATE", "OLD.", change),
        ] {
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

/// Triggers that keep what a record has of its parts.
fn added_up() -> [String; 3] {
    let of = &kept::OF_VARIANTS;
    let (parts, (only, value)) = (of.parts.table, of.only);
    let whole = |row: &str| parts::add_up(of, &format!("{row}.{}", of.by));
    let differs = |column: &str| format!("NOT OLD.{column} <=> NEW.{column}");
    let followed = parts::followed(of, &format!("NEW.{}", of.by), differs);
    let followed = followed
        .map(|Followed { changed, does, .. }| conditional(&format!("IF {changed} "), &does));
    [
        ("INSERT", "NEW", whole("NEW")),
        ("DELETE", "OLD", whole("OLD")),
        ("UPDATE", "NEW", followed.concat()),
    ]
    .map(|(event, row, does)| {
        let does = conditional(&format!("IF {row}.{only} = {value} "), &does);
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
            conditional(&format!("IF {changed}{these} "), &does)
        };
        let with = |pieces: &Pieces| of_these(pieces.only, "NEW.", with(pieces));
        let without = |pieces: &Pieces| of_these(pieces.only, "OLD.", without(pieces));
        made.push(trigger("pieces", "INSERT", of.table, &each(with)));
        made.push(trigger("pieces", "DELETE", of.table, &each(without)));
        made.push(trigger("pieces", "UPDATE", of.table, &each(change)));
    }
    made
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

const PIECE: [(&str, Kind); 3] =
    [("piece", Kind::WORD), ("record", Kind::COUNT), ("place", Kind::COUNT)];

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
        identity: PIECE.to_vec(),
        column: "piece",
        differences: format!(
            "SELECT piece, record, place, 1, 0 FROM {table} LEFT JOIN {from} ON {key} = record \
             WHERE {key} IS NULL OR NOT ({has})"
        ),
        of,
        repair: Repair::Each(vec![locked(of), Correction::new(delete, &[0, 1, 2])]),
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
        identity: PIECE.to_vec(),
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
        repair: Repair::Each(vec![locked(of), Correction::new(insert, &[2, 2, 2, 2, 1, 2])]),
    }
}

/// Locks the record of a piece, so that its text stays as it is.
fn locked(of: &Records) -> Correction {
    let Records { table, key, .. } = of;
    Correction::new(format!("SELECT {key} FROM {table} WHERE {key} = ? FOR UPDATE"), &[1])
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
    conditional(&compared(columns, [("IF NOT ((", "OLD"), ("<=> (", "NEW")], "))"), does)
}

/// Adds a record to its row, or subtracts it and removes the row if its numbers become zero.
fn added(kept: &Aggregate, row: &str) -> String {
    let table = kept.table;
    let groups = TERMS.groups(kept, row);
    let mine = std::iter::once("mine".to_owned());
    let values = groups.iter().cloned().chain(mine).chain(TERMS.summands(kept, row));
    let insert = format!("INSERT INTO {table}\n")
        + &listed(0, "VALUES (", &values.collect::<Vec<_>>(), ")")
        + &listed(0, "ON DUPLICATE KEY UPDATE ", &TERMS.added(kept, ""), ";");
    if row == "NEW." {
        return of_these(kept.only, row, insert);
    }
    let columns = kept.by.iter().map(|group| group.column);
    let same = columns.zip(groups).map(|(column, group)| format!("{column} = {group}"));
    let gone = same.chain([format!("{SLOT} = mine")]).chain(zeros(kept, ""));
    let delete = joined(0, "WHERE ", &gone.collect::<Vec<_>>(), " AND ", ";");
    of_these(kept.only, row, format!("{insert}DELETE FROM {table}\n{delete}"))
}

/// Runs statements if the record is one of those that are counted, or that are in a table of pieces.
fn of_these(these: Option<(&str, i64)>, row: &str, does: String) -> String {
    match only(these, "IF ", row) {
        all if all.is_empty() => does,
        only => conditional(&format!("{only} "), &does),
    }
}

/// Gives the day of a record a new revision.
fn revised(row: &str) -> String {
    revise("VALUES (", &format!("{row}{}", DAY_REVISIONS.day_of), ")")
}

/// Gives the day of the record with this key a new revision.
fn revised_for(key: &str) -> String {
    let Revisions { of, day_of, .. } = DAY_REVISIONS;
    revise("SELECT ", day_of, &format!("\nFROM {} WHERE {} = {key}", of.table, of.key))
}

fn revise(begin: &str, moment: &str, end: &str) -> String {
    let Revisions { table, column, .. } = DAY_REVISIONS;
    let (day, slot) = ((TERMS.day)(moment), TERMS.own_slot.unwrap_or_default());
    format!(
        "INSERT INTO {table}\n{begin}{day}, {slot}, {}{end}\n\
         ON DUPLICATE KEY UPDATE {column} = value({column});\n",
        TERMS.revision
    )
}
