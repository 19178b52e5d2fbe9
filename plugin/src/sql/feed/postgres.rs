//! Triggers of PostgreSQL: one function for each table. A cascade fires the triggers of the rows that
//! it deletes. They fire for each row, because all they do is to insert one: a statement that changes
//! many rows gains nothing from seeing all of them at once.

use super::table::Followed;

/// The statements that create the triggers of a table, after their function.
pub fn triggers(of: &Followed) -> Vec<String> {
    let Followed { table, key, .. } = of;
    let queue = of.shown.iter().map(|resource| {
        // A row that is no such record, or does not exist, before the change.
        let created = match resource.fixed.first() {
            None => "(TG_OP = 'INSERT')::integer".to_owned(),
            Some((column, value)) => {
                format!(
                    "(coalesce(NEW.{column} = {value}, FALSE) \
                     AND OLD.{column} IS DISTINCT FROM {value})::integer"
                )
            }
        };
        let insert = format!(
            "INSERT INTO shop_change_queue (kind, record, created)\n    \
             VALUES ('{}', coalesce(NEW.{key}, OLD.{key}), {created});\n",
            resource.kind
        );
        match resource.fixed.first() {
            None => format!("    {insert}"),
            // A row that does not exist before or after the change has no value here.
            Some((column, value)) => format!(
                "    IF {value} IN (NEW.{column}, OLD.{column}) THEN\n        {}    END IF;\n",
                insert.replace("\n    ", "\n        ")
            ),
        }
    });
    let does: String = queue.collect();
    vec![
        format!(
            "CREATE FUNCTION {table}_feed() RETURNS trigger LANGUAGE plpgsql AS $$\nBEGIN\n{does}    \
             RETURN NULL;\nEND;\n$$"
        ),
        format!(
            "CREATE TRIGGER {table}_feed AFTER INSERT OR DELETE ON {table}\n    FOR EACH ROW \
             EXECUTE FUNCTION {table}_feed()"
        ),
        format!(
            "CREATE TRIGGER {table}_feed_change AFTER UPDATE ON {table}\n    FOR EACH ROW \
             WHEN (OLD.version <> NEW.version) EXECUTE FUNCTION {table}_feed()"
        ),
    ]
}
