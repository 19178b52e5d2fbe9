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

/// A read of this build may take this much of the time that it took before.
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
    let hosts = [before.serve(), now.serve()];
    let (reads, mut ratios, mut missed) = (cases::reads(), Vec::new(), Vec::new());
    for case in reads.iter().filter(|case| is_chosen(case, settings)) {
        let path = case.path(now.size);
        let Some(answer) = both_answer(&hosts, &path).await else { continue };
        let mut taken = rates(&hosts, [&path; 2], settings.rounds).await;
        if median(read_ratios(&taken)) < READ {
            taken = rates(&hosts, [&path; 2], AGAIN * settings.rounds).await;
        }
        let ratio = median(read_ratios(&taken));
        print(&case.name, taken, 0, ratio, Some(READ));
        ratios.push(ratio);
        if ratio < READ {
            missed.push(&case.name);
            // How much of it is the price of what is shown since.
            if let Some(narrow) = as_before(&path, &answer)
                && body(&hosts[1], &narrow).await.is_some()
            {
                let taken = rates(&hosts, [&path, &narrow], AGAIN * settings.rounds).await;
                let ratio = median(read_ratios(&taken));
                print(&format!("{}, what it showed before", case.name), taken, 0, ratio, None);
            }
        }
    }
    let written = || Written::default();
    let mut writers = [
        Writer::open(&hosts[0], before.size, written()).await,
        Writer::open(&hosts[1], now.size, written()).await,
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
async fn both_answer([before, now]: &[Host; 2], path: &str) -> Option<Value> {
    let (before, now) = (body(before, path).await?, body(now, path).await?);
    let members = |body: &Value| {
        let records = body["data"].as_array().map(Vec::len);
        (body.get("included").is_some(), records)
    };
    (members(&before) == members(&now)).then_some(before)
}

/// The answer to a request, if it succeeds.
async fn body(host: &Host, path: &str) -> Option<Value> {
    let answer = Client::of(host.door.clone()).await.try_to(&Ask::get(path)).await;
    answer.status.is_success().then(|| serde_json::from_slice(&answer.body).unwrap())
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

/// Answers a second by either build to its request in each of these rounds, alternately.
async fn rates(hosts: &[Host; 2], paths: [&str; 2], rounds: usize) -> [Vec<f64>; 2] {
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

fn read_ratios([before, now]: &[Vec<f64>; 2]) -> impl Iterator<Item = f64> {
    before.iter().zip(now).map(|(before, now)| now / before)
}

fn print(name: &str, taken: [Vec<f64>; 2], places: usize, ratio: f64, bar: Option<f64>) {
    let [before, now] = taken.map(median);
    let bar = match bar {
        Some(bar) => format!("{bar}{}", super::verdict(ratio >= bar)),
        None => "none".to_owned(),
    };
    println!("| {name} | {before:.places$} | {now:.places$} | {ratio:.2} | {bar} |");
}
