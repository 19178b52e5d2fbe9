//! The proof that webhooks lose nothing: hosts and a receiver are killed while records of all types are written. The last
//! version of every changed record arrives, its libraries accept each message, and what was told equals the feed.
//!
//! `TEST_CLIENTS` is the folder that `tests/clients/prepare.sh` prepares, `TEST_WRITES` and `TEST_KILLS` are how much is
//! written and how often each side is killed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::support::certificate::Pair;
use crate::support::harness::ROOT;
use crate::support::judge::Judge;
use crate::support::kills::{kill, kills, randomness};
use crate::support::ledger::Client;
use crate::support::process::{Place, Served, stop};
use crate::support::waiting::eventually;
use crate::support::webhook::{HERE, Webhook, hasten};
use crate::support::writers::Writers;

/// How many requests write something, unless `TEST_WRITES` has another number.
const WRITES: usize = 300;
/// How often the hosts are killed, and how often the receiver, unless `TEST_KILLS` has another number.
const KILLS: usize = 2;
/// The number of clients that write.
const WRITERS: usize = 4;
/// How many messages arrive at least of what is written from one kill to the next.
const BETWEEN: usize = 20;

/// The version of each record, by type and id; nothing of one that was deleted.
type Versions = BTreeMap<(String, String), Option<i64>>;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(clients), ignore = "needs libraries of receivers: TEST_CLIENTS")]
async fn the_last_version_of_every_record_arrives_although_host_and_receiver_are_killed() {
    let pair = Pair::new();
    prove(1, Judge::in_typescript(&pair).await, &pair).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    all(not(clients), not(engine = "sqlite")),
    ignore = "needs libraries of receivers: TEST_CLIENTS"
)]
#[cfg_attr(engine = "sqlite", ignore = "hosts share a database on a server")]
async fn the_last_version_of_every_record_arrives_although_two_hosts_and_the_receiver_are_killed() {
    let pair = Pair::new();
    prove(2, Judge::in_python(&pair).await, &pair).await;
}

/// Writes through so many hosts while these and the receiver are killed in turn, and compares what was told with the feed.
async fn prove(hosts: usize, mut judge: Judge, pair: &Pair) {
    let writes = std::env::var("TEST_WRITES").map_or(WRITES, |writes| writes.parse().unwrap());
    let kills = kills(KILLS);
    let begun = Instant::now();
    let mut rng = randomness();
    let (place, token) = Place::with_ann("Super Users").await;
    let mut served = Vec::new();
    for _ in 0..hosts {
        served.push(place.serve_trusting(pair, &[HERE]).await);
    }
    let clients = |served: &[Served]| served.iter().map(|host| Client::of(host, &token)).collect();
    let (current, now) = watch::channel::<Vec<Client>>(clients(&served));
    let client = Client::of(&served[0], &token);
    let (_, end) = follow(&client, "/changes?page[size]=1000".to_owned()).await;
    let webhook = Webhook::create(&client, &judge.url(), json!({})).await;
    judge.learn(&webhook.secret);
    webhook.enable(&client).await;

    let writers = Writers::start(WRITERS, now, &mut rng);
    let parts = 2 * kills + 1;
    let mut before = judge.count();
    writers.allow(writes / parts);
    for turn in 0..2 * kills {
        eventually("messages", async || {
            hasten(&place).await;
            sleep(Duration::from_millis(200)).await;
            (judge.count() >= before + BETWEEN).then_some(())
        })
        .await;
        // Something is written and something is sent when the end comes. What arrives meanwhile counts for the next turn.
        before = judge.count();
        writers.allow(writes * (turn + 2) / parts);
        sleep(Duration::from_millis(rng.u64(..300))).await;
        if turn % 2 == 0 {
            judge.kill().await;
            sleep(Duration::from_millis(rng.u64(50..1_500))).await;
            judge.start_again().await;
        } else {
            let host = turn / 2 % hosts;
            kill([served.remove(host)]).await;
            served.insert(host, place.serve_trusting(pair, &[HERE]).await);
            current.send_replace(clients(&served));
        }
    }
    eventually("all is written", async || (writers.count() >= writes).then_some(())).await;
    let count = writers.stop().await;

    let client = Client::of(&served[0], &token);
    let (changed, _) = follow(&client, end).await;
    until_all_is_told(&webhook, &client, &judge, &place).await;
    let (mut told, messages) = (Versions::new(), judge.accepted());
    for message in &messages {
        let body = message.json();
        if let Some(name) = name_of(&body["data"]) {
            told.insert(name, body["data"]["version"].as_i64());
        }
    }
    println!(
        "{count} writes with {kills} kills of {hosts} hosts and {kills} of the receiver in {:.0?}: {} messages about {} \
         records",
        begun.elapsed(),
        messages.len(),
        told.len(),
    );
    assert_eq!(judge.refused(), "");
    let names = changed.keys().chain(told.keys());
    let differences: Vec<_> = names
        .map(|name| (name, told.get(name), changed.get(name)))
        .filter(|(_, told, changed)| told != changed)
        .collect();
    assert!(differences.is_empty(), "record, told, in the feed: {differences:?}");
    stop(served).await;
}

/// Waits until nothing is left to be told, for as long as there is always something more that was.
async fn until_all_is_told(webhook: &Webhook, client: &Client, judge: &Judge, place: &Place) {
    let mut is_done = false;
    while !is_done {
        let before = judge.count();
        is_done = eventually("all is told, or something more", async || {
            hasten(place).await;
            sleep(Duration::from_millis(500)).await;
            let attributes = webhook.attributes(client).await;
            let is_done = attributes["behind"] == 0 && attributes["retrying"] == 0;
            (is_done || judge.count() > before).then_some(is_done)
        })
        .await;
    }
}

/// What has changed after a page of the feed, and the path to go on from.
async fn follow(client: &Client, mut path: String) -> (Versions, String) {
    let mut changed = Versions::new();
    loop {
        let page = client.expect(200, "GET", &path, None).await;
        let records = page["data"].as_array().unwrap();
        path = page["links"]["next"].as_str().unwrap().strip_prefix(ROOT).unwrap().to_owned();
        if records.is_empty() {
            return (changed, path);
        }
        for record in records {
            let version = record["meta"]["version"].as_i64();
            let version = version.filter(|_| record["meta"]["deleted"] != true);
            changed.insert(name_of(record).unwrap(), version);
        }
    }
}

/// The type and the id of a record, if the message is about one.
fn name_of(record: &Value) -> Option<(String, String)> {
    let text = |name: &str| Some(record[name].as_str()?.to_owned());
    text("type").zip(text("id"))
}
