//! The API: what this host decides about the requests to extensions, and what it records of them.
//! Connections and encryption are handled in `server`, the way to a plugin in `host-service`.

pub(crate) mod asking;
pub(crate) mod errors;
pub(crate) mod gate;
pub(crate) mod notes;
