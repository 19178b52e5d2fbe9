//! The store: its records, totals, reports and mails, and how they are kept in a database.

mod categories;
mod cells;
mod counts;
mod engines;
mod feed;
mod filling;
mod kept;
mod modified;
mod once;
mod order_history;
mod orders;
mod outbox;
mod places;
mod plans;
mod products;
mod records;
mod reports;
mod season;
mod shelves;
mod statements;
mod stock;
mod transactions;
mod versions;
mod vouchers;
mod warehouse;
mod writers;
