//! An entry that a plugin adds to the audit trail of its host, for what no request did. Knows nothing of how the
//! trail is kept.

use serde::{Deserialize, Serialize};

/// What a plugin did of its own accord.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrailEntry {
    /// What was done, by a name such as `webhooks.disable`.
    pub action: String,
    /// The type of the record that it was done to; may be empty.
    #[serde(default)]
    pub kind: String,
    /// The key of that record; may be empty.
    #[serde(default)]
    pub id: String,
    /// One line for people, without secrets and without data of persons.
    #[serde(default)]
    pub details: String,
    /// The user on whose behalf it was done, 0 for nobody.
    #[serde(default)]
    pub user: i64,
}

impl TrailEntry {
    /// An entry for an action on a record.
    pub fn new(action: impl Into<String>, kind: impl Into<String>, id: impl Into<String>) -> Self {
        Self {
            action: action.into(),
            kind: kind.into(),
            id: id.into(),
            details: String::new(),
            user: 0,
        }
    }

    /// Adds a line for people.
    pub fn details(mut self, details: impl Into<String>) -> Self {
        self.details = details.into();
        self
    }

    /// Names the user on whose behalf it was done.
    pub fn user(mut self, user: i64) -> Self {
        self.user = user;
        self
    }
}
