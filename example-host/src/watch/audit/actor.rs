//! The system user who changes a site on the command line. Each change is recorded in its own
//! transaction.

use crate::base::error::Error;
use crate::database::Connection;

use super::entry::{Entry, Means, Origin, Record};
use super::rows::insertion;

/// The system user who runs a command that changes a site.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    /// The name of the command.
    pub(crate) command: &'static str,
    /// The login name.
    pub(crate) username: String,
    pub(crate) uid: Option<u32>,
}

impl Actor {
    /// Records a change in its transaction.
    pub(crate) async fn record(
        &self,
        transaction: &mut Connection,
        record: Record,
        what: &str,
    ) -> Result<(), Error> {
        let entry = Entry::new(Origin::CommandLine, "", self.command, record);
        // Users of the system are not users of the site, so they have no key there.
        let entry = entry.by(0, &self.username, &Means::Shell(self.uid)).saying(what);
        transaction.insert(insertion(&entry)).await?;
        Ok(())
    }
}
