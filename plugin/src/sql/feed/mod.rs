//! The triggers that queue the changes of records for the feed: which tables they follow, and their text
//! for each engine. Independent of how the queue is read.

pub mod mysql;
pub mod postgres;
pub mod sqlite;
mod table;

pub use table::{Change, Followed, followed};
