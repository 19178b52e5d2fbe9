//! The command line.

mod audit_chain;
mod audited_commands;
mod commands;
mod copies;
mod maintenance;
mod secrets;
mod start;
