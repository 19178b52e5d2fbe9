//! A copy of a database on MariaDB, which has no statement for that: tables and triggers as the server shows them,
//! and their rows. This takes half of the time of the migrations, which change tables that they have made.

use std::fmt::Write as _;

use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};

/// The tables, and those of their columns that are not computed from others.
const TABLES: &str = "SELECT table_name, \
    group_concat(concat('`', column_name, '`') ORDER BY ordinal_position) \
    FROM information_schema.columns \
    WHERE table_schema = DATABASE() AND is_generated = 'NEVER' GROUP BY table_name";

/// The triggers in their order, which matters where a table has several for the same event, each in its mode. By
/// `trigger_schema` the server would read those of all databases, and close the connection if one of these is removed
/// meanwhile.
const TRIGGERS: &str = "SELECT concat('SET SESSION sql_mode = \"', sql_mode, '\"; CREATE TRIGGER ', \
    trigger_name, ' ', action_timing, ' ', event_manipulation, ' ON ', event_object_table, \
    ' FOR EACH ROW ', action_statement) \
    FROM information_schema.triggers WHERE event_object_schema = DATABASE() ORDER BY action_order";

/// The statements that fill a new database like this one, from which they take the rows.
pub async fn recipe(server: &str, database: &str) -> String {
    let mut server = MySqlConnection::connect(server).await.unwrap();
    server.execute(AssertSqlSafe(format!("USE {database}"))).await.unwrap();
    // Rows are copied as they are, those with the key 0 included, in any order of the tables. The server adds many
    // rows to an empty table at once if nothing has to be checked.
    let mut recipe = "SET SESSION foreign_key_checks = 0, unique_checks = 0, \
        sql_mode = 'NO_AUTO_VALUE_ON_ZERO';\n"
        .to_owned();
    for row in fetch(&mut server, TABLES.to_owned()).await {
        let (table, columns): (String, String) = (row.get_unchecked(0), row.get_unchecked(1));
        let shown = fetch(&mut server, format!("SHOW CREATE TABLE `{table}`")).await;
        let shown: String = shown[0].get_unchecked(1);
        writeln!(recipe, "{shown};").unwrap();
        let rows = format!("SELECT {columns} FROM {database}.`{table}`");
        // Most tables are empty.
        if !fetch(&mut server, format!("{rows} LIMIT 1")).await.is_empty() {
            writeln!(recipe, "INSERT INTO `{table}` ({columns}) {rows};").unwrap();
        }
    }
    for row in fetch(&mut server, TRIGGERS.to_owned()).await {
        let trigger: String = row.get_unchecked(0);
        writeln!(recipe, "{trigger};").unwrap();
    }
    recipe
}

/// All rows of a query, which is not prepared: before it may prepare the next one, the client closes the statement,
/// and the network keeps that back for 40 ms.
async fn fetch(server: &mut MySqlConnection, query: String) -> Vec<MySqlRow> {
    sqlx::raw_sql(AssertSqlSafe(query)).fetch_all(server).await.unwrap()
}
