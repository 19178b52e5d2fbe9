//! Imports of a host that is killed at any moment: the file is sent again, and the store becomes that of an import
//! that nothing has interrupted. And imports of a client that sends slowly.

use std::time::Duration;

use futures_util::future::join_all;
use host_interface::Body;
use plugin::sql::Statement;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::faults::bare_behind_a_proxy;
use crate::support::bare::FileHeaders;
use crate::support::harness::{Answer, NDJSON, ROOT};
use crate::support::kills::{kill, kills};
use crate::support::process::{Place, Served};
use crate::support::proxy::Loss;
use crate::support::waiting::patiently;

/// How often a host is killed.
const KILLS: usize = 2;
/// The records of the file.
const RECORDS: usize = 3_000;

/// How a client goes on after its connection was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// It asks how far the import has come.
    ImportOf,
    /// It sends the same request.
    Key,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_that_goes_on_after_every_kill_ends_as_one_that_was_never_killed() {
    let kills = kills(KILLS);
    let file = file();
    let (whole, token) = Place::with_ann("Administrator").await;
    let served = whole.serve().await;
    let sent = import(&served, &token, &file, "type=products", &[]).send().await.unwrap();
    assert!(sent.text().await.unwrap().contains("\"failed\":30"));
    let expected = content(&served, &token).await;
    served.stop().await;
    for way in [Way::ImportOf, Way::Key] {
        let (place, token) = Place::with_ann("Administrator").await;
        for _ in 0..kills {
            let served = place.serve().await;
            let asking = send(&served, &token, &file, way).await;
            let asking = tokio::spawn(async move { asking.send().await?.bytes().await });
            tokio::time::sleep(Duration::from_millis(fastrand::u64(50..=900))).await;
            kill([served]).await;
            drop(asking.await);
        }
        let served = place.serve().await;
        let answer = send(&served, &token, &file, way).await.send().await.unwrap();
        assert_eq!(answer.status(), 200, "{way:?}: {:?}", answer.text().await);
        let report = answer.text().await.unwrap();
        assert!(report.contains("\"summary\""), "{way:?}: {report}");
        assert_eq!(content(&served, &token).await, expected, "{way:?}");
        // The same once more changes nothing.
        let again = import(&served, &token, &file, "type=products&report=faults", &[]);
        let again = again.send().await.unwrap().text().await.unwrap();
        assert!(
            again.contains("\"created\":0,\"updated\":0,\"unchanged\":2970"),
            "{way:?}: {again}"
        );
        served.stop().await;
    }
}

/// A client whose line has broken sends the file again while the host still waits for the rest of the first request.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_import_is_taken_over_while_it_is_going_on() {
    let (place, token) = Place::with_ann("Administrator").await;
    let served = place.serve().await;
    let file = file();
    let half = file.find("K-2950,").unwrap();
    let query = "type=products&mode=create&report=faults";
    let mut connection = served.connect().await;
    let own = format!("idempotency-key: night\r\ncontent-length: {}", file.len());
    let begin = head(&token, query, &own) + &file[..half];
    connection.write_all(begin.as_bytes()).await.unwrap();
    // Some of it is written.
    let committed = async || {
        let latest = served.get(&format!("{ROOT}/imports?page[limit]=1"), &token);
        let latest = Answer::to(latest).await.expect(200);
        latest.column("committed_lines").first().and_then(Value::as_u64).unwrap_or_default()
    };
    let some = async {
        while committed().await < 1_000 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently("some lines", some).await;
    let key = [("idempotency-key", "night".to_owned())];
    let second = import(&served, &token, &file, query, &key).send().await.unwrap();
    let report = second.text().await.unwrap();
    assert!(report.contains("\"read\":3000,\"created\":2970"), "{report}");
    connection.write_all(&file.as_bytes()[half..]).await.unwrap();
    let mut report = String::new();
    patiently("the report", connection.read_to_string(&mut report)).await.unwrap();
    assert!(report.contains("Another request has taken this import over."), "{report}");
    let listed = Answer::to(served.get(&format!("{ROOT}/imports"), &token)).await.expect(200);
    assert_eq!(listed.column("state"), ["done"]);
    served.stop().await;
}

/// Whoever may not import a type, or sends something else, does not end an import of it that is going on.
#[tokio::test(flavor = "multi_thread")]
async fn only_what_goes_on_with_an_import_ends_it() {
    let (place, token) = Place::with_ann("Administrator").await;
    let reader = place.user("bob", "Registered").await;
    let served = place.serve().await;
    let file = "coupon_code,coupon_name,value\nA,A,5\nB,B,much\nC,C,7\n";
    let stopped = import(&served, &token, file, "type=coupons&on_error=stop", &[]).send().await;
    stopped.unwrap().text().await.unwrap();
    let store = place.store();
    let mut write = store.begin().await.unwrap();
    let text = "UPDATE shop_imports SET state = 'running', reason = ''".to_owned();
    write.execute(Statement { text, binds: Vec::new() }).await.unwrap();
    write.commit().await.unwrap();
    let go_on = async |token: &str, query: &str, file: &str| {
        let of = [("import-of", "1".to_owned())];
        Answer::to(import(&served, token, file, query, &of)).await
    };
    let record = async |name: &str| {
        let record = served.get(&format!("{ROOT}/imports/1"), &token);
        Answer::to(record).await.expect(200).attribute(name)
    };
    let fixed = &*file.replace("much", "6");
    let other = &*file.replace("A,A,5", "A,A,6");
    for (token, query, file, error) in [
        (&reader, "type=coupons&from_line=3", fixed, "403 forbidden"),
        (&token, "type=zones&mode=create", fixed, "400 invalid_table"),
        (&token, "type=coupons", fixed, "409 file_changed header Import-Of"),
        (&token, "type=coupons&from_line=3", other, "409 file_changed header Import-Of"),
        (&token, "type=coupons&from_line=3&dry_run=1", fixed, "409 file_changed header Import-Of"),
        (
            &token,
            "type=coupons&from_line=3&mode=create",
            fixed,
            "409 file_changed header Import-Of",
        ),
    ] {
        assert_eq!(go_on(token, query, file).await.errors(), [error], "{query}");
        assert_eq!(record("state").await, "running", "{query}");
    }
    let report = go_on(&token, "type=coupons&from_line=3", fixed).await;
    assert!(String::from_utf8_lossy(&report.body).contains("\"read\":2,\"created\":2"));
    assert_eq!(record("state").await, "interrupted");
    assert_eq!(record("reason").await, "Another import has gone on with it.");
    served.stop().await;
}

/// A key belongs to one import, also where two hosts get it at the same moment.
#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_that_get_an_import_at_once_do_it_once() {
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[]).await;
    for round in 0..10 {
        let file = format!("manufacturer_name\nFirst {round}\nSecond {round}\n");
        let query = "type=manufacturers&mode=create";
        let key = [("idempotency-key", format!("night-{round}"))];
        let [one, other] = [hosts.first(), hosts.last()]
            .map(|host| import(host.unwrap(), &token, &file, query, &key));
        let (one, other) = tokio::join!(one.send(), other.send());
        let answers = [one.unwrap(), other.unwrap()];
        let statuses = answers.each_ref().map(|answer| answer.status().as_u16());
        assert!(statuses.contains(&200), "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 409].contains(status)), "{statuses:?}");
        for answer in answers {
            drop(answer.text().await);
        }
        let again = import(&hosts[0], &token, &file, query, &key).send().await.unwrap();
        assert!(again.text().await.unwrap().contains("\"created\":2"));
        let total = async |kind: &str| {
            let list = hosts[0].get(&format!("{ROOT}/{kind}?page[limit]=1"), &token);
            Answer::to(list).await.expect(200).total()
        };
        assert_eq!(
            [total("manufacturers").await, total("imports").await],
            [2 * (round + 1), round + 1]
        );
    }
    for host in hosts {
        host.stop().await;
    }
}

/// The whole file is smaller than what a host reads of other bodies before it calls an extension.
#[tokio::test]
async fn a_client_may_send_a_line_now_and_then_and_a_pause_leaves_what_was_committed() {
    const LINES: usize = 12;
    let (place, token) = Place::with_ann("Administrator").await;
    let limits = [("HOST_REQUEST_TIMEOUT", "3"), ("HOST_STALL_TIMEOUT", "5")];
    let served = place.serve_with(&limits).await;
    let mut connection = served.connect().await;
    let (mut reading, mut writing) = connection.split();
    let sending = async {
        let head = head(&token, "type=products", "transfer-encoding: chunked");
        let begin = head + &chunk("sku,product_name\n");
        writing.write_all(begin.as_bytes()).await.unwrap();
        for number in 0..LINES {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let line = chunk(&format!("T-{number},Product {number}\n"));
            // The answer says why nothing more is taken.
            if writing.write_all(line.as_bytes()).await.is_err() {
                return;
            }
        }
        // Neither more nor an end comes.
    };
    let mut answer = String::new();
    let ((), read) =
        tokio::join!(sending, patiently("the report", reading.read_to_string(&mut answer)));
    read.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("the body did not arrive in time"), "{answer}");
    assert!(answer.contains("\"committed_lines\":13,"), "{answer}");
    assert!(answer.ends_with("\r\n0\r\n\r\n"), "the answer is complete: {answer}");
    let get = async |path: &str| {
        Answer::to(served.get(&format!("{ROOT}{path}"), &token)).await.expect(200)
    };
    assert_eq!(get("/products?filter[sku]=T-").await.total(), LINES as i64);
    assert_eq!(get("/imports").await.column("state"), [json!("interrupted")]);
    served.stop().await;
}

/// A file may arrive for a day. What has been committed stays.
#[tokio::test]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn an_import_ends_soon_after_its_sender_has_lost_access_or_a_right() {
    let (place, ann) = Place::with_ann("Administrator").await;
    let cid = place.user("cid", "Administrator").await;
    place.run("group add Writers --parent Manager").await;
    let bob = place.user("bob", "Writers").await;
    let served = place.serve().await;
    let senders = [
        (ann, "token revoke ann default", "its sender has no access any more"),
        (cid, "user block cid", "You lack the permission store.create"),
        (
            bob,
            "permission set Writers store.create com_shop.products deny",
            "You lack the permission store.create",
        ),
    ];
    let ends = senders.iter().enumerate().map(async |(nth, (token, loss, reason))| {
        let mut connection = served.connect().await;
        let (mut reading, mut writing) = connection.split();
        let mut answer = String::new();
        let report = patiently("the report", reading.read_to_string(&mut answer));
        let head = head(token, "type=products", "transfer-encoding: chunked");
        let sending = async {
            writing.write_all((head + &chunk("sku,product_name\n")).as_bytes()).await.unwrap();
            for number in 0.. {
                let line = chunk(&format!("T-{nth}-{number},Product {number}\n"));
                if writing.write_all(line.as_bytes()).await.is_err() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(400)).await;
                if number == 2 {
                    place.run(loss).await;
                }
            }
            std::future::pending().await
        };
        tokio::select! {
            read = report => read.unwrap(),
            () = sending => 0,
        };
        assert!(answer.starts_with("HTTP/1.1 200 "), "{loss}: {answer}");
        assert!(answer.contains(reason), "{loss}: {answer}");
        assert!(answer.contains("\"created\":"), "{loss}: {answer}");
    });
    join_all(ends).await;
    place.run("permission set Writers store.create com_shop.products inherit").await;
    let imports = served.get(&format!("{ROOT}/imports"), &senders[2].0);
    let imports = Answer::to(imports).await.expect(200);
    assert_eq!(
        imports.column("state"),
        [json!("interrupted"), json!("interrupted"), json!("interrupted")]
    );
    served.stop().await;
}

/// A key is waited for from when it is taken, and not from when the request has begun.
#[tokio::test]
async fn the_first_record_of_an_import_with_a_key_may_come_late() {
    let (place, token) = Place::with_ann("Administrator").await;
    let served = place.serve().await;
    let mut connection = served.connect().await;
    let own = "idempotency-key: night\r\ntransfer-encoding: chunked";
    let begin = head(&token, "type=products", own) + &chunk("sku,product_name\n");
    connection.write_all(begin.as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let rest = chunk("T-1,Lamp\n") + "0\r\n\r\n";
    connection.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = String::new();
    patiently("the report", connection.read_to_string(&mut answer)).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("\"created\":1"), "{answer}");
    served.stop().await;
}

/// The body of an import can be read only once, so the request is not repeated as a whole.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "a file always answers")]
async fn an_import_begins_although_a_connection_is_lost() {
    for loss in [Loss::OfStatement, Loss::OfAnswer] {
        let (store, proxy) = bare_behind_a_proxy().await;
        proxy.lose(loss, b"FROM shop_imports WHERE user_id");
        let headers = FileHeaders(Some(("idempotency-key", "night".to_owned())));
        let file = Body::whole("manufacturer_name\nBirch\n");
        let report = store.import("type=manufacturers&mode=create", headers, file).await;
        let report = report.text().await.unwrap();
        assert!(report.contains("\"created\":1"), "{loss:?}: {report}");
        assert!(proxy.has_lost());
    }
}

/// A piece of a body whose length is not known.
fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A file of products, of which every hundredth is wrong.
fn file() -> String {
    let rows = (0..RECORDS).map(|number| {
        let price = if number % 100 == 7 { "\"1,5\"".to_owned() } else { format!("{number}.25") };
        format!("K-{number},\"Product\n{number}\",{price},{}\n", number % 50)
    });
    format!("sku,product_name,price,quantity\n{}", rows.collect::<String>())
}

fn import(
    served: &Served,
    token: &str,
    file: &str,
    query: &str,
    headers: &[(&str, String)],
) -> reqwest::RequestBuilder {
    let path = format!("{ROOT}/imports?{query}");
    let ask = served.bare("POST", &path).bearer_auth(token).header("accept", NDJSON);
    let ask = ask.header("content-type", "text/csv").body(file.to_owned());
    headers.iter().fold(ask, |ask, (name, value)| ask.header(*name, value))
}

/// The head of a request for a file that is sent by hand.
fn head(token: &str, query: &str, own: &str) -> String {
    format!(
        "POST {ROOT}/imports?{query} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         authorization: Bearer {token}\r\naccept: {NDJSON}\r\ncontent-type: text/csv\r\n{own}\r\n\r\n"
    )
}

/// The request of a client that does not know how far it has come.
async fn send(served: &Served, token: &str, file: &str, way: Way) -> reqwest::RequestBuilder {
    if way == Way::Key {
        let key = [("idempotency-key", "night".to_owned())];
        return import(served, token, file, "type=products", &key);
    }
    let latest = served.get(&format!("{ROOT}/imports?page[limit]=1"), token);
    let latest = Answer::to(latest).await.expect(200);
    let Some(id) = latest.ids().first().copied() else {
        return import(served, token, file, "type=products", &[]);
    };
    let committed = latest.column("committed_lines")[0].as_u64().unwrap();
    let query = format!("type=products&from_line={}", committed + 1);
    import(served, token, file, &query, &[("import-of", id.to_string())])
}

/// What the store has of the products, without keys and moments, and their stock.
async fn content(served: &Served, token: &str) -> Vec<Value> {
    let export =
        served.bare("GET", &format!("{ROOT}/exports/products?sort=sku")).bearer_auth(token);
    let answer = Answer::to(export.header("accept", NDJSON)).await;
    assert_eq!(answer.status, 200);
    let mut records = answer.lines();
    records.remove(0);
    for record in &mut records {
        for name in ["shop_product_id", "created_on", "modified_on"] {
            record.as_object_mut().unwrap().remove(name);
        }
    }
    let ledger = "/reports/inventory?page[limit]=1";
    let stock = Answer::to(served.get(&format!("{ROOT}{ledger}"), token)).await.expect(200);
    records.push(stock.json()["meta"]["totals"].clone());
    records
}
