//! Copies that clients outside of the process keep through the feed of changes: whatever happens to the
//! hosts, and however transactions overlap, they end up equal to the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use plugin::model::resource::Resource;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::store::{Store, Transaction};
use serde_json::json;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::support::databases::{Database, Engine};
use crate::support::harness::{Answer, ROOT};
use crate::support::kills::randomness;
use crate::support::ledger::Client;
use crate::support::mirror::Mirror;
use crate::support::process::{Place, Served};
use crate::support::waiting::{PATIENCE, eventually};
use crate::support::writers::{Known, Writers};

/// For how many seconds everything is written, unless `TEST_SEASON` has another number.
const SEASON: u64 = 4;
/// The number of clients that write.
const WRITERS: usize = 12;
/// For how long transactions are open beside those of the hosts, in milliseconds.
const OPEN: u64 = 30;
/// The number of clients that wait for a change.
const WAITING: usize = 1_000;
/// How many other copies are begun at most while everything is written.
const COPIES: usize = 8;
/// The page of a copy that is made at once.
const WHOLE: usize = 1_000;
/// The pause of a client that has everything, or whose host is gone.
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "on a server the next test does it with two hosts")]
async fn a_copy_kept_through_the_feed_equals_the_store_after_kills() {
    let (place, token) = Place::with_ann("Administrator").await;
    for served in season(async |_| place.serve().await, 1, &token, place.store()).await {
        served.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "hosts share a database on a server")]
async fn two_hosts_give_one_feed() {
    let (place, token) = Place::with_ann("Administrator").await;
    for served in season(async |_| place.serve().await, 2, &token, place.store()).await {
        served.stop().await;
    }
}

#[tokio::test]
async fn a_cursor_survives_a_restart_and_a_copy_to_another_engine() {
    let (place, token) = Place::with_ann("Administrator").await;
    let own = place.site_url();
    let served = serve_at(&place, &own).await;
    let mut mirror = first_copy(&served, &token).await;
    change(&Client::of(&served, &token), "before the restart").await;
    served.stop().await;

    let served = serve_at(&place, &own).await;
    catches_up(&mut mirror, &served, &token).await;
    change(&Client::of(&served, &token), "before the copy").await;
    served.stop().await;

    // There and back, because both ends of a copy have to keep the feed.
    let there = Database::on(match place.database.engine {
        Engine::MariaDb => Engine::Postgres,
        Engine::Sqlite | Engine::Postgres => Engine::Sqlite,
    });
    let (there, back) = (there.await, Database::new().await);
    let mut from = own;
    for to in [there.url(), back.url()] {
        let copy = place.call("copy --from").word(&from).word("--to").word(&to);
        copy.finish().await.succeeds();
        let served = serve_at(&place, &to).await;
        catches_up(&mut mirror, &served, &token).await;
        change(&Client::of(&served, &token), &to).await;
        catches_up(&mut mirror, &served, &token).await;
        // What nobody has read when the next copy is made.
        change(&Client::of(&served, &token), "left").await;
        served.stop().await;
        from = to;
    }
}

#[tokio::test]
async fn a_cursor_of_a_restored_backup_is_refused() {
    let (place, token) = Place::with_ann("Administrator").await;
    let served = serve_at(&place, &place.site_url()).await;
    let mut mirror = first_copy(&served, &token).await;
    served.stop().await;
    let backup = Database::new().await;
    let copy = place.call("copy --from").word(place.site_url()).word("--to").word(backup.url());
    copy.finish().await.succeeds();

    // What happens after the backup was made is lost with it, and the copy has it.
    let served = serve_at(&place, &place.site_url()).await;
    let client = Client::of(&served, &token);
    change(&client, "lost").await;
    mirror.read_all(&client).await;
    served.stop().await;

    let served = serve_at(&place, &backup.url()).await;
    let client = Client::of(&served, &token);
    // The place of the copy is ahead of the restored feed, which shows even before it is another one.
    is_refused(&mirror, &client).await;
    place.call("restored").env("DATABASE_URL", backup.url()).finish().await.succeeds();
    // It would no longer show when the restored store has had more changes.
    for number in 0..3 {
        change(&client, &format!("after the backup {number}")).await;
    }
    let first = is_refused(&mirror, &client).await;
    mirror = Mirror::from(&first);
    mirror.read_all(&client).await;
    catches_up(&mut mirror, &served, &token).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
async fn a_thousand_waiting_clients_use_no_database_connection_and_little_memory() {
    let (place, token) = Place::with_ann("Administrator").await;
    // One token has a tenth of the places.
    let environment = [("HOST_METRICS", "127.0.0.1:0"), ("HOST_WAITERS", "10000")];
    let served = place.serve_with(&environment).await;
    let line = served.log.wait_for("metrics at ").await;
    let (_, metrics) = line.split_once("metrics at ").unwrap();
    // The sum of the values of a metric.
    let sum = async |name: &str, label: &str| {
        let text = reqwest::get(metrics).await.unwrap().text().await.unwrap();
        let lines = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
        let values: Vec<f64> =
            lines.map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect();
        assert!(!values.is_empty(), "{name} is no metric");
        values.into_iter().sum::<f64>()
    };
    let waiting = async || sum("host_http_requests_waiting ", "").await;

    let client = Client::of(&served, &token);
    change(&client, "before").await;
    let mut mirror = Mirror::from("/changes?filter[types]=orders");
    mirror.read_all(&client).await;
    let wait = |mirror: &Mirror| {
        let path = format!("{ROOT}{}", mirror.path());
        tokio::spawn(Answer::to(served.get(&path, &token).header("prefer", "wait=60")))
    };
    // What a host needs to read the feed for many at once is not what it needs for those who wait.
    let at_once = (0..100).map(|_| client.ask("GET", "/changes?page[size]=1", None));
    for answer in futures_util::future::join_all(at_once).await {
        assert_eq!(answer.unwrap().0, 200);
    }
    let before = served.memory();
    let mut answers = Vec::new();
    for some in 1..=WAITING / 100 {
        answers.extend((0..100).map(|_| wait(&mirror)));
        let all = (some * 100) as f64;
        eventually("all of them wait", async || (waiting().await >= all).then_some(())).await;
    }
    let grown = served.memory().saturating_sub(before);
    println!("{} KiB for {WAITING} clients that wait", grown / 1024);
    assert!(grown < 40 * 1024 * 1024, "{grown} bytes");
    // One task looks for changes once a second, and nobody else does.
    eventually("no connection is busy", async || {
        (sum("webservices_shop_connections{", "busy").await == 0.0).then_some(())
    })
    .await;

    client.create("/manufacturers", json!({"manufacturer_name": "Oak"})).await;
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(waiting().await, WAITING as f64, "a change of another type wakes nobody");

    let order = client.create("/orders", json!({"user_email": "ada@example.com"})).await;
    for answer in answers {
        let page = answer.await.unwrap().expect(200).json();
        assert_eq!(page["data"].as_array().unwrap().len(), 1);
        assert_eq!(page["data"][0]["id"], order.to_string());
    }
    // A stop answers those who wait.
    mirror.read_all(&client).await;
    let answers: Vec<_> = (0..100).map(|_| wait(&mirror)).collect();
    eventually("they wait", async || (waiting().await >= 100.0).then_some(())).await;
    served.stop().await;
    for answer in answers {
        assert_eq!(answer.await.unwrap().expect(200).json()["data"], json!([]));
    }
}

/// Keeps copies while everything is written through so many hosts, which are killed in turn, and through
/// transactions beside them. Fails the test unless the copies equal the store afterwards; returns the
/// hosts.
pub async fn season(
    serve: impl AsyncFn(usize) -> Served,
    hosts: usize,
    token: &str,
    store: Store,
) -> Vec<Served> {
    let seconds = std::env::var("TEST_SEASON").map_or(SEASON, |seconds| seconds.parse().unwrap());
    let mut rng = randomness();
    let mut served = Vec::new();
    for host in 0..hosts {
        served.push(serve(host).await);
    }
    let clients = |served: &[Served]| served.iter().map(|host| Client::of(host, token)).collect();
    let (current, now) = watch::channel::<Vec<Client>>(clients(&served));
    let writers = Writers::start(WRITERS, now.clone(), &mut rng);

    let over = Arc::new(AtomicBool::new(false));
    let mirror = Arc::new(Mutex::new(Mirror::of_all(WHOLE)));
    let following = tokio::spawn(follow(Arc::clone(&mirror), now.clone(), Arc::clone(&over)));
    let copying = tokio::spawn(copy_again(now.clone(), Arc::clone(&over)));
    let store = Arc::new(store);
    let mut beside = JoinSet::new();
    let committed = Arc::new(AtomicUsize::new(0));
    // An engine with one writer at a time does not queue them: others would hardly ever be the next.
    let (tasks, rest) = match Engine::of_this_run() {
        Engine::Sqlite => (1, 4 * OPEN),
        Engine::Postgres | Engine::MariaDb => (3, OPEN / 3),
    };
    for _ in 0..tasks {
        let (store, known, over) =
            (Arc::clone(&store), Arc::clone(&writers.known), Arc::clone(&over));
        let (committed, mut rng) = (Arc::clone(&committed), rng.fork());
        beside.spawn(async move {
            while !over.load(Ordering::Relaxed) {
                match overlap(&store, &known, &mut rng).await {
                    Ok(()) => drop(committed.fetch_add(1, Ordering::Relaxed)),
                    // Another transaction had the same records, or a deadlock was resolved.
                    Err(error) => assert!(error.passes() || error.may_pass(), "{error:?}"),
                }
                sleep(Duration::from_millis(rest)).await;
            }
        });
    }

    let (begun, length) = (Instant::now(), Duration::from_secs(seconds));
    let pause = Duration::from_secs((seconds / 4).min(5));
    let mut kills = 0;
    let killing = async {
        while begun.elapsed() < length {
            sleep(pause).await;
            let host = kills % hosts;
            served[host].signal("KILL").await;
            assert_eq!(served[host].ended().await, None, "the host was killed");
            served[host] = serve(host).await;
            current.send_replace(clients(&served));
            kills += 1;
        }
    };
    tokio::join!(killing, keep_open(&store, &mirror, &now));
    let all_done = timeout(PATIENCE, async {
        while !writers.missing().is_empty() {
            sleep(PAUSE).await;
        }
    });
    assert!(all_done.await.is_ok(), "nobody could do this: {:?}", writers.missing());
    over.store(true, Ordering::Relaxed);
    while let Some(done) = beside.join_next().await {
        done.unwrap();
    }
    let writes = writers.stop().await;
    following.await.unwrap();
    let mut copies = copying.await.unwrap();

    let client = now.borrow()[0].clone();
    let mut mirror = Arc::into_inner(mirror).unwrap().into_inner();
    mirror.read_all(&client).await;
    for copy in &mut copies {
        copy.read_all(&client).await;
    }
    println!(
        "{writes} writes and {} transactions in {:.0?} with {kills} kills; {} records were seen, {} \
         of them deleted; {} other copies were begun meanwhile",
        committed.load(Ordering::Relaxed),
        begun.elapsed(),
        mirror.seen,
        mirror.deleted,
        copies.len()
    );
    let mut whole = Mirror::of_all(WHOLE);
    whole.read_all(&client).await;
    mirror.equals(&whole);
    for copy in &copies {
        copy.equals(&whole);
    }
    mirror.equals_lists(&client).await;
    store.close().await;
    served
}

/// Keeps a copy up to date, from each of the hosts in turn.
async fn follow(
    mirror: Arc<Mutex<Mirror>>,
    hosts: watch::Receiver<Vec<Client>>,
    over: Arc<AtomicBool>,
) {
    for turn in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let client = next_of(&hosts, turn);
        if mirror.lock().await.read(&client).await.unwrap_or(0) == 0 {
            sleep(PAUSE).await;
        }
    }
}

/// Makes one copy after another, in pages of several sizes, and returns them. The records that a copy begins
/// with are changed while it is made.
async fn copy_again(hosts: watch::Receiver<Vec<Client>>, over: Arc<AtomicBool>) -> Vec<Mirror> {
    let mut copies = vec![Mirror::of_all(WHOLE)];
    for turn in 0.. {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let (count, copy) = (copies.len(), copies.last_mut().unwrap());
        match copy.read(&next_of(&hosts, turn)).await {
            Some(few) if few < WHOLE / 3 && count < COPIES => {
                copies.push(Mirror::of_all(WHOLE / (1 + count % 3)));
            }
            Some(1..) => {}
            Some(0) | None => sleep(PAUSE).await,
        }
    }
    copies
}

fn next_of(hosts: &watch::Receiver<Vec<Client>>, turn: usize) -> Client {
    let hosts = hosts.borrow();
    hosts[turn % hosts.len()].clone()
}

/// Changes some records, and makes one, in a transaction that is open for a while.
async fn overlap(
    store: &Store,
    known: &Known,
    rng: &mut fastrand::Rng,
) -> Result<(), plugin::error::Error> {
    let mut transaction = store.begin().await?;
    make(&mut transaction, "beside").await?;
    let kinds: Vec<&Resource> = REGISTRY.followed().filter(|resource| resource.crud).collect();
    for _ in 0..3 {
        let Resource { kind, table, key, .. } = kinds[rng.usize(..kinds.len())];
        let Some(record) = known.some(kind, rng) else { continue };
        let text = format!("UPDATE {table} SET version = version + 1 WHERE {key} = {record}");
        transaction.execute(Statement { text, binds: Vec::new() }).await?;
    }
    sleep(Duration::from_millis(rng.u64(..=OPEN))).await;
    transaction.commit().await
}

/// Inserts a manufacturer.
async fn make(transaction: &mut Transaction, name: &str) -> Result<(), plugin::error::Error> {
    let text = format!(
        "INSERT INTO shop_manufacturers (manufacturer_name, manufacturer_name_fold, manufacturer_desc) \
         VALUES ('{name}', '{name}', '')"
    );
    transaction.execute(Statement { text, binds: Vec::new() }).await
}

/// Keeps a transaction open for ten seconds, during which others are seen in the feed, and it is not. On
/// an engine with one writer at a time it is one second, and the others wait.
async fn keep_open(store: &Store, mirror: &Mutex<Mirror>, hosts: &watch::Receiver<Vec<Client>>) {
    const NAMES: [&str; 2] = ["kept back", "made meanwhile"];
    let begun = Instant::now();
    let transaction = loop {
        let mut transaction = store.begin().await.unwrap();
        match make(&mut transaction, NAMES[0]).await {
            Ok(()) => break transaction,
            Err(error) => assert!(error.passes(), "{error:?}"),
        }
    };
    if Engine::of_this_run() == Engine::Sqlite {
        sleep(Duration::from_secs(1)).await;
        return transaction.commit().await.unwrap();
    }
    let body = json!({"manufacturer_name": NAMES[1]});
    eventually("the record is made", async || {
        let client = next_of(hosts, 0);
        let answer = client.ask("POST", "/manufacturers", Some(body.clone())).await;
        answer.filter(|(status, _)| *status == 201).map(drop)
    })
    .await;
    let has = async |name: &str| {
        let mirror = mirror.lock().await;
        mirror.records.values().any(|record| record["attributes"]["manufacturer_name"] == name)
    };
    eventually("the copy has the record", async || has(NAMES[1]).await.then_some(())).await;
    sleep(Duration::from_secs(10).saturating_sub(begun.elapsed())).await;
    assert!(!has(NAMES[0]).await, "the copy has what is not committed");
    transaction.commit().await.unwrap();
    eventually("the copy has the other", async || has(NAMES[0]).await.then_some(())).await;
}

/// The site of a place at this address, which may be that of a copy.
async fn serve_at(place: &Place, url: &str) -> Served {
    place.serve_with(&[("DATABASE_URL", url)]).await
}

/// A copy of a new store, after some records were made.
async fn first_copy(served: &Served, token: &str) -> Mirror {
    let client = Client::of(served, token);
    for name in ["Birch", "Oak"] {
        client.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let mut mirror = Mirror::of_all(WHOLE);
    mirror.read_all(&client).await;
    mirror.equals_lists(&client).await;
    mirror
}

/// Makes, changes and deletes something.
async fn change(client: &Client, name: &str) {
    let product = json!({"product_name": name, "quantity": 5});
    let product = client.create("/products", product).await;
    let items = json!([{"product_id": product, "take_stock": 1}]);
    client.create("/orders", json!({"user_email": "ada@example.com", "items": items})).await;
    let gone = client.create("/manufacturers", json!({"manufacturer_name": name})).await;
    client.expect(200, "PATCH", "/manufacturers/1", Some(json!({"manufacturer_desc": name}))).await;
    client.expect(204, "DELETE", &format!("/manufacturers/{gone}"), None).await;
}

/// Continues a copy, which must equal the store then, and must not have had to start over.
async fn catches_up(mirror: &mut Mirror, served: &Served, token: &str) {
    let client = Client::of(served, token);
    let before = mirror.seen;
    mirror.read_all(&client).await;
    assert!(mirror.seen - before < 100, "only what has changed is seen");
    let mut whole = Mirror::of_all(WHOLE);
    whole.read_all(&client).await;
    mirror.equals(&whole);
    mirror.equals_lists(&client).await;
}

/// Fails the test unless the copy has to start over, and returns the path where it does.
async fn is_refused(mirror: &Mirror, client: &Client) -> String {
    let refusal = client.expect(410, "GET", &mirror.path(), None).await;
    assert_eq!(refusal["errors"][0]["code"], "cursor_expired");
    Mirror::from(refusal["links"]["first"].as_str().unwrap()).path()
}
