//! Extensions: the list of them, whether they are enabled, their commands, parameters and jobs.
//! Requests and users are handled above.

pub(crate) mod commands;
pub(crate) mod jobs;
pub(crate) mod parameters;
pub(crate) mod registry;
