//! An online store's web services as an extension of a content-management host.
//!
//! The library exports one plugin; see `host_interface` for how a host loads it. The modules are
//! public so that the tests can reach them, and are no interface for anyone else.
//!
//! # From a request to a document
//!
//! 1. The host finds the route, checks method, `Accept` and token, reads the body within its limit and
//!    calls the plugin's `handle` (`api/answer.rs` of the example host).
//! 2. [`boundary`] polls the handler within the plugin's runtime: a read where the host polls it, a
//!    write on the plugin's threads if it is not ready at once.
//! 3. [`app`] looks the route up in a table made from the resources, and asks the host for the
//!    permission.
//! 4. [`service::crud`] does what the route names, with the rules that the resource's file adds
//!    ([`service::hooks`]). [`wire::request`] and [`wire::body`] turn query, headers and body into typed
//!    form. All faults are collected.
//! 5. What is asked for becomes a [`model::question`], what is to be written a [`wire::draft`], which is
//!    checked against the resource.
//! 6. [`sql::approach`] decides how the records of a page are found, and what has to be asked of the
//!    kept counts first.
//! 7. [`sql`] turns the plan into text and bound values; [`sql::dialect`] has what differs between
//!    engines.
//! 8. [`store`] runs it. On SQLite reads come back as one JSON text of raw cells, so that not every row
//!    has to cross a thread, and writes go through one connection with `BEGIN IMMEDIATE`. What they
//!    leave to do, bringing what was committed from the log into the file and merging what they added
//!    to the indexes of texts, is done beside them (`store/upkeep.rs`), so that no writer stops for it.
//!    A statement whose client has gone is ended (`store/brake.rs`).
//! 9. [`wire::document`] writes the cells as JSON:API, or [`wire::answer`] the faults. The body is handed
//!    to the HTTP server without a copy.
//!
//! # Modules
//!
//! The table runs from the top room to the bottom one; each may use those below it. Tables are in
//! `plugin/migrations`, for each engine, and `store/migrations.rs` lists the files.
//!
//! | module | content |
//! |---|---|
//! | [`boundary`] | the plugin as the host holds it: runtime, polling, abort on drop; `tracing` events to the host's log (`logging`) |
//! | [`app`] | permission and dispatch; the table of `routes`; resources and routes as OpenAPI 3.1 (`openapi`) |
//! | [`resources`] | the list of all resources, and a file for each: its descriptor and its special rules; `customers` has addresses too, `methods` shipping and payment, `orders/` what happens to an order |
//! | [`service`] | the store as one value (`call`), the five operations and nested lists (`crud`), what a resource's file adds to them (`hooks`), mails on their way to the host (`outbox`), the mail to a customer when the status of an order changes (`notification`), what the site has set (`settings`) |
//! | [`reports`] | a file for each report, with what is asked (`asked`), the calendar (`period`), what days come to (`days`), a page of that (`ranking`), and one computation for equal requests (`single_flight`) |
//! | [`bulk`] | many records at once: countries, zones, currencies and order statuses of a new store (`reference`), the demo store (`demo`), moving the store to another database (`copy`), comparing and mending what is kept (`maintenance`) |
//! | [`store`] | the `database` and its `transaction`s; what an engine provides (`driver`), and a file for each engine; connections that are `ready` in front of the driver's `pools`, on `lease` to a request, with the `brake` that ends statements; `cells` as they come back; bulk `filling`, SQLite's `upkeep` |
//! | [`wire`] | path and query (`request`) and headers and body (`body`) to typed form, values to and from their literal texts (`literal`), what a body would write (`draft`), JSON:API output (`document`), responses (`answer`) |
//! | [`sql`] | plans to SQL, the only place that makes dynamic SQL text: how a page is found (`approach`) and what has to be asked for that (`probe`), pages (`read`) and their `conditions`, changes (`write`), whole tables (`copy`), what differs between engines (`dialect`), how texts are found that contain one (`texts`), tables and triggers of what is kept and how it is counted anew (`kept`) |
//! | [`model`] | kinds of values (`value`), days and moments (`moment`), fields and the handles to read them by (`field`), descriptors (`resource`), all of them (`registry`), records (`record`), what is asked of the database (`question`), the parameters of the store (`parameters`), what counts and sums are kept (`kept`) |
//! | [`error`](mod@error) | the table of errors |
//!
//! # A page of a large store
//!
//! A list costs what its page costs, whatever is in the store:
//!
//! - There is an index for each order and each filter, and for common combinations (a category by
//!   price, a status by date). A resource names them, because on MariaDB a list names the one to use.
//! - Totals come from kept counts: by each filter, by the common pairs, by day. Triggers keep them in
//!   the transaction of the write. On PostgreSQL and MariaDB each count is the sum of up to sixteen
//!   rows, one for each remainder of the records' keys, so that writers seldom wait for one another. A
//!   row whose count becomes zero is removed, so that no client can fill the tables with values that no
//!   record has any more.
//! - Where no index has the filters and the order together, the total is read first, in one snapshot
//!   with the page. If the filter matches few records, they are found and sorted; if many, they are
//!   read in their order until the page is full; if none, nothing is read.
//! - From the 4,096th record of a list on, the page is found by counts that are kept for each 4,096
//!   keys and each day.
//! - A list in the order of a name that is joined, such as a status's, takes the counts of each, and
//!   reads from the index of those on the page.
//! - Text within text is found by trigrams: on SQLite in an index of FTS5 on the case-folded columns,
//!   on PostgreSQL by `pg_trgm`. FTS5 goes through the records of each trigram, so a text of more than 18
//!   characters is looked up by its first and last ten, and compared with the records that have both.
//!   MariaDB has no such index, so triggers keep a table of pieces of the
//!   names and SKUs of products: twelve characters from every third on, and the two before them. The
//!   text that is searched for is at the beginning of a piece, or its first one or two characters are
//!   those before it: three ranges of the table's key, without a look at the products. A text in 2,000
//!   records at most is looked for once: their keys are read before anything is counted.
//!
//! Reports are made from kept sums:
//!
//! - The sales of a day, by currency and status, and what is in stock, by status, are sums that
//!   triggers keep, in two or three integers each, so that not even the largest amounts overflow them.
//! - The lines of a day for each product and each customer are read once and kept in memory until an
//!   order or an item of that day changes. Triggers then change the revision of the day, which is read
//!   in the same snapshot as everything else, so a report never lags behind, whoever writes. Thirty
//!   days are added up from thirty lists. At most 500,000 lines are kept of each report; ranges of more
//!   than half of that, or of more than a year, are added up by the database.
//! - Equal requests at the same moment share one computation, on a thread of its own and for 20 seconds
//!   at most. A request that arrives during a computation shares the next one, which includes all that
//!   was committed by then. A computation ends when all its clients have disconnected. As many run at
//!   once as there are processors, and at least two; the others wait for up to 10 seconds.
//!
//! What stays slow in a large store is listed at the end of the next part.
//!
#![doc = include_str!("../API.md")]

pub mod app;
pub mod boundary;
pub mod bulk;
pub mod error;
pub mod model;
pub mod reports;
pub mod resources;
pub mod service;
pub mod sql;
pub mod store;
pub mod wire;

host_interface::export_plugin!(boundary::ShopPlugin);
