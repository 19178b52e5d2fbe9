//! Bulk operations outside of requests: the reference data of a new store, the demo store, copying
//! to another database, and comparing what is stored in two places.

pub mod copy;
pub mod demo;
pub mod maintenance;
pub mod reference;
mod rows;
