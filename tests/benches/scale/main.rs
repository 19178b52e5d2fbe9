//! What a request costs: reads in a large store against a small one, writes against an empty store,
//! the feed of changes, imports and exports, many simultaneous clients, a list against a hand-written handler,
//! and the loaded library against the linked one. It creates the stores, starts the real program with the real
//! library, and sends requests over loopback.
//!
//! ```sh
//! cargo bench -p tests --bench scale                      # everything, on every engine that answers
//! cargo bench -p tests --bench scale -- sqlite --part reads --large 100000,200000 --rounds 3
//! cargo bench -p tests --bench scale -- sqlite --part crowd --minutes 10
//! cargo bench -p tests --bench scale -- --part builds --before OTHER/target/release --small 20000,40000
//! ```
//!
//! The parts are `reads`, `writes`, `keys`, `stock`, `imports`, `changes`, `crowd`, `against`, `boundary`, `persons`,
//! `starts` and `webhooks`, and, if `--before FOLDER` has the program and the library of another build, `builds`. Stores
//! are created once and kept in `target/bench` and in databases whose names begin with `shop_bench`;
//! `--fresh` creates them again. The order of the alternatives changes with each round, so that other
//! load on the machine affects both alike, and the median of each number is printed.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_arithmetic,
    reason = "a benchmark may stop at the first error"
)]

mod against;
mod bare;
mod boundary;
mod building;
mod builds;
mod cases;
mod changes;
mod crowd;
mod imports;
mod inbox;
mod load;
mod machine;
#[path = "../../permissive.rs"]
mod permissive;
mod persons;
mod race;
mod reads;
mod starts;
mod stock;
mod stores;
mod webhooks;
mod writes;

use std::io::Write;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;

use self::stores::{Engine, Size, Store};

/// A store with only its initial data.
const EMPTY: Size = Size { products: 0, orders: 0 };

/// What is measured.
struct Settings {
    engines: Vec<Engine>,
    parts: Vec<Part>,
    small: Size,
    large: Size,
    rounds: usize,
    /// The duration of the crowd.
    crowded: Duration,
    /// How many lines a file has that is imported.
    lines: usize,
    /// How many of them a second are enough, if not the number for the engine: a cluster has one of its own.
    least: Option<f64>,
    fresh: bool,
    /// The folder of another build, to compare this one with.
    before: PathBuf,
    /// Only cases whose names contain this text.
    only: String,
}

/// A table of results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Reads,
    Writes,
    Keys,
    Stock,
    Imports,
    Changes,
    Crowd,
    Against,
    Boundary,
    Starts,
    Persons,
    Webhooks,
    Builds,
}

impl Part {
    /// Those that need nothing else.
    const ALL: [Part; 12] = [
        Part::Reads,
        Part::Writes,
        Part::Keys,
        Part::Stock,
        Part::Imports,
        Part::Changes,
        Part::Crowd,
        Part::Against,
        Part::Boundary,
        Part::Starts,
        Part::Persons,
        Part::Webhooks,
    ];
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "reads" => Ok(Part::Reads),
            "writes" => Ok(Part::Writes),
            "keys" => Ok(Part::Keys),
            "stock" => Ok(Part::Stock),
            "imports" => Ok(Part::Imports),
            "changes" => Ok(Part::Changes),
            "crowd" => Ok(Part::Crowd),
            "against" => Ok(Part::Against),
            "boundary" => Ok(Part::Boundary),
            "starts" => Ok(Part::Starts),
            "persons" => Ok(Part::Persons),
            "webhooks" => Ok(Part::Webhooks),
            "builds" => Ok(Part::Builds),
            _ => Err(format!("{text:?} is none of the parts")),
        }
    }
}

impl Settings {
    fn of_the_command_line() -> Settings {
        let mut settings = Settings {
            engines: Vec::new(),
            parts: Vec::new(),
            small: Size { products: 10_000, orders: 20_000 },
            large: Size { products: 1_000_000, orders: 2_000_000 },
            rounds: 5,
            crowded: Duration::from_secs(30),
            lines: 100_000,
            least: None,
            fresh: false,
            before: PathBuf::new(),
            only: String::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} of what?"));
            match argument.as_str() {
                "--part" => settings.parts.push(value().parse().unwrap()),
                "--small" => settings.small = value().parse().unwrap(),
                "--large" => settings.large = value().parse().unwrap(),
                "--rounds" => settings.rounds = value().parse().unwrap(),
                "--minutes" => {
                    settings.crowded = Duration::from_secs(60 * value().parse::<u64>().unwrap());
                }
                "--lines" => settings.lines = value().parse().unwrap(),
                "--least" => settings.least = Some(value().parse().unwrap()),
                "--before" => settings.before = value().into(),
                "--only" => settings.only = value(),
                "--fresh" => settings.fresh = true,
                // The argument that cargo passes to every benchmark.
                "--bench" => {}
                name => settings.engines.push(name.parse().unwrap()),
            }
        }
        if settings.engines.is_empty() {
            settings.engines = Engine::ALL.into_iter().filter(Engine::answers).collect();
        }
        if settings.parts.is_empty() {
            settings.parts = Part::ALL.to_vec();
        }
        settings
    }

    fn has(&self, part: Part) -> bool {
        self.parts.contains(&part)
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--serve") {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(serve(&arguments[at + 1], &arguments[at + 2]));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = Settings::of_the_command_line();
    println!("{}\n", machine::describe());
    if settings.has(Part::Boundary) {
        runtime.block_on(boundary::measure(settings.rounds));
    }
    // The program and the library.
    building::build(&[]);
    for engine in &settings.engines {
        if settings.fresh {
            for size in [EMPTY, settings.small, settings.large] {
                Store::forget(*engine, size);
            }
        }
        let prepare = |size| Store::prepare(*engine, size);
        println!("## {} {}\n", engine.name(), runtime.block_on(machine::version(*engine)));
        if settings.has(Part::Reads) {
            let tables = prepare(settings.large).tables;
            let count = runtime.block_on(machine::count(*engine, &tables));
            println!("`SELECT count(*) FROM shop_products` alone takes {count:.1} ms here\n");
            let stores = [settings.small, settings.large].map(prepare);
            runtime.block_on(reads::measure(&settings, *engine, &stores));
        }
        if settings.has(Part::Starts) {
            runtime.block_on(starts::measure(&settings, *engine, &prepare(settings.large)));
        }
        if settings.has(Part::Persons) {
            runtime.block_on(persons::measure(&settings, *engine, &prepare(settings.large)));
        }
        if settings.has(Part::Builds) {
            let stores = builds::prepare(&settings, *engine, &settings.before);
            runtime.block_on(builds::measure(&settings, &stores));
        }
        if settings.has(Part::Writes) {
            let stores = [EMPTY, settings.large].map(prepare);
            runtime.block_on(writes::measure(&settings, *engine, &stores));
        }
        if settings.has(Part::Keys) {
            let store = prepare(settings.large);
            runtime.block_on(writes::measure_keys(&settings, *engine, &store));
        }
        if settings.has(Part::Stock) {
            runtime.block_on(stock::measure(&settings, *engine, &prepare(settings.large)));
        }
        if settings.has(Part::Imports) {
            Store::forget(*engine, EMPTY);
            runtime.block_on(imports::measure(&settings, *engine, &prepare(EMPTY)));
            Store::forget(*engine, EMPTY);
        }
        if settings.has(Part::Changes) {
            runtime.block_on(changes::measure(&settings, *engine, &prepare(settings.large)));
        }
        if settings.has(Part::Webhooks) {
            let stores = webhooks::STORES.map(|name| Store::fresh(*engine, name));
            runtime.block_on(webhooks::measure(&settings, &stores));
        }
        if settings.has(Part::Crowd) {
            runtime.block_on(crowd::measure(&settings, *engine, &prepare(settings.large)));
        }
        if settings.has(Part::Against) {
            let store = prepare(settings.large);
            runtime.block_on(against::measure(settings.rounds, *engine, &store));
        }
    }
}

/// Serves a variant, for another process of this program that measures it.
async fn serve(variant: &str, of: &str) {
    let router = match variant {
        "bare" => bare::router(of).await,
        _ => boundary::router(variant, of).await,
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    std::io::stdout().flush().unwrap();
    let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, router).await.unwrap();
}

/// The text beside a bar.
fn verdict(met: bool) -> &'static str {
    if met { "" } else { " **missed**" }
}
