//! Entries as rows of the database: writing, reading and copying them.

use serde_json::Value;
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::base::moment;
use crate::base::text::fold;
use crate::database::{Connection, Statement, row, select, sql};

use super::ends::Chain;
use super::entry::{Entry, Origin, Record};

/// How many entries are read at a time.
pub(super) const AT_ONCE: usize = 500;

/// The names of the columns of an entry, in the order of its hash and of exports.
pub(super) const COLUMNS: [&str; 15] = [
    "id",
    "done_on",
    "user_id",
    "username",
    "username_fold",
    "means",
    "origin",
    "method",
    "route",
    "what",
    "record_type",
    "record_id",
    "status",
    "request_id",
    "client_request_id",
];

row! {
    /// An entry with its columns exactly as they are stored, and with its hash in either chain.
    #[derive(Debug)]
    pub(super) struct Stored {
        /// 0 until it is written.
        pub(super) id: i64,
        pub(super) at: PrimitiveDateTime = "done_on",
        user: i64 = "user_id",
        username: String,
        username_fold: String,
        means: String,
        origin: String,
        method: String,
        route: String,
        what: String,
        kind: String = "record_type",
        record: String = "record_id",
        status: i64,
        request: String = "request_id",
        request_of_client: Option<String> = "client_request_id",
        /// Neither chain has an entry from before there was one.
        lasting: Option<Vec<u8>> = "(SELECT hash FROM host_audit_lasting_chain chain \
                                     WHERE chain.id = host_audit.id)",
        other: Option<Vec<u8>> = "(SELECT hash FROM host_audit_chain chain WHERE chain.id = host_audit.id)",
    }
}

/// The position of an entry: entries of the same second are ordered by their keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) at: PrimitiveDateTime,
    pub(crate) id: i64,
}

impl Stored {
    /// An entry with its texts truncated to the length of their columns, and without NUL
    /// characters, which databases refuse.
    pub(super) fn of(entry: &Entry) -> Self {
        let short = |text: &str, length: usize| -> String {
            text.chars().filter(|character| *character != '\0').take(length).collect()
        };
        Self {
            id: 0,
            at: entry.at,
            user: entry.user,
            username: short(&entry.username, 150),
            username_fold: short(&fold(&entry.username), 450),
            means: short(&entry.means, 64),
            origin: entry.origin.name().to_owned(),
            method: short(&entry.method, 16),
            route: short(&entry.route, 150),
            what: short(&entry.what, 4000),
            kind: short(&entry.record.kind, 64),
            record: short(&entry.record.id, 150),
            status: i64::from(entry.status),
            request: short(&entry.request, 64),
            request_of_client: entry.request_of_client.as_deref().map(|id| short(id, 64)),
            lasting: None,
            other: None,
        }
    }

    pub(super) fn place(&self) -> Place {
        Place { at: self.at, id: self.id }
    }

    /// Its chain and its hash; `None` for an entry from before there was a chain.
    pub(super) fn link(&self) -> Option<(Chain, &[u8])> {
        let lasting = self.lasting.as_deref().map(|hash| (Chain::Lasting, hash));
        lasting.or_else(|| Some((Chain::Other, self.other.as_deref()?)))
    }

    /// The statement that writes it with a new key.
    pub(super) fn insertion(&self) -> Statement {
        self.bind(sql("INSERT INTO host_audit (done_on, user_id, username, username_fold, means, \
             origin, method, route, what, record_type, record_id, status, request_id, \
             client_request_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"))
    }

    /// The statement that writes it with the key that it has.
    fn insertion_with_key(&self) -> Statement {
        let statement = sql("INSERT INTO host_audit (id, done_on, user_id, username, \
             username_fold, means, origin, method, route, what, record_type, record_id, status, \
             request_id, client_request_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        self.bind(statement.bind(self.id))
    }

    fn bind(&self, statement: Statement) -> Statement {
        let texts = [&self.username, &self.username_fold, &self.means, &self.origin, &self.method];
        let more = [&self.route, &self.what, &self.kind, &self.record];
        let statement = statement.bind(self.at).bind(self.user);
        let bind = |statement: Statement, text: &String| statement.bind(text.as_str());
        let statement = texts.into_iter().chain(more).fold(statement, bind);
        statement.bind(self.status).bind(self.request.as_str()).bind(self.request_of_client.clone())
    }

    /// The values of [`COLUMNS`] as text.
    pub(super) fn texts(&self) -> [Option<String>; 15] {
        let text = |text: &String| Some(text.clone());
        [
            Some(self.id.to_string()),
            Some(moment::show(self.at)),
            Some(self.user.to_string()),
            text(&self.username),
            text(&self.username_fold),
            text(&self.means),
            text(&self.origin),
            text(&self.method),
            text(&self.route),
            text(&self.what),
            text(&self.kind),
            text(&self.record),
            Some(self.status.to_string()),
            text(&self.request),
            self.request_of_client.clone(),
        ]
    }

    /// The values of [`COLUMNS`] as JSON.
    pub(super) fn values(&self) -> impl Iterator<Item = Value> + use<> {
        let numbers = [("id", self.id), ("user_id", self.user), ("status", self.status)];
        COLUMNS.into_iter().zip(self.texts()).map(move |(column, text)| {
            let number = numbers.into_iter().find(|(name, _)| *name == column);
            number.map_or_else(|| text.into(), |(_, number)| number.into())
        })
    }
}

impl From<Stored> for Entry {
    fn from(stored: Stored) -> Self {
        Self {
            at: stored.at,
            user: stored.user,
            username: stored.username,
            means: stored.means,
            // An origin from another version is unknown here; most changes come from the API.
            origin: Origin::named(&stored.origin).unwrap_or(Origin::Api),
            method: stored.method,
            route: stored.route,
            what: stored.what,
            record: Record { kind: stored.kind, id: stored.record },
            status: u16::try_from(stored.status).unwrap_or_default(),
            request: stored.request,
            request_of_client: stored.request_of_client,
            lasting: stored.lasting.is_some(),
        }
    }
}

/// The entries after this key, in the order of their keys.
pub(super) async fn after(connection: &mut Connection, id: i64) -> Result<Vec<Stored>, Error> {
    let statement = select::<Stored>("FROM host_audit WHERE id > ? ORDER BY id LIMIT ?");
    Ok(connection.fetch_all(statement.bind(id).bind(AT_ONCE as i64)).await?)
}

/// Copies every entry to another database under the same key, which is a part of its hash.
pub(super) async fn copy(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    let mut last = 0;
    loop {
        let entries = after(from, last).await?;
        if entries.is_empty() {
            return Ok(());
        }
        for stored in entries {
            last = stored.id;
            to.execute(stored.insertion_with_key()).await?;
        }
    }
}
