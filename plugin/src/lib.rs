//! An online store's web services as an extension of a content-management host.
//!
//! The library exports one plugin; `host_interface` describes how a host loads it. The modules are
//! public for the tests only; they are not a stable interface.
//!
//! # From a request to a document
//!
//! 1. The host finds the route, checks method, `Accept` and token, reads the body within its limit
//!    and calls the plugin's `handle` (`answer.rs` of `host-service`).
//! 2. [`boundary`] polls the handler within the plugin's runtime: a read where the host polls it, a
//!    write on the plugin's threads unless it is ready at once.
//! 3. [`app`] looks up the route in a table generated from the resources, and asks the host whether
//!    the user has the permission.
//! 4. [`service::crud`] performs the operation, a write in the steps of [`service::write`], with the rules
//!    that the resource's file adds ([`service::hooks`]). [`wire::request`] and [`wire::body`] turn query,
//!    headers and body into typed form. All faults are collected.
//! 5. A read becomes a [`model::question`]; a write becomes a [`wire::draft`], which is checked
//!    against the resource.
//! 6. [`sql::approach`] decides how the records of a page are found, and which kept counts are
//!    needed first.
//! 7. [`sql`] turns the plan into text and bound values; [`sql::dialect`] contains the differences
//!    between engines.
//! 8. [`store`] runs the SQL. On SQLite a page comes back as one JSON text of raw cells, so that
//!    rows do not cross threads one by one, and writes use one connection with `BEGIN IMMEDIATE`.
//!    Work that writes leave behind, checkpointing the log and merging the indexes of texts, is
//!    done in the background (`store/upkeep.rs`), so that no writer has to do it. A statement whose
//!    client has disconnected is ended (`store/brake.rs`).
//! 9. [`wire::document`] writes the cells as JSON:API, and [`wire::answer`] the faults. The HTTP
//!    server receives the body without a copy.
//!
//! # Modules
//!
//! The table lists the modules from top to bottom; each may use those below it. The tables of the
//! database are in `plugin/migrations`, for each engine, and `store/migrations.rs` lists the files. What
//! follows from descriptions, such as triggers, is listed in `sql/derived.rs`, and brought up to date by
//! `store/reconciliation.rs`.
//!
//! | module | content |
//! |---|---|
//! | [`boundary`] | the plugin as the host holds it: runtime, polling, abort on drop; `tracing` events to the host's log |
//! | [`app`] | permission and dispatch; the table of `routes`, the document of `openapi`, panels, and the `commands` for operators |
//! | [`resources`] | the list of all resources, and a file for each: its descriptor and its special rules |
//! | [`service`] | the five operations on any resource (`crud`), the steps of every `write`, what a resource's file adds to them (`hooks`), writes that happen once (`once`), and the queue of mails (`outbox`) |
//! | [`imports`] | files of records, each written as by a request of its own, and accounted for |
//! | [`exports`] | all records of a type as one stream |
//! | `webhooks` | the feed of changes, delivered to addresses of other sites |
//! | [`privacy`] | where data of persons is, its copy, and its removal |
//! | [`reports`] | a file for each report, its query (`asked`), the calendar (`period`), the lines of each day (`days`), a page of ranked lines (`ranking`), and one computation for equal requests (`single_flight`) |
//! | [`changes`] | the feed of changes: places, cursors, and clients that wait |
//! | [`bulk`] | many records at once: reference data, the demo store, copies, and what is stored in two places compared and repaired |
//! | [`store`] | the `database` and its `transaction`s, on connections that are lent to requests; a file for each engine; migrations and derived objects |
//! | [`wire`] | requests (`request`, `body`, `view`) to typed form, drafts of records, and JSON:API (`document`, `answer`) |
//! | [`sql`] | plans to SQL, the only place that makes dynamic SQL text; differences between engines (`dialect`); triggers and kept numbers (`derived`) |
//! | [`model`] | plain data: kinds of values, fields, descriptors of resources and their registry, records, and questions to the database |
//! | [`error`](mod@error) | the table of errors |
//!
//! Each file begins with what it is for, and what it is independent of.
//!
//! # A page of a large store
//!
//! The cost of a list depends on its page, and not on the size of the store:
//!
//! - There is an index for each order and each filter, and for common combinations (a category by
//!   price, a status by date). A resource names these, because on MariaDB the statement of a list
//!   names its index.
//! - Totals come from kept counts: by each filter, by common pairs of filters, by day. Triggers
//!   update them in the transaction of the write. On PostgreSQL and MariaDB each count is the sum
//!   of up to sixteen rows, one for each remainder of the records' keys, so that writers seldom
//!   wait for one another. A row whose count becomes zero is removed, so that clients cannot fill
//!   the tables with values that no record has any more.
//! - Where no index has both the filters and the order, the total is read first, in the same
//!   snapshot as the page. If the filter matches few records, they are found and sorted; if many,
//!   they are read in order until the page is full; if none, nothing is read.
//! - From the 4,096th record of a list on, the page is located with counts that are kept for each
//!   4,096 keys and for each day.
//! - The pick list of a warehouse has orders of several statuses and states. They are found by an index
//!   of these, counted and sorted by their dates: however many orders there are, few of them are open.
//! - A list ordered by a joined name, such as that of a status, uses the counts of each status, and
//!   reads only the index ranges of those on the page.
//! - A list ordered by a long text, such as the image of a product, is read along an index of the first
//!   255 characters. Only if its first or its last record has a text with as many, those with the same
//!   beginning are sorted by what follows it.
//! - Substrings are found by trigrams: on SQLite with an FTS5 index on the case-folded columns, on
//!   PostgreSQL with `pg_trgm`. FTS5 visits the records of each trigram, so a text of more than 18
//!   characters is looked up by its first and last ten characters, and compared with the records
//!   that contain both. MariaDB has no such index, so triggers keep a table of pieces of the names
//!   and SKUs of products: twelve characters from every third on, and the two before them. The
//!   search text is at the beginning of a piece, or its first one or two characters are the two
//!   before a piece: three ranges of the table's key, without reading the products. A text that at
//!   most 2,000 records contain is looked up once: their keys are read before anything is counted.
//!
//! Reports are made from kept sums:
//!
//! - The sales of a day, by currency and status, and the stock, by status, are sums that triggers
//!   keep, in two or three integers each, so that not even the largest amounts overflow them.
//! - The lines of a day for each product and each customer are read once and kept in memory until
//!   an order or an item of that day changes. Triggers then change the revision of the day, which
//!   is read in the same snapshot as everything else, so a report is never stale. A report on
//!   thirty days adds up thirty lists. At most 500,000 lines are kept for each report; the database
//!   adds up ranges with more than half of that, and ranges of more than a year.
//! - Equal requests at the same moment share one computation, which has a thread of its own and
//!   takes 20 seconds at most. A request that arrives during a computation shares the next one,
//!   which includes everything committed by then. A computation ends when all its clients have
//!   disconnected. As many run at once as there are processors, and at least two; the others wait
//!   for up to 10 seconds.
//!
//! What remains slow in a large store is listed at the end of the next part.
//!
#![doc = include_str!("../API.md")]

pub mod app;
pub mod boundary;
pub mod bulk;
pub mod changes;
pub mod error;
pub mod exports;
pub mod imports;
pub mod model;
pub mod privacy;
pub mod reports;
pub mod resources;
pub mod service;
pub mod sql;
pub mod store;
mod webhooks;
pub mod wire;

/// The memory of the plugin. What crosses the boundary is freed by the side that it comes from.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// Unit tests would be compiled with everything that the library reaches.
#[cfg(not(test))]
host_interface::export_plugin!(boundary::ShopPlugin);
