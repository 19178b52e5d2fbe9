//! An entry of the audit trail: the user, the credentials, the action and the record. It contains
//! no data of the request.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use time::PrimitiveDateTime;

use crate::base::secret::{SecretHash, fingerprint};
use crate::base::text::now;

/// Where a change comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Administration,
    Api,
    CommandLine,
    /// Of its own accord.
    Extension,
}

impl Origin {
    pub(crate) const ALL: [Origin; 4] =
        [Origin::Administration, Origin::Api, Origin::CommandLine, Origin::Extension];

    /// The name that is stored and used in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Origin::Administration => "administration",
            Origin::Api => "api",
            Origin::CommandLine => "command-line",
            Origin::Extension => "extension",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Origin::Administration => "Administration",
            Origin::Api => "API",
            Origin::CommandLine => "Command line",
            Origin::Extension => "Extension",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|origin| origin.name() == name)
    }
}

/// The credentials that identified the user.
#[derive(Clone, Debug)]
pub(crate) enum Means {
    /// The session with this hash.
    Session(SecretHash),
    /// An API token: the hash of its secret, and its name.
    Token { hash: SecretHash, name: Arc<str> },
    /// A password, right or wrong, from this address.
    Password(IpAddr),
    /// A link of a mail, opened from this address.
    Link(IpAddr),
    /// Credentials of this scheme, which an extension has checked.
    Scheme(String),
    /// A shell, with the numeric id of the system user.
    Shell(Option<u32>),
    /// None: the extension of this name has acted of its own accord.
    Extension(String),
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Means::Session(hash) => write!(f, "session {}", fingerprint(hash)),
            Means::Token { hash, name } => write!(f, "token {} {name}", fingerprint(hash)),
            Means::Password(client) => write!(f, "password, from {client}"),
            Means::Link(client) => write!(f, "link, from {client}"),
            Means::Scheme(scheme) => f.write_str(scheme),
            Means::Shell(Some(uid)) => write!(f, "command line, uid {uid}"),
            Means::Shell(None) => f.write_str("command line"),
            Means::Extension(name) => write!(f, "extension {name}"),
        }
    }
}

/// The record that was changed: its kind and its key, for example `user` and `5`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) kind: String,
    pub(crate) id: String,
}

/// A recorded change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) at: PrimitiveDateTime,
    /// 0 if no user was signed in.
    pub(crate) user: i64,
    /// The name at the time of the change.
    pub(crate) username: String,
    pub(crate) means: String,
    pub(crate) origin: Origin,
    pub(crate) method: String,
    /// The name of the route, the page or the command.
    pub(crate) route: String,
    /// A description of the action, if the route is not enough.
    pub(crate) what: String,
    pub(crate) record: Record,
    pub(crate) status: u16,
    /// The id of the request in the log.
    pub(crate) request: String,
    /// The id that the client sent, which need not be unique.
    pub(crate) request_of_client: Option<String>,
    /// Whether it is kept for a number of days, however many others are written meanwhile: it is about
    /// users, groups, rules, tokens, extensions or parameters, or about a command that administrators
    /// rarely give. Nobody else can cause such entries.
    pub(crate) lasting: bool,
}

impl Entry {
    /// An entry for the current time, without a user.
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
            lasting: false,
        }
    }

    /// Sets the user and the credentials.
    pub(crate) fn by(mut self, user: i64, username: &str, means: &Means) -> Self {
        (self.user, self.username, self.means) = (user, username.to_owned(), means.to_string());
        self
    }

    /// Sets the status of the answer and the id of the request.
    pub(crate) fn answered(mut self, status: u16, request: &str) -> Self {
        (self.status, self.request) = (status, request.to_owned());
        self
    }

    /// Sets the id that the client sent.
    pub(crate) fn called(mut self, request: Option<&str>) -> Self {
        self.request_of_client = request.map(str::to_owned);
        self
    }

    /// Sets the description of the action.
    pub(crate) fn saying(mut self, what: &str) -> Self {
        what.clone_into(&mut self.what);
        self
    }
}
