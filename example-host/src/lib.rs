//! A small content-management host: users, groups, permissions, tokens and extensions, and an HTTP
//! server that answers what extensions register.
//!
//! [`Site::open`] opens a database and creates the plugins, [`Site::serve`] answers requests, and
//! the other methods of [`Site`] are what administrators do; the command line is a thin layer
//! above them. Nothing is kept in the process outside of a [`Site`], so that many can live side by
//! side, but for whose turn it is to hash a password; only the program itself says where the log
//! goes.
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
//! # Modules
//!
//! Tables are in `example-host/migrations`, for each engine; `database/migrations.rs` lists the files.
//!
//! | room | content |
//! |---|---|
//! | [`cli`] | the command line; `operator`: who runs the program, as the system knows them |
//! | `server` | HTTP: `connections` (limits, stopping), `room` (places for connections), `progress` (a client has to read), `tls`, `client` (proxies), `host_header`, `tasks` (work in the background), `access_log`, `health`; `administration` (requests to the pages), `scrape` (the address of the metrics) |
//! | `admin` | the administration: the table of all pages and what is done for each; `pages`, a file for each with a template in `templates/admin`; `visit`, `view`, `form`, `cookies`, `throttle`, `authority`, `claim` (whether a password is right), `confirm` (asking for it again), `catalogue` (the OpenAPI documents), `assets` |
//! | `api` | the API: `answer` (the order of the checks, the call of the plugin), `gate` (`Accept`, tokens), `body`, `notes` (changes and refusals), `changes` (they run to their end), `revalidation` (304), `problem` (the table of errors), `request_id` |
//! | `site` | a site that is open: database, plugins, installation; `state` (what is kept in memory, and following other processes), `services` (what the host offers to a plugin), `storage` (the size of the database), `quickstart` (the first start), `copy` (moving a site to another database), `maintenance` (comparing and mending what extensions keep beside their records) |
//! | `extensions` | `registry` (which there are, enabled or not), `parameters`, `routing`, `loader` (checks of a library file before it is opened) |
//! | `identity` | `users`, `groups`, `acl` (rules and decisions, with reasons), `tokens`, `passwords`, `sessions`, `directory` (the list of users with its search) |
//! | `mail` | the content of a mail; `smtp` and `folder`, the two ways to send it |
//! | `watch` | `audit` (who changed what), `traffic` (the last hour of the API and its recent refusals), `metrics` |
//! | `database` | pools and transactions, the only place with SQL for an engine: `statement`, `connection`, `start` (migrations, one start at a time), `lease` (the same on a cluster) |
//! | `base` | `error` (errors for the terminal), `settings` (from the environment), `database_url`, `private` (files that only the user of the host can read) |

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
