//! The size of answers: none is larger than the host allows, all of them together have a bound, and the
//! store stops before it has one in memory that nobody will get.

use std::sync::Arc;

use futures_util::future::join_all;
use plugin::model::value::Value as Cell;
use plugin::sql::Statement;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::databases::Engine;
use crate::support::harness::{Answer, MEDIA_TYPE, NDJSON, ROOT};
use crate::support::process::{Place, Served};

/// The default of `HOST_ANSWER_LIMIT`.
const LIMIT: usize = 8 * 1024 * 1024;

/// How large the parameters of a method could be before they had a limit.
const EARLIER: usize = 900_000;

/// A host, and the token of an administrator.
async fn serve(environment: &[(&str, &str)]) -> (Place, Served, String) {
    let (place, token) = Place::with_ann("Super Users").await;
    let served = place.serve_with(environment).await;
    (place, served, token)
}

async fn create(served: &Served, token: &str, path: &str, body: Value) -> Answer {
    let ask = served.ask("POST", &format!("{ROOT}{path}"), token);
    Answer::to(ask.header("content-type", "application/json").body(body.to_string())).await
}

/// Creates so many payment methods with parameters of this size, as an earlier version of the store has
/// written them.
async fn methods(place: &Place, served: &Served, token: &str, count: usize, size: usize) {
    for number in 0..count {
        let method = json!({"name": format!("Method {number}"), "element": format!("m{number}")});
        create(served, token, "/paymentmethods", method).await.expect(201);
    }
    give(place, size).await;
}

/// Gives all methods parameters of this size.
async fn give(place: &Place, size: usize) {
    let params = json!({"text": "x".repeat(size)}).to_string();
    let all = Statement::fixed("UPDATE shop_methods SET params = ?", vec![Cell::Json(params)]);
    let store = place.store();
    store.write([all]).await.unwrap();
    store.close().await;
}

async fn get(served: &Served, token: &str, path: &str) -> Answer {
    Answer::to(served.get(&format!("{ROOT}{path}"), token)).await
}

/// Reads the feed from a page on to its end, and returns the ids and the size of each page with records, and
/// the path of the last page.
async fn follow(served: &Served, token: &str, first: &str) -> (Vec<(Vec<i64>, usize)>, String) {
    let (mut pages, mut next) = (Vec::new(), first.to_owned());
    loop {
        let page = Answer::to(served.get(&next, token)).await.expect(200);
        if page.ids().is_empty() {
            return (pages, next);
        }
        pages.push((page.ids(), page.body.len()));
        next = page.json()["links"]["next"].as_str().unwrap().to_owned();
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn lists_of_large_records_are_refused_and_take_little_memory() {
    let (place, served, token) = serve(&[]).await;
    methods(&place, &served, &token, 60, EARLIER).await;
    let all = "/paymentmethods?fields[paymentmethods]=params&page[limit]=";
    let refused = get(&served, &token, &format!("{all}60")).await.expect(413);
    assert_eq!(refused.errors(), ["413 answer_too_large"]);
    let detail = refused.json()["errors"][0]["detail"].as_str().unwrap().to_owned();
    for part in ["8388608", "page[limit]", "fewer fields"] {
        assert!(detail.contains(part), "{detail}");
    }
    // What is asked for in its place.
    let nine = get(&served, &token, &format!("{all}9")).await.expect(200);
    assert!(nine.body.len() > 9 * EARLIER && nine.body.len() <= LIMIT);
    let names = get(&served, &token, "/paymentmethods?page[limit]=60").await.expect(200);
    assert_eq!(names.ids().len(), 60);

    // However many ask for the greatest answers at once, some get them, and others may get a 503.
    let (served, token) = (Arc::new(served), Arc::<str>::from(token));
    // That memory is used again from one round to the next does not depend on the engine.
    let rounds = if place.database.engine == Engine::Sqlite { 3 } else { 1 };
    for round in 0..rounds {
        let answers = (0..40).map(|number| {
            let (served, token) = (Arc::clone(&served), Arc::clone(&token));
            let path = match number % 4 {
                0 => format!("{ROOT}{all}60"),
                1 => format!("{ROOT}/changes?filter[types]=paymentmethods&page[size]=1000"),
                _ => format!("{ROOT}{all}9"),
            };
            tokio::spawn(async move {
                let answer = Answer::to(served.get(&path, &token)).await;
                (number, answer.status, answer.body.len())
            })
        });
        let mut complete = 0;
        for answer in join_all(answers).await {
            match answer.unwrap() {
                (number, 413, _) => assert_eq!(number % 4, 0),
                (number, 200, size) => {
                    assert!(number % 4 != 0 && size <= LIMIT, "{number}: {size}");
                    complete += 1;
                }
                (_, status, _) => assert_eq!(status, 503),
            }
        }
        let peak = served.peak_memory() / 1024 / 1024;
        println!("round {round}: {complete} complete, at most {peak} MiB");
        assert!(complete > 0 && peak < 400, "{complete} complete, {peak} MiB");
    }
    // Clients that do not read their answers leave them in memory. Others are refused then, except small answers.
    let path = format!("{ROOT}{all}9");
    let mut unread = Vec::new();
    for _ in 0..20 {
        match begin(&served, &token, &path).await {
            (connection, 200) => unread.push(connection),
            (_, status) => assert_eq!(status, 503),
        }
    }
    assert!((8..16).contains(&unread.len()), "{} of 20 are unread", unread.len());
    let busy = get(&served, &token, &format!("{all}9")).await.expect(503);
    assert!(busy.headers.contains_key("retry-after"));
    get(&served, &token, "/paymentmethods?page[limit]=60").await.expect(200);
    let peak = served.peak_memory() / 1024 / 1024;
    assert!(peak < 400, "{peak} MiB");
    // Nothing remains of them: the greatest answer is possible again.
    drop(unread);
    served.until(200, &path, &token).await;
}

/// Asks for an answer of which no more is read than its status.
async fn begin(served: &Served, token: &str, path: &str) -> (BufReader<TcpStream>, u16) {
    let socket = TcpSocket::new_v4().unwrap();
    // Nor does the network take more of it.
    socket.set_recv_buffer_size(4096).unwrap();
    let mut connection = socket.connect(served.address).await.unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: {MEDIA_TYPE}\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut connection = BufReader::with_capacity(64, connection);
    let mut line = String::new();
    connection.read_line(&mut line).await.unwrap();
    (connection, line.split(' ').nth(1).unwrap().parse().unwrap())
}

#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_export_is_sent_in_pieces_of_some_64_kib() {
    let (_place, served, token) = serve(&[]).await;
    let mut connection = served.connect().await;
    let head = format!(
        "GET {ROOT}/exports/zones HTTP/1.1\r\nhost: localhost\r\naccept: {NDJSON}\r\n\
         authorization: Bearer {token}\r\nconnection: close\r\n\r\n"
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    let (_, mut rest) = answer.split_once("\r\n\r\n").unwrap();
    let mut sizes = Vec::new();
    while let Some((size, chunk)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        sizes.push(size);
        rest = &chunk[size + 2..];
    }
    assert_eq!(sizes.pop(), Some(0), "{sizes:?}");
    // The last record of a piece exceeds it, and the last piece has what is left.
    let (last, pieces) = sizes.split_last().unwrap();
    let whole = 64 * 1024..66 * 1024;
    assert!(pieces.len() > 1 && pieces.iter().all(|size| whole.contains(size)), "{sizes:?}");
    assert!(*last < whole.end, "{sizes:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_page_of_the_feed_has_as_many_records_as_fit() {
    let limit = 100_000;
    let (place, served, token) = serve(&[("HOST_ANSWER_LIMIT", "100000")]).await;
    methods(&place, &served, &token, 7, 30_000).await;
    create(&served, &token, "/manufacturers", json!({"manufacturer_name": "Birch"}))
        .await
        .expect(201);
    let first =
        format!("{ROOT}/changes?filter[types]=manufacturers,paymentmethods&page[size]=1000");
    let check = |pages: &[(Vec<i64>, usize)], total: usize| {
        assert_eq!(pages.iter().map(|(ids, _)| ids.len()).sum::<usize>(), total, "{pages:?}");
        assert!(pages.iter().all(|(_, size)| *size <= limit), "{pages:?}");
        assert!(pages.len() > 2, "{pages:?}");
    };
    let (pages, next) = follow(&served, &token, &first).await;
    check(&pages, 8);
    // The changes since have the same bound.
    for id in 1..=7 {
        let ask = served.ask("PATCH", &format!("{ROOT}/paymentmethods/{id}"), &token);
        let ask = ask.header("content-type", "application/json").body(r#"{"ordering": 9}"#);
        Answer::to(ask).await.expect(200);
    }
    let (pages, next) = follow(&served, &token, &next).await;
    check(&pages, 7);
    // A record that alone is larger is a page of its own.
    give(&place, EARLIER).await;
    for id in [3, 4] {
        let ask = served.ask("PATCH", &format!("{ROOT}/paymentmethods/{id}"), &token);
        let ask = ask.header("content-type", "application/json").body(r#"{"ordering": 10}"#);
        Answer::to(ask).await.expect(200);
    }
    let (pages, _) = follow(&served, &token, &next).await;
    let pages: Vec<_> = pages.into_iter().map(|(ids, size)| (ids, size > EARLIER)).collect();
    assert_eq!(pages, [(vec![3], true), (vec![4], true)]);
    let (pages, _) = follow(&served, &token, &first).await;
    assert_eq!(pages.iter().map(|(ids, _)| ids.len()).sum::<usize>(), 8);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_read_keeps_to_the_limit_and_no_write_does() {
    let (_place, served, token) = serve(&[("HOST_ANSWER_LIMIT", "1500")]).await;
    let long = "a \"quoted\" word ".repeat(200);
    let method = json!({"name": "Card", "element": "card", "params": {"text": long}});
    create(&served, &token, "/paymentmethods", method).await.expect(201);
    let order = json!({"user_email": "ada@example.com", "customer_note": long, "items": [
        {"orderitem_name": "Lamp", "orderitem_sku": "L", "orderitem_price": "1",
         "orderitem_attributes": {"text": long}}]});
    create(&served, &token, "/orders", order).await.expect(201);
    let entry = json!({"order_state_id": 7, "comment": long});
    create(&served, &token, "/orders/1/history", entry).await.expect(201);
    for large in [
        "/paymentmethods/1",
        "/paymentmethods?fields[paymentmethods]=name,params",
        "/orders/1/history",
        "/orders/1",
        "/orders/1/items?fields[orderitems]=orderitem_attributes",
        "/orders/1?fields[orders]=order_id&include=history",
        "/currencies",
        "/reports/sales",
    ] {
        let refused = get(&served, &token, large).await.expect(413);
        assert_eq!(refused.errors(), ["413 answer_too_large"], "{large}");
    }
    for small in [
        "/paymentmethods/1?fields[paymentmethods]=name",
        "/paymentmethods",
        "/orders/1?fields[orders]=order_id",
        "/currencies?page[limit]=1",
        "/config?fields[config]=store_name",
    ] {
        get(&served, &token, small).await.expect(200);
    }
    served.stop().await;
}
