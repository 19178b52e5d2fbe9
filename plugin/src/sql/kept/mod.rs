//! Kept numbers as SQL of each engine: tables and triggers, which are derived objects, and
//! statements that recount and compare. All of it is generated from `model::kept`.

mod derived;
mod items;
mod layout;
pub mod mysql;
mod parts;
pub mod postgres;
mod recount;
mod refunds;
pub mod sqlite;
mod tables;
mod terms;

pub use derived::comparisons;
pub use recount::{begin_run, continue_run, differences, fills, recount, repair, revise_all_days};
pub use refunds::{keep_lines, keep_refunded};
pub use tables::tables;
pub use terms::{Comparison, Correction, Rebuild, Repair, Terms};
