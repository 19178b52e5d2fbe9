//! Bodies in pieces, without a real host: both ways, with the panics of either side.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::{Stream, StreamExt};
use host_interface::{Body, Environment, Error, Host, LoadedPlugin, LogRecord, Request, Response};
use serde_json::{Value, json};

use crate::support::harness::fixture;

/// A host that keeps what its plugin logs.
#[derive(Clone, Default)]
struct Listening(Arc<Mutex<Vec<String>>>);

impl Host for Listening {
    fn log(&self, record: &LogRecord<'_>) {
        self.0.lock().unwrap().push(record.message().to_owned());
    }
}

impl Listening {
    /// How often the producer of a body was dropped.
    fn drops(&self) -> usize {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|line| *line == "the stream was dropped").count()
    }
}

fn plugin() -> (LoadedPlugin, Listening) {
    let host = Listening::default();
    let library = host_interface::open(&fixture("misbehaves")).unwrap();
    let environment = Environment::new("sqlite:///nowhere/fixture.db");
    (library.create(host.clone(), &environment).unwrap(), host)
}

async fn ask(
    plugin: &LoadedPlugin,
    route: &str,
    with: impl FnOnce(Builder) -> Builder,
) -> Response {
    let routes = plugin.describe().unwrap().routes;
    let route = routes.iter().find(|of| of.name == format!("misbehaves.{route}")).unwrap();
    let request = with(Request::builder(route.handler, route.method)).build();
    plugin.handle(request).await.unwrap()
}

type Builder = host_interface::RequestBuilder;

/// The body of the fixture that ends like this.
async fn given(plugin: &LoadedPlugin, ending: &str) -> Body {
    let answer = ask(plugin, "pieces/{ending}", |request| request.param(ending)).await;
    assert_eq!((answer.status(), answer.body()), (200, &b""[..]));
    answer.into_body().unwrap_err()
}

/// The pieces of a body as text, and what it failed with.
async fn read(body: &mut Body) -> Vec<Result<String, Error>> {
    let pieces = body.map(|piece| piece.map(|piece| String::from_utf8_lossy(&piece).into_owned()));
    pieces.collect().await
}

fn three() -> Vec<Result<String, Error>> {
    (1..=3).map(|nth| Ok(format!("piece {nth}\n"))).collect()
}

/// Pieces of a request: as many as were asked for, then the end or a panic.
struct Sent {
    left: usize,
    panics: bool,
    drops: Arc<AtomicUsize>,
}

impl Stream for Sent {
    type Item = Result<Vec<u8>, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.left == 0 {
            assert!(!self.panics, "the client is confused");
            return Poll::Ready(None);
        }
        // Each other poll has nothing yet, and wakes its reader.
        self.left -= 1;
        match self.left % 2 {
            0 => Poll::Ready(Some(Ok(vec![b'x'; 1024]))),
            _ => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

impl Drop for Sent {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

/// What the fixture reports about a body that is sent to it.
async fn sent(left: usize, panics: bool) -> (Value, usize) {
    let (plugin, _) = plugin();
    let drops = Arc::new(AtomicUsize::new(0));
    let body = Body::new(Sent { left, panics, drops: Arc::clone(&drops) });
    let answer = ask(&plugin, "take-pieces", |request| request.stream(body)).await;
    let report = serde_json::from_slice(answer.body()).unwrap();
    (report, drops.load(Ordering::Relaxed))
}

#[tokio::test]
async fn a_request_in_pieces_arrives_whole_and_its_producer_is_dropped() {
    let (report, drops) = sent(8, false).await;
    let whole = json!({
        "length": null, "pieces": 4, "bytes": 4096, "failure": null, "ended": true, "again": false,
    });
    assert_eq!((report, drops), (whole, 1));
}

#[tokio::test]
async fn a_panic_in_a_body_of_the_host_is_one_failure_and_the_end() {
    let (report, drops) = sent(4, true).await;
    assert_eq!((&report["pieces"], &report["ended"]), (&json!(2), &json!(true)));
    assert_eq!(report["failure"], "panicked: the client is confused");
    assert_eq!(drops, 1);
}

#[tokio::test]
async fn a_body_that_is_whole_is_no_stream() {
    let (plugin, _) = plugin();
    let answer = ask(&plugin, "take-pieces", |request| request.body("all of it")).await;
    assert_eq!(serde_json::from_slice::<Value>(answer.body()).unwrap(), json!({"whole": 9}));
}

#[tokio::test]
async fn a_response_in_pieces_arrives_whole_and_its_producer_is_dropped_at_the_end() {
    let (plugin, host) = plugin();
    let mut body = given(&plugin, "end").await;
    assert_eq!(host.drops(), 0);
    assert_eq!(read(&mut body).await, three());
    // The end frees what the producer holds, even if the reader keeps the body.
    assert_eq!(host.drops(), 1);
    assert_eq!(read(&mut body).await, []);
    drop(body);
    assert_eq!(host.drops(), 1);
}

#[tokio::test]
async fn a_panic_in_a_body_of_the_plugin_is_one_failure_and_the_end() {
    let (plugin, host) = plugin();
    for (nth, ending) in [(1, "panic"), (2, "panic-and-bomb")] {
        let mut body = given(&plugin, ending).await;
        let mut seen = read(&mut body).await;
        let failure = Error::Panicked("the secret of the stream".to_owned());
        assert_eq!((seen.pop(), seen), (Some(Err(failure)), three()), "{ending}");
        assert_eq!(host.drops(), nth, "{ending}");
        // It stays ended.
        assert_eq!(read(&mut body).await, []);
    }
    // The plugin keeps working.
    assert_eq!(read(&mut given(&plugin, "end").await).await, three());
}

#[tokio::test]
async fn a_reader_that_leaves_drops_the_producer_even_if_that_panics() {
    let (plugin, host) = plugin();
    for (nth, ending) in [(1, "never"), (2, "panic-and-bomb")] {
        let mut body = given(&plugin, ending).await;
        assert_eq!(body.next().await.unwrap().unwrap().as_ref(), b"piece 1\n");
        assert_eq!(host.drops(), nth - 1);
        drop(body);
        assert_eq!(host.drops(), nth, "{ending}");
    }
    // So does one that never began.
    drop(given(&plugin, "never").await);
    assert_eq!(host.drops(), 3);
}
