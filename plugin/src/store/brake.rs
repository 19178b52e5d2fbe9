//! Ending the statement of a connection when nobody waits for it any more: its request is over, or the
//! answer takes too long. Knows no driver.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a statement is given to notice that it is ended.
const ENDING: Duration = Duration::from_secs(2);

/// A handle that ends a statement of a connection while another task waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Brake {
    /// Set to end the statement. An engine in this process reads it as it works.
    pressed: Arc<AtomicBool>,
    /// The server and the connection's id there, where the server does not notice by itself that a
    /// connection was closed.
    pub(super) at: Option<(String, u64)>,
}

impl Brake {
    /// The brake of a connection with this id at a server.
    pub(super) fn at(server: String, connection: u64) -> Self {
        Self { at: Some((server, connection)), ..Self::default() }
    }

    /// The question that an engine asks as it works: whether it may go on.
    pub(super) fn released(&self) -> impl FnMut() -> bool + Send + 'static {
        let pressed = Arc::clone(&self.pressed);
        move || !pressed.load(Ordering::Relaxed)
    }

    /// Ends the statement.
    pub(super) fn press(&self) {
        self.pressed.store(true, Ordering::Relaxed);
    }

    /// Lets the connection run other statements.
    pub(super) fn release(&self) {
        self.pressed.store(false, Ordering::Relaxed);
    }

    /// Waits for an answer up to the limit, then ends the statement and waits a little for the failure
    /// that this leads to, after which the connection owes no answer. A server ends a statement by itself
    /// at the same limit. Nothing where no answer comes.
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
