//! SQL of the table of keys, by which a write happens once. Independent of what is written.

use super::copy::insert_at_once;
use super::dialect::Dialect;
use super::row::{Key, Rows, row};
use super::statement::{Builder, Statement};
use super::write::delete_keys;
use crate::error::StoredAnswer;
use crate::model::value::Value;

/// How many old keys one transaction removes.
const SWEPT_AT_ONCE: usize = 500;

/// A request with a key.
#[derive(Clone, Copy, Debug)]
pub struct Keyed<'a> {
    /// The key of the user.
    pub user: i64,
    /// The key.
    pub key: &'a str,
    /// The fingerprint of the request.
    pub fingerprint: &'a str,
}

/// Claims a key before its write, if it is free; others then wait until the transaction ends. `None`
/// on an engine with one writer at a time, where it is enough to look.
pub fn claim_key(of: Keyed<'_>, dialect: &Dialect) -> Option<Statement> {
    let [insert, unless_taken] = dialect.unless_taken?;
    let mut sql = Builder::new(dialect);
    sql.push(insert);
    sql.push(" shop_keys (user_id, idempotency_key, fingerprint, created_on) VALUES (");
    Some(sql.list(identity(of), Builder::bind).push(")").push(unless_taken).finish())
}

row! {
    /// The answer to the write with a key.
    pub struct KeptAnswer {
        /// The fingerprint of its request.
        pub fingerprint: String,
        /// The status.
        pub status: i64,
        /// The header `Location`, or nothing.
        pub location: String,
        /// The header `ETag`, or nothing.
        pub etag: String,
        /// The body as it is stored.
        pub body: String,
    }
}

/// Finds the answer to the write with a key.
pub fn find_key(user: i64, key: &str) -> Rows<KeptAnswer> {
    const FIND: &str = "FROM shop_keys WHERE user_id = ? AND idempotency_key = ?";
    Rows::select(FIND, vec![vec![Value::Int(user)], vec![Value::Text(key.to_owned())]])
}

/// Keeps the answer to the write with a key, which was claimed where the engine needs that.
pub fn keep_answer(of: Keyed<'_>, answer: StoredAnswer, dialect: &Dialect) -> Statement {
    let StoredAnswer { status, location, etag, body } = answer;
    let answer = [Value::Int(status), Value::Text(location), Value::Text(etag), Value::Text(body)];
    if dialect.unless_taken.is_none() {
        const COLUMNS: [&str; 8] = [
            "user_id",
            "idempotency_key",
            "fingerprint",
            "created_on",
            "status",
            "location",
            "etag",
            "body",
        ];
        let row = identity(of).into_iter().chain(answer).collect();
        return insert_at_once("shop_keys", &COLUMNS, row, dialect);
    }
    const KEEP: &str = "UPDATE shop_keys SET status = ?, location = ?, etag = ?, body = ? \
        WHERE user_id = ? AND idempotency_key = ?";
    let key = [Value::Int(of.user), Value::Text(of.key.to_owned())];
    Statement::fixed(KEEP, answer.into_iter().chain(key).collect())
}

/// Finds some of the keys that were used before a moment, oldest first.
pub fn old_keys(before: Value) -> Rows<Key> {
    // Keys are numbered in the order of their use, so no index by time is needed.
    const FIND: &str = "SELECT shop_key_id AS c0 FROM (SELECT shop_key_id, created_on \
        FROM shop_keys ORDER BY shop_key_id LIMIT ?) AS oldest WHERE created_on < ?";
    let most = i64::try_from(SWEPT_AT_ONCE).unwrap_or(i64::MAX);
    Rows::written(FIND, vec![vec![Value::Int(most)], vec![before]])
}

/// Removes these keys.
pub fn remove_keys(keys: Vec<i64>, dialect: &Dialect) -> Statement {
    delete_keys("shop_keys", "shop_key_id", &keys, dialect)
}

/// The columns that identify a request, and the time.
fn identity(of: Keyed<'_>) -> [Value; 4] {
    let text = |text: &str| Value::Text(text.to_owned());
    [Value::Int(of.user), text(of.key), text(of.fingerprint), Value::now()]
}
