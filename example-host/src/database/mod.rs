//! The host's own database: pools, transactions, and the differences between the engines. The only
//! table that this room uses itself is `host_state`, at whose row all changes wait for each other.
//! It never touches the tables of an extension.

mod cancel;
pub(crate) mod conflict;
mod connection;
pub(crate) mod dump;
pub(crate) mod files;
mod lease;
mod migrations;
mod pools;
pub(crate) mod row;
mod start;
mod statement;
mod tables;

pub(crate) use self::conflict::{Attempts, transact};
pub(crate) use self::connection::Connection;
pub(crate) use self::pools::Database;
pub(crate) use self::row::{row, select};
pub(crate) use self::statement::{Engine, Statement, sql};
pub(crate) use self::tables::Table;
