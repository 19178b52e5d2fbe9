//! Where the host and its extensions keep their tables: the host's database, replicas for reports, and
//! the databases of extensions that have one of their own. Such an extension holds no credentials with
//! which it could read the tables of the host. Opens no connection.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::database_url::{DatabaseUrl, DatabaseUrlError};

/// The databases of extensions that have one of their own, each from an environment variable whose name
/// ends with that of the extension, for example `EXTENSION_DATABASE_URL_WEBSERVICES_SHOP`.
#[derive(Clone, Debug)]
pub struct OwnDatabases {
    /// What the names of the variables begin with.
    prefix: &'static str,
    /// By the end of the names.
    urls: BTreeMap<String, DatabaseUrl>,
}

/// The databases of a site.
#[derive(Clone, Debug)]
pub struct Databases {
    host: DatabaseUrl,
    reports: Option<DatabaseUrl>,
    own: OwnDatabases,
    own_reports: OwnDatabases,
}

/// Why the databases of a site cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DatabasesError {
    /// The address in a variable is not one.
    #[error("{variable}: {source}")]
    Url {
        /// The variable.
        variable: String,
        /// What is wrong with it.
        source: DatabaseUrlError,
    },
    /// The database of an extension is on another engine than that of the host, or both are files.
    #[error(
        "{0} must be on the same kind of server as the host's database; on SQLite every extension \
         has a file of its own anyway"
    )]
    OtherServer(String),
    /// The name of a variable ends with that of no extension.
    #[error("{0} is set, but no library with an extension of that name is loaded")]
    NoExtension(String),
    /// An extension has a database of its own, whose address was not given.
    #[error(
        "{extension} keeps its tables in a database of its own; give its address in {variable}"
    )]
    NotGiven {
        /// The extension.
        extension: String,
        /// The variable.
        variable: String,
    },
    /// The host's database, or its replica, cannot be used.
    #[error(transparent)]
    Host(#[from] DatabaseUrlError),
}

impl OwnDatabases {
    /// The beginning of the variables that every command reads.
    pub const EXTENSION: &str = "EXTENSION_DATABASE_URL_";
    /// The beginning of the variables for replicas of these databases.
    pub const REPORTS: &str = "EXTENSION_DATABASE_REPORTS_URL_";
    /// The beginning of the variables for a site that is copied.
    pub const COPY_FROM: &str = "COPY_FROM_URL_";
    /// The beginning of the variables for its copy.
    pub const COPY_TO: &str = "COPY_TO_URL_";

    /// No extension has a database of its own.
    pub fn none(prefix: &'static str) -> Self {
        Self { prefix, urls: BTreeMap::new() }
    }

    /// Reads the variables of this process that begin with a prefix.
    ///
    /// # Errors
    /// When one of them is not the address of a database.
    pub fn from_env(prefix: &'static str) -> Result<Self, DatabasesError> {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        Self::read(prefix, std::env::vars_os().map(|(name, value)| (text(name), text(value))))
    }

    /// Reads the addresses from variables of any source; an empty one counts as not set.
    ///
    /// # Errors
    /// When one of them is not the address of a database.
    pub fn read(
        prefix: &'static str,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, DatabasesError> {
        let mut own = Self::none(prefix);
        for (variable, url) in variables {
            let Some(name) = variable.strip_prefix(prefix).filter(|_| !url.is_empty()) else {
                continue;
            };
            let name = name.to_owned();
            let url = url.parse().map_err(|source| DatabasesError::Url { variable, source })?;
            own.urls.insert(name, url);
        }
        Ok(own)
    }

    fn of(&self, extension: &str) -> Option<&DatabaseUrl> {
        self.urls.get(&suffix(extension))
    }

    fn variable(&self, extension: &str) -> String {
        format!("{}{}", self.prefix, suffix(extension))
    }

    /// The first variable for an extension that is not among these.
    fn beside(&self, extensions: &[&str]) -> Option<String> {
        let known: Vec<String> = extensions.iter().map(|name| suffix(name)).collect();
        let other = self.urls.keys().find(|name| !known.contains(name));
        other.map(|name| format!("{}{name}", self.prefix))
    }
}

/// An extension in the name of a variable. Names of extensions have no capitals and no underscores, so
/// no two of them are the same there.
fn suffix(extension: &str) -> String {
    extension.to_ascii_uppercase().replace('-', "_")
}

impl Databases {
    /// A site whose extensions keep their tables where the host does.
    pub fn new(host: DatabaseUrl) -> Self {
        Self {
            host,
            reports: None,
            own: OwnDatabases::none(OwnDatabases::EXTENSION),
            own_reports: OwnDatabases::none(OwnDatabases::REPORTS),
        }
    }

    /// With a replica of the host's database, which extensions read reports from.
    pub fn reports(mut self, replica: Option<DatabaseUrl>) -> Self {
        self.reports = replica;
        self
    }

    /// With databases of extensions that have one of their own.
    pub fn own(mut self, own: OwnDatabases) -> Self {
        self.own = own;
        self
    }

    /// With replicas of those.
    pub fn own_reports(mut self, replicas: OwnDatabases) -> Self {
        self.own_reports = replicas;
        self
    }

    /// The same site with its files in another folder, on SQLite.
    pub(crate) fn moved_to(self, folder: &Path) -> Self {
        Self { host: self.host.moved_to(folder), ..self }
    }

    /// The host's own database.
    pub(crate) fn host(&self) -> &DatabaseUrl {
        &self.host
    }

    /// Whether an extension has a database of its own on a server.
    pub(crate) fn has_own(&self, extension: &str) -> bool {
        self.own_of(extension).is_some()
    }

    /// The database that an extension has of its own.
    pub(crate) fn own_of(&self, extension: &str) -> Option<&DatabaseUrl> {
        self.own.of(extension)
    }

    /// The addresses of an extension's tables and of their replica. `stem` is the name of its file.
    pub(crate) fn of_extension(
        &self,
        extension: &str,
        stem: &str,
    ) -> Result<(String, Option<String>), DatabasesError> {
        let own = self.own.of(extension);
        let url = match own {
            Some(own) => own
                .on_server_like(&self.host)
                .ok_or_else(|| DatabasesError::OtherServer(self.own.variable(extension)))?,
            None => self.host.of_extension(stem)?,
        };
        // The credentials for the host's replica would give access to the host's tables.
        let shared = self.reports.as_ref().filter(|_| own.is_none());
        let replica = self.own_reports.of(extension).or(shared);
        let replica = replica.map(|replica| replica.as_replica_of(own.unwrap_or(&self.host)));
        Ok((url, replica.transpose()?))
    }

    /// Whether an extension has the same tables here and there, judged by their addresses.
    pub(crate) fn is_same(&self, other: &Databases, extension: &str) -> bool {
        fn of<'a>(databases: &'a Databases, extension: &str) -> &'a DatabaseUrl {
            databases.own_of(extension).unwrap_or(&databases.host)
        }
        of(self, extension).is_same(of(other, extension))
    }

    /// Fails if a variable is for an extension that is not among these: it may be misspelt, and then its
    /// extension would use the credentials of the host.
    pub(crate) fn only_of(&self, extensions: &[&str]) -> Result<(), DatabasesError> {
        let other = self.own.beside(extensions).or_else(|| self.own_reports.beside(extensions));
        other.map_or(Ok(()), |variable| Err(DatabasesError::NoExtension(variable)))
    }

    /// Fails because the address of an extension's own database was not given.
    pub(crate) fn not_given(&self, extension: &str) -> DatabasesError {
        let variable = self.own.variable(extension);
        DatabasesError::NotGiven { extension: extension.to_owned(), variable }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "postgres://site:one@localhost/site";
    const SHOP: &str = "postgres://shop:two@localhost/site";

    fn own(
        prefix: &'static str,
        variables: &[(&str, &str)],
    ) -> Result<OwnDatabases, DatabasesError> {
        let variables = variables.iter().map(|(name, url)| ((*name).to_owned(), (*url).to_owned()));
        OwnDatabases::read(prefix, variables)
    }

    fn databases(host: &str, variables: &[(&str, &str)]) -> Result<Databases, DatabasesError> {
        let replicas = own(OwnDatabases::REPORTS, variables)?;
        let replica = "postgres://site:one@replica/site".parse()?;
        let databases = Databases::new(host.parse()?).reports(Some(replica));
        Ok(databases.own(own(OwnDatabases::EXTENSION, variables)?).own_reports(replicas))
    }

    #[test]
    fn an_extension_with_a_database_of_its_own_gets_no_address_of_the_host()
    -> Result<(), DatabasesError> {
        let variable = "EXTENSION_DATABASE_URL_WEBSERVICES_SHOP";
        let site = databases(SITE, &[(variable, SHOP), ("EXTENSION_DATABASE_URL_ZOO", "")])?;
        let shop = site.of_extension("webservices-shop", "shop")?;
        assert_eq!(shop, (SHOP.to_owned(), None));
        let zoo = site.of_extension("zoo", "zoo")?;
        assert_eq!(zoo.0, SITE, "an empty variable is none");
        assert_eq!(zoo.1.as_deref(), Some("postgres://site:one@replica/site"));
        assert!(site.has_own("webservices-shop") && !site.has_own("zoo"));

        let replica = "EXTENSION_DATABASE_REPORTS_URL_WEBSERVICES_SHOP";
        let site = databases(SITE, &[(variable, SHOP), (replica, "postgres://shop@replica/site")])?;
        let (_, replica) = site.of_extension("webservices-shop", "shop")?;
        assert_eq!(replica.as_deref(), Some("postgres://shop@replica/site"));
        Ok(())
    }

    #[test]
    fn what_cannot_be_meant_is_refused_without_a_password() -> Result<(), DatabasesError> {
        let variable = "EXTENSION_DATABASE_URL_ZOO";
        let why = databases(SITE, &[(variable, "oracle://zoo:s3cret@host/x")]).err();
        let why = why.map(|why| why.to_string()).unwrap_or_default();
        assert!(why.starts_with("EXTENSION_DATABASE_URL_ZOO: \"oracle://...\""), "{why}");
        for (host, url) in [
            (SITE, "mysql://zoo@localhost/zoo"),
            (SITE, "sqlite://data/zoo.db"),
            ("sqlite://data/host.db", "sqlite://data/own.db"),
            ("sqlite://data/host.db", SHOP),
        ] {
            let of = Databases::new(host.parse()?)
                .own(own("EXTENSION_DATABASE_URL_", &[(variable, url)])?);
            let refused = of.of_extension("zoo", "zoo");
            assert_eq!(refused, Err(DatabasesError::OtherServer(variable.to_owned())), "{url}");
        }
        let site = databases(SITE, &[(variable, SHOP)])?;
        assert_eq!(site.only_of(&["bakery", "zoo"]), Ok(()));
        let none = DatabasesError::NoExtension(variable.to_owned());
        assert_eq!(site.only_of(&["bakery"]), Err(none));
        Ok(())
    }

    #[test]
    fn a_database_is_compared_with_that_of_the_same_extension() -> Result<(), DatabasesError> {
        let shared = databases(SITE, &[])?;
        let apart = databases(SITE, &[("EXTENSION_DATABASE_URL_ZOO", SHOP)])?;
        let moved =
            databases("postgres://site@localhost/new", &[("EXTENSION_DATABASE_URL_ZOO", SHOP)])?;
        assert!(shared.is_same(&shared, "zoo") && !shared.is_same(&apart, "zoo"));
        assert!(apart.is_same(&moved, "zoo") && !apart.is_same(&moved, "bakery"));
        Ok(())
    }
}
