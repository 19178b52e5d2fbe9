//! The rule that a site keeps an administrator. The pages of the administration need no such rule: there,
//! users cannot remove their own access, and somebody has to make the change.

use crate::base::error::Error;
use crate::database::Connection;

use super::acl::Access;

/// Whether a change may leave the site without an administrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// Such a change is refused.
    No,
    /// Such a change is made, and recorded as forced.
    Yes,
}

/// What is known of the administrators before a change.
pub(crate) struct Administrators {
    present: bool,
}

impl Administrators {
    /// Looks for an administrator at the beginning of a transaction.
    pub(crate) async fn before(transaction: &mut Connection) -> Result<Self, Error> {
        Ok(Self { present: present(transaction).await? })
    }

    /// Refuses the change that the transaction has made if it took the permission from the last
    /// administrator, whoever asks for it.
    pub(crate) async fn must_remain(self, transaction: &mut Connection) -> Result<(), Error> {
        if !self.present || present(transaction).await? {
            return Ok(());
        }
        Err(Error::Invalid(
            "this is the last administrator; give core.admin to another user before".to_owned(),
        ))
    }

    /// Refuses the change that the transaction has made if it took the permission from the last
    /// administrator, unless it is forced. Returns what the audit trail has about the change.
    pub(crate) async fn after(
        self,
        transaction: &mut Connection,
        force: Force,
        what: &str,
    ) -> Result<String, Error> {
        if !self.present || present(transaction).await? {
            return Ok(what.to_owned());
        }
        match force {
            Force::Yes => Ok(format!("{what} (forced, the last administrator)")),
            Force::No => Err(Error::Invalid(
                "this would leave the site without an administrator; give core.admin to another user \
                 before, or use --force"
                    .to_owned(),
            )),
        }
    }
}

/// Whether any user who is not blocked has `core.admin`.
async fn present(transaction: &mut Connection) -> Result<bool, Error> {
    Ok(Access::read(transaction, Vec::new()).await?.has_administrator())
}
