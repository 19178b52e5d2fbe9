//! A person with many orders in a large store: the copy of their data, and what an erasure costs. The erasure is a dry
//! run, which does everything but write the indexes of texts anew, and is rolled back, so that the store stays as it is.

use serde_json::json;

use super::load::{Ask, Client, percentile};
use super::stores::{CUSTOMER, Engine, Store};
use super::{Settings, verdict};

/// The limits of a copy and of an erasure for each 10,000 orders, in milliseconds.
const COPY: f64 = 2_000.0;
const ERASURE: f64 = 3_000.0;

/// Measures the customer with every twentieth order.
pub async fn measure(settings: &Settings, _: Engine, store: &Store) {
    let host = store.serve();
    let mut client = Client::of(host.door.clone()).await;
    let copy = Ask::post("/privacy/export", &json!({"user_id": CUSTOMER}));
    let erasure = json!({"user_id": CUSTOMER, "reason": "measured", "dry_run": 1, "force": 1});
    let erasure = Ask::post("/privacy/erase", &erasure);
    let orders = store.size.orders / 20;
    println!("### A person's data\n");
    println!(
        "a person with {orders} of {} orders, ms; {} rounds\n",
        store.size.orders, settings.rounds
    );
    println!("| what | p50 | bar | memory above idle, at most |");
    println!("|---|---|---|---|");
    let idle = host.memory();
    for (what, ask, most) in [("copy", &copy, COPY), ("erasure, undone", &erasure, ERASURE)] {
        let (mut taken, mut most_memory) = (Vec::new(), idle);
        for _ in 0..settings.rounds {
            let (answer, memory) = host.watched(client.ask(ask)).await;
            taken.push(answer.took);
            most_memory = most_memory.max(memory);
        }
        let p50 = percentile(&mut taken, 50);
        let bar = (most * orders as f64 / 10_000.0).max(most);
        let above = most_memory.saturating_sub(idle);
        println!("| {what} | {p50:.0} | {bar:.0} ms{} | {above} MB |", verdict(p50 <= bar));
    }
    println!();
}
