//! A user of the host, as plugins see one.

use serde::{Deserialize, Serialize};

/// A user of the host. Passwords, tokens and groups never cross.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct User {
    /// The primary key, greater than zero.
    pub id: i64,
    /// The name to sign in with.
    pub username: String,
    /// The name to show.
    #[serde(default)]
    pub name: String,
    /// The e-mail address.
    #[serde(default)]
    pub email: String,
}

impl User {
    /// A user by the primary key, the name to sign in with, the name to show and the e-mail address.
    pub fn new(
        id: i64,
        username: impl Into<String>,
        name: impl Into<String>,
        email: impl Into<String>,
    ) -> Self {
        Self { id, username: username.into(), name: name.into(), email: email.into() }
    }
}

/// What a user is looked up by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UserQuery {
    /// The primary key.
    Id(i64),
    /// The name to sign in with, without regard to case.
    Username(String),
    /// The e-mail address, without regard to case.
    Email(String),
}
