//! Running hosts: single ones and several on one database, under load, during faults, and when they
//! stop.

mod changes;
mod cluster;
mod crash;
#[cfg(engine = "sqlite")] // Places are taken before a request is read.
mod crowding;
#[cfg(engine = "sqlite")] // TLS ends before a request is read.
mod encrypted;
mod faults;
#[cfg(engine = "sqlite")] // Lines are made of requests and responses.
mod logging;
#[cfg(engine = "sqlite")] // The mail server is the only other party.
mod mails;
mod metrics;
mod replica;
#[cfg(engine = "sqlite")] // Requests are refused before a statement is made.
mod serving;
mod shared_database;
#[cfg(engine = "sqlite")] // Signals and open requests are the same on each.
mod stopping;
