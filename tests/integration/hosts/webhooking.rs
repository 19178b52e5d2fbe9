//! Webhooks of running hosts, with receivers beside them: nothing is lost when hosts are killed or a receiver is away, and
//! whoever writes on one of two hosts is heard from the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::harness::{Answer, ROOT};
use crate::support::kills::{kill, kills};
use crate::support::outside::signatures_of;
use crate::support::process::{Place, Served, stop};
use crate::support::receiver::{Received, Receiver, Reply};
use crate::support::waiting::eventually;
use crate::support::webhook::hasten;

/// Where the receivers are.
const HERE: (&str, &str) = ("HOST_DELIVER_TO", "127.0.0.0/8");
/// How often a host is killed.
const KILLS: usize = 3;
/// How many records are written between two kills.
const WRITES: usize = 30;

/// A receiver that may be away.
struct Inbox {
    receiver: Receiver,
    is_away: Arc<AtomicBool>,
    secret: String,
}

impl Inbox {
    /// A receiver with a webhook for these types.
    async fn open(served: &Served, token: &str, types: &[&str]) -> Inbox {
        let is_away = Arc::new(AtomicBool::new(false));
        let away = Arc::clone(&is_away);
        let reply = move |_: &Received| {
            if away.load(Ordering::SeqCst) { Reply::Reset } else { Reply::status(204, "") }
        };
        let receiver = Receiver::start("127.0.0.1", None, reply).await;
        let url = format!("http://{}/", receiver.address);
        let made = write(served, "POST", "/webhooks", token, json!({"url": url, "types": types}));
        let secret = made.await["data"]["attributes"]["secret"].as_str().unwrap().to_owned();
        Inbox { receiver, is_away, secret }
    }

    /// The last version of each record that was told, or nothing of one that was deleted. Every message must be
    /// signed.
    fn told(&self) -> BTreeMap<String, Option<i64>> {
        let mut told = BTreeMap::new();
        for message in self.receiver.received() {
            let signed = signatures_of(&self.secret, |name| message.header(name), &message.body);
            assert_eq!(signed, 1, "{message:?}");
            let body: Value = serde_json::from_str(&message.body).unwrap();
            let data = &body["data"];
            if let Some(id) = data["id"].as_str() {
                told.insert(id.to_owned(), data["version"].as_i64());
            }
        }
        told
    }
}

async fn write(served: &Served, method: &str, path: &str, token: &str, body: Value) -> Value {
    let ask = served.ask(method, &format!("{ROOT}{path}"), token);
    let answer = Answer::to(ask.header("content-type", "application/json").body(body.to_string()));
    let answer = answer.await;
    assert!(answer.status < 300, "{method} {path}: {}", String::from_utf8_lossy(&answer.body));
    if answer.body.is_empty() { Value::Null } else { answer.json() }
}

async fn read(served: &Served, path: &str, token: &str) -> Value {
    Answer::to(served.get(&format!("{ROOT}{path}"), token)).await.expect(200).json()
}

async fn until_active(served: &Served, id: i64, token: &str) {
    eventually("an active webhook", async || {
        let read = read(served, &format!("/webhooks/{id}"), token).await;
        (read["data"]["attributes"]["state"] == "active").then_some(())
    })
    .await;
}

/// The version of each manufacturer, as the store has them now.
async fn versions(served: &Served, token: &str) -> BTreeMap<String, Option<i64>> {
    let mut versions = BTreeMap::new();
    let mut path = "/changes?filter[types]=manufacturers&page[size]=1000".to_owned();
    loop {
        let page = read(served, &path, token).await;
        let records = page["data"].as_array().unwrap();
        if records.is_empty() {
            return versions;
        }
        for record in records {
            let id = record["id"].as_str().unwrap().to_owned();
            versions.insert(id, record["meta"]["version"].as_i64());
        }
        let next = page["links"]["next"].as_str().unwrap();
        path = next.strip_prefix(ROOT).unwrap().to_owned();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_version_of_every_record_arrives_although_hosts_are_killed_and_a_receiver_is_away()
{
    let kills = kills(KILLS);
    let (place, token) = Place::with_ann("Super Users").await;
    let mut served = place.serve_with(&[HERE]).await;
    let inbox = Inbox::open(&served, &token, &["manufacturers"]).await;
    until_active(&served, 1, &token).await;
    let mut last = 0;
    for round in 0..kills {
        inbox.is_away.store(round % 2 == 1, Ordering::SeqCst);
        for nth in 0..WRITES {
            let name = json!({"manufacturer_name": format!("Maker {round} {nth}")});
            let made = write(&served, "POST", "/manufacturers", &token, name).await;
            last = made["data"]["id"].as_str().unwrap().parse::<usize>().unwrap();
            let path = format!("/manufacturers/{}", last - nth / 2);
            match nth % 10 {
                3 | 6 => {
                    write(&served, "PATCH", &path, &token, json!({"ordering": nth})).await;
                }
                9 => {
                    let path = format!("/manufacturers/{last}");
                    write(&served, "DELETE", &path, &token, json!({})).await;
                }
                _ => {}
            }
        }
        kill([served]).await;
        served = place.serve_with(&[HERE]).await;
    }
    inbox.is_away.store(false, Ordering::SeqCst);
    // What failed while the receiver was away is due again after some seconds or minutes.
    eventually("all of it", async || {
        hasten(&place).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        let read = read(&served, "/webhooks/1", &token).await;
        let attributes = &read["data"]["attributes"];
        (attributes["behind"] == 0 && attributes["retrying"] == 0).then_some(())
    })
    .await;
    let (told, mut expected) = (inbox.told(), versions(&served, &token).await);
    // A client that copies anew learns of no deletion.
    expected.extend(
        (1..=last)
            .map(|id| id.to_string())
            .filter(|id| !expected.contains_key(id))
            .map(|id| (id, None))
            .collect::<Vec<_>>(),
    );
    assert_eq!(told, expected);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_writes_on_either_host_is_heard_soon() {
    let (place, token) = Place::with_ann("Super Users").await;
    let hosts = place.serve_twice_with(&[HERE]).await;
    let inbox = Inbox::open(&hosts[0], &token, &["manufacturers"]).await;
    until_active(&hosts[0], 1, &token).await;
    for (nth, host) in hosts.iter().enumerate() {
        let before = inbox.receiver.received().len();
        let name = json!({"manufacturer_name": format!("Maker {nth}")});
        let begun = Instant::now();
        write(host, "POST", "/manufacturers", &token, name).await;
        eventually("a message", async || (inbox.receiver.received().len() > before).then_some(()))
            .await;
        // Two seconds, and what a busy machine takes.
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
    stop(hosts).await;
    assert_eq!(inbox.told().len(), inbox.receiver.received().len() - 1, "each record once");
}

/// The interval of the job that sends is half a minute.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_was_stopped_goes_on_at_once_when_it_is_started_again() {
    let (place, token) = Place::with_ann("Super Users").await;
    let mut served = place.serve_with(&[HERE]).await;
    let inbox = Inbox::open(&served, &token, &["manufacturers"]).await;
    until_active(&served, 1, &token).await;
    let is_heard = async |served: &Served| {
        let before = inbox.receiver.received().len();
        let begun = Instant::now();
        let name = json!({"manufacturer_name": format!("Maker {before}")});
        write(served, "POST", "/manufacturers", &token, name).await;
        eventually("a message", async || (inbox.receiver.received().len() > before).then_some(()))
            .await;
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    };
    served.stop().await;
    served = place.serve_with(&[HERE]).await;
    is_heard(&served).await;

    let list = format!("{ROOT}/manufacturers");
    for (switch, status) in [("disable", 404), ("enable", 200)] {
        place.run(&format!("extension {switch} webservices-shop")).await;
        eventually(switch, async || {
            let answer = Answer::to(served.ask("GET", &list, &token)).await;
            (answer.status == status).then_some(())
        })
        .await;
        // Until the job has ended, too.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    is_heard(&served).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_user_ends_their_webhooks_and_a_test_needs_no_body() {
    let (place, token) = Place::with_ann("Super Users").await;
    let other = place.user("bob", "Super Users").await;
    let served = place.serve_with(&[HERE]).await;
    let inbox = Inbox::open(&served, &token, &["manufacturers"]).await;
    until_active(&served, 1, &token).await;
    let tried = Answer::to(served.ask("POST", &format!("{ROOT}/webhooks/1/test"), &other)).await;
    assert_eq!(tried.expect(200).json()["data"]["attributes"]["status"], 204);
    place.run("user block ann").await;
    // The host reads changes of other processes four times a second.
    let list = format!("{ROOT}/manufacturers");
    while Answer::to(served.ask("GET", &list, &token)).await.status == 200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let before = inbox.receiver.received().len();
    let name = json!({"manufacturer_name": "Birch"});
    write(&served, "POST", "/manufacturers", &other, name).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(inbox.receiver.received().len(), before);
    served.stop().await;
}
