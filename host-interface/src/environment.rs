//! What a plugin needs to know about its place on a site. Knows nothing of the host's services.

use serde::{Deserialize, Serialize};

/// A plugin's place on a site, passed once, when the host creates the plugin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Environment {
    /// The address of the database in which the plugin keeps its tables. On SQLite no other extension
    /// uses the file; on a database server all extensions share one database, and the names of a
    /// plugin's tables have a prefix of their own.
    pub database_url: String,
    /// The path below which the host mounts the plugin's routes, without a slash at the end. The plugin
    /// needs it for links.
    #[serde(default)]
    pub base_path: String,
    /// The address of a replica of that database, for reports. It may lag behind. Without one, reports
    /// are read from the database itself.
    #[serde(default)]
    pub reports_url: Option<String>,
    /// What the host offers, see [`capability`](crate::capability).
    #[serde(default)]
    pub capabilities: Vec<String>,
}

impl Environment {
    /// An environment with this database. The routes are mounted at the top, and the host offers none of
    /// the capabilities.
    pub fn new(database_url: impl Into<String>) -> Self {
        Self {
            database_url: database_url.into(),
            base_path: String::new(),
            reports_url: None,
            capabilities: Vec::new(),
        }
    }

    /// Sets where the routes are mounted, for example `/api/index.php`.
    pub fn base_path(mut self, path: impl Into<String>) -> Self {
        self.base_path = path.into();
        self
    }

    /// Names a replica of the database for reports.
    pub fn reports_url(mut self, url: impl Into<String>) -> Self {
        self.reports_url = Some(url.into());
        self
    }

    /// Names what the host offers, see [`capability`](crate::capability).
    pub fn capabilities<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.capabilities.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether the host offers this [`capability`](crate::capability).
    pub fn offers(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|offered| offered == capability)
    }
}
