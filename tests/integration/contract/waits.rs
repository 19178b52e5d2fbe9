//! Requests that wait, in an application that mounts a plugin: which are granted how much time, how many,
//! and what ends a wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderMap, Request};
use host_interface::{Caller, Environment, Host, LogRecord, capability};
use host_service::{Access, Asking, Extension, Limits, Mount, OnWait, Refusal};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tower_service::Service;

use crate::support::harness::fixture;
use crate::support::waiting::{eventually, patiently};

/// An application whose routes are public.
struct Open;

impl Access for Open {
    type User = Caller;

    async fn authenticate(&self, _asking: Asking<'_>) -> Result<Option<Caller>, Refusal> {
        Ok(None)
    }
}

impl Host for Open {
    fn log(&self, _record: &LogRecord<'_>) {}
}

/// An answer of the fixture.
#[derive(Debug)]
struct Answered {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

impl Answered {
    fn applied(&self) -> Option<&str> {
        self.headers.get("preference-applied").map(|value| value.to_str().unwrap())
    }
}

fn mounted(limits: Limits) -> Mount<Open> {
    let library = host_service::open(&fixture("waits")).unwrap();
    let environment = Environment::new("sqlite://unused.db").base_path("/api");
    let environment = environment.capabilities([capability::EVENTS]);
    let extension = Extension::create(&library, Open, environment).unwrap();
    let mount = Mount::new(Arc::new(Open), [extension], limits).unwrap();
    mount.start().unwrap();
    mount
}

fn with_waiters(waiters: usize) -> Mount<Open> {
    let mut limits = Limits::default();
    limits.waiters = waiters;
    mounted(limits)
}

fn request(path: &str, prefer: &[&str]) -> Request<Body> {
    let mut request = Request::get(format!("/api/v1/waits/{path}"));
    for value in prefer {
        request = request.header("prefer", *value);
    }
    request.body(Body::empty()).unwrap()
}

async fn send(mount: &Mount<Open>, request: Request<Body>) -> Answered {
    let (head, body) = mount.clone().call(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Answered { status: head.status.as_u16(), headers: head.headers, body }
}

async fn ask(mount: &Mount<Open>, path: &str, prefer: &[&str]) -> Answered {
    patiently(path, send(mount, request(path, prefer))).await
}

/// Begins requests that wait, and returns when the plugin holds so many open.
async fn waiting(mount: &Mount<Open>, count: usize) -> Vec<JoinHandle<Answered>> {
    let begin = |_| {
        let mount = mount.clone();
        tokio::spawn(async move { send(&mount, request("news", &["wait=60"])).await })
    };
    let begun = (0..count).map(begin).collect();
    until_held_open(mount, count).await;
    begun
}

async fn until_held_open(mount: &Mount<Open>, count: usize) {
    eventually("so many requests wait", async || {
        (ask(mount, "waiting", &[]).await.body == count).then_some(())
    })
    .await;
}

async fn publish(mount: &Mount<Open>) {
    let news = Request::post("/api/v1/waits/news").header("prefer", "wait=30");
    let published = send(mount, news.body(Body::empty()).unwrap()).await;
    assert_eq!((published.status, published.applied()), (200, None), "a change never waits");
    assert_eq!(published.body, json!({"wait": null, "end": "none"}));
}

#[tokio::test]
async fn the_client_the_route_and_the_host_decide_how_long_a_request_waits() {
    let mount = with_waiters(1);
    for (path, prefer, granted) in [
        ("news", &["wait=1"][..], Some("1")),
        ("news", &["respond-async, WAIT = \"1\"; strict", "wait=60"], Some("1")),
        ("news", &[], None),
        ("news", &["wait=0"], None),
        ("news", &["wait=soon"], None),
        ("news", &["respond-async"], None),
        ("at-once", &["wait=1"], None),
    ] {
        let answered = ask(&mount, path, prefer).await;
        let end = if granted.is_some() { "time" } else { "none" };
        assert_eq!(answered.body, json!({"wait": granted, "end": end}), "{path} {prefer:?}");
        let applied = granted.map(|seconds| format!("wait={seconds}"));
        assert_eq!((answered.status, answered.applied()), (200, applied.as_deref()));
    }
    // A minute is the longest.
    let waiting = tokio::spawn({
        let mount = mount.clone();
        async move { send(&mount, request("news", &["wait=3600"])).await }
    });
    until_held_open(&mount, 1).await;
    publish(&mount).await;
    let answered = patiently("the news", waiting).await.unwrap();
    assert_eq!(answered.body, json!({"wait": "60", "end": "news"}));
    assert_eq!(answered.applied(), Some("wait=60"));
}

#[tokio::test]
async fn without_a_place_a_request_is_answered_at_once() {
    let mount = with_waiters(2);
    let waiting = waiting(&mount, 2).await;
    let answered = ask(&mount, "news", &["wait=60"]).await;
    assert_eq!(answered.body, json!({"wait": null, "end": "none"}));
    assert_eq!((answered.status, answered.applied()), (200, None));
    publish(&mount).await;
    for waiting in waiting {
        assert_eq!(patiently("the news", waiting).await.unwrap().body["end"], "news");
    }
    assert_eq!(ask(&mount, "news", &["wait=1"]).await.body["wait"], "1", "there is room again");

    let none = with_waiters(0);
    assert_eq!(ask(&none, "news", &["wait=60"]).await.body["wait"], Value::Null);
}

#[tokio::test]
async fn the_time_limit_of_a_request_begins_after_its_wait() {
    let mut limits = Limits::default();
    limits.request_timeout = Duration::from_millis(300);
    let mount = mounted(limits);
    let began = Instant::now();
    let answered = ask(&mount, "news", &["wait=1"]).await;
    assert_eq!((answered.status, &answered.body["end"]), (200, &json!("time")));
    assert!(began.elapsed() >= Duration::from_secs(1));

    let began = Instant::now();
    let answered = ask(&mount, "hangs", &["wait=1"]).await;
    assert_eq!((answered.status, answered.applied()), (504, Some("wait=1")));
    assert!(began.elapsed() >= Duration::from_millis(1300));
    assert_eq!(ask(&mount, "hangs", &[]).await.status, 504);
}

/// Counts as an application does: one that waits more, and one less when its guard is dropped.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn on_wait(&self) -> OnWait {
        let counted = self.clone();
        OnWait::new(move || {
            counted.0.fetch_add(1, Ordering::Relaxed);
            Ends(counted.clone())
        })
    }

    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

struct Ends(Counted);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn an_application_learns_when_a_wait_begins_and_ends() {
    let mut limits = Limits::default();
    (limits.waiters, limits.request_timeout) = (1, Duration::from_secs(3600));
    let (mount, counted) = (mounted(limits), Counted::default());
    let begin = |path: &str, prefer: &str| {
        let mut request = request(path, &[prefer]);
        request.extensions_mut().insert(counted.on_wait());
        let mount = mount.clone();
        tokio::spawn(async move { send(&mount, request).await })
    };
    // By an answer.
    let waiting = begin("news", "wait=60");
    until_held_open(&mount, 1).await;
    assert_eq!(counted.get(), 1);
    let refused = patiently("an answer", begin("news", "wait=60")).await.unwrap();
    assert_eq!((refused.applied(), counted.get()), (None, 1), "there is no place for this one");
    publish(&mount).await;
    patiently("the news", waiting).await.unwrap();
    assert_eq!(counted.get(), 0);
    // By a client that disconnects, which drops the future of the plugin, too.
    let waiting = begin("news", "wait=60");
    until_held_open(&mount, 1).await;
    waiting.abort();
    until_held_open(&mount, 0).await;
    eventually("the wait has ended", async || (counted.get() == 0).then_some(())).await;
    // By its time, though the plugin does not answer. The place is free for the next.
    let hangs = begin("hangs", "wait=3");
    eventually("the wait has begun", async || (counted.get() == 1).then_some(())).await;
    eventually("the wait has ended", async || (counted.get() == 0).then_some(())).await;
    assert!(!hangs.is_finished());
    assert_eq!(ask(&mount, "news", &["wait=1"]).await.applied(), Some("wait=1"));
    hangs.abort();
}

#[tokio::test]
async fn a_stop_answers_those_who_wait_and_lets_nobody_wait_any_more() {
    let mount = with_waiters(10);
    let waiting = waiting(&mount, 3).await;
    mount.stopping();
    for waiting in waiting {
        let answered = patiently("an answer", waiting).await.unwrap();
        assert_eq!((answered.status, &answered.body["end"]), (200, &json!("stop")));
    }
    let answered = ask(&mount, "news", &["wait=60"]).await;
    assert_eq!(answered.body, json!({"wait": null, "end": "none"}));
    mount.shut_down(Duration::from_secs(5)).await;
}
