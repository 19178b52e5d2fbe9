//! Extensions: which there are, whether they are in use, their libraries, their parameters and their
//! routes. Knows nothing of HTTP and of who asks.

pub(crate) mod demo;
pub(crate) mod loader;
pub(crate) mod parameters;
pub(crate) mod registry;
pub(crate) mod routing;
