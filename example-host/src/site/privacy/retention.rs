//! What extensions keep no longer, counted by each. Removing it is theirs, too: once a day, or when an operator runs
//! their command.

use serde_json::{Map, Value};

use crate::base::error::Error;
use crate::site::Site;

/// What an extension would remove.
pub(crate) struct Expired {
    pub(crate) extension: String,
    /// The rows of its report, each with its values by the names of the columns.
    pub(crate) rows: Vec<Map<String, Value>>,
}

impl Site {
    /// The extensions that remove what they keep no longer, and that can tell what this would be.
    pub(crate) fn retaining(&self) -> impl Iterator<Item = (&str, &str)> {
        self.mapped().filter_map(|(of, map, _)| {
            let name = map.retention.as_deref()?;
            let command = of.commands.iter().find(|command| command.name == name)?;
            command.dry_run.as_ref().map(|_| (of.name.as_str(), name))
        })
    }

    /// What they would remove now. Nothing is changed.
    ///
    /// # Errors
    /// When one of them fails.
    pub(crate) async fn expired(&self) -> Result<Vec<Expired>, Error> {
        let mut expired = Vec::new();
        for (extension, command) in self.retaining() {
            let report = self.dry_run(extension, command).await?;
            let rows = report.unwrap_or_default().rows;
            expired.push(Expired { extension: extension.to_owned(), rows });
        }
        Ok(expired)
    }
}
