//! The route and the user of a request, stored in the extensions of its response for the
//! application's log and metrics.

use std::sync::Arc;

/// The route and the user of a request.
#[derive(Clone, Debug, Default)]
pub struct Handled {
    /// The route's name.
    pub route: Arc<str>,
    /// The user's key; 0 if no user was authenticated.
    pub user: i64,
}
