//! Changes whose clients disconnect: each runs to its end, and the audit trail has its outcome.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sqlx::{Connection, MySqlConnection, PgConnection, SqliteConnection};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::databases::Engine;
use crate::support::fixture::serve;
use crate::support::harness::{Answer, MEDIA_TYPE, ROOT};
use crate::support::process::{Place, Served};
use crate::support::waiting::{eventually, patiently};

const CHANGE: &str = "/api/index.php/v1/misbehaves/change";
const ECHO: &str = "/api/index.php/v1/misbehaves/echo/1/word";

/// An entry of the audit trail: method, kind and key of the record, status, and action.
type Entry = (String, String, String, i64, String);

/// The entries about requests, the oldest first.
pub(super) async fn entries(place: &Place) -> Vec<Entry> {
    const QUERY: &str = "SELECT method, record_type, record_id, status, what FROM host_audit \
         WHERE method <> '' ORDER BY id";
    let url = place.database.url();
    match place.database.engine {
        Engine::Sqlite => {
            let url = format!("sqlite://{}", place.data("host.db").display());
            let mut file = SqliteConnection::connect(&url).await.unwrap();
            let entries = sqlx::query_as(QUERY).fetch_all(&mut file).await.unwrap();
            file.close().await.unwrap();
            entries
        }
        Engine::Postgres => {
            let mut server = PgConnection::connect(&url).await.unwrap();
            sqlx::query_as(QUERY).fetch_all(&mut server).await.unwrap()
        }
        Engine::MariaDb => {
            let mut server = MySqlConnection::connect(&url).await.unwrap();
            sqlx::query_as(QUERY).fetch_all(&mut server).await.unwrap()
        }
    }
}

/// A request as bytes.
fn request(method: &str, path: &str, token: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\naccept: {MEDIA_TYPE}\r\n\
         authorization: Bearer {token}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request and disconnects after this time.
async fn hang_up(served: &Served, request: &str, after: Duration) {
    let mut connection = served.connect().await;
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // The answer may have arrived by then or not.
    let _ = tokio::time::timeout(after, connection.read_buf(&mut answer)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_a_disconnected_client_has_exactly_one_entry() {
    let (place, token) = Place::with_ann("Administrator").await;
    let served = place.serve().await;
    let path = format!("{ROOT}/manufacturers");
    // At any moment within twice the time that a change takes on this machine.
    let begun = Instant::now();
    let first = served.ask("POST", &path, &token).header("content-type", "application/json");
    Answer::to(first.body(json!({"manufacturer_name": "first"}).to_string())).await.expect(201);
    let longest = u64::try_from(begun.elapsed().as_micros()).unwrap() * 2;
    let mut rng = fastrand::Rng::with_seed(7);
    for turn in 0..18 {
        let clients = (0..5).map(|number| {
            let name = json!({"manufacturer_name": format!("m{turn}-{number}")});
            let after = Duration::from_micros(rng.u64(0..longest));
            let (request, served) = (request("POST", &path, &token, &name), &served);
            async move { hang_up(served, &request, after).await }
        });
        futures_util::future::join_all(clients).await;
    }
    served.stop().await;

    let served = place.serve().await;
    let list = Answer::to(served.get(&format!("{path}?page[limit]=100"), &token)).await.expect(200);
    assert_eq!(list.total(), list.ids().len() as i64, "one page contains all");
    let mut made: Vec<String> = list.ids().iter().map(i64::to_string).collect();
    served.stop().await;
    let mut noted: Vec<String> = Vec::new();
    for (method, kind, id, status, _) in entries(&place).await {
        assert_eq!((&*method, &*kind, status), ("POST", "manufacturers", 201));
        noted.push(id);
    }
    made.sort_unstable();
    noted.sort_unstable();
    assert_eq!(made, noted, "the created records and the audit trail");
}

/// Sends a change that waits for a file, and disconnects once it is in progress.
async fn leave_behind(served: &Served, token: &str, file: &str) {
    let mut connection = served.connect().await;
    let request = request("POST", &format!("{CHANGE}/{file}"), token, &json!({}));
    connection.write_all(request.as_bytes()).await.unwrap();
    served.log.wait_for("held").await;
    drop(connection);
    served.log.wait_for("status=499").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_times_out_is_recorded_with_its_outcome() {
    let (place, served, token) = serve(&[("HOST_REQUEST_TIMEOUT", "1")]).await;
    let ask = served.ask("POST", &format!("{CHANGE}/release"), &token);
    assert_eq!(Answer::to(ask).await.expect(504).errors(), ["504 timeout"]);
    assert_eq!(entries(&place).await, [], "there is no entry yet");
    std::fs::write(place.data("release"), "").unwrap();
    let noted = eventually("the change is noted", async || {
        let entries = entries(&place).await;
        (!entries.is_empty()).then_some(entries)
    });
    let (method, kind, id, status, what) = noted.await.remove(0);
    assert_eq!((&*method, &*kind, &*id), ("POST", "change", "release"));
    assert_eq!((status, &*what), (200, ""));
    served.stop().await;
    assert_eq!(entries(&place).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_unknown_outcome_is_recorded_as_such() {
    let (place, served, token) = serve(&[]).await;
    let path = format!("{CHANGE}/undecided");
    let answer = Answer::to(served.ask("POST", &path, &token)).await.expect(503);
    assert_eq!(answer.header("change-outcome"), "unknown");
    served.stop().await;
    let entries = entries(&place).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((&*entries[0].2, entries[0].3), ("undecided", 503));
    assert_eq!(entries[0].4, "may or may not have been done");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_concurrent_changes_is_limited() {
    let environment = [("HOST_REQUEST_TIMEOUT", "1"), ("HOST_CONNECTIONS", "2")];
    let (place, served, token) = serve(&environment).await;
    let change = || Answer::to(served.ask("POST", &format!("{CHANGE}/release"), &token));
    for _ in 0..2 {
        change().await.expect(504);
    }
    let refused = Answer::to(served.ask("POST", ECHO, &token)).await.expect(503);
    assert!(refused.headers.contains_key("retry-after"));
    Answer::to(served.get(ECHO, &token)).await.expect(200);
    std::fs::write(place.data("release"), "").unwrap();
    eventually("there is a place again", async || {
        (Answer::to(served.ask("POST", ECHO, &token)).await.status == 200).then_some(())
    })
    .await;
    served.stop().await;
    assert_eq!(entries(&place).await.len(), 3, "the two slow changes, and the last one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_changes_of_disconnected_clients() {
    for signal in ["TERM", "QUIT"] {
        let (place, mut served, token) = serve(&[]).await;
        leave_behind(&served, &token, "release").await;
        // This one asks for no stop at all.
        served.signal("HUP").await;
        served.signal(signal).await;
        served.log.wait_for("stopping").await;
        eventually("new connections are refused", async || {
            tokio::net::TcpStream::connect(served.address).await.is_err().then_some(())
        })
        .await;
        std::fs::write(place.data("release"), "").unwrap();
        assert_eq!(patiently("the end", served.ended()).await, Some(0), "{signal}");
        let entries = entries(&place).await;
        assert_eq!(entries.len(), 1, "{entries:?}");
        assert_eq!((&*entries[0].2, entries[0].3), ("release", 200));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_cut_off_by_a_stop_is_recorded_as_such() {
    let (place, mut served, token) = serve(&[("HOST_STOP_TIMEOUT", "2")]).await;
    leave_behind(&served, &token, "never").await;
    served.signal("TERM").await;
    assert_eq!(patiently("the end", served.ended()).await, Some(0));
    let entries = entries(&place).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((&*entries[0].2, entries[0].3), ("never", 0));
    assert_eq!(entries[0].4, "interrupted; may or may not have been done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_panics_is_recorded_because_it_may_be_done() {
    let (place, served, token) = serve(&[]).await;
    let path = "/api/index.php/v1/misbehaves/break";
    Answer::to(served.ask("POST", path, &token)).await.expect(500);
    served.stop().await;
    let entries = entries(&place).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((entries[0].3, &*entries[0].4), (0, "interrupted; may or may not have been done"));
}
