//! Orders, their items, and their histories. `entry` contains what the three share.

mod entry;
mod history;
mod items;
mod order;

pub(super) use history::SERVICE as HISTORY_SERVICE;
pub(super) use items::ORDERITEMS;
pub(super) use order::SERVICE;
