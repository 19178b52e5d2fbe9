//! The store's database: pools, transactions, rows as cells, and what a failure of the database
//! means. Makes no SQL of its own beside the migrations, and knows no request.
//!
//! What every engine has to provide is the trait in `driver`; `sqlite`, `postgres` and `mysql`
//! implement it. The others know no engine: `database` has what everything above asks for,
//! `transaction` does it in one transaction, over a connection of the `pools` that is on `lease`
//! (`session` has what such a connection is asked, `cells` how it answers).

mod brake;
mod cells;
mod database;
mod driver;
mod engine;
mod failure;
mod filling;
mod lease;
mod migrations;
mod mysql;
mod pools;
mod postgres;
mod ready;
mod session;
mod sqlite;
mod transaction;
mod upkeep;

pub use cells::Cells;
pub use database::Store;
pub use failure::{busy, too_large};
pub use filling::Filling;
pub use pools::Usage;
pub use transaction::{Transaction, persist};
