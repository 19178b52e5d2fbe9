//! The permissions of all groups as they are now, for pages that explain them.

use crate::base::error::Error;
use crate::identity::acl::Access;

use super::visit::Visit;

/// The current groups, assets and rules from the database.
pub(crate) async fn access(visit: &Visit) -> Result<Access, Error> {
    let state = visit.site.state();
    let mut transaction = state.database().begin_read().await?;
    let actions = state.descriptions().iter().flat_map(|of| &of.actions);
    let actions = actions.map(|action| action.name.clone());
    let access = Access::read_rules(&mut transaction, actions).await?;
    transaction.commit().await?;
    Ok(access)
}
