//! Orders: what was bought, its items, and what happened to it since. `entry` has what all three know of
//! one another.

mod entry;
mod history;
mod items;
mod order;

pub(super) use history::SERVICE as HISTORY_SERVICE;
pub(super) use items::ORDERITEMS;
pub(super) use order::SERVICE;
