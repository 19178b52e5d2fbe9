//! Pages of the audit trail, newest first: which entries are wanted, and the statement that finds them by
//! an index. Who may read them is not known here.

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::text::fold;
use crate::database::{Database, Statement, sql};

use super::entry::{Entry, Origin, Record};
use super::rows::{Place, Row, columns, line};

/// How many entries a page has.
const PAGE: usize = 50;

/// Which entries are asked for; what is empty is not asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    pub(crate) username: String,
    pub(crate) origin: Option<Origin>,
    pub(crate) record: Record,
    pub(crate) request: String,
    /// Both included.
    pub(crate) since: Option<PrimitiveDateTime>,
    pub(crate) until: Option<PrimitiveDateTime>,
    pub(crate) from: Cursor,
}

/// A place in the list, which goes from the newest to the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cursor {
    /// The newest.
    #[default]
    Start,
    /// What is older than this one.
    After(Place),
    /// What is newer than this one.
    Before(Place),
}

/// A page of the list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) entries: Vec<Entry>,
    pub(crate) newer: Option<Place>,
    pub(crate) older: Option<Place>,
}

/// One page of the entries that are wanted.
pub(crate) async fn list(database: &Database, wanted: &Filter) -> Result<Listed, Error> {
    let mut lines = lines(database, wanted).await?;
    let more = lines.len() > PAGE;
    lines.truncate(PAGE);
    if matches!(wanted.from, Cursor::Before(_)) {
        lines.reverse();
    }
    let newest = lines.first().map(|(place, _)| *place);
    let oldest = lines.last().map(|(place, _)| *place);
    // Whoever came from one side knows that there is something on it.
    let (newer, older) = match wanted.from {
        Cursor::Start => (None, oldest.filter(|_| more)),
        Cursor::After(_) => (newest, oldest.filter(|_| more)),
        Cursor::Before(_) => (newest.filter(|_| more), oldest),
    };
    Ok(Listed { entries: lines.into_iter().map(|(_, entry)| entry).collect(), newer, older })
}

/// The statement of a page: what is looked up first, if anything is, and the direction in which the
/// list goes on. There is an index for each, in the order of the list.
macro_rules! page {
    ($first:literal, $beyond:literal, $order:literal) => {
        concat!(
            columns!(),
            " WHERE ",
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

/// The entries of a page and one more, if there are more in that direction.
async fn lines(database: &Database, wanted: &Filter) -> Result<Vec<(Place, Entry)>, Error> {
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
    // People change less than programs do.
    let seldom = wanted.origin.is_some_and(|origin| origin != Origin::Api);
    // What fits the fewest entries comes first.
    let statement = if !wanted.request.is_empty() {
        sql(OF_REQUEST[direction]).bind(wanted.request.as_str()).bind(wanted.request.as_str())
    } else if !id.is_empty() {
        sql(OF_RECORD[direction]).bind(id.as_str())
    } else if !username.is_empty() {
        sql(OF_USER[direction]).bind(username.as_str())
    } else if !kind.is_empty() && !seldom {
        sql(OF_TYPE[direction]).bind(kind.as_str())
    } else if wanted.origin.is_some() {
        sql(OF_ORIGIN[direction]).bind(origin)
    } else {
        sql(ALL[direction])
    };
    let statement = statement.bind(since).bind(until).bind(beside.at).bind(beside.id);
    let asked = [username.as_str(), origin, kind, id, wanted.request.as_str()];
    let twice = |statement: Statement, text: &str| statement.bind(text).bind(text);
    let statement = asked.into_iter().fold(statement, twice).bind(wanted.request.as_str());
    let rows: Vec<Row> = database.fetch_all(statement.bind(PAGE as i64 + 1)).await?;
    Ok(rows.into_iter().map(line).collect())
}
