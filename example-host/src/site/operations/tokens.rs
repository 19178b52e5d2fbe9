//! API tokens: creating, rotating and revoking them.

use std::time::Duration;

use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::database::Connection;
use crate::identity::acl::CORE_MANAGE;
use crate::identity::administrators::Force;
use crate::identity::tokens::{self, DEFAULT, Prepared};
use crate::site::Site;
use crate::site::state::change;

use super::author::{Author, Recorded};
use super::operation::Operation;
use super::users::Who;

pub(crate) static GENERATE: Operation = Operation::new("generate a token", CORE_MANAGE)
    .page("administration.users.token")
    .command("token generate");
pub(crate) static CREATE: Operation = Operation::new("create a token", CORE_MANAGE)
    .page("administration.users.token.new")
    .command("token create");
pub(crate) static ROTATE: Operation = Operation::new("rotate a token", CORE_MANAGE)
    .page("administration.users.token.rotate")
    .command("token rotate");
pub(crate) static REVOKE: Operation = Operation::new("revoke a token", CORE_MANAGE)
    .page("administration.users.token.revoke")
    .command("token revoke");

/// A token of a user, by its name, and by its key where a page has shown it: meanwhile it may have been
/// revoked, and another one may have its name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Which<'a> {
    pub(crate) user: Who<'a>,
    pub(crate) name: &'a str,
    pub(crate) key: Option<i64>,
}

impl Which<'_> {
    /// The keys of the user and of the token, if there is such a token.
    async fn keys(self, transaction: &mut Connection) -> Result<(i64, Option<i64>), Error> {
        let user = self.user.key(transaction).await?;
        let token = tokens::find(transaction, user, self.name).await?;
        Ok((user, token.filter(|token| self.key.is_none_or(|key| key == *token))))
    }
}

/// Creates the token called `default`, which may do whatever its user may, and returns its secret. The one
/// before stops working at once.
pub(crate) async fn generate(site: &Site, who: Who<'_>) -> Result<(String, Recorded), Error> {
    change!(site.state(), |transaction| generate_within(transaction, site, who).await)
}

/// Generates a token within a transaction that does more.
pub(crate) async fn generate_within(
    transaction: &mut Connection,
    site: &Site,
    who: Who<'_>,
) -> Result<(String, Recorded), Error> {
    let token = Prepared::unlimited(DEFAULT, site.token_lifetime())?;
    let author = Author::of(site, &GENERATE, Force::No, transaction).await?;
    let user = who.key(transaction).await?;
    author.may_touch(transaction, user).await?;
    let secret = token.replace(transaction, user).await?;
    Ok((secret, author.record(transaction, ("user", user), "").await?))
}

/// Creates a token and returns its secret.
pub(crate) async fn create(
    site: &Site,
    who: Who<'_>,
    token: &Prepared,
) -> Result<(String, Recorded), Error> {
    change!(site.state(), |transaction| {
        let author = Author::of(site, &CREATE, Force::No, transaction).await?;
        let user = who.key(transaction).await?;
        author.may_touch(transaction, user).await?;
        let secret = token.insert(transaction, user).await?;
        Ok((secret, author.record(transaction, ("user", user), &token.name).await?))
    })
}

/// Gives a token a new secret and returns it, or why it cannot end at that moment. The secret before works
/// for the overlap.
pub(crate) async fn rotate(
    site: &Site,
    which: Which<'_>,
    overlap: Duration,
    expires_on: Option<PrimitiveDateTime>,
) -> Result<Result<(String, Recorded), String>, Error> {
    let ends = (expires_on, site.token_lifetime());
    change!(site.state(), |transaction| {
        let author = Author::of(site, &ROTATE, Force::No, transaction).await?;
        let (user, token) = which.keys(transaction).await?;
        author.may_touch(transaction, user).await?;
        let token = token.ok_or_else(|| Error::not_found("token", which.name))?;
        let secret = match tokens::rotate(transaction, token, overlap, ends).await {
            Err(Error::Invalid(why)) => return Ok(Err(why)),
            rotated => rotated?,
        };
        Ok(Ok((secret, author.record(transaction, ("user", user), which.name.trim()).await?)))
    })
}

/// Revokes a token with all of its secrets, if it is there.
pub(crate) async fn revoke(site: &Site, which: Which<'_>) -> Result<Option<Recorded>, Error> {
    change!(site.state(), |transaction| {
        let author = Author::of(site, &REVOKE, Force::No, transaction).await?;
        let (user, token) = which.keys(transaction).await?;
        author.may_touch(transaction, user).await?;
        let Some(token) = token else { return Ok(None) };
        tokens::remove(transaction, token).await?;
        Ok(Some(author.record(transaction, ("user", user), which.name.trim()).await?))
    })
}
