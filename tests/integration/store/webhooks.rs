//! Webhooks as a resource: what can be set, what is refused, and a secret that is shown once.

use host_interface::Method;
use plugin::sql::Statement;
use serde_json::{Value, json};

use super::shelves::{document, id, text};
use crate::support::bare::{Bare, KeyedHeaders};
use crate::support::databases::Engine;
use crate::support::outside::Outside;

const URL: &str = "https://example.com/hooks";

async fn open() -> (Bare, Outside) {
    let outside = Outside::default();
    (Bare::of(Engine::of_this_run(), outside.handle()).await, outside)
}

/// The code and the pointer of each fault.
fn faults(answer: &host_interface::Response) -> Vec<String> {
    let errors = document(answer)["errors"].as_array().cloned().unwrap_or_default();
    let fault = |error: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        format!("{} {}", text(&error["code"]), text(&error["source"]["pointer"]))
    };
    errors.iter().map(fault).collect()
}

/// Everything that the tables of webhooks hold, as text.
async fn kept(store: &Bare) -> String {
    let mut transaction = store.app.shop.store.begin_read().await.unwrap();
    let columns = "sealed || ' ' || former_sealed FROM shop_webhook_places";
    let mut all = Vec::new();
    for text in [format!("SELECT {columns}"), "SELECT body FROM shop_keys".to_owned()] {
        all.extend(transaction.texts(Statement { text, binds: Vec::new() }).await.unwrap());
    }
    all.join("\n")
}

#[tokio::test]
async fn a_webhook_from_creation_to_removal() {
    let (store, outside) = open().await;
    let body = json!({
        "url": URL, "description": "ERP", "types": ["orders", "products"],
        "events": ["deleted", "created"],
    });
    let made = store.ask(Method::Post, "/webhooks", body).await;
    assert_eq!(made.status(), 201, "{}", text(&made));
    assert!(outside.woken() > 0, "the sender is told");
    let attributes = document(&made)["data"]["attributes"].clone();
    let secret = attributes["secret"].as_str().unwrap();
    assert!(secret.starts_with("whsec_") && secret.len() == 50, "{secret}");
    for (name, value) in [
        ("types", json!(["orders", "products"])),
        ("events", json!(["created", "deleted"])),
        ("payload", json!("thin")),
        ("enabled", json!(1)),
        ("state", json!("pending")),
        ("disabled_reason", json!("")),
        ("behind", json!(0)),
        ("retrying", json!(0)),
        ("last_success_on", Value::Null),
        ("user_id", json!(7)),
    ] {
        assert_eq!(attributes[name], value, "{name}");
    }
    let tag = |answer: &host_interface::Response| {
        let header = answer.headers().iter().find(|header| header.name() == "etag");
        header.map(|header| header.value().to_owned())
    };
    let read = store.ask(Method::Get, "/webhooks/1", Value::Null).await;
    assert_eq!(document(&read)["data"]["attributes"]["secret"], "");
    assert_eq!((tag(&made).is_some(), tag(&made)), (true, tag(&read)));

    let off = store.ask(Method::Patch, "/webhooks/1", json!({"enabled": 0})).await;
    let off = document(&off)["data"]["attributes"].clone();
    assert_eq!([&off["state"], &off["disabled_reason"]], ["disabled", "request"]);
    let on = store.ask(Method::Patch, "/webhooks/1", json!({"enabled": 1})).await;
    let on = document(&on)["data"]["attributes"].clone();
    assert_eq!([&on["state"], &on["disabled_reason"]], ["pending", ""]);

    let list = store.ask(Method::Get, "/webhooks?list[ordering]=state", Value::Null).await;
    assert_eq!(document(&list)["meta"]["total"], 1, "{}", text(&list));
    assert!(document(&list)["data"][0]["attributes"].get("secret").is_none());
    let feed = store.ask(Method::Get, "/changes?page[size]=1000", Value::Null).await;
    assert!(!text(&feed).contains("webhooks"), "a webhook is no news for webhooks");
    assert_eq!(store.ask(Method::Delete, "/webhooks/1", Value::Null).await.status(), 204);
    assert_eq!(store.ask(Method::Get, "/webhooks/1", Value::Null).await.status(), 404);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn bad_input_is_refused_by_pointer_and_changes_nothing() {
    let (store, _) = open().await;
    for (body, expected) in [
        (json!({}), &["missing_field /url"][..]),
        (json!({"url": ""}), &["invalid_value /url"]),
        (json!({"url": "http://example.com/"}), &["invalid_value /url"]),
        (json!({"url": "https://10.0.0.1/"}), &["invalid_value /url"]),
        (json!({"url": URL, "types": ["orders", "odrers"]}), &["invalid_value /types"]),
        (json!({"url": URL, "types": ["webhooks"]}), &["invalid_value /types"]),
        (json!({"url": URL, "types": "orders"}), &["invalid_value /types"]),
        (json!({"url": URL, "types": ["Orders"]}), &["invalid_value /types"]),
        (json!({"url": URL, "events": ["made"]}), &["invalid_value /events"]),
        (json!({"url": URL, "payload": "fat"}), &["invalid_value /payload"]),
        (json!({"url": URL, "scopes": "x"}), &["unknown_field /scopes"]),
        (
            json!({"url": "ftp://x", "payload": 1, "types": ["nothing"]}),
            &["invalid_value /payload", "invalid_value /types", "invalid_value /url"],
        ),
    ] {
        let answer = store.ask(Method::Post, "/webhooks", body.clone()).await;
        let mut found = faults(&answer);
        found.sort();
        assert_eq!(found, expected, "{body}: {}", text(&answer));
    }
    let list = store.ask(Method::Get, "/webhooks", Value::Null).await;
    assert_eq!(document(&list)["meta"]["total"], 0);

    // What only the store sets is ignored, as everywhere.
    let body = json!({"url": URL, "state": "active", "user_id": 1, "secret": "mine"});
    let made = store.ask(Method::Post, "/webhooks", body).await;
    let attributes = document(&made)["data"]["attributes"].clone();
    assert_eq!((&attributes["state"], &attributes["user_id"]), (&json!("pending"), &json!(7)));
    assert_ne!(attributes["secret"], "mine");
    let moved = store.ask(Method::Patch, "/webhooks/1", json!({"url": "https://10.1.1.1/"})).await;
    assert_eq!(faults(&moved), ["invalid_value /url"]);
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_replay_begins_at_a_moment_or_a_cursor_that_the_feed_still_has() {
    let (store, _) = open().await;
    store.ask(Method::Post, "/webhooks", json!({"url": URL})).await;
    let replay = async |body: Value| store.ask(Method::Post, "/webhooks/1/replay", body).await;
    let cursor = |feed: &str, seq: i64| {
        let text = format!("{feed} named zones {seq} .");
        base64::Engine::encode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, text)
    };
    let zone = json!({"zone_name": "Zug", "zone_code": "ZG2", "country_id": 15});
    assert_eq!(store.ask(Method::Post, "/zones", zone).await.status(), 201);
    let feed = store.ask(Method::Get, "/changes?filter[types]=zones&page[size]=1000", json!(null));
    let walk = document(&feed.await)["links"]["next"].as_str().unwrap().to_owned();
    let walk = walk.rsplit_once("page%5Bafter%5D=").unwrap().1.to_owned();
    let other = cursor("0000000000000000", 5);
    for (body, expected) in [
        (json!({}), "missing_field /since"),
        (json!({"since": "2001-01-01", "cursor": walk.clone()}), "missing_field /since"),
        (json!({"since": "2001-01-01"}), "invalid_value /since"),
        (json!({"since": "2199-01-01"}), "invalid_value /since"),
        (json!({"since": "yesterday"}), "invalid_value /since"),
        (json!({"cursor": "nonsense"}), "invalid_value /cursor"),
        (json!({"cursor": walk}), "invalid_value /cursor"),
        (json!({"cursor": other}), "invalid_value /cursor"),
    ] {
        let answer = replay(body.clone()).await;
        assert_eq!(faults(&answer), [expected], "{body}: {}", text(&answer));
    }
    // A feed begins in the second after it was made, and since the one after that nothing has changed: both webhooks are
    // at the same place.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let made = store.ask(Method::Post, "/webhooks", json!({"url": URL})).await;
    let made = document(&made)["data"]["attributes"].clone();
    let answer = replay(json!({"since": made["created_on"]})).await;
    assert_eq!(answer.status(), 200, "{}", text(&answer));
    assert_eq!(document(&answer)["data"]["attributes"]["behind"], made["behind"]);
    let missing = store.ask(Method::Post, "/webhooks/9/replay", json!({})).await;
    assert_eq!(missing.status(), 404);
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stored_only_encrypted() {
    let (store, _) = open().await;
    let key = || KeyedHeaders("\"first\"".to_owned());
    let body = json!({"url": URL});
    let made = store.ask_with(Method::Post, "/webhooks", body.clone(), key()).await;
    let again = store.ask_with(Method::Post, "/webhooks", body, key()).await;
    let secret = document(&made)["data"]["attributes"]["secret"].as_str().unwrap().to_owned();
    assert_eq!((made.status(), again.status()), (201, 201));
    assert_eq!(id(&made), id(&again));
    let again = document(&again);
    assert_eq!(again["data"]["attributes"]["secret"], "");
    assert_eq!(again["meta"]["secret_shown_before"], 1);

    let rotated = store.ask(Method::Post, "/webhooks/1/rotate", json!({})).await;
    assert_eq!(rotated.status(), 200, "{}", text(&rotated));
    let second = document(&rotated)["data"]["attributes"]["secret"].as_str().unwrap().to_owned();
    assert!(second != secret && second.starts_with("whsec_"), "{second}");
    let refused = store.ask(Method::Post, "/webhooks/1/rotate", json!({"secret": "mine"})).await;
    assert_eq!(faults(&refused), ["unknown_field /secret"]);
    let kept = kept(&store).await;
    assert!(kept.contains("webhook 1|"), "{kept}");
    assert!(!kept.contains(&secret) && !kept.contains(&second), "{kept}");
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_store_has_at_most_50_webhooks() {
    let (store, _) = open().await;
    for _ in 0..50 {
        let made = store.ask(Method::Post, "/webhooks", json!({"url": URL})).await;
        assert_eq!(made.status(), 201, "{}", text(&made));
    }
    let one_too_many = store.ask(Method::Post, "/webhooks", json!({"url": URL})).await;
    assert_eq!((one_too_many.status(), faults(&one_too_many)), (422, vec!["refused ".to_owned()]));
    store.ask(Method::Delete, "/webhooks/7", Value::Null).await;
    let made = store.ask(Method::Post, "/webhooks", json!({"url": URL})).await;
    assert_eq!(made.status(), 201);
}
