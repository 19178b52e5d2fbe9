//! Receivers that are away for an hour, a day and five days of a clock that is moved on: when they are tried, how their
//! webhooks are meanwhile, and that nothing is missing when they are back.

use std::collections::BTreeSet;

use host_interface::{Method, undelivered};
use serde_json::{Value, json};

use super::sends::{Sending, URL, events};
use crate::support::outside::{Answer, Message};
use crate::support::waiting::eventually;
use crate::support::webhook::seconds;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// The pauses between the attempts of an event.
const PAUSES: [i64; 9] =
    [5, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];

/// A store with a webhook whose receiver is away.
struct Absence {
    shop: Sending,
    /// How far the clock was moved.
    passed: i64,
    /// The place of the webhook before that.
    cursor: Value,
}

/// What the receiver has to hear of afterwards.
const EXPECTED: [&str; 4] = [
    "manufacturers.created 2",
    "manufacturers.created 4",
    "manufacturers.created 5",
    "manufacturers.deleted 3",
];

impl Absence {
    /// Begins after one record that the receiver was told of.
    async fn begin() -> Absence {
        let shop = Sending::open().await;
        shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
        shop.maker("Ash").await;
        let cursor = shop.during(async {
            let cursor = shop.messages(2).await[1].json()["data"]["cursor"].clone();
            shop.until("behind", 0).await;
            cursor
        });
        let cursor = cursor.await;
        shop.outside.answer(URL, Answer::Failure(undelivered::CONNECT));
        Absence { shop, passed: 0, cursor }
    }

    /// Makes three records that the receiver is not told of.
    async fn make(&self) {
        for name in ["Birch", "Oak", "Elm"] {
            self.shop.maker(name).await;
        }
    }

    /// Lets at least so much time pass, and each attempt in it be made.
    async fn last(&mut self, seconds: i64) {
        while self.passed < seconds {
            self.try_what_is_due().await;
            let Some(left) = self.left().await else { return };
            self.shop.pass(left).await;
            self.passed += left;
        }
        self.try_what_is_due().await;
    }

    async fn try_what_is_due(&self) {
        // Changes get their places in the feed.
        self.shop.store.ask(Method::Get, "/changes?page[size]=1", json!(null)).await;
        let tried = async || (self.left().await.is_none_or(|left| left > 0)).then_some(());
        self.shop.during(eventually("all that is due is tried", tried)).await;
    }

    /// How many seconds are left until the next attempt; nothing if there will be none.
    async fn left(&self) -> Option<i64> {
        let attributes = self.shop.attributes(1).await;
        let next = match attributes["state"].as_str()? {
            "active" if attributes["behind"] != 0 => return Some(0),
            "active" if attributes["retrying"] == 0 => return None,
            // The last one may be done since: then there is more to see at once.
            "active" => "SELECT coalesce(min(due_at), 0) FROM shop_webhook_retries",
            "failing" => "SELECT resume_at FROM shop_webhook_places",
            "pending" => return Some(0),
            _ => return None,
        };
        Some((self.shop.number(next).await - self.shop.now().await).max(0))
    }

    /// While it is away, of three records one is changed, one is deleted, and another one is made.
    async fn change(&self) {
        let changed = json!({"enabled": 0});
        self.shop.write(Method::Patch, "/manufacturers/4", changed).await;
        self.shop.write(Method::Delete, "/manufacturers/3", json!(null)).await;
        self.shop.maker("Fir").await;
    }

    /// It is back: returns what it accepts until nothing is left.
    async fn end(mut self) -> (Sending, Vec<Message>) {
        self.shop.outside.take();
        self.shop.outside.answer(URL, Answer::Status(204));
        self.passed = 0;
        self.last(2 * DAY).await;
        let attributes = self.shop.attributes(1).await;
        assert_eq!((&attributes["behind"], &attributes["retrying"]), (&json!(0), &json!(0)));
        assert_eq!(attributes["state"], "active");
        let told = self.shop.outside.take();
        (self.shop, told)
    }
}

/// What was told beside tests, sorted.
fn told_of(told: &[Message]) -> Vec<String> {
    let mut found = events(told);
    found.retain(|event| event != "webhook.test");
    found.sort();
    found
}

/// Nothing is missing, nothing is told twice, and what has changed meanwhile is told in its latest version.
fn is_complete(told: &[Message]) {
    assert_eq!(told_of(told), EXPECTED);
    let changed = told.iter().find(|message| message.event() == EXPECTED[1]).unwrap();
    assert_eq!(changed.json()["data"]["version"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_away_for_an_hour_gets_everything_afterwards() {
    let mut absence = Absence::begin().await;
    absence.make().await;
    absence.last(10 * MINUTE).await;
    absence.change().await;
    absence.last(HOUR).await;
    let attributes = absence.shop.attributes(1).await;
    let log = absence.shop.deliveries(1).await;
    let failures = log.iter().filter(|attempt| !attempt["error"].is_null()).count();
    assert_eq!(attributes["state"] == "failing", failures >= 20, "{failures}: {attributes}");
    assert_eq!(absence.shop.number("SELECT count(*) FROM shop_mails").await, 0);
    let (_, told) = absence.end().await;
    is_complete(&told);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_receiver_that_is_away_for_a_day_is_probed_and_its_user_is_told() {
    let mut absence = Absence::begin().await;
    absence.make().await;
    absence.last(10 * HOUR).await;
    absence.change().await;
    absence.last(DAY).await;
    let attributes = absence.shop.attributes(1).await;
    assert_eq!(attributes["state"], "failing", "{attributes}");
    assert_eq!(absence.shop.number("SELECT count(*) FROM shop_mails").await, 1);
    let (_, told) = absence.end().await;
    is_complete(&told);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_receiver_that_is_away_for_five_days_is_given_up_and_goes_on_where_it_has_stopped() {
    let mut absence = Absence::begin().await;
    absence.make().await;
    absence.last(2 * DAY).await;
    absence.change().await;
    absence.last(5 * DAY + HOUR).await;
    let attributes = absence.shop.attributes(1).await;
    assert_eq!([&attributes["state"], &attributes["disabled_reason"]], ["disabled", "failures"]);
    assert_eq!(absence.shop.number("SELECT count(*) FROM shop_mails").await, 2);
    assert_eq!(absence.shop.outside.trail()[0].action, "webhooks.disable");
    absence.shop.write(Method::Patch, "/webhooks/1", json!({"enabled": 1})).await;
    let cursor = absence.cursor.clone();
    let (shop, told) = absence.end().await;
    // An event is given up after its tenth attempt, which the list of attempts shows, and can be replayed.
    let log = shop.deliveries(1).await;
    let given_up = log.iter().filter(|attempt| attempt["attempt"] == 10);
    let given_up = given_up.map(|attempt| attempt["record_id"].to_string());
    let told = told_of(&told);
    let told = told.iter().map(|event| event.rsplit_once(' ').unwrap().1.to_owned());
    let records = told.chain(given_up).collect::<BTreeSet<String>>();
    assert_eq!(records, ["2", "3", "4", "5"].map(str::to_owned).into());
    shop.write(Method::Post, "/webhooks/1/replay", json!({"cursor": cursor})).await;
    is_complete(&shop.during(shop.messages(EXPECTED.len())).await);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_event_is_given_up_after_ten_attempts_and_can_be_replayed() {
    let mut absence = Absence::begin().await;
    absence.shop.maker("Birch").await;
    absence.last(5 * DAY).await;
    let log = absence.shop.deliveries(1).await;
    let log: Vec<&Value> = log.iter().rev().filter(|attempt| attempt["record_id"] == 2).collect();
    let numbers: Vec<_> = log.iter().map(|attempt| attempt["attempt"].as_i64().unwrap()).collect();
    assert_eq!(numbers, Vec::from_iter(1..=10));
    for (attempt, pause) in log.iter().zip(PAUSES) {
        let left = seconds(attempt, "next_attempt_on") - seconds(attempt, "attempted_on");
        // A fifth more or less, and the seconds that an attempt may take here.
        assert!((pause * 4 / 5 - 1..=pause * 6 / 5 + 3).contains(&left), "{pause}: {attempt}");
    }
    assert_eq!(log[9]["next_attempt_on"], Value::Null);
    let attributes = absence.shop.attributes(1).await;
    assert_eq!((&attributes["state"], &attributes["retrying"]), (&json!("active"), &json!(0)));

    let Absence { shop, cursor, .. } = absence;
    let failed = shop.outside.take();
    shop.outside.answer(URL, Answer::Status(204));
    shop.write(Method::Post, "/webhooks/1/replay", json!({"cursor": cursor})).await;
    let again = shop.during(shop.messages(1)).await;
    assert_eq!((again[0].id(), again[0].event()), (failed[9].id(), failed[9].event()));
}
