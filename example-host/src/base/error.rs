//! What may go wrong with a site, each as one line for the person at the terminal. The errors
//! for HTTP clients are another table, `api/problem.rs`.

use std::path::PathBuf;

use crate::base::database_url::DatabaseUrlError;
use crate::base::text::one_line;
use crate::base::tls_files::TlsError;

/// Why something about the site could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address of the database is none that this host can use.
    #[error(transparent)]
    DatabaseUrl(#[from] DatabaseUrlError),
    /// The database refused or did not answer.
    #[error("the host's database failed: {}", one_line(.0))]
    Database(#[from] sqlx::Error),
    /// The host's tables could not be brought up to date.
    #[error("the host's tables could not be installed: {}", one_line(.0))]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The host's tables are of a later version of this program.
    #[error(
        "the database {url} is newer than this program, which has no migration {version}; use the \
         version of the program with which it was last used, or a later one"
    )]
    NewerDatabase {
        /// Which database, without its password.
        url: String,
        /// The first migration that this program does not know.
        version: i64,
    },
    /// The lock was lost that keeps starts apart.
    #[error(
        "this start has lost its lock on the database, and another may have begun; nothing is \
         served; start again"
    )]
    TurnLost,
    /// A site was being copied into the database, and that did not come to its end.
    #[error("{0} contains an unfinished copy of a site; copy again to start over")]
    HalfACopy(String),
    /// A file or folder could not be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A library could not be loaded.
    #[error(transparent)]
    Load(#[from] host_interface::LoadError),
    /// The certificate and its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A plugin failed before it could serve.
    #[error("{plugin}: {step} failed: {}", one_line(.source))]
    Plugin {
        /// The library, or the extension's name where that is known.
        plugin: String,
        /// What it was asked to do.
        step: &'static str,
        /// Its own words.
        source: host_interface::Error,
    },
    /// A plugin describes itself in terms that cannot be served.
    #[error("{plugin}: {reason}")]
    Description {
        /// The extension's name.
        plugin: String,
        /// What is wrong with its description.
        reason: String,
    },
    /// Something was named that the site does not have.
    #[error("there is no {kind} called {name:?}")]
    NotFound {
        /// What kind of thing.
        kind: &'static str,
        /// The name that was given.
        name: String,
    },
    /// Something was to be made that exists.
    #[error("there is already a {kind} {name:?}")]
    Taken {
        /// What kind of thing.
        kind: &'static str,
        /// The name that was given.
        name: String,
    },
    /// A value that was given is not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// The system gave no randomness, without which there are no secrets.
    #[error("the system's random source failed: {0}")]
    Random(#[from] getrandom::Error),
    /// A password could not be hashed.
    #[error("the password could not be hashed: {0}")]
    Password(String),
}

impl Error {
    pub(crate) fn not_found(kind: &'static str, name: &str) -> Self {
        Self::NotFound { kind, name: name.to_owned() }
    }

    pub(crate) fn taken(kind: &'static str, name: &str) -> Self {
        Self::Taken { kind, name: name.to_owned() }
    }

    pub(crate) fn file(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::File { path: path.into(), source }
    }
}

/// Whether a database error means that something exists already.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}
