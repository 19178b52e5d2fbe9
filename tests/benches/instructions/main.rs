//! How many instructions a request costs the host, counted by callgrind, so that neither a clock nor other
//! work on the machine matters. It compiles the program and the library for release, makes a small store on
//! SQLite, and compares each row of [`table.md`](table.md) with its bound; a row above it fails the run. The program of
//! the tests, which is compiled with less optimisation in a fraction of the time, has bounds of its own.
//!
//! ```sh
//! cargo bench -p tests --profile dev --bench instructions                        # compares
//! cargo bench -p tests --profile dev --bench instructions -- --write             # writes the column "now"
//! cargo bench -p tests --profile dev --bench instructions -- --only orders       # some rows
//! cargo bench -p tests --profile dev --bench instructions -- --program FOLDER    # another build
//! cargo bench -p tests --profile dev --bench instructions -- --tested FOLDER     # the program of the tests
//! cargo bench -p tests --profile dev --bench instructions -- --profile           # names the counts by function
//! ```
//!
//! This program itself is not measured, so it need not be optimised. It knows no engine but SQLite, which works within
//! the process: what a server does is not counted.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_arithmetic,
    reason = "a benchmark may stop at the first error, and these numbers are no amounts"
)]

mod browser;
#[path = "../scale/building.rs"]
mod building;
mod counted;
mod routes;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use self::counted::Host;
use self::routes::Route;
use self::table::{Compiled, Cost, Table};

/// How often a request that is above its bound is counted once more. On a busy machine requests take longer, and a
/// count has more of what a host does once a second.
const AGAIN: u32 = 3;

/// What the command line asks for.
struct Settings {
    compiled: Compiled,
    /// The folder of the program and the library; `None` builds both.
    program: Option<PathBuf>,
    /// Only rows whose names contain this text.
    only: String,
    write: bool,
    profile: bool,
}

impl Settings {
    fn of_the_command_line() -> Settings {
        let mut settings = Settings {
            compiled: Compiled::ForRelease,
            program: None,
            only: String::new(),
            write: false,
            profile: false,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().unwrap_or_else(|| panic!("{argument} needs a value"));
            match argument.as_str() {
                "--program" => settings.program = Some(value().into()),
                "--tested" => {
                    settings.compiled = Compiled::ForTests;
                    settings.program = Some(value().into());
                }
                "--only" => settings.only = value(),
                "--write" => settings.write = true,
                "--profile" => settings.profile = true,
                // Cargo adds this.
                "--bench" => {}
                _ => panic!("unknown argument {argument:?}"),
            }
        }
        settings
    }

    /// Whether a row is among those that are counted.
    fn wants(&self, name: &str) -> bool {
        name.contains(&self.only)
    }
}

fn main() -> ExitCode {
    let settings = Settings::of_the_command_line();
    let program = settings.program.clone().unwrap_or_else(|| {
        building::build(&["--locked", "-p", "example-host", "-p", "plugin"]);
        building::target().join("release")
    });
    let mut table = Table::read();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&program, &settings, &mut table));
    let mut failed = false;
    println!("{}", table::HEAD);
    for row in table.rows().filter(|row| settings.wants(&row.name)) {
        let cost = *row.cost(settings.compiled);
        let verdict = cost.verdict(cost.now);
        failed |= verdict.is_some() && !settings.write;
        println!("{row}{}", verdict.unwrap_or_default());
    }
    if settings.write {
        table.write();
    }
    ExitCode::from(u8::from(failed))
}

/// Writes into each row that is wanted what its request costs now.
async fn measure(program: &Path, settings: &Settings, table: &mut Table) {
    let all = routes::ALL.iter().chain(&routes::BESIDE_WEBHOOKS);
    let named: Vec<&str> = all.map(|route| route.name).collect();
    assert_eq!(named, table.names(), "the rows of table.md are those of routes.rs, in order");
    let wanted = |route: &&Route| settings.wants(route.name);
    let mut host = Host::start(program).await;
    routes::prepare(&host).await;
    for route in routes::ALL.iter().filter(wanted) {
        count(&mut host, route, table.row(route.name).cost(settings.compiled), settings).await;
    }
    let mut beside = routes::BESIDE_WEBHOOKS.iter().filter(wanted).peekable();
    if beside.peek().is_some() {
        routes::subscribe(&mut host).await;
    }
    for route in beside {
        count(&mut host, route, table.row(route.name).cost(settings.compiled), settings).await;
    }
}

/// Writes down what a request costs.
async fn count(host: &mut Host, route: &Route, cost: &mut Cost, settings: &Settings) {
    let mut nth = 0..;
    let mut counted = host.count(route, &mut nth).await;
    for _ in 0..AGAIN {
        if cost.verdict(counted.millions).is_none() {
            break;
        }
        counted = counted.or_less(host.count(route, &mut nth).await);
    }
    if settings.profile {
        eprintln!("{}: {}", route.name, counted.file.display());
    }
    cost.now = counted.millions;
}
