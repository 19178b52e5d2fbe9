//! The pages about the records of extensions.

mod at;
mod conflict;
pub(crate) mod delete;
pub(crate) mod detail;
mod done;
pub(crate) mod edit;
pub(crate) mod file;
mod form;
mod grid;
pub(crate) mod list;
pub(crate) mod making;
pub(crate) mod search;
