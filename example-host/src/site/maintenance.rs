//! Checking and correcting the counts and sums that extensions store beside their records, and what is to be
//! done after a restored backup. Each extension implements this itself, so that it is safe while others
//! write.

use host_interface::{Difference, Error as PluginError, Progress};

use super::Site;
use crate::base::error::Error;
use crate::database::transact;

impl Site {
    /// Compares the stored counts and sums of the extensions with their records, and returns those
    /// that differ. With `correct` they are also corrected. `progress` creates the progress
    /// listener for an extension.
    ///
    /// # Errors
    /// When an extension or the database fails.
    pub async fn recount<P: Progress>(
        &self,
        correct: bool,
        mut progress: impl FnMut() -> P,
    ) -> Result<Vec<Difference>, Error> {
        self.all_served()?;
        if correct {
            // This is recorded first, so that there is an entry even if the correction fails.
            transact!(self.state().database(), |transaction| {
                self.record(transaction, "", "", "correct counts and sums").await
            })?;
        }
        let mut found = Vec::new();
        for (description, plugin) in self.plugins() {
            let differences = plugin.recount(correct, progress()).await;
            found.extend(differences.map_err(|source| Error::Plugin {
                plugin: description.name.clone(),
                step: "recount",
                source,
            })?);
        }
        Ok(found)
    }

    /// Notes that the databases were restored from a backup, so that clients of the extensions start over
    /// instead of going on from what the backup does not have.
    ///
    /// # Errors
    /// When an extension or the database fails.
    pub async fn note_restored(&self) -> Result<(), Error> {
        self.all_served()?;
        transact!(self.state().database(), |transaction| {
            self.record(transaction, "", "", "note a restored backup").await
        })?;
        for (description, plugin) in self.plugins() {
            match plugin.restored().await {
                // It has nothing to do then.
                Ok(()) | Err(PluginError::Unsupported(_)) => {}
                Err(source) => {
                    let plugin = description.name.clone();
                    return Err(Error::Plugin { plugin, step: "restored", source });
                }
            }
        }
        Ok(())
    }
}
