//! Ends the statement of a connection when nothing waits for it any more: its request is over, or
//! the answer takes too long. Independent of drivers.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a statement may take to notice that it is being ended.
const ENDING: Duration = Duration::from_secs(2);

/// A handle that ends a statement of a connection while another task waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Brake {
    /// Set to end the statement. An embedded engine reads it while it works.
    pressed: Arc<AtomicBool>,
    /// The server and the connection's id on it, where the server does not notice by itself that a
    /// connection was closed.
    pub(super) at: Option<(String, u64)>,
}

impl Brake {
    /// The brake of the connection with this id on a server.
    pub(super) fn at(server: String, connection: u64) -> Self {
        Self { at: Some((server, connection)), ..Self::default() }
    }

    /// A function for an embedded engine to call while it works; returns whether it may continue.
    pub(super) fn released(&self) -> impl FnMut() -> bool + Send + 'static {
        let pressed = Arc::clone(&self.pressed);
        move || !pressed.load(Ordering::Relaxed)
    }

    /// Ends the statement.
    pub(super) fn press(&self) {
        self.pressed.store(true, Ordering::Relaxed);
    }

    /// Permits the connection to run further statements.
    pub(super) fn release(&self) {
        self.pressed.store(false, Ordering::Relaxed);
    }

    /// Waits for an answer up to the limit, then ends the statement and waits briefly for the
    /// resulting failure, after which no answer is outstanding. A server ends a statement by itself
    /// at the same limit. Returns `None` if no answer comes.
    pub(super) async fn answered<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        if let Ok(answer) = tokio::time::timeout(limit, &mut work).await {
            return Some(answer);
        }
        self.press();
        let answer = tokio::time::timeout(ENDING, work).await;
        if answer.is_ok() {
            self.release();
        }
        answer.ok()
    }
}
