//! Requests that wait, on a running host: their connections are not counted, the host serves others
//! beside them, and a stop answers them.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::harness::{Answer, fixture};
use crate::support::process::{Place, Served};
use crate::support::waiting::{eventually, patiently};

const API: &str = "/api/index.php/v1/waits";

async fn serve(environment: &[(&str, &str)]) -> (Place, Served) {
    let place = Place::with([fixture("waits")]);
    let served = place.serve_with(environment).await;
    (place, served)
}

/// A connection on which a request waits.
struct Waiting(TcpStream);

impl Waiting {
    /// Sends a request that asks to wait for so many seconds.
    async fn begin(served: &Served, seconds: u64) -> Waiting {
        let mut connection = served.connect().await;
        let request =
            format!("GET {API}/news HTTP/1.1\r\nhost: localhost\r\nprefer: wait={seconds}\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        Waiting(connection)
    }

    /// The answer to the only request so far.
    async fn answer(&mut self) -> String {
        let mut answer = String::new();
        let mut piece = [0; 1024];
        // The body is one object.
        while !answer.ends_with('}') {
            let read = patiently("an answer", self.0.read(&mut piece)).await.unwrap();
            assert!(read > 0, "the connection was closed after {answer:?}");
            answer.push_str(std::str::from_utf8(&piece[..read]).unwrap());
        }
        answer
    }
}

/// Begins so many requests that wait.
async fn begin(served: &Served, count: usize) -> Vec<Waiting> {
    let mut waiting = Vec::new();
    for _ in 0..count {
        waiting.push(Waiting::begin(served, 60).await);
        // No more of them are new than the host has room for connections that do not wait yet.
        if waiting.len() % 10 == 0 {
            until_waiting(served, waiting.len()).await;
        }
    }
    until_waiting(served, count).await;
    waiting
}

/// Waits until so many requests are held open by the plugin.
async fn until_waiting(served: &Served, count: usize) {
    eventually("so many requests wait", async || {
        (get(served, "waiting").await == count.to_string()).then_some(())
    })
    .await;
}

async fn get(served: &Served, path: &str) -> String {
    let answer = Answer::to(served.bare("GET", &format!("{API}/{path}"))).await.expect(200);
    String::from_utf8(answer.body).unwrap()
}

async fn publish(served: &Served) {
    Answer::to(served.bare("POST", &format!("{API}/news"))).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn a_thousand_clients_wait_beside_fifty_connections_in_little_memory() {
    // One address has a tenth of the places.
    let environment = [
        ("HOST_CONNECTIONS", "50"),
        ("HOST_CONNECTIONS_PER_ADDRESS", "40"),
        ("HOST_WAITERS", "10000"),
    ];
    let (_place, served) = serve(&environment).await;
    get(&served, "at-once").await;
    let before = served.memory();
    let mut waiting = begin(&served, 1000).await;
    let grown = served.memory().saturating_sub(before);
    println!("{} KiB for a thousand requests that wait", grown / 1024);
    assert!(grown < 40 * 1024 * 1024, "{grown} bytes");

    // Others are served, as many at a time as there may be connections of one client.
    for _ in 0..10 {
        let at_once = (0..30).map(|_| get(&served, "at-once"));
        for answer in futures_util::future::join_all(at_once).await {
            assert_eq!(answer, r#"{"wait":null,"end":"none"}"#);
        }
    }
    // It has no place for one more.
    let mut next = Waiting::begin(&served, 60).await;
    let refused = next.answer().await;
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("\r\nretry-after: 5\r\n"));

    publish(&served).await;
    for waiting in &mut waiting {
        let answer = waiting.answer().await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("\r\npreference-applied: wait=60\r\n"), "{answer}");
        assert!(answer.ends_with(r#"{"wait":"60","end":"news"}"#), "{answer}");
    }
    // Their connections count again, and as idle ones make room.
    get(&served, "at-once").await;
    served.stop().await;
}

#[tokio::test]
async fn a_wait_that_ends_on_a_full_host_gets_its_answer() {
    let (_place, served) = serve(&[("HOST_CONNECTIONS", "2")]).await;
    let mut waiting = Waiting::begin(&served, 3).await;
    until_waiting(&served, 1).await;
    let mut busy = Vec::new();
    for number in 1..=2 {
        let mut connection = served.connect().await;
        let hangs = format!("GET {API}/hangs HTTP/1.1\r\nhost: localhost\r\n\r\n");
        connection.write_all(hangs.as_bytes()).await.unwrap();
        eventually("it is in progress", async || {
            let hang = served.log.all().iter().filter(|line| line.contains("it hangs")).count();
            (hang == number).then_some(())
        })
        .await;
        busy.push(connection);
    }
    let refused = served.raw(&[&format!("GET {API}/at-once HTTP/1.1")], b"").await;
    assert_eq!(refused.status(), 503, "the host is full: {}", refused.0);
    let answer = waiting.answer().await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""end":"time""#), "{answer}");
    // It is a connection like any other now, and the next request on it is answered.
    let again = format!("GET {API}/at-once HTTP/1.1\r\nhost: localhost\r\n\r\n");
    waiting.0.write_all(again.as_bytes()).await.unwrap();
    assert!(waiting.answer().await.starts_with("HTTP/1.1 200 "));
    drop(busy);
    served.stop().await;
}

#[tokio::test]
async fn no_other_time_limit_ends_a_wait() {
    let limits = ["HOST_HEADER_TIMEOUT", "HOST_STALL_TIMEOUT", "HOST_REQUEST_TIMEOUT"];
    let (_place, served) = serve(&limits.map(|name| (name, "1"))).await;
    let began = Instant::now();
    let mut waiting = Waiting::begin(&served, 3).await;
    let answer = waiting.answer().await;
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""end":"time""#), "{answer}");
    assert!(began.elapsed() >= Duration::from_secs(3));
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_disconnects_leaves_its_place_to_the_next() {
    let (_place, served) = serve(&[("HOST_WAITERS", "1")]).await;
    let first = Waiting::begin(&served, 60).await;
    until_waiting(&served, 1).await;
    let mut refused = Waiting::begin(&served, 60).await;
    assert!(refused.answer().await.ends_with(r#"{"wait":null,"end":"none"}"#));
    drop(first);
    until_waiting(&served, 0).await;
    let line = served.log.wait_for("status=499").await;
    assert!(line.contains(" waited_us="), "{line}");
    let mut next = Waiting::begin(&served, 60).await;
    until_waiting(&served, 1).await;
    publish(&served).await;
    assert!(next.answer().await.ends_with(r#"{"wait":"60","end":"news"}"#));
    let others = served.log.all();
    let at_once = others.iter().find(|line| line.contains("waits.waiting")).unwrap();
    assert!(!at_once.contains("waited_us"), "{at_once}");
    served.stop().await;

    let (_place, served) = serve(&[("HOST_WAITERS", "0")]).await;
    let mut nobody = Waiting::begin(&served, 60).await;
    assert!(nobody.answer().await.ends_with(r#"{"wait":null,"end":"none"}"#));
    served.stop().await;
}

/// Addresses are those that a trusted proxy names.
#[tokio::test(flavor = "multi_thread")]
async fn one_token_and_one_address_hold_a_tenth_of_the_places() {
    let environment = [("HOST_WAITERS", "30"), ("HOST_TRUSTED_PROXIES", "127.0.0.1")];
    let (place, served) = serve(&environment).await;
    place.run("user add ann --email ann@example.com --group Manager").await;
    let mut tokens = Vec::new();
    for name in ["mirror", "till"] {
        tokens.push(place.run(&format!("token create ann --name {name}")).await);
    }
    let ask = |token: Option<usize>, address: &str| {
        let ask = served.bare("GET", &format!("{API}/news")).header("prefer", "wait=60");
        let ask = ask.header("x-forwarded-for", address);
        match token {
            Some(token) => ask.bearer_auth(tokens[token].trim()),
            None => ask,
        }
    };
    let mut waiting = Vec::new();
    let mut begin = async |token: Option<usize>, address: &str| {
        waiting.push(tokio::spawn(Answer::to(ask(token, address))));
        until_waiting(&served, waiting.len()).await;
    };
    for number in 0..3 {
        begin(None, "198.51.100.7").await;
        begin(None, &format!("2001:db8:0:1::{number}")).await;
        begin(Some(0), &format!("203.0.113.{number}")).await;
    }
    let begun = Instant::now();
    for (token, address) in [
        (None, "198.51.100.7"),
        (Some(1), "198.51.100.7"),
        // An IPv6 network is one address.
        (None, "2001:db8:0:1:ffff::1"),
        (Some(0), "203.0.113.9"),
    ] {
        let refused = patiently("a refusal", Answer::to(ask(token, address))).await.expect(503);
        assert_eq!(refused.header("retry-after"), "5");
        assert_eq!(refused.errors(), ["503 unavailable"], "{address}");
    }
    assert!(begun.elapsed() < Duration::from_secs(30), "they have waited");
    // Others have places, and so has everybody who does not want to wait.
    begin(Some(1), "203.0.113.9").await;
    begin(None, "2001:db8:0:2::1").await;
    let at_once =
        served.bare("GET", &format!("{API}/news")).header("x-forwarded-for", "198.51.100.7");
    assert_eq!(Answer::to(at_once).await.expect(200).json()["wait"], Value::Null);
    // Each answer frees a place of its token and its address.
    publish(&served).await;
    for waiting in waiting {
        waiting.await.unwrap().expect(200);
    }
    let again = tokio::spawn(Answer::to(ask(Some(0), "198.51.100.7")));
    until_waiting(&served, 1).await;
    publish(&served).await;
    again.await.unwrap().expect(200);
    served.stop().await;
}

#[tokio::test]
async fn a_stop_answers_those_who_wait_and_is_not_delayed_by_them() {
    let (_place, mut served) = serve(&[("HOST_STOP_TIMEOUT", "3600")]).await;
    let mut waiting = begin(&served, 50).await;
    let began = Instant::now();
    served.signal("TERM").await;
    for waiting in &mut waiting {
        let answer = waiting.answer().await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        assert!(answer.ends_with(r#"{"wait":"60","end":"stop"}"#), "{answer}");
    }
    assert_eq!(served.ended().await, Some(0));
    assert!(began.elapsed() < Duration::from_secs(50), "nobody has waited to the end");
}

#[tokio::test]
async fn nobody_waits_on_a_host_that_drains() {
    let (_place, mut served) = serve(&[("HOST_DRAIN_TIME", "5")]).await;
    let mut waiting = Waiting::begin(&served, 60).await;
    until_waiting(&served, 1).await;
    served.signal("TERM").await;
    served.log.wait_for("draining").await;
    assert!(waiting.answer().await.ends_with(r#"{"wait":"60","end":"stop"}"#));
    let mut late = Waiting::begin(&served, 60).await;
    let answer = late.answer().await;
    assert!(answer.ends_with(r#"{"wait":null,"end":"none"}"#), "{answer}");
    assert!(!answer.contains("preference-applied"), "{answer}");
    assert_eq!(served.ended().await, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_counts_once_towards_a_rate() {
    let (place, served) = serve(&[]).await;
    place.run("user add ann --email ann@example.com --group Manager").await;
    let token = place.run("token create ann --name mirror --rate 2").await;
    let path = format!("{API}/news");
    for (left, status) in [("1", 200), ("0", 200), ("0", 429)] {
        let ask = served.get(&path, token.trim()).header("prefer", "wait=1");
        let answer = Answer::to(ask).await.expect(status);
        let limit = answer.header("ratelimit");
        assert!(limit.starts_with(&format!("\"token\";r={left};")), "{limit}");
    }
    served.stop().await;
}
