//! SQL of webhooks: where each stands in the feed of changes, what has failed, and what was sent. Independent of how
//! they send.

use super::copy::insert_many;
use super::dialect::Dialect;
use super::row::{Key, Rows};
use super::statement::{Builder, Statement, Table};
use super::write::delete_keys;
use crate::model::resource::Resource;
use crate::model::value::{Kind, Value};

/// How many rows one statement inserts.
const AT_ONCE: usize = 64;

macro_rules! endpoints {
    ($condition:literal) => {
        concat!(
            "SELECT t.shop_webhook_id AS c0, t.version AS c1, t.url AS c2, t.types AS c3, \
             t.events AS c4, t.payload AS c5, t.user_id AS c6, t.scopes AS c7, p.sealed AS c8, \
             p.former_sealed AS c9, p.former_until AS c10, p.state AS c11, p.failures AS c12, \
             p.failing_since AS c13, p.resume_at AS c14, p.mails AS c15, p.feed AS c16, \
             p.place AS c17 FROM shop_webhooks t \
             JOIN shop_webhook_places p ON p.webhook_id = t.shop_webhook_id WHERE ",
            $condition
        )
    };
}

const ENDPOINT: &[Kind] = &[
    Kind::COUNT,
    Kind::COUNT,
    Kind::WORD,
    Kind::WORD,
    Kind::WORD,
    Kind::WORD,
    Kind::COUNT,
    Kind::WORD,
    Kind::WORD,
    Kind::WORD,
    Kind::COUNT,
    Kind::WORD,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::COUNT,
    Kind::WORD,
    Kind::COUNT,
];

/// All webhooks that are enabled, with what their sender needs.
pub fn endpoints() -> Table {
    Table::new(endpoints!("t.enabled = 1 ORDER BY c0"), Vec::new(), ENDPOINT)
}

/// The webhook with this key, with what its sender needs.
pub fn endpoint(id: i64) -> Table {
    Table::new(endpoints!("t.shop_webhook_id = ?"), vec![vec![Value::Int(id)]], ENDPOINT)
}

/// What shows whether anything is to be sent: for each webhook that is enabled, its key and its version, after the
/// feed, its latest place and the one up to which deletions are forgotten. One row without a key if there is none.
pub fn overview() -> Table {
    const OVERVIEW: &str = "SELECT f.feed AS c0, f.seq AS c1, f.floor AS c2, \
        t.shop_webhook_id AS c3, t.version AS c4 FROM shop_feed f \
        LEFT JOIN shop_webhooks t ON t.enabled = 1 WHERE f.one = 1 ORDER BY c3";
    const COLUMNS: &[Kind] = &[Kind::WORD, Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::COUNT];
    Table::new(OVERVIEW, Vec::new(), COLUMNS)
}

/// How many changes of its types are after the place of a webhook, counted up to a limit: an expression on its table,
/// whose alias is `t`.
pub const BEHIND: &str = "(SELECT count(*) FROM shop_webhook_places w, shop_changes c \
    WHERE w.webhook_id = t.shop_webhook_id AND c.seq > w.place \
    AND c.seq <= coalesce((SELECT s.seq FROM shop_changes s WHERE s.seq > w.place \
    ORDER BY s.seq LIMIT 1 OFFSET 10000), 9223372036854775807) \
    AND (t.types = '' OR ',' || t.types || ',' LIKE '%,' || c.kind || ',%'))";

/// How each webhook is that is enabled or was disabled by failures: key, address, state, since when it fails or 0, why
/// it last failed, how far it is behind, and the place of the oldest change that it has yet to tell of, or nothing.
pub fn conditions() -> Table {
    const COLUMNS: &[Kind] = &[
        Kind::COUNT,
        Kind::WORD,
        Kind::WORD,
        Kind::COUNT,
        Kind::WORD,
        Kind::COUNT,
        Kind::COUNT,
        Kind::COUNT,
    ];
    let text = format!(
        "SELECT t.shop_webhook_id AS c0, t.url AS c1, p.state AS c2, p.failing_since AS c3, \
         p.last_failure AS c4, {BEHIND} AS c5, (SELECT c.seq FROM shop_changes c \
         WHERE c.seq > p.place AND (t.types = '' OR ',' || t.types || ',' LIKE '%,' || c.kind || ',%') \
         ORDER BY c.seq LIMIT 1) AS c6, \
         (SELECT min(r.seq) FROM shop_webhook_retries r WHERE r.webhook_id = t.shop_webhook_id) AS c7 \
         FROM shop_webhooks t JOIN shop_webhook_places p ON p.webhook_id = t.shop_webhook_id \
         WHERE t.enabled = 1 OR p.disabled_reason <> 'request' ORDER BY c0"
    );
    Table::new(text, Vec::new(), COLUMNS)
}

/// When the first failed event of each webhook is due again.
pub fn due() -> Table {
    const DUE: &str = "SELECT webhook_id AS c0, min(due_at) AS c1 FROM shop_webhook_retries \
        GROUP BY webhook_id";
    Table::new(DUE, Vec::new(), &[Kind::COUNT, Kind::COUNT])
}

/// The failed events of a webhook, the one that is due first first: type, key, place, event, attempts, and when it is
/// due.
pub fn retries(id: i64) -> Table {
    const RETRIES: &str = "SELECT kind AS c0, record AS c1, seq AS c2, event AS c3, \
        attempts AS c4, due_at AS c5 FROM shop_webhook_retries WHERE webhook_id = ? \
        ORDER BY due_at, seq";
    const COLUMNS: &[Kind] =
        &[Kind::WORD, Kind::COUNT, Kind::COUNT, Kind::WORD, Kind::COUNT, Kind::COUNT];
    Table::new(RETRIES, vec![vec![Value::Int(id)]], COLUMNS)
}

/// Removes the failed events about these records of a type.
pub fn remove_retries(id: i64, kind: &str, records: Vec<i64>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("DELETE FROM shop_webhook_retries WHERE webhook_id = ");
    sql.bind(Value::Int(id));
    sql.push(" AND kind = ");
    sql.bind(Value::Text(kind.to_owned()));
    sql.push(" AND record IN (");
    sql.bind_list(records.into_iter().map(Value::Int).collect());
    sql.push(")");
    sql.finish()
}

/// Removes all failed events of a webhook.
pub fn remove_all_retries(id: i64) -> Statement {
    Statement::fixed("DELETE FROM shop_webhook_retries WHERE webhook_id = ?", vec![Value::Int(id)])
}

/// Adds failed events: the webhook, and what [`retries`] reads.
pub fn add_retries(rows: Vec<[Value; 7]>, dialect: &Dialect) -> Vec<Statement> {
    const COLUMNS: [&str; 7] =
        ["webhook_id", "kind", "record", "seq", "event", "attempts", "due_at"];
    let values = rows.into_iter().flatten().collect();
    insert_many("shop_webhook_retries", &COLUMNS, values, AT_ONCE, dialect)
}

/// Notes attempts.
pub fn add_deliveries(rows: Vec<[Value; 10]>, dialect: &Dialect) -> Vec<Statement> {
    const COLUMNS: [&str; 10] = [
        "webhook_id",
        "event",
        "record_type",
        "record_id",
        "attempt",
        "status",
        "duration_ms",
        "error",
        "attempted_on",
        "next_attempt_on",
    ];
    let values = rows.into_iter().flatten().collect();
    insert_many("shop_webhook_deliveries", &COLUMNS, values, AT_ONCE, dialect)
}

/// The key of the attempt of a webhook that so many newer ones follow.
pub fn nth_newest_delivery(id: i64, nth: i64) -> Statement {
    Statement::fixed(
        "SELECT shop_webhook_delivery_id FROM shop_webhook_deliveries WHERE webhook_id = ? \
         ORDER BY shop_webhook_delivery_id DESC LIMIT 1 OFFSET ?",
        vec![Value::Int(id), Value::Int(nth)],
    )
}

/// Removes the attempts of a webhook up to this key.
pub fn remove_deliveries(id: i64, until: i64) -> Statement {
    Statement::fixed(
        "DELETE FROM shop_webhook_deliveries \
         WHERE webhook_id = ? AND shop_webhook_delivery_id <= ?",
        vec![Value::Int(id), Value::Int(until)],
    )
}

/// The attempts of a webhook from before a moment, up to so many.
pub fn old_deliveries(before: Value, limit: i64) -> Rows<Key> {
    const OLD: &str = "SELECT shop_webhook_delivery_id AS c0 FROM shop_webhook_deliveries \
        WHERE attempted_on < ? ORDER BY attempted_on, shop_webhook_delivery_id LIMIT ?";
    Rows::written(OLD, vec![vec![before], vec![Value::Int(limit)]])
}

/// Removes these attempts.
pub fn remove_deliveries_of(keys: Vec<i64>, dialect: &Dialect) -> Statement {
    delete_keys("shop_webhook_deliveries", "shop_webhook_delivery_id", keys, dialect)
}

/// The versions of those of these records that exist: key, version.
pub fn versions(resource: &Resource, keys: Vec<i64>) -> Table {
    let Resource { table, key, fixed, .. } = resource;
    let only: String =
        fixed.iter().map(|(column, value)| format!(" AND {column} = {value}")).collect();
    let text = format!("SELECT {key} AS c0, version AS c1 FROM {table} WHERE {key} IN (?){only}");
    let keys = keys.into_iter().map(Value::Int).collect();
    Table::new(text, vec![keys], &[Kind::COUNT, Kind::COUNT])
}
