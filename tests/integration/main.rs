//! The real library in the real host, over real HTTP, on a database of its own for each test.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects, and fails by panicking"
)]

mod bare;
mod certificate;
mod databases;
mod harness;
#[path = "../permissive.rs"]
mod permissive;
mod process;
mod proxy;
mod smtp;
mod visitor;

mod access;
mod administration;
mod architecture;
mod browser;
mod changes;
mod cluster;
mod command_line;
mod contract;
mod copies;
mod counts;
mod crash;
mod crowding;
mod documents;
mod encrypted;
mod engines;
mod faults;
mod filling;
mod generated;
mod hosts;
mod layers;
mod loading;
mod mails;
mod metrics;
mod openapi;
mod orders;
mod outbox;
mod plans;
mod records;
mod replica;
mod reports;
mod requests;
mod season;
mod serving;
mod specification;
mod statements;
mod transactions;
mod trust;
mod values;
