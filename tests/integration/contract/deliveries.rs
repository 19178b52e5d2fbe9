//! Requests that an extension has its host send: what comes of each answer and of none, and that none reaches an
//! address that is not allowed.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::certificate::Pair;
use crate::support::harness::{Answer, fixture};
use crate::support::process::{Place, Served};
use crate::support::receiver::{Received, Receiver, Reply};

const ROOT: &str = "/api/index.php/v1/outward";

/// The networks in which the receivers are.
const HERE: (&str, &str) = ("HOST_DELIVER_TO", "127.0.0.0/8,::1");

async fn ask(served: &Served, path: &str, body: &Value) -> Answer {
    Answer::to(served.bare("POST", &format!("{ROOT}/{path}")).body(body.to_string())).await
}

/// What comes of a request to this address.
async fn deliver(served: &Served, url: &str) -> Value {
    let asked = json!({"url": url, "body": "{}", "connect_ms": 2_000, "total_ms": 2_000});
    ask(served, "deliver", &asked).await.expect(200).json()
}

/// Why nothing can be sent to this address, as far as that is known at once.
async fn refusal(served: &Served, url: &str) -> Option<String> {
    let answer = ask(served, "may-deliver", &json!(url)).await;
    (answer.status == 422).then(|| answer.json().as_str().unwrap().to_owned())
}

/// A host that trusts this certificate, with this environment.
async fn serve(pair: &Pair, environment: &[(&str, &str)]) -> (Place, Served) {
    let place = Place::with([fixture("outward")]);
    let served = place.serve_trusting(pair, environment).await;
    (place, served)
}

/// The answer with the status in the path.
fn by_path(received: &Received) -> Reply {
    let date = SystemTime::now() + Duration::from_secs(90);
    let date = format!("retry-after: {}\r\n", httpdate::fmt_http_date(date));
    let status = received.path()[1..].parse().unwrap_or(200);
    match status {
        302 => Reply::status(302, "location: /elsewhere\r\n"),
        429 => Reply::status(429, "retry-after: 120\r\n"),
        503 => Reply::status(503, &date),
        status => Reply::status(status, ""),
    }
}

#[tokio::test]
async fn each_answer_is_told_by_its_status_and_no_redirect_is_followed() {
    let pair = Pair::new();
    let receiver = Receiver::start("127.0.0.1", Some(pair.acceptor()), by_path).await;
    let (_place, served) = serve(&pair, &[HERE]).await;
    let port = receiver.address.port();
    for (status, retry_after) in [
        (200, None),
        (204, None),
        (302, None),
        (410, None),
        (429, Some(120_000..=120_000)),
        (500, None),
        (503, Some(80_000..=90_000)),
    ] {
        for host in ["localhost", "127.0.0.1"] {
            let sent = deliver(&served, &format!("https://{host}:{port}/{status}")).await;
            assert_eq!((&sent["status"], &sent["error"]), (&json!(status), &Value::Null), "{sent}");
            let asked = sent["retry_after_ms"].as_u64();
            match &retry_after {
                Some(range) => assert!(range.contains(&asked.unwrap()), "{sent}"),
                None => assert_eq!(asked, None, "{sent}"),
            }
        }
    }
    assert_eq!(receiver.received().len(), 14, "each was sent once");
    assert_eq!(receiver.connections(), 2, "each name has a connection, which is used again");
    served.stop().await;
}

#[tokio::test]
async fn a_request_is_sent_byte_for_byte() {
    let pair = Pair::new();
    let receiver = Receiver::start("127.0.0.1", Some(pair.acceptor()), by_path).await;
    let (_place, served) = serve(&pair, &[HERE]).await;
    let host = format!("localhost:{}", receiver.address.port());
    let body = "{ \"ä\":  1 }\n";
    let headers = json!({"webhook-id": "msg_1", "content-type": "application/json"});
    let asked =
        json!({"url": format!("https://{host}/hook?a=b%20c#d"), "body": body, "headers": headers});
    ask(&served, "deliver", &asked).await.expect(200);
    let received = receiver.received().pop().unwrap();
    assert_eq!(received.head.lines().next(), Some("POST /hook?a=b%20c HTTP/1.1"));
    assert_eq!(received.body, body);
    let agent = format!("example-host/{}", env!("CARGO_PKG_VERSION"));
    for (name, value) in [
        ("host", host.as_str()),
        ("webhook-id", "msg_1"),
        ("content-type", "application/json"),
        ("user-agent", agent.as_str()),
    ] {
        assert_eq!(received.header(name), Some(value), "{}", received.head);
    }
    let asked = json!({"url": format!("https://{host}/"), "headers": {"host": "other.example"}});
    ask(&served, "deliver", &asked).await.expect(422);
    assert_eq!(receiver.received().len(), 1);
    served.stop().await;
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_is_told_by_the_class_of_the_error() {
    let pair = Pair::new();
    let receiver =
        Receiver::start("0.0.0.0", Some(pair.acceptor()), |received| match received.path() {
            "/silence" => Reply::Silence,
            "/drip-of-a-head" => Reply::Drip("HTTP/1.1 200 OK\r\nx-drip: ".to_owned()),
            "/drip" => Reply::Drip("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".to_owned()),
            "/reset" => Reply::Reset,
            "/nonsense" => Reply::Bytes("HTTP/7 none\r\n\r\n".to_owned()),
            "/half" => Reply::Bytes("HTTP/1.1 200 OK\r\ncontent-le".to_owned()),
            _ => Reply::Bytes(format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}",
                1 << 20,
                "x".repeat(1 << 20)
            )),
        });
    let receiver = receiver.await;
    let stranger = Receiver::start("127.0.0.1", Some(Pair::new().acceptor()), by_path).await;
    // Answers without having been asked, and without encryption.
    let plain = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let plain_port = plain.local_addr().unwrap().port();
    let answering = tokio::spawn(async move {
        let mut open = Vec::new();
        loop {
            let (mut stream, _) = plain.accept().await.unwrap();
            stream.write_all(b"HTTP/1.1 400 x\r\ncontent-length: 0\r\n\r\n").await.unwrap();
            open.push(stream);
        }
    });
    // Takes connections, and says nothing on them.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (_place, served) = serve(&pair, &[HERE, ("HOST_METRICS", "127.0.0.1:0")]).await;
    let here = |port: u16, path: &str| format!("https://localhost:{port}/{path}");
    let port = receiver.address.port();
    for (url, error) in [
        (here(port, "silence"), "timeout"),
        (here(port, "drip-of-a-head"), "timeout"),
        (here(port, "drip"), "timeout"),
        (here(port, "reset"), "connect"),
        (here(port, "nonsense"), "connect"),
        (here(port, "half"), "timeout"),
        (here(gone, ""), "connect"),
        (here(mute.local_addr().unwrap().port(), ""), "timeout"),
        (here(stranger.address.port(), ""), "tls"),
        (here(plain_port, ""), "tls"),
        // The certificate is for another name.
        (format!("https://127.0.0.2:{port}/"), "tls"),
        ("https://nowhere.invalid/".to_owned(), "dns"),
    ] {
        let sent = deliver(&served, &url).await;
        assert_eq!((&sent["status"], &sent["error"]), (&Value::Null, &json!(error)), "{url}");
        let took = sent["duration_ms"].as_u64().unwrap();
        let expected = if error == "timeout" { 2_000..4_000 } else { 0..2_000 };
        assert!(expected.contains(&took), "{url}: {sent}");
    }
    assert!(stranger.received().is_empty());
    answering.abort();
    // An answer that is too long is one all the same.
    let long = deliver(&served, &here(port, "long")).await;
    assert_eq!(long["status"], json!(200), "{long}");

    let line = served.log.wait_for("metrics at ").await;
    let metrics = line.split_once("metrics at ").unwrap().1;
    let text = Answer::to(reqwest::Client::new().get(metrics)).await.body;
    let text = String::from_utf8(text).unwrap();
    for series in [
        "host_deliveries_total{result=\"accepted\"} 1\n",
        "host_deliveries_total{result=\"timeout\"} 5\n",
        "host_deliveries_total{result=\"tls\"} 3\n",
        "host_deliveries_in_flight 0\n",
        "host_delivery_duration_seconds_count 13\n",
    ] {
        assert!(text.contains(series), "{series} in {text}");
    }
    served.stop().await;
}

#[tokio::test]
async fn no_connection_is_made_to_an_address_that_is_not_allowed() {
    let pair = Pair::new();
    let inside = Receiver::start("127.0.0.1", None, by_path).await;
    let also = Receiver::start("::1", None, by_path).await;
    let proxy = inside.address.to_string();
    let environment =
        ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]
            .map(|name| (name, proxy.as_str()));
    let (_place, served) = serve(&pair, &environment).await;
    let (port, other) = (inside.address.port(), also.address.port());
    for host in [
        format!("127.0.0.1:{port}"),
        format!("2130706433:{port}"),
        format!("0x7f000001:{port}"),
        format!("0177.0.0.1:{port}"),
        format!("127.1:{port}"),
        format!("0.0.0.0:{port}"),
        format!("[::ffff:127.0.0.1]:{port}"),
        format!("[::1]:{other}"),
        format!("[::]:{other}"),
    ] {
        let url = format!("https://{host}/");
        let why = refusal(&served, &url).await.unwrap();
        assert!(why.contains("is not public"), "{url}: {why}");
        assert_eq!(deliver(&served, &url).await["error"], json!("address"), "{url}");
        let url = format!("http://{host}/");
        assert_eq!(
            refusal(&served, &url).await.as_deref(),
            Some("The address must begin with https://."),
        );
        assert_eq!(deliver(&served, &url).await["error"], json!("address"), "{url}");
    }
    for host in [
        "10.0.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "255.255.255.255",
        "[fe80::1]",
        "[fd00::1]",
        "[ff02::1]",
        "[64:ff9b::7f00:1]",
        "[2001::1]",
        "[2001:db8::1]",
        "[2002:7f00:1::]",
        "[3fff::1]",
    ] {
        let url = format!("https://{host}/");
        assert!(refusal(&served, &url).await.unwrap().contains("is not public"), "{url}");
        assert_eq!(deliver(&served, &url).await["error"], json!("address"), "{url}");
    }
    // Only a look-up shows where a name leads.
    for url in [format!("https://localhost:{port}/"), format!("https://localhost:{other}/")] {
        assert_eq!(refusal(&served, &url).await, None);
        assert_eq!(deliver(&served, &url).await["error"], json!("address"), "{url}");
    }
    for (url, why) in [
        ("https://ann:s3cret@www.example.com/", "user or a password"),
        ("https://www.example.com:25/", "port 25"),
        ("ftp://www.example.com/", "https://"),
        ("nonsense", "not a URL"),
    ] {
        let refused = refusal(&served, url).await.unwrap();
        assert!(refused.contains(why), "{refused}");
        let asked = json!({"url": url, "body": ""});
        assert_eq!(ask(&served, "deliver", &asked).await.expect(422).json(), json!(refused));
    }
    assert_eq!((inside.connections(), also.connections()), (0, 0));
    served.stop().await;
}

#[tokio::test]
async fn a_network_of_the_site_may_be_sent_to_without_encryption_and_no_other() {
    let pair = Pair::new();
    let inside = Receiver::start("127.0.0.2", None, by_path).await;
    let outside = Receiver::start("127.0.0.1", None, by_path).await;
    let (_place, served) = serve(&pair, &[("HOST_DELIVER_TO", "10.0.0.0/8, 127.0.0.2")]).await;
    let [inside_url, outside_url] =
        [&inside, &outside].map(|receiver| format!("http://{}/", receiver.address));
    assert_eq!(refusal(&served, &inside_url).await, None);
    assert_eq!(deliver(&served, &inside_url).await["status"], json!(200));
    assert!(refusal(&served, &outside_url).await.unwrap().contains("not public"));
    assert_eq!(deliver(&served, &outside_url).await["error"], json!("address"));
    // A public address is not in the networks, and needs encryption.
    assert!(refusal(&served, "http://8.8.8.8/").await.unwrap().contains("https://"));
    assert_eq!(deliver(&served, "http://8.8.8.8/").await["error"], json!("address"));
    assert_eq!((inside.connections(), outside.connections()), (1, 0));
    served.stop().await;

    let place = Place::with([fixture("outward")]);
    let wrong = place.call("serve --listen 127.0.0.1:0").env("HOST_DELIVER_TO", "10.0.0.0/8;x");
    assert!(wrong.finish().await.fails().contains("HOST_DELIVER_TO must be"));
}

#[tokio::test]
async fn the_plugin_of_the_documents_sends_its_entries_to_another_site() {
    let place = Place::with([fixture("guestbook")]);
    let (ann, bob) =
        (place.user("ann", "Super Users").await, place.user("bob", "Registered").await);
    let receiver = Receiver::start("127.0.0.1", None, by_path).await;
    let served = place.serve_with(&[HERE]).await;
    let post = async |path: &str, token: &str, body: &str| {
        let asked = served.bare("POST", &format!("/api/index.php/v1/guestbook{path}"));
        Answer::to(asked.bearer_auth(token).header("accept", "text/plain").body(body.to_owned()))
            .await
    };
    assert_eq!(post("", &bob, "Lovely place.").await.status, 201);
    let url = format!("http://{}/", receiver.address);
    assert_eq!(post("/announcements", &bob, &url).await.status, 403);
    let sent = post("/announcements", &ann, &url).await;
    assert_eq!((sent.status, &*sent.body), (200, &b"It was answered with 200.\n"[..]));
    let received = receiver.received();
    let bodies: Vec<&str> = received.iter().map(|received| received.body.as_str()).collect();
    assert_eq!(bodies, ["Lovely place.\n"]);
    assert_eq!(post("/announcements", &ann, "ftp://x/").await.status, 422);
    served.stop().await;
    assert!(place.run("audit export").await.contains("guestbook.announce"));
}
