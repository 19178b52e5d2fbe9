//! The command line: reads arguments, calls the library, prints. No rule of the site is in here.

mod demo;
mod operator;

use std::fmt::Display;
use std::io::{BufRead, IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand, ValueEnum};
use host_interface::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tracing_subscriber::EnvFilter;

use self::operator::Operator;
use crate::base::database_url::DatabaseUrl;
use crate::base::error::one_line;
use crate::base::settings::{LogFormat, Settings, TlsFiles};
use crate::extensions::loader;
use crate::identity::acl::Setting;
use crate::identity::users::NewUser;
use crate::server::{self, MetricsServer, Running};
use crate::site::Site;
use crate::site::copy;
use crate::site::quickstart;
use crate::watch::audit;

/// Where the program listens when it is not told.
const DEFAULT_LISTEN: &str = "127.0.0.1:8080";

/// Why the program ends with an error: one line for people.
type Failure = Box<dyn std::error::Error + Send + Sync>;

const EXAMPLES: &str = "\
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
struct Cli {
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
    database: String,
    /// A replica of that database, which may lag behind it, to read reports from.
    #[arg(long, value_name = "URL", env = "DATABASE_REPORTS_URL", hide_env_values = true)]
    database_reports: Option<String>,
    /// A library to load instead of the one beside this program; may be repeated. [env:
    /// HOST_PLUGIN]
    #[arg(long, value_name = "PATH")]
    plugin: Vec<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
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
struct CopyArgs {
    /// The database that the site is in. Nobody may write to it meanwhile: stop its hosts first.
    /// Everybody on the machine can read arguments, so a password is better in the environment.
    #[arg(long, value_name = "URL", env = "COPY_FROM_URL", hide_env_values = true)]
    from: String,
    /// A new database for it, or one that an earlier copy was cut off in.
    #[arg(long, value_name = "URL", env = "COPY_TO_URL", hide_env_values = true)]
    to: String,
}

/// The addresses may hold passwords, which must not reach a log by way of a debug format.
impl std::fmt::Debug for CopyArgs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyArgs").finish_non_exhaustive()
    }
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// The address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", env = "HOST_LISTEN", default_value = DEFAULT_LISTEN)]
    listen: String,
    /// The certificate to serve HTTPS with, in PEM form, followed by those between it and the one
    /// that clients trust. Read again when the file changes. [env: HOST_TLS_CERT]
    #[arg(long, value_name = "PATH")]
    tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM form. [env: HOST_TLS_KEY]
    #[arg(long, value_name = "PATH")]
    tls_key: Option<PathBuf>,
    /// The address and port to serve metrics at, under /metrics, for Prometheus. Not for everybody
    /// to read. [env: HOST_METRICS]
    #[arg(long, value_name = "ADDR")]
    metrics: Option<String>,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
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
enum TokenCommand {
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
enum GroupCommand {
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
enum PermissionCommand {
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
enum SettingArg {
    Allow,
    Deny,
    Inherit,
}

#[derive(Debug, Subcommand)]
enum ExtensionCommand {
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
enum ConfigCommand {
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
struct DemoArgs {
    /// Options that the extensions declare.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
    /// What they are, as soon as the extensions are loaded.
    #[arg(skip)]
    chosen: Map<String, Value>,
}

/// Runs the program with the arguments and environment of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = Settings::from_env().map_err(Failure::from).and_then(|settings| {
        start_log(&settings)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(run(cli, &settings));
        // Whatever is still at work in the background has had its time.
        runtime.shutdown_timeout(Duration::from_secs(1).min(settings.server.stop_timeout / 25));
        done
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&*error),
    }
}

/// Says why the program has failed. Wrong usage, and a request for help, have their own form.
fn failed(error: &(dyn std::error::Error + Send + Sync + 'static)) -> ExitCode {
    // Nobody is left to tell when the output is gone.
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        let _ = usage.print();
        return u8::try_from(usage.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    }
    let _ = writeln!(std::io::stderr(), "example-host: {}", one_line(error));
    ExitCode::FAILURE
}

async fn run(mut cli: Cli, settings: &Settings) -> Result<(), Failure> {
    let plugins = plugins(std::mem::take(&mut cli.plugin));
    if let Some(Command::Copy(CopyArgs { from, to })) = &cli.command {
        let (plugins, from, to) = (plugins?, from.parse()?, to.parse()?);
        let copied = copy::copy_on_behalf_of(Some(by("copy")), &from, &to, &plugins, Bar::new);
        return print(copied.await?);
    }
    let url: DatabaseUrl = cli.database.parse()?;
    let reports = cli.database_reports.filter(|url| !url.is_empty());
    let reports = reports.map(|url| url.parse()).transpose()?;
    let load = |plugins: Vec<PathBuf>| Site::load(&url, reports.as_ref(), &plugins, &settings.mail);
    let loaded = plugins.and_then(|plugins| Ok(load(plugins)?));
    // Wrong usage is found before there is a database.
    if let Some(Command::Demo(DemoArgs { options, chosen })) = &mut cli.command {
        *chosen = demo::chosen(loaded.as_ref().ok(), std::mem::take(options))?;
    }
    let site = loaded?.open().await?;
    let done = match cli.command {
        None => quick_start(&site.on_behalf_of(by("quick start")), settings).await,
        Some(Command::Serve(args)) => serve(&site, args, settings).await,
        Some(command) => administer(&site, command).await,
    };
    site.close().await;
    done
}

/// What was named, else what the environment names, else the library beside the program.
fn plugins(named: Vec<PathBuf>) -> Result<Vec<PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named);
    }
    let from_env = std::env::var_os("HOST_PLUGIN").filter(|value| !value.is_empty());
    match from_env {
        Some(value) => {
            Ok(std::env::split_paths(&value).filter(|path| !path.as_os_str().is_empty()).collect())
        }
        None => Ok(vec![loader::default_library()?]),
    }
}

/// Does what a command says; what it changes is written down as its doing.
async fn administer(site: &Site, command: Command) -> Result<(), Failure> {
    match name(&command) {
        Some(name) => perform(&site.on_behalf_of(by(name)), command).await,
        None => perform(site, command).await,
    }
}

/// A command, and whoever has given it.
fn by(name: &'static str) -> audit::Command {
    let Operator { name: username, uid } = Operator::of_this_process();
    audit::Command { name, username, uid }
}

/// What a command is called that changes something; nothing where it only reads, or serves.
fn name(command: &Command) -> Option<&'static str> {
    match command {
        Command::User(command) => match command {
            UserCommand::List => None,
            UserCommand::Add { .. } => Some("user add"),
            UserCommand::Password { .. } => Some("user password"),
            UserCommand::Block { .. } => Some("user block"),
            UserCommand::Unblock { .. } => Some("user unblock"),
            UserCommand::Remove { .. } => Some("user remove"),
        },
        Command::Token(TokenCommand::Generate { .. }) => Some("token generate"),
        Command::Token(TokenCommand::Revoke { .. }) => Some("token revoke"),
        Command::Group(GroupCommand::Add { .. }) => Some("group add"),
        Command::Permission(PermissionCommand::Set { .. }) => Some("permission set"),
        Command::Extension(ExtensionCommand::Enable { .. }) => Some("extension enable"),
        Command::Extension(ExtensionCommand::Disable { .. }) => Some("extension disable"),
        Command::Config(ConfigCommand::Set { .. }) => Some("config set"),
        Command::Demo(_) => Some("demo"),
        Command::Copy(_) => Some("copy"),
        Command::Group(GroupCommand::List)
        | Command::Permission(PermissionCommand::List | PermissionCommand::Explain { .. })
        | Command::Extension(ExtensionCommand::List)
        | Command::Config(ConfigCommand::List | ConfigCommand::Get { .. })
        | Command::Openapi
        | Command::Serve(_) => None,
    }
}

async fn perform(site: &Site, command: Command) -> Result<(), Failure> {
    match command {
        // These were dealt with by the caller.
        Command::Serve(_) | Command::Copy(_) => Ok(()),
        Command::User(command) => users(site, command).await,
        Command::Token(TokenCommand::Generate { name }) => {
            print([site.generate_token(&name).await?])
        }
        Command::Token(TokenCommand::Revoke { name }) => Ok(site.revoke_token(&name).await?),
        Command::Group(GroupCommand::List) => {
            print(site.groups().await?.into_iter().map(|group| {
                format!("{}\t{}\t{}", group.id, group.title, group.parent.unwrap_or_default())
            }))
        }
        Command::Group(GroupCommand::Add { name, parent }) => {
            print([site.add_group(&name, &parent).await?])
        }
        Command::Permission(command) => permissions(site, command).await,
        Command::Extension(ExtensionCommand::List) => {
            print(site.extensions().await?.into_iter().map(|extension| {
                let state = if extension.enabled { "enabled" } else { "disabled" };
                format!("{}\t{}\t{state}", extension.name, extension.version)
            }))
        }
        Command::Extension(ExtensionCommand::Enable { name }) => {
            Ok(site.set_enabled(&name, true).await?)
        }
        Command::Extension(ExtensionCommand::Disable { name }) => {
            Ok(site.set_enabled(&name, false).await?)
        }
        Command::Config(command) => config(site, command).await,
        Command::Demo(DemoArgs { chosen, .. }) => print(site.demo(&chosen, Bar::new).await?),
        Command::Openapi => print(site.openapi()?),
    }
}

async fn users(site: &Site, command: UserCommand) -> Result<(), Failure> {
    match command {
        UserCommand::Add { name, email, group, password_stdin } => {
            let password = if password_stdin { Some(read_line()?) } else { None };
            let new = NewUser { username: name, email, groups: group, password };
            print([site.add_user(new).await?])
        }
        UserCommand::List => print(site.users().await?.into_iter().map(|user| {
            let state = if user.blocked { "blocked" } else { "active" };
            let groups = user.groups.join(", ");
            format!("{}\t{}\t{}\t{groups}\t{state}", user.id, user.username, user.email)
        })),
        UserCommand::Password { name } => {
            // Nobody is to think of a password for a user that is not there.
            let user = site.user(&name).await?;
            Ok(site.set_password(&user.username, ask_password(&user.username)?).await?)
        }
        UserCommand::Block { name } => Ok(site.set_blocked(&name, true).await?),
        UserCommand::Unblock { name } => Ok(site.set_blocked(&name, false).await?),
        UserCommand::Remove { name } => Ok(site.remove_user(&name).await?),
    }
}

async fn permissions(site: &Site, command: PermissionCommand) -> Result<(), Failure> {
    match command {
        PermissionCommand::List => print(site.rules().await?.into_iter().map(|rule| {
            let setting = if rule.allowed { "allow" } else { "deny" };
            format!("{}\t{}\t{}\t{setting}", rule.group, rule.action, rule.asset)
        })),
        PermissionCommand::Set { group, action, asset, setting } => {
            let setting = match setting {
                SettingArg::Allow => Setting::Allow,
                SettingArg::Deny => Setting::Deny,
                SettingArg::Inherit => Setting::Inherit,
            };
            Ok(site.set_rule(&group, &action, &asset, setting).await?)
        }
        PermissionCommand::Explain { user, action, asset } => {
            print([site.explain(&user, &action, &asset).await?])
        }
    }
}

async fn config(site: &Site, command: ConfigCommand) -> Result<(), Failure> {
    match command {
        ConfigCommand::List => print(site.parameters().into_iter().map(|parameter| {
            let state = if parameter.set { "set" } else { "default" };
            let name = parameter.full_name();
            let description = one_line(parameter.description);
            format!("{name}\t{}\t{state}\t{description}", parameter.value)
        })),
        ConfigCommand::Get { key } => print([site.parameter(&key)?.value]),
        ConfigCommand::Set { key, value } => {
            let value = serde_json::from_str(&value).map_err(|error| {
                format!("{value:?} is no JSON ({error}); a string is written '\"like this\"'")
            })?;
            Ok(site.set_parameter(&key, &value).await?)
        }
    }
}

async fn serve(site: &Site, args: ServeArgs, settings: &Settings) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let mut settings = settings.clone();
    if args.tls_cert.is_some() || args.tls_key.is_some() {
        settings.server.tls = TlsFiles::both(args.tls_cert, args.tls_key)?;
    }
    settings.metrics = args.metrics.or(settings.metrics);
    let listener = bind(&args.listen).await?;
    let metrics = serve_metrics(site, &settings).await?;
    let running = site.serve(listener, &settings.server)?;
    until_told(signals, running, metrics).await
}

/// The metrics, at their own address where there is one.
async fn serve_metrics(site: &Site, settings: &Settings) -> Result<Option<MetricsServer>, Failure> {
    match &settings.metrics {
        Some(listen) => Ok(Some(site.serve_metrics(bind(listen).await?)?)),
        None => Ok(None),
    }
}

async fn quick_start(site: &Site, settings: &Settings) -> Result<(), Failure> {
    let listen = std::env::var("HOST_LISTEN").ok().filter(|listen| !listen.is_empty());
    // An address in use is better told before the store is filled than after.
    let listener = bind(listen.as_deref().unwrap_or(DEFAULT_LISTEN)).await?;
    let metrics = serve_metrics(site, settings).await?;
    server::check_tls(&settings.server)?;
    let first = quickstart::prepare(site, Bar::new).await?;
    let signals = Signals::new()?;
    let running = site.serve(listener, &settings.server)?;
    let address = reachable(running.addr());
    let scheme = settings.server.scheme();
    let mut lines = vec![format!("Serving at {scheme}://{address}")];
    if let Some(first) = first {
        lines.extend([
            String::new(),
            format!("Administrator  {}", first.username),
            format!("Password       {}", first.password),
            format!("API token      {}", first.token),
            String::new(),
            "These are shown once. Try the API in another terminal:".to_owned(),
            String::new(),
            format!(
                "curl -H 'Authorization: Bearer {}' -H 'Accept: application/vnd.api+json' \
                 {scheme}://{address}/api/index.php/v1/shop/manufacturers",
                first.token
            ),
            String::new(),
        ]);
    }
    // The site serves whether or not anybody reads this.
    if let Err(error) = print(lines) {
        tracing::error!(%error, "the address could not be printed");
    }
    until_told(signals, running, metrics).await
}

async fn bind(listen: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind(listen).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "{listen} is in use; choose another address, for example HOST_LISTEN=127.0.0.1:8081"
        )
        .into(),
        _ => format!("cannot listen on {listen}: {error}").into(),
    })
}

/// An address that a client on this machine can use.
fn reachable(address: SocketAddr) -> SocketAddr {
    let mut address = address;
    match address {
        SocketAddr::V4(at) if at.ip().is_unspecified() => {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        SocketAddr::V6(at) if at.ip().is_unspecified() => {
            address.set_ip(std::net::Ipv6Addr::LOCALHOST.into());
        }
        _ => {}
    }
    address
}

/// Serves until a signal, then stops gracefully; a second signal ends it at once. The metrics can
/// be read to the end.
async fn until_told(
    mut signals: Signals,
    mut running: Running,
    metrics: Option<MetricsServer>,
) -> Result<(), Failure> {
    let failed = tokio::select! {
        () = signals.next() => false,
        () = running.failed() => true,
    };
    tracing::info!("stopping; requests in flight are finished");
    tokio::select! {
        () = running.shutdown() => {}
        () = signals.next() => tracing::warn!("stopped at once"),
    }
    drop(metrics);
    if failed { Err("the server has failed, see the log".into()) } else { Ok(()) }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

fn start_log(settings: &Settings) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(&settings.log)
        .map_err(|error| format!("HOST_LOG is no filter: {error}"))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    match settings.log_format {
        LogFormat::Text => log.try_init(),
        LogFormat::Json => log.json().flatten_event(true).with_span_list(false).try_init(),
    }
}

/// One line each. A reader that has seen enough and goes away is no error.
fn print<T: Display>(lines: impl IntoIterator<Item = T>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let written =
        lines.into_iter().try_for_each(|line| writeln!(out, "{line}")).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

fn read_line() -> Result<String, Failure> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A password: typed twice and not shown, or a line of standard input.
fn ask_password(username: &str) -> Result<String, Failure> {
    if !std::io::stdin().is_terminal() {
        return read_line();
    }
    let password = rpassword::prompt_password(format!("New password of {username}: "))?;
    if rpassword::prompt_password("The same again: ")? != password {
        return Err("the passwords differ; nothing was changed".into());
    }
    Ok(password)
}

/// A progress bar on standard error, gone when the work is. Where that is no terminal, a line of the
/// log now and then.
struct Bar {
    bar: ProgressBar,
    pace: Mutex<Pace>,
}

/// How often somebody is told who reads lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

impl Bar {
    fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{prefix:24} [{bar:30}] {human_pos}/{human_len} {msg}");
        // The template is fixed; without it the bar is merely plainer.
        let bar = bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, pace: Mutex::new(Pace::of("", 0)) }
    }
}

impl Progress for Bar {
    fn report(&self, step: &str, done: u64, total: u64) {
        let mut pace = self.pace.lock().unwrap_or_else(PoisonError::into_inner);
        if pace.step != step {
            *pace = Pace { told: pace.told, ..Pace::of(step, done) };
            self.bar.set_prefix(step.to_owned());
        }
        self.bar.set_length(total);
        self.bar.set_position(done);
        let words = pace.words(done, total);
        if self.bar.is_hidden() && pace.told.elapsed() >= LINE_EVERY {
            pace.told = Instant::now();
            tracing::info!("{step} {done}/{total} {words}");
        }
        self.bar.set_message(words);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How fast a step of the work goes.
struct Pace {
    step: String,
    begun: Instant,
    /// How much was done before.
    from: u64,
    /// When a line was written last.
    told: Instant,
}

impl Pace {
    fn of(step: &str, from: u64) -> Self {
        let now = Instant::now();
        Self { step: step.to_owned(), begun: now, from, told: now }
    }

    /// How much is done in a second, and how long the rest takes at that rate; nothing as long as
    /// nobody knows.
    fn words(&self, done: u64, total: u64) -> String {
        self.words_after(self.begun.elapsed(), done, total)
    }

    fn words_after(&self, elapsed: Duration, done: u64, total: u64) -> String {
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        let since = done.saturating_sub(self.from);
        let left = total.saturating_sub(done).saturating_mul(milliseconds);
        let Some(left) = left.checked_div(since) else { return String::new() };
        let left = left.div_ceil(1_000);
        let left = format!("{}:{:02} left", left / 60, left % 60);
        match since.saturating_mul(1_000) / milliseconds {
            0 => left,
            rate => format!("{rate}/s, {left}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_counts_what_was_done_since_it_began() {
        let pace = Pace::of("orders", 1_000);
        let words = |seconds, done| {
            let elapsed = Duration::from_secs(seconds);
            pace.words_after(elapsed, done, 61_000)
        };
        assert_eq!(words(9, 1_000), "", "nothing is known yet");
        assert_eq!(words(10, 11_000), "1000/s, 0:50 left");
        assert_eq!(words(100, 1_100), "1/s, 998:20 left");
        assert_eq!(words(1_000, 1_100), "9983:20 left");
        assert_eq!(words(60, 61_000), "1000/s, 0:00 left");
        assert_eq!(words(0, 61_000), "60000000/s, 0:00 left");
    }
}
