//! The command line.

mod commands;
mod copies;
