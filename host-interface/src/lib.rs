//! The contract between a content-management host and its extensions: this page, with a plugin and a
//! host to copy, then what stands behind it.
//!
#![doc = include_str!("../README.md")]
//!
//! # The boundary
//!
//! Rust has no stable ABI. Two libraries built by different compilers cannot share types or traits
//! unless their layout is fixed.
//!
//! - **`abi_stable`** fixes it, and compares the layout of every type that crosses when a library is
//!   opened. A mismatch is one clear line before anything runs, not undefined behaviour. The crate is
//!   unmaintained. It is used nevertheless, because a hand-written C interface would lose that check.
//!   The exposure is kept small: its names stay inside this crate, six small traits cross, and
//!   nothing in it parses input. Replacing it would touch one crate. Two advisories are ignored for
//!   it, both because a dependency is no longer maintained: RUSTSEC-2024-0436 (`paste`, at build time)
//!   and RUSTSEC-2024-0014 (`generational-arena`, in the layout check). See `deny.toml`.
//! - **A runtime per library.** tokio keeps its context in thread-local variables, and each library
//!   has its own copy of them. So a plugin owns a runtime and relies on nothing of the host's.
//! - **Polled inline.** A handler is polled on the host's thread, inside the plugin's runtime context.
//!   In the store a read stays there, because it waits for one answer of the database and each move
//!   wakes a thread. A write that is not ready at once moves to the plugin's threads, where the
//!   answers that it waits for arrive, and continues to its end even if the client disconnects.
//! - **Panics.** A panic that leaves an `extern` function ends the process. The wrapper that
//!   [`export_plugin!`] generates catches each one, in calls, futures and destructors, so a plugin's
//!   author cannot forget to. The request gets a 500; one that is never answered gets a 504.
//! - **Two copies of SQLite never open one file.** Host and plugin each link SQLite. POSIX locks
//!   belong to a process, so two copies in one process would drop each other's locks and corrupt the
//!   file. Each extension has a file of its own beside the host's. Other processes are fine.
//! - **Libraries are never unloaded.** Disabling an extension is a flag in the host. A new version of
//!   a library needs a restart.
//! - **Files are checked before they are opened.** A truncated library would end the process with a
//!   signal in the system's loader, so the example host compares headers and length first.
//!
//! # Invariants
//!
//! - What crosses is checked twice when a library is opened: the contract's version, and the
//!   memory layout of every type that the exported functions mention.
//! - Bodies and header values cross without being copied.
//! - Everything that crosses once, or rarely, crosses as JSON text, so that a member may be added
//!   without breaking a library that does not know it.
//! - Only this crate names `abi_stable` and `async_ffi`.
//!
//! # Modules
//!
//! From top to bottom: a module names only those below it.
//!
//! | module | content |
//! |---|---|
//! | `export` | [`export_plugin!`] and what it expands to |
//! | `root` | the module that a library exports, and how a host opens it: [`open`] |
//! | `loaded` | the handle by which a host calls a plugin: [`LoadedPlugin`] |
//! | `plugin` | the [`Plugin`] trait, and its calls by name |
//! | `routes` | the routes of a plugin with the functions that answer them: [`Routes`] |
//! | `description` | what a plugin declares: a [`Description`] |
//! | `host` | the [`Host`] trait, and the handle by which a plugin calls it: [`HostHandle`] |
//! | `request` | a [`Request`], its headers and parameters |
//! | `response` | a [`Response`] |
//! | `body` | a [`Body`] that comes in pieces |
//! | `caller` | who is asking: the [`Principal`] trait, and the handle [`Caller`] |
//! | `future` | the future that crosses, with its panics caught |
//! | `progress` | how far a long piece of work has come |
//! | `chunk` | bytes that cross without being copied: a [`Chunk`] |
//! | `panic` | catching panics |
//! | `outcome` | the result of a call as it crosses |
//! | `acl` | actions, assets, suggested grants |
//! | `connections` | how connections of the process send: [`send_at_once`] |
//! | `command` | commands for operators, and what they report: a [`Command`], a [`CommandOutput`] |
//! | `auth` | credentials and what an authenticator concludes from them |
//! | `delivery` | a request that a plugin has its host send to another site: a [`Delivery`] |
//! | `environment` | a plugin's place on a site: its database, its path, what the host offers |
//! | `error` | why a call failed |
//! | `event` | what happens on a site: an [`Event`] |
//! | `job` | work at intervals: a [`Job`] |
//! | `log` | log records and their levels |
//! | `mail` | a mail that a plugin sends |
//! | `metric` | the metrics of a plugin |
//! | `names` | the names of calls, capabilities, facts and occasions |
//! | `person` | where a plugin keeps data of persons, and what becomes of it when one of them asks |
//! | `panel` | panels for the first page of the administration, and about one request or record: charts and tables as data |
//! | `parameter` | parameters: kinds, limits, and whether a value is valid |
//! | `route` | methods, routes, patterns |
//! | `trail` | an entry of the audit trail that a plugin adds: a [`TrailEntry`] |
//! | `user` | a user as plugins see one, and how one is looked up |

mod acl;
mod auth;
mod body;
mod caller;
mod chunk;
mod command;
mod connections;
mod delivery;
mod description;
mod environment;
mod error;
mod event;
#[doc(hidden)]
pub mod export;
mod future;
mod host;
mod job;
mod loaded;
mod log;
mod mail;
mod metric;
mod names;
mod outcome;
mod panel;
mod panic;
mod parameter;
mod person;
mod plugin;
mod progress;
mod request;
mod response;
mod root;
mod route;
mod routes;
mod trail;
mod user;

pub use acl::{Action, Asset, Grant};
pub use auth::{Credentials, Verdict};
pub use body::Body;
pub use caller::{Caller, Denial, Principal};
pub use chunk::Chunk;
pub use command::{Command, CommandOutput};
pub use connections::send_at_once;
pub use delivery::{Delivered, Delivery};
pub use description::Description;
pub use environment::Environment;
pub use error::Error;
pub use event::Event;
pub use host::{Host, HostHandle};
pub use job::Job;
pub use loaded::LoadedPlugin;
pub use log::{Level, LogRecord};
pub use mail::Mail;
pub use metric::{Metric, MetricKind, Sample};
pub use names::{capability, fact, occasion, undelivered};
pub use panel::{
    Chart, ChartKind, DetailPanel, Panel, PanelContent, Point, RecordLink, Subject, Table,
    with_separators,
};
pub use parameter::{Limits, Parameter, ParameterKind};
pub use person::{Erased, ErasedEverywhere, Erasure, Person, PersonalData, Privacy};
pub use plugin::Plugin;
pub use progress::{Progress, ProgressHandle};
pub use request::{Headers, Params, Request, RequestBuilder};
pub use response::{CHANGE_OUTCOME, Response, ResponseHeader};
pub use root::{CONTRACT_VERSION, Library, LoadError, open};
pub use route::{Method, Pattern, Route, Segment};
pub use routes::Routes;
pub use trail::TrailEntry;
pub use user::{User, UserQuery};
