//! What everything else stands on: errors, settings, addresses, text and secrets. Knows nothing of the
//! rest.

pub(crate) mod database_url;
pub(crate) mod error;
pub(crate) mod private;
pub(crate) mod secret;
pub(crate) mod settings;
pub(crate) mod smtp_url;
pub(crate) mod text;
pub(crate) mod tls_files;
