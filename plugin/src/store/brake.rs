//! Ending what a connection does when nobody waits for it any more: its request is over, or the answer
//! takes too long.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::ENDING;

/// What ends what a connection does, for somebody who cannot ask the connection itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Brake {
    /// What an engine in this process asks again and again as it works.
    pressed: Arc<AtomicBool>,
    /// Which server a connection is to, and what it is there, where the server does not notice by
    /// itself that it has gone.
    pub(super) at: Option<(String, u64)>,
}

impl Brake {
    /// That of a connection to a server.
    pub(super) fn at(server: String, connection: u64) -> Self {
        Self { at: Some((server, connection)), ..Self::default() }
    }

    /// What an engine asks as it works: whether it may go on.
    pub(super) fn released(&self) -> impl FnMut() -> bool + Send + 'static {
        let pressed = Arc::clone(&self.pressed);
        move || !pressed.load(Ordering::Relaxed)
    }

    /// Ends what the connection does.
    pub(super) fn press(&self) {
        self.pressed.store(true, Ordering::Relaxed);
    }

    /// Lets it do something else.
    pub(super) fn release(&self) {
        self.pressed.store(false, Ordering::Relaxed);
    }

    /// Waits for an answer so long; then ends what is asked, and waits a little for what comes of that,
    /// after which the connection owes nothing. A server ends a statement by itself. Nothing where there
    /// is still no answer.
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
