//! Whether a request that was admitted would still be: one that waits, or one whose body arrives for long. It is no
//! new request, so it counts towards no limit.

use std::borrow::Borrow;
use std::sync::Arc;

use axum::http::{Extensions, HeaderMap};
use host_interface::Caller;

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
    pub(crate) headers: HeaderMap,
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
