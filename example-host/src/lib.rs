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
//! | module | content |
//! |---|---|
//! | [`cli`] | the command line |
//! | `config` | settings from the environment |
//! | `operator` | who runs the program, as the system knows them |
//! | `private` | files and folders that only the user of the host can read |
//! | `quickstart` | the first start |
//! | `site` | opening a site: database, plugins, installation |
//! | `state` | the data kept in memory, and following other processes |
//! | `server` | a site being served: `connections` (limits, stopping), `room` (places for connections), `progress` (a client has to read), `tls`, `client` (proxies), `host_header`; `changes` (they run to their end), `tasks` (work in the background); for the API `api` (the order of the checks, the call of the plugin), `routing`, `checks` (`Accept`, tokens), `body`, `notes` (changes and refusals), `revalidation` (304); `problem` (the table of errors), `request_id`, `access_log`, `health`; `pages` (requests to the administration), `scrape` (the address of the metrics) |
//! | `admin` | the administration: the table of all pages and what is done for each, a file for each page with a template in `templates/admin`; `visit`, `view`, `form`, `cookies`, `throttle`, `authority`, `claim` (whether a password is right), `confirm` (asking for it again); `catalogue` (the OpenAPI documents), `sales`, `chart`, `assets` |
//! | `acl` | rules and decisions, with reasons |
//! | `users`, `groups`, `tokens` | users, groups, tokens and their last use |
//! | `passwords`, `sessions` | the rules for passwords; who is signed in |
//! | `directory` | the list of users with its search, and one user in full |
//! | `extensions`, `parameters` | which extensions there are, enabled or not; their parameters and values |
//! | `loader` | checks of a library file before it is opened |
//! | `services` | the services that the host offers to a plugin |
//! | `audit` | who changed what: notes, the task that writes them, pages of them |
//! | `traffic`, `metrics` | the last hour of the API and its recent refusals; metrics as text |
//! | `mail` | the content of a mail; `smtp` and `folder`, the two ways to send it |
//! | `database` | pools and transactions, the only place with SQL for an engine: `url`, `statement`, `connection`, `start` (migrations, one start at a time), `lease` (the same on a cluster) |
//! | `copy` | moving a site to another database |
//! | `storage` | the size of the database |
//! | `error` | errors for the terminal |

pub mod cli;

mod acl;
mod admin;
mod audit;
mod config;
mod copy;
mod database;
mod directory;
mod error;
mod extensions;
mod groups;
mod loader;
mod mail;
mod metrics;
mod operator;
mod parameters;
mod passwords;
mod private;
mod quickstart;
mod server;
mod services;
mod sessions;
mod site;
mod state;
mod storage;
mod tokens;
mod traffic;
mod users;

pub use acl::{CORE_ADMIN, CORE_LOGIN_API, CORE_MANAGE, Decision, ROOT, RuleEntry, Setting};
pub use config::{LogFormat, MailSettings, ServerSettings, Settings, SettingsError, TlsFiles};
pub use copy::copy;
pub use database::{DatabaseUrl, DatabaseUrlError};
pub use error::Error;
pub use extensions::{ExtensionEntry, TOKEN_AUTH};
pub use groups::GroupEntry;
pub use loader::{default_library, load};
pub use mail::{SmtpUrl, SmtpUrlError};
pub use parameters::ParameterEntry;
pub use quickstart::{FirstStart, prepare as quick_start};
pub use server::{MetricsServer, Running, TlsError};
pub use site::Site;
pub use users::{NewUser, UserEntry};
