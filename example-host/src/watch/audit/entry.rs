//! An entry of the audit trail: who has changed what, where, and by what they were let in. Holds what was
//! done and to what, and nothing of what a request carried.

use std::fmt;

use time::PrimitiveDateTime;

use crate::base::secret::{SecretHash, fingerprint};
use crate::base::text::now;

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
    Session(SecretHash),
    /// The API token that this hash is kept of.
    Token(SecretHash),
    /// Credentials of this scheme, which an extension knows.
    Scheme(String),
    /// A shell of the machine, as the user of the system with this number.
    Shell(Option<u32>),
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
