//! The store's database: pools, transactions, rows as cells, and the conversion of failures.
//! Generates no SQL beside the migrations, and is independent of requests.
//!
//! The trait in `driver` is the interface of an engine; `sqlite`, `postgres` and `mysql` implement
//! it. The other files are independent of engines: `database` is the interface for the modules
//! above, `transaction` runs its operations in one transaction, on a connection of the `pools` that
//! is on `lease` (`session` has the operations of such a connection, `cells` their results), and
//! inserts records together that were `gathered`.

mod brake;
mod cells;
mod database;
mod driver;
mod engine;
mod failure;
mod filling;
mod gathered;
mod lease;
mod migrations;
mod mysql;
mod pools;
mod postgres;
mod ready;
mod reconciliation;
mod session;
mod sqlite;
mod transaction;
mod upkeep;

pub use cells::Cells;
pub use database::Store;
pub use failure::{busy, interrupted, too_large};
pub use filling::Filling;
pub use pools::Usage;
pub use transaction::{Transaction, retry};
