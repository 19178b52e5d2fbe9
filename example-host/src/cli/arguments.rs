//! The arguments of the program: commands, options and their help. What a command does is not known here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::{Map, Value};

/// Where the program listens when it is not told.
pub(super) const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

pub(super) const EXAMPLES: &str = "\
Examples:
  example-host
      Try it: makes ./data with a demo store, an administrator and a token, and serves it.
  example-host --database sqlite:///srv/shop/host.db serve --listen 0.0.0.0:8080
      Serve a site, without demo data.
  example-host user add ann --email ann@example.com --group Manager
  example-host user password ann
      Ask for the password that ann signs in to the administration with.
  example-host token generate ann
      A user who works through the API; the token is shown this once.
  example-host permission explain ann store.delete com_shop.products
      Why somebody may or may not do something.
  COPY_TO_URL=postgres://shop:secret@localhost/shop example-host copy --from sqlite://data/host.db
      Move a site that has been stopped to a server.

The commands work while a host serves the same database; it notices within a second.

Environment (beside those named above):
  HOST_PLUGIN           libraries to load, separated like PATH
  HOST_LISTEN           where to listen [default: 127.0.0.1:8080]
  HOST_LOG              which lines to log, e.g. info or debug,access=off [default: info]
  HOST_LOG_FORMAT       text or json [default: text]
  HOST_CORS_ORIGINS     origins whose pages may call the API, comma-separated [default: none]
  HOST_REQUEST_TIMEOUT  seconds that a request may take [default: 30]
  HOST_HEADER_TIMEOUT   seconds that the headers of a request may take [default: 10]
  HOST_STALL_TIMEOUT    seconds that a client may neither send nor take anything [default: 10]
  HOST_STOP_TIMEOUT     seconds that stopping may take [default: 25]
  HOST_CONNECTIONS      connections at the same time [default: 1024]
  HOST_CONNECTIONS_PER_ADDRESS  those of one client [default: 256]
  HOST_TLS_CERT, HOST_TLS_KEY  files of the certificate to serve with, and its key [default: none]
  HOST_HSTS_MAX_AGE     seconds that browsers keep to HTTPS, where it is served; 0 says nothing
                        [default: 31536000]
  HOST_METRICS          where to serve metrics, e.g. 127.0.0.1:9090 [default: nowhere]
  HOST_TRUSTED_PROXIES  proxies whose X-Forwarded-For is believed, e.g. 127.0.0.1,10.0.0.0/8
                        [default: none]
  HOST_BODY_LIMIT       bytes that the body of a request may have [default: 1048576]
  HOST_AUDIT_ENTRIES    changes that the audit trail keeps [default: 100000]
  HOST_SMTP_URL         the mail server, e.g. smtps://user:password@mail.example.com
                        [default: none; mails become files in the folder mail]
  HOST_SMTP_TIMEOUT     seconds that the mail server may take for a mail [default: 30]
  HOST_MAIL_FROM        whom mails are from [default: no-reply@localhost]

Exit codes: 0 done, 1 failed with one line on standard error, 2 wrong usage.";

/// A small content-management host that loads extensions and serves them over HTTP.
///
/// Without a command it starts a site to try: on the first start it fills ./data with a demo
/// store and prints an administrator's password and an API token once; after that it serves the
/// same site again.
#[derive(Debug, Parser)]
#[command(name = "example-host", version, after_help = EXAMPLES, max_term_width = 100)]
pub(super) struct Cli {
    /// The host's own database: sqlite://FILE, postgres://USER:PASSWORD@HOST/NAME, or the same with
    /// mysql. An extension keeps its tables in the same database, on SQLite in a file of its own
    /// beside it, the store in shop.db.
    #[arg(
        long,
        value_name = "URL",
        env = "DATABASE_URL",
        hide_env_values = true,
        default_value = "sqlite://data/host.db"
    )]
    pub(super) database: String,
    /// A replica of that database, which may lag behind it, to read reports from.
    #[arg(long, value_name = "URL", env = "DATABASE_REPORTS_URL", hide_env_values = true)]
    pub(super) database_reports: Option<String>,
    /// A library to load instead of the one beside this program; may be repeated. [env:
    /// HOST_PLUGIN]
    #[arg(long, value_name = "PATH")]
    pub(super) plugin: Vec<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Serve the site. An empty database gets its tables and reference data, never demo data.
    Serve(ServeArgs),
    /// Users: who may come in.
    #[command(subcommand)]
    User(UserCommand),
    /// API tokens: how users come in.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Groups of users, a tree: what a group may, those below it may too.
    #[command(subcommand)]
    Group(GroupCommand),
    /// Permissions: which group may do what to what.
    #[command(subcommand)]
    Permission(PermissionCommand),
    /// Extensions: what the site can do.
    #[command(subcommand)]
    Extension(ExtensionCommand),
    /// Parameters of the store.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Fill the site with data to try it with; `demo --help` lists the options of the extensions.
    #[command(disable_help_flag = true)]
    Demo(DemoArgs),
    /// Copy the site to another database, for example from SQLite to a server.
    Copy(CopyArgs),
    /// Print the OpenAPI document of the extensions' routes.
    Openapi,
}

#[derive(Args)]
pub(super) struct CopyArgs {
    /// The database that the site is in. Nobody may write to it meanwhile: stop its hosts first.
    /// Everybody on the machine can read arguments, so a password is better in the environment.
    #[arg(long, value_name = "URL", env = "COPY_FROM_URL", hide_env_values = true)]
    pub(super) from: String,
    /// A new database for it, or one that an earlier copy was cut off in.
    #[arg(long, value_name = "URL", env = "COPY_TO_URL", hide_env_values = true)]
    pub(super) to: String,
}

/// The addresses may hold passwords, which must not reach a log by way of a debug format.
impl std::fmt::Debug for CopyArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyArgs").finish_non_exhaustive()
    }
}

#[derive(Debug, Args)]
pub(super) struct ServeArgs {
    /// The address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", env = "HOST_LISTEN", default_value = DEFAULT_LISTEN)]
    pub(super) listen: String,
    /// The certificate to serve HTTPS with, in PEM form, followed by those between it and the one
    /// that clients trust. Read again when the file changes. [env: HOST_TLS_CERT]
    #[arg(long, value_name = "PATH")]
    pub(super) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM form. [env: HOST_TLS_KEY]
    #[arg(long, value_name = "PATH")]
    pub(super) tls_key: Option<PathBuf>,
    /// The address and port to serve metrics at, under /metrics, for Prometheus. Not for everybody
    /// to read. [env: HOST_METRICS]
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
        #[arg(long, value_name = "E")]
        email: String,
        /// A group to join, by its title; may be repeated. `group list` shows them.
        #[arg(long, value_name = "G", required = true)]
        group: Vec<String>,
        /// Read the password from the first line of standard input. Without one the user cannot
        /// sign in to pages, but may have a token.
        #[arg(long)]
        password_stdin: bool,
    },
    /// List users: id, name, e-mail, groups, active or blocked.
    List,
    /// Set the password that a user signs in to the administration with. It is asked for, or read
    /// from the first line of standard input where that is no terminal.
    Password {
        /// The name of the user.
        name: String,
    },
    /// Refuse a user everything until unblocked; the token stops at once.
    Block {
        /// The name of the user.
        name: String,
    },
    /// Let a blocked user in again, by the same token.
    Unblock {
        /// The name of the user.
        name: String,
    },
    /// Remove a user. Records of the store stay.
    Remove {
        /// The name of the user.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Make a token and print it, this once. The one before stops at once.
    Generate {
        /// The name of the user.
        name: String,
    },
    /// Take the token away.
    Revoke {
        /// The name of the user.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum GroupCommand {
    /// List groups: id, title, title of the group above.
    List,
    /// Add a group below another and print the new id.
    Add {
        /// The title.
        name: String,
        /// The title of the group above it.
        #[arg(long, value_name = "G")]
        parent: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum PermissionCommand {
    /// List rules: group, action, asset, allow or deny.
    List,
    /// Set or remove a rule. A denial wins over every allowance, also below.
    Set {
        /// The title of the group.
        group: String,
        /// The action, for example store.view.
        action: String,
        /// The asset, for example com_shop.products, com_shop or root.
        asset: String,
        /// What the rule says; inherit removes it.
        setting: SettingArg,
    },
    /// Say whether a user may do something, and by which rule.
    Explain {
        /// The name of the user.
        user: String,
        /// The action, for example store.view.
        action: String,
        /// The asset, for example com_shop.products.
        asset: String,
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
    List,
    /// Put an extension into use.
    Enable {
        /// The name of the extension, for example webservices-shop or token-auth.
        name: String,
    },
    /// Take an extension out of use: its routes answer 404; without token-auth nobody comes in.
    Disable {
        /// The name of the extension, for example webservices-shop or token-auth.
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// List parameters: name, value as JSON, default or set, description.
    List,
    /// Print the value of a parameter as JSON.
    Get {
        /// The name of the parameter; EXTENSION/NAME where several extensions have it.
        key: String,
    },
    /// Set a parameter.
    Set {
        /// The name of the parameter; EXTENSION/NAME where several extensions have it.
        key: String,
        /// The value as JSON, for example 20 or '"EUR"'; null brings the default back.
        #[arg(value_name = "JSON", allow_negative_numbers = true)]
        value: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Options that the extensions declare.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(super) options: Vec<String>,
    /// What they are, as soon as the extensions are loaded.
    #[arg(skip)]
    pub(super) chosen: Map<String, Value>,
}
