//! Requests and responses: permissions, syntax, and the common behaviour of all resources.

mod access;
#[cfg(engine = "sqlite")] // A body is read before a statement is made.
mod bodies;
#[cfg(engine = "sqlite")] // Readers of requests ask no database.
mod generated;
#[cfg(engine = "sqlite")] // `engines` holds that every engine answers the same.
mod openapi;
mod paging;
mod queries;
#[cfg(engine = "sqlite")] // They are made of an answer, whatever gave it.
mod responses;
mod search;
mod specification;
#[cfg(engine = "sqlite")] // Readers of values ask no database.
mod values;
