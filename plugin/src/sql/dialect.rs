//! What differs between database engines, in one table.

use super::kept::{self, Terms};
use super::texts::{self, Column, Found};
use crate::model::resource::Resource;

/// What is different in the SQL of one engine.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// What the engine is called.
    pub name: &'static str,
    /// Writes a test that the text in a column contains a bound text, made by
    /// [`Dialect::search_pattern`].
    pub contains: fn(&mut String, column: &str),
    /// A text as that test takes it, with no special characters.
    pub search_pattern: fn(&str) -> String,
    /// How records that contain a text are found, where the engine needs a table of its own for that.
    /// Nothing where no table has these columns, or the text is too short for it.
    pub find: fn(&Resource, &[Column<'_>], &str) -> Option<Found>,
    /// The sum of a column of money in two whole numbers, each of which fits into 64 bits: the multiples
    /// of 10^4, and the rest in units of 10^-5.
    pub wide_sum: fn(&str) -> [String; 2],
    /// The sum of a column of money where the result is no larger than money can be, although an
    /// intermediate sum may be.
    pub narrow_sum: fn(&str) -> String,
    /// The function that makes a JSON list of all values of a column.
    pub json_list: &'static str,
    /// A column in a form that no index serves, where the engine would choose an index that it should not.
    pub without_index: fn(&str) -> String,
    /// What follows a table that is to be read by the index of this name, on an engine that would
    /// otherwise read fewer rows and sort them, misjudging how many they are.
    pub index_hint: fn(&str) -> String,
    /// What follows a descending or ascending column so that unset values are the least.
    pub nulls_least: fn(descending: bool) -> &'static str,
    /// The function that counts the characters of a text.
    pub char_length: &'static str,
    /// Begins a transaction that is certain to write. On an engine with one writer at a time it queues
    /// at once, instead of failing half-way; elsewhere each statement sees what others have
    /// committed, and locks keep rows as they were read.
    pub begin_write: &'static str,
    /// Begins a transaction that reads everything as it was at one moment.
    pub begin_read: &'static str,
    /// Fails if the transaction is no longer open. A node of a cluster may undo one in favour of
    /// another node's; if it was about to prepare a statement, the error is lost or is a wrong one, and
    /// what follows would be done outside of the transaction.
    pub ensure_open: Option<&'static str>,
    /// Commits a transaction, if it is still open.
    pub commit: &'static str,
    /// Reads the time in whole seconds since 1970.
    pub seconds: &'static str,
    /// How a transaction locks the rows that it has read.
    pub locks: Option<Locks>,
    /// Whether the engine hands a page over as one JSON text of raw cells. On an embedded engine
    /// each row would cross a thread; over a network rows are faster.
    pub pages_as_json: bool,
    /// Whether an insertion has to ask for its key with `RETURNING`.
    pub returns_keys: bool,
    /// Whether the sequence of keys has to be moved past keys that were inserted.
    pub keys_follow: bool,
    /// How many values may be bound in one statement.
    pub max_binds: usize,
    /// Whether the limit of a page stands in the text. An engine that assumes a bound limit to be a large
    /// part of the table plans such a statement anew each time, which takes longer than reading the page.
    pub limits_in_text: bool,
    /// Whether an update writes all fields of a record, so that a resource has one statement for all
    /// updates: on an engine that limits the prepared statements of all connections together.
    pub changes_all: bool,
    /// Reads the columns of the store's tables, without those that the engine computes or that only lock
    /// a row: table, column, type, and how many fraction digits the type has.
    pub columns: &'static str,
    /// Reads the key that a table gave last, whether or not its record is still there.
    pub last_key: fn(table: &str, key: &str) -> String,
    /// How it keeps counts and sums.
    pub kept: &'static Terms,
    /// Makes a table give keys above this one, which is not below any key in it.
    pub give_keys_above: fn(table: &str, key: &str, last: i64) -> Vec<String>,
}

/// What follows a query that locks its rows until the transaction ends.
#[derive(Clone, Copy, Debug)]
pub struct Locks {
    /// Against others that read them to write, or refer to them.
    pub exclusive: &'static str,
    /// Against others that change or remove them.
    pub shared: &'static str,
    /// Whether a lock holds on this server only, which may be a node of a cluster. A change of the row
    /// holds for all nodes, so a row that has the column `turn` is locked by counting in it.
    pub node_local: bool,
}

/// SQLite.
pub static SQLITE: Dialect = Dialect {
    name: "SQLite",
    contains: |sql, column| {
        sql.push_str("instr(");
        sql.push_str(column);
        sql.push_str(", ?) > 0");
    },
    search_pattern: str::to_owned,
    find: texts::by_phrase,
    // An amount is counted in its units here, and a sum of them is an error where it is too large.
    wide_sum: |column| {
        let (high, low) =
            (format!("sum({column} / 1000000000)"), format!("sum({column} % 1000000000)"));
        [format!("({high} + {low} / 1000000000)"), format!("({low} % 1000000000)")]
    },
    narrow_sum: |column| {
        format!("(sum({column} / 1000000000) * 1000000000 + sum({column} % 1000000000))")
    },
    json_list: "json_group_array",
    without_index: |column| format!("+{column}"),
    index_hint: |_| String::new(),
    nulls_least: |_| "",
    char_length: "length",
    begin_write: "BEGIN IMMEDIATE",
    begin_read: "BEGIN",
    ensure_open: None,
    commit: "COMMIT",
    seconds: "SELECT unixepoch()",
    locks: None,
    pages_as_json: true,
    returns_keys: false,
    keys_follow: false,
    max_binds: 32_000,
    limits_in_text: false,
    changes_all: false,
    columns: "SELECT m.name AS c0, p.name AS c1, p.type AS c2, 0 AS c3 \
        FROM sqlite_schema m JOIN pragma_table_info(m.name) p \
        WHERE m.type = 'table' AND m.name GLOB 'shop_*' \
        AND m.name NOT GLOB '*_search*' ORDER BY m.name, p.cid",
    kept: &kept::sqlite::TERMS,
    last_key: |table, _| {
        format!("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}'")
    },
    give_keys_above: |table, _, last| {
        vec![
            format!("DELETE FROM sqlite_sequence WHERE name = '{table}'"),
            format!("INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', {last})"),
        ]
    },
};

/// PostgreSQL.
pub static POSTGRES: Dialect = Dialect {
    name: "PostgreSQL",
    contains: like,
    search_pattern: within,
    // The index of trigrams serves the test itself.
    find: |_, _, _| None,
    wide_sum: |column| {
        [format!("div(sum({column}), 10000)"), format!("(mod(sum({column}), 10000) * 100000)")]
    },
    narrow_sum: |column| format!("sum({column})"),
    json_list: "json_agg",
    without_index: str::to_owned,
    index_hint: |_| String::new(),
    nulls_least: |descending| if descending { " NULLS LAST" } else { " NULLS FIRST" },
    char_length: "char_length",
    begin_write: "BEGIN ISOLATION LEVEL READ COMMITTED",
    begin_read: "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    ensure_open: None,
    commit: "COMMIT",
    seconds: "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint",
    locks: Some(Locks { exclusive: " FOR UPDATE", shared: " FOR SHARE", node_local: false }),
    pages_as_json: false,
    returns_keys: true,
    keys_follow: true,
    max_binds: 65_535,
    limits_in_text: true,
    changes_all: false,
    columns: "SELECT table_name::text AS c0, column_name::text AS c1, data_type::text AS c2, \
        coalesce(numeric_scale, 0)::bigint AS c3 FROM information_schema.columns \
        WHERE table_schema = current_schema() AND left(table_name, 5) = 'shop_' \
        AND table_name <> 'shop_migrations' AND is_generated = 'NEVER' \
        ORDER BY table_name, ordinal_position",
    // A key that was given by hand counts too: the sequence does not know of it.
    kept: &kept::postgres::TERMS,
    last_key: |table, key| {
        format!(
            "SELECT coalesce(greatest((SELECT max({key}) FROM {table}), \
             (SELECT last_value FROM {table}_{key}_seq WHERE is_called)), 0)"
        )
    },
    give_keys_above: |table, key, last| vec![format!("SELECT setval('{table}_{key}_seq', {last})")],
};

/// MariaDB and MySQL.
pub static MYSQL: Dialect = Dialect {
    name: "MariaDB",
    contains: like,
    search_pattern: within,
    find: texts::by_pieces,
    wide_sum: |column| {
        [format!("(sum({column}) DIV 10000)"), format!("(sum({column}) % 10000 * 100000)")]
    },
    narrow_sum: |column| format!("sum({column})"),
    json_list: "json_arrayagg",
    without_index: str::to_owned,
    index_hint: |name| format!(" FORCE INDEX ({name})"),
    nulls_least: |_| "",
    char_length: "char_length",
    // A savepoint goes with its transaction. What was written since would then be a transaction of
    // its own, which must not be committed by itself.
    begin_write: "SET autocommit = OFF; START TRANSACTION; SAVEPOINT begun",
    // The level is that of the next transaction alone; at any other there is no such snapshot.
    begin_read: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
        START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY; SAVEPOINT begun",
    ensure_open: Some("RELEASE SAVEPOINT begun"),
    commit: "RELEASE SAVEPOINT begun; COMMIT; SET autocommit = ON",
    seconds: "SELECT CAST(unix_timestamp() AS SIGNED)",
    locks: Some(Locks {
        exclusive: " FOR UPDATE",
        shared: " LOCK IN SHARE MODE",
        node_local: true,
    }),
    pages_as_json: false,
    returns_keys: false,
    keys_follow: false,
    max_binds: 65_535,
    limits_in_text: false,
    changes_all: true,
    columns: "SELECT table_name AS c0, column_name AS c1, data_type AS c2, \
        coalesce(numeric_scale, 0) AS c3 FROM information_schema.columns \
        WHERE table_schema = database() AND left(table_name, 5) = 'shop_' \
        AND table_name <> 'shop_migrations' AND coalesce(generation_expression, '') = '' \
        AND column_name <> 'turn' \
        AND right(table_name, 7) <> '_pieces' ORDER BY table_name, ordinal_position",
    kept: &kept::mysql::TERMS,
    last_key: |table, _| {
        format!(
            "SELECT coalesce(max(CAST(auto_increment AS SIGNED)) - 1, 0) \
             FROM information_schema.tables \
             WHERE table_schema = database() AND table_name = '{table}'"
        )
    },
    give_keys_above: |table, _, last| {
        vec![format!("ALTER TABLE {table} AUTO_INCREMENT = {}", last.saturating_add(1))]
    },
};

/// A test that a text is like a pattern.
fn like(sql: &mut String, column: &str) {
    sql.push_str(column);
    sql.push_str(" LIKE ?");
}

/// The pattern of what contains a text.
fn within(text: &str) -> String {
    format!("%{}%", texts::pattern(text))
}
