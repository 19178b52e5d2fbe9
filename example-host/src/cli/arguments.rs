//! The arguments of the program: commands, options and their help. What a command does is in
//! `commands.rs`; the commands of extensions are added in `declared.rs`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum, value_parser,
};
use ipnet::IpNet;
use time::PrimitiveDateTime;

use crate::base::{moment, text, variables};

use super::listing::Form;
use super::privacy::PrivacyCommand;

/// What follows the options in the help.
pub(super) fn examples() -> String {
    EXAMPLES.replace("{variables}", &variables::help())
}

const EXAMPLES: &str = "\
Examples:
  example-host
      Try it: creates ./data with demo data, an administrator and a token, and serves it.
  example-host --database sqlite:///srv/site/host.db serve --listen 0.0.0.0:8080
      Serve a site, without demo data.
  example-host user add ann --email ann@example.com --group Administrator
  example-host user password ann
      Set the password with which ann signs in to the administration.
  example-host token generate ann
      Create an API token for ann; it is shown only once.
  example-host permission explain ann store.delete com_shop.products
      Explain why a user may or may not do something.
  example-host backup /srv/backups --keep 14
      Back a site up while it is served, and keep the newest 14 backups.
  COPY_TO_URL=postgres://site:secret@localhost/site example-host copy --from sqlite://data/host.db
      Copy a stopped site to a database server.

Commands may be run while a host serves the same database; it picks up changes within a second.

Environment variables (in addition to those named above):
  EXTENSION_DATABASE_URL_<NAME>  a database of its own for an extension, on the same kind of server;
                        <NAME> is its name in capitals, with _ for - [default: that of the host]
  EXTENSION_DATABASE_REPORTS_URL_<NAME>  a replica of that database [default: none]
  COPY_FROM_URL_<NAME>, COPY_TO_URL_<NAME>  the same for copy [default: none]
{variables}
Exit codes: 0 success, 1 failure with one line on standard error, 2 wrong usage.";

/// A small content-management host that loads extensions and serves them over HTTP.
/// Without a command it starts a trial site: the first start fills ./data with demo data and
/// prints an administrator's password and an API token once; later starts serve the same site.
#[derive(Debug, Parser)]
#[command(name = "example-host", version, after_help = examples(), max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) globals: Globals,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

impl Cli {
    /// The arguments of this process, and the words of their command, such as `user add`.
    pub(super) fn of_this_process() -> Result<(Self, String), clap::Error> {
        let mut matches = Self::command().try_get_matches()?;
        let words = words(&matches);
        let cli = Self::from_arg_matches_mut(&mut matches)
            .map_err(|error| error.format(&mut Self::command()))?;
        Ok((cli, words))
    }
}

fn words(matches: &ArgMatches) -> String {
    let commands = std::iter::successors(matches.subcommand(), |(_, below)| below.subcommand());
    commands.map(|(name, _)| name).collect::<Vec<_>>().join(" ")
}

/// What every command needs: the databases and the libraries.
#[derive(Debug, Args)]
pub(super) struct Globals {
    /// The host's own database: sqlite://FILE, postgres://USER:PASSWORD@HOST/NAME, or the same with
    /// mysql. Extensions keep their tables in the same database; on SQLite each extension has a
    /// file of its own beside it.
    #[arg(
        long,
        value_name = "URL",
        env = "DATABASE_URL",
        hide_env_values = true,
        default_value = "sqlite://data/host.db"
    )]
    pub(super) database: String,
    /// A replica of that database to read reports from; it may lag behind.
    #[arg(long, value_name = "URL", env = "DATABASE_REPORTS_URL", hide_env_values = true)]
    pub(super) database_reports: Option<String>,
    /// A library to load instead of the one beside this program; may be repeated. Required on a site
    /// whose extensions do not include that one. [env: HOST_PLUGIN]
    #[arg(long, value_name = "PATH")]
    pub(super) plugin: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve the site. An empty database gets its tables and reference data, never demo data.
    Serve(ServeArgs),
    /// Manage users.
    #[command(subcommand)]
    User(UserCommand),
    /// Manage the API tokens of users.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Manage the tree of groups; a group inherits the permissions of the group above it.
    #[command(subcommand)]
    Group(GroupCommand),
    /// Manage permissions: which groups may do what.
    #[command(subcommand)]
    Permission(PermissionCommand),
    /// Manage extensions, which add routes and features to the site.
    #[command(subcommand)]
    Extension(ExtensionCommand),
    /// Manage the parameters of extensions.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Verify or export the audit trail.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Copy or erase what the site keeps about a person.
    #[command(subcommand)]
    Privacy(PrivacyCommand),
    /// Back the site up while hosts serve it, into a new folder below FOLDER, and print its path.
    Backup(BackupArgs),
    /// Restore a backup to the database, which must be new: nothing is ever replaced. Clients that keep a
    /// copy of the data then start over.
    Restore {
        /// The folder that `backup` has printed.
        backup: PathBuf,
    },
    /// Copy the site to another database, for example from SQLite to a server.
    Copy(CopyArgs),
    /// Print the OpenAPI document of the extensions' routes.
    Openapi,
    /// The words of a command that extensions declare.
    #[command(external_subcommand)]
    Declared(Vec<OsString>),
}

impl Command {
    /// Whether it looks for something that only a site in use has.
    pub(super) fn seeks_what_is_there(&self) -> bool {
        matches!(self, Self::Audit(_) | Self::Privacy(_) | Self::User(UserCommand::List(_)))
    }
}

#[derive(Debug, Args)]
pub(super) struct BackupArgs {
    /// The folder for all backups; it is created if it does not exist.
    pub(super) folder: PathBuf,
    /// Keep only so many of the newest complete backups there, and remove older ones.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(super) keep: Option<u32>,
    /// Copy the key of secrets too. Whoever has such a backup has every secret of the site.
    #[arg(long)]
    pub(super) with_key: bool,
}

#[derive(Args)]
pub(super) struct CopyArgs {
    /// The database of the site. Nothing may write to it during the copy: stop its hosts first.
    /// Every user of the machine can read arguments; pass a password in the environment instead.
    #[arg(long, value_name = "URL", env = "COPY_FROM_URL", hide_env_values = true)]
    pub(super) from: String,
    /// A new database, or one with an interrupted copy.
    #[arg(long, value_name = "URL", env = "COPY_TO_URL", hide_env_values = true)]
    pub(super) to: String,
}

// The addresses may contain passwords, which must not reach a log through a debug format.
crate::base::opaque::opaque!(CopyArgs);

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The address and port to listen on; port 0 selects a free one.
    #[arg(long, value_name = "ADDR", env = "HOST_LISTEN", default_value = variables::HOST_LISTEN.default)]
    pub(super) listen: String,
    /// The certificate to serve HTTPS with, in PEM form, followed by the intermediate certificates.
    /// The file is read again when it changes. [env: HOST_TLS_CERT]
    #[arg(long, value_name = "PATH")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM form. [env: HOST_TLS_KEY]
    #[arg(long, value_name = "PATH")]
    pub(super) tls_key: Option<PathBuf>,
    /// The address and port to serve metrics for Prometheus at, under /metrics. Keep it private.
    /// [env: HOST_METRICS]
    #[arg(long, value_name = "ADDR")]
    pub(super) metrics: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum UserCommand {
    /// Add a user and print the new id.
    Add {
        /// The name to sign in with.
        name: String,
        /// The e-mail address.
        #[arg(long, value_name = "EMAIL")]
        email: String,
        /// A group to join, by its title; may be repeated. `group list` shows them.
        #[arg(long, value_name = "GROUP", required = true)]
        group: Vec<String>,
        /// Read the password from the first line of standard input. A user without a password
        /// cannot sign in to the administration but can have a token.
        #[arg(long)]
        password_stdin: bool,
        /// Send the user a link to choose a password, which is good for seven days.
        #[arg(long, conflicts_with = "password_stdin")]
        invite: bool,
    },
    /// Send another invitation to a user without a password. The link in the one before is no longer good.
    Invite {
        /// The name of the user.
        name: String,
    },
    /// List users: id, name, e-mail, groups, active or blocked, whether a second factor is set.
    List(Form),
    /// Set the password with which a user signs in to the administration. It is prompted for, or
    /// read from the first line of standard input if that is not a terminal.
    Password {
        /// The name of the user.
        name: String,
    },
    /// Block a user: the token and all sessions stop working at once.
    Block {
        /// The name of the user.
        name: String,
        /// Do it even if the site then has no administrator, a user with core.admin. The audit trail
        /// has a note of it.
        #[arg(long)]
        force: bool,
    },
    /// Unblock a user; the same token and password work again.
    Unblock {
        /// The name of the user.
        name: String,
    },
    /// Manage the second factors of users, which they set up themselves in the administration.
    #[command(subcommand)]
    SecondFactor(SecondFactorCommand),
    /// Remove a user. Records of extensions that name the user are kept.
    Remove {
        /// The name of the user.
        name: String,
        /// Do it even if the site then has no administrator, a user with core.admin. The audit trail
        /// has a note of it.
        #[arg(long)]
        force: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SecondFactorCommand {
    /// Remove the second factor of a user who has lost the device. All sessions of the user end.
    Remove {
        /// The name of the user.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Create a token and print it, only once. Without scopes it may do whatever its user may.
    Create(CreateTokenArgs),
    /// List the tokens of a user: name, active or expired, scopes, end, last use.
    List {
        /// The name of the user.
        user: String,
        #[command(flatten)]
        form: Form,
    },
    /// Give a token a new secret and print it, only once.
    Rotate {
        /// The name of the user.
        user: String,
        /// The name of the token.
        token: String,
        /// For how many hours the secret before still works, at most 72.
        #[arg(long, value_name = "HOURS", default_value_t = 0)]
        overlap: u64,
        /// When the token stops working; by default when it did before.
        #[arg(long, value_name = "MOMENT", value_parser = moment_of)]
        expires: Option<PrimitiveDateTime>,
    },
    /// Revoke a token with all of its secrets.
    Revoke {
        /// The name of the user.
        user: String,
        /// The name of the token.
        #[arg(default_value = "default")]
        token: String,
    },
    /// Create the token called default and print it, only once. It replaces the one before, which stops
    /// working at once.
    Generate {
        /// The name of the user.
        user: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct CreateTokenArgs {
    /// The name of the user.
    pub(super) user: String,
    /// The name of the token, unique among those of the user.
    #[arg(long)]
    pub(super) name: String,
    /// What the token is limited to, for example articles:view, or *:view; may be repeated.
    #[arg(long, value_name = "SCOPE")]
    pub(super) scope: Vec<String>,
    /// When it stops working, for example 2027-01-31T18:00:00+01:00; a moment without an offset is UTC.
    #[arg(long, value_name = "MOMENT", value_parser = moment_of)]
    pub(super) expires: Option<PrimitiveDateTime>,
    /// A range of addresses that it may be used from, for example 192.0.2.0/24; may be repeated.
    #[arg(long, value_name = "CIDR", value_parser = network_of)]
    pub(super) from: Vec<IpNet>,
    /// How many requests a minute it may send.
    #[arg(long, value_name = "N")]
    pub(super) rate: Option<u32>,
}

fn moment_of(text: &str) -> Result<PrimitiveDateTime, String> {
    moment::parse(text).ok_or_else(|| format!("it must be {}", moment::EXPECTED))
}

fn network_of(text: &str) -> Result<IpNet, &'static str> {
    text::network(text).ok_or("it must be a range of addresses like 192.0.2.0/24, or an address")
}

#[derive(Debug, Subcommand)]
pub(super) enum GroupCommand {
    /// List groups: id, title, title of the parent group.
    List(Form),
    /// Add a group below another and print the new id.
    Add {
        /// The title.
        name: String,
        /// The title of the parent group.
        #[arg(long, value_name = "GROUP")]
        parent: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum PermissionCommand {
    /// List rules: group, action, asset, allow or deny.
    List(Form),
    /// Set or remove a rule. A denial always wins, also for the groups and assets below.
    Set {
        /// The title of the group.
        group: String,
        /// The action, for example store.view.
        action: String,
        /// The asset, for example com_shop.products, com_shop or root.
        asset: String,
        /// The effect of the rule; inherit removes it.
        setting: SettingArg,
        /// Do it even if the site then has no administrator, a user with core.admin. The audit trail
        /// has a note of it.
        #[arg(long)]
        force: bool,
    },
    /// Explain whether a user may do something, and which rule decides.
    Explain {
        /// The name of the user.
        user: String,
        /// The action, for example store.view.
        action: String,
        /// The asset, for example com_shop.products.
        asset: String,
        /// The name of a token of the user, which must allow it too.
        #[arg(long, value_name = "NAME")]
        token: Option<String>,
        #[command(flatten)]
        form: Form,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum SettingArg {
    Allow,
    Deny,
    Inherit,
}

#[derive(Debug, Subcommand)]
pub(super) enum ExtensionCommand {
    /// List extensions: name, version, enabled or disabled.
    List(Form),
    /// Enable an extension.
    Enable {
        /// The name of the extension, for example webservices-shop or token-auth.
        name: String,
    },
    /// Disable an extension: its routes answer with 404. Without token-auth no user has access to
    /// the API.
    Disable {
        /// The name of the extension, for example webservices-shop or token-auth.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// List parameters: name, value as JSON, default or set, description.
    List(Form),
    /// Print the value of a parameter as JSON.
    Get {
        /// The name of the parameter; EXTENSION/NAME if several extensions have one of that name.
        key: String,
    },
    /// Set a parameter. A secret is never shown again: `list` and `get` print null for it.
    Set {
        /// The name of the parameter; EXTENSION/NAME if several extensions have one of that name.
        key: String,
        /// The value as JSON, for example 20 or '"EUR"'; null restores the default. With - it is read
        /// from the first line of standard input. A secret is read only so, as it is and without
        /// quotes, because every user of the machine can read arguments.
        #[arg(value_name = "JSON", allow_negative_numbers = true)]
        value: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Verify that no entry was changed, removed or inserted afterwards. Prints how many entries there
    /// are, from when to when, and the hash of the last one. Otherwise the exit code is 1, and standard
    /// error names the first entry with a fault.
    Verify,
    /// Print the entries, oldest first, each with its hash. Entries may be added meanwhile.
    Export {
        /// Only entries from this moment on, as of RFC 3339; UTC without an offset.
        #[arg(long, value_name = "MOMENT", value_parser = moment_of)]
        since: Option<PrimitiveDateTime>,
        /// Only entries up to this moment.
        #[arg(long, value_name = "MOMENT", value_parser = moment_of)]
        until: Option<PrimitiveDateTime>,
        /// An object of JSON on each line, or CSV as of RFC 4180.
        #[arg(long, value_name = "FORMAT", default_value = "ndjson")]
        format: FormatArg,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum FormatArg {
    Ndjson,
    Csv,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_can_be_printed_as_json() {
        fn lists(command: &clap::Command, found: &mut Vec<(String, bool)>) {
            let name = command.get_name();
            if ["list", "explain"].contains(&name) {
                let json = command.get_arguments().any(|of| of.get_long() == Some("json"));
                found.push((name.to_owned(), json));
            }
            command.get_subcommands().for_each(|below| lists(below, found));
        }
        let mut found = Vec::new();
        lists(&Cli::command(), &mut found);
        assert!(found.len() >= 7, "{found:?}");
        assert!(found.iter().all(|(_, json)| *json), "{found:?}");
    }
}
