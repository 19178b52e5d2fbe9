//! Many simultaneous clients that read everything and sometimes write: no request may be refused or
//! starved, and memory must stay bounded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use fastrand::Rng;

use super::cases;
use super::load::{Answer, Ask, percentile};
use super::stores::{Engine, Host, Store};
use super::writes::{Write, Writer, Written};
use super::{Settings, verdict};

const CLIENTS: usize = 256;
/// One in this many requests is a write.
const WRITES: usize = 20;
/// The 99th percentile of reads may be at most this many times the median.
const SPREAD: f64 = 20.0;
/// How long a write may take, in milliseconds.
const LONGEST_WRITE: f64 = 1_000.0;
/// The limit of the host's memory, in megabytes.
const IDLE: u64 = 60;
const BUSY: u64 = 250;
/// The limit of the growth of its memory between the second minute and the end, in megabytes.
const GROWTH: u64 = 10;
/// How often its memory is sampled.
const LOOK: Duration = Duration::from_secs(1);

/// The observations of a client.
#[derive(Default)]
struct Seen {
    reads: Vec<f64>,
    writes: Vec<f64>,
    /// The first refusal, and the number of refusals.
    refused: Option<String>,
    refusals: usize,
}

impl Seen {
    /// Records a request and its refusal.
    fn look_at(&mut self, asked: &str, answer: &Answer) {
        if !answer.status.is_success() {
            self.refusals += 1;
            let text = String::from_utf8_lossy(&answer.body);
            self.refused.get_or_insert_with(|| format!("{asked}: {} {text}", answer.status));
        }
    }
}

/// Runs all clients on the large store. The bars apply to SQLite.
pub async fn measure(settings: &Settings, engine: Engine, store: &Store) {
    let host = store.serve();
    let idle = host.memory();
    let written = Written::default();
    drop(Writer::open(&host, store.size, written.clone()).await);
    let reads = cases::reads().into_iter().map(|case| Ask::get(case.path(store.size)));
    let reads: Arc<[Ask]> = reads.collect();

    let (begun, cpu) = (Instant::now(), host.cpu());
    let mut tasks = Vec::new();
    for number in 0..CLIENTS {
        let client = Writer::beside(&host, store.size, written.clone()).await;
        let visit = visit(number, client, Arc::clone(&reads), begun, settings.crowded);
        tasks.push(tokio::spawn(visit));
    }
    let memory = watch(&host, begun, settings.crowded).await;
    let mut all = Seen::default();
    for task in tasks {
        let seen = task.await.unwrap();
        all.reads.extend(seen.reads);
        all.writes.extend(seen.writes);
        all.refused = all.refused.or(seen.refused);
        all.refusals += seen.refusals;
    }
    let took = begun.elapsed().as_secs_f64();
    let cpu = host.cpu() - cpu;
    Writer::beside(&host, store.size, written).await.clean().await;

    let count = all.reads.len() + all.writes.len();
    println!("### The crowd\n");
    println!(
        "{CLIENTS} clients for {took:.0} s, every {WRITES}th request a write: {count} requests, {:.0} \
         a second, {:.2} ms CPU each\n",
        count as f64 / took,
        cpu / count as f64 * 1e3,
    );
    println!("| what | measured | bar |");
    println!("|---|---|---|");
    let row = |what: &str, measured: String, bar: String, met: bool| {
        let bar = match engine {
            Engine::Sqlite => format!("{bar}{}", verdict(met)),
            _ => "none".to_owned(),
        };
        println!("| {what} | {measured} | {bar} |");
    };
    row("refused", all.refusals.to_string(), "0".to_owned(), all.refusals == 0);
    let [p50, p90, p99] = [50, 90, 99].map(|share| percentile(&mut all.reads, share));
    let reads = format!("p50 {p50:.1} ms, p90 {p90:.1} ms, p99 {p99:.1} ms");
    row("reads", reads, format!("p99 within {SPREAD} × p50"), p99 < SPREAD * p50);
    let [p50, p99, most] = [50, 99, 100].map(|share| percentile(&mut all.writes, share));
    let writes = format!("p50 {p50:.1} ms, p99 {p99:.1} ms, longest {most:.1} ms");
    row("writes", writes, format!("longest {LONGEST_WRITE} ms"), most < LONGEST_WRITE);
    row("memory, idle", format!("{idle} MB"), format!("{IDLE} MB"), idle < IDLE);
    let busy = memory.iter().copied().max().unwrap_or_default();
    row("memory, at most", format!("{busy} MB"), format!("{BUSY} MB"), busy < BUSY);
    let minutes: Vec<u64> =
        memory.chunks(60).map(|minute| minute.iter().copied().max().unwrap_or(0)).collect();
    if let [_, second, .., last] = minutes[..] {
        let grown = last <= second + GROWTH;
        row(
            "memory, by minute",
            format!("{minutes:?} MB"),
            format!("flat within {GROWTH} MB"),
            grown,
        );
    }
    row(
        "memory, afterwards",
        format!("{} MB", host.memory()),
        format!("{BUSY} MB"),
        host.memory() < BUSY,
    );
    if let Some(refused) = all.refused {
        println!("\nRefused first: {refused}");
    }
    println!();
}

/// Runs one client until the time is over.
async fn visit(
    number: usize,
    mut client: Writer,
    reads: Arc<[Ask]>,
    begun: Instant,
    time: Duration,
) -> Seen {
    let mut chance = Rng::with_seed(number as u64);
    let mut seen = Seen::default();
    while begun.elapsed() < time {
        if chance.usize(..WRITES) == 0 {
            let write = Write::ALL[chance.usize(..Write::ALL.len())];
            let answer = client.try_to(write).await;
            seen.writes.push(answer.took);
            seen.look_at(&format!("{write:?}"), &answer);
        } else {
            let ask = &reads[chance.usize(..reads.len())];
            let answer = client.client.try_to(ask).await;
            seen.reads.push(answer.took);
            seen.look_at(&ask.path, &answer);
        }
    }
    seen
}

/// Samples of the host's memory.
async fn watch(host: &Host, begun: Instant, time: Duration) -> Vec<u64> {
    let mut memory = Vec::new();
    while begun.elapsed() < time {
        tokio::time::sleep(LOOK).await;
        memory.push(host.memory());
    }
    memory
}
