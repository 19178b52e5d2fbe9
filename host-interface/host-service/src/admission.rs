//! Whether a request that was admitted would still be: one that waits, or one whose body arrives or whose answer is sent
//! for long. It is no new request, so it counts towards no limit.

use std::borrow::Borrow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::{Extensions, HeaderMap};
use host_interface::Caller;
use tokio::time::Instant;

use crate::access::{Access, Asking};
use crate::extension::Extension;
use crate::refusal::Refusal;
use crate::routing::Routes;

/// A request that was admitted, with what it has shown for that.
pub(crate) struct Admission<A: Access> {
    pub(crate) access: Arc<A>,
    pub(crate) routes: Arc<Routes>,
    /// The extension that it is for.
    pub(crate) extension: Extension,
    pub(crate) headers: Arc<HeaderMap>,
    pub(crate) extensions: Extensions,
    /// The user; `None` on a public route without credentials.
    pub(crate) user: Option<i64>,
}

impl<A: Access> Admission<A> {
    /// Checks that its extension is still enabled, and that its credentials are still those of the same user.
    pub(crate) async fn check(&self) -> Result<(), Refusal> {
        if !self.access.is_enabled(self.extension.name()) {
            return Err(Refusal::NotFound);
        }
        let Some(user) = self.user else { return Ok(()) };
        let enabled = |extension: &str| self.access.is_enabled(extension);
        let asking = Asking::new(&self.headers, &self.extensions, &self.routes, &enabled);
        let found = self.access.authenticate(asking.repeated()).await?;
        let found = found.ok_or(Refusal::Unauthorised)?;
        let caller: &Caller = found.borrow();
        if caller.user() == user { Ok(()) } else { Err(Refusal::Unauthorised) }
    }
}

/// For how long access is taken for granted before it is checked again.
const ADMITTED_FOR: Duration = Duration::from_secs(10);

/// Whether there is still access, once that is known.
type Answer = Pin<Box<dyn Future<Output = Result<(), Refusal>> + Send>>;

/// Checks from time to time whether a request that goes on would still be admitted.
pub(crate) struct Watch {
    /// When that was last known.
    admitted: Instant,
    /// Asks again.
    ask: Box<dyn Fn() -> Answer + Send>,
    /// The answer that is awaited.
    asked: Option<Answer>,
}

impl Watch {
    /// For a request that is admitted now.
    pub(crate) fn new(admission: &Arc<Admission<impl Access>>) -> Self {
        let admission = Arc::clone(admission);
        let ask = move || -> Answer {
            let admission = Arc::clone(&admission);
            Box::pin(async move { admission.check().await })
        };
        Self { admitted: Instant::now(), ask: Box::new(ask), asked: None }
    }

    /// Is ready when it is known whether there is access, which is seldom asked.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        if self.asked.is_none() && self.admitted.elapsed() < ADMITTED_FOR {
            return Poll::Ready(Ok(()));
        }
        let asked = self.asked.get_or_insert_with(&self.ask);
        let answer = ready!(asked.as_mut().poll(context));
        self.asked = None;
        self.admitted = Instant::now();
        match answer {
            Err(refusal) if refusal.ends_access() => Poll::Ready(Err(refusal)),
            // It is not known now, and asked again.
            _ => Poll::Ready(Ok(())),
        }
    }
}
