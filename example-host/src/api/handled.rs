//! What only the one who answered knows about a request, left in the extensions of its response for the
//! log and the metrics.

use std::sync::Arc;

/// The route that answered, and for whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handled {
    /// The route's name.
    pub(crate) route: Arc<str>,
    /// The user's key; 0 where nobody was asked for.
    pub(crate) user: i64,
}
