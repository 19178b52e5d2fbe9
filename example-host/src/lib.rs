//! A small content-management host: users, groups, permissions, tokens and extensions, and an HTTP
//! server that answers what extensions register.
//!
//! [`Site::open`] opens a database and creates the plugins, [`Site::serve`] answers requests, and
//! the other methods of [`Site`] are what administrators do; the command line is a thin layer
//! above them. Nothing is kept in the process outside of a [`Site`], so that many can live side by
//! side, but for the two places to hash a password; only the program itself decides where
//! the log goes.
//!
//! # Invariants
//!
//! - The host never opens the file of an extension, nor an extension the host's.
//! - A request is checked from memory alone, but for the first one of each token.
//! - What an administrator changes is in force with the next request in the same process, and
//!   within a second in others. A host that cannot ask its database trusts what it knows for five
//!   seconds and then answers 503.
//! - A failing, panicking or never answering plugin costs the one request that met it.
//!
//! # Rooms
//!
//! From top to bottom; a room names only those below it. Tables are in `example-host/migrations`, for each
//! engine; `database/migrations.rs` lists the files.
//!
//! | room | content |
//! |---|---|
//! | [`cli`] | the command line: `arguments`, `commands`, `demo` (its options are those of the extensions), `serve`, `signals`, `progress`, `terminal`, `operator` (who runs the program) |
//! | `server` | HTTP: `router` (the table of addresses), `context` (what every request needs), `connections` (limits, stopping), `room` (places for connections), `progress` (a client has to read), `tls`, `client` (proxies), `host_header`, `tasks` (work in the background), `access_log`, `administration` (requests to the pages), `health`, `scrape` (the address of the metrics), `readings` (what is measured when they are asked for) |
//! | `admin` | the administration: the table of all pages and what is done for each; `pages`, a file for each with a template in `templates/admin`; `place` (where the pages are), `arrival` (a request), `visit` (one by somebody who has signed in), `authority` (what administrators may do to each other), `door` (whether a password is right), `sign_in`, `confirm` (the password once more), `throttle`, `problem`, `view`, `form`, `cookies`, `catalogue` (the OpenAPI documents), `assets` |
//! | `api` | the API: `answer` (the order of the checks, the call of the plugin), `gate` (route, `Accept`, token), `body`, `notes` (changes and refusals), `changes` (they run to their end), `revalidation` (304), `problem` (the table of errors), `request_id`, `handled` (for the log) |
//! | `site` | a site that is open: database, plugins, installation; `administer` (what administrators do, recorded with who does it), `state` (what is kept in memory, and following other processes), `services` (what the host offers to a plugin), `health`, `storage` (sizes), `quickstart` (the first start), `copy` (moving a site to another database), `maintenance` (comparing and mending what extensions keep beside their records) |
//! | `extensions` | `registry` (which there are, enabled or not), `parameters`, `demo` (options of demonstration data), `routing`, `loader` (checks of a library file before it is opened) |
//! | `identity` | `users`, `groups`, `names`, `acl` (rules and decisions, with reasons), `tokens`, `passwords`, `sessions`, `directory` (the list of users with its search) |
//! | `mail` | `mailer` (the content of a mail), `smtp` and `folder`, the two ways to deliver it |
//! | `watch` | `audit` (who has changed what), `traffic` (the last hour of the API and its recent refusals), `metrics` |
//! | `database` | `pools`, `connection`, `statement`, `conflict` (changes that are tried again), `start` (migrations, one start at a time), `lease` (the same on a cluster); the only room with SQL for an engine |
//! | `base` | `error` (errors for the terminal), `settings` (from the environment), `database_url`, `smtp_url`, `tls_files`, `private` (files that only the user of the host can read), `text`, `secret` |

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
pub use base::error::Error;
pub use base::settings::{LogFormat, MailSettings, ServerSettings, Settings, SettingsError};
pub use base::smtp_url::{SmtpUrl, SmtpUrlError};
pub use base::tls_files::{HalfTls, TlsError, TlsFiles};
pub use extensions::demo::DemoOption;
pub use extensions::loader::{default_library, load};
pub use extensions::parameters::ParameterEntry;
pub use extensions::registry::{ExtensionEntry, TOKEN_AUTH};
pub use identity::acl::{
    CORE_ADMIN, CORE_LOGIN_API, CORE_MANAGE, Decision, ROOT, RuleEntry, Setting,
};
pub use identity::groups::GroupEntry;
pub use identity::users::{NewUser, UserEntry};
pub use server::{MetricsServer, Running};
pub use site::copy::copy;
pub use site::quickstart::{FirstStart, prepare as quick_start};
pub use site::{Loaded, Site};
