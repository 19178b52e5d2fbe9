//! Triggers of PostgreSQL. They receive all rows of a statement at once, so each row of a table is
//! written once per statement, however many records change. Updating a row repeatedly within a
//! transaction becomes slower each time, because every update leaves a version of the row behind.
//!
//! A statement is planned when it first runs in a session, for the number of rows at that time. So
//! nothing here joins the rows before with those after: the old ones are subtracted, the new ones
//! are added, and unchanged ones cancel out.

use super::layout::{compared, conditional, indented, joined, listed, places};
use super::parts::{self, Followed};
use super::terms::{self, Terms, only, zeros};
use crate::model::kept::{
    self, Addend, Aggregate, COUNTED, ColumnType, DAY_REVISIONS, Records, Sum,
};

/// The SQL in which PostgreSQL differs.
pub static TERMS: Terms = Terms {
    day: |moment| format!("to_char({moment}, 'YYYY-MM-DD')"),
    divided_by: "/",
    units: |amount| format!("({amount} * 100000)::bigint"),
    text: |json| format!("{json}::text"),
    high: |amount| format!("div({amount}, 10000)"),
    low: |amount| format!("mod({amount}, 10000) * 100000"),
    as_amount: str::to_owned,
    slot: Some(|key, floor| {
        format!("CASE WHEN {key} > {floor} THEN {} ELSE 0 END", terms::remainder(key))
    }),
    revision: "(random() * 9007199254740991)::bigint",
    own_slot: Some("pg_backend_pid() % 16"),
    on_conflict: |key, change| format!("ON CONFLICT ({key}) DO UPDATE SET {change}"),
    given: |column| format!("excluded.{column}"),
    table_end: " WITH (fillfactor = 50)",
    plain_end: "",
    room: |room| match room {
        ColumnType::Small => "smallint".to_owned(),
        ColumnType::Whole => "bigint".to_owned(),
        ColumnType::Text(characters) => format!("varchar({characters}) COLLATE \"C\""),
    },
    // The engine maintains its own indexes.
    indexes: Vec::new,
    triggers,
    texts: Vec::new,
    indexed: Vec::new,
    lines_of_shipments: "(SELECT order_key, line.orderitem_id AS item, line.quantity \
        FROM shop_shipments CROSS JOIN LATERAL json_to_recordset(items) \
        AS line (orderitem_id bigint, quantity bigint)) sent",
    lines_of_refunds: "(SELECT shop_orderrefund_id AS refund, order_key, \
        line.orderitem_id AS item, line.quantity, line.restock, line.amount * 0.00001 AS amount, \
        line.tax_amount * 0.00001 AS tax, line.share * 0.00001 AS share \
        FROM shop_orderrefunds CROSS JOIN LATERAL json_to_recordset(items) \
        AS line (orderitem_id bigint, quantity bigint, restock bigint, amount bigint, \
        tax_amount bigint, share bigint)) given_lines",
    refundable_lines: "(SELECT coalesce(translate(json_agg(json_build_array(shop_orderitem_id, \
        orderitem_quantity, (orderitem_finalprice_with_tax * 100000)::bigint, refunded_quantity, \
        (refunded_amount * 100000)::bigint) ORDER BY shop_orderitem_id)::text, E' \\n', ''), '[]') \
        FROM shop_orderitems WHERE order_key = shop_order_id)::json",
};

/// The kind of statement that fires a trigger.
#[derive(Clone, Copy)]
enum Event {
    Insert,
    Delete,
    Update,
}

/// The statements that create all triggers, each after its function.
fn triggers() -> Vec<String> {
    let mut made = Vec::new();
    for of in COUNTED {
        let kept: Vec<&Aggregate> = kept::ALL.into_iter().filter(|kept| kept.of == of).collect();
        let days = DAY_REVISIONS.of == of;
        for event in [Event::Insert, Event::Delete, Event::Update] {
            let counts = kept.iter().map(|kept| counted(kept, event));
            let does: String = counts.chain(days.then(|| revised(event))).collect();
            made.extend(on_statement(of.table, "kept", event, &variables(of, event), &does));
        }
    }
    let parts = DAY_REVISIONS.parts.0;
    for event in [Event::Insert, Event::Delete, Event::Update] {
        let variables = if let Event::Update = event { several(parts) } else { String::new() };
        made.extend(on_statement(parts, "day", event, &variables, &revised_for_parts(event)));
    }
    made.extend(kept::ALL.into_iter().flat_map(removal));
    made.extend(added_up());
    made
}

/// Triggers that keep what a record has of its parts, each after its function.
fn added_up() -> Vec<String> {
    let of = &kept::OF_VARIANTS;
    let (parts, (only, value)) = (of.parts.table, of.only);
    let made = |name: &str, event: &str, row: &str, more: &str, does: &str| {
        let name = format!("{parts}_{name}");
        [
            format!(
                "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$\n\
                 BEGIN\n{}    RETURN NULL;\nEND;\n$$",
                indented(does)
            ),
            format!(
                "CREATE TRIGGER {name} AFTER {event} ON {parts} FOR EACH ROW\n    \
                 WHEN ({row}.{only} = {value}{more}) EXECUTE FUNCTION {name}()"
            ),
        ]
    };
    let whole = |row: &str| parts::add_up(of, &format!("{row}.{}", of.by));
    let differs = |column: &str| format!("OLD.{column} IS DISTINCT FROM NEW.{column}");
    let followed = parts::followed(of, &format!("NEW.{}", of.by), differs);
    let followed = followed.into_iter().flat_map(|Followed { name, column, changed, does }| {
        let (name, event) = (format!("{name}_change"), format!("UPDATE OF {column}"));
        made(&name, &event, "NEW", &format!(" AND {changed}"), &does)
    });
    let mut all = Vec::from(made("sum_new", "INSERT", "NEW", "", &whole("NEW")));
    all.extend(made("sum_old", "DELETE", "OLD", "", &whole("OLD")));
    all.extend(followed);
    all
}

fn on_statement(of: &str, name: &str, event: Event, variables: &str, does: &str) -> [String; 2] {
    let (end, words, rows) = match event {
        Event::Insert => ("new", "INSERT", "NEW TABLE AS new_rows"),
        Event::Delete => ("old", "DELETE", "OLD TABLE AS old_rows"),
        Event::Update => ("change", "UPDATE", "OLD TABLE AS old_rows NEW TABLE AS new_rows"),
    };
    let name = format!("{of}_{name}_{end}");
    // A statement may have changed no rows.
    let begin = match event {
        Event::Update => {
            "SELECT * INTO was FROM old_rows LIMIT 1;\n\
             SELECT * INTO became FROM new_rows LIMIT 1;\n\
             IF NOT FOUND THEN\n    RETURN NULL;\nEND IF;\n"
        }
        Event::Insert | Event::Delete => "",
    };
    [
        format!(
            "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$\n{variables}\
             BEGIN\n{}{}    RETURN NULL;\nEND;\n$$",
            indented(begin),
            indented(does)
        ),
        format!(
            "CREATE TRIGGER {name} AFTER {words} ON {of}\n    REFERENCING {rows}\n    \
             FOR EACH STATEMENT EXECUTE FUNCTION {name}()"
        ),
    ]
}

/// The variables of a trigger. An update looks up the last key of slot 0 where it is needed, which
/// is seldom more than once.
fn variables(of: &Records, event: Event) -> String {
    match event {
        Event::Insert | Event::Delete => {
            format!("DECLARE\n    floor_key CONSTANT bigint := {};\n", terms::floor(of))
        }
        Event::Update => several(of.table),
    }
}

/// One row before and after, and whether there are others.
fn several(of: &str) -> String {
    format!(
        "DECLARE\n    several CONSTANT boolean := \
         (SELECT count(*) > 1 FROM (SELECT FROM new_rows LIMIT 2) AS few);\n    \
         was {of};\n    became {of};\n"
    )
}

/// Runs statements if many rows have changed, or if the only one has other values in these columns.
fn where_changed(columns: &[&str], does: &str) -> String {
    let rows = [("IF several OR (", "was"), ("IS DISTINCT FROM (", "became")];
    conditional(&compared(columns, rows, ")"), does)
}

/// Adds records to their rows, or subtracts them.
fn counted(kept: &Aggregate, event: Event) -> String {
    let reads = kept.reads();
    if let (Event::Update, true) = (event, reads.is_empty()) {
        return String::new();
    }
    let slot = match event {
        Event::Insert | Event::Delete => TERMS.slot.map(|slot| slot(kept.of.key, "floor_key")),
        Event::Update => TERMS.slot(kept.of, ""),
    };
    let by = TERMS.groups(kept, "").into_iter().chain(slot);
    let sums: Vec<String> = kept.sums.iter().map(|sum| summed(sum, event)).collect();
    let values: Vec<String> = by.chain(sums.iter().cloned()).collect();
    let identity = TERMS.identity(kept);
    let places = places(identity.len());
    let these = only(kept.only, " WHERE ", "");
    let from = match event {
        Event::Insert => format!("FROM new_rows{these}\n"),
        Event::Delete => format!("FROM old_rows{these}\n"),
        Event::Update => {
            let columns = [&reads[..], &[kept.of.key]].concat();
            "FROM (\n".to_owned()
                + &listed(4, "SELECT -1 AS sign, ", &columns, &format!(" FROM old_rows{these}"))
                + "    UNION ALL\n"
                + &listed(4, "SELECT 1, ", &columns, &format!(" FROM new_rows{these}"))
                + ") AS changed\n"
        }
    };
    let having = match event {
        Event::Update => {
            let something: Vec<String> = sums.iter().map(|sum| format!("{sum} <> 0")).collect();
            joined(0, "HAVING ", &something, " OR ", "")
        }
        Event::Insert | Event::Delete => String::new(),
    };
    let does = format!("INSERT INTO {} AS kept\n", kept.table)
        + &listed(0, "SELECT ", &values, "")
        + &from
        + &format!("GROUP BY {places}\n{having}ORDER BY {places}\n")
        + &listed(0, "ON CONFLICT (", &identity, ")")
        + &listed(0, "DO UPDATE SET ", &TERMS.added(kept, "kept."), ";");
    match event {
        Event::Update => where_changed(&reads, &does),
        Event::Insert | Event::Delete => does,
    }
}

/// The contribution of the rows of a statement to a sum.
fn summed(sum: &Sum, event: Event) -> String {
    match (event, sum.of) {
        (Event::Insert, _) => TERMS.total(sum),
        (Event::Delete, _) => format!("-{}", TERMS.total(sum)),
        (Event::Update, Addend::One) => "sum(sign)".to_owned(),
        (Event::Update, _) => format!("sum(sign * ({}))", TERMS.summand(sum, "")),
    }
}

/// Removes a row as soon as its numbers become zero. Otherwise clients that keep using new values
/// would fill the tables.
fn removal(kept: &Aggregate) -> [String; 2] {
    let table = kept.table;
    let same = TERMS.identity(kept).into_iter().map(|column| format!("{column} = NEW.{column}"));
    [
        format!(
            "CREATE FUNCTION {table}_none() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n    \
             DELETE FROM {table}\n{}    RETURN NULL;\nEND;\n$$",
            joined(4, "WHERE ", &same.collect::<Vec<_>>(), " AND ", ";")
        ),
        format!(
            "CREATE TRIGGER {table}_none AFTER UPDATE ON {table} FOR EACH ROW\n{}    \
             EXECUTE FUNCTION {table}_none()",
            joined(4, "WHEN (", &zeros(kept, "NEW.").collect::<Vec<_>>(), " AND ", ")")
        ),
    ]
}

/// Gives the days of the changed rows new revisions.
fn revised(event: Event) -> String {
    let day = (TERMS.day)(DAY_REVISIONS.day_of);
    let days = |rows: &str| format!("SELECT {day} AS day FROM {rows}");
    match event {
        Event::Insert => revise(&format!("SELECT DISTINCT {day} AS day FROM new_rows")),
        Event::Delete => revise(&format!("SELECT DISTINCT {day} AS day FROM old_rows")),
        Event::Update => where_changed(
            DAY_REVISIONS.watched,
            &revise(&format!("{} UNION {}", days("old_rows"), days("new_rows"))),
        ),
    }
}

/// The statements that revise the days of rows whose parts have changed.
fn revised_for_parts(event: Event) -> String {
    let days = &DAY_REVISIONS;
    let whole = days.parts.1;
    let parts = |rows: &str| format!("SELECT {whole} FROM {rows}");
    let of = |parts: &str| {
        revise(&format!(
            "SELECT DISTINCT {} AS day FROM {}\n    WHERE {} IN ({parts})",
            (TERMS.day)(days.day_of),
            days.of.table,
            days.of.key
        ))
    };
    match event {
        Event::Insert => of(&parts("new_rows")),
        Event::Delete => of(&parts("old_rows")),
        Event::Update => where_changed(
            days.watched_of_parts,
            &of(&format!("{} UNION {}", parts("old_rows"), parts("new_rows"))),
        ),
    }
}

fn revise(days: &str) -> String {
    let (table, number) = (DAY_REVISIONS.table, DAY_REVISIONS.column);
    format!(
        "INSERT INTO {table}\nSELECT day, {}, {}\nFROM (\n    {days}\n) AS days\nORDER BY day\n\
         ON CONFLICT (day, slot) DO UPDATE SET {number} = excluded.{number};\n",
        TERMS.own_slot.unwrap_or_default(),
        TERMS.revision,
    )
}
