//! The table of the host's own error answers. The cause of a failure is logged and never sent to
//! the client.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use serde::Serialize;

use crate::rate::RateLimit;
use crate::request_id::RequestId;

/// The media type of every error document.
const MEDIA_TYPE: &str = "application/vnd.api+json";

/// Why the host refuses a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The request does not name its host exactly once: 400.
    BadHost,
    /// Nothing is at this path: 404.
    NotFound,
    /// The path has no route for the method: 405.
    MethodNotAllowed {
        /// The methods of the path, as in an `Allow` header.
        allow: String,
    },
    /// The `Accept` header does not name the media type: 406.
    NotAcceptable {
        /// The media type of the extension, or those of the route.
        media_type: String,
    },
    /// The user is not known, or has no access to the API: 401.
    Unauthorised,
    /// The token that was sent has expired: 401.
    Expired,
    /// The token that was sent may not be used from the address of the client: 403.
    AddressNotAllowed,
    /// More requests were sent with the token than it allows in a time: 429.
    TooManyRequests(RateLimit),
    /// The body has more bytes than the limit: 413.
    BodyTooLarge {
        /// The limit in bytes.
        limit: usize,
    },
    /// The body broke off: 400.
    BodyIncomplete,
    /// The body did not arrive in time: 408.
    BodyTooSlow,
    /// An extension failed: 500.
    Internal,
    /// An extension took too long: 504.
    Timeout,
    /// The site cannot answer at the moment: 503.
    Unavailable,
    /// Too many requests of the same token or client wait: 503.
    TooManyWaits,
}

impl Refusal {
    /// The table: status, code, title and detail of each.
    fn problem(&self, id: &RequestId) -> Problem {
        let (status, code, title, detail) = match self {
            Refusal::BadHost => (
                400,
                "invalid_host",
                "Invalid host",
                "A request must name its host exactly once.".to_owned(),
            ),
            Refusal::NotFound => {
                (404, "not_found", "Not found", "There is nothing at this path.".to_owned())
            }
            Refusal::MethodNotAllowed { allow } => (
                405,
                "method_not_allowed",
                "Method not allowed",
                format!("This path supports {allow}."),
            ),
            Refusal::NotAcceptable { media_type } => (
                406,
                "not_acceptable",
                "Not acceptable",
                format!(
                    "The Accept header must name {media_type}, with no parameters but ext, profile and q."
                ),
            ),
            Refusal::Unauthorised => (
                401,
                "unauthorised",
                "Unauthorised",
                "This route needs a user with access to the API. The credentials, such as a token in \
                 the header `Authorization: Bearer …`, are missing or wrong, or their user has no \
                 such access."
                    .to_owned(),
            ),
            Refusal::Expired => (
                401,
                "token_expired",
                "Token expired",
                "The token has expired. An administrator can rotate it, or create another.".to_owned(),
            ),
            Refusal::AddressNotAllowed => (
                403,
                "address_not_allowed",
                "Address not allowed",
                "The token may not be used from the address that the request came from.".to_owned(),
            ),
            Refusal::TooManyRequests(RateLimit { quota, window, reset, .. }) => (
                429,
                "too_many_requests",
                "Too many requests",
                format!(
                    "The token allows {quota} requests in {window} seconds. The next one is allowed in \
                     {reset} seconds."
                ),
            ),
            Refusal::BodyTooLarge { limit } => (
                413,
                "body_too_large",
                "Body too large",
                format!("The body of a request may have at most {limit} bytes."),
            ),
            Refusal::BodyIncomplete => (
                400,
                "body_incomplete",
                "Body incomplete",
                "The body of the request is incomplete or broken.".to_owned(),
            ),
            Refusal::BodyTooSlow => (
                408,
                "body_timeout",
                "Request timeout",
                "The body of the request did not arrive in time.".to_owned(),
            ),
            Refusal::Internal => (
                500,
                "internal_error",
                "Internal error",
                format!(
                    "The site failed to answer. The operator can find the cause by the request id \
                     {}.",
                    id.as_str()
                ),
            ),
            Refusal::Timeout => (
                504,
                "timeout",
                "Timeout",
                format!(
                    "The answer took too long. Changes that the request asked for may have been \
                     made. The operator can find out by the request id {}.",
                    id.as_str()
                ),
            ),
            Refusal::Unavailable => (
                503,
                "unavailable",
                "Temporarily unavailable",
                "The site is temporarily unavailable; try again in a moment.".to_owned(),
            ),
            Refusal::TooManyWaits => (
                503,
                "unavailable",
                "Temporarily unavailable",
                "Too many requests with this token or from this address are waiting; try again in a \
                 moment, or without `Prefer: wait`."
                    .to_owned(),
            ),
        };
        Problem {
            status,
            code,
            title,
            detail,
            source: self.header().map(|header| Source { header }),
        }
    }

    /// Whether the request would be refused again, and not only at the moment.
    pub(crate) fn ends_access(&self) -> bool {
        matches!(
            self,
            Self::NotFound | Self::Unauthorised | Self::Expired | Self::AddressNotAllowed
        )
    }

    /// What went wrong, as one line for an extension.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Refusal::BodyTooLarge { .. } => "the body is too large",
            Refusal::BodyTooSlow => "the body did not arrive in time",
            _ if self.ends_access() => "its sender has no access any more",
            _ => "the body is incomplete",
        }
    }

    /// The request header that caused the error.
    fn header(&self) -> Option<&'static str> {
        match self {
            Refusal::BadHost => Some("Host"),
            Refusal::NotAcceptable { .. } => Some("Accept"),
            Refusal::Unauthorised
            | Refusal::Expired
            | Refusal::AddressNotAllowed
            | Refusal::TooManyRequests(_) => Some("Authorization"),
            _ => None,
        }
    }

    /// The whole response, an error document of JSON:API.
    pub fn response(&self, id: &RequestId) -> Response<Body> {
        let problem = self.problem(id);
        let status = problem.status;
        // A document of only text and numbers can always be serialised.
        let document = serde_json::to_vec(&Document { errors: [problem] }).unwrap_or_default();
        let mut response = Response::new(Body::from(document));
        *response.status_mut() =
            StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        match self {
            Refusal::MethodNotAllowed { allow } => {
                if let Ok(allow) = HeaderValue::from_str(allow) {
                    headers.insert(header::ALLOW, allow);
                }
            }
            Refusal::Unauthorised => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            Refusal::Expired => {
                let challenge =
                    "Bearer error=\"invalid_token\", error_description=\"The token has expired\"";
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
            }
            Refusal::TooManyRequests(limit) => {
                limit.apply(headers);
                headers.insert(header::RETRY_AFTER, HeaderValue::from(limit.reset));
            }
            Refusal::Unavailable | Refusal::TooManyWaits => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
            }
            // The rest of the body would be read as the next request, and after an ambiguous
            // request the connection cannot be trusted.
            Refusal::BadHost | Refusal::BodyTooSlow | Refusal::BodyTooLarge { .. } => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// The error document of JSON:API, which clients of the extensions also understand.
#[derive(Serialize)]
struct Document {
    errors: [Problem; 1],
}

/// An error in the document.
#[derive(Serialize)]
struct Problem {
    status: u16,
    code: &'static str,
    title: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
}

/// The part of the request that caused the error.
#[derive(Serialize)]
struct Source {
    header: &'static str,
}
