//! Triggers of SQLite. A cascade fires the triggers of the rows that it deletes.

use super::table::{Change, Followed};

/// The statements that create the triggers of a table.
pub fn triggers(of: &Followed) -> Vec<String> {
    let Followed { table, .. } = of;
    vec![
        trigger(of, "new", &format!("AFTER INSERT ON {table}"), Change::Insert),
        trigger(of, "old", &format!("AFTER DELETE ON {table}"), Change::Delete),
        trigger(
            of,
            "change",
            &format!("AFTER UPDATE OF version ON {table}\nWHEN OLD.version <> NEW.version"),
            Change::Update,
        ),
    ]
}

/// A trigger that queues a change of a row.
fn trigger(of: &Followed, name: &str, event: &str, change: Change) -> String {
    let Followed { table, key, .. } = of;
    let row = change.row();
    let queue = of.shown.iter().map(|resource| {
        let (kind, created) = (resource.kind, change.created(resource));
        let insert = "INSERT INTO shop_change_queue (kind, record, created)";
        match resource.fixed.first() {
            None => format!("    {insert}\n    VALUES ('{kind}', {row}.{key}, {created});\n"),
            Some((column, value)) => {
                let values = change.values(column);
                format!(
                    "    {insert}\n    SELECT '{kind}', {row}.{key}, {created} WHERE {value} IN ({values});\n"
                )
            }
        }
    });
    let does: String = queue.collect();
    format!("CREATE TRIGGER {table}_feed_{name} {event}\nBEGIN\n{does}END")
}
