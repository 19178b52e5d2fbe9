//! What extensions keep beside their records, compared with them and corrected. Which numbers those are, and how
//! that is done beside writers, is known to each extension alone.

use host_interface::{Difference, Progress};

use super::Site;
use crate::base::error::Error;
use crate::database::transact;

impl Site {
    /// Compares what the extensions keep beside their records with what these come to, and gives what differs.
    /// With `mend` it is corrected. `progress` makes the listener for one extension.
    ///
    /// # Errors
    /// When an extension could not.
    pub async fn recount<P: Progress>(
        &self,
        mend: bool,
        mut progress: impl FnMut() -> P,
    ) -> Result<Vec<Difference>, Error> {
        if mend {
            // Before anything is changed, so that there is an entry however this ends.
            transact!(self.state().database(), |transaction| {
                self.record(transaction, "", "", "correct counts and sums").await
            })?;
        }
        let mut found = Vec::new();
        for (description, plugin) in self.plugins() {
            let differences = plugin.recount(mend, progress()).await;
            found.extend(differences.map_err(|source| Error::Plugin {
                plugin: description.name.clone(),
                step: "recount",
                source,
            })?);
        }
        Ok(found)
    }
}
