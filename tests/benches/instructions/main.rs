//! How many instructions a request costs the host, counted by callgrind, so that neither a clock nor other
//! work on the machine matters. It compiles the program and the library for release, makes two small stores on
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

/// How many counts there are of a request whose cost is written down: the least is what it costs. What a host does once
/// a second, or once in a hundred writes, only adds to a count.
const COUNTS: usize = 7;
/// How many there are at most until one is within the bound. On a busy machine requests take longer, and a count has more
/// of what a host does once a second.
const MOST: usize = 28;

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
    for (name, millions) in measure(&program, &settings, &mut table) {
        table.row(name).cost(settings.compiled).now = millions;
    }
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

/// Counts each row that is wanted, of two stores at the same time: one is only read. Returns what each request costs, in
/// millions of instructions.
fn measure(program: &Path, settings: &Settings, table: &mut Table) -> Vec<(&'static str, f64)> {
    let all = routes::READS.iter().chain(&routes::WRITES).chain(&routes::BESIDE_WEBHOOKS);
    let named: Vec<&str> = all.map(|route| route.name).collect();
    assert_eq!(named, table.names(), "the rows of table.md are those of routes.rs, in order");
    let mut wanted = |routes: &'static [Route]| {
        let wanted = routes.iter().filter(|route| settings.wants(route.name));
        wanted.map(|route| (route, *table.row(route.name).cost(settings.compiled))).collect()
    };
    let stores = [
        Store { name: "read", routes: wanted(&routes::READS), beside_webhooks: Vec::new() },
        Store {
            name: "written",
            routes: wanted(&routes::WRITES),
            beside_webhooks: wanted(&routes::BESIDE_WEBHOOKS),
        },
    ];
    std::thread::scope(|scope| {
        let counting = stores.map(|store| scope.spawn(|| store.count(program, settings)));
        counting.into_iter().flat_map(|store| store.join().unwrap()).collect()
    })
}

/// A store, and the requests that are sent to it, with their bounds.
struct Store {
    name: &'static str,
    routes: Vec<(&'static Route, Cost)>,
    beside_webhooks: Vec<(&'static Route, Cost)>,
}

impl Store {
    fn count(self, program: &Path, settings: &Settings) -> Vec<(&'static str, f64)> {
        if self.routes.is_empty() && self.beside_webhooks.is_empty() {
            return Vec::new();
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut host = Host::start(program, self.name).await;
            routes::prepare(&host).await;
            let mut counted = count_all(&mut host, self.routes, settings).await;
            if !self.beside_webhooks.is_empty() {
                routes::subscribe(&mut host).await;
                counted.extend(count_all(&mut host, self.beside_webhooks, settings).await);
            }
            counted
        })
    }
}

/// Counts what each of these requests costs, one after the other.
async fn count_all(
    host: &mut Host,
    routes: Vec<(&'static Route, Cost)>,
    settings: &Settings,
) -> Vec<(&'static str, f64)> {
    let mut counted = Vec::with_capacity(routes.len());
    for (route, cost) in routes {
        counted.push((route.name, count(host, route, cost, settings).await));
    }
    counted
}

/// Counts what a request costs, in millions of instructions, until that is within its bound.
async fn count(host: &mut Host, route: &Route, cost: Cost, settings: &Settings) -> f64 {
    let mut nth = 0..;
    host.warm(route, &mut nth).await;
    let mut least = host.count(route, &mut nth).await;
    let wanted = if settings.write || settings.profile { COUNTS } else { 1 };
    for counts in 1..MOST {
        if counts >= wanted && cost.verdict(least.millions).is_none() {
            break;
        }
        least = least.or_less(host.count(route, &mut nth).await);
    }
    if settings.profile {
        eprintln!("{}: {}", route.name, least.file.display());
    }
    least.millions
}
