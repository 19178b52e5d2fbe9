//! A request that a plugin asks the host to send to another site, and what came of it. Knows nothing of how it
//! is sent.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A POST request to another site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delivery {
    /// The address of the receiver: `https`, or what the site allows beside it.
    pub url: String,
    /// The headers, names in lower case. The host adds `host`, `content-length` and, if it is missing,
    /// `user-agent`.
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    /// The body, sent byte for byte.
    pub body: String,
    /// How long the connection may take, in milliseconds, TLS included.
    pub connect_ms: u64,
    /// How long everything may take, in milliseconds, the answer included.
    pub total_ms: u64,
}

impl Delivery {
    /// A request without headers, with 5 s for the connection and 15 s for everything.
    pub fn new(url: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: Vec::new(),
            body: body.into(),
            connect_ms: 5_000,
            total_ms: 15_000,
        }
    }

    /// Adds a header.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Sets how long the connection and everything may take.
    pub fn within(mut self, connect: Duration, total: Duration) -> Self {
        (self.connect_ms, self.total_ms) = (milliseconds(connect), milliseconds(total));
        self
    }
}

/// What came of a [`Delivery`]. The content of an answer is never passed on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Delivered {
    /// The status of the answer, `None` without one.
    #[serde(default)]
    pub status: Option<u16>,
    /// The earliest next attempt that the answer asks for by `Retry-After`, in milliseconds from now.
    #[serde(default)]
    pub retry_after_ms: Option<u64>,
    /// Why there is no answer, see [`undelivered`](crate::undelivered).
    #[serde(default)]
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

impl Delivered {
    /// An answer with this status.
    pub fn answered(status: u16, duration: Duration) -> Self {
        Self { status: Some(status), duration_ms: milliseconds(duration), ..Self::default() }
    }

    /// No answer, for a reason of [`undelivered`](crate::undelivered).
    pub fn failed(error: impl Into<String>, duration: Duration) -> Self {
        Self { error: Some(error.into()), duration_ms: milliseconds(duration), ..Self::default() }
    }

    /// Sets when the answer asks for the next attempt at the earliest.
    pub fn retry_after(mut self, time: Option<Duration>) -> Self {
        self.retry_after_ms = time.map(milliseconds);
        self
    }

    /// Whether the receiver has accepted it: a status from 200 to 299.
    pub fn is_accepted(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
