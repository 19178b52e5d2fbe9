//! Second factors: setting one up, new recovery codes, and removing one.

use crate::base::error::Error;
use crate::database::Connection;
use crate::identity::acl::CORE_MANAGE;
use crate::identity::administrators::Force;
use crate::identity::{second_factor, sessions};
use crate::site::Site;
use crate::site::notices::About;
use crate::site::state::change;

use super::author::{Author, Recorded};
use super::operation::Operation;
use super::users::Who;

pub(crate) static TURN_ON: Operation = Operation::new("turn on own second factor", CORE_MANAGE)
    .page("administration.account.second_factor");
pub(crate) static RENEW_CODES: Operation = Operation::new("make new recovery codes", CORE_MANAGE)
    .page("administration.account.second_factor.codes");
pub(crate) static TURN_OFF: Operation = Operation::new("turn off own second factor", CORE_MANAGE)
    .page("administration.account.second_factor.remove");
pub(crate) static REMOVE: Operation = Operation::new("remove a second factor", CORE_MANAGE)
    .page("administration.users.second_factor.remove")
    .command("user second-factor remove");

/// Gives the user whose session it is a second factor, whose first code was that of this step, and returns the
/// recovery codes. The other sessions of the user end.
pub(crate) async fn turn_on(
    site: &Site,
    user: i64,
    sealed: &str,
    step: i64,
) -> Result<(Vec<String>, Recorded), Error> {
    let codes = second_factor::new_codes()?;
    let recorded = change!(site.state(), |transaction| {
        let author = Author::of(site, &TURN_ON, Force::No, transaction).await?;
        if !second_factor::add(transaction, user, sealed, step).await? {
            return Err(Error::Invalid("you have a second factor already".to_owned()));
        }
        second_factor::put_codes(transaction, user, &codes).await?;
        match site.actor().and_then(|actor| actor.session()) {
            Some((_, session)) => sessions::end_others(transaction, user, session).await?,
            None => sessions::end_all(transaction, user).await?,
        }
        author.record(transaction, ("user", user), "").await
    })?;
    site.notify(user, About::SecondFactorOn).await;
    Ok((codes, recorded))
}

/// Replaces the recovery codes of the user whose session it is.
pub(crate) async fn renew_codes(site: &Site, user: i64) -> Result<(Vec<String>, Recorded), Error> {
    let codes = second_factor::new_codes()?;
    let recorded = change!(site.state(), |transaction| {
        let author = Author::of(site, &RENEW_CODES, Force::No, transaction).await?;
        if second_factor::find(transaction, user).await?.is_none() {
            return Err(Error::Invalid("you have no second factor".to_owned()));
        }
        second_factor::put_codes(transaction, user, &codes).await?;
        author.record(transaction, ("user", user), "").await
    })?;
    site.notify(user, About::RecoveryCodesRenewed).await;
    Ok((codes, recorded))
}

/// Removes the second factor of the user whose session it is.
pub(crate) async fn turn_off(site: &Site, user: i64) -> Result<Recorded, Error> {
    let recorded = change!(site.state(), |transaction| {
        let author = Author::of(site, &TURN_OFF, Force::No, transaction).await?;
        take(transaction, user).await?;
        author.record(transaction, ("user", user), "").await
    })?;
    site.notify(user, About::SecondFactorOff).await;
    Ok(recorded)
}

/// Removes the second factor of a user who has lost the device. All sessions of the user end.
pub(crate) async fn remove(site: &Site, who: Who<'_>) -> Result<Recorded, Error> {
    let (user, recorded) = change!(site.state(), |transaction| {
        let author = Author::of(site, &REMOVE, Force::No, transaction).await?;
        let user = who.key(transaction).await?;
        author.may_touch(transaction, user).await?;
        take(transaction, user).await?;
        sessions::end_all(transaction, user).await?;
        Ok((user, author.record(transaction, ("user", user), "").await?))
    })?;
    site.notify(user, About::SecondFactorRemoved).await;
    Ok(recorded)
}

async fn take(transaction: &mut Connection, user: i64) -> Result<(), Error> {
    if second_factor::remove(transaction, user).await? {
        return Ok(());
    }
    Err(Error::Invalid("this user has no second factor".to_owned()))
}
