//! `check` and `recount`: an operator finds differences between kept numbers and the records, and
//! repairs them while others write.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::TryStreamExt;
use futures_util::future::join_all;
use plugin::model::kept::{self, Kept, Room};
use plugin::model::value::{Kind, Value};
use plugin::sql::Statement;
use plugin::store::Store;
use serde_json::{Map, Value as Json, json};

use crate::support::harness::Answer;
use crate::support::process::{Finished, Place, Served};

/// The number of clients that write during the repair.
const WRITERS: i64 = 4;
/// How often each of them writes at least.
const TURNS: usize = 12;

fn plain(text: impl Into<String>) -> Statement {
    Statement { text: text.into(), binds: Vec::new() }
}

/// A line of `check`: table, key, column, the kept and the counted number.
type Line = (String, Json, String, i64, i64);

fn lines(text: &str) -> Vec<Line> {
    let line = |line: &str| {
        let [table, key, column, kept, counted] =
            line.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let key = serde_json::from_str(key).unwrap();
        let [kept, counted] = [kept, counted].map(|number: &str| number.parse().unwrap());
        (table.to_owned(), key, column.to_owned(), kept, counted)
    };
    text.lines().map(line).collect()
}

/// Makes a table wrong in three ways, with a wrong, a missing and a surplus row, and returns the
/// expected lines.
async fn spoil(store: &Store, kept: &Kept) -> Vec<Line> {
    let identity = store.dialect().kept.identity(kept);
    let kinds = kept.by.iter().map(|group| match group.room {
        Room::Text(_) => Kind::WORD,
        Room::Small | Room::Whole => Kind::COUNT,
    });
    let numbers = identity.len() - kept.by.len() + kept.sums.len();
    let kinds: Vec<Kind> = kinds.chain(std::iter::repeat_n(Kind::COUNT, numbers)).collect();
    let sums: Vec<&str> = kept.sums.iter().map(|sum| sum.column).collect();
    let columns = identity.iter().chain(&sums).copied().collect::<Vec<_>>().join(", ");
    let mut reading = store.begin_read().await.unwrap();
    let question =
        format!("SELECT {columns} FROM {} ORDER BY {} LIMIT 2", kept.table, identity.join(", "));
    let rows: Vec<Vec<Value>> =
        reading.stream(plain(question), &kinds).unwrap().try_collect().await.unwrap();
    reading.commit().await.unwrap();

    let literal = |value: &Value| match value {
        Value::Int(number) => number.to_string(),
        text => format!("'{text}'"),
    };
    let json = |value: &Value| match value {
        Value::Int(number) => json!(number),
        text => json!(text.to_string()),
    };
    let line = |row: &[Value], sum: usize, now: i64, truth: i64| {
        let key: Map<String, Json> = identity
            .iter()
            .zip(row)
            .map(|(name, value)| ((*name).to_owned(), json(value)))
            .collect();
        (kept.table.to_owned(), Json::Object(key), sums[sum].to_owned(), now, truth)
    };
    let same = |row: &[Value]| {
        let same =
            identity.iter().zip(row).map(|(name, value)| format!("{name} = {}", literal(value)));
        same.collect::<Vec<_>>().join(" AND ")
    };
    let mut expected = Vec::new();
    let mut done = Vec::new();
    let [first, rest @ ..] = &rows[..] else { panic!("{} has no row", kept.table) };
    for (place, sum) in sums.iter().enumerate() {
        let (more, truth) = (place as i64 + 3, first[identity.len() + place].int(sum).unwrap());
        done.push(format!(
            "UPDATE {} SET {sum} = {sum} + {more} WHERE {}",
            kept.table,
            same(first)
        ));
        expected.push(line(first, place, truth + more, truth));
    }
    if let [second, ..] = rest {
        done.push(format!("DELETE FROM {} WHERE {}", kept.table, same(second)));
        for (place, sum) in sums.iter().enumerate() {
            let truth = second[identity.len() + place].int(sum).unwrap();
            expected.extend((truth != 0).then(|| line(second, place, 0, truth)));
        }
    }
    let mut surplus = first.clone();
    surplus[0] = match kept.by[0].room {
        Room::Text(_) => Value::Text("zz \"ß\"".to_owned()),
        Room::Small | Room::Whole => Value::Int(31_999),
    };
    surplus.splice(identity.len().., sums.iter().map(|_| Value::Int(9)));
    let values = surplus.iter().map(literal).collect::<Vec<_>>().join(", ");
    done.push(format!("INSERT INTO {} ({columns}) VALUES ({values})", kept.table));
    expected.extend((0..sums.len()).map(|place| line(&surplus, place, 9, 0)));
    store.write(done.into_iter().map(plain)).await.unwrap();
    expected
}

/// Writes of all kinds, including those that affect the wrong rows, until it is stopped.
async fn write(host: &Served, token: &str, number: i64, stop: &AtomicBool) {
    let ask = async |method: &str, path: String, body: Json| {
        let path = format!("/api/index.php/v1/shop{path}");
        let answer = Answer::to(host.ask(method, &path, token).json(&body)).await;
        assert!(answer.status < 300, "{method} {path}: {}", String::from_utf8_lossy(&answer.body));
        match answer.status {
            204 => 0,
            _ => answer.json()["data"]["id"].as_str().unwrap().parse::<i64>().unwrap(),
        }
    };
    let mut turn = 0;
    while turn < TURNS || !stop.load(Ordering::Relaxed) {
        turn += 1;
        let status = 1 + (number + turn as i64) % 8;
        let quantity = turn as i64 % 7;
        let product = json!({"product_name": "x", "quantity": quantity, "price": "19.99"});
        let product = ask("POST", "/products".to_owned(), product).await;
        let order = json!({
            "user_email": "a@b.example", "order_state_id": status, "order_shipping": "4.90",
            "items": [{"orderitem_name": "x", "orderitem_sku": "s", "orderitem_price": "1.10"}],
        });
        let order = ask("POST", "/orders".to_owned(), order).await;
        let person = json!({"first_name": "a", "last_name": "b", "email": "a@b.example"});
        let person = ask("POST", "/customers".to_owned(), person).await;
        let change = json!({"price": turn, "enabled": turn % 2, "product_type": "variable"});
        ask("PATCH", format!("/products/{product}"), change).await;
        let change = json!({"order_state_id": 1 + status % 8});
        ask("PATCH", format!("/orders/{order}"), change).await;
        if turn % 2 == 0 {
            ask("DELETE", format!("/products/{product}"), json!({})).await;
            ask("DELETE", format!("/orders/{order}"), json!({})).await;
            ask("DELETE", format!("/customers/{person}"), json!({})).await;
        }
    }
}

async fn spoil_all(store: &Store) -> Vec<Line> {
    let mut expected = Vec::new();
    for kept in kept::ALL {
        expected.extend(spoil(store, kept).await);
    }
    expected
}

#[tokio::test(flavor = "multi_thread")]
async fn differences_are_found_and_repaired_while_others_write() {
    let place = Place::of_the_store();
    place.run("demo --products 300 --orders 400").await;
    let token = place.user("root", "Super Users").await;
    let host = place.serve().await;
    assert_eq!(place.run("check").await, "", "a correct store has no differences");

    let store = place.store();
    let expected = spoil_all(&store).await;
    let sorted = |mut lines: Vec<Line>| {
        lines.sort_by_key(|line| format!("{line:?}"));
        lines
    };
    let expected = sorted(expected);
    let checked = place.call("check").finish().await;
    checked.exits(1);
    assert_eq!(sorted(lines(&checked.out())), expected);
    let advice = "the stored numbers above do not match the records";
    assert!(checked.err().contains(advice), "{}", checked.err());
    let again = place.call("check").finish().await;
    assert_eq!(again.out(), checked.out(), "checking repairs nothing");

    let stop = AtomicBool::new(false);
    let mended = async {
        // Some writes have been done, and others are in progress.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mended = place.run("recount").await;
        stop.store(true, Ordering::Relaxed);
        mended
    };
    let writers = (0..WRITERS).map(|number| write(&host, &token, number, &stop));
    let (mended, _) = tokio::join!(mended, join_all(writers));
    assert!(lines(&mended).len() >= expected.len(), "{mended}");
    assert_eq!(place.run("check").await, "", "everything is correct");
    assert_eq!(place.run("recount").await, "", "nothing remains to repair");

    let entries = "SELECT what FROM host_audit WHERE route = 'recount' ORDER BY id";
    let entries = place.database.texts_at(&place.site_url(), entries).await;
    assert_eq!(entries.len(), 2, "{entries:?}");
    store.close().await;
    host.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_thousand_differences_are_listed_and_all_are_repaired() {
    let place = Place::of_the_store();
    place.run("demo --products 10 --orders 10").await;
    let store = place.store();
    let kept = kept::ALL.into_iter().find(|kept| {
        kept.by.iter().all(|group| !matches!(group.room, Room::Text(_))) && kept.sums.len() == 1
    });
    let kept = kept.unwrap();
    let zeros = ", 0".repeat(store.dialect().kept.identity(kept).len() - 1);
    let surplus = (10_001..11_101)
        .map(|of| plain(format!("INSERT INTO {} VALUES ({of}{zeros}, 9)", kept.table)));
    store.write(surplus.collect::<Vec<_>>()).await.unwrap();

    let checked = place.call("check").finish().await;
    checked.exits(1);
    let listed = lines(&checked.out());
    assert_eq!(listed.len(), 1_001);
    assert!(listed[..1_000].iter().all(|line| (line.3, line.4) == (9, 0)));
    let of_all = ("...".to_owned(), json!({}), "listed".to_owned(), 1_000, 1_100);
    assert_eq!(listed[1_000], of_all);
    assert_eq!(place.run("recount").await, checked.out());
    assert_eq!(place.run("check").await, "");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_concurrent_recounts_repair_nothing_twice() {
    let place = Place::of_the_store();
    place.run("demo --products 100 --orders 200").await;
    let store = place.store();
    for _ in 0..3 {
        spoil_all(&store).await;
        let recounts = [(), ()].map(|()| place.call("recount").finish());
        let ended = join_all(recounts).await;
        let is_stopped = |ended: &&Finished| ended.err().contains("another recount has begun");
        let (stopped, done): (Vec<_>, Vec<_>) = ended.iter().partition(is_stopped);
        assert!(!done.is_empty(), "the later run continues");
        for ended in done {
            ended.exits(0);
        }
        for ended in stopped {
            ended.exits(1);
        }
        assert_eq!(place.run("check").await, "");
    }
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restored_backup_the_feed_of_changes_is_another() {
    let place = Place::of_the_store();
    place.run("user list").await;
    let store = place.store();
    let feed = "SELECT feed FROM shop_feed WHERE one = 1";
    let name = async || {
        let mut reading = store.begin_read().await.unwrap();
        let asked = Statement { text: feed.to_owned(), binds: Vec::new() };
        let names = reading.texts(asked).await.unwrap();
        reading.commit().await.unwrap();
        names
    };
    let before = name().await;
    assert_eq!(before.len(), 1);
    assert_eq!(place.run("restored").await, "");
    assert_ne!(name().await, before);
    store.close().await;
}
