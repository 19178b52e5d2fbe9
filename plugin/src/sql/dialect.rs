//! The differences between database engines, in one table.

use super::feed::{self, Followed};
use super::kept::{self, Terms};
use super::texts::{self, Column, Found};
use crate::model::resource::Resource;

/// The SQL of one engine, where engines differ.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The name of the engine.
    pub name: &'static str,
    /// Writes a test whether the text in a column contains a bound text, which
    /// [`Dialect::search_pattern`] has prepared.
    pub contains: fn(&mut String, column: &str),
    /// Prepares a text for that test, without special characters.
    pub search_pattern: fn(&str) -> String,
    /// How records that contain a text are found, on an engine that needs a table of texts. `None`
    /// if no such table covers the columns, or if the text is too short.
    pub find: fn(&Resource, &[Column<'_>], &str) -> Option<Found>,
    /// The sum of a column of money as two whole numbers, each of which fits into 64 bits: the
    /// multiples of 10^4, and the rest in units of 10^-5.
    pub wide_sum: fn(&str) -> [String; 2],
    /// The sum of a column of money whose result is within the limits of money, although
    /// intermediate sums may exceed them.
    pub narrow_sum: fn(&str) -> String,
    /// Gives items of demo products with variants, every tenth product, the variant that has their SKU. No index of
    /// SKUs may be there: it is a join that the engine does with a table of its own.
    pub match_skus: &'static str,
    /// The function that aggregates a column into a JSON list.
    pub json_list: &'static str,
    /// A column in a form that no index supports, where the engine would choose an unsuitable
    /// index.
    pub without_index: fn(&str) -> String,
    /// A column by which few gathered records are sorted, in a form that no index supports: an engine
    /// that stops after a page would rather read all records in order, in the hope of a few soon. Other
    /// pages are planned well without.
    pub defeat_order_index: fn(&str) -> String,
    /// The beginning of a query that sorts texts of up to so many characters, on an engine that would
    /// compare only their first ones.
    pub sorts_long: fn(usize) -> String,
    /// The index hint after the name of a table, on an engine that would otherwise underestimate
    /// the number of rows and sort them.
    pub index_hint: fn(&str) -> String,
    /// The suffix of a descending or ascending column that makes unset values the least.
    pub nulls_least: fn(descending: bool) -> &'static str,
    /// The function for the length of a text in characters.
    pub char_length: &'static str,
    /// Begins a transaction that will write. On an engine with one writer at a time it queues for
    /// it at once, instead of failing half-way; elsewhere each statement sees what others have
    /// committed, and locks protect the rows that were read.
    pub begin_write: &'static str,
    /// Prepares a connection for transactions with many statements, and for those with few. `None` on an engine that
    /// makes no difference.
    pub many_or_few_statements: Option<[&'static str; 2]>,
    /// Whether the texts of a list are looked up one by one, by an index of whole texts: for many at once the engine would
    /// search its index of trigrams, and read its entries a thousand times.
    pub seeks_each: bool,
    /// Whether plans of statements are kept, or made, from what was known of tables when they were small.
    pub keeps_plans: bool,
    /// Begins a read-only transaction on one snapshot. `None` on an engine with connections on which it
    /// begins with its first statement: one answer of the server less to wait for.
    pub begin_read: Option<&'static str>,
    /// Fails if the transaction is no longer open. A node of a cluster may roll back a transaction
    /// in favour of another node's; if it was about to prepare a statement, the error is lost or
    /// replaced by a wrong one, and the following statements would run outside of the transaction.
    pub ensure_open: Option<&'static str>,
    /// Commits a transaction, if it is still open.
    pub commit: &'static str,
    /// Reads the time in whole seconds since 1970.
    pub seconds: &'static str,
    /// How a transaction locks the rows that it reads.
    pub locks: Option<Locks>,
    /// The beginning and the end of an insertion that waits for another transaction with the same
    /// unique values, and does nothing if that was committed. `None` on an engine with one writer at a
    /// time.
    pub unless_taken: Option<[&'static str; 2]>,
    /// The suffix of an insertion into the feed of changes that moves records which are there already.
    pub place_again: &'static str,
    /// Whether a deletion of several rows by their keys may scan a short table, and then wait for every open
    /// transaction that has inserted into it.
    pub scans_to_delete: bool,
    /// Whether its indexes of texts are tables that have what was deleted until they are merged.
    pub keeps_deleted_texts: bool,
    /// The statements that create the triggers which queue the changes of a table.
    pub feed_triggers: fn(&Followed) -> Vec<String>,
    /// The derived objects of `plugin/schema`, which no description gives.
    pub by_hand: &'static str,
    /// Reads the names of all derived objects that there are, each after its kind.
    pub objects: &'static str,
    /// The kinds of objects that a statement replaces without a moment in which there are none.
    pub replaced_in_place: &'static [&'static str],
    /// Whether triggers of different tables may have the same name.
    pub triggers_belong_to_tables: bool,
    /// Whether changes of objects are part of a transaction.
    pub transactional_objects: bool,
    /// Whether the engine works in this process, on a thread of its own for each connection. Each row of a page
    /// would cross threads, so the engine returns the page as one JSON text of raw cells.
    pub embedded: bool,
    /// Whether an insertion needs `RETURNING` to obtain its key.
    pub returns_keys: bool,
    /// Whether the sequence of keys must be moved past keys that were inserted explicitly.
    pub keys_follow: bool,
    /// How many values may be bound in one statement.
    pub max_binds: usize,
    /// How the limit of a page is written.
    pub limits: Limits,
    /// Whether an update writes all fields of a record, so that a resource needs a single statement
    /// for all updates. This is for an engine that limits the total number of prepared statements
    /// of all connections.
    pub changes_all: bool,
    /// Reads the columns of the store's tables, without generated ones and those that serve only to
    /// lock a row: table, column, type, and the number of fraction digits of the type.
    pub columns: &'static str,
    /// Reads the key that a table generated last, even if its record has been deleted.
    pub last_key: fn(table: &str, key: &str) -> String,
    /// Reads keys that a table will not generate for other records. `None` on an engine that gives keys
    /// only to rows.
    pub free_keys: Option<FreeKeys>,
    /// How it keeps counts and sums.
    pub kept: &'static Terms,
    /// Makes a table generate keys above this one, which must not be below any existing key.
    pub give_keys_above: fn(table: &str, key: &str, last: i64) -> Vec<String>,
}

/// See [`Dialect::free_keys`].
#[derive(Clone, Copy, Debug)]
pub struct FreeKeys {
    /// The query for a table and its key; it is bound to the number of keys.
    pub read: fn(table: &str, key: &str) -> String,
    /// Whether they stay free whatever else is inserted.
    pub stay_free: bool,
}

/// How the limit of a page is written. As text it is rounded up, so that few texts are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limits {
    /// As a bound value.
    Bound,
    /// As text where a page begins an index: the engine estimates a bound limit as a large part of the
    /// table, and plans such a statement anew each time, which takes longer than reading the page.
    TextOfIndex,
    /// As text where a page begins a list. The engine looks at the value of a bound limit, and plans the
    /// statement anew whenever it is bound, so other limits are bound within a sum, which it does not
    /// evaluate. Without any limit it would read all records of the first page.
    Text,
}

/// The suffixes of a query that lock its rows until the transaction ends.
#[derive(Clone, Copy, Debug)]
pub struct Locks {
    /// Excludes others that read the rows in order to write them, or that refer to them.
    pub exclusive: &'static str,
    /// Excludes others that change or remove the rows.
    pub shared: &'static str,
    /// Whether a lock is valid only on this server, which may be a node of a cluster. An update of
    /// the row is valid on all nodes, so a row with the column `locks` is locked by incrementing it.
    pub node_local: bool,
}

/// [`Dialect::match_skus`] of two engines.
const JOINED_BY_SKU: &str = "\
    UPDATE shop_orderitems SET version = version + 1, variant_id = v.found FROM (SELECT \
    shop_variant_id AS found, sku_fold AS sold FROM shop_variants WHERE is_master = 0 \
    AND sku_fold <> '') v \
    WHERE variant_id IS NULL AND product_id % 10 = 7 AND v.sold = orderitem_sku_fold";

/// SQLite.
pub static SQLITE: Dialect = Dialect {
    name: "SQLite",
    contains: instr,
    search_pattern: str::to_owned,
    find: texts::by_phrase,
    // Amounts are stored in units, and a sum that is too large is an error.
    wide_sum: |column| {
        let (high, low) =
            (format!("sum({column} / 1000000000)"), format!("sum({column} % 1000000000)"));
        [format!("({high} + {low} / 1000000000)"), format!("({low} % 1000000000)")]
    },
    narrow_sum: |column| {
        format!("(sum({column} / 1000000000) * 1000000000 + sum({column} % 1000000000))")
    },
    match_skus: JOINED_BY_SKU,
    json_list: "json_group_array",
    without_index: |column| format!("+{column}"),
    defeat_order_index: |column| format!("+{column}"),
    sorts_long: |_| String::new(),
    index_hint: |_| String::new(),
    nulls_least: |_| "",
    char_length: "length",
    begin_write: "BEGIN IMMEDIATE",
    // What would undo a statement is written to a file if it is more than 64 KiB, unless it is kept in memory, which
    // costs a small transaction a quarter more.
    many_or_few_statements: Some(["PRAGMA temp_store = MEMORY", "PRAGMA temp_store = DEFAULT"]),
    seeks_each: false,
    keeps_plans: false,
    begin_read: Some("BEGIN"),
    ensure_open: None,
    commit: "COMMIT",
    seconds: "SELECT unixepoch()",
    locks: None,
    unless_taken: None,
    place_again: " ON CONFLICT (kind, record) DO UPDATE SET seq = excluded.seq, \
        deleted = excluded.deleted, created = CASE WHEN excluded.created > 0 \
        THEN excluded.created ELSE shop_changes.created END",
    scans_to_delete: false,
    keeps_deleted_texts: true,
    feed_triggers: feed::sqlite::triggers,
    by_hand: include_str!("../../schema/sqlite.sql"),
    objects: "SELECT type || ' ' || name FROM sqlite_schema WHERE type IN ('table', 'view', 'trigger')",
    replaced_in_place: &[],
    triggers_belong_to_tables: false,
    transactional_objects: true,
    embedded: true,
    returns_keys: false,
    keys_follow: false,
    max_binds: 32_000,
    limits: Limits::Text,
    changes_all: false,
    columns: "SELECT m.name AS c0, p.name AS c1, p.type AS c2, 0 AS c3 \
        FROM sqlite_schema m JOIN pragma_table_info(m.name) p \
        WHERE m.type = 'table' AND m.name GLOB 'shop_*' \
        AND m.name NOT GLOB '*_search*' AND m.name <> 'shop_derived' \
        AND p.name NOT GLOB 'derived_*' ORDER BY m.name, p.cid",
    kept: &kept::sqlite::TERMS,
    last_key: |table, _| {
        format!("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = '{table}'")
    },
    // A write is alone, so these are free until it inserts something itself.
    free_keys: Some(FreeKeys {
        read: |table, _| {
            format!(
                "WITH RECURSIVE places (place) AS \
                 (SELECT 1 UNION ALL SELECT place + 1 FROM places WHERE place < ?) \
                 SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{table}'), 0) \
                 + place AS c0 FROM places"
            )
        },
        stay_free: false,
    }),
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
    // The trigram index supports the test itself.
    find: |_, _, _| None,
    wide_sum: |column| {
        [format!("div(sum({column}), 10000)"), format!("(mod(sum({column}), 10000) * 100000)")]
    },
    narrow_sum: |column| format!("sum({column})"),
    match_skus: JOINED_BY_SKU,
    json_list: "json_agg",
    without_index: str::to_owned,
    // The greatest of one value is the value, for any type.
    defeat_order_index: |column| format!("greatest({column})"),
    sorts_long: |_| String::new(),
    index_hint: |_| String::new(),
    nulls_least: |descending| if descending { " NULLS LAST" } else { " NULLS FIRST" },
    char_length: "char_length",
    begin_write: "BEGIN ISOLATION LEVEL READ COMMITTED",
    many_or_few_statements: None,
    seeks_each: true,
    keeps_plans: true,
    begin_read: Some("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"),
    ensure_open: None,
    commit: "COMMIT",
    seconds: "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint",
    locks: Some(Locks { exclusive: " FOR UPDATE", shared: " FOR SHARE", node_local: false }),
    unless_taken: Some(["INSERT INTO", " ON CONFLICT DO NOTHING"]),
    place_again: " ON CONFLICT (kind, record) DO UPDATE SET seq = excluded.seq, \
        deleted = excluded.deleted, created = CASE WHEN excluded.created > 0 \
        THEN excluded.created ELSE shop_changes.created END",
    scans_to_delete: false,
    keeps_deleted_texts: false,
    feed_triggers: feed::postgres::triggers,
    by_hand: include_str!("../../schema/postgres.sql"),
    objects: "SELECT 'table ' || tablename FROM pg_tables WHERE schemaname = current_schema() \
        UNION ALL SELECT 'function ' || proname FROM pg_proc \
        WHERE pronamespace = current_schema()::regnamespace \
        UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid \
        WHERE c.relnamespace = current_schema()::regnamespace AND NOT tgisinternal",
    replaced_in_place: &["FUNCTION"],
    triggers_belong_to_tables: true,
    transactional_objects: true,
    embedded: false,
    returns_keys: true,
    keys_follow: true,
    max_binds: 65_535,
    limits: Limits::TextOfIndex,
    changes_all: false,
    columns: "SELECT table_name::text AS c0, column_name::text AS c1, data_type::text AS c2, \
        coalesce(numeric_scale, 0)::bigint AS c3 FROM information_schema.columns \
        WHERE table_schema = current_schema() AND left(table_name, 5) = 'shop_' \
        AND table_name NOT IN ('shop_migrations', 'shop_derived') AND is_generated = 'NEVER' \
        AND left(column_name, 8) <> 'derived_' \
        ORDER BY table_name, ordinal_position",
    // Keys that were inserted explicitly count too, although the sequence does not include them.
    kept: &kept::postgres::TERMS,
    last_key: |table, key| {
        format!(
            "SELECT coalesce(greatest((SELECT max({key}) FROM {table}), \
             (SELECT last_value FROM {table}_{key}_seq WHERE is_called)), 0)"
        )
    },
    free_keys: Some(FreeKeys {
        read: |table, key| {
            format!("SELECT nextval('{table}_{key}_seq') AS c0 FROM generate_series(1, ?)")
        },
        stay_free: true,
    }),
    give_keys_above: |table, key, last| vec![format!("SELECT setval('{table}_{key}_seq', {last})")],
};

/// MariaDB and MySQL.
pub static MYSQL: Dialect = Dialect {
    name: "MariaDB",
    // A pattern takes up to twice as long.
    contains: instr,
    search_pattern: str::to_owned,
    find: texts::by_pieces,
    wide_sum: |column| {
        [format!("(sum({column}) DIV 10000)"), format!("(sum({column}) % 10000 * 100000)")]
    },
    narrow_sum: |column| format!("sum({column})"),
    // By digests: the table of the join gets no key on texts as long as an SKU may be, and would be read for each item.
    match_skus: "\
        UPDATE shop_orderitems STRAIGHT_JOIN (SELECT DISTINCT shop_variant_id AS found, \
        md5(sku_fold) AS sold FROM shop_variants WHERE is_master = 0 AND sku_fold <> '') v \
        ON v.sold = md5(orderitem_sku_fold) \
        SET version = version + 1, variant_id = v.found \
        WHERE variant_id IS NULL AND product_id % 10 = 7",
    json_list: "json_arrayagg",
    without_index: str::to_owned,
    // The hint names the index.
    defeat_order_index: str::to_owned,
    sorts_long: |characters| {
        // Folding makes three of a character at worst, and each has up to four bytes. The engine wants
        // memory for fifteen rows, each with two columns.
        let bytes = 12 * characters;
        let memory = (32 * bytes).max(2 << 20);
        format!("SET STATEMENT max_sort_length = {bytes}, sort_buffer_size = {memory} FOR ")
    },
    index_hint: |name| format!(" FORCE INDEX ({name})"),
    nulls_least: |_| "",
    char_length: "char_length",
    // A savepoint disappears with its transaction. Later writes would then form a transaction of
    // their own, which must not be committed.
    begin_write: "SET autocommit = OFF; START TRANSACTION; SAVEPOINT begun",
    many_or_few_statements: None,
    seeks_each: false,
    keeps_plans: false,
    begin_read: None,
    ensure_open: Some("RELEASE SAVEPOINT begun; SAVEPOINT begun"),
    commit: "RELEASE SAVEPOINT begun; COMMIT; SET autocommit = ON",
    seconds: "SELECT CAST(unix_timestamp() AS SIGNED)",
    locks: Some(Locks {
        exclusive: " FOR UPDATE",
        shared: " LOCK IN SHARE MODE",
        node_local: true,
    }),
    unless_taken: Some(["INSERT IGNORE INTO", ""]),
    place_again: " ON DUPLICATE KEY UPDATE seq = value(seq), deleted = value(deleted), \
        created = CASE WHEN value(created) > 0 THEN value(created) ELSE created END",
    scans_to_delete: true,
    keeps_deleted_texts: false,
    feed_triggers: feed::mysql::triggers,
    by_hand: include_str!("../../schema/mysql.sql"),
    objects: "SELECT concat('table ', table_name) AS name FROM information_schema.tables \
        WHERE table_schema = database() \
        UNION ALL SELECT concat('trigger ', trigger_name) FROM information_schema.triggers \
        WHERE event_object_schema = database()",
    replaced_in_place: &["TABLE", "TRIGGER"],
    triggers_belong_to_tables: false,
    transactional_objects: false,
    embedded: false,
    returns_keys: false,
    keys_follow: false,
    max_binds: 65_535,
    limits: Limits::Bound,
    changes_all: true,
    columns: "SELECT table_name AS c0, column_name AS c1, data_type AS c2, \
        coalesce(numeric_scale, 0) AS c3 FROM information_schema.columns \
        WHERE table_schema = database() AND left(table_name, 5) = 'shop_' \
        AND table_name NOT IN ('shop_migrations', 'shop_derived') \
        AND coalesce(generation_expression, '') = '' \
        AND column_name <> 'locks' AND left(column_name, 8) <> 'derived_' \
        AND right(table_name, 7) <> '_pieces' ORDER BY table_name, ordinal_position",
    kept: &kept::mysql::TERMS,
    last_key: |table, _| {
        format!(
            "SELECT coalesce(max(CAST(auto_increment AS SIGNED)) - 1, 0) \
             FROM information_schema.tables \
             WHERE table_schema = database() AND table_name = '{table}'"
        )
    },
    free_keys: None,
    give_keys_above: |table, _, last| {
        vec![format!("ALTER TABLE {table} AUTO_INCREMENT = {}", last.saturating_add(1))]
    },
};

/// A test whether a text contains another one.
fn instr(sql: &mut String, column: &str) {
    sql.push_str("instr(");
    sql.push_str(column);
    sql.push_str(", ?) > 0");
}

/// A test whether a text matches a pattern.
fn like(sql: &mut String, column: &str) {
    sql.push_str(column);
    sql.push_str(" LIKE ?");
}

/// The pattern for containing a text.
fn within(text: &str) -> String {
    format!("%{}%", texts::pattern(text))
}
