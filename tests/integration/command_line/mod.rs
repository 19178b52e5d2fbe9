//! The command line.

mod audit_chain;
mod audited_commands;
mod backups;
#[cfg(engine = "sqlite")] // Other tests send the same statements.
mod commands;
mod copies;
#[cfg(engine = "sqlite")] // Other tests send the same statements.
mod declared;
#[cfg(engine = "sqlite")] // Other tests send the same statements.
mod lists;
mod maintenance;
mod secrets;
mod start;
#[cfg(engine = "sqlite")] // See `imports` and `exports` of the store.
mod transfers;
