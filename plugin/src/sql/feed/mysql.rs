//! Triggers of MariaDB and MySQL, whose cascades fire none: the trigger of a row that is to be deleted
//! queues its parts too.

use super::table::{Change, Followed};
use crate::model::resource::Resource;

/// The statements that create the triggers of a table.
pub fn triggers(of: &Followed) -> Vec<String> {
    let Followed { table, .. } = of;
    let trigger = |name: &str, event: &str, does: String| {
        format!(
            "CREATE TRIGGER {table}_feed_{name} {event} ON {table} FOR EACH ROW\nBEGIN\n{does}END"
        )
    };
    let change = format!(
        "    IF OLD.version <> NEW.version THEN\n{}    END IF;\n",
        queue(of, Change::Update, 8)
    );
    let parts: String = of.parts.iter().map(|(part, by)| queue_parts(part, by, of.key)).collect();
    let mut made = vec![
        trigger("new", "AFTER INSERT", queue(of, Change::Insert, 4)),
        trigger("old", "AFTER DELETE", queue(of, Change::Delete, 4)),
        trigger("change", "AFTER UPDATE", change),
    ];
    // After the deletion, its parts are gone already.
    made.extend((!parts.is_empty()).then(|| trigger("parts", "BEFORE DELETE", parts)));
    made
}

/// Queues a change of a row.
fn queue(of: &Followed, change: Change, indent: usize) -> String {
    let row = change.row();
    let space = " ".repeat(indent);
    let queue = of.shown.iter().map(|resource| {
        let (kind, key, created) = (resource.kind, of.key, change.created(resource));
        let insert = |space: &str| {
            format!(
                "{space}INSERT INTO shop_change_queue (kind, record, created)\n\
                 {space}VALUES ('{kind}', {row}.{key}, {created});\n"
            )
        };
        match resource.fixed.first() {
            None => insert(&space),
            Some((column, value)) => {
                let values = change.values(column);
                let insert = insert(&format!("{space}    "));
                format!("{space}IF {value} IN ({values}) THEN\n{insert}{space}END IF;\n")
            }
        }
    });
    queue.collect()
}

/// Queues the deletion of the parts of a row.
fn queue_parts(part: &Resource, by: &str, key: &str) -> String {
    let Resource { kind, table, key: own, .. } = part;
    format!(
        "    INSERT INTO shop_change_queue (kind, record)\n    \
         SELECT '{kind}', {own} FROM {table}\n    WHERE {by} = OLD.{key};\n"
    )
}
