//! The changes that administrators make to a site through the command line and the library. Each
//! change is made in one transaction, which also records its actor in the audit trail, and then
//! takes effect in every process. The pages of the administration record changes in the same way, by
//! [`Site::record`].

use std::fmt::Display;
use std::time::Duration;

use host_interface::{Event, LoadedPlugin, Parameter, ParameterKind};
use serde_json::Value;
use time::PrimitiveDateTime;

use crate::base::error::Error;
use crate::database::Connection;
use crate::extensions::parameters::{self, ParameterEntry, Rejection};
use crate::extensions::registry::{self, ExtensionEntry};
use crate::identity::acl::{self, Decision, RuleEntry, Setting};
use crate::identity::administrators::{Administrators, Force};
use crate::identity::groups::{self, GroupEntry};
use crate::identity::passwords;
use crate::identity::tokens::{self, NewToken, TokenEntry};
use crate::identity::users::{self, NewUser, Prepared, UserEntry};
use crate::watch::audit::Record;

use super::Site;
use super::state::change;

/// Users.
impl Site {
    /// Adds a user and returns the key.
    ///
    /// # Errors
    /// When a name is taken or not acceptable, a group does not exist, or the database fails.
    pub async fn add_user(&self, new: NewUser) -> Result<i64, Error> {
        let prepared = Prepared::new(new).await?;
        change!(self.state(), |transaction| {
            let id = prepared.insert(transaction).await?;
            self.record(transaction, "user", id, "add a user").await?;
            Ok(id)
        })
    }

    /// All users, in the order of their creation.
    ///
    /// # Errors
    /// When the database fails.
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
        change!(self.state(), |transaction| {
            let administrators = Administrators::before(transaction).await?;
            let id = users::find(transaction, username).await?;
            users::block(transaction, id, true).await?;
            let what = administrators.after(transaction, force, "block a user").await?;
            self.record(transaction, "user", id, &what).await
        })
    }

    /// Unblocks a user. The tokens and the password from before work again.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn unblock_user(&self, username: &str) -> Result<(), Error> {
        change!(self.state(), |transaction| {
            let id = users::find(transaction, username).await?;
            users::block(transaction, id, false).await?;
            self.record(transaction, "user", id, "unblock a user").await
        })
    }

    /// Sets a user's password. All sessions of the user end.
    ///
    /// # Errors
    /// When there is no such user, the password is too short, or the database fails.
    pub async fn set_password(&self, username: &str, password: String) -> Result<(), Error> {
        let hash = passwords::hash(password).await?;
        change!(self.state(), |transaction| {
            let id = users::find(transaction, username).await?;
            users::set_password_hash(transaction, id, &hash).await?;
            self.record(transaction, "user", id, "set a password").await
        })
    }

    /// Removes a user with the user's token. Records of extensions that name the user are kept; an
    /// extension may ask for the event.
    ///
    /// # Errors
    /// When there is no such user, it is the last administrator and the change is not forced, or the
    /// database fails.
    pub async fn remove_user(&self, username: &str, force: Force) -> Result<(), Error> {
        let user = change!(self.state(), |transaction| {
            let administrators = Administrators::before(transaction).await?;
            let id = users::find(transaction, username).await?;
            users::remove(transaction, id).await?;
            let what = administrators.after(transaction, force, "delete a user").await?;
            self.record(transaction, "user", id, &what).await?;
            Ok(id)
        })?;
        self.state().events().report(&Event::user_removed(user));
        Ok(())
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
        change!(self.state(), |transaction| {
            let user = users::find(transaction, username).await?;
            let token = prepared.insert(transaction, user).await?;
            let what = format!("create a token: {}", new.name.trim());
            self.record(transaction, "user", user, &what).await?;
            Ok(token)
        })
    }

    /// Creates the token called `default` of a user, which may do whatever the user may, and returns its
    /// secret, which cannot be read again later. The one before stops working at once.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn generate_token(&self, username: &str) -> Result<String, Error> {
        let prepared = tokens::Prepared::unlimited(tokens::DEFAULT, self.token_lifetime())?;
        change!(self.state(), |transaction| {
            let user = users::find(transaction, username).await?;
            let token = prepared.replace(transaction, user).await?;
            self.record(transaction, "user", user, "generate a token").await?;
            Ok(token)
        })
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
        let ends = (expires_on, self.token_lifetime());
        change!(self.state(), |transaction| {
            let user = users::find(transaction, username).await?;
            let token = tokens::find(transaction, user, name).await?;
            let token = token.ok_or_else(|| Error::not_found("token", name))?;
            let secret = tokens::rotate(transaction, token, overlap, ends).await?;
            let what = format!("rotate a token: {}", name.trim());
            self.record(transaction, "user", user, &what).await?;
            Ok(secret)
        })
    }

    /// Revokes a token of a user with all of its secrets. A token that is not there is revoked already.
    ///
    /// # Errors
    /// When there is no such user, or the database fails.
    pub async fn revoke_token(&self, username: &str, name: &str) -> Result<(), Error> {
        change!(self.state(), |transaction| {
            let user = users::find(transaction, username).await?;
            let Some(token) = tokens::find(transaction, user, name).await? else { return Ok(()) };
            tokens::remove(transaction, token).await?;
            let what = format!("revoke a token: {}", name.trim());
            self.record(transaction, "user", user, &what).await
        })
    }
}

/// Groups and rules.
impl Site {
    /// All groups, in the order of their creation.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn groups(&self) -> Result<Vec<GroupEntry>, Error> {
        groups::all(self.state().database()).await
    }

    /// Adds a group below another one and returns the key.
    ///
    /// # Errors
    /// When the title is taken, there is no such parent, or the database fails.
    pub async fn add_group(&self, title: &str, parent: &str) -> Result<i64, Error> {
        let title = groups::title_of(title)?;
        change!(self.state(), |transaction| {
            let parent = groups::find(transaction, parent).await?;
            let id = groups::insert(transaction, title, parent).await?;
            self.record(transaction, "group", id, "add a group").await?;
            Ok(id)
        })
    }

    /// Every rule of the site.
    ///
    /// # Errors
    /// When the database fails.
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
        let (verb, allowed) = match setting {
            Setting::Allow => ("allow", Some(true)),
            Setting::Deny => ("deny", Some(false)),
            Setting::Inherit => ("inherit", None),
        };
        let what = format!("change permissions: {verb} {action} for {group}");
        change!(self.state(), |transaction| {
            let administrators = Administrators::before(transaction).await?;
            let group = groups::find(transaction, group).await?;
            let key = acl::find_asset(transaction, asset).await?;
            acl::put_rule(transaction, key, group, action, allowed).await?;
            let what = administrators.after(transaction, force, &what).await?;
            self.record(transaction, "asset", asset, &what).await
        })
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
    ///
    /// # Errors
    /// When the database fails.
    pub async fn extensions(&self) -> Result<Vec<ExtensionEntry>, Error> {
        registry::all(self.state().database()).await
    }

    /// Enables or disables an extension.
    ///
    /// # Errors
    /// When there is no such extension, or the database fails.
    pub async fn set_enabled(&self, name: &str, enabled: bool) -> Result<(), Error> {
        let what = if enabled { "enable an extension" } else { "disable an extension" };
        change!(self.state(), |transaction| {
            registry::set_enabled(transaction, name, enabled).await?;
            self.record(transaction, "extension", name, what).await
        })
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
        let declared = &parameter.name;
        let what = format!("change parameters: {declared}");
        change!(self.state(), |transaction| {
            parameters::put(transaction, extension, declared, wanted).await?;
            self.record(transaction, "extension", extension, &what).await
        })
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
            Some(actor) => {
                let record = Record { kind: kind.to_owned(), id: id.to_string() };
                actor.record(transaction, record, what).await
            }
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
