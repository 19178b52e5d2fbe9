//! What webhooks do and cost: how many events a second arrive, how soon after a write, also beside a receiver that never
//! answers, what they add to a write, and what an idle host with many of them takes. The receivers are on this machine,
//! and not encrypted.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::inbox::{DEAD, Inbox};
use super::load::{Ask, Client, percentile};
use super::machine::median;
use super::stores::{Host, Size, Store};
use super::writes::{Write, Writer, Written};
use super::{Settings, verdict};

/// How many events are sent to one receiver, and to each of ten.
const EVENTS: usize = 20_000;
const EVENTS_OF_TEN: usize = 4_000;
/// The limit of events a second.
const RATE: f64 = 2_000.0;

/// How many writes a second there are, for how long in one round, and by how many clients.
const WRITES: usize = 200;
const WRITING: Duration = Duration::from_secs(10);
const WRITERS: usize = 4;
/// The limits of the time from a write to its arrival in milliseconds, and of what a receiver that never answers adds to
/// that of others.
const P50: f64 = 100.0;
const P99: f64 = 1_000.0;
const ADDED: f64 = 1_000.0;

/// How often each write is done in one round, and the pause after each, in which what it has caused is sent.
const TIMES: usize = 20;
const PAUSE: Duration = Duration::from_millis(250);
/// The limit of what ten webhooks add to a write.
const RATIO: f64 = 1.05;

/// How many webhooks an idle host has, for how long it is looked at, and the limit of the part of a core that it takes.
const MANY: usize = 50;
const IDLE: Duration = Duration::from_secs(30);
const SHARE: f64 = 0.02;

/// The names of the stores: each begins anew.
pub const STORES: [&str; 4] = ["events", "arrivals", "without", "with"];

/// Measures everything, or one of the four: `--only events`, `arrivals`, `writes` or `idle`.
pub async fn measure(settings: &Settings, stores: &[Store; 4]) {
    let [of_events, of_arrivals, without, with] = stores;
    let inbox = Inbox::open();
    let wanted = |part: &str| part.contains(&settings.only);
    println!("### Webhooks\n");
    println!("{} rounds\n", settings.rounds);
    println!("| what | measured | bar |");
    println!("|---|---|---|");
    if wanted("events") {
        events(settings, &inbox, of_events).await;
    }
    if wanted("arrivals") {
        arrivals(settings, &inbox, of_arrivals).await;
    }
    if wanted("writes") {
        writes(settings, &inbox, [without, with]).await;
    }
    if wanted("idle") {
        idle(&inbox, [without, with]).await;
    }
    println!();
}

fn row(what: &str, measured: String, bar: String, met: bool) {
    println!("| {what} | {measured} | {bar}{} |", verdict(met));
}

/// Creates a webhook for each path, and waits until all of them send.
async fn subscribe(client: &mut Client, inbox: &Inbox, paths: &[String], kind: &str) -> Vec<i64> {
    let mut ids = Vec::new();
    for path in paths {
        let body = json!({"url": inbox.url(path), "types": [kind]});
        ids.push(client.ask(&Ask::post("/webhooks", &body)).await.id());
    }
    until(client, "/webhooks?page[limit]=100", |list| {
        let webhooks = list["data"].as_array().unwrap();
        webhooks.iter().all(|webhook| webhook["attributes"]["state"] == "active")
    })
    .await;
    ids
}

async fn until(client: &mut Client, path: &str, is_so: impl Fn(&Value) -> bool) {
    const PATIENCE: Duration = Duration::from_secs(120);
    let begun = Instant::now();
    while !is_so(&serde_json::from_slice(&client.ask(&Ask::get(path)).await.body).unwrap()) {
        assert!(begun.elapsed() < PATIENCE, "{path} does not become what it should");
        sleep(Duration::from_millis(50)).await;
    }
}

fn paths(count: usize) -> Vec<String> {
    (0..count).map(|nth| format!("/{nth}")).collect()
}

/// Sends what is in the feed to one receiver, and to ten of them together.
async fn events(settings: &Settings, inbox: &Inbox, store: &Store) {
    let host = store.serve();
    let mut client = Client::of(host.door.clone()).await;
    for (count, each) in [(1, EVENTS), (10, EVENTS_OF_TEN)] {
        let mut rates = Vec::new();
        for _ in 0..settings.rounds {
            let ids = subscribe(&mut client, inbox, &paths(count), "manufacturers").await;
            for id in &ids {
                enable(&mut client, *id, false).await;
            }
            import(&mut client, each).await;
            // This gives all of them their places before anything is sent.
            client.ask(&Ask::get("/changes?page[size]=1")).await;
            for id in &ids {
                enable(&mut client, *id, true).await;
            }
            let arrived = inbox.take(count * each).await;
            let [first, last] =
                [arrived.values().min(), arrived.values().max()].map(Option::unwrap);
            rates.push(arrived.len() as f64 / (*last - *first).as_secs_f64());
            remove(&mut client, ids).await;
        }
        let rate = median(rates);
        let what = format!("events a second, {count} receivers and {each} for each");
        row(&what, format!("{rate:.0}"), format!("{RATE}"), rate >= RATE);
    }
}

async fn remove(client: &mut Client, ids: Vec<i64>) {
    for id in ids {
        client.ask(&Ask::delete(format!("/webhooks/{id}"))).await;
    }
}

async fn enable(client: &mut Client, id: i64, enabled: bool) {
    let body = json!({"enabled": u8::from(enabled)});
    client.ask(&Ask::patch(format!("/webhooks/{id}"), &body)).await;
}

/// Makes so many manufacturers in one request.
async fn import(client: &mut Client, count: usize) {
    let line = |nth: usize| format!("{{\"manufacturer_name\":\"Maker {nth}\"}}\n");
    let body = Some((0..count).map(line).collect());
    let path = "/imports?type=manufacturers&mode=create&report=faults";
    client.ask(&Ask { body, media: "application/x-ndjson", ..Ask::post(path, &Value::Null) }).await;
}

/// Writes at an even pace, and takes the time until each write arrives.
async fn arrivals(settings: &Settings, inbox: &Inbox, store: &Store) {
    let host = store.serve();
    let mut well = 0.0;
    let nine_and_dead = [paths(9), vec![DEAD.to_owned()]].concat();
    for (what, paths) in [
        ("one receiver", paths(1)),
        ("each of nine receivers", paths(9)),
        ("each of nine receivers beside one that never answers", nine_and_dead),
    ] {
        let mut client = Client::of(host.door.clone()).await;
        let ids = subscribe(&mut client, inbox, &paths, "manufacturers").await;
        let answering = paths.iter().filter(|path| *path != DEAD).count();
        let mut taken = Vec::new();
        for _ in 0..settings.rounds {
            let written = write_evenly(&host).await;
            let arrived = inbox.take(written.len() * answering).await;
            for (id, begun) in written {
                let of_it = paths.iter().filter_map(|path| arrived.get(&(path.clone(), id)));
                taken.extend(of_it.map(|at| (*at - begun).as_secs_f64() * 1e3));
            }
        }
        let [p50, p99] = [50, 99].map(|share| percentile(&mut taken, share));
        let (bar, met) = if answering < paths.len() {
            (format!("p99 of the row above and {ADDED} ms"), p99 <= well + ADDED)
        } else {
            well = p99;
            (format!("{P50}, {P99} ms"), p50 <= P50 && p99 <= P99)
        };
        let what = format!("from a write to {what}, {WRITES} writes a second, p50 and p99");
        row(&what, format!("{p50:.0}, {p99:.0} ms"), bar, met);
        // The host has closed the one that was idle meanwhile.
        let mut client = Client::of(host.door.clone()).await;
        remove(&mut client, ids).await;
    }
}

/// Makes manufacturers at an even pace, and returns when the request for each began.
async fn write_evenly(host: &Host) -> Vec<(i64, Instant)> {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..WRITERS)
        .map(|_| {
            let door = host.door.clone();
            tokio::spawn(async move {
                let mut client = Client::of(door).await;
                let mut pace = interval(Duration::from_secs(1) * WRITERS as u32 / WRITES as u32);
                pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
                let mut written = Vec::new();
                while begun.elapsed() < WRITING {
                    pace.tick().await;
                    let began = Instant::now();
                    let body = json!({"manufacturer_name": "Measured"});
                    let made = client.ask(&Ask::post("/manufacturers", &body)).await;
                    written.push((made.id(), began));
                }
                written
            })
        })
        .collect();
    let mut written = Vec::new();
    for task in tasks {
        written.extend(task.await.unwrap());
    }
    written
}

/// Measures single writes of one client, alternately without and with ten webhooks that tell of them, and what they take
/// of the processor, with ten that do not. What is sent meanwhile would be counted otherwise.
async fn writes(settings: &Settings, inbox: &Inbox, stores: [&Store; 2]) {
    let hosts = stores.map(Store::serve);
    for told in [true, false] {
        let mut writers = Vec::new();
        for host in &hosts {
            writers.push(
                Writer::open(host, Size { products: 0, orders: 0 }, Written::default()).await,
            );
        }
        let kind = if told { "products" } else { "zones" };
        let ids = subscribe(&mut writers[1].client, inbox, &paths(10), kind).await;
        for write in [Write::Price, Write::Product] {
            let (mut taken, mut used) = ([Vec::new(), Vec::new()], [0.0, 0.0]);
            for round in 0..=settings.rounds {
                for turn in 0..2 * TIMES {
                    let which = (round + turn) % 2;
                    let before = hosts[which].cpu();
                    let answer = writers[which].write(write).await;
                    sleep(PAUSE).await;
                    // The first round warms up.
                    if round > 0 {
                        taken[which].push(answer.took);
                        used[which] += hosts[which].cpu() - before;
                    }
                }
            }
            let [without, with] = taken.each_mut().map(|taken| percentile(taken, 50));
            let name = write.name();
            let whom = if told { "ten webhooks that tell of it" } else { "ten of another type" };
            row(
                &format!("{name}, without and with {whom}"),
                format!("{without:.2}, {with:.2} ms"),
                format!("{RATIO} ×"),
                with / without <= RATIO,
            );
            if !told {
                let [without, with] = used.map(|of| of * 1e3 / (settings.rounds * TIMES) as f64);
                row(
                    &format!("{name} and a quarter of a second, processor time with {whom}"),
                    format!("{without:.2}, {with:.2} ms"),
                    "none".to_owned(),
                    true,
                );
            }
        }
        remove(&mut writers[1].client, ids).await;
    }
}

/// Measures hosts that do nothing, one of them with many webhooks.
async fn idle(inbox: &Inbox, stores: [&Store; 2]) {
    let hosts = stores.map(Store::serve);
    let mut client = Client::of(hosts[1].door.clone()).await;
    subscribe(&mut client, inbox, &paths(MANY), "products").await;
    // What a start leaves to be done is over.
    sleep(Duration::from_secs(5)).await;
    let before = hosts.each_ref().map(Host::cpu);
    sleep(IDLE).await;
    let share = |which: usize| (hosts[which].cpu() - before[which]) / IDLE.as_secs_f64();
    let [without, with] = [share(0), share(1)];
    row(
        &format!("the part of a core of an idle host, without and with {MANY} webhooks"),
        format!("{:.2}, {:.2} %", without * 100.0, with * 100.0),
        format!("{} %", SHARE * 100.0),
        with <= SHARE,
    );
}
