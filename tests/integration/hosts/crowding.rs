//! Clients that occupy connections: silent ones, ones that never read, too many of them, and
//! unwanted or slow bodies.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::support::fixture::{ECHO, HELD, serve};
use crate::support::harness::{Answer, MEDIA_TYPE};
use crate::support::process::{Raw, Served, exchange};
use crate::support::visitor::PASSWORD;
use crate::support::waiting::{eventually, patiently};

const LARGE: &str = "/api/index.php/v1/misbehaves/large";

fn request(path: &str, token: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: {MEDIA_TYPE}\r\n\
         authorization: Bearer {token}\r\n\r\n"
    )
}

/// Opens this many connections with a request that waits for a file.
async fn busy(served: &Served, token: &str, count: usize) -> Vec<TcpStream> {
    let mut connections = Vec::new();
    for number in 0..count {
        let mut connection = served.connect().await;
        connection.write_all(request(HELD, token).as_bytes()).await.unwrap();
        eventually("it is under way", async || {
            let held = served.log.all().iter().filter(|line| line.contains("held")).count();
            (held > number).then_some(())
        })
        .await;
        connections.push(connection);
    }
    connections
}

/// A new connection from this address of the machine.
async fn connect_from(address: &str, host: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
    socket.connect(host).await.unwrap()
}

/// Sends a request on a new connection from this address of the machine, and returns the whole
/// answer.
async fn ask_from(address: &str, served: &Served, path: &str, token: &str) -> Raw {
    let mut connection = connect_from(address, served.address).await;
    let last = request(path, token).replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    Raw(exchange(&mut connection, last.as_bytes()).await)
}

#[tokio::test]
async fn silent_connections_do_not_lock_others_out() {
    let environment = [("HOST_CONNECTIONS", "8"), ("HOST_HEADER_TIMEOUT", "3600")];
    let (_place, served, token) = serve(&environment).await;
    let mut silent = Vec::new();
    for number in 0..40 {
        let mut connection = served.connect().await;
        // Some send nothing, and some never complete a request.
        let start = if number % 2 == 0 { "" } else { "GET /health HTTP/1.1\r\nhost: local" };
        connection.write_all(start.as_bytes()).await.unwrap();
        silent.push(connection);
    }
    Answer::to(served.get(ECHO, &token)).await.expect(200);
    served.is_alive().await;
    // The oldest ones are closed to make room.
    let mut rest = Vec::new();
    patiently("the end of the first", silent[0].read_to_end(&mut rest)).await.unwrap();
    served.stop().await;
}

#[tokio::test]
async fn an_idle_connection_makes_room_for_the_next() {
    let (_place, served, token) =
        serve(&[("HOST_CONNECTIONS", "1"), ("HOST_HEADER_TIMEOUT", "3600")]).await;
    let mut first = served.connect().await;
    for number in 0..2 {
        first.write_all(request(ECHO, &token).as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        patiently("an answer", first.read_exact(&mut answer)).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200", "{number}: as long as nobody wants the place");
        let _ = first.try_read(&mut [0; 4096]);
    }
    let second = served.raw(&[&format!("GET {ECHO} HTTP/1.1")], b"").await;
    assert_eq!(second.status(), 406, "it is answered: {}", second.0);
    let mut rest = Vec::new();
    patiently("the end of the first", first.read_to_end(&mut rest)).await.unwrap();
    served.stop().await;
}

#[tokio::test]
async fn health_is_answered_when_all_connections_are_busy_and_the_rest_get_503() {
    let (place, served, token) = serve(&[("HOST_CONNECTIONS", "2")]).await;
    let flying = busy(&served, &token, 2).await;
    let mut outside = Vec::new();
    for _ in 0..20 {
        outside.push(served.connect().await);
    }
    let refused = Answer::to(served.get(ECHO, &token)).await.expect(503);
    assert_eq!(refused.errors(), ["503 unavailable"]);
    assert!(refused.headers.contains_key("retry-after"));
    for _ in 0..5 {
        assert_eq!(served.raw(&["GET /health HTTP/1.1"], b"").await.status(), 200);
        assert_eq!(served.raw(&["GET /livez HTTP/1.1"], b"").await.status(), 200);
    }
    std::fs::write(place.data("release"), "").unwrap();
    for mut connection in flying {
        let mut answer = [0; 12];
        patiently("an answer", connection.read_exact(&mut answer)).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200", "a request in progress is completed");
    }
    eventually("there is room again", async || {
        (Answer::to(served.get(ECHO, &token)).await.status == 200).then_some(())
    })
    .await;
    served.stop().await;
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn the_connections_of_one_client_are_limited_and_others_keep_theirs() {
    let environment = [("HOST_CONNECTIONS_PER_ADDRESS", "2")];
    let (place, served, token) = serve(&environment).await;
    let flying = busy(&served, &token, 2).await;
    let ask = async |address: &str, path| ask_from(address, &served, path, &token).await.status();
    assert_eq!(ask("127.0.0.1", ECHO).await, 503);
    assert_eq!(ask("127.0.0.1", "/health").await, 200);
    assert_eq!(ask("127.0.0.2", ECHO).await, 200);
    std::fs::write(place.data("release"), "").unwrap();
    drop(flying);
    served.stop().await;
}

#[tokio::test]
async fn a_trusted_proxy_has_as_many_connections_as_it_needs() {
    let environment =
        [("HOST_CONNECTIONS_PER_ADDRESS", "1"), ("HOST_TRUSTED_PROXIES", "127.0.0.1")];
    let (place, served, token) = serve(&environment).await;
    let flying = busy(&served, &token, 3).await;
    Answer::to(served.get(ECHO, &token)).await.expect(200);
    std::fs::write(place.data("release"), "").unwrap();
    drop(flying);
    served.stop().await;
}

#[tokio::test]
async fn a_client_that_never_reads_its_response_is_disconnected() {
    let environment = [("HOST_STALL_TIMEOUT", "1"), ("HOST_LOG", "info,example_host=debug")];
    let (_place, served, token) = serve(&environment).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut peer = socket.connect(served.address).await.unwrap();
    // More than the operating system buffers.
    let asked = request(LARGE, &token).repeat(40);
    peer.write_all(asked.as_bytes()).await.unwrap();
    served.log.wait_for("a connection ended early").await;
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn a_stalled_body_is_given_up() {
    let (_place, served, token) = serve(&[("HOST_STALL_TIMEOUT", "1")]).await;
    let (accept, bearer) =
        (format!("accept: {MEDIA_TYPE}"), format!("authorization: Bearer {token}"));
    let head = [&*format!("POST {ECHO} HTTP/1.1"), &*accept, &*bearer, "content-length: 10"];
    let answer = served.raw(&head, b"five.").await;
    assert_eq!(answer.status(), 408, "{}", answer.0);
    let form = ["POST /administrator/sign-in HTTP/1.1", "content-length: 10"];
    assert_eq!(served.raw(&form, b"five.").await.status(), 408);
    served.stop().await;
}

/// The head of a sign-in whose form has so many bytes.
fn sign_in(length: usize) -> String {
    format!(
        "POST /administrator/sign-in HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n"
    )
}

/// Five addresses with more connections than there are places, on which they send this head and then a
/// byte now and then, and again whenever they are closed. They do so until this is dropped.
fn slow_senders(served: &Served, head: &str) -> JoinSet<()> {
    let mut sending = JoinSet::new();
    for number in 0..600 {
        let (host, head) = (served.address, format!("{head}\r\n"));
        let address = format!("127.0.0.{}", number % 5 + 2);
        sending.spawn(async move {
            sleep(Duration::from_millis(number)).await;
            loop {
                let mut connection = connect_from(&address, host).await;
                let mut sent = connection.write_all(head.as_bytes()).await;
                while sent.is_ok() {
                    sleep(Duration::from_millis(100)).await;
                    sent = connection.write_all(b"x").await;
                }
                sleep(Duration::from_secs(1)).await;
            }
        });
    }
    sending
}

/// Asks the API and for the health for some seconds, and fails if there is no answer.
async fn others_are_answered(served: &Served, token: &str) {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(4) {
        for path in [ECHO, "/health"] {
            let answer = ask_from("127.0.0.1", served, path, token).await;
            assert_eq!(answer.status(), 200, "{path} after {:?}: {}", begun.elapsed(), answer.0);
        }
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn five_addresses_that_send_a_sign_in_slowly_take_no_place_from_others() {
    let (place, served, token) = serve(&[("HOST_CONNECTIONS", "512")]).await;
    place.add_administrator("bob", PASSWORD).await;
    let sending = slow_senders(&served, &sign_in(1_000));
    others_are_answered(&served, &token).await;
    // A sign-in from elsewhere is received, even if its form comes after its head.
    let form = format!("username=bob&password={}", PASSWORD.replace(' ', "+"));
    let head = format!("{}connection: close\r\n\r\n", sign_in(form.len()));
    let mut connection = connect_from("127.0.0.1", served.address).await;
    connection.write_all(head.as_bytes()).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    let answer = Raw(exchange(&mut connection, form.as_bytes()).await);
    assert_eq!(answer.status(), 303, "{}", answer.0);
    drop(sending);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn refused_bodies_that_arrive_slowly_take_no_place_from_others() {
    let (_place, served, token) = serve(&[("HOST_CONNECTIONS", "512")]).await;
    let head = format!(
        "POST {ECHO} HTTP/1.1\r\nhost: localhost\r\naccept: {MEDIA_TYPE}\r\n\
         content-length: 1000\r\n"
    );
    let sending = slow_senders(&served, &head);
    others_are_answered(&served, &token).await;
    drop(sending);
    served.stop().await;
}

#[tokio::test]
async fn a_form_before_signing_in_arrives_within_two_seconds() {
    let (_place, served, _) = serve(&[]).await;
    let mut connection = served.connect().await;
    let begun = Instant::now();
    connection.write_all(format!("{}\r\n", sign_in(1_000)).as_bytes()).await.unwrap();
    // Without a pause of `HOST_STALL_TIMEOUT`, so that only the time of the whole form counts.
    let (mut reading, mut writing) = connection.into_split();
    let sending = tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            sleep(Duration::from_millis(100)).await;
        }
    });
    let mut answer = Vec::new();
    // The end may be a reset, because the host has not read everything.
    let _ = patiently("the answer", reading.read_to_end(&mut answer)).await;
    sending.abort();
    assert_eq!(Raw(String::from_utf8_lossy(&answer).into_owned()).status(), 408);
    let took = begun.elapsed();
    assert!(took >= Duration::from_secs(2), "{took:?}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    served.stop().await;
}

#[tokio::test]
async fn a_form_before_signing_in_holds_a_name_and_a_password_only() {
    let (_place, served, _) = serve(&[]).await;
    for path in ["/administrator/sign-in", "/administrator/users/new", "/administrator/nothing"] {
        let send = async |length: usize| {
            let form = served.bare("POST", path).body(vec![b'x'; length]);
            Answer::to(form.timeout(Duration::from_secs(20))).await
        };
        assert_ne!(send(4 * 1024).await.status, 413, "{path}");
        let refused = send(4 * 1024 + 1).await.expect(413);
        assert_eq!(refused.errors(), ["413 body_too_large"], "{path}");
        send(1024 * 1024).await.expect(413);
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_health_requests_share_one_check() {
    let (_place, served, _) = serve(&[]).await;
    let asked = || served.log.all().iter().filter(|line| line.contains("how am I")).count();
    let ask = || Answer::to(served.bare("GET", "/health"));
    // Connections are opened beforehand, so that all requests arrive at the same moment.
    futures_util::future::join_all((0..100).map(|_| ask())).await;
    let before = asked();
    let answers = futures_util::future::join_all((0..100).map(|_| ask())).await;
    assert!(answers.iter().all(|answer| answer.status == 200));
    let looks = asked() - before;
    assert!(looks < 100, "a hundred strangers had it asked {looks} times");
    // A later request starts a new check.
    ask().await;
    eventually("it is asked again", async || (asked() > before + looks).then_some(())).await;
    served.stop().await;
}

#[tokio::test]
async fn an_unfinished_head_uses_little_memory() {
    let (_place, served, _) = serve(&[("HOST_HEADER_TIMEOUT", "3600")]).await;
    let mut connection = served.connect().await;
    let head = format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {}", "x".repeat(200_000));
    let answer = exchange(&mut connection, head.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn a_stop_does_not_wait_for_an_unfinished_request() {
    let environment = [("HOST_HEADER_TIMEOUT", "3600"), ("HOST_STOP_TIMEOUT", "3600")];
    let (_place, mut served, _) = serve(&environment).await;
    let mut begun = served.connect().await;
    begun.write_all(b"GET /health HTTP/1.1\r\nhost: local").await.unwrap();
    served.is_alive().await;
    served.signal("TERM").await;
    assert_eq!(served.ended().await, Some(0));
}
