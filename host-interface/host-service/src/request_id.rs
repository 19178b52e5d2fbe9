//! The id of a request, in its response and in its log lines. The host generates it, or a trusted
//! proxy sends it. The id of any other client is only recorded in addition, because a client could
//! send the same id twice.
//!
//! It is neither a UUID nor a ULID, because those need random bytes for each request; a random
//! prefix and a counter are cheaper and just as unique.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderValue};

use crate::error::Error;

/// The header of the id, in requests and responses.
pub const HEADER: &str = "x-request-id";

/// Generates unique ids: a random prefix for this start of the host, and a counter.
#[derive(Debug)]
pub struct RequestIds {
    prefix: u64,
    next: AtomicU64,
}

/// The id of one request.
#[derive(Clone, Debug)]
pub struct RequestId {
    id: HeaderValue,
    /// The id that the client sent.
    of_client: Option<HeaderValue>,
}

impl RequestIds {
    /// A new random prefix.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn new() -> Result<Self, Error> {
        Ok(Self { prefix: getrandom::u64()?, next: AtomicU64::new(1) })
    }

    /// The id of a request with these headers. The id in the headers is used if the peer is
    /// trusted.
    pub fn of(&self, headers: &HeaderMap, trusted: bool) -> RequestId {
        let sent = headers.get(HEADER).filter(|value| acceptable(value.as_bytes())).cloned();
        match sent {
            Some(id) if trusted => RequestId { id, of_client: None },
            of_client => RequestId { id: self.fresh(), of_client },
        }
    }

    fn fresh(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut text = String::with_capacity(25);
        // Writing to a string cannot fail, and digits and a hyphen are valid in a header.
        let _ = write!(text, "{:016x}-{number:x}", self.prefix);
        HeaderValue::from_str(&text).unwrap_or(HeaderValue::from_static("none"))
    }
}

impl RequestId {
    /// An existing id.
    pub fn known(id: &str) -> Self {
        let id = HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("none"));
        Self { id, of_client: None }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// The id that the client sent, if it is safe to log.
    pub fn of_client(&self) -> Option<&str> {
        self.of_client.as_ref().and_then(|id| id.to_str().ok())
    }

    /// The id as the value of a header.
    pub fn header(&self) -> HeaderValue {
        self.id.clone()
    }
}

fn acceptable(id: &[u8]) -> bool {
    let fits = (1..=64).contains(&id.len());
    fits && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}
