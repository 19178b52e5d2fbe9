//! SQL of the feed of changes: queued changes get places and leave the queue, and places are read and
//! forgotten. Whoever places or forgets holds the lock of the feed's row. Independent of who reads.
//!
//! Three tables hold the feed. `shop_change_queue` has a row for each change of a record, which
//! triggers insert in the transaction of the change (`feed`); nothing else is written then, so writers
//! do not wait for one another. `shop_changes` has one row for each record that has changed, at the
//! place of its latest change. `shop_feed` has one row: which feed this is, and its latest place.
//!
//! A place is a number that grows with each change, and at the same time the moment of that change, in
//! microseconds since 1970: the greater of the database's time and the number after the latest place. So
//! places order changes, and a moment can be looked up in them without an index of its own.

use super::columns::only;
use super::copy::insert_many;
use super::dialect::Dialect;
use super::row::{Key, Row, Rows, row};
use super::statement::Statement;
use crate::model::resource::Resource;
use crate::model::value::Value;

/// How many rows one statement inserts.
const AT_ONCE: usize = 512;

/// The place of the latest change of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestChange {
    /// The kind of the record.
    pub kind: &'static str,
    /// Its key.
    pub record: i64,
    /// The place.
    pub seq: i64,
    /// Whether the record does not exist any more.
    pub deleted: bool,
    /// Whether it came to be by one of the changes that have this place together.
    pub created: bool,
}

row! {
    /// A queued change.
    pub struct Queued {
        /// Its place in the queue.
        pub entry: i64,
        /// The kind of the record.
        pub kind: String,
        /// Its key.
        pub record: i64,
        /// Whether it has made the record.
        pub created: bool,
    }
}

row! {
    /// A change at its place.
    pub struct Placed {
        /// The kind of the record.
        pub kind: String,
        /// Its key.
        pub record: i64,
        /// The place.
        pub seq: i64,
        /// Whether the record does not exist any more.
        pub deleted: bool,
        /// The place at which it came to be, or 0.
        pub created: i64,
    }
}

row! {
    /// The latest place of a kind.
    pub struct Head {
        /// The kind.
        pub kind: String,
        /// The place.
        pub seq: i64 = "max(seq)",
    }
}

row! {
    /// The deletion of a record.
    pub struct Deletion {
        /// The kind of the record.
        pub kind: String,
        /// Its key.
        pub record: i64,
        /// The place.
        pub seq: i64,
    }
}

/// The entry of the last queued change, if there is one.
pub fn last_queued() -> Rows<Key> {
    const LAST: &str = "SELECT entry AS c0 FROM shop_change_queue ORDER BY entry DESC LIMIT 1";
    Rows::written(LAST, Vec::new())
}

/// The first queued changes up to an entry.
pub fn queued(until: i64, limit: i64) -> Rows<Queued> {
    const QUEUED: &str = "FROM shop_change_queue WHERE entry <= ? ORDER BY entry LIMIT ?";
    Rows::select(QUEUED, vec![vec![Value::Int(until)], vec![Value::Int(limit)]])
}

/// Which of these keys are those of records.
pub fn existing(resource: &Resource, keys: Vec<i64>) -> Rows<Key> {
    let (Resource { table, key, .. }, only) = (resource, only(resource, ""));
    let text = format!("SELECT {key} AS c0 FROM {table} WHERE {key} IN (?){only}");
    Rows::written(text, vec![keys.into_iter().map(Value::Int).collect()])
}

/// Gives changes their places. That of a record which was deleted before changes too: it may have been
/// there meanwhile, and a client may have copied it then.
pub fn place(places: &[LatestChange], dialect: &Dialect) -> Vec<Statement> {
    const COLUMNS: [&str; 5] = ["kind", "record", "seq", "deleted", "created"];
    let values = places.iter().flat_map(|place| {
        [
            Value::Text(place.kind.to_owned()),
            Value::Int(place.record),
            Value::Int(place.seq),
            Value::Int(place.deleted.into()),
            Value::Int(if place.created { place.seq } else { 0 }),
        ]
    });
    let mut statements = insert_many("shop_changes", &COLUMNS, values.collect(), AT_ONCE, dialect);
    for statement in &mut statements {
        statement.text.push_str(dialect.place_again);
    }
    statements
}

/// Removes these entries of the queue, and no others: an entry with a smaller number may be committed
/// later. One text without values, because an engine that needs a statement for each entry would answer each
/// of them.
pub fn delete_queued(entries: &[i64], dialect: &Dialect) -> String {
    let numbers = entries.iter().map(i64::to_string);
    if dialect.scans_to_delete {
        let each =
            numbers.map(|entry| format!("DELETE FROM shop_change_queue WHERE entry = {entry}"));
        return each.collect::<Vec<_>>().join(";");
    }
    let numbers = numbers.collect::<Vec<_>>().join(",");
    format!("DELETE FROM shop_change_queue WHERE entry IN ({numbers})")
}

/// Notes the latest place.
pub fn set_clock(seq: i64) -> Statement {
    Statement::fixed("UPDATE shop_feed SET seq = ? WHERE one = 1", vec![Value::Int(seq)])
}

/// Notes up to which place deletions are forgotten, and up to which old ones have been looked for.
pub fn set_floor(floor: i64, swept: i64) -> Statement {
    let places = [floor, swept].map(Value::Int).to_vec();
    Statement::fixed("UPDATE shop_feed SET floor = ?, swept = ? WHERE one = 1", places)
}

/// Forgets the deletion of a record, unless there is one with its key again.
pub fn forget(kind: &str, record: i64) -> Statement {
    Statement::fixed(
        "DELETE FROM shop_changes WHERE kind = ? AND record = ? AND deleted = 1",
        vec![Value::Text(kind.to_owned()), Value::Int(record)],
    )
}

/// Begins another feed with this name: nobody can go on with the one before. As texts without values,
/// because a bulk fill ends with them.
pub fn renew(feed: u64, dialect: &Dialect) -> [String; 3] {
    let now = dialect.seconds;
    let place = |later: u8| format!("(({now}) + {later}) * 1000000");
    let (began, first) = (place(0), place(1));
    [
        format!(
            "UPDATE shop_feed SET feed = '{feed:016x}', began = {began}, seq = {first}, \
             floor = {first}, swept = {first} WHERE one = 1"
        ),
        "DELETE FROM shop_change_queue".to_owned(),
        "DELETE FROM shop_changes".to_owned(),
    ]
}

/// The row of the feed, from which its columns are read.
pub fn clock<R: Row>() -> Rows<R> {
    Rows::select("FROM shop_feed WHERE one = 1", Vec::new())
}

/// Locks the row of the feed; `None` on an engine with one writer at a time.
pub fn lock_clock(dialect: &Dialect) -> Option<Statement> {
    let locks = dialect.locks?;
    if locks.node_local {
        let lock = "UPDATE shop_feed SET locks = locks + 1 WHERE one = 1";
        return Some(Statement::fixed(lock, Vec::new()));
    }
    Some(format!("SELECT one FROM shop_feed WHERE one = 1{}", locks.exclusive).into())
}

/// The changes after a place, in order; of these kinds only, unless there are none.
pub fn after(seq: i64, kinds: &[&str], limit: i64) -> Rows<Placed> {
    let (seq, limit) = (Value::Int(seq), Value::Int(limit));
    if kinds.is_empty() {
        const AFTER: &str = "FROM shop_changes WHERE seq > ? ORDER BY seq LIMIT ?";
        return Rows::select(AFTER, vec![vec![seq], vec![limit]]);
    }
    // A scan of an index for each kind stops at the limit. With one condition on all of them, an engine
    // would sort everything after the place, or read the changes of all others.
    let mut binds = Vec::new();
    let each = kinds.iter().enumerate().map(|(nth, kind)| {
        binds.extend(
            [Value::Text((*kind).to_owned()), seq.clone(), limit.clone()].map(|of| vec![of]),
        );
        format!(
            "SELECT kind, record, seq, deleted, created FROM (SELECT kind, record, seq, deleted, created \
             FROM shop_changes WHERE kind = ? AND seq > ? ORDER BY seq LIMIT ?) k{nth}"
        )
    });
    let each = each.collect::<Vec<_>>().join(" UNION ALL ");
    binds.push(vec![limit]);
    Rows::select(&format!("FROM ({each}) changed ORDER BY seq LIMIT ?"), binds)
}

/// The latest place of a record.
pub fn of_record(kind: &str, record: i64) -> Statement {
    Statement::fixed(
        "SELECT seq FROM shop_changes WHERE kind = ? AND record = ?",
        vec![Value::Text(kind.to_owned()), Value::Int(record)],
    )
}

/// The place of the record that follows so many others in the list of those of a kind which have changed from a
/// place on.
pub fn of_nth(kind: &str, from: i64, nth: i64) -> Statement {
    Statement::fixed(
        "SELECT seq FROM shop_changes WHERE kind = ? AND deleted = 0 AND seq >= ? \
         ORDER BY seq LIMIT 1 OFFSET ?",
        vec![Value::Text(kind.to_owned()), Value::Int(from), Value::Int(nth)],
    )
}

/// The latest place of each kind that has changed after a place.
pub fn heads(seq: i64) -> Rows<Head> {
    const HEADS: &str = "FROM shop_changes WHERE seq > ? GROUP BY kind";
    Rows::select(HEADS, vec![vec![Value::Int(seq)]])
}

/// Deletions up to a place and after another one.
pub fn old_deletions(after: i64, until: i64, limit: i64) -> Rows<Deletion> {
    const OLD: &str =
        "FROM shop_changes WHERE seq > ? AND seq <= ? AND deleted = 1 ORDER BY seq LIMIT ?";
    Rows::select(OLD, [after, until, limit].map(|number| vec![Value::Int(number)]).to_vec())
}

/// The number of queued changes, counted up to a limit.
pub fn count_queued(limit: i64) -> Statement {
    Statement::fixed(
        "SELECT count(*) FROM (SELECT entry FROM shop_change_queue LIMIT ?) queued",
        vec![Value::Int(limit)],
    )
}
