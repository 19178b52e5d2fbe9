//! The metrics of the host, in the format that Prometheus reads, while the measured events happen.

use std::collections::BTreeMap;

use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::support::harness::{Answer, MEDIA_TYPE, ROOT, fixture};
use crate::support::process::{Place, Served};
use crate::support::smtp::Sink;
use crate::support::waiting::eventually;

const API: &str = "/api/index.php/v1/misbehaves";

/// The fixture, served with metrics.
struct Watched {
    place: Place,
    served: Served,
    token: String,
    metrics: String,
}

impl Watched {
    async fn open(environment: &[(&str, &str)]) -> Watched {
        Watched::at(Place::of_the_fixture(), environment).await
    }

    async fn at(place: Place, environment: &[(&str, &str)]) -> Watched {
        let token = place.user("ann", "Manager").await;
        let mut environment = environment.to_vec();
        environment.push(("HOST_METRICS", "127.0.0.1:0"));
        let served = place.serve_with(&environment).await;
        let line = served.log.wait_for("metrics at ").await;
        let metrics = line.split_once("metrics at ").unwrap().1.to_owned();
        Watched { place, served, token, metrics }
    }

    async fn get(&self, path: &str) -> Answer {
        Answer::to(self.served.get(&format!("{API}/{path}"), &self.token)).await
    }

    async fn scrape(&self) -> Metrics {
        let answer = Answer::to(reqwest::Client::new().get(&self.metrics)).await;
        assert_eq!(answer.status, 200);
        let media_type = answer.header("content-type");
        assert!(media_type.starts_with("application/openmetrics-text; version=1.0.0"));
        Metrics::read(&String::from_utf8(answer.body).unwrap())
    }
}

/// The values of a scrape, by name and labels as written.
#[derive(Debug)]
struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    /// Parses the text, and fails the test if it violates the format: each value belongs to a
    /// metric that has been described before, no value and no metric occurs twice, and the end is
    /// marked.
    fn read(text: &str) -> Metrics {
        let lines = text.strip_suffix("# EOF\n").unwrap();
        let mut kinds: BTreeMap<&str, &str> = BTreeMap::new();
        let mut helped: Vec<&str> = Vec::new();
        let mut values = BTreeMap::new();
        let mut current = "";
        for line in lines.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                helped.push(help.split_once(' ').unwrap().0);
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert_eq!(kinds.insert(name, kind), None, "{name} is described twice");
                assert!(helped.contains(&name), "{name} is not explained");
                current = name;
            } else {
                let (series, value) = line.rsplit_once(' ').unwrap();
                let name = series.split('{').next().unwrap();
                let suffixes: &[&str] = match kinds[current] {
                    "counter" => &["_total"],
                    "histogram" => &["_bucket", "_sum", "_count"],
                    _ => &[""],
                };
                let suffix = name.strip_prefix(current).unwrap_or_else(|| panic!("stray: {line}"));
                assert!(suffixes.contains(&suffix), "{line}");
                let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
                assert_eq!(values.insert(series.to_owned(), value), None, "twice: {series}");
            }
        }
        Metrics(values)
    }

    #[track_caller]
    fn get(&self, series: &str) -> f64 {
        self.find(series).unwrap_or_else(|| panic!("no {series} in {self:#?}"))
    }

    fn find(&self, series: &str) -> Option<f64> {
        self.0.get(series).copied()
    }

    /// The names and labels with this prefix.
    fn series(&self, prefix: &str) -> Vec<&str> {
        self.0.keys().map(String::as_str).filter(|series| series.starts_with(prefix)).collect()
    }
}

fn requests(route: &str, status: u16) -> String {
    format!("host_http_requests_total{{route=\"{route}\",status=\"{status}\"}}")
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn requests_are_counted_by_route_and_never_by_path() {
    let watched = Watched::open(&[]).await;
    let before = watched.scrape().await;
    assert_eq!(before.series("host_http_requests_total"), [""; 0]);
    for number in 1..=3 {
        watched.get(&format!("echo/{number}/word-{number}")).await.expect(200);
        watched.get(&format!("no-such-{number}")).await.expect(404);
        let bare = watched.served.bare("GET", &format!("/elsewhere-{number}"));
        assert_eq!(Answer::to(bare).await.status, 404);
        let odd = watched.served.bare(&format!("ODD{number}"), "/");
        assert_eq!(Answer::to(odd).await.status, 404);
    }
    watched.get("panic").await.expect(500);
    let echo = format!("{API}/echo/1/x");
    let stranger = watched.served.bare("GET", &echo).header("accept", MEDIA_TYPE);
    Answer::to(stranger).await.expect(401);
    watched.served.is_alive().await;

    let after = watched.scrape().await;
    let mut expected = vec![
        (requests("health", 200), 1.0),
        (requests("misbehaves.echo", 200), 3.0),
        (requests("misbehaves.echo", 401), 1.0),
        (requests("misbehaves.panic", 500), 1.0),
        (requests("none", 404), 9.0),
    ];
    for (series, count) in &expected {
        assert_eq!(after.get(series), *count, "{series}");
    }
    expected.sort_by(|one, other| one.0.cmp(&other.0));
    let series: Vec<&str> = expected.iter().map(|(series, _)| series.as_str()).collect();
    assert_eq!(after.series("host_http_requests_total"), series);

    // The histogram contains them all, each in its bucket and all larger ones.
    let of = |suffix: &str, more: &str| {
        format!("host_http_request_duration_seconds_{suffix}{{{more}route=\"misbehaves.echo\"}}")
    };
    assert_eq!(after.get(&of("count", "")), 4.0);
    assert!(after.get(&of("sum", "")) > 0.0);
    let buckets = |bound: &str| after.get(&of("bucket", &format!("le=\"{bound}\",")));
    assert_eq!(buckets("+Inf"), 4.0);
    assert!(buckets("0.0005") <= buckets("0.1") && buckets("0.1") <= buckets("+Inf"));
    watched.served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn requests_in_progress_are_counted_until_they_end() {
    let watched = Watched::open(&[]).await;
    let none = watched.scrape().await;
    assert_eq!(none.get("host_http_requests_in_flight"), 0.0);
    assert_eq!(none.get("host_http_connections"), 0.0);

    let mut flying = watched.served.connect().await;
    let _idle = watched.served.connect().await;
    let token = &watched.token;
    let held = format!(
        "GET {API}/held/release HTTP/1.1\r\nhost: localhost\r\naccept: {MEDIA_TYPE}\r\n\
         authorization: Bearer {token}\r\n\r\n"
    );
    flying.write_all(held.as_bytes()).await.unwrap();
    watched.served.log.wait_for("held").await;
    eventually("one request on two connections", async || {
        let now = watched.scrape().await;
        let (requests, connections) =
            (now.get("host_http_requests_in_flight"), now.get("host_http_connections"));
        (requests == 1.0 && connections == 2.0).then_some(())
    })
    .await;

    // A request whose client disconnects is no longer in progress, and has no response.
    drop(flying);
    eventually("the client has left", async || {
        let now = watched.scrape().await;
        let gone = now.get("host_http_requests_in_flight") == 0.0
            && now.get("host_http_connections") == 1.0;
        (gone && now.find(&requests("none", 499)) == Some(1.0)).then_some(())
    })
    .await;
    watched.served.stop().await;
}

/// A histogram of durations is of no use if it contains the time in which nothing was to be done.
#[tokio::test]
async fn requests_that_wait_are_counted_and_have_no_duration() {
    let watched = Watched::at(Place::with([fixture("waits")]), &[]).await;
    let ask = |method: &str| watched.served.bare(method, "/api/index.php/v1/waits/news");
    let waiting = async || {
        eventually("a request waits", async || {
            let now = watched.scrape().await;
            (now.get("host_http_requests_waiting") == 1.0).then_some(now)
        })
        .await
    };
    let before = watched.scrape().await;
    assert_eq!(before.get("host_http_requests_waiting"), 0.0);
    let (answered, now) = tokio::join!(Answer::to(ask("GET").header("prefer", "wait=60")), async {
        let now = waiting().await;
        Answer::to(ask("POST")).await.expect(200);
        now
    });
    answered.expect(200);
    assert_eq!(now.get("host_http_requests_in_flight"), 1.0);
    assert_eq!(now.get("host_http_connections"), 1.0);
    Answer::to(ask("GET")).await.expect(200);
    // A client that disconnects while it waits.
    let gone = tokio::spawn(ask("GET").header("prefer", "wait=60").send());
    waiting().await;
    gone.abort();
    let after = eventually("the client has left", async || {
        let now = watched.scrape().await;
        (now.find(&requests("none", 499)) == Some(1.0)).then_some(now)
    })
    .await;
    assert_eq!(after.get("host_http_requests_waiting"), 0.0);
    assert_eq!(after.get(&requests("waits.news", 200)), 2.0);
    let durations = |route: &str| {
        after.find(&format!("host_http_request_duration_seconds_count{{route=\"{route}\"}}"))
    };
    assert_eq!((durations("waits.news"), durations("none")), (Some(1.0), None));
    watched.served.stop().await;
}

#[tokio::test]
async fn the_store_reports_its_connections_and_pending_mails() {
    let sink = Sink::start().await;
    sink.refuse(550);
    let environment = [("HOST_SMTP_URL", sink.url())];
    let environment = environment.each_ref().map(|(name, url)| (*name, url.as_str()));
    let watched = Watched::at(Place::of_the_store(), &environment).await;
    let mails = async |state: &str| {
        watched.scrape().await.get(&format!("webservices_shop_mails{{state=\"{state}\"}}"))
    };
    assert_eq!((mails("waiting").await, mails("given_up").await), (0.0, 0.0));
    for (path, body) in [
        ("/orders", json!({"user_email": "ada@example.com"})),
        ("/orders/1/history", json!({"order_state_id": 7, "notify_customer": 1})),
    ] {
        let request = watched.served.ask("POST", &format!("{ROOT}{path}"), &watched.token);
        let request = request.header("content-type", "application/json").body(body.to_string());
        Answer::to(request).await.expect(201);
    }
    let given_up = async || (mails("given_up").await == 1.0).then_some(());
    eventually("the mail is given up", given_up).await;
    assert_eq!(mails("waiting").await, 0.0);
    let connections = watched.scrape().await;
    assert!(!connections.series("webservices_shop_connections{pool=").is_empty());
    watched.served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn mails_are_counted_by_outcome() {
    let sink = Sink::start().await;
    let watched = Watched::open(&[("HOST_SMTP_URL", &sink.url())]).await;
    let mails = async || {
        let now = watched.scrape().await;
        ["sent", "failed", "refused"]
            .map(|result| now.get(&format!("host_mails_total{{result=\"{result}\"}}")))
    };
    assert_eq!(mails().await, [0.0; 3]);
    let send = async |id: &str| {
        let mail = json!({
            "id": id, "to": "bob@example.com", "to_name": "", "subject": "", "text": "",
        });
        let path = format!("{API}/mail");
        Answer::to(watched.served.ask("POST", &path, &watched.token).body(mail.to_string())).await;
    };
    send("one").await;
    send("two").await;
    sink.refuse(450);
    send("three").await;
    sink.refuse(550);
    send("three").await;
    send("../four").await;
    assert_eq!(mails().await, [2.0, 1.0, 2.0]);
    watched.served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn metrics_of_an_extension_have_its_name() {
    let watched = Watched::open(&[]).await;
    let now = watched.scrape().await;
    assert_eq!(now.get("misbehaves_patience_left"), 2.5);
    assert_eq!(
        now.series("misbehaves_words"),
        [
            "misbehaves_words_total{kind=\"plain\"}",
            "misbehaves_words_total{kind=\"with \\\"quotes\\\"\\nand lines\"}",
        ]
    );
    // A metric whose name is invalid or taken is left out.
    assert_eq!(now.series("misbehaves_").len(), 3, "{now:#?}");

    // A failing extension is left out, and everything else remains.
    std::fs::write(watched.place.data("mute"), "").unwrap();
    let muted = watched.scrape().await;
    assert_eq!(muted.series("misbehaves_"), [""; 0]);
    watched.served.log.wait_for("the secret of the silence").await;
    assert_eq!(muted.get("host_http_connections"), 0.0);

    std::fs::remove_file(watched.place.data("mute")).unwrap();
    watched.place.run("extension disable misbehaves").await;
    eventually("a disabled extension says nothing", async || {
        watched.scrape().await.series("misbehaves_").is_empty().then_some(())
    })
    .await;
    watched.served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_use_of_the_hosts_database_is_reported() {
    let watched = Watched::open(&[]).await;
    watched.get("echo/1/x").await.expect(200);
    let now = watched.scrape().await;
    let series = now.series("host_database_connections{");
    assert!(!series.is_empty(), "{now:#?}");
    assert!(series.iter().any(|series| series.contains("state=\"idle\"")), "{series:?}");
    let open: f64 = series.iter().map(|series| now.get(series)).sum();
    assert!(open >= 1.0, "{now:#?}");
    watched.served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn metrics_are_served_at_their_own_address_only() {
    let watched = Watched::open(&[]).await;
    assert_eq!(Answer::to(watched.served.bare("GET", "/metrics")).await.status, 404);
    let client = reqwest::Client::new();
    let elsewhere = watched.metrics.replace("/metrics", "/health");
    assert_eq!(Answer::to(client.get(elsewhere)).await.status, 404);
    assert_eq!(Answer::to(client.post(&watched.metrics)).await.status, 405);
    watched.served.stop().await;

    // There are no metrics by default, and an invalid address ends the program.
    let place = Place::of_the_fixture();
    let served = place.serve().await;
    assert!(!served.log.all().iter().any(|line| line.contains("metrics at")));
    served.stop().await;
    let line = place.refusal("serve --listen 127.0.0.1:0 --metrics nowhere").await;
    assert!(line.starts_with("cannot listen on nowhere: write an address with a port"), "{line}");
}
