//! The real library in the real host, over real HTTP, with a database for each test.
//!
//! The run on SQLite includes all tests. Modules marked with `cfg(engine = "sqlite")` are excluded
//! from the runs on servers, because the engine cannot affect their outcome; each has its reason.
//! Other modules have tests that a run on a server ignores, because others send it the same statements,
//! as its log shows with `log_statement = all`, and the test is about what is made of the answers.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

#[cfg_attr(
    not(engine = "sqlite"),
    allow(dead_code, reason = "tests independent of the engine run on SQLite only")
)]
mod support;

mod administration;
mod api;
mod command_line;
#[cfg(engine = "sqlite")] // It has no database.
mod contract;
mod hosts;
mod model;
mod privacy;
#[cfg(engine = "sqlite")] // It reads files of the project.
mod project;
mod store;
