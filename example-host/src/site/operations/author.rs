//! Whoever does an operation, which decides what is checked: a user with a session on the pages, or whoever
//! runs a command. Users cannot remove their own access, so that there is always a user with access, and users
//! without `core.admin` cannot change users who have it, nor give it to anyone, including themselves. A
//! command may do all of that, but leaves the site without an administrator only if it is forced.

use std::fmt::Display;

use crate::base::error::Error;
use crate::database::{Connection, sql};
use crate::identity::acl::{Access, CORE_ADMIN, CORE_MANAGE, ROOT};
use crate::identity::administrators::{Administrators, Force};
use crate::identity::{sessions, users};
use crate::site::Site;
use crate::site::state::State;

use super::operation::Operation;

/// The author of an operation, in its transaction.
pub(crate) struct Author<'s> {
    site: &'s Site,
    operation: &'static Operation,
    checks: Checks,
}

enum Checks {
    /// Those for a user with a session.
    Session(Box<Session>),
    /// Those for whoever runs a command, where the operation may take access from somebody.
    Command(Option<Administrators>, Force),
}

struct Session {
    user: i64,
    is_admin: bool,
    access: Access,
}

/// Proof that an operation was recorded in the audit trail, in its own transaction.
#[derive(Debug)]
pub(crate) struct Recorded {
    operation: &'static Operation,
    record: String,
}

impl Recorded {
    /// What was done.
    pub(crate) fn what(&self) -> &'static str {
        self.operation.what
    }

    /// The record, for example `user 5`: its kind and its key, followed by a colon and details if there are
    /// any.
    pub(crate) fn record(&self) -> &str {
        &self.record
    }
}

impl<'s> Author<'s> {
    /// The author of an operation at its beginning.
    ///
    /// # Errors
    /// When the session or the permission of a user has ended since the page was requested.
    pub(super) async fn of(
        site: &'s Site,
        operation: &'static Operation,
        force: Force,
        transaction: &mut Connection,
    ) -> Result<Self, Error> {
        let checks = match site.actor().and_then(|actor| actor.session()) {
            Some((user, session)) => {
                if !sessions::exists(transaction, session).await? {
                    return Err(refused("your session has ended in the meantime"));
                }
                let access = read(site.state(), transaction).await?;
                let is_admin = may(&access, transaction, user, CORE_ADMIN).await?;
                if !is_admin && !may(&access, transaction, user, operation.needs).await? {
                    return Err(refused("you may no longer manage this site"));
                }
                Checks::Session(Box::new(Session { user, is_admin, access }))
            }
            None if operation.takes_access => {
                Checks::Command(Some(Administrators::before(transaction).await?), force)
            }
            None => Checks::Command(None, force),
        };
        Ok(Self { site, operation, checks })
    }

    /// Refuses a change to a user with `core.admin` by a user without it.
    pub(super) async fn may_touch(
        &self,
        transaction: &mut Connection,
        user: i64,
    ) -> Result<(), Error> {
        let Checks::Session(session) = &self.checks else { return Ok(()) };
        let groups = users::groups_of(transaction, user).await?;
        if !session.is_admin && session.grants_everything(&groups) {
            return Err(refused("only users with core.admin may change others who have it"));
        }
        Ok(())
    }

    /// Refuses the assignment of groups with `core.admin` by a user without it.
    pub(super) fn may_assign(&self, groups: &[i64]) -> Result<(), Error> {
        let Checks::Session(session) = &self.checks else { return Ok(()) };
        if !session.is_admin && session.grants_everything(groups) {
            return Err(refused(
                "only users with core.admin may add a user to a group that has it",
            ));
        }
        Ok(())
    }

    /// Ends the operation: checks who has kept access, and records what was done to which record, with
    /// details if there are any.
    ///
    /// # Errors
    /// When the author, or the last administrator, would lose access.
    pub(super) async fn record(
        self,
        transaction: &mut Connection,
        (kind, id): (&str, impl Display),
        details: &str,
    ) -> Result<Recorded, Error> {
        let Self { site, operation, checks } = self;
        let of_record = format!("{kind} {id}");
        let (mut what, mut record) = (operation.what.to_owned(), of_record);
        if !details.is_empty() {
            what = format!("{what}: {details}");
            record = format!("{record}: {details}");
        }
        match checks {
            Checks::Session(session) if operation.takes_access => {
                session.keeps_access(site.state(), transaction).await?;
            }
            Checks::Command(Some(administrators), force) => {
                what = administrators.after(transaction, force, &what).await?;
            }
            Checks::Session(_) | Checks::Command(None, _) => {}
        }
        site.record(transaction, kind, id, &what).await?;
        Ok(Recorded { operation, record })
    }
}

impl Session {
    /// Refuses a change that would remove the access of its author. Only the last user with `core.admin`
    /// could remove the last `core.admin`, so this also keeps one.
    async fn keeps_access(&self, state: &State, transaction: &mut Connection) -> Result<(), Error> {
        let access = read(state, transaction).await?;
        let needed = if self.is_admin { CORE_ADMIN } else { CORE_MANAGE };
        if may(&access, transaction, self.user, needed).await? {
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
pub(super) async fn read(state: &State, transaction: &mut Connection) -> Result<Access, Error> {
    let actions = state.descriptions().iter().flat_map(|of| &of.actions);
    Access::read_rules(transaction, actions.map(|action| action.name.clone())).await
}

/// Whether a user who is not blocked may do something to the whole site.
pub(super) async fn may(
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

pub(super) fn refused(why: &str) -> Error {
    Error::Invalid(why.to_owned())
}
