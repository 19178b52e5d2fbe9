//! A person's data on the whole site: a copy of everything, and its removal. Each extension with a map of personal data
//! does its part, and the host its own; what a law demands is decided by the people who ask for it.
//!
//! An erasure counts first, so that nothing is changed anywhere if a part refuses. It is noted in a list that no backup
//! contains before it begins, so that neither a crash nor a restored backup brings anybody back.

mod again;
mod calls;
pub(crate) mod copies;
pub(crate) mod erasures;
mod found;
pub(crate) mod places;
pub(crate) mod retention;
