//! Jobs: work that a host has a plugin do at intervals.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Work to be done at intervals. Of all hosts of a site, one at a time runs a job; the next run
/// begins after the interval has passed since the last one ended, or as soon as
/// [`HostHandle::wake`](crate::HostHandle::wake) asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// The name, unique in the plugin: lower-case letters, digits and underscores.
    pub name: String,
    /// How long after one run the next begins, in milliseconds.
    pub every_ms: u64,
}

impl Job {
    /// A job that is run so often.
    pub fn new(name: impl Into<String>, every: Duration) -> Self {
        Self { name: name.into(), every_ms: u64::try_from(every.as_millis()).unwrap_or(u64::MAX) }
    }

    /// How long after one run the next begins.
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.every_ms)
    }
}
