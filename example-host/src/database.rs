//! The host's own database: where it lies, how it is opened, and its two pools. Knows nothing of
//! what the tables mean, and never touches the file of an extension.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Sqlite, Transaction};

use crate::error::Error;

/// Where the host's tables are, read from a URL such as `sqlite://data/host.db`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseUrl {
    path: PathBuf,
}

/// Why an address is no database for this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    /// An engine that later versions know.
    #[error(
        "{0} databases are not supported yet by this version; use one like sqlite://data/host.db"
    )]
    NotYet(&'static str),
    /// Nothing that could be the address of a database.
    #[error("{0:?} is no address of a database; it looks like sqlite://data/host.db")]
    Unknown(String),
    /// A database that ends with the process.
    #[error("a database in memory cannot keep a site; name a file like sqlite://data/host.db")]
    Memory,
    /// The host's file would be the file of an extension.
    #[error(
        "{} is kept for the extension of that name; give the host's own file another name, \
         for example host.db", .0.display()
    )]
    Reserved(PathBuf),
}

impl FromStr for DatabaseUrl {
    type Err = DatabaseUrlError;

    fn from_str(url: &str) -> Result<Self, DatabaseUrlError> {
        let unknown = || DatabaseUrlError::Unknown(without_secret(url));
        let (scheme, _) = url.split_once(':').ok_or_else(unknown)?;
        match scheme {
            "sqlite" => {}
            "postgres" | "postgresql" => return Err(DatabaseUrlError::NotYet("PostgreSQL")),
            "mysql" | "mariadb" => return Err(DatabaseUrlError::NotYet("MySQL and MariaDB")),
            _ => return Err(unknown()),
        }
        if url.contains(":memory:") || url.contains("mode=memory") {
            return Err(DatabaseUrlError::Memory);
        }
        let options = SqliteConnectOptions::from_str(url).map_err(|_| unknown())?;
        let path = options.get_filename().to_path_buf();
        if path.file_name().is_none() || path.is_dir() {
            return Err(unknown());
        }
        let url = Self { path };
        // The store's file is known before any extension has been asked for its name.
        url.sibling("shop").map(|_| url)
    }
}

impl DatabaseUrl {
    /// The host's own file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The address of the file beside the host's that an extension keeps its tables in.
    ///
    /// Two copies of SQLite in one process must never open the same file, so each library gets
    /// one of its own.
    pub(crate) fn sibling(&self, stem: &str) -> Result<String, DatabaseUrlError> {
        let path = self.path.with_file_name(format!("{stem}.db"));
        let same_name = match (self.path.file_name(), path.file_name()) {
            (Some(own), Some(other)) => own.eq_ignore_ascii_case(other),
            _ => true,
        };
        // A link from one name to the other would be the same file all the same.
        let same_file = matches!(
            (self.path.canonicalize(), path.canonicalize()),
            (Ok(own), Ok(other)) if own == other
        );
        if same_name || same_file {
            return Err(DatabaseUrlError::Reserved(self.path.clone()));
        }
        let text = path
            .to_str()
            .ok_or_else(|| DatabaseUrlError::Unknown(self.path.to_string_lossy().into_owned()))?;
        let escaped = text.replace('%', "%25").replace('?', "%3F").replace('#', "%23");
        Ok(format!("sqlite://{escaped}"))
    }

    /// A file or folder beside the host's file.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }
}

impl std::fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "sqlite://{}", self.path.display())
    }
}

/// The pools: one connection that writes, a few that only read.
///
/// Transactions that read before they write fail by the thousand when several compete on SQLite;
/// one writer that takes its lock at the start never does.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    writer: SqlitePool,
    readers: SqlitePool,
}

impl Database {
    /// Opens the file, creating it and its folder where they are missing.
    pub(crate) async fn open(url: &DatabaseUrl) -> Result<Self, Error> {
        if let Some(folder) = url.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
        }
        create_private(&url.path)?;
        let options = SqliteConnectOptions::new()
            .filename(&url.path)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(5));
        let writing = options
            .clone()
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full);
        let pool = || {
            SqlitePoolOptions::new()
                .acquire_timeout(Duration::from_secs(10))
                .test_before_acquire(false)
        };
        let writer = pool().max_connections(1).connect_with(writing).await?;
        let readers = pool().max_connections(4).connect_lazy_with(options.read_only(true));
        Ok(Self { writer, readers })
    }

    /// Brings the tables up to date.
    pub(crate) async fn migrate(&self) -> Result<(), Error> {
        Ok(sqlx::migrate!("migrations/sqlite").run(&self.writer).await?)
    }

    /// Begins a transaction that writes. It has the lock at once, so nothing it reads can change.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Sqlite>, Error> {
        Ok(self.writer.begin_with("BEGIN IMMEDIATE").await?)
    }

    /// The connections that only read.
    pub(crate) fn readers(&self) -> &SqlitePool {
        &self.readers
    }

    /// Closes every connection.
    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

/// Creates the file where it is missing, for nobody else to read: it holds e-mail addresses and
/// hashes of passwords. What SQLite puts beside it gets the same permissions.
fn create_private(path: &Path) -> Result<(), Error> {
    let mut options = std::fs::File::options();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop).map_err(|error| Error::file(path, error))
}

/// An address without what could be a password, for a message.
fn without_secret(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            format!("{}...{}", &url[..scheme + 3], &url[at..])
        }
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_extension_has_a_file_beside_the_hosts() {
        let sibling = |url: &str| url.parse::<DatabaseUrl>().and_then(|url| url.sibling("shop"));
        assert_eq!(sibling("sqlite://data/host.db"), Ok("sqlite://data/shop.db".to_owned()));
        assert_eq!(sibling("sqlite:///srv/a%3Fb/x.db"), Ok("sqlite:///srv/a%3Fb/shop.db".into()));
    }

    #[test]
    fn addresses_that_cannot_be_used_say_why() {
        let refused = |url: &str| url.parse::<DatabaseUrl>().err();
        assert_eq!(refused("postgres://u@h/d"), Some(DatabaseUrlError::NotYet("PostgreSQL")));
        assert_eq!(refused("sqlite::memory:"), Some(DatabaseUrlError::Memory));
        let reserved = |path: &str| Some(DatabaseUrlError::Reserved(path.into()));
        assert_eq!(refused("sqlite://data/shop.db"), reserved("data/shop.db"));
        assert_eq!(refused("sqlite://data/SHOP.DB"), reserved("data/SHOP.DB"));
        assert_eq!(
            refused("oracle://user:secret@host/x"),
            Some(DatabaseUrlError::Unknown("oracle://...@host/x".to_owned()))
        );
    }
}
