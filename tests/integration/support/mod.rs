//! Shared support code: databases, a shop in this process, the program as a separate process, and
//! the other parties. It contains no tests.

pub mod bare;
pub mod browser;
pub mod certificate;
pub mod databases;
pub mod document;
pub mod duplicate;
pub mod filled;
pub mod fixture;
pub mod harness;
pub mod judge;
pub mod kills;
pub mod ledger;
pub mod mirror;
pub mod outside;
#[path = "../../permissive.rs"]
pub mod permissive;
pub mod phone;
pub mod process;
pub mod project;
pub mod proxy;
pub mod receiver;
pub mod review;
pub mod rights;
pub mod smtp;
pub mod tables;
pub mod template;
pub mod visitor;
pub mod waiting;
pub mod webhook;
pub mod workshop;
pub mod writers;
