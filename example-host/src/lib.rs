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
