//! A mail that a plugin asks the host to send. Knows nothing of how it is sent.

use serde::{Deserialize, Serialize};

/// A plain-text mail to one recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Mail {
    /// Identifies the mail for ever, so that a host recognises a repeated request: letters, digits
    /// and hyphens.
    pub id: String,
    /// The recipient's e-mail address.
    pub to: String,
    /// The recipient's name; may be empty.
    #[serde(default)]
    pub to_name: String,
    /// The subject, one line.
    pub subject: String,
    /// The body, lines ended by `\n`.
    pub text: String,
}

impl Mail {
    /// A mail to an address, without the recipient's name.
    pub fn new(
        id: impl Into<String>,
        to: impl Into<String>,
        subject: impl Into<String>,
        text: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            to: to.into(),
            to_name: String::new(),
            subject: subject.into(),
            text: text.into(),
        }
    }

    /// Sets the recipient's name.
    pub fn to_name(mut self, name: impl Into<String>) -> Self {
        self.to_name = name.into();
        self
    }
}
