//! The commands: each calls a method of the site and prints the result. The rules of a site are in
//! `site`.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value;

use crate::identity::acl::Setting;
use crate::identity::administrators::Force;
use crate::identity::tokens::NewToken;
use crate::identity::users::NewUser;
use crate::site::commands::CommandReport;
use crate::site::{Site, operations};
use crate::watch::audit::{self, Actor, Export, Filter, Format};

use super::arguments::{
    AuditCommand, Command, ConfigCommand, CreateTokenArgs, ExtensionCommand, FormatArg,
    GroupCommand, PermissionCommand, SecondFactorCommand, SettingArg, TokenCommand, UserCommand,
};
use super::declared::Given;
use super::listing::Lines;
use super::operator::Operator;
use super::privacy;
use super::progress::Bar;
use super::rows;
use super::terminal::{Failure, ask_password, ask_secret, print, read_line, write};

/// Runs a command. The changes of an operation, which the words of the command name, are recorded with the system user
/// who runs it.
pub(super) async fn administer(site: &Site, command: Command, words: &str) -> Result<(), Failure> {
    let mut operations = operations::ALL.iter().filter_map(|operation| operation.command);
    match operations.find(|name| *name == words) {
        Some(name) => perform(&site.on_behalf_of(actor(name)), command).await,
        None => perform(site, command).await,
    }
}

/// Runs a command of extensions, and prints what they report.
pub(super) async fn declared(site: &Site, given: Given) -> Result<(), Failure> {
    let Given { name, options, form } = given;
    let site = site.on_behalf_of(actor(name.clone()));
    let CommandReport { rows, lines, failure } = site.command(&name, &options, Bar::new).await?;
    form.print(rows.into_iter().map(Value::Object), Lines::PLAIN)?;
    // A line for people would be a fault in an array.
    if !form.is_json() {
        print(lines)?;
    }
    failure.map_or(Ok(()), |why| Err(why.into()))
}

/// The actor that the audit trail records for a command.
pub(super) fn actor(command: impl Into<Cow<'static, str>>) -> Actor {
    let Operator { name: username, uid } = Operator::of_this_process();
    Actor::of_command(command, username, uid)
}

async fn perform(site: &Site, command: Command) -> Result<(), Failure> {
    match command {
        // The caller runs these.
        Command::Serve(_)
        | Command::Copy(_)
        | Command::Backup(_)
        | Command::Restore { .. }
        | Command::Declared(_) => Ok(()),
        Command::User(command) => users(site, command).await,
        Command::Token(command) => tokens(site, command).await,
        Command::Group(GroupCommand::List(form)) => {
            form.print(site.groups().await?.into_iter().map(rows::group), Lines::PLAIN)
        }
        Command::Group(GroupCommand::Add { name, parent }) => {
            print([site.add_group(&name, &parent).await?])
        }
        Command::Permission(command) => permissions(site, command).await,
        Command::Extension(ExtensionCommand::List(form)) => {
            form.print(site.extensions().await?.into_iter().map(rows::extension), Lines::PLAIN)
        }
        Command::Extension(ExtensionCommand::Enable { name }) => {
            Ok(site.set_enabled(&name, true).await?)
        }
        Command::Extension(ExtensionCommand::Disable { name }) => {
            Ok(site.set_enabled(&name, false).await?)
        }
        Command::Config(command) => config(site, command).await,
        Command::Audit(command) => audit(site, command).await,
        Command::Privacy(command) => privacy::run(site, command).await,
        Command::Openapi => print(site.openapi()?),
    }
}

async fn users(site: &Site, command: UserCommand) -> Result<(), Failure> {
    match command {
        UserCommand::Add { name, email, group, password_stdin, invite } => {
            let password = if password_stdin { Some(read_line()?) } else { None };
            let new = NewUser { username: name, email, groups: group, password };
            print([if invite { site.invite_user(new).await? } else { site.add_user(new).await? }])
        }
        UserCommand::Invite { name } => Ok(site.invite_again(&name).await?),
        UserCommand::List(form) => {
            form.print(site.users().await?.into_iter().map(rows::user), Lines::PLAIN)
        }
        UserCommand::Password { name } => {
            // An unknown user is reported before the password is asked for.
            let user = site.user(&name).await?;
            Ok(site.set_password(&user.username, ask_password(&user.username)?).await?)
        }
        UserCommand::Block { name, force } => Ok(site.block_user(&name, forced(force)).await?),
        UserCommand::Unblock { name } => Ok(site.unblock_user(&name).await?),
        UserCommand::SecondFactor(SecondFactorCommand::Remove { name }) => {
            Ok(site.remove_second_factor(&name).await?)
        }
        UserCommand::Remove { name, force } => Ok(site.remove_user(&name, forced(force)).await?),
    }
}

async fn tokens(site: &Site, command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::Create(args) => {
            let CreateTokenArgs { user, name, scope, expires, from, rate } = args;
            let scopes = Some(scope).filter(|scopes| !scopes.is_empty());
            let new = NewToken { name, scopes, expires_on: expires, addresses: from, rate };
            print([site.create_token(&user, &new).await?])
        }
        TokenCommand::List { user, form } => {
            form.print(site.tokens(&user).await?.into_iter().map(rows::token), rows::TOKENS)
        }
        TokenCommand::Rotate { user, token, overlap, expires } => {
            let overlap = Duration::from_secs(overlap.saturating_mul(60 * 60));
            print([site.rotate_token(&user, &token, overlap, expires).await?])
        }
        TokenCommand::Revoke { user, token } => Ok(site.revoke_token(&user, &token).await?),
        TokenCommand::Generate { user } => print([site.generate_token(&user).await?]),
    }
}

async fn permissions(site: &Site, command: PermissionCommand) -> Result<(), Failure> {
    match command {
        PermissionCommand::List(form) => {
            form.print(site.rules().await?.into_iter().map(rows::rule), Lines::PLAIN)
        }
        PermissionCommand::Set { group, action, asset, setting, force } => {
            let setting = match setting {
                SettingArg::Allow => Setting::Allow,
                SettingArg::Deny => Setting::Deny,
                SettingArg::Inherit => Setting::Inherit,
            };
            Ok(site.set_rule(&group, &action, &asset, setting, forced(force)).await?)
        }
        PermissionCommand::Explain { user, action, asset, token, form } => {
            let decision = match token {
                Some(token) => site.explain_token(&user, &token, &action, &asset).await?,
                None => site.explain(&user, &action, &asset).await?,
            };
            form.print([rows::explanation(decision)], Lines::PLAIN)
        }
    }
}

async fn config(site: &Site, command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::List(form) => {
            form.print(site.parameters().into_iter().map(rows::parameter), rows::PARAMETERS)
        }
        ConfigCommand::Get { key } => print([site.parameter(&key)?.value]),
        ConfigCommand::Set { key, value } => {
            // An unknown parameter is reported before a value is read.
            let secret = site.parameter(&key)?.secret;
            let value = match value.as_str() {
                "-" if secret => Value::from(ask_secret(&key)?),
                "-" => json(&read_line()?)?,
                "null" => Value::Null,
                _ if secret => {
                    let why = "is a secret, and every user of the machine can read arguments";
                    return Err(format!("{key} {why}; give - and enter the value").into());
                }
                text => json(text)?,
            };
            Ok(site.set_parameter(&key, &value).await?)
        }
    }
}

async fn audit(site: &Site, command: AuditCommand) -> Result<(), Failure> {
    let database = site.state().database();
    match command {
        AuditCommand::Verify => match audit::verify(database).await? {
            Ok(verified) => print([verified]),
            Err(broken) => Err(broken.to_string().into()),
        },
        AuditCommand::Export { since, until, format } => {
            let format = match format {
                FormatArg::Ndjson => Format::Ndjson,
                FormatArg::Csv => Format::Csv,
            };
            let mut export =
                Export::new(database, format, Filter { since, until, ..Filter::default() });
            while let Some(text) = export.next().await? {
                if !write(&text)? {
                    break;
                }
            }
            Ok(())
        }
    }
}

fn forced(force: bool) -> Force {
    if force { Force::Yes } else { Force::No }
}

fn json(text: &str) -> Result<Value, Failure> {
    let read = serde_json::from_str(text);
    Ok(read.map_err(|error| {
        format!("{text:?} is not valid JSON ({error}); write a string as '\"text\"'")
    })?)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::arguments::Cli;

    /// The commands that do no operation: they read, serve, or move whole sites, of which they keep a record of
    /// their own.
    const OTHERS: [&str; 15] = [
        "audit export",
        "audit verify",
        "backup",
        "config get",
        "config list",
        "copy",
        "extension list",
        "group list",
        "openapi",
        "permission explain",
        "permission list",
        "restore",
        "serve",
        "token list",
        "user list",
    ];

    #[test]
    fn the_commands_do_the_operations_of_the_table() {
        fn leaves(command: &clap::Command, path: &str, found: &mut Vec<String>) {
            for below in command.get_subcommands() {
                let path = format!("{path} {}", below.get_name()).trim().to_owned();
                if below.has_subcommands() {
                    leaves(below, &path, found);
                } else {
                    found.push(path);
                }
            }
        }
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        found.retain(|command| !OTHERS.contains(&command.as_str()));
        found.sort_unstable();
        let mut commands: Vec<_> =
            operations::ALL.iter().filter_map(|operation| operation.command).collect();
        commands.sort_unstable();
        assert_eq!(found, commands);
    }
}
