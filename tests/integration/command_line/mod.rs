//! The command line.

mod audited_commands;
mod commands;
mod copies;
mod maintenance;
mod start;
