//! The command line: reads arguments, calls the library, prints. The rules of a site are in `site`.

mod arguments;
mod commands;
mod declared;
mod libraries;
mod listing;
mod log;
mod operator;
mod privacy;
mod progress;
mod rows;
mod serve;
mod service;
mod signals;
mod terminal;

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use crate::base::databases::{Databases, OwnDatabases};
use crate::base::settings::Settings;
use crate::base::text::one_line;
use crate::site::{Site, backup, copy, keys, restore};

use self::arguments::{BackupArgs, Cli, Command, CopyArgs, Globals};
use self::commands::actor;
use self::log::Log;
use self::progress::Bar;
use self::service::Sockets;
use self::terminal::{Failure, print};

/// Runs the program with the arguments and environment of this process.
pub fn main() -> ExitCode {
    let sockets = Sockets::passed();
    let (cli, words) = match Cli::of_this_process() {
        Ok(given) => given,
        Err(error) => return failed(&declared::informed(error)),
    };
    let done = Settings::from_env().map_err(Failure::from).and_then(|settings| {
        let log = Log::start(&settings)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let done = runtime.block_on(run((cli, &words), &settings, &log, sockets));
        // Work that still runs in the background has had time to finish.
        runtime.shutdown_timeout(Duration::from_secs(1).min(settings.server.stop_timeout / 25));
        done
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => failed(&*error),
    }
}

/// Prints why the program failed. Wrong usage, and a request for help, are printed by the parser.
fn failed(error: &(dyn std::error::Error + Send + Sync + 'static)) -> ExitCode {
    // An error of standard error itself cannot be reported anywhere.
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        let _ = usage.print();
        return u8::try_from(usage.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from);
    }
    let _ = writeln!(std::io::stderr(), "example-host: {}", one_line(error));
    ExitCode::FAILURE
}

async fn run(
    (cli, words): (Cli, &str),
    settings: &Settings,
    log: &Log,
    sockets: Sockets,
) -> Result<(), Failure> {
    let Globals { database, database_reports, plugin } = cli.globals;
    let libraries = libraries::named(plugin);
    if let Some(Command::Copy(CopyArgs { from, to })) = &cli.command {
        let read = OwnDatabases::from_env;
        let from = Databases::new(from.parse()?).own(read(OwnDatabases::COPY_FROM)?);
        let to = Databases::new(to.parse()?).own(read(OwnDatabases::COPY_TO)?);
        let libraries = libraries?;
        let (by, key) = (Some(actor("copy")), settings.secret_key.clone());
        let copied = copy::copy_on_behalf_of(by, (&from, &to), key, &libraries, Bar::new);
        return print(copied.await?);
    }
    let reports = database_reports.filter(|url| !url.is_empty());
    let reports = reports.map(|url| url.parse()).transpose()?;
    let databases = Databases::new(database.parse()?)
        .reports(reports)
        .own(OwnDatabases::from_env(OwnDatabases::EXTENSION)?)
        .own_reports(OwnDatabases::from_env(OwnDatabases::REPORTS)?);
    let secrets = Arc::new(keys::secrets(&databases, settings.secret_key.clone()));
    match &cli.command {
        Some(Command::Backup(BackupArgs { folder, keep, with_key })) => {
            let keep = keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
            let wishes = backup::Wishes { folder, keep, with_key: *with_key };
            return print([backup::backup(&databases, &secrets, wishes).await?.display()]);
        }
        Some(Command::Restore { backup }) => {
            let libraries = libraries?;
            let by = actor("restore");
            return Ok(restore::restore(backup, &databases, &secrets, &libraries, by).await?);
        }
        _ => {}
    }
    let seeks = cli.command.as_ref().is_some_and(Command::seeks_what_is_there);
    let made = databases.host().path().filter(|file| seeks && !file.exists());
    let loaded = Site::load(&databases, &libraries?, &settings.mail)?;
    // Wrong usage is reported before a database is created.
    let given = match &cli.command {
        Some(Command::Declared(words)) => Some(declared::read(loaded.commands(), words)?),
        _ => None,
    };
    let loaded = loaded
        .on_behalf_of(actor("install"))
        .token_lifetime(settings.token_lifetime)
        .deliver_to(settings.deliver_to.clone())
        .secrets(&secrets);
    let site = loaded.open().await?;
    let done = match (cli.command, given) {
        (_, Some(given)) => commands::declared(&site, given).await,
        (None, None) => {
            let site = site.on_behalf_of(actor("quick start"));
            serve::quick_start(&site, settings, log, sockets).await
        }
        (Some(Command::Serve(args)), None) => {
            serve::serve(&site, args, settings, log, sockets).await
        }
        (Some(command), None) => commands::administer(&site, command, words).await,
    };
    site.close().await;
    if let Some(file) = made.filter(|_| done.is_ok()) {
        // The command has found nothing, which is true and hardly what somebody in the wrong folder needs to know.
        let file = file.display();
        let _ = writeln!(
            std::io::stderr(),
            "example-host: this site is new, because there was no {file}"
        );
    }
    done
}
