//! The pages about the records of extensions.

pub(in crate::admin) mod action;
mod at;
mod conflict;
pub(in crate::admin) mod create;
pub(in crate::admin) mod delete;
mod done;
pub(in crate::admin) mod edit;
mod form;
