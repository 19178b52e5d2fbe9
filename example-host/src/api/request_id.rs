//! The id on each response and on every log line about its request. It is the host's own, or that of a
//! proxy that the site knows; the id of any other client is kept beside it, because a client that could
//! choose the id could give two requests the same one.
//!
//! Neither a UUID nor a ULID, because those ask for random bytes for each request; a counter behind
//! one random prefix costs nothing and is as unique.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::{HeaderMap, HeaderValue};

use crate::base::error::Error;

/// The header that carries it, both ways.
pub(crate) const HEADER: &str = "x-request-id";

/// Makes ids that are unique without asking the system each time: what is random about them is
/// the start of the server.
pub(crate) struct RequestIds {
    prefix: u64,
    next: AtomicU64,
}

/// The id of one request.
#[derive(Clone, Debug)]
pub(crate) struct RequestId {
    id: HeaderValue,
    /// What the client calls it.
    of_client: Option<HeaderValue>,
}

impl RequestIds {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self { prefix: getrandom::u64()?, next: AtomicU64::new(1) })
    }

    /// The id of a request with these headers, whose peer is a proxy that is believed or not.
    pub(crate) fn of(&self, headers: &HeaderMap, believed: bool) -> RequestId {
        let sent = headers.get(HEADER).filter(|value| acceptable(value.as_bytes())).cloned();
        match sent {
            Some(id) if believed => RequestId { id, of_client: None },
            of_client => RequestId { id: self.fresh(), of_client },
        }
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
    pub(crate) fn known(id: &str) -> Self {
        let id = HeaderValue::from_str(id).unwrap_or(HeaderValue::from_static("none"));
        Self { id, of_client: None }
    }

    pub(crate) fn as_str(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    /// The client's own id of the request, if it may stand in a log.
    pub(crate) fn of_client(&self) -> Option<&str> {
        self.of_client.as_ref().and_then(|id| id.to_str().ok())
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.id.clone()
    }
}

fn acceptable(id: &[u8]) -> bool {
    let fits = (1..=64).contains(&id.len());
    fits && id.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
}
