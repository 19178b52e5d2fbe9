//! The phases of a server: it serves, it drains, it stops. Knows neither connections nor requests.

use tokio::sync::watch;
use tokio::time::Instant;

/// A phase of a server. Each one follows the one before it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Phase {
    /// Requests are answered.
    #[default]
    Serving,
    /// Requests are still answered, but each answer closes its connection, and the health is a 503,
    /// so that clients and balancers go to another server.
    Draining,
    /// No more connections are accepted, and those without a request are closed.
    Stopping(Stop),
}

/// The deadlines of a stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Until then requests in progress may finish.
    pub(crate) finish_by: Instant,
    /// Until then aborted requests are waited for.
    pub(crate) abort_by: Instant,
}

/// Follows the phase of a server.
#[derive(Clone, Debug)]
pub(crate) struct Phases(watch::Receiver<Phase>);

impl Phases {
    /// A server that serves, and what moves it to its next phase. When that is dropped, the server
    /// stops at once.
    pub(crate) fn begin() -> (watch::Sender<Phase>, Self) {
        let (sender, receiver) = watch::channel(Phase::default());
        (sender, Self(receiver))
    }

    /// Whether the server neither drains nor stops.
    pub(crate) fn is_serving(&self) -> bool {
        matches!(*self.0.borrow(), Phase::Serving)
    }

    /// Waits for the stop.
    pub(crate) async fn stopped(&mut self) -> Stop {
        let stopping = self.0.wait_for(|phase| matches!(phase, Phase::Stopping(_))).await;
        match stopping.as_deref() {
            Ok(Phase::Stopping(stop)) => *stop,
            _ => {
                let now = Instant::now();
                Stop { finish_by: now, abort_by: now }
            }
        }
    }
}
