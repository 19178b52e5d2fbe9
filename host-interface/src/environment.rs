//! What a plugin needs to know about its place on a site. Knows nothing of the host's services.

use serde::{Deserialize, Serialize};

/// Where a plugin finds itself: what the host tells it once, when it creates it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Environment {
    /// The address of the database in which the plugin keeps its tables. On SQLite the file is the
    /// plugin's alone; on a database server all extensions share one database, and a plugin tells
    /// its tables apart by a prefix.
    pub database_url: String,
    /// The path below which the host mounts the plugin's routes, without a slash at the end; for
    /// links.
    #[serde(default)]
    pub base_path: String,
    /// The address of a replica of that database, which may lag behind it, for reading that can
    /// bear that: reports. Where there is none, the database itself is read.
    #[serde(default)]
    pub reports_url: Option<String>,
}

impl Environment {
    /// An environment with this database, mounted at the top.
    pub fn new(database_url: impl Into<String>) -> Self {
        Self { database_url: database_url.into(), base_path: String::new(), reports_url: None }
    }

    /// Says where the routes are mounted, for example `/api/index.php`.
    pub fn base_path(mut self, path: impl Into<String>) -> Self {
        self.base_path = path.into();
        self
    }

    /// Names a replica of the database for reports.
    pub fn reports_url(mut self, url: impl Into<String>) -> Self {
        self.reports_url = Some(url.into());
        self
    }
}
