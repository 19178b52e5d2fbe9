//! A limit on the number of requests in a time, as clients see it: the headers `RateLimit-Policy` and
//! `RateLimit` of the IETF draft "RateLimit header fields for HTTP". How requests are counted is not decided
//! here.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// What is allowed.
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// What is left of it.
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The limit of a token, and how far it has been used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How many requests are allowed in the window.
    pub quota: u64,
    /// The window, in seconds.
    pub window: u64,
    /// How many more requests are allowed now.
    pub remaining: u64,
    /// In how many seconds more are allowed.
    pub reset: u64,
}

impl RateLimit {
    /// Names the limit in the headers of an answer.
    pub fn apply(&self, headers: &mut HeaderMap) {
        let Self { quota, window, remaining, reset } = self;
        for (name, value) in [
            (POLICY, format!("\"token\";q={quota};w={window}")),
            (LIMIT, format!("\"token\";r={remaining};t={reset}")),
        ] {
            // Digits and punctuation are always a valid value.
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(name, value);
            }
        }
    }
}
