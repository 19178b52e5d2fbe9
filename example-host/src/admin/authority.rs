//! What administrators may do to each other. Two rules apply to all pages. Users cannot remove
//! their own access, so that there is always a user with access. And users without `core.admin`
//! cannot change users who have it, nor give it to anyone, including themselves.

use crate::base::error::Error;
use crate::database::{Connection, sql};
use crate::identity::acl::{Access, CORE_ADMIN, CORE_MANAGE, ROOT};
use crate::identity::sessions;
use crate::identity::users;
use crate::site::state::State;

use super::visit::Visit;

/// The permissions of the user who makes a change, read in the transaction of the change.
pub(crate) struct Authority {
    actor: i64,
    is_admin: bool,
    access: Access,
}

impl Authority {
    /// Refuses a user whose session or permission has ended since the page was requested.
    pub(crate) async fn of(visit: &Visit, transaction: &mut Connection) -> Result<Self, Error> {
        let actor = visit.session.user;
        if !sessions::exists(transaction, &visit.secret).await? {
            return Err(refused("your session has ended in the meantime"));
        }
        let access = read(visit.site.state(), transaction).await?;
        let is_admin = may(&access, transaction, actor, CORE_ADMIN).await?;
        if !is_admin && !may(&access, transaction, actor, CORE_MANAGE).await? {
            return Err(refused("you may no longer manage this site"));
        }
        Ok(Self { actor, is_admin, access })
    }

    /// Refuses a change to a user with `core.admin` by a user without it.
    pub(crate) async fn may_touch(
        &self,
        transaction: &mut Connection,
        user: i64,
    ) -> Result<(), Error> {
        let groups = users::groups_of(transaction, user).await?;
        if !self.is_admin && self.grants_everything(&groups) {
            return Err(refused("only users with core.admin may change others who have it"));
        }
        Ok(())
    }

    /// Refuses the assignment of groups with `core.admin` by a user without it.
    pub(crate) fn may_assign(&self, groups: &[i64]) -> Result<(), Error> {
        if !self.is_admin && self.grants_everything(groups) {
            return Err(refused(
                "only users with core.admin may add a user to a group that has it",
            ));
        }
        Ok(())
    }

    /// Refuses a change, at its end, that would remove the access of the user who makes it. Only
    /// the last user with `core.admin` could remove the last `core.admin`, so this also keeps one.
    pub(crate) async fn keeps_access(
        &self,
        state: &State,
        transaction: &mut Connection,
    ) -> Result<(), Error> {
        let access = read(state, transaction).await?;
        let needed = if self.is_admin { CORE_ADMIN } else { CORE_MANAGE };
        if may(&access, transaction, self.actor, needed).await? {
            return Ok(());
        }
        Err(refused(
            "this would lock you out of the administration; ask another administrator to do it",
        ))
    }

    fn grants_everything(&self, groups: &[i64]) -> bool {
        self.access.decide_for_groups(groups, CORE_ADMIN, ROOT).0
    }
}

/// The current groups, assets and rules from the database.
pub(crate) async fn access(visit: &Visit) -> Result<Access, Error> {
    let state = visit.site.state();
    let mut transaction = state.database().begin_read().await?;
    let access = read(state, &mut transaction).await?;
    transaction.commit().await?;
    Ok(access)
}

async fn read(state: &State, transaction: &mut Connection) -> Result<Access, Error> {
    let actions = state.descriptions().iter().flat_map(|of| &of.actions);
    Access::read_rules(transaction, actions.map(|action| action.name.clone())).await
}

/// Whether a user who is not blocked may do something to the whole site.
async fn may(
    access: &Access,
    transaction: &mut Connection,
    user: i64,
    action: &str,
) -> Result<bool, Error> {
    let statement = sql("SELECT blocked FROM host_users WHERE id = ?");
    let found: Option<(bool,)> = transaction.fetch_optional(statement.bind(user)).await?;
    if found.is_none_or(|(blocked,)| blocked) {
        return Ok(false);
    }
    let groups = users::groups_of(transaction, user).await?;
    Ok(access.decide_for_groups(&groups, action, ROOT).0)
}

fn refused(why: &str) -> Error {
    Error::Invalid(why.to_owned())
}
