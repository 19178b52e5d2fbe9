//! What everything else stands on: errors, settings and addresses. Knows nothing of the rest.

pub(crate) mod database_url;
pub(crate) mod error;
pub(crate) mod private;
pub(crate) mod settings;
