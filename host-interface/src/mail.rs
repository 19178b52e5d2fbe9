//! A mail that a plugin asks the host to send. How it is sent is the host's.

use serde::{Deserialize, Serialize};

/// A plain-text mail to one recipient.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// Identifies the mail for ever, so that a host recognises a repeated request: letters, digits
    /// and hyphens.
    pub id: String,
    /// The recipient's e-mail address.
    pub to: String,
    /// The recipient's name; may be empty.
    pub to_name: String,
    /// The subject, one line.
    pub subject: String,
    /// The body, lines ended by `\n`.
    pub text: String,
}
