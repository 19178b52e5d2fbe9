//! Changes of a webhook that is never idle: each takes effect between two messages, and none of them fails.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use crate::support::ledger::Client;
use crate::support::outside::signatures_of;
use crate::support::process::{Place, stop};
use crate::support::receiver::{Received, Receiver, Reply};
use crate::support::waiting::eventually;
use crate::support::webhook::{HERE, Webhook};
use crate::support::writers::Writers;

/// So slow that there is always more to send than was sent.
const SLOW: Duration = Duration::from_millis(50);
/// The number of clients that write.
const WRITERS: usize = 4;

fn is_signed(message: &Received, secret: &str) -> bool {
    signatures_of(secret, |name| message.header(name), &message.body) == 1
}

/// A receiver that accepts what one of its secrets has signed.
async fn receiver() -> (Receiver, Arc<Mutex<Vec<String>>>) {
    let secrets = Arc::new(Mutex::new(Vec::<String>::new()));
    let known = Arc::clone(&secrets);
    let reply = move |message: &Received| {
        let accepts = known.lock().unwrap().iter().any(|secret| is_signed(message, secret));
        let status = if accepts { "204 x" } else { "401 x\r\ncontent-length: 0" };
        Reply::Late(SLOW, format!("HTTP/1.1 {status}\r\n\r\n"))
    };
    (Receiver::start("127.0.0.1", None, reply).await, secrets)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_is_rotated_under_load_and_no_message_fails() {
    let (place, token) = Place::with_ann("Super Users").await;
    let hosts = place.serve_twice_with(&[HERE]).await;
    let clients: Vec<Client> = hosts.iter().map(|host| Client::of(host, &token)).collect();
    let client = &clients[0];
    let (receiver, secrets) = receiver().await;
    let url = format!("http://{}/", receiver.address);
    let mut webhook = Webhook::create(client, &url, json!({})).await;
    secrets.lock().unwrap().push(webhook.secret.clone());
    webhook.enable(client).await;

    let (_hosts, now) = watch::channel(clients.clone());
    let writers = Writers::start(WRITERS, now, &mut fastrand::Rng::new());
    let more = async |count: usize| {
        let before = receiver.received().len();
        let arrived = async || (receiver.received().len() >= before + count).then_some(());
        eventually("more messages", arrived).await;
    };
    more(50).await;
    let first = webhook.rotate(clients.last().unwrap()).await;
    // What is under way has the signature of the first one alone.
    secrets.lock().unwrap().push(webhook.secret.clone());
    eventually("two signatures", async || {
        let last = receiver.received().pop()?;
        (is_signed(&last, &webhook.secret) && is_signed(&last, &first)).then_some(())
    })
    .await;
    more(10).await;
    secrets.lock().unwrap().retain(|secret| *secret != first);
    more(50).await;
    writers.stop().await;

    let attributes = webhook.attributes(client).await;
    assert_eq!([&attributes["state"], &attributes["last_failure"]], ["active", ""]);
    assert_ne!(attributes["behind"], 0, "there was always more to send");
    for message in receiver.received() {
        assert!(is_signed(&message, &first), "for a day the first one signs, too: {message:?}");
    }
    stop(hosts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_disabled_under_load_sends_nothing_more() {
    let (place, token) = Place::with_ann("Super Users").await;
    let served = place.serve_with(&[HERE]).await;
    let client = Client::of(&served, &token);
    let (receiver, secrets) = receiver().await;
    let url = format!("http://{}/", receiver.address);
    let webhook = Webhook::create(&client, &url, json!({})).await;
    secrets.lock().unwrap().push(webhook.secret.clone());
    webhook.enable(&client).await;
    let (_hosts, now) = watch::channel(vec![client.clone()]);
    let writers = Writers::start(WRITERS, now, &mut fastrand::Rng::new());
    let is_flowing = async || (receiver.received().len() > 50).then_some(());
    eventually("messages", is_flowing).await;
    webhook.switch(false, &client).await;
    let is_quiet = async || {
        let before = receiver.received().len();
        tokio::time::sleep(Duration::from_secs(1)).await;
        (receiver.received().len() == before).then_some(())
    };
    eventually("no more messages", is_quiet).await;
    writers.stop().await;
    assert_ne!(webhook.attributes(&client).await["behind"], 0);
    served.stop().await;
}
