//! What follows for this host when a request waits: its connection is left out of the limits, it is
//! counted, and its time is kept for the log. Which requests wait, and for how long, is decided by
//! `host-service`.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use host_service::OnWait;

use crate::watch::metrics::{Guard, Metrics};

use super::limits::{Aside, Permit};

/// For how long a request has waited, if it was granted a wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waited(Arc<OnceLock<Duration>>);

impl Waited {
    /// The time, once the wait has ended.
    pub(crate) fn time(&self) -> Option<Duration> {
        self.0.get().copied()
    }
}

/// What is to be done when a request on the connection of this permit waits. It holds the permit of no
/// connection that has ended: what is known of a request may last longer, for example in a change.
pub(crate) fn on_wait(permit: Weak<Permit>, metrics: Arc<Metrics>, waited: Waited) -> OnWait {
    OnWait::new(move || Waiting {
        _aside: permit.upgrade().map(|permit| permit.set_aside()),
        _counted: metrics.waiting(),
        began: Instant::now(),
        waited: waited.clone(),
    })
}

/// A request that waits until this is dropped.
struct Waiting {
    _aside: Option<Aside>,
    _counted: Guard,
    began: Instant,
    waited: Waited,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // A request waits once, so there is no time yet.
        let _ = self.waited.0.set(self.began.elapsed());
    }
}
