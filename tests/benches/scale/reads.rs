//! Every list, record and report, in a large store against a small one.

use crate::machine::median;

use super::cases;
use super::load::{Client, Load};
use super::stores::{Engine, Store};
use super::{Settings, verdict};

/// Sends each request in turn, with a single client.
pub async fn measure(settings: &Settings, engine: Engine, stores: &[Store; 2]) {
    let hosts = stores.each_ref().map(Store::serve);
    println!("### Reads\n");
    println!("p50 at one client, ms; median of {} rounds\n", settings.rounds);
    println!("| what | {} | {} | ratio | bar | CPU |", settings.small, settings.large);
    println!("|---|---|---|---|---|---|");
    let mut clients =
        [Client::of(hosts[0].door.clone()).await, Client::of(hosts[1].door.clone()).await];
    let (mut missed, mut count, mut plain) = (Vec::new(), 0, None);
    for case in cases::reads().iter().filter(|case| case.name.contains(&settings.only)) {
        let mut taken: [Vec<Load>; 2] = [Vec::new(), Vec::new()];
        for round in 0..=settings.rounds {
            for turn in 0..2 {
                let which = (round + turn) % 2;
                let path = case.path(stores[which].size);
                let load = clients[which].round(&path, || hosts[which].cpu()).await;
                // The first round warms up.
                if round > 0 {
                    taken[which].push(load);
                }
            }
        }
        let [small, large] =
            taken.each_ref().map(|loads| median(loads.iter().map(|load| load.p50)));
        let cpu = median(taken[1].iter().map(|load| load.cpu));
        if case.name == cases::PLAIN {
            plain = Some(large);
        }
        let met = case.bar.is_met(engine, small, large, plain);
        println!(
            "| {} | {small:.2} | {large:.2} | {:.2} | {}{} | {cpu:.2} |",
            case.name,
            large / small,
            case.bar.text(engine),
            verdict(met),
        );
        count += 1;
        if !met {
            missed.push(case.name.clone());
        }
    }
    println!("\n{} of {count} within their bars. Missed: {missed:?}\n", count - missed.len());
}
