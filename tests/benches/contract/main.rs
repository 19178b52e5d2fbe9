//! What the contract itself costs: time and allocations of a request, bodies in pieces, and the opening of
//! a library. It loads small libraries that do nearly nothing, one compiled with today's contract and one
//! with version 1.0, and calls both alternately. There is no network, no database and no runtime.
//!
//! ```sh
//! cargo bench -p tests --bench contract
//! cargo bench -p tests --bench contract -- --rounds 200
//! cargo bench -p tests --bench contract -- --repeat get 100000    # this call only, for callgrind
//! ```
#![allow(
    clippy::duplicate_mod,
    reason = "the same calls, compiled with two versions of the contract"
)]
#![allow(
    missing_docs,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::float_arithmetic,
    reason = "a benchmark may stop at the first error"
)]

#[path = "../scale/building.rs"]
mod building;
#[path = "../../fixtures/counting.rs"]
mod counting;
mod frozen;
mod today;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATIONS: counting::Counting = counting::Counting::new();

/// The size of a piece of a body, which both sides know.
const PIECE: usize = 64 * 1024;

/// How many requests are timed at a time: some milliseconds, so that an interruption spoils one sample.
const BATCH: u32 = 10_000;
/// How many pieces a stream has that is timed.
const PIECES: usize = 1024;
/// How many processes open a library.
const OPENED: usize = 20;
/// The limit of opening a library.
const OPENING: Duration = Duration::from_millis(2);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str, nth: usize| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + nth).cloned()
    };
    if let Some(opener) = value("--open", 1) {
        return open(&opener, Path::new(&value("--open", 2).unwrap()));
    }
    building::build(&["-p", "tests", "--example", "measured", "--example", "measured_1_0"]);
    let today = today::Calls::open(&fixture("measured"));
    if let Some(call) = value("--repeat", 1) {
        return repeat(&today, &call, value("--repeat", 2).unwrap().parse().unwrap());
    }
    let rounds = value("--rounds", 1).map_or(50, |rounds| rounds.parse().unwrap());
    let frozen = frozen::Calls::open(&fixture("measured_1_0"));
    requests(&frozen, &today, rounds);
    streams(&today, rounds);
    opening();
}

/// What is measured, many times.
type Repeated<'a> = &'a dyn Fn();

/// Requests of both versions, alternately.
fn requests(frozen: &frozen::Calls, today: &today::Calls, rounds: usize) {
    println!("Median of {rounds} rounds of {BATCH} requests. Allocations of host + library.\n");
    println!("| request | ns, 1.0 | ns, today | ratio | allocations, 1.0 | allocations, today |");
    println!("|---|---|---|---|---|---|");
    let rows: [(&str, Repeated<'_>, Repeated<'_>); 2] = [
        ("GET", &|| used(frozen.get()), &|| used(today.get())),
        ("POST, 1 kB", &|| used(frozen.post()), &|| used(today.post())),
    ];
    for (name, before, now) in rows {
        let allocated = [
            allocations(before, &|| frozen.allocations()),
            allocations(now, &|| today.allocations()),
        ];
        let [before, now, ratio] = alternately([before, now], rounds, BATCH);
        println!(
            "| {name} | {before:.0} | {now:.0} | {ratio:.2} | {} | {} |",
            allocated[0], allocated[1]
        );
    }
    println!();
}

/// Pieces that cross, against the same pieces within the host.
fn streams(today: &today::Calls, rounds: usize) {
    let sum = today.linked(PIECES);
    let check = |crossed: u64| assert_eq!(black_box(crossed), sum, "pieces were lost");
    println!(
        "Median of {rounds} rounds of {PIECES} pieces of {} KiB, each written once and read once.\n",
        PIECE / 1024
    );
    println!("| direction | GB/s, within the host | GB/s, across | us for a piece | ratio |");
    println!("|---|---|---|---|---|");
    let within: &dyn Fn() = &|| check(today.linked(PIECES));
    let rows: [(&str, &dyn Fn()); 2] = [
        ("library to host", &|| check(today.download(PIECES))),
        ("host to library", &|| check(today.upload(PIECES))),
    ];
    for (name, across) in rows {
        let [within, across, ratio] = alternately([within, across], rounds, 1);
        let speed = |time: f64| (PIECES * PIECE) as f64 / time;
        println!(
            "| {name} | {:.2} | {:.2} | {:.1} | {:.2} |",
            speed(within),
            speed(across),
            across / 1000.0 / PIECES as f64,
            1.0 / ratio
        );
    }
    println!();
}

/// The time in which a new process opens a library: by the contract alone, and as the service for hosts
/// does it, which checks the headers of the file first.
fn opening() {
    println!("Median of {OPENED} processes, and the longest; at most {OPENING:?}.\n");
    println!("| library | MB | the contract's `open` | the service's `open` |");
    println!("|---|---|---|---|");
    let store = std::env::current_exe().unwrap().with_file_name(library_name("plugin"));
    for (name, library) in [("measured", fixture("measured")), ("the store", store)] {
        let size = std::fs::metadata(&library).unwrap().len() as f64 / 1e6;
        let [contract, service] = ["contract", "service"].map(|opener| opened(opener, &library));
        println!("| {name} | {size:.1} | {contract} | {service} |");
    }
}

/// The times in which new processes open a library.
fn opened(opener: &str, library: &Path) -> String {
    let time = || {
        let mut this = Command::new(std::env::current_exe().unwrap());
        let told = this.args(["--open", opener]).arg(library).output().unwrap();
        assert!(told.status.success(), "{told:?}");
        String::from_utf8(told.stdout).unwrap().trim().parse::<f64>().unwrap() / 1e6
    };
    let times: Vec<f64> = (0..OPENED).map(|_| time()).collect();
    let longest = times.iter().copied().fold(0.0, f64::max);
    let median = median(times);
    let verdict = if median <= OPENING.as_secs_f64() * 1e3 { "" } else { " **missed**" };
    format!("{median:.2}, {longest:.2} ms{verdict}")
}

/// Opens a library, and prints the nanoseconds that this took.
fn open(opener: &str, library: &Path) {
    let begun = Instant::now();
    let library = match opener {
        "service" => host_service::open(library),
        _ => host_interface::open(library),
    };
    let taken = begun.elapsed();
    assert_eq!(library.unwrap().contract_version(), host_interface::CONTRACT_VERSION);
    println!("{}", taken.as_nanos());
}

/// Makes one call again and again, for a tool that counts instructions.
fn repeat(calls: &today::Calls, call: &str, times: usize) {
    match call {
        "get" => (0..times).for_each(|_| used(calls.get())),
        "post" => (0..times).for_each(|_| used(calls.post())),
        "linked" => used(calls.linked(times)),
        "download" => used(calls.download(times)),
        "upload" => used(calls.upload(times)),
        _ => panic!("{call} is none of get, post, linked, download and upload"),
    }
}

/// The allocations of one call in the host and in the library. The first call is left out, because it
/// allocates what each thread keeps.
fn allocations(call: &dyn Fn(), library: &dyn Fn() -> u64) -> String {
    call();
    library();
    // To ask the library allocates there, too.
    let before = library();
    let asking = library() - before;
    let (host, before) = (ALLOCATIONS.count(), library());
    let asked = ALLOCATIONS.count() - host;
    call();
    let host = ALLOCATIONS.count() - host - asked;
    format!("{host} + {}", library() - before - asking)
}

/// The medians of the nanoseconds that each of two calls takes, and of their ratio in each round.
fn alternately(calls: [&dyn Fn(); 2], rounds: usize, batch: u32) -> [f64; 3] {
    let time = |call: &dyn Fn()| {
        let begun = Instant::now();
        (0..batch).for_each(|_| call());
        begun.elapsed().as_secs_f64() * 1e9 / f64::from(batch)
    };
    for call in calls {
        time(call);
    }
    let mut samples = [Vec::new(), Vec::new(), Vec::new()];
    for round in 0..rounds {
        let mut times = [0.0; 2];
        // The order changes with each round, so that neither is always first.
        for which in [round % 2, (round + 1) % 2] {
            times[which] = time(calls[which]);
        }
        let [first, second] = times;
        for (samples, sample) in samples.iter_mut().zip([first, second, second / first]) {
            samples.push(sample);
        }
    }
    samples.map(median)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn used<T>(value: T) {
    black_box(value);
}

/// The result of a future that waits for nothing.
fn finish<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => done,
        Poll::Pending => panic!("a call waits"),
    }
}

/// A library of `tests/fixtures`.
fn fixture(name: &str) -> PathBuf {
    building::target().join("release").join("examples").join(library_name(name))
}

fn library_name(name: &str) -> String {
    format!("{}{name}{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX)
}
