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
//! - A plugin that fails, panics or never answers affects only the request that called it.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only those below it. The tables are in
//! `example-host/migrations`, for each engine; `database/migrations.rs` lists the files.
//!
//! | room | content |
//! |---|---|
//! | [`cli`] | the command line: `arguments`, `commands`, `declared` (the commands of the extensions), `libraries` (which ones are loaded), `serve`, `signals`, `log` (the filter can be read anew), `progress`, `listing` (lists as lines or JSON), `rows` (what they consist of), `terminal`, `operator` (the system user who runs the program) |
//! | `server` | HTTP: `router` (the table of addresses), `context` (what every request needs), `connections` (limits, stopping), `limits` (limits on connections), `waits` (requests that wait), `arrivals` (forms that arrive before sign-in), `progress` (the timeout of a client that does not read), `tls`, `client` (proxies), `host_header`, `tasks` (work in the background), `access_log`, `administration` (requests to the pages), `health`, `scrape` (the address of the metrics), `readings` (values that are measured when they are requested) |
//! | `admin` | the administration: the table of all pages with their handlers; `pages`, a file for each with a template in `templates/admin`; `paths` (the addresses of the pages), `page_request` (a request before sign-in), `visit` (a request of a signed-in user), `authority` (what administrators may do to each other), `authenticator` (checking a password), `sign_in`, `confirm` (the password once more), `throttle` (the waits after failures), `problem`, `view`, `form`, `cookies`, `catalogue` (the OpenAPI documents), `assets` |
//! | `api` | the API: `asking` (who sends a request), `gate` (whether they have access), `notes` (what is recorded of changes and refusals); the way of a request to its plugin and back is that of the crate `host-service` |
//! | `site` | an open site: database, plugins, installation; `administer` (the changes that administrators make, each recorded with its actor), `state` (the state in memory, and how it follows other processes), `services` (the services that the host offers to a plugin), `events` (what is reported to extensions that ask for it), `jobs` (running the jobs of extensions), `reminders` (mails about tokens that are about to end), `health`, `storage` (sizes), `libraries` (which ones a site is opened with), `quickstart` (the first start), `copy` (moving a site to another database), `backup` and `restore` (of a site in use, into a new place), `claims` (the databases that extensions are copied to), `commands` (running those that extensions declare) |
//! | `extensions` | `registry` (the extensions of the site, enabled or disabled), `parameters`, `jobs` (which host runs a job, and when it is due), `commands` (which ones extensions declare, with their options) |
//! | `identity` | `users`, `groups`, `names`, `acl` (rules and decisions, with reasons), `tokens`, `scopes` (what tokens are limited to), `uses` (their last use), `rates` (how often they are used), `window` (their requests of the last minute), `passwords`, `hashing` (the thread for that), `sessions`, `devices` (on which users have signed in), `failures` (failed sign-ins, counted by all hosts), `directory` (the list of users with its search) |
//! | `mail` | `mailer` (the content of a mail), `smtp` and `folder` (the two ways to deliver it) |
//! | `watch` | `audit` (who changed what, in a chain of hashes), `traffic` (the last hour of the API and its recent refusals), `metrics` |
//! | `database` | `pools`, `connection`, `statement`, `row` (rows read by the names of their columns), `tables` (copying them), `conflict` (retrying changes), `start` (migrations, one start at a time), `lease` (the same on a cluster), `files` and `dump` (copies for backups, on SQLite and by the programs of a server); the only room with SQL that depends on the engine |
//! | `base` | `error` (errors for the terminal), `settings` (from the environment), `database_url`, `databases` (those of the host and of extensions), `smtp_url`, `tls_files`, `private` (files that only the user of the host can read), `text`, `moment`, `secret`, `token_text` (how a token is written) |

pub mod cli;

mod admin;
mod api;
mod base;
mod database;
mod extensions;
mod identity;
mod mail;
mod server;
mod site;
mod watch;

pub use base::database_url::{DatabaseUrl, DatabaseUrlError};
pub use base::databases::{Databases, DatabasesError, OwnDatabases};
pub use base::error::Error;
pub use base::settings::{LogFormat, MailSettings, ServerSettings, Settings, SettingsError};
pub use base::smtp_url::{SmtpUrl, SmtpUrlError};
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
