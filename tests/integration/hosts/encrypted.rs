//! HTTPS: the configured certificate, a new one while connections are open, and unusable files.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;
use tokio_rustls::client::TlsStream;

use crate::support::certificate::{self, Pair};
use crate::support::process::{Place, Served, exchange};
use crate::support::waiting::{eventually, patiently};

const FILES: [(&str, &str); 2] = [("HOST_TLS_CERT", "cert.pem"), ("HOST_TLS_KEY", "key.pem")];

/// The fixture, served with a certificate.
async fn serve(pair: &Pair) -> (Place, Served) {
    let place = Place::of_the_fixture();
    pair.write(&place.path(""));
    let served = place.serve_with(&FILES).await;
    (place, served)
}

/// A connection of a client that trusts only these certificates; `None` if the server has none of
/// them.
async fn connect(served: &Served, trusted: &[&Pair]) -> Option<TlsStream<TcpStream>> {
    certificate::connect(served.connect().await, trusted).await
}

/// Sends a request on a persistent connection, and returns the whole answer.
async fn ask(connection: &mut TlsStream<TcpStream>) -> String {
    connection.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let end = json!({ "status": "ok" }).to_string();
    patiently("an answer", async {
        while !answer.ends_with(end.as_bytes()) {
            let read = connection.read_buf(&mut answer).await.unwrap();
            assert!(read > 0, "closed after {:?}", String::from_utf8_lossy(&answer));
        }
    })
    .await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_site_with_a_certificate_serves_https_only() {
    let pair = Pair::new();
    let (_place, served) = serve(&pair).await;
    assert!(served.log.all().iter().any(|line| line.contains("listening on https://")));
    let mut connection = connect(&served, &[&pair]).await.unwrap();
    assert!(ask(&mut connection).await.starts_with("HTTP/1.1 200 OK\r\n"));
    // The connection is persistent, and closed in an orderly way.
    let last = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    assert!(exchange(&mut connection, last).await.starts_with("HTTP/1.1 200 OK\r\n"));

    assert!(
        connect(&served, &[&Pair::new()]).await.is_none(),
        "the certificate is that of the file"
    );
    let plain = served.raw(&["GET /health HTTP/1.1"], b"").await.0;
    assert!(!plain.contains("HTTP"), "an answer in clear text: {plain}");
    served.stop().await;
}

#[tokio::test]
async fn strict_transport_security_is_sent_unless_it_is_switched_off() {
    let pair = Pair::new();
    let place = Place::of_the_fixture();
    pair.write(&place.path(""));
    for (age, told) in [("", Some("max-age=31536000")), ("60", Some("max-age=60")), ("0", None)] {
        let environment = [FILES[0], FILES[1], ("HOST_HSTS_MAX_AGE", age)];
        let served = place.serve_with(&environment).await;
        let answer = ask(&mut connect(&served, &[&pair]).await.unwrap()).await;
        let header = answer
            .lines()
            .find_map(|line| line.strip_prefix("strict-transport-security: ").map(str::to_owned));
        assert_eq!(header.as_deref(), told, "{answer}");
        served.stop().await;
    }
    // A client that uses clear text gets no response.
    let served = Place::of_the_fixture().serve().await;
    let plain = served.raw(&["GET /health HTTP/1.1"], b"").await.0;
    assert!(!plain.contains("strict-transport-security"), "{plain}");
}

#[tokio::test]
async fn a_new_certificate_is_loaded_while_connections_stay_open() {
    let first = Pair::new();
    let (place, served) = serve(&first).await;
    let mut old = connect(&served, &[&first]).await.unwrap();
    ask(&mut old).await;

    let second = Pair::new();
    second.write(&place.path(""));
    let mut new =
        eventually("the second certificate", async || connect(&served, &[&second]).await).await;
    ask(&mut new).await;
    ask(&mut old).await;
    assert!(connect(&served, &[&first]).await.is_none(), "the first certificate is no longer used");

    // A key that does not match the certificate changes nothing.
    std::fs::write(place.path("key.pem"), &first.key).unwrap();
    let said = served.log.wait_for("the previous certificate stays in use").await;
    assert!(said.contains("key.pem"), "{said}");
    ask(&mut connect(&served, &[&second]).await.unwrap()).await;
    // Neither do missing files.
    std::fs::remove_file(place.path("cert.pem")).unwrap();
    eventually("it is said again", async || {
        let lines = served.log.all();
        let said =
            lines.iter().filter(|line| line.contains("the previous certificate stays in use"));
        (said.count() == 2).then_some(())
    })
    .await;
    ask(&mut connect(&served, &[&second]).await.unwrap()).await;

    let third = Pair::new();
    third.write(&place.path(""));
    eventually("the third certificate", async || connect(&served, &[&third]).await).await;
    ask(&mut old).await;
    ask(&mut new).await;
    served.stop().await;
}

#[tokio::test]
async fn a_new_certificate_is_read_when_the_program_is_asked_to() {
    let first = Pair::new();
    let (place, served) = serve(&first).await;
    let reported =
        || served.log.all().iter().filter(|line| line.contains("new certificate")).count();
    let begun = Instant::now();
    for number in 1..=5 {
        let next = Pair::new();
        next.write(&place.path(""));
        served.signal("HUP").await;
        let is_read = async || (reported() == number).then_some(());
        eventually("the certificate is read", is_read).await;
        ask(&mut connect(&served, &[&next]).await.unwrap()).await;
    }
    // Whoever does not ask waits until the files were looked at twice, a second apart, and each of the next four
    // comes right after such a look.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(8), "{took:?}");
    // The last one is not reported again when the files are looked at the next time.
    sleep(Duration::from_secs(3)).await;
    assert_eq!(reported(), 5);
    served.stop().await;
}

#[tokio::test]
async fn an_unusable_certificate_prevents_the_start() {
    let place = Place::of_the_fixture();
    let (pair, other) = (Pair::new(), Pair::new());
    pair.write(&place.path(""));
    std::fs::write(place.path("other.pem"), &other.key).unwrap();
    std::fs::write(place.path("text.pem"), "no certificate\n").unwrap();
    std::fs::write(
        place.path("broken.pem"),
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    )
    .unwrap();
    for (certificate, key, says) in [
        ("missing.pem", "key.pem", "missing.pem: No such file"),
        ("cert.pem", "missing.pem", "missing.pem: No such file"),
        ("text.pem", "key.pem", "text.pem: has no certificate in PEM form"),
        ("key.pem", "key.pem", "key.pem: has no certificate in PEM form"),
        ("cert.pem", "cert.pem", "cert.pem: has no private key in PEM form"),
        ("cert.pem", "other.pem", "cert.pem and other.pem cannot be used: "),
        ("broken.pem", "key.pem", "broken.pem and key.pem cannot be used: "),
    ] {
        let arguments =
            format!("serve --listen 127.0.0.1:0 --tls-cert {certificate} --tls-key {key}");
        let line = place.call(&arguments).finish().await.fails();
        assert!(line.starts_with(says), "{certificate} and {key}: {line}");
        let named = place.call("serve --listen 127.0.0.1:0").env("HOST_TLS_CERT", certificate);
        assert_eq!(named.env("HOST_TLS_KEY", key).finish().await.fails(), line);
        // The quick start reports it before it creates an administrator whose password would never
        // be printed.
        let quick = place.call("").env("HOST_LISTEN", "127.0.0.1:0");
        let quick = quick.env("HOST_TLS_CERT", certificate).env("HOST_TLS_KEY", key);
        assert_eq!(quick.finish().await.fails(), line);
    }
    assert_eq!(place.run("user list").await, "");
    // One option without the other must not lead to clear text.
    for arguments in ["serve --tls-cert cert.pem", "serve --tls-key key.pem"] {
        let line = place.refusal(arguments).await;
        assert!(line.starts_with("TLS needs a certificate and a key"), "{line}");
    }
    let half = place.call("serve").env("HOST_TLS_CERT", "cert.pem").finish().await.fails();
    assert!(half.starts_with("TLS needs a certificate and a key"), "{half}");
}

#[tokio::test]
async fn a_client_that_never_starts_tls_delays_nobody() {
    let pair = Pair::new();
    let place = Place::of_the_fixture();
    pair.write(&place.path(""));
    let mut environment = FILES.to_vec();
    environment.push(("HOST_HEADER_TIMEOUT", "1"));
    let served = place.serve_with(&environment).await;
    let mut silent = served.connect().await;
    let mut connection = connect(&served, &[&pair]).await.unwrap();
    ask(&mut connection).await;
    // It is closed silently when its time is over.
    assert_eq!(exchange(&mut silent, b"").await, "");

    // Nor does it prevent the program from stopping.
    let _silent: Vec<TcpStream> = vec![served.connect().await, served.connect().await];
    served.stop().await;
}

#[tokio::test]
async fn the_quick_start_prints_the_https_address() {
    let place = Place::of_the_fixture();
    Pair::new().write(&place.path(""));
    let mut call = place.call("").env("HOST_LISTEN", "127.0.0.1:0");
    for (name, file) in FILES {
        call = call.env(name, PathBuf::from(file));
    }
    let served = call.start().await;
    let line = served.out.wait_for("Serving at ").await;
    assert_eq!(line, format!("Serving at https://{}", served.address));
    let curl = served.out.wait_for("curl").await;
    assert!(curl.contains(&format!(" https://{}/", served.address)), "{curl}");
    served.stop().await;
}
