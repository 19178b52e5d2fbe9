//! Imports and exports: new products as lines of one request, the same lines again, and all of them back, beside
//! single requests that make products. A client that changes one price after another measures what an import does
//! to others.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::load::{Ask, Client, percentile};
use super::stores::{Engine, Host, Store};
use super::writes::{Write, Writer, Written};
use super::{Settings, verdict};

/// The media type of lines of JSON.
const LINES: &str = "application/x-ndjson";
/// How many clients make products one by one, and for how long.
const CLIENTS: usize = 8;
const SINGLE: Duration = Duration::from_secs(5);
/// The pause between two single writes beside an import.
const PAUSE: Duration = Duration::from_millis(20);

/// How much faster lines that change nothing are.
const AGAIN: f64 = 3.0;
/// Exported records a second.
const EXPORTED: f64 = 50_000.0;
/// How much memory an import may take beyond that of the idle host, in megabytes.
const MEMORY: u64 = 64;
/// The limit of a single write beside it, in milliseconds.
const BESIDE: f64 = 250.0;

/// Measures an empty store, which it fills.
pub async fn measure(settings: &Settings, engine: Engine, store: &Store) {
    let least = settings.least.unwrap_or(match engine {
        Engine::Sqlite => 5_000.0,
        Engine::Postgres => 3_000.0,
        Engine::MariaDb => 2_000.0,
    });
    let host = store.serve();
    let written = Written::default();
    let mut writer = Writer::open(&host, store.size, written.clone()).await;
    let single = one_by_one(&host, store, &written).await;
    println!("### Imports and exports\n");
    println!(
        "{} products; {single:.0} products a second in single requests of {CLIENTS} clients\n",
        settings.lines
    );
    println!("| what | measured | bar |");
    println!("|---|---|---|");
    let row = |what: &str, measured: String, bar: String, met: bool| {
        println!("| {what} | {measured} | {bar}{} |", verdict(met));
    };
    let mut client = Client::of(host.door.clone()).await;
    let path = "/imports?type=products&key=sku&report=faults";
    let body = Some(products(settings.lines));
    let import = Ask { body, media: LINES, ..Ask::post(path, &Value::Null) };

    let idle = host.memory();
    let done = Arc::new(AtomicBool::new(false));
    writer.write(Write::Product).await;
    let beside = tokio::spawn(change_prices(Arc::clone(&done), writer));
    let (rate, busy) = timed(&mut client, &import, "created", settings.lines, &host).await;
    done.store(true, Ordering::Relaxed);
    let mut beside = beside.await.unwrap();
    row("new lines a second", format!("{rate:.0}"), format!("{least}"), rate >= least);
    let grown = busy.saturating_sub(idle);
    row(
        "memory beyond the idle host",
        format!("{grown} MB"),
        format!("{MEMORY} MB"),
        grown <= MEMORY,
    );
    let [p50, p99] = [50, 99].map(|share| percentile(&mut beside, share));
    let met = p99 <= BESIDE;
    row(
        "a change of a price beside it",
        format!("p50 {p50:.1} ms, p99 {p99:.1} ms"),
        format!("p99 {BESIDE} ms"),
        met,
    );

    let (again, _) = timed(&mut client, &import, "unchanged", settings.lines, &host).await;
    row(
        "the same lines a second, again",
        format!("{again:.0}"),
        format!("{}", AGAIN * least),
        again >= AGAIN * least,
    );

    let export = Ask { media: LINES, ..Ask::get("/exports/products") };
    let answer = client.ask(&export).await;
    let records = answer.body.iter().filter(|byte| **byte == b'\n').count();
    let rate = records as f64 / answer.took * 1e3;
    row("exported records a second", format!("{rate:.0}"), format!("{EXPORTED}"), rate >= EXPORTED);
    println!();
}

/// Products that are made by one request each, a second.
async fn one_by_one(host: &Host, store: &Store, written: &Written) -> f64 {
    let begun = Instant::now();
    let mut tasks = Vec::new();
    for _ in 0..CLIENTS {
        let mut writer = Writer::beside(host, store.size, written.clone()).await;
        tasks.push(tokio::spawn(async move {
            let mut count = 0.0;
            while begun.elapsed() < SINGLE {
                writer.write(Write::Product).await;
                count += 1.0;
            }
            count
        }));
    }
    let mut count = 0.0;
    for task in tasks {
        count += task.await.unwrap();
    }
    count / begun.elapsed().as_secs_f64()
}

/// Changes prices until it is told to stop, and returns how long each change took.
async fn change_prices(done: Arc<AtomicBool>, mut writer: Writer) -> Vec<f64> {
    let mut taken = Vec::new();
    while !done.load(Ordering::Relaxed) {
        taken.push(writer.write(Write::Price).await.took);
        tokio::time::sleep(PAUSE).await;
    }
    taken
}

/// Sends a file, whose lines must all have this result: lines a second, and the most memory of the host meanwhile.
async fn timed(
    client: &mut Client,
    import: &Ask,
    result: &str,
    lines: usize,
    host: &Host,
) -> (f64, u64) {
    let (answer, most) = host.watched(client.ask(import)).await;
    let text = String::from_utf8_lossy(&answer.body);
    let last: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap();
    assert_eq!(last["summary"][result], json!(lines), "{last}");
    (lines as f64 / answer.took * 1e3, most)
}

/// A file of so many new products.
fn products(lines: usize) -> String {
    let mut file = String::with_capacity(lines * 160);
    let run = fastrand::u64(..);
    for number in 0..lines {
        let (whole, cents) = (number % 500 + 1, number % 100);
        let (manufacturer, category) = (number % 20 + 1, number % 20 + 1);
        writeln!(
            file,
            "{{\"sku\":\"{run:016x}-{number}\",\"product_name\":\"Imported lamp {number}\",\
             \"price\":\"{whole}.{cents:02}\",\"quantity\":{cents},\
             \"manufacturer_id\":{manufacturer},\"category_id\":{category}}}"
        )
        .unwrap();
    }
    file
}
