//! Reads and writes of this build against those of an earlier one, each with a store that it has filled itself.
//! What the earlier one cannot answer is left out.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::machine::median;

use super::Settings;
use super::building::target;
use super::cases::{self, Case};
use super::load::{Ask, Client, rate};
use super::stores::{Engine, Host, Store};
use super::writes::{Write, Writer, Written};

/// A read of this build may take this much of the time that it took before, for what it showed before.
const READ: f64 = 0.95;
/// A read below its bar is measured again in so many times as many rounds, because single ratios vary by a tenth.
const AGAIN: usize = 5;
/// The load of reads: a single client's times depend on which processors the two sides happen to have.
const CONNECTIONS: usize = 4;
const TIME: Duration = Duration::from_millis(400);
/// How often each write is done in a turn.
const WRITES: usize = 20;

/// Measures a single client of either build, alternately.
pub async fn measure(settings: &Settings, [before, now]: &[Store; 2]) {
    println!("### Two builds\n");
    println!(
        "{}; reads by {CONNECTIONS} clients, answers a second; writes by one, ms; ratios are medians of {} \
         rounds, of {AGAIN} times as many where that is below the bar, and above 1 where this build is faster\n",
        now.size, settings.rounds
    );
    println!("| what | before | now | ratio | bar |");
    println!("|---|---|---|---|---|");
    let [of_before, of_now] = [before.serve(), now.serve()];
    let hosts = [&of_before, &of_now];
    let (reads, mut ratios, mut missed) = (cases::reads(), Vec::new(), Vec::new());
    for case in reads.iter().filter(|case| is_chosen(case, settings)) {
        let path = case.path(now.size);
        let Some(answer) = both_answer(&hosts, &path).await else { continue };
        let mut name = case.name.clone();
        let (mut taken, mut ratio) = read(&hosts, [&path, &path], settings.rounds).await;
        let as_before = as_before(&path, &answer).filter(|_| is_below(ratio));
        if let Some(as_before) = as_before
            && both_answer(&[hosts[1]; 2], &as_before).await.is_some()
        {
            let alike = read(&hosts, [&path, &as_before], settings.rounds).await;
            // To name what is shown costs something, too.
            if alike.1 > ratio {
                print(&name, taken, 0, ratio, None);
                name += ", what it showed before";
                (taken, ratio) = alike;
            }
        }
        print(&name, taken, 0, ratio, Some(READ));
        ratios.push(ratio);
        if is_below(ratio) {
            missed.push(name);
        }
    }
    let written = || Written::default();
    let mut writers = [
        Writer::open(hosts[0], before.size, written()).await,
        Writer::open(hosts[1], now.size, written()).await,
    ];
    for write in Write::ALL {
        let mut taken = [Vec::new(), Vec::new()];
        for round in 0..=2 * settings.rounds {
            for which in [round % 2, (round + 1) % 2] {
                let mut times = Vec::new();
                for _ in 0..WRITES {
                    times.push(writers[which].write(write).await.took);
                }
                if round > 0 {
                    taken[which].push(median(times));
                }
            }
        }
        let ratio = median(taken[0].iter().zip(&taken[1]).map(|(before, now)| before / now));
        print(write.name(), taken, 2, ratio, None);
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
    let this = target().join("release");
    [("before", folder), ("now", &this)]
        .map(|(build, programs)| Store::prepare_of(engine, settings.small, build, programs))
}

/// Whether a read is measured: those that are named, or else all but most of the orders of lists.
fn is_chosen(case: &Case, settings: &Settings) -> bool {
    let named = !settings.only.is_empty();
    let ordered = case.name.contains("?list[ordering]=") && !case.name.contains("_on");
    case.name.contains(&settings.only) && (named || !ordered)
}

/// The answer of the earlier build to a request, if both builds answer it with the same members and as many records:
/// an earlier one may not know a parameter, and its store may have less below a record.
async fn both_answer(hosts: &[&Host; 2], path: &str) -> Option<Value> {
    let mut answers = Vec::new();
    for host in hosts {
        let mut client = Client::of(host.door.clone()).await;
        let answer = client.try_to(&Ask::get(path)).await;
        if !answer.status.is_success() {
            return None;
        }
        answers.push(serde_json::from_slice::<Value>(&answer.body).unwrap());
    }
    let members = |answer: &Value| {
        let records = answer["data"].as_array().map(Vec::len);
        (answer.get("included").is_some(), records)
    };
    let alike = members(&answers[0]) == members(&answers[1]);
    alike.then(|| answers.swap_remove(0))
}

/// The request for what an earlier build has shown of each record: a record of this one may have more members.
fn as_before(path: &str, answer: &Value) -> Option<String> {
    let record = answer["data"].as_array().map_or(Some(&answer["data"]), |all| all.first())?;
    let parts = ["attributes", "relationships"].into_iter();
    let members = parts.filter_map(|part| record[part].as_object()).flat_map(|part| part.keys());
    let members: Vec<&str> = members.map(String::as_str).collect();
    let joint = if path.contains('?') { '&' } else { '?' };
    Some(format!("{path}{joint}fields[{}]={}", record["type"].as_str()?, members.join(",")))
}

/// Answers a second by either build to its request, and the median of their ratios, which is measured for longer where
/// it is below the bar.
async fn read(hosts: &[&Host; 2], paths: [&str; 2], rounds: usize) -> ([Vec<f64>; 2], f64) {
    let mut taken = rates(hosts, paths, rounds).await;
    if is_below(median(read_ratios(&taken))) {
        taken = rates(hosts, paths, AGAIN * rounds).await;
    }
    let ratio = median(read_ratios(&taken));
    (taken, ratio)
}

/// Answers a second by either build in each of these rounds, alternately.
async fn rates(hosts: &[&Host; 2], paths: [&str; 2], rounds: usize) -> [Vec<f64>; 2] {
    let mut taken = [Vec::new(), Vec::new()];
    for round in 0..=rounds {
        for which in [round % 2, (round + 1) % 2] {
            let ask = Ask::get(paths[which]);
            let rate = rate(&hosts[which].door, &ask, CONNECTIONS, TIME).await;
            // The first round warms up.
            if round > 0 {
                taken[which].push(rate);
            }
        }
    }
    taken
}

/// Whether a ratio is below the bar, as it is printed.
fn is_below(ratio: f64) -> bool {
    (ratio * 100.0).round() < READ * 100.0
}

fn read_ratios([before, now]: &[Vec<f64>; 2]) -> impl Iterator<Item = f64> {
    before.iter().zip(now).map(|(before, now)| now / before)
}

fn print(name: &str, taken: [Vec<f64>; 2], places: usize, ratio: f64, bar: Option<f64>) {
    let [before, now] = taken.map(median);
    let bar = match bar {
        Some(bar) => format!("{bar}{}", super::verdict(!is_below(ratio))),
        None => "none".to_owned(),
    };
    println!("| {name} | {before:.places$} | {now:.places$} | {ratio:.2} | {bar} |");
}
