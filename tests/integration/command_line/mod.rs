//! The command line.

mod audit_chain;
mod audited_commands;
mod backups;
mod commands;
mod copies;
mod declared;
mod lists;
mod maintenance;
mod secrets;
mod start;
mod transfers;
