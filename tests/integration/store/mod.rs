//! The store: its records, totals, reports and mails, and how they are kept in a database.

mod counts;
mod engines;
mod filling;
mod orders;
mod outbox;
mod plans;
mod records;
mod reports;
pub mod season;
mod statements;
mod transactions;
