//! Pages of the audit trail, newest first: the filter, and the statement that finds its entries by
//! an index.

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::text::fold;
use crate::database::{Database, Statement, select};

use super::entry::{Entry, Origin, Record};
use super::rows::{Place, Stored};

/// The number of entries on a page.
const PAGE: usize = 50;

/// The filter for entries; empty fields do not restrict it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) username: String,
    pub(crate) origin: Option<Origin>,
    pub(crate) record: Record,
    pub(crate) request: String,
    /// `since` and `until` are inclusive.
    pub(crate) since: Option<PrimitiveDateTime>,
    pub(crate) until: Option<PrimitiveDateTime>,
    pub(crate) from: Cursor,
}

/// A position in the list, which is sorted from the newest to the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// The beginning of the list.
    #[default]
    Start,
    /// Entries older than this one.
    After(Place),
    /// Entries newer than this one.
    Before(Place),
}

/// A page of the list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) entries: Vec<Entry>,
    pub(crate) newer: Option<Place>,
    pub(crate) older: Option<Place>,
}

/// One page of the matching entries.
pub(crate) async fn list(database: &Database, wanted: &Filter) -> Result<Listed, Error> {
    let mut lines = lines(database, wanted, PAGE as i64 + 1).await?;
    let more = lines.len() > PAGE;
    lines.truncate(PAGE);
    if matches!(wanted.from, Cursor::Before(_)) {
        lines.reverse();
    }
    let newest = lines.first().map(Stored::place);
    let oldest = lines.last().map(Stored::place);
    // A page that was reached from one side has another page on that side.
    let (newer, older) = match wanted.from {
        Cursor::Start => (None, oldest.filter(|_| more)),
        Cursor::After(_) => (newest, oldest.filter(|_| more)),
        Cursor::Before(_) => (newest.filter(|_| more), oldest),
    };
    let entries = lines.into_iter().map(Entry::from).collect();
    Ok(Listed { entries, newer, older })
}

/// The table of a page and what follows: the condition to look up first, if any, the comparison and the sort
/// direction. There is an index for each condition, in the order of the list.
macro_rules! page {
    ($first:literal, $beyond:literal, $order:literal) => {
        concat!(
            "FROM host_audit WHERE ",
            $first,
            " done_on >= ? AND done_on <= ? AND (done_on ",
            $beyond,
            " ? OR id ",
            $beyond,
            " ?) AND (? = '' OR username_fold = ?) AND (? = '' OR origin = ?) \
             AND (? = '' OR record_type = ?) AND (? = '' OR record_id = ?) \
             AND (? = '' OR request_id = ? OR client_request_id = ?) ORDER BY done_on ",
            $order,
            ", id ",
            $order,
            " LIMIT ?"
        )
    };
    ($first:literal) => {
        [page!($first, "<", "DESC"), page!($first, ">", "ASC")]
    };
}

/// At most so many matching entries, from the cursor in its direction.
pub(super) async fn lines(
    database: &Database,
    wanted: &Filter,
    count: i64,
) -> Result<Vec<Stored>, Error> {
    // Forwards and backwards.
    const ALL: [&str; 2] = page!("");
    const OF_REQUEST: [&str; 2] = page!("(request_id = ? OR client_request_id = ?) AND");
    const OF_USER: [&str; 2] = page!("username_fold = ? AND");
    const OF_RECORD: [&str; 2] = page!("record_id = ? AND");
    const OF_TYPE: [&str; 2] = page!("record_type = ? AND");
    const OF_ORIGIN: [&str; 2] = page!("origin = ? AND");
    let first = time::macros::datetime!(1970-01-01 00:00:00);
    let last = time::macros::datetime!(9999-12-31 23:59:59);
    let (since, until) = (wanted.since.unwrap_or(first), wanted.until.unwrap_or(last));
    let (direction, since, until, beside) = match wanted.from {
        Cursor::Start => (0, since, until, Place { at: last, id: i64::MAX }),
        Cursor::After(place) => (0, since, until.min(place.at), place),
        Cursor::Before(place) => (1, since.max(place.at), until, place),
    };
    let Record { kind, id } = &wanted.record;
    let username = fold(&wanted.username);
    let origin = wanted.origin.map_or("", Origin::name);
    // Changes through the API are the most frequent by far.
    let is_rare = wanted.origin.is_some_and(|origin| origin != Origin::Api);
    // The condition that matches the fewest entries is looked up first.
    let statement = if !wanted.request.is_empty() {
        select::<Stored>(OF_REQUEST[direction])
            .bind(wanted.request.as_str())
            .bind(wanted.request.as_str())
    } else if !id.is_empty() {
        select::<Stored>(OF_RECORD[direction]).bind(id.as_str())
    } else if !username.is_empty() {
        select::<Stored>(OF_USER[direction]).bind(username.as_str())
    } else if !kind.is_empty() && !is_rare {
        select::<Stored>(OF_TYPE[direction]).bind(kind.as_str())
    } else if wanted.origin.is_some() {
        select::<Stored>(OF_ORIGIN[direction]).bind(origin)
    } else {
        select::<Stored>(ALL[direction])
    };
    let statement = statement.bind(since).bind(until).bind(beside.at).bind(beside.id);
    let asked = [username.as_str(), origin, kind, id, wanted.request.as_str()];
    let twice = |statement: Statement, text: &str| statement.bind(text).bind(text);
    let statement = asked.into_iter().fold(statement, twice).bind(wanted.request.as_str());
    database.fetch_all(statement.bind(count)).await
}
