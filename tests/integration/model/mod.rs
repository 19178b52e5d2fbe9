//! The store against a model of it.

mod draft;
mod memory;
mod query;
mod samples;
mod walk;
mod walks;
