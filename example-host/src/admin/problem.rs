//! The reasons why a request to a page fails. Their texts are in `view.rs`.

use axum::http::StatusCode;

use crate::base::error::Error;

use super::authenticator::Later;
use super::paths::Needed;

/// Why a request to a page fails.
#[derive(Debug)]
pub(crate) enum Problem {
    NotFound,
    NoSuchMethod,
    /// The form was not sent from a page of this site, or the session has changed since.
    ForeignForm,
    /// The user lacks this permission.
    Forbidden(Needed),
    /// The request is refused, with a reason for the user.
    Refused(String),
    /// A password was not checked, so nothing was changed.
    Later(Later),
    /// The API has not answered with a record or a list.
    Trouble(Trouble),
    /// The page as a whole has taken too long.
    Late,
    /// The database does not answer.
    Unavailable,
    /// An internal error.
    Failed,
}

/// Why there is nothing of the API to show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// There is no such record, or no longer.
    Gone,
    /// The user may not see it, for a reason in the words of the API, which may be empty.
    Denied(String),
    /// It has no time now.
    Busy,
    /// It has taken too long.
    Slow,
    /// It has failed.
    Failing,
}

impl Trouble {
    /// What is wrong with the extension itself, by the status of its answer. Another answer is about the request.
    pub(crate) fn of_extension(status: StatusCode) -> Option<Self> {
        match status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => Some(Self::Busy),
            StatusCode::GATEWAY_TIMEOUT | StatusCode::REQUEST_TIMEOUT => Some(Self::Slow),
            status if status.is_server_error() => Some(Self::Failing),
            _ => None,
        }
    }

    /// The status of a page about it.
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Gone => StatusCode::NOT_FOUND,
            Self::Denied(_) => StatusCode::FORBIDDEN,
            Self::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Self::Slow => StatusCode::GATEWAY_TIMEOUT,
            Self::Failing => StatusCode::BAD_GATEWAY,
        }
    }
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
                tracing::error!(%error, "a page failed");
                Problem::Failed
            }
        }
    }
}

impl From<askama::Error> for Problem {
    fn from(error: askama::Error) -> Self {
        tracing::error!(%error, "a page could not be rendered");
        Problem::Failed
    }
}
