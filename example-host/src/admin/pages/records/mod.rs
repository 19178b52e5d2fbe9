//! The pages about the records of extensions.

mod at;
pub(crate) mod detail;
mod grid;
pub(crate) mod list;
pub(crate) mod search;
