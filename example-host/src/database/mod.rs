//! The host's own database: its pools, its transactions, and what differs between the engines.
//! Knows nothing of what the tables mean but the one row that every change is written down in, and
//! never touches the tables of an extension.

pub(crate) mod conflict;
mod connection;
mod lease;
mod migrations;
mod pools;
mod start;
mod statement;

pub(crate) use self::conflict::transact;
pub(crate) use self::connection::Connection;
pub(crate) use self::pools::Database;
pub(crate) use self::statement::{Engine, Statement, sql};
