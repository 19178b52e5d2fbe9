//! Bodies in pieces, in both directions, through a real host: their limits, their ends, and what
//! happens to a producer whose client leaves.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use crate::support::harness::{Answer, fixture};
use crate::support::process::{Place, Served, exchange};
use crate::support::waiting::patiently;

const ROOT: &str = "/api/index.php/v1/listens";
const PIECE: usize = 64 * 1024;

async fn serve(environment: &[(&str, &str)]) -> (Place, Served) {
    let place = Place::with([fixture("listens")]);
    let served = place.serve_with(environment).await;
    (place, served)
}

fn post(served: &Served, path: &str, bytes: usize) -> reqwest::RequestBuilder {
    served.bare("POST", &format!("{ROOT}/{path}")).body(vec![b'x'; bytes])
}

/// The head of a request with a body of chunks.
fn chunked(path: &str) -> String {
    format!(
        "POST {ROOT}/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         transfer-encoding: chunked\r\n\r\n"
    )
}

/// One chunk of a body.
fn chunk(bytes: usize) -> Vec<u8> {
    [format!("{bytes:x}\r\n").as_bytes(), &vec![b'x'; bytes], b"\r\n"].concat()
}

#[tokio::test]
async fn a_large_body_arrives_in_pieces_where_the_route_takes_it_so() {
    let (_place, served) = serve(&[]).await;
    let large = 5 * PIECE;
    for (path, bytes, expected) in [
        ("sum", 10, json!([10, null, false, 0])),
        ("sum", PIECE, json!([PIECE, null, false, 0])),
        ("sum", large, json!([0, large, true, large])),
        ("whole", large, json!([large, null, false, 0])),
        // A file that is there at once is no stream.
        ("files", 10, json!([10, null, false, 0])),
        ("files", 0, json!([0, null, false, 0])),
        ("files", large, json!([0, large, true, large])),
    ] {
        let found = Answer::to(post(&served, path, bytes)).await.json();
        let found = json!([found["whole"], found["length"], found["several"], found["bytes"]]);
        assert_eq!(found, expected, "{path} {bytes}");
    }
    let echo = Answer::to(post(&served, "echo", large)).await;
    assert_eq!((echo.status, echo.body.len()), (200, large));
    // The log has the size of what was sent, though nobody knew it before.
    let line = served.log.wait_for("listens.echo").await;
    assert!(line.contains(&format!(" bytes={large} ")), "{line}");
    // What the plugin does not read is not in the way of the answer.
    assert_eq!(Answer::to(post(&served, "ignores", large)).await.status, 204);
    served.stop().await;
}

#[tokio::test]
async fn the_limits_hold_for_a_body_in_pieces() {
    let (_place, served) =
        serve(&[("HOST_BODY_LIMIT", "300000"), ("HOST_STALL_TIMEOUT", "1")]).await;
    // Too large according to its header, and only when it is counted.
    assert_eq!(Answer::to(post(&served, "sum", 300_001)).await.status, 413);
    let mut connection = served.connect().await;
    let body: Vec<u8> = (0..5).flat_map(|_| chunk(PIECE)).collect();
    let request = [chunked("sum").into_bytes(), body, b"0\r\n\r\n".to_vec()].concat();
    let answer = exchange(&mut connection, &request).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("body_too_large"), "{answer}");

    // A client that pauses for too long.
    let mut connection = served.connect().await;
    let request = [chunked("sum").into_bytes(), chunk(2 * PIECE)].concat();
    let answer = exchange(&mut connection, &request).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");

    // A client that leaves: the plugin reads an error.
    let mut connection = served.connect().await;
    connection.write_all(&request).await.unwrap();
    connection.shutdown().await.unwrap();
    let mut answer = String::new();
    let _ = patiently("the end", connection.read_to_string(&mut answer)).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{answer}");
    served.is_alive().await;
    served.stop().await;
}

#[tokio::test]
async fn an_upload_may_take_no_longer_than_a_request() {
    let (_place, served) = serve(&[("HOST_REQUEST_TIMEOUT", "2")]).await;
    let mut connection = served.connect().await;
    let (mut reading, mut writing) = connection.split();
    let sending = async {
        writing.write_all(chunked("sum").as_bytes()).await.unwrap();
        writing.write_all(&chunk(2 * PIECE)).await.unwrap();
        // Not paused for long, and never at an end.
        while writing.write_all(&chunk(1)).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let mut answer = [0; 12];
    tokio::select! {
        () = sending => panic!("the connection ended before an answer"),
        read = patiently("an answer", reading.read_exact(&mut answer)) => drop(read.unwrap()),
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(["HTTP/1.1 504", "HTTP/1.1 408"].contains(&&*answer), "{answer}");
    served.stop().await;
}

/// The beginning of a file has no other limit than the rest: it may be the whole file.
#[tokio::test]
async fn a_file_may_arrive_for_as_long_as_its_client_does_not_pause() {
    let limits = [("HOST_REQUEST_TIMEOUT", "1"), ("HOST_STALL_TIMEOUT", "2")];
    let (_place, served) = serve(&limits).await;
    let mut connection = served.connect().await;
    let (mut reading, mut writing) = connection.split();
    let sending = async {
        writing.write_all(chunked("files").as_bytes()).await.unwrap();
        for _ in 0..10 {
            writing.write_all(&chunk(1)).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        writing.write_all(b"0\r\n\r\n").await.unwrap();
    };
    let mut answer = String::new();
    let ((), read) =
        tokio::join!(sending, patiently("an answer", reading.read_to_string(&mut answer)));
    read.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"bytes\":10,"), "{answer}");

    // A pause ends it, wherever it is.
    for sent in [vec![], chunk(1), chunk(2 * PIECE)] {
        let mut connection = served.connect().await;
        let request = [chunked("files").into_bytes(), sent].concat();
        let answer = exchange(&mut connection, &request).await;
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("body_timeout"), "{answer}");
    }
    served.stop().await;
}

#[tokio::test]
async fn an_answer_in_pieces_is_sent_as_it_is_read() {
    let (_place, served) = serve(&[]).await;
    let whole = Answer::to(served.bare("GET", &format!("{ROOT}/count/40"))).await;
    assert_eq!((whole.status, whole.body.len()), (200, 40 * PIECE));
    assert_eq!(whole.header("content-length"), (40 * PIECE).to_string());
    assert!(whole.headers.get("etag").is_none(), "a body in pieces has no tag");
    let head = Answer::to(served.bare("HEAD", &format!("{ROOT}/count/40"))).await;
    assert_eq!(head.header("content-length"), (40 * PIECE).to_string());

    // A reader that pauses: the producer pauses too, and is dropped when the reader leaves.
    let mut answer = served.bare("GET", &format!("{ROOT}/endless")).send().await.unwrap();
    assert!(answer.chunk().await.unwrap().is_some());
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(answer);
    let dropped = served.log.wait_for("dropped after ").await;
    let count = dropped.split("dropped after ").nth(1).unwrap().split(' ').next().unwrap();
    // 64 KiB each; the buffers of host, client and system hold some megabytes.
    assert!((1..400).contains(&count.parse::<usize>().unwrap()), "{dropped}");
    served.stop().await;
}

/// Reading slowly is no pause, whatever the system keeps for the client.
#[tokio::test]
#[cfg_attr(not(target_os = "linux"), ignore = "other systems keep what is written")]
async fn an_answer_may_be_read_slowly() {
    let (_place, served) = serve(&[("HOST_STALL_TIMEOUT", "2")]).await;
    // A system with room for megabytes asks for more only when a sixteenth of them has been read.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(2 * PIECE as u32).unwrap();
    let mut connection = socket.connect(served.address).await.unwrap();
    let ask = format!("GET {ROOT}/endless HTTP/1.1\r\nhost: localhost\r\n\r\n");
    connection.write_all(ask.as_bytes()).await.unwrap();
    // Four times as long as a pause may be.
    let mut read = vec![0; PIECE];
    for _ in 0..27 {
        connection.read_exact(&mut read).await.unwrap();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    let log = served.log.all();
    assert!(!log.iter().any(|line| line.contains("dropped after ")), "{log:#?}");
    // The producer is dropped when the client pauses.
    served.log.wait_for("dropped after ").await;
    served.stop().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_complete_answer() {
    let (_place, served) = serve(&[("HOST_STALL_TIMEOUT", "1")]).await;
    for (path, error) in [
        ("fails", "error=no more"),
        ("panics", "error=panicked: no more"),
        ("silent", "error=it gave nothing for too long"),
    ] {
        let answer = served.bare("GET", &format!("{ROOT}/{path}")).send().await.unwrap();
        assert_eq!(answer.status(), 200);
        assert!(patiently(path, answer.bytes()).await.is_err(), "{path} seems complete");
        served.log.wait_for(error).await;
        served.is_alive().await;
    }
    served.stop().await;
}

#[tokio::test]
async fn an_answer_breaks_off_soon_after_its_receiver_has_lost_access() {
    let (place, served) = serve(&[]).await;
    let begin = async |name: &str| {
        let token = place.user(name, "Administrator").await;
        let endless = served.bare("GET", &format!("{ROOT}/endless")).bearer_auth(token);
        let mut answer = endless.send().await.unwrap();
        assert!(answer.chunk().await.unwrap().is_some());
        answer
    };
    let (mut ann, mut bob, mut cid) = (begin("ann").await, begin("bob").await, begin("cid").await);
    place.run("token revoke ann default").await;
    place.run("user block bob").await;
    let broken_off = async |answer: &mut reqwest::Response| {
        while answer.chunk().await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let both = async { tokio::join!(broken_off(&mut ann), broken_off(&mut bob)) };
    patiently("the end of both answers", both).await;
    served.log.wait_for("the receiver of an answer has no access any more").await;
    assert!(cid.chunk().await.unwrap().is_some());
    drop(cid);
    served.stop().await;
}

#[tokio::test]
async fn a_refusal_in_pieces_is_not_read_by_the_host() {
    let (_place, served) = serve(&[]).await;
    let mut answer = served.bare("GET", &format!("{ROOT}/refuses")).send().await.unwrap();
    assert_eq!(answer.status(), 403);
    assert!(answer.chunk().await.unwrap().is_some());
    drop(answer);
    served.log.wait_for("dropped after ").await;
    served.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_an_answer_in_pieces_within_its_time_limit() {
    let (_place, mut served) = serve(&[("HOST_STOP_TIMEOUT", "4")]).await;
    let mut answer = served.bare("GET", &format!("{ROOT}/count/400")).send().await.unwrap();
    let mut read = answer.chunk().await.unwrap().unwrap().len();
    let mut endless = served.bare("GET", &format!("{ROOT}/endless")).send().await.unwrap();
    served.signal("TERM").await;
    served.log.wait_for("stopping; requests").await;
    while let Some(piece) = answer.chunk().await.unwrap() {
        read += piece.len();
    }
    assert_eq!(read, 400 * PIECE);
    // This one never ends by itself.
    while patiently("the end", endless.chunk()).await.is_ok() {}
    assert_eq!(served.ended().await, Some(0));
}

/// The connection of an answer in pieces counts as busy, so that it is not closed for another one.
#[tokio::test]
async fn an_answer_in_pieces_keeps_its_connection() {
    let (_place, served) = serve(&[("HOST_CONNECTIONS", "1")]).await;
    let mut answer = served.bare("GET", &format!("{ROOT}/count/400")).send().await.unwrap();
    let mut read = answer.chunk().await.unwrap().unwrap().len();
    let mut other = served.connect().await;
    let facts = format!("GET {ROOT}/facts HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let refused = exchange(&mut other, facts.as_bytes()).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    // Longer than a connection that is closed may take for its last answer.
    tokio::time::sleep(Duration::from_secs(3)).await;
    while let Some(piece) = answer.chunk().await.unwrap() {
        read += piece.len();
    }
    assert_eq!(read, 400 * PIECE);
    served.stop().await;
}

#[tokio::test]
async fn a_large_change_is_recorded_once() {
    let (place, served) = serve(&[]).await;
    let sum: Value = Answer::to(post(&served, "sum", 3 * PIECE)).await.json();
    assert_eq!(sum["bytes"], 3 * PIECE);
    served.stop().await;
    let entries = "SELECT route FROM host_audit WHERE origin = 'api'";
    assert_eq!(place.database.texts_at(&place.site_url(), entries).await, ["listens.sum"]);
}
