//! Receivers in other languages, whose libraries for Standard Webhooks and of Svix check what a running host sends over
//! TLS: also while a secret is rotated, and a message of which anything was changed.
//!
//! `TEST_CLIENTS` is the folder that `tests/clients/prepare.sh` prepares.

use serde_json::json;
use tokio::net::TcpStream;

use crate::support::certificate::{self, Pair};
use crate::support::judge::Judge;
use crate::support::ledger::Client;
use crate::support::outside::Message;
use crate::support::process::{Place, Raw, exchange};
use crate::support::waiting::eventually;
use crate::support::webhook::{HERE, Webhook};

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(clients), ignore = "needs libraries of receivers: TEST_CLIENTS")]
async fn what_is_sent_is_accepted_by_the_libraries_of_typescript() {
    let pair = Pair::new();
    judge(Judge::in_typescript(&pair).await, &pair).await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(clients), ignore = "needs libraries of receivers: TEST_CLIENTS")]
async fn what_is_sent_is_accepted_by_the_libraries_of_python() {
    let pair = Pair::new();
    judge(Judge::in_python(&pair).await, &pair).await;
}

/// Sends messages to a receiver.
async fn judge(judge: Judge, pair: &Pair) {
    let (place, token) = Place::with_ann("Super Users").await;
    let served = place.serve_trusting(pair, &[HERE]).await;
    let client = Client::of(&served, &token);
    let body = json!({"types": ["manufacturers"], "payload": "full"});
    let mut webhook = Webhook::create(&client, &judge.url(), body).await;
    judge.learn(&webhook.secret);
    webhook.enable(&client).await;

    told(&client, &judge, "Möbel & 椅子 \u{1f6cb}").await;
    let first = webhook.rotate(&client).await;
    // Two signatures, of which a receiver knows one.
    let both = told(&client, &judge, "with the former secret").await;
    assert_eq!((both.signatures_of(&first), both.signatures_of(&webhook.secret)), (1, 1));
    judge.learn(&webhook.secret);
    told(&client, &judge, "with the new secret").await;
    assert_eq!(judge.refused(), "");

    let last = judge.accepted().pop().unwrap();
    assert_eq!(post(pair, &last).await, 204, "as it was sent");
    let body = last.body.replacen("new", "old", 1);
    assert_eq!(post(pair, &Message { body, ..last.clone() }).await, 400);
    for (name, value) in [("webhook-id", "msg_1"), ("webhook-timestamp", "1800000000")] {
        let mut changed = last.clone();
        changed.headers.insert(name.to_owned(), value.to_owned());
        assert_eq!(post(pair, &changed).await, 400, "{name}");
    }
    judge.learn(&first);
    assert_eq!(post(pair, &Message { body: "{}".to_owned(), ..both }).await, 400);
    assert_eq!(judge.refused().lines().count(), 4, "{}", judge.refused());
    served.stop().await;
}

/// Makes a record, and returns the message about it.
async fn told(client: &Client, judge: &Judge, name: &str) -> Message {
    let id = client.create("/manufacturers", json!({"manufacturer_name": name})).await;
    let event = format!("manufacturers.created {id}");
    eventually("the message", async || {
        let message = judge.accepted().into_iter().find(|message| message.event() == event)?;
        let record = &message.json()["data"]["record"];
        assert_eq!(record["attributes"]["manufacturer_name"], name);
        Some(message)
    })
    .await
}

/// Sends a message again, as the receiver has kept it, and returns the status of the answer.
async fn post(pair: &Pair, message: &Message) -> u16 {
    let url: url::Url = message.url.parse().unwrap();
    let stream = TcpStream::connect(("127.0.0.1", url.port().unwrap())).await.unwrap();
    let mut connection = certificate::connect(stream, &[pair]).await.unwrap();
    let mut request = format!("POST {} HTTP/1.1\r\nhost: localhost\r\n", url.path());
    let length = message.body.len().to_string();
    let own = [("connection", "close"), ("content-length", length.as_str())];
    let names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    let signed = names.map(|name| (name, message.headers[name].as_str()));
    for (name, value) in own.into_iter().chain(signed) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("\r\n{}", message.body));
    Raw(exchange(&mut connection, request.as_bytes()).await).status()
}
