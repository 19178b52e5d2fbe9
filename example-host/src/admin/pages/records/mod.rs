//! The pages about the records of extensions.

pub(crate) mod action;
mod at;
mod conflict;
pub(crate) mod create;
pub(crate) mod delete;
mod done;
pub(crate) mod edit;
mod form;
