//! Why a mail was not sent, and whether trying again is of any use.

use std::time::Duration;

use lettre::transport;

use crate::base::error::Error;

/// Why a mail was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MailError {
    /// The mail has a value that is not valid.
    #[error("{value:?} is not a valid {what} of a mail")]
    Impossible { what: &'static str, value: String },
    /// The server rejected the mail permanently.
    #[error("the mail server rejects it: {0}")]
    Refused(transport::smtp::Error),
    /// The server does not announce support for such an address.
    #[error("the mail server accepts only addresses in ASCII")]
    NotAscii,
    /// The server cannot be reached, or rejected the mail temporarily.
    #[error("the mail server cannot be used: {0}")]
    Unavailable(transport::smtp::Error),
    /// The server did not answer in time.
    #[error("the mail server did not answer within {} seconds", .0.as_secs())]
    TooSlow(Duration),
    /// The folder cannot be written to.
    #[error(transparent)]
    Site(#[from] Error),
}

impl MailError {
    /// Whether the same mail can never be sent.
    pub(crate) fn is_permanent(&self) -> bool {
        match self {
            Self::Impossible { .. } | Self::Refused(_) | Self::NotAscii => true,
            Self::Unavailable(_) | Self::TooSlow(_) | Self::Site(_) => false,
        }
    }
}
