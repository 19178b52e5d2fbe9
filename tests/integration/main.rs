//! The real library in the real host, over real HTTP, on a database of its own for each test.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and fails by panicking"
)]

mod harness;
mod process;

mod access;
mod architecture;
mod command_line;
mod contract;
mod loading;
mod openapi;
mod records;
mod requests;
mod serving;
mod specification;
mod transactions;
mod values;
