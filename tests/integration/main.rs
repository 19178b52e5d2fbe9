//! The real library in the real host, over real HTTP, on a database of its own for each test.
//!
//! The run on SQLite has all tests. Modules marked with `cfg(engine = "sqlite")` are left out of the
//! runs on servers, because no engine can change their outcome; each gives the reason.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and fails by panicking"
)]

#[cfg_attr(
    not(engine = "sqlite"),
    allow(dead_code, reason = "what no engine can change is tested on SQLite alone")
)]
mod support;

mod administration;
mod api;
mod command_line;
#[cfg(engine = "sqlite")] // It knows no database.
mod contract;
mod hosts;
#[cfg(engine = "sqlite")] // It reads files of the project.
mod project;
mod store;
