//! Authentication by a plugin: identifying a user by an `Authorization` header.

use serde::{Deserialize, Serialize};

/// What an `Authorization` header carried, for example `Bearer` and the token.
#[derive(Clone, Serialize, Deserialize)]
pub struct Credentials {
    scheme: String,
    secret: String,
}

impl Credentials {
    /// The credentials of one request.
    pub fn new(scheme: impl Into<String>, secret: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), secret: secret.into() }
    }

    /// The authentication scheme in lower case, for example `bearer`.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// What follows the scheme. Never to be logged.
    pub fn secret(&self) -> &str {
        &self.secret
    }
}

/// The secret must not reach a log by way of a debug format.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("scheme", &self.scheme).finish_non_exhaustive()
    }
}

/// What an authenticator concludes from [`Credentials`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Verdict {
    /// They are the credentials of the user with this primary key. The host still refuses a user who
    /// is blocked or removed.
    User(i64),
    /// They are of a kind that this authenticator checks, and they are wrong.
    Refused,
    /// They are of a kind that this authenticator does not know; the next one is asked.
    Unknown,
}
