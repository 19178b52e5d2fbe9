//! Reads and writes of this build against those of an earlier one, each with a store that it has filled itself.
//! What the earlier one cannot answer is left out.

use std::path::Path;

use crate::machine::median;

use super::Settings;
use super::cases;
use super::load::{Ask, Client};
use super::stores::{Engine, Store};
use super::writes::{Write, Writer, Written};

/// A read of this build may take this much of the time that it took before.
const READ: f64 = 0.95;
/// How often each write is done in a turn.
const WRITES: usize = 20;

/// Measures a single client of either build, alternately.
pub async fn measure(settings: &Settings, [before, now]: &[Store; 2]) {
    println!("### Two builds\n");
    println!(
        "p50 with one client, ms, {}; ratios are medians of {} rounds, and above 1 where this build is \
         faster\n",
        now.size, settings.rounds
    );
    println!("| what | before | now | ratio | CPU, ratio | bar |");
    println!("|---|---|---|---|---|---|");
    let hosts = [before.serve(), now.serve()];
    let mut clients =
        [Client::of(hosts[0].door.clone()).await, Client::of(hosts[1].door.clone()).await];
    let (reads, mut ratios, mut missed) = (cases::reads(), Vec::new(), Vec::new());
    for case in reads.iter().filter(|case| case.name.contains(&settings.only)) {
        let path = case.path(now.size);
        if !clients[0].try_to(&Ask::get(&path)).await.status.is_success() {
            continue;
        }
        let mut taken = Taken::default();
        for round in 0..=settings.rounds {
            for which in [round % 2, (round + 1) % 2] {
                let load = clients[which].round(&path, || hosts[which].cpu()).await;
                // The first round warms up.
                if round > 0 {
                    taken.add(which, load.p50, load.cpu);
                }
            }
        }
        let ratio = taken.print(&case.name, Some(READ));
        ratios.push(ratio);
        if ratio < READ {
            missed.push(&case.name);
        }
    }
    let written = || Written::default();
    let mut writers = [
        Writer::open(&hosts[0], before.size, written()).await,
        Writer::open(&hosts[1], now.size, written()).await,
    ];
    for write in Write::ALL {
        let mut taken = Taken::default();
        for round in 0..=2 * settings.rounds {
            for which in [round % 2, (round + 1) % 2] {
                let used = hosts[which].cpu();
                let mut times = Vec::new();
                for _ in 0..WRITES {
                    times.push(writers[which].write(write).await.took);
                }
                if round > 0 {
                    let cpu = (hosts[which].cpu() - used) / WRITES as f64 * 1e3;
                    taken.add(which, median(times), cpu);
                }
            }
        }
        taken.print(write.name(), None);
    }
    for writer in writers {
        writer.clean().await;
    }
    println!(
        "\n{} reads, the median of their ratios {:.2}; below {READ}: {missed:?}\n",
        ratios.len(),
        median(ratios),
    );
}

/// The stores of both builds; that of the earlier one is filled by its programs in `folder`.
pub fn prepare(settings: &Settings, engine: Engine, folder: &Path) -> [Store; 2] {
    [Store::prepare_before(engine, settings.small, folder), Store::prepare(engine, settings.small)]
}

/// Times and processor times of both builds, by round.
#[derive(Default)]
struct Taken {
    times: [Vec<f64>; 2],
    cpu: [Vec<f64>; 2],
}

impl Taken {
    fn add(&mut self, which: usize, time: f64, cpu: f64) {
        self.times[which].push(time);
        self.cpu[which].push(cpu);
    }

    /// Prints a row and returns the ratio.
    fn print(self, name: &str, bar: Option<f64>) -> f64 {
        let of_rounds = |[before, now]: &[Vec<f64>; 2]| {
            median(before.iter().zip(now).map(|(before, now)| before / now))
        };
        let (ratio, cpu) = (of_rounds(&self.times), of_rounds(&self.cpu));
        let [before, now] = self.times.map(median);
        let bar = match bar {
            Some(bar) => format!("{bar}{}", super::verdict(ratio >= bar)),
            None => "none".to_owned(),
        };
        println!("| {name} | {before:.2} | {now:.2} | {ratio:.2} | {cpu:.2} | {bar} |");
        ratio
    }
}
