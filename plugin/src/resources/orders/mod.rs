//! Orders: what was bought, its items, and what happened to it since.

mod history;
mod items;
mod order;

pub(super) use history::ORDERHISTORIES;
pub(super) use items::ORDERITEMS;
pub(super) use order::ORDERS;
