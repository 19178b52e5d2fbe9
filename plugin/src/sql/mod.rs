//! Plans as SQL: the only place that makes dynamic SQL text. Names come from the resources alone;
//! whatever a client sent is bound. Knows no connection.
//!
//! `approach` decides how the records of a page are found; `probe` asks what has to be known for that,
//! `read` makes the SQL of the page, `conditions` of what it is of. `write` makes that of changes, `copy`
//! that of whole tables. What differs between engines is in `dialect`, and in `texts` for search; what is
//! kept beside the records, its tables and triggers, is in `kept`.

pub mod approach;
mod columns;
mod conditions;
mod copy;
pub mod dialect;
pub mod kept;
mod probe;
mod read;
mod statement;
pub mod texts;
mod write;

pub use columns::folded;
pub use copy::{
    all_groups, all_rows, copy_in, count_rows, delete_rows, give_keys_above, insert_at_once,
    insert_keyed, insert_many, insert_rows, keys_follow, last_key,
};
pub use probe::probe;
pub use read::{keys, page, page_as_json, table, table_as_json, total};
pub use statement::{RowsOf, Statement, Table};
pub use write::{
    checks, count_references, delete, insert, insert_all, lock, lock_referenced, lock_store,
    move_branch, update,
};
