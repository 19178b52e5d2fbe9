//! Who sends a request to the API: how that is marked before the checks, and what is known after them.

use std::borrow::Borrow;
use std::sync::Arc;

use host_interface::Caller;
use host_service::RateLimit;

use crate::base::secret::SecretHash;
use crate::site::snapshot::Identity;
use crate::watch::audit::Means;

/// The authenticated user, and the credentials.
pub(crate) struct Admitted {
    pub(crate) identity: Arc<Identity>,
    pub(crate) means: Means,
    /// The rate of the token, if it has one.
    pub(crate) limit: Option<RateLimit>,
}

impl Borrow<Caller> for Admitted {
    fn borrow(&self) -> &Caller {
        &self.identity.caller
    }
}

/// Marks a request as sent by a page of the administration on behalf of its user, in its extensions.
#[derive(Clone, Copy)]
pub(crate) struct SignedIn {
    pub(crate) user: i64,
    /// The hash of the session's secret.
    pub(crate) session: SecretHash,
}
