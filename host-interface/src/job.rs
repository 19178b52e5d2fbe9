//! Jobs: work that a host has a plugin do at intervals. Knows nothing of how a host schedules them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Work to be done at intervals. Of all hosts that serve a site, one at a time runs a job. The next run
/// begins when the interval has passed since the last one ended, or as soon as
/// [`HostHandle::wake`](crate::HostHandle::wake) asks for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Job {
    /// The name, unique in the plugin: lower-case letters, digits and underscores.
    pub name: String,
    /// The time from the end of one run to the beginning of the next, in milliseconds.
    pub every_ms: u64,
}

impl Job {
    /// A job with this time from the end of one run to the beginning of the next.
    pub fn new(name: impl Into<String>, every: Duration) -> Self {
        Self { name: name.into(), every_ms: u64::try_from(every.as_millis()).unwrap_or(u64::MAX) }
    }

    /// The time from the end of one run to the beginning of the next.
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.every_ms)
    }
}
