//! SQL of webhooks: where each stands in the feed of changes, what has failed, and what was sent. Independent of how
//! they send.

use super::copy::insert_many;
use super::dialect::Dialect;
use super::row::{Key, Rows, row};
use super::statement::{Builder, Statement};
use super::write::delete_keys;
use crate::model::value::Value;

/// How many rows one statement inserts.
const AT_ONCE: usize = 64;

row! {
    /// A webhook, with what its sender needs.
    pub struct Webhook {
        /// Its key.
        pub id: i64 = "t.shop_webhook_id",
        /// Its version.
        pub version: i64 = "t.version",
        /// Where it sends.
        pub url: String = "t.url",
        /// The types that it wants, with commas between them.
        pub types: String = "t.types",
        /// The events that it wants, likewise.
        pub events: String = "t.events",
        /// Whether messages have the record.
        pub payload: String = "t.payload",
        /// Whose rights it has.
        pub user: i64 = "t.user_id",
        /// The scopes that limit these.
        pub scopes: String = "t.scopes",
        /// The secret, encrypted.
        pub sealed: String = "p.sealed",
        /// The one before it.
        pub former_sealed: String = "p.former_sealed",
        /// Until when that one signs too.
        pub former_until: i64 = "p.former_until",
        /// How it is.
        pub state: String = "p.state",
        /// How often it has failed in a row.
        pub failures: i64 = "p.failures",
        /// Since when, or 0.
        pub failing_since: i64 = "p.failing_since",
        /// When it is tried again.
        pub resume_at: i64 = "p.resume_at",
        /// How many mails its user got.
        pub mails: i64 = "p.mails",
        /// The feed in which it has its place.
        pub feed: String = "p.feed",
        /// The place.
        pub place: i64 = "p.place",
    }
}

row! {
    /// What shows whether anything is to be sent.
    pub struct Overview {
        /// The feed.
        pub feed: String = "f.feed",
        /// Its latest place.
        pub seq: i64 = "f.seq",
        /// The place up to which deletions are forgotten.
        pub floor: i64 = "f.floor",
        /// A webhook that is enabled.
        pub webhook: Option<i64> = "t.shop_webhook_id",
        /// Its version.
        pub version: Option<i64> = "t.version",
    }
}

row! {
    /// How a webhook is.
    pub struct Condition {
        /// Its key.
        pub id: i64 = "t.shop_webhook_id",
        /// Where it sends.
        pub url: String = "t.url",
        /// Its state.
        pub state: String = "p.state",
        /// Since when it fails, or 0.
        pub failing_since: i64 = "p.failing_since",
        /// Why it last failed.
        pub last_failure: String = "p.last_failure",
        /// How far it is behind.
        pub behind: i64 = BEHIND,
        /// The place of the first change that it has yet to send.
        pub next: Option<i64> = "(SELECT c.seq FROM shop_changes c WHERE c.seq > p.place \
            AND (t.types = '' OR ',' || t.types || ',' LIKE '%,' || c.kind || ',%') \
            ORDER BY c.seq LIMIT 1)",
        /// That of the first one that has failed.
        pub failed: Option<i64> = "(SELECT min(r.seq) FROM shop_webhook_retries r \
            WHERE r.webhook_id = t.shop_webhook_id)",
    }
}

row! {
    /// When the first failed event of a webhook is due again.
    pub struct Due {
        /// The webhook.
        pub webhook_id: i64,
        /// In seconds since 1970.
        pub due_at: i64 = "min(due_at)",
    }
}

row! {
    /// A failed event.
    pub struct Retry {
        /// The type of its record.
        pub kind: String,
        /// The key of its record.
        pub record: i64,
        /// The place of the change.
        pub seq: i64,
        /// What has happened.
        pub event: String,
        /// How often it was sent.
        pub attempts: i64,
        /// When it is due again, in seconds since 1970.
        pub due_at: i64,
    }
}

/// A webhook and what its sender writes of it.
const WEBHOOKS: &str = "FROM shop_webhooks t \
    JOIN shop_webhook_places p ON p.webhook_id = t.shop_webhook_id WHERE";

/// All webhooks that are enabled.
pub fn enabled() -> Rows<Webhook> {
    Rows::select(&format!("{WEBHOOKS} t.enabled = 1 ORDER BY t.shop_webhook_id"), Vec::new())
}

/// The webhook with this key.
pub fn with_key(id: i64) -> Rows<Webhook> {
    Rows::select(&format!("{WEBHOOKS} t.shop_webhook_id = ?"), vec![vec![Value::Int(id)]])
}

/// What shows whether anything is to be sent: a row for each webhook that is enabled, or one without a webhook.
pub fn overview() -> Rows<Overview> {
    const OVERVIEW: &str = "FROM shop_feed f LEFT JOIN shop_webhooks t ON t.enabled = 1 \
        WHERE f.one = 1 ORDER BY t.shop_webhook_id";
    Rows::select(OVERVIEW, Vec::new())
}

/// How many changes of its types are after the place of a webhook, counted up to a limit: an expression on its table,
/// whose alias is `t`.
pub const BEHIND: &str = "(SELECT count(*) FROM shop_webhook_places w, shop_changes c \
    WHERE w.webhook_id = t.shop_webhook_id AND c.seq > w.place \
    AND c.seq <= coalesce((SELECT s.seq FROM shop_changes s WHERE s.seq > w.place \
    ORDER BY s.seq LIMIT 1 OFFSET 10000), 9223372036854775807) \
    AND (t.types = '' OR ',' || t.types || ',' LIKE '%,' || c.kind || ',%'))";

/// How each webhook is that is enabled or was disabled by failures.
pub fn conditions() -> Rows<Condition> {
    let which = "t.enabled = 1 OR p.disabled_reason <> 'request' ORDER BY t.shop_webhook_id";
    Rows::select(&format!("{WEBHOOKS} {which}"), Vec::new())
}

/// When the first failed event of each webhook is due again.
pub fn due() -> Rows<Due> {
    Rows::select("FROM shop_webhook_retries GROUP BY webhook_id", Vec::new())
}

/// The failed events of a webhook, the one that is due first first.
pub fn retries(id: i64) -> Rows<Retry> {
    const RETRIES: &str = "FROM shop_webhook_retries WHERE webhook_id = ? ORDER BY due_at, seq";
    Rows::select(RETRIES, vec![vec![Value::Int(id)]])
}

/// Removes the failed events about these records of a type.
pub fn remove_retries(id: i64, kind: &str, records: Vec<i64>, dialect: &Dialect) -> Statement {
    let mut sql = Builder::new(dialect);
    sql.push("DELETE FROM shop_webhook_retries WHERE webhook_id = ").bind(Value::Int(id));
    sql.push(" AND kind = ").bind(Value::Text(kind.to_owned()));
    sql.push(" AND ").among("record", &records).finish()
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
    delete_keys("shop_webhook_deliveries", "shop_webhook_delivery_id", &keys, dialect)
}
