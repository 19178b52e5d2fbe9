//! Whoever changes a site by this program itself. What they change is recorded in the transaction of the
//! change.

use crate::base::error::Error;
use crate::database::Connection;

use super::entry::{Entry, Means, Origin, Record};
use super::rows::insertion;

/// Whoever runs this program, by a command that changes a site.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    /// What the command is called.
    pub(crate) command: &'static str,
    /// Who gives it, as the system knows them.
    pub(crate) username: String,
    pub(crate) uid: Option<u32>,
}

impl Actor {
    /// Records what they change, in the transaction of the change.
    pub(crate) async fn record(
        &self,
        transaction: &mut Connection,
        record: Record,
        what: &str,
    ) -> Result<(), Error> {
        let entry = Entry::new(Origin::CommandLine, "", self.command, record);
        // Users of the system are none of the site, and have no key there.
        let entry = entry.by(0, &self.username, &Means::Shell(self.uid)).saying(what);
        transaction.insert(insertion(&entry)).await?;
        Ok(())
    }
}
