//! Triggers of SQLite. There is one writer at a time, so there are no slots. SQLite compiles into a
//! statement only the triggers on its columns, so each table of kept numbers has triggers of its
//! own.

use super::layout::{compared, indented, joined, listed};
use super::parts::{self, Followed};
use super::terms::{Comparison, Rebuild, Repair, Terms, only, zeros};
use crate::model::kept::{self, Aggregate, ColumnType, DAY_REVISIONS, Searched};
use crate::model::value::Kind;

/// The SQL in which SQLite differs. Amounts are stored in units.
pub static TERMS: Terms = Terms {
    day: |moment| format!("substr({moment}, 1, 10)"),
    divided_by: "/",
    units: str::to_owned,
    text: str::to_owned,
    high: |amount| format!("{amount} / 1000000000"),
    low: |amount| format!("{amount} % 1000000000"),
    as_amount: |number| format!("{number} * 100000"),
    slot: None,
    revision: "random() & 0x1fffffffffffff",
    own_slot: None,
    on_conflict: |key, change| format!("ON CONFLICT ({key}) DO UPDATE SET {change}"),
    given: |column| format!("excluded.{column}"),
    table_end: " STRICT, WITHOUT ROWID",
    plain_end: " STRICT",
    room: |room| match room {
        ColumnType::Small | ColumnType::Whole => "INTEGER".to_owned(),
        ColumnType::Text(_) => "TEXT".to_owned(),
    },
    indexes,
    triggers,
    texts,
    indexed,
    lines_of_shipments: "(SELECT order_key, json_extract(value, '$.orderitem_id') AS item, \
        json_extract(value, '$.quantity') AS quantity \
        FROM shop_shipments JOIN json_each(items)) sent",
    lines_of_refunds: "(SELECT shop_orderrefund_id AS refund, order_key, \
        json_extract(value, '$.orderitem_id') AS item, json_extract(value, '$.quantity') AS quantity, \
        json_extract(value, '$.restock') AS restock, json_extract(value, '$.amount') AS amount, \
        json_extract(value, '$.tax_amount') AS tax, json_extract(value, '$.share') AS share \
        FROM shop_orderrefunds JOIN json_each(items)) given_lines",
    refundable_lines: "(SELECT json_group_array(json_array(shop_orderitem_id, orderitem_quantity, \
        orderitem_finalprice_with_tax, refunded_quantity, refunded_amount) ORDER BY shop_orderitem_id) \
        FROM shop_orderitems WHERE order_key = shop_order_id)",
};

/// The statements that create all triggers.
fn triggers() -> Vec<String> {
    let mut made = Vec::new();
    for kept in kept::ALL {
        let (table, of) = (kept.table, kept.of.table);
        let [old, new] = [counted(kept, "OLD."), counted(kept, "NEW.")];
        made.push(trigger(&format!("{table}_new AFTER INSERT ON {of}\n"), &new));
        made.push(trigger(&format!("{table}_old AFTER DELETE ON {of}\n"), &old));
        let reads = kept.reads();
        if !reads.is_empty() {
            let about = changes(&format!("{table}_change"), of, &reads);
            made.push(trigger(&about, &(old + &new)));
        }
        let when = joined(0, "WHEN ", &zeros(kept, "NEW.").collect::<Vec<_>>(), " AND ", "");
        let same = kept.by.iter().map(|group| format!("{0} = NEW.{0}", group.column));
        let same = joined(0, "WHERE ", &same.collect::<Vec<_>>(), " AND ", ";");
        let about = format!("{table}_none AFTER UPDATE ON {table}\n{when}");
        made.push(trigger(&about, &format!("DELETE FROM {table}\n{same}")));
    }
    made.extend(revisions());
    made.extend(summed());
    made
}

/// Triggers that keep what a record has of its parts.
fn summed() -> Vec<String> {
    let of = &kept::OF_VARIANTS;
    let (parts, (only, value)) = (of.parts.table, of.only);
    let [old, new] = ["OLD.", "NEW."].map(|row| parts::add_up(of, &format!("{row}{}", of.by)));
    let counts = |row: &str| format!("WHEN {row}.{only} = {value}");
    let mut made = vec![
        trigger(&format!("{parts}_sum_new AFTER INSERT ON {parts}\n{}\n", counts("NEW")), &new),
        trigger(&format!("{parts}_sum_old AFTER DELETE ON {parts}\n{}\n", counts("OLD")), &old),
    ];
    let differs = |column: &str| format!("OLD.{column} IS NOT NEW.{column}");
    let followed = parts::followed(of, &format!("NEW.{}", of.by), differs);
    made.extend(followed.map(|Followed { name, column, changed, does }| {
        let about = format!("{parts}_{name}_change AFTER UPDATE OF {column} ON {parts}");
        trigger(&format!("{about}\n{} AND {changed}\n", counts("NEW")), &does)
    }));
    made
}

/// The statements that create the indexes of texts, with what they contain as tables that store nothing,
/// and the triggers that maintain them.
fn indexes() -> Vec<String> {
    kept::SEARCHED.iter().flat_map(index).chain(kept::SEARCHED.iter().map(terms)).collect()
}

/// The records of an index: their table, or a view of those that are in it.
fn content(searched: &Searched) -> String {
    searched
        .only
        .map_or_else(|| searched.of.table.to_owned(), |_| format!("{}_texts", searched.table))
}

fn index(searched: &Searched) -> Vec<String> {
    let Searched { table, of, texts, reads, .. } = searched;
    let (from, key) = (of.table, of.key);
    let row = |row: &str, first: &[&str]| {
        let of_row = [&[key], *texts].concat().into_iter().map(|column| format!("{row}.{column}"));
        first.iter().map(|&value| value.to_owned()).chain(of_row).collect::<Vec<_>>()
    };
    let names = |first: &[&'static str]| [first, &["rowid"], texts].concat();
    let add = listed(0, &format!("INSERT INTO {table} ("), &names(&[]), ")")
        + &listed(0, "VALUES (", &row("NEW", &[]), ");");
    let remove = listed(0, &format!("INSERT INTO {table} ("), &names(&[table]), ")")
        + &listed(0, "VALUES (", &row("OLD", &["'delete'"]), ");");
    let event = |name: &str, event: &str, row: &str| {
        let when = only(searched.only, "WHEN ", row);
        format!(
            "{table}_{name} AFTER {event} ON {from}\n{when}{}",
            if when.is_empty() { "" } else { "\n" }
        )
    };
    let content = content(searched);
    let view = format!(
        "CREATE VIEW {content} AS\nSELECT {key}, {}\nFROM {from}{}",
        texts.join(", "),
        only(searched.only, "\nWHERE ", "")
    );
    let index = format!(
        "CREATE VIRTUAL TABLE {table} USING fts5 (\n    {},\n    \
         content = '{content}', content_rowid = '{key}',\n    \
         tokenize = 'trigram case_sensitive 1', detail = full, columnsize = 0\n)",
        texts.join(", ")
    );
    let change = event("change", &format!("UPDATE OF {}", reads.join(", ")), "OLD.");
    let view = searched.only.map(|_| view);
    let made = [
        index,
        trigger(&event("new", "INSERT", "NEW."), &add),
        trigger(&event("old", "DELETE", "OLD."), &remove),
        trigger(&change, &(remove + &add)),
    ];
    view.into_iter().chain(made).collect()
}

fn terms(searched: &Searched) -> String {
    let table = searched.table;
    format!("CREATE VIRTUAL TABLE {table}_terms USING fts5vocab ('{table}', 'instance')")
}

/// How the indexes of texts are rebuilt.
fn texts() -> Vec<Rebuild> {
    kept::SEARCHED.iter().map(rebuild).collect()
}

/// A large buffer leaves less to merge, and an index in one part is read faster than one in several.
/// Afterwards the engine's default is restored. What each write adds is merged in the background instead of
/// by writers; see `store::upkeep`.
fn rebuild(searched: &Searched) -> Rebuild {
    let table = searched.table;
    let set = |what: &str, value: u32| format!("({table}, rank) VALUES ('{what}', {value})");
    let done = |what: &str| format!("({table}) VALUES ('{what}')");
    let statements = [
        set("hashsize", 64 << 20),
        done("rebuild"),
        done("optimize"),
        set("hashsize", 1 << 20),
        set("automerge", 0),
    ];
    Rebuild {
        table,
        statements: statements.map(|does| format!("INSERT INTO {table} {does}")).to_vec(),
    }
}

/// How the indexes of texts are compared with the texts: each trigram in them has to be in its text, and
/// there have to be as many as the texts have. The engine's own comparison would keep all writers waiting.
fn indexed() -> Vec<Comparison> {
    kept::SEARCHED.iter().flat_map(|searched| [surplus(searched), numbers(searched)]).collect()
}

fn surplus(searched: &'static Searched) -> Comparison {
    let Searched { table, of, texts, .. } = *searched;
    let (from, key) = (content(searched), of.key);
    let text: Vec<String> = texts.iter().map(|text| format!("WHEN '{text}' THEN {text}")).collect();
    Comparison {
        table,
        identity: vec![("record", Kind::COUNT), ("text", Kind::WORD), ("place", Kind::COUNT)],
        column: "trigram",
        differences: format!(
            "SELECT doc, col, offset, 1, 0 FROM {table}_terms LEFT JOIN {from} ON {key} = doc \
             WHERE {key} IS NULL OR term <> substr(CASE col {} END, offset + 1, 3)",
            text.join(" ")
        ),
        of,
        repair: Repair::Whole(rebuild(searched).statements),
    }
}

fn numbers(searched: &'static Searched) -> Comparison {
    let Searched { table, of, texts, .. } = *searched;
    let stored: Vec<String> =
        texts.iter().map(|text| format!("sum(col = '{text}') AS {text}")).collect();
    let compared = texts.iter().map(|text| {
        format!(
            "SELECT '{text}' AS text, (SELECT coalesce({text}, 0) FROM stored) AS stored, \
             (SELECT coalesce(sum(max(length({text}) - 2, 0)), 0) FROM {}) AS counted",
            content(searched)
        )
    });
    Comparison {
        table,
        identity: vec![("text", Kind::WORD)],
        column: "trigrams",
        differences: format!(
            "WITH stored AS MATERIALIZED (SELECT {} FROM {table}_terms) \
             SELECT text, stored, counted FROM ({}) WHERE stored <> counted",
            stored.join(", "),
            compared.collect::<Vec<_>>().join(" UNION ALL ")
        ),
        of,
        repair: Repair::Whole(rebuild(searched).statements),
    }
}

/// A trigger with this name, event, condition and body.
fn trigger(about: &str, does: &str) -> String {
    format!("CREATE TRIGGER {about}BEGIN\n{}END", indented(does))
}

/// The name, event and condition of a trigger: at least one of these columns has changed.
fn changes(name: &str, of: &str, columns: &[&str]) -> String {
    listed(0, &format!("{name}\nAFTER UPDATE OF "), columns, &format!("\nON {of}"))
        + &compared(columns, [("WHEN (", "OLD"), ("IS NOT (", "NEW")], ")")
}

/// Adds a record to its row, or subtracts it.
fn counted(kept: &Aggregate, row: &str) -> String {
    let groups = TERMS.groups(kept, row).into_iter();
    let values: Vec<String> = groups.chain(TERMS.summands(kept, row)).collect();
    let values = match only(kept.only, "WHERE ", row) {
        all if all.is_empty() => listed(0, "VALUES (", &values, ")"),
        only => listed(0, "SELECT ", &values, &format!("\n{only}")),
    };
    format!("INSERT INTO {}\n{values}", kept.table)
        + &listed(0, "ON CONFLICT DO UPDATE SET ", &TERMS.added(kept, ""), ";")
}

/// Triggers that give the days of changed records new revisions.
fn revisions() -> Vec<String> {
    let days = &DAY_REVISIONS;
    let (table, of, (parts, whole)) = (days.table, days.of, days.parts);
    let [day_of_old, day_of_new, day] =
        ["OLD.", "NEW.", ""].map(|row| (TERMS.day)(&format!("{row}{}", days.day_of)));
    let another = format!("ON CONFLICT DO UPDATE SET {0} = excluded.{0};\n", days.column);
    let values = |day: &str| format!("({day}, {})", TERMS.revision);
    let revise = |values: String| format!("INSERT INTO {table}\nVALUES {values}\n{another}");
    let of_whole = |which: &str| {
        format!(
            "INSERT INTO {table}\nSELECT {day}, {} FROM {}\nWHERE {} {which}\n{another}",
            TERMS.revision, of.table, of.key
        )
    };
    let both = format!("{},\n    {}", values(&day_of_old), values(&day_of_new));
    let inserted = |of: &str| format!("{of}_day_new AFTER INSERT ON {of}\n");
    let deleted = |of: &str| format!("{of}_day_old AFTER DELETE ON {of}\n");
    let changed = |of: &str, watched| changes(&format!("{of}_day_change"), of, watched);
    [
        (inserted(of.table), revise(values(&day_of_new))),
        (deleted(of.table), revise(values(&day_of_old))),
        (changed(of.table, days.watched), revise(both)),
        (inserted(parts), of_whole(&format!("= NEW.{whole}"))),
        (deleted(parts), of_whole(&format!("= OLD.{whole}"))),
        (
            changed(parts, days.watched_of_parts),
            of_whole(&format!("IN (OLD.{whole}, NEW.{whole})")),
        ),
    ]
    .map(|(about, does)| trigger(&about, &does))
    .to_vec()
}
