//! Running hosts: alone and several on one database, under load, at faults, and at their end.

mod changes;
mod cluster;
mod crash;
mod crowding;
mod encrypted;
mod faults;
mod logging;
mod mails;
mod metrics;
mod replica;
mod serving;
mod shared_database;
mod stopping;
