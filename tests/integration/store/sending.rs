//! What webhooks send, and what becomes of it: the job of the store with receivers in this process.

use std::collections::BTreeSet;
use std::time::Duration;

use host_interface::{Method, undelivered};
use serde_json::{Value, json};

use super::sends::{Sending, URL, events};
use super::shelves::document;
use crate::support::outside::{Answer, Message};
use crate::support::waiting::eventually;

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_webhook_is_tested_and_then_told_of_each_change_in_order() {
    let shop = Sending::open().await;
    shop.maker("Before").await;
    shop.store.ask(Method::Get, "/changes?page[size]=1", json!(null)).await;
    let secret = shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    shop.maker("Birch").await;
    let all = shop
        .during(async {
            let mut all = shop.messages(2).await;
            shop.write(Method::Patch, "/manufacturers/1", json!({"enabled": 0})).await;
            all.extend(shop.messages(1).await);
            shop.write(Method::Delete, "/manufacturers/2", json!(null)).await;
            all.extend(shop.messages(1).await);
            all
        })
        .await;
    assert_eq!(
        events(&all),
        [
            "webhook.test",
            "manufacturers.created 2",
            "manufacturers.updated 1",
            "manufacturers.deleted 2"
        ]
    );
    for message in &all {
        assert_eq!((&*message.url, message.signatures_of(&secret)), (URL, 1));
        assert_eq!(message.headers["content-type"], "application/json");
    }
    let created = &all[1].json()["data"];
    assert_eq!(created["version"], 1);
    assert_eq!(created["links"]["self"], "/v1/shop/manufacturers/2");
    assert!(created.get("record").is_none());
    // The cursor is a place of the feed.
    let cursor = created["cursor"].as_str().unwrap();
    let path = format!("/changes?filter[types]=manufacturers&page[after]={cursor}");
    let read = document(&shop.store.ask(Method::Get, &path, json!(null)).await);
    assert_eq!(read["data"].as_array().unwrap().len(), 2, "{read}");

    let attributes = shop.attributes(1).await;
    assert_eq!([&attributes["state"], &attributes["last_failure"]], ["active", ""]);
    assert_eq!((&attributes["behind"], &attributes["retrying"]), (&json!(0), &json!(0)));
    let log = shop.deliveries(1).await;
    assert_eq!(log.len(), 4);
    assert_eq!((&log[3]["event"], &log[3]["record_id"]), (&json!("webhook.test"), &Value::Null));
    let first = &log[0];
    assert_eq!(
        (&first["event"], &first["record_id"]),
        (&json!("manufacturers.deleted"), &json!(2))
    );
    assert_eq!((&first["status"], &first["error"]), (&json!(204), &Value::Null));
    assert_eq!((&first["attempt"], &first["next_attempt_on"]), (&json!(1), &Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_changes_of_a_record_are_one_event_and_only_those_wanted_are_sent() {
    let shop = Sending::open().await;
    let events_of = json!({"url": URL, "types": ["manufacturers"], "events": ["created"]});
    shop.add(events_of).await;
    shop.maker("Birch").await;
    for name in ["Bircha", "Birchb"] {
        let body = json!({"manufacturer_name": name});
        shop.write(Method::Patch, "/manufacturers/1", body).await;
    }
    shop.maker("Oak").await;
    let all = shop
        .during(async {
            let all = shop.messages(3).await;
            shop.write(Method::Patch, "/manufacturers/2", json!({"enabled": 0})).await;
            shop.write(Method::Delete, "/manufacturers/1", json!(null)).await;
            shop.maker("Elm").await;
            [all, shop.messages(1).await].concat()
        })
        .await;
    let expected = [
        "webhook.test",
        "manufacturers.created 1",
        "manufacturers.created 2",
        "manufacturers.created 3",
    ];
    let found: BTreeSet<String> = events(&all).into_iter().collect();
    assert_eq!(found, expected.map(str::to_owned).into());
    let first = all.iter().find(|of| of.event() == "manufacturers.created 1").unwrap();
    assert_eq!(first.json()["data"]["version"], 3);
}

/// A row of products is an inventory record while it has a stock.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_record_that_shares_its_row_is_created_when_the_row_shows_it() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["inventory"]})).await;
    let lamp = json!({"product_name": "Lamp", "sku": "L-1", "price": "10", "quantity": 5});
    let all = shop.during(async {
        let mut all = shop.messages(1).await;
        for (method, path, body) in [
            (Method::Post, "/products", lamp),
            (Method::Patch, "/inventory/1", json!({"quantity": 4})),
            (Method::Delete, "/inventory/1", json!(null)),
            (Method::Post, "/inventory", json!({"shop_product_id": 1, "quantity": 3})),
        ] {
            shop.write(method, path, body).await;
            all.extend(shop.messages(1).await);
        }
        all
    });
    assert_eq!(
        events(&all.await)[1..],
        [
            "inventory.created 1",
            "inventory.updated 1",
            "inventory.deleted 1",
            "inventory.created 1"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_message_has_the_record_unless_it_is_too_large() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers"], "payload": "full"})).await;
    shop.maker("Birch").await;
    let long = json!({"manufacturer_name": "Oak", "manufacturer_desc": "x".repeat(65_535)});
    shop.write(Method::Post, "/manufacturers", long).await;
    let mut all = shop.during(shop.messages(3)).await;
    all.sort_by_key(Message::event);
    let record = &all[0].json()["data"]["record"];
    let read = shop.store.ask(Method::Get, "/manufacturers/1", json!(null)).await;
    assert_eq!(*record, document(&read)["data"], "as it is read");
    let large = &all[1].json()["data"];
    assert_eq!((large.get("record"), &large["truncated"]), (None, &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn what_fails_is_tried_again_and_a_newer_change_takes_its_place() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    shop.during(shop.messages(1)).await;
    shop.outside.answer(URL, Answer::Status(500));
    shop.maker("Birch").await;
    shop.during(shop.until("retrying", 1)).await;
    shop.outside.take();
    let log = &shop.deliveries(1).await[0];
    assert_eq!((&log["status"], &log["error"]), (&json!(500), &json!("status")));
    assert!(log["next_attempt_on"].is_string(), "{log}");
    // It is newer, and still the first that the receiver hears of the record.
    shop.write(Method::Patch, "/manufacturers/1", json!({"enabled": 0})).await;
    let first = shop.during(shop.messages(1)).await;
    assert_eq!(events(&first), ["manufacturers.created 1"]);
    assert_eq!(first[0].json()["data"]["version"], 2);
    shop.outside.answer(URL, Answer::Status(200));
    shop.pass(10).await;
    let again = shop.during(async {
        let again = shop.messages(1).await;
        shop.until("retrying", 0).await;
        again
    });
    let again = again.await;
    assert_eq!((again[0].id(), again[0].event()), (first[0].id(), first[0].event()));
    let attributes = shop.attributes(1).await;
    assert_eq!(attributes["last_failure"], "The receiver answered with the status 500.");
    let numbers: Vec<_> = shop.deliveries(1).await.iter().map(|of| of["attempt"].clone()).collect();
    assert_eq!(numbers, [2, 1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_failure_has_the_class_and_the_next_attempt_that_follow_from_it() {
    let day = Duration::from_secs(24 * 60 * 60);
    for (answer, status, error, least, most) in [
        (Answer::Status(302), Some(302), "status", 4, 6),
        (Answer::Later(429, Duration::from_secs(90)), Some(429), "status", 90, 90),
        (Answer::Later(503, day * 9), Some(503), "status", 86_400, 86_400),
        (Answer::Failure(undelivered::TLS), None, "tls", 4, 6),
        (Answer::Failure(undelivered::TIMEOUT), None, "timeout", 4, 6),
        (Answer::Failure("of a later host"), None, "connect", 4, 6),
    ] {
        let shop = Sending::open().await;
        shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
        shop.during(shop.until("state", "active")).await;
        shop.outside.answer(URL, answer.clone());
        shop.maker("Birch").await;
        shop.during(shop.until("retrying", 1)).await;
        let log = &shop.deliveries(1).await[0];
        assert_eq!((&log["status"], &log["error"]), (&json!(status), &json!(error)), "{answer:?}");
        let due = "SELECT r.due_at FROM shop_webhook_retries r";
        let due = shop.number(due).await;
        let left = due - shop.now().await;
        assert!((least - 5..=most + 1).contains(&left), "{answer:?}: {left}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_webhook_that_fails_is_probed_and_goes_on_where_it_has_stopped() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    shop.during(shop.until("state", "active")).await;
    shop.outside.answer(URL, Answer::Failure(undelivered::CONNECT));
    for nth in 0..120 {
        shop.maker(&format!("Maker {nth}")).await;
    }
    let failing = shop.during(shop.until("state", "failing")).await;
    let tried = shop.outside.take().len();
    assert!((20..=24).contains(&tried), "{tried}");
    assert!(failing["behind"].as_i64().unwrap() >= 90, "{failing}");

    // One probe at a time.
    shop.pass(10).await;
    shop.during(async {
        shop.messages(1).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
    })
    .await;
    assert_eq!(shop.outside.take().len(), 0, "one was enough");

    shop.outside.answer(URL, Answer::Status(200));
    shop.pass(400).await;
    let all = shop.during(async {
        shop.until("behind", 0).await;
        shop.until("retrying", 0).await;
        shop.outside.take()
    });
    let all = all.await;
    let told: BTreeSet<String> = events(&all).into_iter().collect();
    assert_eq!(told.len(), 120, "nothing is missing");
    assert_eq!(all.len(), 120, "and nothing is told twice");
    assert_eq!(shop.attributes(1).await["state"], "active");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_is_gone_or_fails_for_days_disables_its_webhook() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    shop.during(shop.until("state", "active")).await;
    shop.outside.answer(URL, Answer::Status(410));
    shop.maker("Birch").await;
    let gone = shop.during(shop.until("state", "disabled")).await;
    assert_eq!((&gone["enabled"], &gone["disabled_reason"]), (&json!(0), &json!("gone")));
    // A test shows whether it is there again, and leaves the webhook as it is.
    shop.write(Method::Post, "/webhooks/1/test", json!({})).await;
    let tried = shop.attributes(1).await;
    assert_eq!([&tried["state"], &tried["disabled_reason"]], ["disabled", "gone"]);
    let trail = shop.outside.trail();
    assert_eq!((&*trail[0].action, &*trail[0].id, trail[0].user), ("webhooks.disable", "1", 7));

    // It is enabled again, and fails from then on.
    shop.outside.answer(URL, Answer::Status(200));
    shop.write(Method::Patch, "/webhooks/1", json!({"enabled": 1})).await;
    shop.during(async {
        shop.until("state", "active").await;
        shop.until("retrying", 0).await;
    })
    .await;
    shop.outside.answer(URL, Answer::Status(500));
    shop.maker("Oak").await;
    shop.during(shop.until("retrying", 1)).await;
    for (days, mails) in [(1, 1), (3, 1), (2, 2)] {
        shop.outside.take();
        shop.pass(days * 24 * 60 * 60).await;
        shop.during(shop.messages(1)).await;
        let queued = shop.number("SELECT count(*) FROM shop_mails").await;
        assert_eq!(queued, mails, "after {days} more days");
    }
    let failed = shop.attributes(1).await;
    assert_eq!([&failed["state"], &failed["disabled_reason"]], ["disabled", "failures"]);
    assert_eq!(shop.outside.trail().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_webhook_sees_what_its_user_may_see_at_each_sending() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers", "taxprofiles"]})).await;
    shop.during(shop.until("state", "active")).await;
    shop.outside.take();
    shop.outside.hide("com_shop.manufacturers");
    shop.maker("Birch").await;
    shop.write(Method::Post, "/taxprofiles", json!({"taxprofile_name": "Books"})).await;
    let told = shop.during(shop.messages(1)).await;
    assert!(told[0].event().starts_with("taxprofiles.created"), "{told:?}");

    shop.outside.block(7, true);
    shop.write(Method::Post, "/taxprofiles", json!({"taxprofile_name": "Food"})).await;
    shop.during(tokio::time::sleep(Duration::from_millis(700))).await;
    assert_eq!(shop.outside.count(), 0, "a blocked user pauses it");
    let paused = shop.attributes(1).await;
    let why = paused["last_failure"].clone();
    assert_eq!(why, "The user of the webhook is gone or blocked.");
    assert!(paused["last_failure_on"].is_string(), "{paused}");
    let test = shop.store.ask(Method::Post, "/webhooks/1/test", json!({})).await;
    assert_eq!((test.status(), document(&test)["errors"][0]["detail"].clone()), (422, why));
    shop.outside.block(7, false);
    let told = shop.during(shop.messages(1)).await;
    assert!(told[0].event().starts_with("taxprofiles.created"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_the_feed_has_forgotten_begins_anew_at_the_present() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    shop.during(shop.until("state", "active")).await;
    shop.outside.take();
    shop.maker("Birch").await;
    shop.store.ask(Method::Get, "/changes?page[size]=1", json!(null)).await;
    shop.store.run("UPDATE shop_feed SET floor = seq").await;
    let told = shop.during(shop.messages(1)).await;
    assert_eq!(events(&told), ["shop.resync"]);
    assert_eq!(told[0].json()["data"]["links"]["first"], "/v1/shop/changes");
    // The same after the feed was begun anew, and what follows is told as usual.
    shop.store.app.shop.store.renew_feed().await.unwrap();
    let told = shop
        .during(async {
            let told = shop.messages(1).await;
            shop.maker("Oak").await;
            [told, shop.messages(1).await].concat()
        })
        .await;
    assert_eq!(events(&told), ["shop.resync", "manufacturers.created 2"]);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_replay_sends_again_under_the_same_ids_and_a_test_answers_with_its_outcome() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    let cursor = shop.during(async {
        shop.until("state", "active").await;
        shop.maker("Birch").await;
        shop.maker("Oak").await;
        shop.messages(3).await
    });
    let first = cursor.await;
    let place = first[1].json()["data"]["cursor"].clone();
    shop.write(Method::Post, "/webhooks/1/replay", json!({"cursor": place})).await;
    let again = shop.during(shop.messages(1)).await;
    assert_eq!(again[0].id(), first[2].id());
    assert_eq!(again[0].event(), "manufacturers.created 2");

    let tried = shop.write(Method::Post, "/webhooks/1/test", json!({})).await;
    let attributes = &tried["data"]["attributes"];
    assert_eq!(
        (&tried["data"]["type"], &attributes["status"]),
        (&json!("webhookdeliveries"), &json!(204))
    );
    let message = &shop.outside.take()[0];
    assert_eq!(message.json()["data"], json!({"webhook": "1"}));
    shop.outside.answer(URL, Answer::Failure(undelivered::DNS));
    let tried = shop.write(Method::Post, "/webhooks/1/test", json!({})).await;
    assert_eq!(tried["data"]["attributes"]["error"], "dns");
    assert_eq!(shop.attributes(1).await["last_failure"], "The name of the receiver is not known.");
}

/// The first change of a second has the first place of it.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_replay_since_the_moment_of_a_change_sends_that_change_again() {
    let shop = Sending::open().await;
    shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    let sent = shop.during(async {
        shop.until("state", "active").await;
        shop.outside.take();
        // Nothing else has happened in the second of the change, not even the beginning of the feed.
        tokio::time::sleep(Duration::from_millis(1_100)).await;
        shop.maker("Birch").await;
        shop.messages(1).await
    });
    let sent = sent.await;
    let since = sent[0].json()["timestamp"].clone();
    shop.write(Method::Post, "/webhooks/1/replay", json!({"since": since})).await;
    let again = shop.during(shop.messages(1)).await;
    assert_eq!((again[0].id(), again[0].event()), (sent[0].id(), sent[0].event()));
}

#[tokio::test(flavor = "multi_thread")]
async fn both_secrets_sign_after_a_rotation_until_a_day_has_passed() {
    let shop = Sending::open().await;
    let first = shop.add(json!({"url": URL, "types": ["manufacturers"]})).await;
    let rotated = shop.write(Method::Post, "/webhooks/1/rotate", json!({})).await;
    let second = rotated["data"]["attributes"]["secret"].as_str().unwrap().to_owned();
    let sent = shop.during(shop.messages(1)).await;
    assert_eq!((sent[0].signatures_of(&first), sent[0].signatures_of(&second)), (1, 1));
    shop.store.run("UPDATE shop_webhook_places SET former_until = 1").await;
    shop.maker("Birch").await;
    let sent = shop.during(shop.messages(1)).await;
    assert_eq!((sent[0].signatures_of(&first), sent[0].signatures_of(&second)), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_ten_receivers_one_that_never_answers_delays_no_other() {
    let shop = Sending::open().await;
    let slow = "https://slow.example.com/";
    shop.add(json!({"url": slow, "types": ["manufacturers"]})).await;
    for nth in 1..10 {
        let url = format!("https://erp{nth}.example.com/");
        shop.add(json!({"url": url, "types": ["manufacturers"]})).await;
    }
    shop.during(async {
        for id in 1..=10 {
            eventually("an active webhook", async || {
                (shop.attributes(id).await["state"] == "active").then_some(())
            })
            .await;
        }
        // Longer than anybody waits here.
        shop.outside.answer(slow, Answer::Slow(200, Duration::from_secs(600)));
        shop.outside.take();
        for nth in 0..20 {
            shop.maker(&format!("Maker {nth}")).await;
        }
        let all = shop.messages(9 * 20 + 4).await;
        let to = |url: &str| all.iter().filter(|of| of.url == url).count();
        assert_eq!(to(slow), 4, "at most four at a time");
        for nth in 1..10 {
            assert_eq!(to(&format!("https://erp{nth}.example.com/")), 20, "{nth}");
        }
    })
    .await;
}
