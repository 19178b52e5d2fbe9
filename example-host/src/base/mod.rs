//! The foundation of the crate: errors, settings, addresses, text and secrets. Depends on no other
//! room.

pub(crate) mod database_url;
pub(crate) mod databases;
pub(crate) mod error;
pub(crate) mod lock;
pub(crate) mod moment;
pub(crate) mod opaque;
pub(crate) mod private;
pub(crate) mod secret;
pub(crate) mod secret_key;
pub(crate) mod settings;
pub(crate) mod smtp_url;
pub(crate) mod text;
pub(crate) mod tls_files;
pub(crate) mod token_text;
pub(crate) mod variables;
