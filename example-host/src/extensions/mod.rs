//! Extensions: the list of them, whether they are enabled, their libraries, parameters and routes.
//! Requests and users are handled above.

pub(crate) mod demo;
pub(crate) mod jobs;
pub(crate) mod loader;
pub(crate) mod parameters;
pub(crate) mod registry;
pub(crate) mod routing;
