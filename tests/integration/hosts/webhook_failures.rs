//! Receivers that fail in each way, beside one that does not: what becomes of their webhooks, when each is tried again, and
//! that the others are told while those that never answer still hold their connections.

use std::ops::RangeInclusive;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::certificate::Pair;
use crate::support::ledger::Client;
use crate::support::process::Place;
use crate::support::receiver::{Received, Receiver, Reply};
use crate::support::waiting::eventually;
use crate::support::webhook::{HERE, Webhook, seconds};

/// The pause before a second attempt, in seconds, and a second that an attempt may begin late.
const SOON: RangeInclusive<i64> = 4..=7;

/// A way to fail, by the path of its receiver, and what follows from it.
struct Way {
    path: &'static str,
    status: Option<u16>,
    error: &'static str,
    /// In how many seconds after the end of the attempt the next one is due.
    next: Option<RangeInclusive<i64>>,
    state: &'static str,
    why: &'static str,
}

const WAYS: [Way; 8] = [
    Way {
        path: "/500",
        status: Some(500),
        error: "status",
        next: Some(SOON),
        state: "active",
        why: "The receiver answered with the status 500.",
    },
    Way {
        path: "/302",
        status: Some(302),
        error: "status",
        next: Some(SOON),
        state: "active",
        why: "The receiver answered with the status 302.",
    },
    Way {
        path: "/410",
        status: Some(410),
        error: "status",
        next: None,
        state: "disabled",
        why: "The receiver answered with the status 410.",
    },
    Way {
        path: "/429/seconds",
        status: Some(429),
        error: "status",
        next: Some(119..=121),
        state: "active",
        why: "The receiver answered with the status 429.",
    },
    Way {
        path: "/429/date",
        status: Some(429),
        error: "status",
        next: Some(598..=601),
        state: "active",
        why: "The receiver answered with the status 429.",
    },
    Way {
        path: "/reset",
        status: None,
        error: "connect",
        next: Some(SOON),
        state: "active",
        why: "There was no connection to the receiver, or it ended without an answer.",
    },
    Way {
        path: "/silence",
        status: None,
        error: "timeout",
        next: Some(SOON),
        state: "active",
        why: "The receiver did not answer in time.",
    },
    Way {
        path: "/drip",
        status: None,
        error: "timeout",
        next: Some(SOON),
        state: "active",
        why: "The receiver did not answer in time.",
    },
];

/// Accepts each test, and fails afterwards as the path says.
fn by_path(received: &Received) -> Reply {
    if received.body.contains("webhook.test") {
        return Reply::status(204, "");
    }
    let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(600));
    match received.path() {
        "/500" => Reply::status(500, ""),
        "/302" => Reply::status(302, "location: /well\r\n"),
        "/410" => Reply::status(410, ""),
        "/429/seconds" => Reply::status(429, "retry-after: 120\r\n"),
        "/429/date" => Reply::status(429, &format!("retry-after: {date}\r\n")),
        "/reset" => Reply::Reset,
        "/silence" => Reply::Silence,
        "/drip" => Reply::Drip("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_owned()),
        _ => Reply::status(204, ""),
    }
}

/// The attempt of a webhook to tell of a record, if it has made one.
async fn attempt(webhook: &Webhook, client: &Client) -> Option<Value> {
    let all = webhook.deliveries(client).await;
    all.into_iter().rev().find(|attempt| attempt["event"] != "webhook.test")
}

#[tokio::test(flavor = "multi_thread")]
async fn each_way_to_fail_has_its_state_and_its_next_attempt_and_delays_no_other() {
    let pair = Pair::new();
    let receiver = Receiver::start("127.0.0.1", Some(pair.acceptor()), by_path).await;
    let stranger = Receiver::start("127.0.0.1", Some(Pair::new().acceptor()), by_path).await;
    let (place, token) = Place::with_ann("Super Users").await;
    let served = place.serve_trusting(&pair, &[HERE]).await;
    let client = Client::of(&served, &token);
    let at = |receiver: &Receiver, path: &str| {
        format!("https://localhost:{}{path}", receiver.address.port())
    };
    let create = async |url: String| {
        Webhook::create(&client, &url, json!({"types": ["manufacturers"]})).await
    };
    let well = create(at(&receiver, "/well")).await;
    well.enable(&client).await;
    let mut failing = Vec::new();
    for way in &WAYS {
        let webhook = create(at(&receiver, way.path)).await;
        webhook.enable(&client).await;
        failing.push((way, webhook));
    }
    let strange = create(at(&stranger, "/")).await;
    strange.switch(true, &client).await;

    for name in ["Birch", "Oak", "Elm"] {
        client.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    eventually("the one that is well has the test and all records", async || {
        let told = receiver.received().into_iter().filter(|of| of.path() == "/well");
        (told.count() == 4).then_some(())
    })
    .await;
    for (way, webhook) in failing.iter().filter(|(way, _)| way.error == "timeout") {
        assert_eq!(attempt(webhook, &client).await, None, "{} is still waited for", way.path);
    }
    for (way, webhook) in &failing {
        let made = eventually(way.path, async || attempt(webhook, &client).await).await;
        let expected = (&json!(way.status), &json!(way.error), &json!(1));
        assert_eq!((&made["status"], &made["error"], &made["attempt"]), expected, "{}", way.path);
        let next = made["next_attempt_on"].is_string().then(|| {
            let took = made["duration_ms"].as_i64().unwrap() / 1_000;
            seconds(&made, "next_attempt_on") - seconds(&made, "attempted_on") - took
        });
        let is_expected = match (&way.next, next) {
            (Some(expected), Some(next)) => expected.contains(&next),
            (expected, next) => expected.is_none() && next.is_none(),
        };
        assert!(is_expected, "{}: {next:?}", way.path);
        let attributes = webhook.attributes(&client).await;
        assert_eq!([&attributes["state"], &attributes["last_failure"]], [way.state, way.why]);
    }
    // Nobody was told of anything there.
    let tried = &strange.deliveries(&client).await[0];
    assert_eq!((&tried["error"], &tried["next_attempt_on"]), (&json!("tls"), &Value::Null));
    let attributes = strange.attributes(&client).await;
    assert_eq!(
        [&attributes["state"], &attributes["last_failure"]],
        [
            "pending",
            "There was no encrypted connection to the receiver: its certificate is not trusted or not for this \
             name, or it does not speak TLS."
        ]
    );
    assert!(stranger.received().is_empty());
    served.stop().await;
}
