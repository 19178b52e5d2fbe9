//! A new version takes over from a host that serves: both have the same socket, the old one drains
//! and stops, and no request is refused or lost. Real processes, and clients that keep their
//! connections.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::databases::Engine;
use crate::support::harness::{MEDIA_TYPE, ROOT, fixture, library, library_name};
use crate::support::ledger::{Client, key};
use crate::support::process::{Call, MANUFACTURERS, Place, Served, exchange};
use crate::support::waiting::{PATIENCE, eventually, patiently};

/// The path of the fixture that answers with its version.
const EDITION: &str = "/api/index.php/v1/edition";

/// The number of clients that send requests all the time.
const CLIENTS: usize = 16;

/// How long a host drains, in seconds. No client pauses for as long.
const DRAIN: (&str, &str) = ("HOST_DRAIN_TIME", "3");

/// The longest pause of a client between two requests, in milliseconds.
const PAUSE: u64 = 300;

/// A site, and the socket that its hosts share.
struct Site {
    place: Place,
    socket: TcpListener,
    address: SocketAddr,
    token: String,
}

impl Site {
    async fn new() -> Site {
        let (place, token) = Place::with_ann("Administrator").await;
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        Site { place, socket, address, token }
    }

    /// Copies a release into a folder of its own: the store's library, and a version of the fixture.
    fn release(&self, name: &str, edition: &str) -> [PathBuf; 2] {
        let folder = self.place.path(name);
        std::fs::create_dir(&folder).unwrap();
        [(library(), "plugin"), (fixture(edition), "edition")].map(|(from, name)| {
            let to = folder.join(library_name(name));
            std::fs::copy(from, &to).unwrap();
            to
        })
    }

    /// A host with these libraries on the shared socket.
    fn call(&self, libraries: impl IntoIterator<Item = PathBuf>) -> Call {
        let mut call = self.place.bare_call().env(DRAIN.0, DRAIN.1);
        for library in libraries {
            call = call.word("--plugin").word(library);
        }
        call.word("serve").with_socket(&self.socket)
    }

    async fn serve(&self, libraries: impl IntoIterator<Item = PathBuf>) -> Served {
        let served = self.call(libraries).start().await;
        assert_eq!(served.address, self.address, "it listens on the socket that was passed");
        served
    }

    /// A client that keeps its connection.
    fn client(&self) -> Keeping {
        Keeping { address: self.address, token: self.token.clone(), connection: None }
    }
}

/// A client that sends all requests on one connection until an answer closes it. Every other end of
/// the connection fails the test, also while no request is in progress: a client that had just sent
/// one would have lost it.
struct Keeping {
    address: SocketAddr,
    token: String,
    connection: Option<http1::SendRequest<Full<bytes::Bytes>>>,
}

/// An answer to it.
struct Answered {
    status: u16,
    body: String,
    /// Whether the connection was closed with it.
    closed: bool,
}

impl Answered {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

impl Keeping {
    async fn send(&mut self, method: &str, path: &str, body: Option<Value>) -> Answered {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await,
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("accept", MEDIA_TYPE)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(Full::from(body.map(|body| body.to_string()).unwrap_or_default()))
            .unwrap();
        let answer = async {
            connection.ready().await?;
            let answer = connection.send_request(request).await?;
            let status = answer.status().as_u16();
            let closed =
                answer.headers().get(header::CONNECTION).is_some_and(|value| value == "close");
            let body = answer.into_body().collect().await?.to_bytes();
            let body = String::from_utf8(body.to_vec()).unwrap();
            Ok::<_, hyper::Error>(Answered { status, body, closed })
        };
        let answer = patiently(path, answer).await;
        let answer = answer.unwrap_or_else(|error| panic!("{method} {path} was lost: {error:?}"));
        if !answer.closed {
            self.connection = Some(connection);
        }
        answer
    }

    async fn connect(&self) -> http1::SendRequest<Full<bytes::Bytes>> {
        let stream = TcpStream::connect(self.address).await.expect("a connection was refused");
        let (connection, driver) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(driver);
        connection
    }
}

/// What a client has seen.
#[derive(Default)]
struct Seen {
    /// The references of the orders that it has created.
    orders: Vec<String>,
    requests: usize,
    closed: usize,
}

/// Reads and creates orders until it is told to end.
async fn work(mut client: Keeping, number: usize, ended: Arc<AtomicBool>) -> Seen {
    let mut rng = fastrand::Rng::with_seed(number as u64);
    let mut seen = Seen::default();
    while !ended.load(Ordering::Relaxed) {
        let answer = match rng.u8(..4) {
            0 => {
                let reference = format!("{number}-{}", seen.requests);
                let body = json!({
                    "order_id": reference, "user_email": "guest@example.com",
                    "items": [{"product_id": 1, "orderitem_quantity": 2}],
                });
                let answer = client.send("POST", &format!("{ROOT}/orders"), Some(body)).await;
                assert_eq!(answer.status, 201, "{}", answer.body);
                seen.orders.push(reference);
                answer
            }
            1 => client.send("GET", &format!("{ROOT}/orders?page[limit]=5"), None).await,
            2 => client.send("GET", &format!("{ROOT}/products/1"), None).await,
            _ => client.send("GET", EDITION, None).await,
        };
        assert!(matches!(answer.status, 200 | 201), "{}: {}", answer.status, answer.body);
        seen.requests += 1;
        seen.closed += usize::from(answer.closed);
        tokio::time::sleep(Duration::from_millis(rng.u64(..PAUSE))).await;
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_lost_while_new_versions_take_over() {
    let site = Site::new().await;
    let mut served = site.serve(site.release("first", "edition_1")).await;
    let product = json!({"product_name": "Lamp", "price": "19.99"});
    assert_eq!(Client::of(&served, &site.token).create("/products", product).await, 1);

    let ended = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        clients.spawn(work(site.client(), number, Arc::clone(&ended)));
    }
    for (name, edition, version) in [
        ("second", "edition_2", "2.0.0"),
        ("third", "edition_1", "1.0.0"),
        ("fourth", "edition_2", "2.0.0"),
    ] {
        let next = site.serve(site.release(name, edition)).await;
        served.stop().await;
        served = next;
        for _ in 0..CLIENTS {
            assert_eq!(site.client().send("GET", EDITION, None).await.body, version);
        }
    }
    ended.store(true, Ordering::Relaxed);
    let seen: Vec<Seen> = clients.join_all().await;

    let created: Vec<&String> = seen.iter().flat_map(|seen| &seen.orders).collect();
    let stored = Client::of(&served, &site.token).all("/orders?list[ordering]=shop_order_id").await;
    let stored: Vec<&str> =
        stored.iter().map(|order| order["attributes"]["order_id"].as_str().unwrap()).collect();
    let once: BTreeSet<&str> = stored.iter().copied().collect();
    assert_eq!(once.len(), stored.len(), "every order is there once");
    assert_eq!(once, created.iter().map(|reference| reference.as_str()).collect());
    let requests: usize = seen.iter().map(|seen| seen.requests).sum();
    let closed: usize = seen.iter().map(|seen| seen.closed).sum();
    println!("{requests} requests, {} orders, {closed} connections closed", once.len());
    assert!(seen.iter().all(|seen| seen.closed >= 3), "every client was handed over three times");
    served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_draining_host_answers_on_old_and_new_connections_and_closes_them() {
    let site = Site::new().await;
    let mut served = site.serve([library()]).await;
    let (mut old, mut unused) = (site.client(), site.client());
    assert!(!old.send("GET", MANUFACTURERS, None).await.closed);
    assert_eq!(old.send("GET", "/health", None).await.status, 200);
    unused.connection = Some(unused.connect().await);

    served.signal("TERM").await;
    served.log.wait_for("draining").await;
    let began = Instant::now();
    let mut new = site.client();
    let health = new.send("GET", "/health", None).await;
    assert_eq!((health.status, health.json()), (503, json!({"status": "stopping"})));
    assert!(health.closed);
    assert_eq!(site.client().send("GET", "/livez", None).await.status, 200);
    for client in [&mut new, &mut old, &mut unused] {
        let answer = client.send("GET", MANUFACTURERS, None).await;
        assert_eq!((answer.status, answer.closed), (200, true));
    }
    // A connection that the host accepts last of all still gets its answer. Until the next host is
    // there, connections wait in the socket.
    let late: Vec<Keeping> = futures_util::future::join_all((0..8).map(async |number| {
        tokio::time::sleep(Duration::from_millis(500) * number).await;
        let mut late = site.client();
        late.connection = Some(late.connect().await);
        late
    }))
    .await;
    assert!(began.elapsed() > Duration::from_secs(3));
    let answered = tokio::spawn(futures_util::future::join_all(
        late.into_iter()
            .map(async |mut client| client.send("GET", MANUFACTURERS, None).await.status),
    ));
    assert_eq!(served.ended().await, Some(0));
    let next = site.serve([library()]).await;
    assert_eq!(answered.await.unwrap(), [200; 8]);
    next.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn those_who_wait_are_answered_by_the_old_host_and_wait_on_the_new_one() {
    let site = Site::new().await;
    let mut served = site.serve([fixture("waits")]).await;
    let ask = |seconds: u64| {
        let request = format!(
            "GET /api/index.php/v1/waits/news HTTP/1.1\r\nhost: localhost\r\n\
             connection: close\r\nprefer: wait={seconds}\r\n\r\n"
        );
        async move {
            let mut connection = TcpStream::connect(site.address).await.unwrap();
            exchange(&mut connection, request.as_bytes()).await
        }
    };
    let waiting = tokio::spawn(futures_util::future::join_all((0..20).map(|_| ask(60))));
    let count = "/api/index.php/v1/waits/waiting";
    eventually("all of them wait", async || {
        (site.client().send("GET", count, None).await.body == "20").then_some(())
    })
    .await;
    let next = site.serve([fixture("waits")]).await;
    served.signal("TERM").await;
    for answer in patiently("the answers", waiting).await.unwrap() {
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.ends_with(r#"{"wait":"60","end":"stop"}"#), "{answer}");
    }
    // While both have the socket, either may answer. The last of them are sent when the old one is gone.
    let mut ends = BTreeSet::new();
    let asked = (0..20).map(async |number| {
        tokio::time::sleep(Duration::from_millis(200) * number).await;
        ask(1).await
    });
    for answer in futures_util::future::join_all(asked).await {
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        ends.insert(answer.rsplit("\r\n").next().unwrap().to_owned());
    }
    assert_eq!(served.ended().await, Some(0));
    ends.insert(ask(1).await.rsplit("\r\n").next().unwrap().to_owned());
    let waited = r#"{"wait":"1","end":"time"}"#;
    assert!(ends.remove(waited), "the new host lets clients wait");
    assert!(ends.is_empty() || ends.remove(r#"{"wait":null,"end":"none"}"#), "{ends:?}");
    assert!(ends.is_empty(), "{ends:?}");
    next.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_version_that_cannot_start_leaves_the_old_one_serving() {
    let site = Site::new().await;
    let served = site.serve([library()]).await;
    let mut client = site.client();
    let broken = site.call([fixture("not_a_plugin")]).finish().await;
    assert!(broken.fails().contains("not_a_plugin"), "{}", broken.err());
    for mut client in [site.client(), site.client()] {
        assert_eq!(client.send("GET", MANUFACTURERS, None).await.status, 200);
    }
    assert!(!client.send("GET", MANUFACTURERS, None).await.closed);
    served.stop().await;
}

#[tokio::test]
async fn a_host_keeps_serving_after_a_newer_version_has_migrated() {
    let site = Site::new().await;
    let served = site.serve([library()]).await;
    let client = Client::of(&served, &site.token);
    let body = |name: &str| json!({"manufacturer_name": name});
    client.create("/manufacturers", body("before")).await;

    // What a newer version does: it adds a column, and a migration that this one does not have.
    let column = "ALTER TABLE shop_manufacturers ADD COLUMN later INTEGER NOT NULL DEFAULT 0";
    match site.place.database.engine {
        Engine::Sqlite => {
            let mut file = SqliteConnection::connect(&site.place.store_url()).await.unwrap();
            let later = "INSERT INTO _sqlx_migrations VALUES (9999, 'later', 0, TRUE, x'00', 0)";
            for statement in [column, later] {
                file.execute(statement).await.unwrap();
            }
            file.close().await.unwrap();
        }
        Engine::Postgres | Engine::MariaDb => {
            let later = "INSERT INTO shop_migrations \
                 (version, description, success, checksum, execution_time) \
                 VALUES (9999, 'later', TRUE, '', 0)";
            for statement in [column, later] {
                site.place.database.execute(statement).await;
            }
        }
    }

    let created = client.expect(201, "POST", "/manufacturers", Some(body("after"))).await;
    let path = format!("/manufacturers/{}", key(&created));
    client.expect(200, "PATCH", &path, Some(body("changed"))).await;
    assert_eq!(client.all("/manufacturers").await.len(), 2);
    served.is_alive().await;
    // A start of the older version is refused, and does not affect the host that serves.
    let line = site.call([library()]).finish().await.fails();
    assert!(line.contains("newer than this program"), "{line}");
    client.expect(204, "DELETE", &path, None).await;
    served.stop().await;
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn the_service_manager_is_told_when_the_site_is_served_and_when_it_stops() {
    let site = Site::new().await;
    let path = site.place.path("notices");
    let notices = UnixDatagram::bind(&path).unwrap();
    notices.set_read_timeout(Some(PATIENCE)).unwrap();
    let next = || {
        let mut bytes = [0; 64];
        let length = notices.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).trim().to_owned()
    };
    let mut served = site.call([library()]).env("NOTIFY_SOCKET", &path).start().await;
    assert_eq!(next(), "READY=1");
    served.signal("TERM").await;
    assert_eq!(next(), "STOPPING=1");
    assert_eq!(served.ended().await, Some(0));
}
