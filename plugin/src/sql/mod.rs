//! Plans as SQL: the only place that generates dynamic SQL text. Names come only from the
//! resources; everything that a client sent is bound. Independent of connections.
//!
//! `approach` decides how the records of a page are found; `probe` has the queries needed for this,
//! `read` the SQL of the page, and `conditions` that of its conditions; `row` has rows that are read by the
//! names of their columns. `write` has the SQL of
//! changes, `once` that of the keys of writes, `skus` that of the search for products, `movements` that of
//! ledgers, `places` that of the feed of changes, `privacy` that of a person's data, `webhooks` that of its delivery, and `copy` that of whole tables. The differences between engines are in `dialect`, and in `texts` for substring
//! search; the tables and triggers of kept numbers are in `kept`, the triggers of the feed in `feed`, and
//! `derived` lists these and all others that follow from descriptions.

pub mod approach;
mod columns;
mod conditions;
mod copy;
pub mod derived;
pub mod dialect;
mod export;
pub mod feed;
pub mod kept;
mod lookup;
mod movements;
mod once;
pub mod places;
pub mod privacy;
mod probe;
mod read;
pub mod row;
mod skus;
mod statement;
mod stock;
pub mod texts;
pub mod ties;
pub mod webhooks;
mod write;

pub use columns::folded;
pub use copy::{
    all_groups, all_rows, copy_in, count_rows, delete_rows, give_keys_above, insert_at_once,
    insert_keyed, insert_many, insert_rows, keys_follow, last_key,
};
pub use export::export;
pub use lookup::{Found, find_by};
pub use movements::{Entries, newest_refunds, newest_stock_movements, newest_voucher_movements};
pub use once::{KeptAnswer, Keyed, claim_key, find_key, keep_answer, old_keys, remove_keys};
pub use probe::probe;
pub use read::{keys, page, page_as_json, table, table_as_json, total};
pub(crate) use row::row;
pub use row::{Amount, Column, Json, Key, Row, Rows, Written};
pub use skus::{OfSku, find_skus};
pub use statement::{RowsOf, Statement, Table};
pub use stock::{InStock, in_stock};
pub use write::{
    ColumnName, checks, complete, count_references, create_stock_record, delete, free_keys, insert,
    insert_all, lock, lock_all, lock_referenced, lock_store, move_branch, row_of, touch_all,
    update, update_each,
};
