//! Users: adding, changing, blocking and removing them, their passwords and their sessions.

use host_interface::{Event, Mail};

use crate::base::error::Error;
use crate::database::{Connection, row, select, sql, transact};
use crate::identity::acl::CORE_MANAGE;
use crate::identity::administrators::Force;
use crate::identity::password_links::{self, Purpose};
use crate::identity::users::{self, Fault, Profile};
use crate::identity::{groups, sessions};
use crate::site::Site;
use crate::site::state::change;

use super::author::{Author, Recorded, refused};
use super::operation::Operation;
use super::password_links::{can_invite, invitation};

pub(crate) static ADD: Operation =
    Operation::new("add a user", CORE_MANAGE).page("administration.users.new").command("user add");
pub(crate) static INVITE: Operation = Operation::new("invite a user", CORE_MANAGE)
    .page("administration.users.invite")
    .command("user invite");
pub(crate) static CHANGE: Operation =
    Operation::new("change a user", CORE_MANAGE).takes_access().page("administration.users.edit");
pub(crate) static CHANGE_WITH_PASSWORD: Operation =
    Operation::new("change a user and set a password", CORE_MANAGE)
        .takes_access()
        .page("administration.users.edit");
pub(crate) static SET_PASSWORD: Operation =
    Operation::new("set a password", CORE_MANAGE).command("user password");
pub(crate) static CHANGE_OWN_PASSWORD: Operation =
    Operation::new("change own password", CORE_MANAGE).page("administration.account");
pub(crate) static BLOCK: Operation = Operation::new("block a user", CORE_MANAGE)
    .takes_access()
    .page("administration.users.block")
    .command("user block");
pub(crate) static UNBLOCK: Operation = Operation::new("unblock a user", CORE_MANAGE)
    .page("administration.users.unblock")
    .command("user unblock");
pub(crate) static SIGN_OUT: Operation =
    Operation::new("sign a user out everywhere", CORE_MANAGE).page("administration.users.sign_out");
pub(crate) static SIGN_OUT_EVERYWHERE: Operation =
    Operation::new("sign out everywhere", CORE_MANAGE)
        .page("administration.account.sign_out_everywhere");
pub(crate) static REMOVE: Operation = Operation::new("delete a user", CORE_MANAGE)
    .takes_access()
    .page("administration.users.delete")
    .command("user remove");

/// A user, by the key or by the name to sign in with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Who<'a> {
    Key(i64),
    Name(&'a str),
}

impl Who<'_> {
    pub(super) async fn key(self, transaction: &mut Connection) -> Result<i64, Error> {
        match self {
            Who::Key(key) => Ok(key),
            Who::Name(name) => users::find(transaction, name).await,
        }
    }
}

/// The groups of a user, by their keys or by their titles.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Groups<'a> {
    Keys(&'a [i64]),
    Titles(&'a [String]),
}

impl Groups<'_> {
    /// The keys; fails if there is no such group any more.
    async fn keys(self, transaction: &mut Connection) -> Result<Vec<i64>, Error> {
        match self {
            Groups::Titles(titles) => {
                let mut keys = Vec::new();
                for title in titles {
                    keys.push(groups::find(transaction, title).await?);
                }
                Ok(keys)
            }
            Groups::Keys(keys) => {
                let known: Vec<(i64,)> =
                    transaction.fetch_all(sql("SELECT id FROM host_groups")).await?;
                if keys.iter().all(|key| known.contains(&(*key,))) {
                    return Ok(keys.to_vec());
                }
                Err(Error::Invalid("one of the groups has been deleted in the meantime".to_owned()))
            }
        }
    }
}

/// Adds a user and returns the key, or which values another user already has.
pub(crate) async fn add(
    site: &Site,
    profile: &Profile,
    groups: Groups<'_>,
    password_hash: Option<&str>,
) -> Result<Result<(i64, Recorded), Vec<Fault>>, Error> {
    change!(site.state(), |transaction| {
        add_within(transaction, site, profile, groups, password_hash).await
    })
}

/// Adds a user without a password, and returns the key and a mail with a link to choose one, which the caller sends; or
/// which values another user already has.
pub(crate) async fn invite(
    site: &Site,
    profile: &Profile,
    groups: Groups<'_>,
) -> Result<Result<(i64, Mail, Recorded), Vec<Fault>>, Error> {
    can_invite(site)?;
    change!(site.state(), |transaction| {
        match add_within(transaction, site, profile, groups, None).await? {
            Ok((id, recorded)) => {
                let secret = password_links::make(transaction, id, Purpose::Invitation).await?;
                let mail = invitation(site, (&profile.username, &profile.email), &secret)?;
                Ok(Ok((id, mail, recorded)))
            }
            Err(faults) => Ok(Err(faults)),
        }
    })
}

/// Makes another invitation for a user who has no password yet, which replaces the one before. The caller sends it.
pub(crate) async fn invite_again(site: &Site, who: Who<'_>) -> Result<(Mail, Recorded), Error> {
    row! {
        struct Invited {
            username: String,
            email: String,
            blocked: bool,
            has_password: bool = "password_hash IS NOT NULL",
        }
    }
    transact!(site.state().database(), |transaction| {
        let author = Author::of(site, &INVITE, Force::No, transaction).await?;
        let id = who.key(transaction).await?;
        author.may_touch(transaction, id).await?;
        can_invite(site)?;
        let statement = select::<Invited>("FROM host_users WHERE id = ?").bind(id);
        let found: Option<Invited> = transaction.fetch_optional(statement).await?;
        let user = found.ok_or_else(|| Error::not_found("user", &id.to_string()))?;
        if user.has_password {
            return Err(refused("the user has a password, and an invitation is for the first one"));
        }
        if user.blocked {
            return Err(refused("the user is blocked"));
        }
        let secret = password_links::make(transaction, id, Purpose::Invitation).await?;
        let mail = invitation(site, (&user.username, &user.email), &secret)?;
        Ok((mail, author.record(transaction, ("user", id), "").await?))
    })
}

/// Adds a user within a transaction that does more.
pub(crate) async fn add_within(
    transaction: &mut Connection,
    site: &Site,
    profile: &Profile,
    groups: Groups<'_>,
    password_hash: Option<&str>,
) -> Result<Result<(i64, Recorded), Vec<Fault>>, Error> {
    let author = Author::of(site, &ADD, Force::No, transaction).await?;
    let taken = profile.taken(transaction, None).await?;
    if !taken.is_empty() {
        return Ok(Err(taken));
    }
    let groups = groups.keys(transaction).await?;
    author.may_assign(&groups)?;
    let id = profile.insert(transaction, password_hash).await?;
    users::join(transaction, id, &groups).await?;
    Ok(Ok((id, author.record(transaction, ("user", id), "").await?)))
}

/// Replaces profile and groups of a user, and the password if there is another one; or returns which values
/// another user already has.
pub(crate) async fn change(
    site: &Site,
    id: i64,
    profile: &Profile,
    groups: &[i64],
    password_hash: Option<&str>,
) -> Result<Result<Recorded, Vec<Fault>>, Error> {
    let operation = if password_hash.is_some() { &CHANGE_WITH_PASSWORD } else { &CHANGE };
    change!(site.state(), |transaction| {
        let author = Author::of(site, operation, Force::No, transaction).await?;
        author.may_touch(transaction, id).await?;
        author.may_assign(groups)?;
        let taken = profile.taken(transaction, Some(id)).await?;
        if !taken.is_empty() {
            return Ok(Err(taken));
        }
        let groups = Groups::Keys(groups).keys(transaction).await?;
        if profile.moves(transaction, id).await? {
            // They are in a mailbox that is no longer that of the user.
            password_links::end_of(transaction, id).await?;
        }
        profile.update(transaction, id).await?;
        users::join(transaction, id, &groups).await?;
        if let Some(hash) = password_hash {
            users::set_password_hash(transaction, id, hash).await?;
        }
        Ok(Ok(author.record(transaction, ("user", id), "").await?))
    })
}

/// Sets the password of a user. All sessions of the user end.
pub(crate) async fn set_password(site: &Site, who: Who<'_>, hash: &str) -> Result<Recorded, Error> {
    put_password(site, &SET_PASSWORD, who, hash).await
}

/// Sets the password of the user whose session it is.
pub(crate) async fn change_own_password(
    site: &Site,
    user: i64,
    hash: &str,
) -> Result<Recorded, Error> {
    put_password(site, &CHANGE_OWN_PASSWORD, Who::Key(user), hash).await
}

async fn put_password(
    site: &Site,
    operation: &'static Operation,
    who: Who<'_>,
    hash: &str,
) -> Result<Recorded, Error> {
    change!(site.state(), |transaction| {
        let author = Author::of(site, operation, Force::No, transaction).await?;
        let id = who.key(transaction).await?;
        author.may_touch(transaction, id).await?;
        users::set_password_hash(transaction, id, hash).await?;
        author.record(transaction, ("user", id), "").await
    })
}

/// Blocks a user, whose tokens and sessions stop working at once.
pub(crate) async fn block(site: &Site, who: Who<'_>, force: Force) -> Result<Recorded, Error> {
    set_blocked(site, &BLOCK, who, force).await
}

/// Unblocks a user: the tokens and the password from before work again.
pub(crate) async fn unblock(site: &Site, who: Who<'_>) -> Result<Recorded, Error> {
    set_blocked(site, &UNBLOCK, who, Force::No).await
}

async fn set_blocked(
    site: &Site,
    operation: &'static Operation,
    who: Who<'_>,
    force: Force,
) -> Result<Recorded, Error> {
    change!(site.state(), |transaction| {
        let author = Author::of(site, operation, force, transaction).await?;
        let id = who.key(transaction).await?;
        author.may_touch(transaction, id).await?;
        users::block(transaction, id, operation == &BLOCK).await?;
        author.record(transaction, ("user", id), "").await
    })
}

/// Ends all sessions of a user.
pub(crate) async fn sign_out(site: &Site, id: i64) -> Result<Recorded, Error> {
    end_sessions(site, &SIGN_OUT, id).await
}

/// Ends all sessions of the user whose session it is.
pub(crate) async fn sign_out_everywhere(site: &Site, id: i64) -> Result<Recorded, Error> {
    end_sessions(site, &SIGN_OUT_EVERYWHERE, id).await
}

async fn end_sessions(
    site: &Site,
    operation: &'static Operation,
    id: i64,
) -> Result<Recorded, Error> {
    change!(site.state(), |transaction| {
        let author = Author::of(site, operation, Force::No, transaction).await?;
        author.may_touch(transaction, id).await?;
        sessions::end_all(transaction, id).await?;
        author.record(transaction, ("user", id), "").await
    })
}

/// Removes a user with all tokens. Records of extensions that name the user are kept; an extension may ask
/// for the event.
pub(crate) async fn remove(site: &Site, who: Who<'_>, force: Force) -> Result<Recorded, Error> {
    let (id, recorded) = change!(site.state(), |transaction| {
        let author = Author::of(site, &REMOVE, force, transaction).await?;
        let id = who.key(transaction).await?;
        author.may_touch(transaction, id).await?;
        users::remove(transaction, id).await?;
        Ok((id, author.record(transaction, ("user", id), "").await?))
    })?;
    site.state().events().report(&Event::user_removed(id));
    Ok(recorded)
}
