//! A small content-management host: users, groups, permissions, tokens and extensions, and an HTTP
//! server that answers what extensions register.
//!
//! [`Site::open`] opens a database and creates the plugins, [`Site::serve`] answers requests, and
//! the other methods of [`Site`] do the work of administrators; the command line is a thin layer
//! above them. All state belongs to a [`Site`], so one process can hold several; the only exception
//! is the thread that hashes passwords, which all sites of a process share. Where the log
//! goes is decided by the program and not by this library.
//!
//! # Invariants
//!
//! - The host never opens the database file of an extension, nor an extension that of the host.
//! - The checks before a request use memory only; the first request with a token also queries the
//!   database.
//! - A change by an administrator takes effect with the next request in the same process, and
//!   within a second in others. A host whose database does not answer uses its last known state for
//!   five seconds and then answers 503.
//! - A request that the host sends for a plugin reaches public addresses and those that the site allows,
//!   and no other.
//! - A plugin that fails, panics or never answers affects only the request that called it.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only those below it. The tables are in
//! `example-host/migrations`, for each engine; `database/migrations.rs` lists the files.
//!
//! | room | content |
//! |---|---|
//! | [`cli`] | the command line: `arguments`, `commands` and those of extensions (`declared`), `serve`, `log`, and lists as lines or JSON (`listing`) |
//! | `server` | HTTP: addresses (`router`), `connections` and their limits, `tls`, proxies (`client`), `health`, the log of accesses and the metrics |
//! | `admin` | the administration: the table of all pages, `pages` with a file for each, and what precedes a page: `sign_in`, `second_step`, `forgotten`, `visit`, `confirm`, `throttle` |
//! | `api` | the API: `asking` (who sends a request), `gate` (whether they have access), `notes` (what is recorded of changes and refusals); the way of a request to its plugin and back is that of the crate `host-service` |
//! | `site` | an open site: what administrators do to it (`operations`), its `state` in memory, its `services` to plugins, `notices` to users, `events`, `jobs`, `copy`, `backup`, `restore`, a person's data (`privacy`) |
//! | `extensions` | `registry` (the extensions of the site, enabled or disabled), `parameters`, `jobs` (which host runs a job, and when it is due), `commands` (which ones extensions declare, with their options) |
//! | `identity` | `users` and `groups`, rules and decisions (`acl`), `tokens` with `scopes` and `rates`, `passwords`, `password_links`, `second_factor` with its codes (`totp`), `sessions`, `devices`, `failures` of sign-ins |
//! | `deliver` | the requests that extensions send to other sites: which `addresses` and targets are allowed, resolution (`names`), TLS, and the way of a request (`sender`) |
//! | `mail` | `mailer` (the content of a mail), `smtp` and `folder` (the two ways to deliver it) |
//! | `watch` | `audit` (who changed what, in a chain of hashes), `traffic` (the last hour of the API and its recent refusals), `metrics` |
//! | `database` | `pools`, `connection`, `statement`, rows by names (`row`), copies of `tables`, `conflict`, `start`, dumps for backups; the only room with SQL that depends on the engine |
//! | `secrets` | secrets that have to be used and so cannot be hashes, encrypted under a key of the site |
//! | `base` | what every room may use: `error`, `settings`, addresses, `text`, `moment`, `secret` |
//!
//! Each file begins with what it is for.

pub mod cli;

mod admin;
mod api;
mod base;
mod database;
mod deliver;
mod extensions;
mod identity;
mod mail;
mod secrets;
mod server;
mod site;
mod watch;

pub use base::database_url::{DatabaseUrl, DatabaseUrlError};
pub use base::databases::{Databases, DatabasesError, OwnDatabases};
pub use base::error::Error;
pub use base::secret_key::{SecretKey, SecretKeyError};
pub use base::settings::{
    LogFormat, MailSettings, SecondFactors, ServerSettings, Settings, SettingsError,
};
pub use base::smtp_url::{SmtpUrl, SmtpUrlError};
#[doc(hidden)]
pub use base::text::fold;
pub use base::tls_files::{HalfTls, TlsError, TlsFiles};
pub use extensions::commands::{CommandOption, DeclaredCommand};
pub use extensions::parameters::ParameterEntry;
pub use extensions::registry::{ExtensionEntry, TOKEN_AUTH};
pub use identity::acl::{
    CORE_ADMIN, CORE_LOGIN_API, CORE_MANAGE, Decision, ROOT, RuleEntry, Setting,
};
pub use identity::administrators::Force;
pub use identity::groups::GroupEntry;
pub use identity::tokens::{NewToken, TokenEntry};
pub use identity::users::{NewUser, UserEntry};
pub use server::{MetricsServer, Running};
pub use site::commands::CommandReport;
pub use site::copy::copy;
pub use site::quickstart::{FirstStart, prepare as quick_start};
pub use site::{Libraries, Loaded, Site};
