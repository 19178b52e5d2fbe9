//! The id that stands on each response and on every log line about its request.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderValue};

use crate::error::Error;

/// The header that carries it, both ways.
pub(super) const HEADER: &str = "x-request-id";

/// Makes ids that are unique without asking the system each time: what is random about them is
/// the start of the server.
pub(super) struct RequestIds {
    prefix: u64,
    next: AtomicU64,
}

/// The id of one request.
#[derive(Clone, Debug)]
pub(super) struct RequestId(HeaderValue);

impl RequestIds {
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self { prefix: getrandom::u64()?, next: AtomicU64::new(1) })
    }

    /// The id that the client sent, if it is one that may stand in a log, else a new one.
    pub(super) fn of(&self, headers: &HeaderMap) -> RequestId {
        let sent = headers.get(HEADER).filter(|value| acceptable(value.as_bytes()));
        RequestId(sent.cloned().unwrap_or_else(|| self.fresh()))
    }

    fn fresh(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut text = String::with_capacity(25);
        // Writing to a string cannot fail, and digits and a hyphen are a header's value.
        let _ = write!(text, "{:016x}-{number:x}", self.prefix);
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("none"))
    }
}

impl RequestId {
    /// The id of a request that has got one.
    pub(super) fn known(id: &str) -> Self {
        Self(HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("none")))
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }

    pub(super) fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

fn acceptable(id: &[u8]) -> bool {
    let fits = (1..=64).contains(&id.len());
    fits && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}
