//! The route and the user of a request, stored in the extensions of its response for the log and
//! the metrics.

use std::sync::Arc;

/// The route and the user of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handled {
    /// The route's name.
    pub(crate) route: Arc<str>,
    /// The user's key; 0 if no user was authenticated.
    pub(crate) user: i64,
}
