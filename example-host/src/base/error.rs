//! The errors of a site, each one line for the person at the terminal. The errors for HTTP clients
//! are in `refusal.rs` of `host-service`.

use std::path::PathBuf;

use crate::base::database_url::DatabaseUrlError;
use crate::base::databases::DatabasesError;
use crate::base::text::one_line;
use crate::base::tls_files::TlsError;

/// Why an operation on a site failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address of the database cannot be used.
    #[error(transparent)]
    DatabaseUrl(#[from] DatabaseUrlError),
    /// The address of the database of an extension cannot be used.
    #[error(transparent)]
    Databases(#[from] DatabasesError),
    /// The database refused a statement or did not answer.
    #[error("the host's database failed: {}", one_line(.0))]
    Database(#[from] sqlx::Error),
    /// The host's tables could not be brought up to date.
    #[error("the host's tables could not be installed: {}", one_line(.0))]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The host's tables belong to a later version of this program.
    #[error(
        "the database {url} is newer than this program, which has no migration {version}; use the \
         version of the program with which it was last used, or a later one"
    )]
    NewerDatabase {
        /// The address of the database, without its password.
        url: String,
        /// The first migration that this program does not have.
        version: i64,
    },
    /// The tables were created by a program from before the first release.
    #[error(
        "the database {0} was created by an unreleased version of this program; serve it with that version, \
         and move what is needed to a site in an empty database"
    )]
    UnreleasedDatabase(String),
    /// The lock that allows only one start at a time was lost.
    #[error(
        "this start has lost its lock on the database, and another may have begun; nothing is \
         served; start again"
    )]
    LockLost,
    /// The database contains a copy of a site that was interrupted.
    #[error("{0} contains an unfinished copy of a site; copy again to start over")]
    UnfinishedCopy(String),
    /// The file with the tables of an extension is missing.
    #[error(
        "{} is missing, in which the site keeps the tables of {extension}; put the file back, or \
         restore a backup of all files of the site", .file.display()
    )]
    MissingFile {
        /// The extension.
        extension: String,
        /// Its file.
        file: PathBuf,
    },
    /// A file or folder could not be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A library could not be loaded.
    #[error(transparent)]
    Load(#[from] host_interface::LoadError),
    /// The certificate and its key cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A plugin failed before it could answer requests.
    #[error("{plugin}: {step} failed: {}", one_line(.source))]
    Plugin {
        /// The library, or the extension's name once that is known.
        plugin: String,
        /// The call that failed.
        step: &'static str,
        /// The plugin's error.
        source: host_interface::Error,
    },
    /// A command of a plugin failed.
    #[error("{plugin}: {command} failed: {}", one_line(.source))]
    Command {
        /// The extension's name.
        plugin: String,
        /// The command.
        command: String,
        /// The plugin's error.
        source: host_interface::Error,
    },
    /// The description of a plugin is not valid.
    #[error("{plugin}: {reason}")]
    Description {
        /// The extension's name.
        plugin: String,
        /// What is wrong with its description.
        reason: String,
    },
    /// The site has nothing of that name.
    #[error("there is no {kind} called {name:?}")]
    NotFound {
        /// The kind of thing, for example `user`.
        kind: &'static str,
        /// The name that was given.
        name: String,
    },
    /// The name is already in use.
    #[error("there is already a {kind} {name:?}")]
    Taken {
        /// The kind of thing, for example `user`.
        kind: &'static str,
        /// The name that was given.
        name: String,
    },
    /// A value that was given is not acceptable.
    #[error("{0}")]
    Invalid(String),
    /// The system provided no random bytes, which secrets are made of.
    #[error("the system's random source failed: {0}")]
    Random(#[from] getrandom::Error),
    /// A secret that the site keeps could not be encrypted or read.
    #[error("a secret of the site cannot be used: {0}")]
    Secret(String),
    /// A password could not be hashed.
    #[error("the password could not be hashed: {0}")]
    Password(String),
}

impl From<host_service::Error> for Error {
    fn from(error: host_service::Error) -> Self {
        match error {
            host_service::Error::Plugin { extension, step, source } => {
                Self::Plugin { plugin: extension, step, source }
            }
            host_service::Error::Description { extension, reason } => {
                Self::Description { plugin: extension, reason }
            }
            host_service::Error::Random(error) => Self::Random(error),
            other => Self::Invalid(other.to_string()),
        }
    }
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

/// Whether a database error is the violation of a unique key.
pub(crate) fn is_unique_violation(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}
