//! Why there is no page. How that is put to a person is the view's.

use crate::base::error::Error;

use super::place::Needed;

/// Why there is no page.
#[derive(Debug)]
pub(crate) enum Problem {
    NotFound,
    NoSuchMethod,
    /// The form was not sent from a page of this site, or the session has changed since.
    ForeignForm,
    /// Whoever has signed in may not do this; it needs this permission.
    Forbidden(Needed),
    /// A rule of the site forbids it, in words for whoever asks.
    Refused(String),
    /// It cannot be done now.
    Unavailable,
    /// The program is at fault.
    Failed,
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound { .. } => Problem::NotFound,
            Error::Invalid(why) => Problem::Refused(why),
            taken @ Error::Taken { .. } => Problem::Refused(taken.to_string()),
            Error::Database(error) => {
                tracing::error!(%error, "the host's database failed");
                Problem::Unavailable
            }
            error => {
                tracing::error!(%error, "a page could not be made");
                Problem::Failed
            }
        }
    }
}

impl From<askama::Error> for Problem {
    fn from(error: askama::Error) -> Self {
        tracing::error!(%error, "a page could not be written");
        Problem::Failed
    }
}
