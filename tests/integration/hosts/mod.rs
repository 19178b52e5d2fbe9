//! Running hosts: single ones and several on one database, under load, during faults, and when they
//! stop.

mod answers;
mod changes;
mod cluster;
mod crash;
#[cfg(engine = "sqlite")] // Connections are counted before a request.
mod crowding;
#[cfg(engine = "sqlite")] // TLS is below the level of requests.
mod encrypted;
mod faults;
mod following;
#[cfg(engine = "sqlite")] // What is measured is not the engine.
mod guessing;
mod handover;
mod importing;
#[cfg(engine = "sqlite")] // Lines depend on requests and responses only.
mod logging;
#[cfg(engine = "sqlite")] // The mail server is the only other party.
mod mails;
mod metrics;
mod mirror;
mod own_databases;
mod persons;
mod proof;
mod refunding;
mod repeats;
mod replica;
#[cfg(engine = "sqlite")] // Requests are refused before any SQL.
mod serving;
mod shared_database;
mod sockets;
#[cfg(engine = "sqlite")] // Signals do not depend on the engine.
mod stopping;
mod token_limits;
mod variants;
#[cfg(engine = "sqlite")] // The fixture that holds answers open has no database.
mod waiters;
#[cfg(engine = "sqlite")] // What is sent does not depend on the engine.
mod webhook_clients;
mod webhook_failures;
mod webhook_kills;
mod webhook_rotation;
mod webhooking;
