//! Whoever changes a site: by a command of this program, by a page of the administration, or as an extension of its
//! own accord. What they change is recorded in the transaction of the change.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use crate::base::error::Error;
use crate::base::secret::SecretHash;
use crate::database::Connection;

use super::chain::append;
use super::entry::{Entry, Means, Origin, Record};
use super::writer::Audit;

/// Whoever changes a site.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    origin: Origin,
    method: &'static str,
    /// What the command or the page is called.
    route: Cow<'static, str>,
    /// The key of the user; 0 for a user of the system, who has none here.
    user: i64,
    username: String,
    means: Means,
    /// The request, where there is one.
    request: Option<Request>,
}

/// A request to a page.
#[derive(Clone, Debug)]
struct Request {
    status: u16,
    id: String,
    id_of_client: Option<String>,
    /// A host that is running keeps the trail bounded.
    audit: Arc<Audit>,
}

impl Actor {
    /// A user of the system, who has given a command.
    pub(crate) fn of_command(
        command: impl Into<Cow<'static, str>>,
        username: String,
        uid: Option<u32>,
    ) -> Self {
        Self {
            origin: Origin::CommandLine,
            method: "",
            route: command.into(),
            user: 0,
            username,
            means: Means::Shell(uid),
            request: None,
        }
    }

    /// A user who has sent the form of a page, in a session or by a link of a mail.
    pub(crate) fn of_form(
        page: &'static str,
        (user, username): (i64, String),
        means: Means,
        audit: &Arc<Audit>,
        (id, id_of_client): (String, Option<String>),
    ) -> Self {
        Self {
            origin: Origin::Administration,
            // Forms are all that changes something there, and they are posted.
            method: "POST",
            route: page.into(),
            user,
            username,
            means,
            // After a form the browser goes on to another page.
            request: Some(Request { status: 303, id, id_of_client, audit: Arc::clone(audit) }),
        }
    }

    /// An extension that acts of its own accord, on behalf of this user, or of nobody.
    pub(crate) fn of_extension(
        extension: &str,
        action: String,
        (user, username): (i64, String),
    ) -> Self {
        Self {
            origin: Origin::Extension,
            method: "",
            route: action.into(),
            user,
            username,
            means: Means::Extension(extension.to_owned()),
            request: None,
        }
    }

    /// The key of the user; 0 for a user of the system.
    pub(crate) fn user(&self) -> i64 {
        self.user
    }

    /// The user and the session, if there is one.
    pub(crate) fn session(&self) -> Option<(i64, &SecretHash)> {
        match &self.means {
            Means::Session(session) => Some((self.user, session)),
            _ => None,
        }
    }

    /// This actor, where the page shows at once what came of the form.
    pub(crate) fn shown(&self) -> Self {
        let request = self.request.clone().map(|request| Request { status: 200, ..request });
        Self { request, ..self.clone() }
    }

    /// Records what they change, in the transaction of the change: the kind and the key of the record, and what is
    /// done to it.
    pub(crate) async fn record(
        &self,
        transaction: &mut Connection,
        (kind, id): (&str, impl Display),
        what: &str,
    ) -> Result<(), Error> {
        let record = Record { kind: kind.to_owned(), id: id.to_string() };
        self.write(transaction, Entry { lasting: true, ..self.entry(record, what) }).await
    }

    /// Records what can happen any number of times, in the transaction of that, such as signing in. The
    /// entry is not a lasting one.
    pub(crate) async fn record_event(
        &self,
        transaction: &mut Connection,
        record: Record,
        what: &str,
    ) -> Result<(), Error> {
        self.write(transaction, self.entry(record, what)).await
    }

    fn entry(&self, record: Record, what: &str) -> Entry {
        Entry::new(self.origin, self.method, &self.route, record)
            .by(self.user, &self.username, &self.means)
            .saying(what)
    }

    async fn write(&self, transaction: &mut Connection, entry: Entry) -> Result<(), Error> {
        match &self.request {
            Some(Request { status, id, id_of_client, audit }) => {
                let entry = entry.answered(*status, id).called(id_of_client.as_deref());
                audit.insert(transaction, &entry).await
            }
            None => append(transaction, &[entry], None).await,
        }
    }
}
