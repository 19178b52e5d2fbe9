//! Triggers of SQLite. A cascade fires the triggers of the rows that it deletes.

use super::table::Followed;

/// The statements that create the triggers of a table.
pub fn triggers(of: &Followed) -> Vec<String> {
    let Followed { table, .. } = of;
    vec![
        trigger(of, "new", &format!("AFTER INSERT ON {table}"), &["NEW"]),
        trigger(of, "old", &format!("AFTER DELETE ON {table}"), &["OLD"]),
        trigger(
            of,
            "change",
            &format!("AFTER UPDATE OF version ON {table}\nWHEN OLD.version <> NEW.version"),
            &["NEW", "OLD"],
        ),
    ]
}

/// A trigger that queues the change of a row, which is given before or after it, or both.
fn trigger(of: &Followed, name: &str, event: &str, rows: &[&str]) -> String {
    let Followed { table, key, .. } = of;
    let row = rows.first().unwrap_or(&"NEW");
    let queue = of.shown.iter().map(|shown| {
        let insert = "INSERT INTO shop_change_queue (kind, record)";
        let kind = shown.kind;
        match shown.only {
            None => format!("    {insert}\n    VALUES ('{kind}', {row}.{key});\n"),
            Some((column, value)) => {
                let values: Vec<String> =
                    rows.iter().map(|row| format!("{row}.{column}")).collect();
                let values = values.join(", ");
                format!(
                    "    {insert}\n    SELECT '{kind}', {row}.{key} WHERE {value} IN ({values});\n"
                )
            }
        }
    });
    let does: String = queue.collect();
    format!("CREATE TRIGGER {table}_feed_{name} {event}\nBEGIN\n{does}END")
}
