//! Kept numbers as SQL of each engine: tables and triggers, whose text is in the migrations, and
//! statements that recount and compare. All of it is generated from `model::kept`.

mod anew;
mod layout;
pub mod mysql;
pub mod postgres;
pub mod sqlite;
mod tables;
mod terms;

pub use anew::{begin_run, differences, go_on, mend, recount, revise_all_days};
pub use tables::tables;
pub use terms::{Anew, Terms};
