//! The address of the host's database: its engine, its form without secrets, and where extensions
//! and files are kept beside it. Opens no connection.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::mysql::MySqlConnectOptions;
use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

/// The default folder for the files of a site whose tables are on a server.
const FOLDER: &str = "data";

/// The address of the host's tables, read from a URL such as `sqlite://data/host.db` or
/// `postgres://user:password@localhost/site`.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl {
    kind: Kind,
    /// The folder for the files of a site whose tables are on a server.
    folder: PathBuf,
}

#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    File(PathBuf),
    Postgres(String),
    MySql(String),
}

/// Why an address cannot be used for the host's database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabaseUrlError {
    /// Not the address of a database.
    #[error(
        "{0:?} is not a database URL; expected, for example, sqlite://data/host.db, \
         postgres://user:password@localhost/site or mysql://user:password@localhost/site"
    )]
    Unknown(String),
    /// The address of a server without the name of a database.
    #[error(
        "{0:?} names a server but no database; expected, for example, postgres://localhost/site"
    )]
    NoDatabase(String),
    /// A database in memory, which would be lost with the process.
    #[error("a site cannot be kept in memory; name a file, for example sqlite://data/host.db")]
    Memory,
    /// The replica is on another engine, or the database is a file, which has no replica.
    #[error("reports can only be read from a replica of a database on the same kind of server")]
    NoReplica,
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
        let named = |database: Option<&str>| match database {
            Some(name) if !name.is_empty() => Ok(()),
            _ => Err(DatabaseUrlError::NoDatabase(without_secret(url))),
        };
        match scheme {
            "sqlite" => file(url),
            "postgres" | "postgresql" => {
                named(postgres(url).ok_or_else(unknown)?.get_database())?;
                Ok(Self::new(Kind::Postgres(url.to_owned())))
            }
            "mysql" | "mariadb" => {
                named(mysql(url).ok_or_else(unknown)?.get_database())?;
                Ok(Self::new(Kind::MySql(url.to_owned())))
            }
            _ => Err(unknown()),
        }
    }
}

impl DatabaseUrl {
    fn new(kind: Kind) -> Self {
        Self { kind, folder: PathBuf::from(FOLDER) }
    }

    /// Sets the folder for the files of a site whose tables are on a server; the default is `data`.
    /// On SQLite the files are always beside the database.
    pub fn files_in(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// A file of the same name in another folder. A server stays where it is.
    pub(crate) fn moved_to(self, folder: &Path) -> Self {
        match &self.kind {
            Kind::File(path) => {
                let file = folder.join(path.file_name().unwrap_or_default());
                Self { kind: Kind::File(file), ..self }
            }
            Kind::Postgres(_) | Kind::MySql(_) => self,
        }
    }

    /// The host's own database file, on SQLite.
    pub fn path(&self) -> Option<&Path> {
        match &self.kind {
            Kind::File(path) => Some(path),
            Kind::Postgres(_) | Kind::MySql(_) => None,
        }
    }

    /// Whether both are the same database, judged by their addresses.
    pub(crate) fn is_same(&self, other: &DatabaseUrl) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::File(own), Kind::File(other)) => {
                own == other
                    || matches!(
                        (own.canonicalize(), other.canonicalize()),
                        (Ok(own), Ok(other)) if own == other
                    )
            }
            _ => self.to_string() == other.to_string(),
        }
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// The file in which an extension keeps its tables, on SQLite. `stem` is its name.
    pub(crate) fn file_of_extension(&self, stem: &str) -> Option<PathBuf> {
        self.path().map(|own| own.with_file_name(format!("{stem}.db")))
    }

    /// The address at which an extension keeps its tables.
    ///
    /// Two copies of SQLite in one process must never open the same file, so each library gets a
    /// file of its own beside the host's. On a server all share one database.
    pub(crate) fn of_extension(&self, stem: &str) -> Result<String, DatabaseUrlError> {
        let own = match &self.kind {
            Kind::File(path) => path,
            Kind::Postgres(url) | Kind::MySql(url) => return Ok(url.clone()),
        };
        let path = own.with_file_name(format!("{stem}.db"));
        let same_name = match (own.file_name(), path.file_name()) {
            (Some(own), Some(other)) => own.eq_ignore_ascii_case(other),
            _ => true,
        };
        // With a link, two different names can be the same file.
        let same_file = matches!(
            (own.canonicalize(), path.canonicalize()),
            (Ok(own), Ok(other)) if own == other
        );
        if same_name || same_file {
            return Err(DatabaseUrlError::Reserved(own.clone()));
        }
        let text = path
            .to_str()
            .ok_or_else(|| DatabaseUrlError::Unknown(own.to_string_lossy().into_owned()))?;
        let escaped = text.replace('%', "%25").replace('?', "%3F").replace('#', "%23");
        Ok(format!("sqlite://{escaped}"))
    }

    /// The address of a replica, in the form that extensions expect.
    pub(crate) fn as_replica_of(&self, url: &DatabaseUrl) -> Result<String, DatabaseUrlError> {
        self.on_server_like(url).ok_or(DatabaseUrlError::NoReplica)
    }

    /// The address in the form that extensions expect, if it is on the same kind of server as another.
    pub(crate) fn on_server_like(&self, url: &DatabaseUrl) -> Option<String> {
        match (&self.kind, &url.kind) {
            (Kind::Postgres(own), Kind::Postgres(_)) | (Kind::MySql(own), Kind::MySql(_)) => {
                Some(own.clone())
            }
            _ => None,
        }
    }

    /// A file or folder of the site: beside the host's database file, or in the folder of the site
    /// if the tables are on a server.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        match &self.kind {
            Kind::File(path) => path.with_file_name(name),
            Kind::Postgres(_) | Kind::MySql(_) => self.folder.join(name),
        }
    }
}

/// The address in a form that may be shown: without a password, and without the parameters, which
/// may also contain one.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, user, host, port, database) = match &self.kind {
            Kind::File(path) => return write!(f, "sqlite://{}", path.display()),
            Kind::Postgres(url) => match postgres(url) {
                Some(of) => (
                    "postgres",
                    of.get_username().to_owned(),
                    of.get_host().to_owned(),
                    of.get_port(),
                    of.get_database().map(str::to_owned),
                ),
                None => return f.write_str("postgres://..."),
            },
            Kind::MySql(url) => match mysql(url) {
                Some(of) => (
                    "mysql",
                    of.get_username().to_owned(),
                    of.get_host().to_owned(),
                    of.get_port(),
                    of.get_database().map(str::to_owned),
                ),
                None => return f.write_str("mysql://..."),
            },
        };
        write!(f, "{scheme}://{user}@{host}:{port}/{}", database.unwrap_or_default())
    }
}

/// As `Display`: a password must not reach a log through a debug format.
impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

/// The options in the address of a PostgreSQL server, if it is one.
pub(crate) fn postgres(url: &str) -> Option<PgConnectOptions> {
    PgConnectOptions::from_str(url).ok()
}

/// The options in the address of a MySQL or MariaDB server, if it is one.
pub(crate) fn mysql(url: &str) -> Option<MySqlConnectOptions> {
    MySqlConnectOptions::from_str(url).ok()
}

fn file(url: &str) -> Result<DatabaseUrl, DatabaseUrlError> {
    let unknown = || DatabaseUrlError::Unknown(without_secret(url));
    if url.contains(":memory:") || url.contains("mode=memory") {
        return Err(DatabaseUrlError::Memory);
    }
    let options = SqliteConnectOptions::from_str(url).map_err(|_| unknown())?;
    let path = options.get_filename().to_path_buf();
    if path.file_name().is_none() || path.is_dir() {
        return Err(unknown());
    }
    Ok(DatabaseUrl::new(Kind::File(path)))
}

/// An address for a message, without anything that could be part of a password. An unescaped
/// password may contain any character, so only the scheme is shown.
fn without_secret(url: &str) -> String {
    if !url.contains(['@', '?']) {
        return url.to_owned();
    }
    url.split_once("://").map_or_else(|| "...".to_owned(), |(scheme, _)| format!("{scheme}://..."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_extension_has_a_file_beside_the_hosts() {
        let file = |url: &str| url.parse::<DatabaseUrl>().and_then(|url| url.of_extension("shop"));
        assert_eq!(file("sqlite://data/host.db"), Ok("sqlite://data/shop.db".to_owned()));
        assert_eq!(file("sqlite:///srv/a%3Fb/x.db"), Ok("sqlite:///srv/a%3Fb/shop.db".into()));
    }

    #[test]
    fn extensions_share_the_database_of_the_host_on_a_server() {
        for url in [
            "postgres://ann:s%40cret@db.example.com:5433/shop?sslmode=require",
            "postgresql:///shop?host=/run/postgresql",
            "mysql://ann:s3cret@db.example.com/shop",
            "mariadb://ann@localhost/site?socket=/run/mysqld/mysqld.sock",
        ] {
            let parsed = url.parse::<DatabaseUrl>();
            assert_eq!(parsed.and_then(|parsed| parsed.of_extension("shop")), Ok(url.to_owned()));
        }
    }

    #[test]
    fn a_displayed_address_contains_no_secret() {
        let shown = |url: &str| url.parse::<DatabaseUrl>().map(|url| format!("{url} {url:?}"));
        assert_eq!(
            shown("mariadb://ann:s3cret@db.example.com/shop"),
            Ok("mysql://ann@db.example.com:3306/shop \
                DatabaseUrl(mysql://ann@db.example.com:3306/shop)"
                .to_owned())
        );
        let postgres =
            shown("postgres://ann@db.example.com/shop?password=s3cret").unwrap_or_default();
        assert!(postgres.starts_with("postgres://ann@db.example.com:5432/shop"), "{postgres}");
        assert!(!postgres.contains("s3cret"), "{postgres}");
    }

    #[test]
    fn unusable_addresses_are_refused_with_a_reason() {
        let refused = |url: &str| url.parse::<DatabaseUrl>().err();
        assert_eq!(refused("sqlite::memory:"), Some(DatabaseUrlError::Memory));
        let kept = |url: &str| {
            url.parse::<DatabaseUrl>().and_then(|url| url.of_extension("library")).err()
        };
        let reserved = |path: &str| Some(DatabaseUrlError::Reserved(path.into()));
        assert_eq!(kept("sqlite://data/library.db"), reserved("data/library.db"));
        assert_eq!(kept("sqlite://data/LIBRARY.DB"), reserved("data/LIBRARY.DB"));
        assert_eq!(kept("sqlite://data/shop.db"), None, "no extension is known in advance");
        let unknown = |shown: &str| Some(DatabaseUrlError::Unknown(shown.to_owned()));
        assert_eq!(refused("data/host.db"), unknown("data/host.db"));
        assert_eq!(refused("oracle://user:secret@host/x"), unknown("oracle://..."));
        assert_eq!(refused("postgres://ann:se/cret@host/x"), unknown("postgres://..."));
        assert_eq!(
            refused("mysql://ann:secret@localhost"),
            Some(DatabaseUrlError::NoDatabase("mysql://...".to_owned()))
        );
    }
}
