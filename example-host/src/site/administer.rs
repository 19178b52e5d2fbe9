//! What administrators do to a site through the command line and the library, by names: the operations
//! themselves are in `operations/`, and are those of the pages.

use std::fmt::Display;
use std::time::Duration;

use host_interface::{LoadedPlugin, Parameter, ParameterKind};
use serde_json::Value;
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::database::Connection;
use crate::extensions::parameters::{self, ParameterEntry, Rejection};
use crate::extensions::registry::{self, ExtensionEntry};
use crate::identity::acl::{self, Decision, RuleEntry, Setting};
use crate::identity::administrators::Force;
use crate::identity::groups::{self, GroupEntry};
use crate::identity::passwords;
use crate::identity::tokens::{self, NewToken, TokenEntry};
use crate::identity::users::{self, NewUser, Prepared, UserEntry};

use super::Site;
use super::operations;
use super::operations::permissions::RuleChange;
use super::operations::tokens::Which;
use super::operations::users::{Groups, Who};

/// Users.
impl Site {
    /// Adds a user and returns the key.
    ///
    /// # Errors
    /// When a name is taken or not acceptable, a group does not exist, or the database fails.
    pub async fn add_user(&self, new: NewUser) -> Result<i64, Error> {
        let new = Prepared::new(new).await?;
        let (groups, hash) = (Groups::Titles(&new.groups), new.password_hash.as_deref());
        match operations::users::add(self, &new.profile, groups, hash).await? {
            Ok((id, _)) => Ok(id),
            Err(faults) => Err(new.taken(&faults)),
        }
    }

    /// Adds a user who gets a link by mail to choose a password, and returns the key when the mail was sent.
    ///
    /// # Errors
    /// When a password is given, no links can be sent, a name is taken or not acceptable, a group does not exist,
    /// or the database fails. When the mail could not be sent; the user was added then.
    pub async fn invite_user(&self, new: NewUser) -> Result<i64, Error> {
        if new.password.is_some() {
            return Err(Error::Invalid("a user who is invited chooses the password".to_owned()));
        }
        let new = Prepared::new(new).await?;
        let groups = Groups::Titles(&new.groups);
        let (id, mail, _) = match operations::users::invite(self, &new.profile, groups).await? {
            Ok(added) => added,
            Err(faults) => return Err(new.taken(&faults)),
        };
        match self.mailer().send(&mail).await {
            Ok(()) => Ok(id),
            Err(error) => Err(Error::Invalid(format!(
                "the user was added, but the invitation could not be sent: {error}; `user invite {}` sends \
                 another one",
                new.profile.username
            ))),
        }
    }

    /// Sends a user who has no password yet another invitation, which replaces the one before.
    ///
    /// # Errors
    /// When there is no such user, the user has a password or is blocked, the mail cannot be sent, or the database
    /// fails.
    pub async fn invite_again(&self, username: &str) -> Result<(), Error> {
        let (mail, _) = operations::users::invite_again(self, Who::Name(username)).await?;
        let sent = self.mailer().send(&mail).await;
        sent.map_err(|error| {
            Error::Invalid(format!("the invitation could not be sent: {error}; repeat the command"))
        })
    }

    /// All users, in the order of their creation.
    pub async fn users(&self) -> Result<Vec<UserEntry>, Error> {
        users::all(self.state().database()).await
    }

    /// One user, by the name to sign in with.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn user(&self, username: &str) -> Result<UserEntry, Error> {
        users::by_name(self.state().database(), username).await
    }

    /// Blocks a user. The user's tokens and sessions stop working at once.
    ///
    /// # Errors
    /// When there is no such user, it is the last administrator and the change is not forced, or the
    /// database fails.
    pub async fn block_user(&self, username: &str, force: Force) -> Result<(), Error> {
        operations::users::block(self, Who::Name(username), force).await.map(drop)
    }

    /// Unblocks a user. The tokens and the password from before work again.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn unblock_user(&self, username: &str) -> Result<(), Error> {
        operations::users::unblock(self, Who::Name(username)).await.map(drop)
    }

    /// Sets a user's password. All sessions of the user end.
    ///
    /// # Errors
    /// When there is no such user, the password is too short, or the database fails.
    pub async fn set_password(&self, username: &str, password: String) -> Result<(), Error> {
        let hash = passwords::hash(password).await?;
        operations::users::set_password(self, Who::Name(username), &hash).await.map(drop)
    }

    /// Removes the second factor of a user who has lost the device. All sessions of the user end.
    ///
    /// # Errors
    /// When there is no such user, the user has no second factor, or the database fails.
    pub async fn remove_second_factor(&self, username: &str) -> Result<(), Error> {
        operations::second_factor::remove(self, Who::Name(username)).await.map(drop)
    }

    /// Removes a user with the user's token. Records of extensions that name the user are kept; an
    /// extension may ask for the event.
    ///
    /// # Errors
    /// When there is no such user, it is the last administrator and the change is not forced, or the
    /// database fails.
    pub async fn remove_user(&self, username: &str, force: Force) -> Result<(), Error> {
        operations::users::remove(self, Who::Name(username), force).await.map(drop)
    }
}

/// API tokens.
impl Site {
    /// The tokens of a user, by name.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn tokens(&self, username: &str) -> Result<Vec<TokenEntry>, Error> {
        let user = self.user(username).await?;
        tokens::of_user(self.state().database(), &self.state().scopes(), user.id).await
    }

    /// Creates a token for a user and returns its secret, which cannot be read again later.
    ///
    /// # Errors
    /// When there is no such user, the name is taken, a value is not acceptable, or the database fails.
    pub async fn create_token(&self, username: &str, new: &NewToken) -> Result<String, Error> {
        let prepared = tokens::Prepared::new(new, &self.state().scopes(), self.token_lifetime())?;
        let (secret, _) = operations::tokens::create(self, Who::Name(username), &prepared).await?;
        Ok(secret)
    }

    /// Creates the token called `default` of a user, which may do whatever the user may, and returns its
    /// secret, which cannot be read again later. The one before stops working at once.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn generate_token(&self, username: &str) -> Result<String, Error> {
        let (secret, _) = operations::tokens::generate(self, Who::Name(username)).await?;
        Ok(secret)
    }

    /// Gives a token a new secret and returns it. The one before works for the overlap, at most 72 hours.
    /// The token ends when it did before, unless it is given another end.
    ///
    /// # Errors
    /// When there is no such user or token, the overlap or the end is not acceptable, or the database
    /// fails.
    pub async fn rotate_token(
        &self,
        username: &str,
        name: &str,
        overlap: Duration,
        expires_on: Option<PrimitiveDateTime>,
    ) -> Result<String, Error> {
        let which = Which { user: Who::Name(username), name, key: None };
        match operations::tokens::rotate(self, which, overlap, expires_on).await? {
            Ok((secret, _)) => Ok(secret),
            Err(why) => Err(Error::Invalid(why)),
        }
    }

    /// Revokes a token of a user with all of its secrets.
    ///
    /// # Errors
    /// When there is no such user or token, or the database fails.
    pub async fn revoke_token(&self, username: &str, name: &str) -> Result<(), Error> {
        let which = Which { user: Who::Name(username), name, key: None };
        let revoked = operations::tokens::revoke(self, which).await?;
        revoked.map(drop).ok_or_else(|| Error::not_found("token", name))
    }
}

/// Groups and rules.
impl Site {
    /// All groups, in the order of their creation.
    pub async fn groups(&self) -> Result<Vec<GroupEntry>, Error> {
        groups::all(self.state().database()).await
    }

    /// Adds a group below another one and returns the key.
    ///
    /// # Errors
    /// When the title is taken, there is no such parent, or the database fails.
    pub async fn add_group(&self, title: &str, parent: &str) -> Result<i64, Error> {
        let title = groups::title_of(title)?;
        let (id, _) = operations::groups::add(self, title, parent).await?;
        Ok(id)
    }

    /// Every rule of the site.
    pub async fn rules(&self) -> Result<Vec<RuleEntry>, Error> {
        acl::rules(self.state().database()).await
    }

    /// Sets or removes a rule.
    ///
    /// # Errors
    /// When there is no such group, action or asset, the change would leave the site without an
    /// administrator and is not forced, or the database fails.
    pub async fn set_rule(
        &self,
        group: &str,
        action: &str,
        asset: &str,
        setting: Setting,
        force: Force,
    ) -> Result<(), Error> {
        if !self.state().snapshot().access.has_action(action) {
            return Err(Error::not_found("action", action));
        }
        let rule = RuleChange { group, action, setting };
        operations::permissions::change(self, asset, &[rule], force).await.map(drop)
    }

    /// Whether a user may do something, and why.
    ///
    /// # Errors
    /// When there is no such user, action or asset, or the database fails.
    pub async fn explain(
        &self,
        username: &str,
        action: &str,
        asset: &str,
    ) -> Result<Decision, Error> {
        let user = self.user(username).await?;
        let snapshot = self.state().snapshot();
        if !snapshot.access.has_action(action) {
            return Err(Error::not_found("action", action));
        }
        if !snapshot.access.has_asset(asset) {
            return Err(Error::not_found("asset", asset));
        }
        if user.blocked {
            return Ok(Decision { allowed: false, reason: "blocked".to_owned() });
        }
        Ok(snapshot.access.explain(user.id, action, asset))
    }

    /// Whether a user may do something with a token, and why: both must allow it.
    ///
    /// # Errors
    /// When there is no such user, token, action or asset, or the database fails.
    pub async fn explain_token(
        &self,
        username: &str,
        token: &str,
        action: &str,
        asset: &str,
    ) -> Result<Decision, Error> {
        let user = self.user(username).await?;
        let (database, scopes) = (self.state().database(), self.state().scopes());
        let token = tokens::named(database, &scopes, user.id, token).await?;
        let of_user = self.explain(username, action, asset).await?;
        let of_token = token.explain(&scopes, action, asset);
        Ok(match (of_user.allowed, of_token.allowed) {
            (false, _) => of_user,
            (true, false) => of_token,
            (true, true) => {
                let reason = format!("{}; {}", of_user.reason, of_token.reason);
                Decision { allowed: true, reason }
            }
        })
    }
}

/// Extensions and their parameters.
impl Site {
    /// All extensions that the site has ever had, by name.
    pub async fn extensions(&self) -> Result<Vec<ExtensionEntry>, Error> {
        registry::all(self.state().database()).await
    }

    /// Enables or disables an extension.
    ///
    /// # Errors
    /// When there is no such extension, or the database fails.
    pub async fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), Error> {
        operations::extensions::set_enabled(self, name, enabled).await.map(drop)
    }

    /// The parameters of all loaded extensions, in the order of declaration.
    pub fn parameters(&self) -> Vec<ParameterEntry> {
        parameters::entries(self.state().descriptions(), &self.state().snapshot().parameters)
    }

    /// One parameter with its effective value, by its name. If several extensions have a parameter
    /// of that name, it is preceded by the name of the extension:
    /// `webservices-shop/default_currency`.
    ///
    /// # Errors
    /// When no loaded extension declares it, or several do.
    pub fn parameter(&self, name: &str) -> Result<ParameterEntry, Error> {
        let (extension, declared, _) = self.declared(name)?;
        let is_it =
            |entry: &ParameterEntry| entry.extension == extension && entry.name == declared.name;
        let found = self.parameters().into_iter().find(is_it);
        found.ok_or_else(|| Error::not_found("parameter", name))
    }

    /// Sets a parameter, by its name as for [`Site::parameter`]; `null` restores its default.
    ///
    /// # Errors
    /// When no loaded extension declares it or several do, the value is not of the declared form,
    /// the extension refuses it, or the database fails.
    pub async fn set_parameter(&self, name: &str, value: &Value) -> Result<(), Error> {
        let (extension, parameter, plugin) = self.declared(name)?;
        let wanted = Some(value).filter(|value| !value.is_null());
        match parameters::rejection(extension, plugin, parameter, wanted).await? {
            None => {}
            // Not even the length of a secret is in a message.
            Some(Rejection::Kind(expected)) if parameter.kind == ParameterKind::Secret => {
                return Err(Error::Invalid(format!("{name} must be {expected}")));
            }
            Some(Rejection::Refused(why)) if parameter.kind == ParameterKind::Secret => {
                return Err(Error::Invalid(format!("{name} was refused: {why}")));
            }
            Some(Rejection::Kind(expected)) => {
                return Err(Error::Invalid(format!("{name} must be {expected}, not {value}")));
            }
            Some(Rejection::Refused(why)) => {
                let effective = wanted.unwrap_or(&parameter.default);
                return Err(Error::Invalid(format!("{name} cannot be {effective}: {why}")));
            }
        }
        let value = (parameter.name.as_str(), wanted.cloned());
        operations::extensions::change_parameters(self, extension, &[value]).await.map(drop)
    }

    /// A declared parameter, with the name of its extension and the plugin.
    fn declared(&self, name: &str) -> Result<(&str, &Parameter, &LoadedPlugin), Error> {
        let mut declaring = self.plugins().filter_map(|(of, plugin)| {
            let wanted = |parameter: &&Parameter| {
                parameter.name == name || parameters::full_name(&of.name, &parameter.name) == name
            };
            let parameter = of.parameters.iter().find(wanted)?;
            Some((of.name.as_str(), parameter, &**plugin))
        });
        match (declaring.next(), declaring.next()) {
            (Some(found), None) => Ok(found),
            (None, _) => Err(Error::not_found("parameter", name)),
            (Some((one, ..)), Some((other, ..))) => Err(Error::Invalid(format!(
                "several extensions have a parameter {name:?}; name it {} or {}",
                parameters::full_name(one, name),
                parameters::full_name(other, name)
            ))),
        }
    }
}

impl Site {
    /// Records a change in its transaction, if the site was opened on behalf of an actor.
    pub(crate) async fn record(
        &self,
        transaction: &mut Connection,
        kind: &str,
        id: impl Display,
        what: &str,
    ) -> Result<(), Error> {
        match self.actor() {
            Some(actor) => actor.record(transaction, (kind, id), what).await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_send(_: impl Send) {}

    /// The futures must be `Send`, so that a server can run them as tasks.
    #[allow(dead_code, reason = "it compiles or it does not")]
    fn administrative_changes_are_send(site: &Site, new: NewUser) {
        is_send(site.add_user(new));
        is_send(site.users());
        is_send(site.generate_token("ann"));
        is_send(site.set_enabled("shop", true));
        is_send(site.command("any", &serde_json::Map::new(), || ()));
    }
}
