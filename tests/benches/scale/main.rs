//! What a request costs in a large store, held against the same request in a small one: makes the
//! stores, starts the real program with the real library, and asks it over loopback.
//!
//! ```sh
//! cargo bench -p tests --bench scale                      # on every engine that answers
//! cargo bench -p tests --bench scale -- sqlite --large 100000,200000 --rounds 3
//! ```
//!
//! Stores are made once and kept in `target/bench` and in databases whose names begin with
//! `shop_bench`; `--fresh` makes them again. The order of small and large changes with each round,
//! so that a noisy machine disturbs both alike, and of each number the median is printed.
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_arithmetic,
    reason = "a program to measure with: it may stop at the first surprise"
)]

mod cases;
mod load;
mod stores;

use tests::median;

use self::load::{Client, Load};
use self::stores::{Engine, Size, Store};

/// What is measured.
struct Settings {
    engines: Vec<Engine>,
    small: Size,
    large: Size,
    rounds: usize,
    fresh: bool,
    /// Only cases whose names have this in them.
    only: String,
}

impl Settings {
    fn of_the_command_line() -> Settings {
        let mut settings = Settings {
            engines: Vec::new(),
            small: Size { products: 10_000, orders: 20_000 },
            large: Size { products: 1_000_000, orders: 2_000_000 },
            rounds: 5,
            fresh: false,
            only: String::new(),
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{argument} of what?"));
            match argument.as_str() {
                "--small" => settings.small = value().parse().unwrap(),
                "--large" => settings.large = value().parse().unwrap(),
                "--rounds" => settings.rounds = value().parse().unwrap(),
                "--only" => settings.only = value(),
                "--fresh" => settings.fresh = true,
                // What cargo says to every benchmark.
                "--bench" => {}
                name => settings.engines.push(name.parse().unwrap()),
            }
        }
        if settings.engines.is_empty() {
            settings.engines = Engine::ALL.into_iter().filter(Engine::answers).collect();
        }
        settings
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = Settings::of_the_command_line();
    stores::build();
    for engine in &settings.engines {
        println!("\n## {}\n", engine.name());
        let stores: [Store; 2] = [settings.small, settings.large]
            .map(|size| Store::prepare(*engine, size, settings.fresh));
        runtime.block_on(reads(&settings, *engine, &stores));
    }
}

/// Every list and record, small against large.
async fn reads(settings: &Settings, engine: Engine, stores: &[Store; 2]) {
    let hosts = stores.each_ref().map(Store::serve);
    println!("p50 at one client, ms; median of {} rounds\n", settings.rounds);
    println!("| what | {} | {} | ratio | bar | CPU |", settings.small, settings.large);
    println!("|---|---|---|---|---|---|");
    let mut clients = [Client::of(&hosts[0]).await, Client::of(&hosts[1]).await];
    let (mut missed, mut count) = (Vec::new(), 0);
    for case in cases::reads().iter().filter(|case| case.name.contains(&settings.only)) {
        let mut taken: [Vec<Load>; 2] = [Vec::new(), Vec::new()];
        for round in 0..=settings.rounds {
            for turn in 0..2 {
                let which = (round + turn) % 2;
                let path = case.path(stores[which].size);
                let load = clients[which].round(&path).await;
                // The first round warms up.
                if round > 0 {
                    taken[which].push(load);
                }
            }
        }
        let [small, large] =
            taken.each_ref().map(|loads| median(loads.iter().map(|load| load.p50)));
        let cpu = median(taken[1].iter().map(|load| load.cpu));
        let met = case.bar.is_met(engine, small, large);
        println!(
            "| {} | {small:.2} | {large:.2} | {:.2} | {}{} | {cpu:.2} |",
            case.name,
            large / small,
            case.bar.text(engine),
            if met { "" } else { " **missed**" },
        );
        count += 1;
        if !met {
            missed.push(case.name.clone());
        }
    }
    println!("\n{} of {count} within their bars. Missed: {missed:?}", count - missed.len());
}
