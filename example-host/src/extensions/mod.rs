//! Extensions: the list of them, whether they are enabled, their parameters and jobs.
//! Requests and users are handled above.

pub(crate) mod demo;
pub(crate) mod jobs;
pub(crate) mod parameters;
pub(crate) mod registry;
