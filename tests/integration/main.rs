//! The real library in the real host, over real HTTP, on a database of its own for each test.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and fails by panicking"
)]

mod support;

mod administration;
mod api;
mod command_line;
mod contract;
mod hosts;
mod project;
mod store;
