//! Events and facts: what a host reports to a plugin that asks for it, and what it knows about a
//! request.

use serde_json::{Value, json};

use crate::support::fixture::BELIEVED;
use crate::support::harness::{Answer, fixture};
use crate::support::process::Place;
use crate::support::visitor::{PASSWORD, Visitor};

const FACTS: &str = "/api/index.php/v1/listens/facts";

#[tokio::test]
async fn each_host_reports_what_changes_on_the_site() {
    let place = Place::with([fixture("listens")]);
    let (one, other) = tokio::join!(place.serve(), place.serve());
    for (command, event) in [
        ("config set mood \"glad\"", json!({"event": "parameters_changed"})),
        ("extension disable listens", json!({"event": "switched", "enabled": false})),
        ("extension enable listens", json!({"event": "switched", "enabled": true})),
    ] {
        place.run(command).await;
        for served in [&one, &other] {
            served.log.wait_for(&format!("event {event}")).await;
        }
    }
    for served in [one, other] {
        let log = served.log.clone();
        served.stop().await;
        log.wait_for("event {\"event\":\"stopping\"}").await;
        let reported = log.all().iter().filter(|line| line.contains("fixture")).count();
        assert_eq!(reported, 4, "no event is reported twice: {:#?}", log.all());
    }
}

#[tokio::test]
async fn a_request_that_waits_is_answered_when_the_host_begins_to_stop() {
    let place = Place::with([fixture("listens")]);
    let served = place.serve().await;
    let waiting = Answer::to(served.bare("GET", "/api/index.php/v1/listens/waits"));
    let (answered, ()) = tokio::join!(waiting, async {
        served.log.wait_for("a request waits").await;
        served.signal("TERM").await;
    });
    assert_eq!((answered.status, &*answered.body), (200, &b"until the stop"[..]));
}

#[tokio::test]
async fn a_removed_user_is_reported_where_they_were_removed() {
    let place = Place::with([fixture("listens")]);
    place.user("ann", "Manager").await;
    let served = place.serve().await;
    let removed = place.call("user remove ann").finish().await;
    removed.succeeds();
    let event = "event {\"event\":\"user_removed\",\"user\":1}";
    assert!(removed.err().contains(event), "{}", removed.err());
    let log = served.log.clone();
    served.stop().await;
    assert!(!log.all().iter().any(|line| line.contains(event)), "{:#?}", log.all());
}

#[tokio::test]
async fn a_user_who_is_removed_on_a_page_is_reported_by_the_host_of_the_page() {
    let place = Place::with([fixture("listens")]);
    place.add_administrator("boss", PASSWORD).await;
    place.user("ann", "Manager").await;
    let served = place.serve().await;
    let mut boss = Visitor::of(&served.url(""));
    boss.sign_in("boss", PASSWORD).await;
    let removed = boss.fill("/users/2/delete", "/users/2/delete", &[]).await;
    assert_eq!((removed.status, removed.to()), (303, "/administrator/users"), "{}", removed.html);
    served.log.wait_for("event {\"event\":\"user_removed\",\"user\":2}").await;
    served.stop().await;
}

#[tokio::test]
async fn an_event_that_fails_panics_or_never_ends_is_a_line_in_the_log() {
    let place = Place::with([fixture("listens")]);
    let served = place.serve().await;
    for (mood, error) in [
        ("sad", "error=not today"),
        ("cross", "error=panicked: the mood is bad"),
        ("deaf", "error=it took too long"),
    ] {
        place.run(&format!("config set mood \"{mood}\"")).await;
        served.log.wait_for(error).await;
        served.is_alive().await;
    }
    served.stop().await;
}

#[tokio::test]
async fn a_request_has_the_facts_that_the_host_knows() {
    let place = Place::with([fixture("listens")]);
    let served = place.serve_with(&[BELIEVED]).await;
    let facts = async |headers: &[(&str, &str)]| -> Value {
        let mut request = served.bare("GET", FACTS);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        Answer::to(request).await.json()
    };
    assert_eq!(facts(&[]).await, json!({"address": "127.0.0.1", "parent": null}));
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert_eq!(
        facts(&[("x-forwarded-for", "203.0.113.5"), ("traceparent", parent)]).await,
        json!({"address": "203.0.113.5", "parent": parent})
    );
    let twice = [("traceparent", parent), ("traceparent", parent)];
    assert_eq!(facts(&twice).await["parent"], Value::Null);
    served.stop().await;
}
