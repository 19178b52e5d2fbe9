//! Entries as rows of the database: writing, reading and copying them.

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::text::fold;
use crate::database::{Connection, Statement, sql};

use super::entry::{Entry, Origin, Record};

/// How many entries are read at a time.
const AT_ONCE: i64 = 500;

/// The columns of an entry, in the order of [`Row`].
macro_rules! columns {
    () => {
        "SELECT id, done_on, user_id, username, means, method, route, what, status, origin, \
         record_type, record_id, request_id, client_request_id FROM host_audit"
    };
}
pub(super) use columns;

/// The position of an entry: entries of the same second are ordered by their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: PrimitiveDateTime,
    pub(crate) id: i64,
}

/// Copies every entry to another database, in the order in which they were written. They get new
/// keys, because nothing refers to the keys.
pub(crate) async fn copy(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    let mut last = 0;
    loop {
        let statement = sql(concat!(columns!(), " WHERE id > ? ORDER BY id LIMIT ?"));
        let rows: Vec<Row> = from.fetch_all(statement.bind(last).bind(AT_ONCE)).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for (place, entry) in rows.into_iter().map(line) {
            last = place.id;
            to.insert(insertion(&entry)).await?;
        }
    }
}

/// The statement that writes an entry.
pub(super) fn insertion(entry: &Entry) -> Statement {
    let statement = sql("INSERT INTO host_audit (done_on, user_id, username, username_fold, \
         means, origin, method, route, what, record_type, record_id, status, request_id, \
         client_request_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    statement
        .bind(entry.at)
        .bind(entry.user)
        .bind(short(&entry.username, 150))
        .bind(short(&fold(&entry.username), 450))
        .bind(short(&entry.means, 64))
        .bind(entry.origin.name())
        .bind(short(&entry.method, 16))
        .bind(short(&entry.route, 150))
        .bind(short(&entry.what, 4000))
        .bind(short(&entry.record.kind, 64))
        .bind(short(&entry.record.id, 150))
        .bind(i64::from(entry.status))
        .bind(short(&entry.request, 64))
        .bind(entry.request_of_client.as_deref().map(|request| short(request, 64)))
}

/// Truncates a text to the length of its column, and removes NUL characters, which databases
/// refuse.
fn short(text: &str, length: usize) -> String {
    text.chars().filter(|character| *character != '\0').take(length).collect()
}

pub(super) type Row = (
    i64,
    PrimitiveDateTime,
    i64,
    String,
    String,
    String,
    String,
    String,
    i64,
    String,
    String,
    String,
    String,
    Option<String>,
);

/// An entry with its position.
pub(super) fn line(row: Row) -> (Place, Entry) {
    let (id, at, user, username, means, method, route, what, status, origin, kind, key, own, sent) =
        row;
    let entry = Entry {
        at,
        user,
        username,
        means,
        // An origin from another version is unknown here; most changes come from the API.
        origin: Origin::named(&origin).unwrap_or(Origin::Api),
        method,
        route,
        what,
        record: Record { kind, id: key },
        status: u16::try_from(status).unwrap_or_default(),
        request: own,
        request_of_client: sent,
    };
    (Place { at, id }, entry)
}
