//! The pages about the records of extensions.

pub(crate) mod action;
mod at;
mod conflict;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod detail;
mod done;
pub(crate) mod edit;
pub(crate) mod file;
mod form;
mod grid;
pub(crate) mod list;
pub(crate) mod search;
