//! Links by which users choose a password: sending one to a user who asks for it or is invited, and the password that is
//! chosen.

use std::net::IpAddr;

use host_interface::Mail;

use crate::base::error::Error;
use crate::base::text::fold;
use crate::database::{row, select, transact};
use crate::identity::acl::{CORE_MANAGE, ROOT};
use crate::identity::administrators::Force;
use crate::identity::password_links::{self, Link, Purpose};
use crate::identity::users;
use crate::site::Site;
use crate::site::notices;
use crate::site::state::change;

use super::author::{Author, refused};
use super::operation::Operation;

/// The path of the page that a link leads to.
pub(crate) const PAGE: &str = "/administrator/new-password";

static CHOOSE: Operation = Operation::new("choose a new password by a link", CORE_MANAGE);
static ACCEPT: Operation =
    Operation::new("choose the first password by an invitation", CORE_MANAGE);

row! {
    /// A user who may get a link.
    struct Found {
        id: i64,
        username: String,
        email: String,
    }
}

/// Sends a link to the user with this name or address, if there is one who may sign in to the administration. Nothing
/// is returned, because nobody is to learn that.
pub(crate) async fn send_reset(site: &Site, name: &str, client: IpAddr) -> Result<(), Error> {
    let Some(url) = site.mailer().site_url() else { return Ok(()) };
    let name = fold(name.trim());
    let made = transact!(site.state().database(), |transaction| {
        if !password_links::allow_network(transaction, client).await? {
            return Ok(None);
        }
        let statement = select::<Found>(
            "FROM host_users WHERE (username_fold = ? OR email_fold = ?) AND NOT blocked ORDER BY id LIMIT 1",
        );
        let statement = statement.bind(name.as_str()).bind(name.as_str());
        let found: Option<Found> = transaction.fetch_optional(statement).await?;
        let may = |user: &Found| site.state().snapshot().access.allows(user.id, CORE_MANAGE, ROOT);
        let Some(user) = found.filter(may) else { return Ok(None) };
        if !password_links::allow_user(transaction, user.id).await? {
            return Ok(None);
        }
        let secret = password_links::make(transaction, user.id, Purpose::Reset).await?;
        Ok(Some((user, secret)))
    });
    let made: Option<(Found, String)> = made?;
    if let Some((user, secret)) = made {
        let minutes = Purpose::Reset.lifetime().as_secs() / 60;
        let text = format!(
            "somebody has asked for a new password for your account. To choose one, open this page within {minutes} \
             minutes:\n\n{url}{PAGE}?link={secret}\n\nIf this was not you, nothing has to be done: your password \
             stays as it is."
        );
        let to = (user.username.as_str(), user.email.as_str());
        site.send(notices::mail(to, "Choose a new password", &text)?);
    }
    Ok(())
}

/// Refuses invitations that nobody would get.
pub(super) fn can_invite(site: &Site) -> Result<(), Error> {
    if site.mailer().site_url().is_some() {
        return Ok(());
    }
    Err(refused(
        "invitations need a mail server and the address of the site: HOST_SMTP_URL and HOST_URL",
    ))
}

/// The mail to a user who was added, with the link of this secret.
pub(super) fn invitation(
    site: &Site,
    (username, email): (&str, &str),
    secret: &str,
) -> Result<Mail, Error> {
    let url = site.mailer().site_url().unwrap_or_default();
    let days = Purpose::Invitation.lifetime().as_secs() / (24 * 60 * 60);
    let text = format!(
        "an administrator has added an account for you. Your name to sign in with is {username}. To choose your \
         password, open this page within {days} days:\n\n{url}{PAGE}?link={secret}"
    );
    notices::mail((username, email), "Your account", &text)
}

/// Sets the password that the user of a link has chosen. All sessions of the user end. Returns `false` if the link is
/// no longer good.
pub(crate) async fn choose(
    site: &Site,
    (link, secret): (&Link, &str),
    password_hash: &str,
) -> Result<bool, Error> {
    let operation = match link.purpose {
        Purpose::Reset => &CHOOSE,
        Purpose::Invitation => &ACCEPT,
    };
    let chosen = change!(site.state(), |transaction| {
        let author = Author::of(site, operation, Force::No, transaction).await?;
        if !password_links::use_up(transaction, secret, link.user).await? {
            return Ok(false);
        }
        users::set_password_hash(transaction, link.user, password_hash).await?;
        author.record(transaction, ("user", link.user), "").await?;
        Ok(true)
    })?;
    if chosen && link.purpose == Purpose::Reset {
        site.notify(link.user, notices::About::PasswordChosen).await;
    }
    Ok(chosen)
}
