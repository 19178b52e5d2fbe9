//! The audit trail: who has changed what, in the administration, through the API and on the command
//! line. What changes the site is written down in the transaction that changes it. A request to the
//! API only leaves a note in memory; one task writes the notes down, many in one transaction, so
//! that no request waits for it. Keeps what was done and to what, and nothing of
//! what a request carried. Who may read it is the administration's.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use time::PrimitiveDateTime;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::base::error::Error;
use crate::database::{Connection, Database, Statement, sql, transact};
use crate::identity::tokens::TokenHash;
use crate::identity::users::{fold, now};
use crate::site::Site;
use crate::site::state::State;
use crate::watch::metrics::Metrics;

/// How many notes may wait to be written down. Beyond it the database is so far behind that a note
/// is rather lost than a request delayed.
const WAITING: usize = 8192;

/// How long a note waits for others that are written down with it.
const WRITE_EVERY: Duration = Duration::from_millis(250);

/// How many are written in one transaction.
const AT_ONCE: usize = 500;

/// How many of the oldest go with each transaction at most: more than come, so that a lower bound is
/// reached soon, and not so many that the database takes long over it.
const GO_AT_ONCE: i64 = 1000;

/// How often notes are tried to be written down that the database does not take, a second apart.
const ATTEMPTS: u32 = 300;

/// How many entries a page has.
const PAGE: usize = 50;

/// What is read of entries, as [`Row`] has it.
macro_rules! columns {
    () => {
        "SELECT id, done_on, user_id, username, means, method, route, what, status, origin, \
         record_type, record_id, request_id, client_request_id FROM host_audit"
    };
}

/// Where a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Administration,
    Api,
    CommandLine,
}

impl Origin {
    pub(crate) const ALL: [Origin; 3] = [Origin::Administration, Origin::Api, Origin::CommandLine];

    /// As it is stored, and as an address has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Origin::Administration => "administration",
            Origin::Api => "api",
            Origin::CommandLine => "command-line",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Origin::Administration => "Administration",
            Origin::Api => "API",
            Origin::CommandLine => "Command line",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }
}

/// What somebody has shown to be who they are.
#[derive(Clone, Debug)]
pub(crate) enum Means {
    /// The session that this hash is kept of.
    Session(TokenHash),
    /// The API token that this hash is kept of.
    Token(TokenHash),
    /// Credentials of this scheme, which an extension knows.
    Scheme(String),
    /// A shell of the machine, as the user of the system with this number.
    Shell(Option<u32>),
}

/// What tells one token or session from another, and is of no use to anybody: the beginning of its
/// hash.
pub(crate) fn fingerprint(hash: &[u8]) -> String {
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Means::Session(hash) => write!(f, "session {}", fingerprint(hash)),
            Means::Token(hash) => write!(f, "token {}", fingerprint(hash)),
            Means::Scheme(scheme) => f.write_str(scheme),
            Means::Shell(Some(uid)) => write!(f, "command line, uid {uid}"),
            Means::Shell(None) => f.write_str("command line"),
        }
    }
}

/// What was changed: a kind of record and what tells the one, for example `user` and `5`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: String,
    pub(crate) id: String,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: PrimitiveDateTime,
    /// 0 where nobody had signed in.
    pub(crate) user: i64,
    /// The name as it was then.
    pub(crate) username: String,
    pub(crate) means: String,
    pub(crate) origin: Origin,
    pub(crate) method: String,
    /// The name of the route, the page or the command.
    pub(crate) route: String,
    /// What was done, in words, where they say more than the route.
    pub(crate) what: String,
    pub(crate) record: Record,
    pub(crate) status: u16,
    /// What the log calls the request.
    pub(crate) request: String,
    /// What the client has called it, which may be what it has called others.
    pub(crate) request_of_client: Option<String>,
}

impl Entry {
    /// A change that has just been made by nobody in particular.
    pub(crate) fn new(origin: Origin, method: &str, route: &str, record: Record) -> Self {
        Self {
            at: now(),
            user: 0,
            username: String::new(),
            means: String::new(),
            origin,
            method: method.to_owned(),
            route: route.to_owned(),
            what: String::new(),
            record,
            status: 0,
            request: String::new(),
            request_of_client: None,
        }
    }

    /// The same by somebody.
    pub(crate) fn by(mut self, user: i64, username: &str, means: &Means) -> Self {
        (self.user, self.username, self.means) = (user, username.to_owned(), means.to_string());
        self
    }

    /// The same by a request that was answered with this status.
    pub(crate) fn answered(mut self, status: u16, request: &str) -> Self {
        (self.status, self.request) = (status, request.to_owned());
        self
    }

    /// The same by a request that its client has called this.
    pub(crate) fn called(mut self, request: Option<&str>) -> Self {
        self.request_of_client = request.map(str::to_owned);
        self
    }

    /// The same in words.
    pub(crate) fn saying(mut self, what: &str) -> Self {
        what.clone_into(&mut self.what);
        self
    }
}

/// Where changes are noted that have been made.
#[derive(Debug)]
pub(crate) struct Audit {
    notes: mpsc::Sender<Entry>,
    /// How many were lost since somebody was told.
    lost: Arc<AtomicU64>,
    metrics: Arc<Metrics>,
    /// How many entries stay.
    keep: i64,
}

impl Audit {
    /// Writes an entry down in the transaction of the change that it is about.
    pub(crate) async fn insert(
        &self,
        transaction: &mut Connection,
        entry: &Entry,
    ) -> Result<(), Error> {
        let newest = transaction.insert(insertion(entry)).await?;
        prune(transaction, newest, self.keep).await
    }

    /// Counts entries whose transaction has been committed.
    pub(crate) fn has_written(&self, count: u64) {
        self.metrics.audited("written", count);
    }

    /// Notes a change. Takes no time, and fails nobody: what cannot be noted is counted.
    pub(crate) fn note(&self, entry: Entry) {
        if self.notes.try_send(entry).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            self.metrics.audited("lost", 1);
        }
    }
}

/// The task that writes notes down.
#[derive(Debug)]
pub(crate) struct Writing {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Writing {
    /// Writes down what is left, when nothing is answered any more, as far as that is done in time.
    pub(crate) async fn finish(self, end: Instant) {
        // Only fails when the task has ended.
        let _ = self.stop.send(());
        if tokio::time::timeout_at(end, self.task).await.is_err() {
            tracing::error!("the last changes could not be written down in the audit trail");
        }
    }
}

/// Begins to write down what is noted. The newest `keep` entries stay.
pub(crate) fn begin(state: &Arc<State>, metrics: &Arc<Metrics>, keep: u64) -> (Audit, Writing) {
    let (notes, noted) = mpsc::channel(WAITING);
    let (stop, stopping) = oneshot::channel();
    let lost = Arc::new(AtomicU64::new(0));
    let keep = i64::try_from(keep).unwrap_or(i64::MAX);
    let writer = Writer {
        state: Arc::clone(state),
        metrics: Arc::clone(metrics),
        lost: Arc::clone(&lost),
        noted,
        stopping: Some(stopping),
        keep,
    };
    let audit = Audit { notes, lost, metrics: Arc::clone(metrics), keep };
    (audit, Writing { stop, task: tokio::spawn(writer.write()) })
}

struct Writer {
    state: Arc<State>,
    metrics: Arc<Metrics>,
    lost: Arc<AtomicU64>,
    noted: mpsc::Receiver<Entry>,
    /// Gone when it is time to stop.
    stopping: Option<oneshot::Receiver<()>>,
    keep: i64,
}

impl Writer {
    async fn write(mut self) {
        let mut batch = Vec::new();
        while self.gather(&mut batch).await {
            let count = batch.len() as u64;
            if self.put(&batch).await {
                self.metrics.audited("written", count);
            } else {
                self.lost.fetch_add(count, Ordering::Relaxed);
                self.metrics.audited("lost", count);
            }
            batch.clear();
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                tracing::error!(lost, "changes are missing in the audit trail");
            }
        }
    }

    /// Waits for notes, and then a moment for others. Gives whether there are any; there are none
    /// when it is time to stop and all are written.
    async fn gather(&mut self, batch: &mut Vec<Entry>) -> bool {
        while self.stopping.is_some() {
            tokio::select! {
                _ = self.noted.recv_many(batch, 1) => break,
                () = stopped(&mut self.stopping) => self.noted.close(),
            }
        }
        self.pause(WRITE_EVERY).await;
        while batch.len() < AT_ONCE
            && let Ok(entry) = self.noted.try_recv()
        {
            batch.push(entry);
        }
        !batch.is_empty()
    }

    /// Writes notes down, and gives whether that was done in the end.
    async fn put(&mut self, batch: &[Entry]) -> bool {
        for attempt in 1..=ATTEMPTS {
            match write(self.state.database(), batch, self.keep).await {
                Ok(()) => return true,
                // Once, not every second.
                Err(error) if attempt == 1 => {
                    tracing::error!(%error, "changes are not in the audit trail yet");
                }
                Err(error) => tracing::debug!(%error, "changes are not in the audit trail yet"),
            }
            if self.stopping.is_none() {
                break;
            }
            self.pause(Duration::from_secs(1)).await;
        }
        false
    }

    /// Waits, unless it is time to stop.
    async fn pause(&mut self, time: Duration) {
        tokio::select! {
            () = stopped(&mut self.stopping), if self.stopping.is_some() => self.noted.close(),
            () = tokio::time::sleep(time), if self.stopping.is_some() => {}
            else => {}
        }
    }
}

/// Waits until it is time to stop, also because nobody is left who would say so.
async fn stopped(stopping: &mut Option<oneshot::Receiver<()>>) {
    if let Some(waiting) = stopping {
        let _ = waiting.await;
    }
    *stopping = None;
}

/// Writes entries down, all of them or none.
async fn write(database: &Database, entries: &[Entry], keep: i64) -> Result<(), Error> {
    transact!(database, |transaction| {
        let mut newest = 0;
        for entry in entries {
            newest = transaction.insert(insertion(entry)).await?;
        }
        prune(transaction, newest, keep).await
    })
}

/// Lets as many of the oldest entries go as there are too many: by their keys, which costs the same
/// however many there are.
async fn prune(transaction: &mut Connection, newest: i64, keep: i64) -> Result<(), Error> {
    let (oldest,): (Option<i64>,) =
        transaction.fetch_one(sql("SELECT min(id) FROM host_audit")).await?;
    if let Some(oldest) = oldest {
        let last = newest.saturating_sub(keep).min(oldest.saturating_add(GO_AT_ONCE));
        if last >= oldest {
            let removal = sql("DELETE FROM host_audit WHERE id <= ?");
            transaction.execute(removal.bind(last)).await?;
        }
    }
    Ok(())
}

/// Copies every entry to another database, in the order in which they were written down. Keys are
/// given anew: nothing refers to them.
pub(crate) async fn copy(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    let mut last = 0;
    loop {
        let statement = sql(concat!(columns!(), " WHERE id > ? ORDER BY id LIMIT ?"));
        let rows: Vec<Row> = from.fetch_all(statement.bind(last).bind(AT_ONCE as i64)).await?;
        if rows.is_empty() {
            return Ok(());
        }
        for (place, entry) in rows.into_iter().map(line) {
            last = place.id;
            to.insert(insertion(&entry)).await?;
        }
    }
}

fn insertion(entry: &Entry) -> Statement {
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

/// As much of a text as has room, without what no text of a database may have.
fn short(text: &str, length: usize) -> String {
    text.chars().filter(|character| *character != '\0').take(length).collect()
}

/// A command that whoever runs this program has given, and on whose behalf a site is changed.
#[derive(Clone, Debug)]
pub(crate) struct Command {
    /// What the command is called.
    pub(crate) name: &'static str,
    /// Who gives it, as the system knows them.
    pub(crate) username: String,
    pub(crate) uid: Option<u32>,
}

impl Command {
    /// Writes down what it changes, within the transaction of the change.
    pub(crate) async fn record(
        &self,
        transaction: &mut Connection,
        record: Record,
        what: &str,
    ) -> Result<(), Error> {
        let entry = Entry::new(Origin::CommandLine, "", self.name, record);
        // Users of the system are none of the site, and have no key there.
        let entry = entry.by(0, &self.username, &Means::Shell(self.uid)).saying(what);
        transaction.insert(insertion(&entry)).await?;
        Ok(())
    }
}

impl Site {
    /// Writes down what is changed on behalf of a command, within the transaction of the change. A
    /// program that uses this library without one writes nothing down.
    pub(crate) async fn record(
        &self,
        transaction: &mut Connection,
        kind: &str,
        id: impl fmt::Display,
        what: &str,
    ) -> Result<(), Error> {
        match self.command() {
            Some(command) => {
                let record = Record { kind: kind.to_owned(), id: id.to_string() };
                command.record(transaction, record, what).await
            }
            None => Ok(()),
        }
    }
}

/// Which entries are asked for; what is empty is not asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) username: String,
    pub(crate) origin: Option<Origin>,
    pub(crate) record: Record,
    pub(crate) request: String,
    /// Both included.
    pub(crate) since: Option<PrimitiveDateTime>,
    pub(crate) until: Option<PrimitiveDateTime>,
    pub(crate) from: From,
}

/// A place in the list, which goes from the newest to the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum From {
    /// The newest.
    #[default]
    Start,
    /// What is older than this one.
    After(Place),
    /// What is newer than this one.
    Before(Place),
}

/// Where an entry is: what is written down in one second is told by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: PrimitiveDateTime,
    pub(crate) id: i64,
}

/// A page of the list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    pub(crate) entries: Vec<Entry>,
    pub(crate) newer: Option<Place>,
    pub(crate) older: Option<Place>,
}

/// One page of the entries that are wanted.
pub(crate) async fn list(database: &Database, wanted: &Wanted) -> Result<Listed, Error> {
    let mut lines = lines(database, wanted).await?;
    let more = lines.len() > PAGE;
    lines.truncate(PAGE);
    if matches!(wanted.from, From::Before(_)) {
        lines.reverse();
    }
    let newest = lines.first().map(|(place, _)| *place);
    let oldest = lines.last().map(|(place, _)| *place);
    // Whoever came from one side knows that there is something on it.
    let (newer, older) = match wanted.from {
        From::Start => (None, oldest.filter(|_| more)),
        From::After(_) => (newest, oldest.filter(|_| more)),
        From::Before(_) => (newest.filter(|_| more), oldest),
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
async fn lines(database: &Database, wanted: &Wanted) -> Result<Vec<(Place, Entry)>, Error> {
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
        From::Start => (0, since, until, Place { at: last, id: i64::MAX }),
        From::After(place) => (0, since, until.min(place.at), place),
        From::Before(place) => (1, since.max(place.at), until, place),
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

type Row = (
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

fn line(row: Row) -> (Place, Entry) {
    let (id, at, user, username, means, method, route, what, status, origin, kind, key, own, sent) =
        row;
    let entry = Entry {
        at,
        user,
        username,
        means,
        // What another version has written comes from where most things do.
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
