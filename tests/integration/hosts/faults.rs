//! The store's database is unreachable, stalls, or cannot be written: requests get a 503,
//! acknowledged writes persist, and everything resumes by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::permissive::PermissiveHost;
use host_interface::{CHANGE_OUTCOME, HostHandle, Method, Response};
use plugin::app::App;
use plugin::error::Error;
use plugin::model::value::Kind;
use plugin::resources::REGISTRY;
use plugin::sql::{Statement, Table};
use plugin::store::Store;
use serde_json::{Value, json};
use sqlx::{Connection, SqliteConnection};
use tokio::task::JoinSet;

use crate::support::bare::Bare;
use crate::support::databases::Engine;
use crate::support::harness::{Answer, ROOT};
use crate::support::ledger::Client;
use crate::support::mirror::Mirror;
use crate::support::process::{Place, Served};
use crate::support::proxy::{Line, Loss, Proxy, plain};
use crate::support::waiting::{eventually, patiently};

/// The number of concurrent clients.
const WORKERS: usize = 8;

/// A store whose database is behind a proxy, and the token of a user who may write.
async fn behind_a_proxy() -> (Place, Proxy, Served, String) {
    let (place, token) = Place::with_ann("Administrator").await;
    let proxy = Proxy::to(place.database.server_address()).await;
    let url = place.database.url_through(proxy.address);
    let served = place.call("serve --listen 127.0.0.1:0").env("DATABASE_URL", url).start().await;
    (place, proxy, served, token)
}

async fn create_product(served: &Served, token: &str, sku: &str) -> Answer {
    let body = json!({"product_name": "Lamp", "sku": sku, "quantity": 1}).to_string();
    let path = format!("{ROOT}/products");
    let request = served.ask("POST", &path, token).header("content-type", "application/json");
    Answer::to(request.body(body)).await
}

/// How many products have this SKU.
async fn products(served: &Served, token: &str, sku: &str) -> i64 {
    let path = format!("{ROOT}/products?filter[sku]={sku}");
    Answer::to(served.get(&path, token)).await.expect(200).total()
}

/// Creates products until it is stopped, and returns the SKUs of those that were acknowledged, and
/// of the others.
async fn create_until(
    stop: Arc<AtomicBool>,
    served: Arc<Served>,
    token: String,
    worker: usize,
) -> (Vec<String>, Vec<String>) {
    let (mut kept, mut unknown) = (Vec::new(), Vec::new());
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let sku = format!("S{worker:02}{turn:06}");
        let answer = create_product(&served, &token, &sku).await;
        match answer.status {
            201 => kept.push(sku),
            503 => {
                assert!(answer.headers.contains_key("retry-after"));
                unknown.push(sku);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            status => panic!("{sku}: {status}: {}", String::from_utf8_lossy(&answer.body)),
        }
    }
    (kept, unknown)
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "a file does not go away")]
async fn acknowledged_writes_survive_a_database_outage() {
    let (place, proxy, served, token) = behind_a_proxy().await;
    let (served, stop) = (Arc::new(served), Arc::new(AtomicBool::new(false)));
    let mut workers = JoinSet::new();
    for worker in 0..WORKERS {
        workers.spawn(create_until(stop.clone(), served.clone(), token.clone(), worker));
    }
    for _ in 0..3 {
        tokio::time::sleep(Duration::from_millis(700)).await;
        proxy.set(Line::Cut);
        tokio::time::sleep(Duration::from_millis(300)).await;
        proxy.set(Line::Open);
    }
    // A short outage may pass unnoticed, because requests are repeated.
    proxy.set(Line::Cut);
    let refused = "gone".to_owned();
    create_product(&served, &token, &refused).await.expect(503);
    proxy.set(Line::Open);
    // The store recovers by itself, and soon.
    eventually("a product is created", async || {
        (create_product(&served, &token, "last").await.status == 201).then_some(())
    })
    .await;
    stop.store(true, Ordering::Relaxed);
    let (mut kept, mut unknown) = (Vec::new(), vec![refused]);
    while let Some(done) = patiently("the workers", workers.join_next()).await {
        let (acknowledged, refused) = done.unwrap();
        kept.extend(acknowledged);
        unknown.extend(refused);
    }
    assert!(!kept.is_empty());
    let mut count = 1;
    for sku in &kept {
        assert_eq!(products(&served, &token, sku).await, 1, "{sku}");
        count += 1;
    }
    // A commit whose acknowledgement was lost may have happened, at most once.
    for sku in &unknown {
        count += products(&served, &token, sku).await;
    }
    let path = format!("{ROOT}/products?page[limit]=1");
    assert_eq!(Answer::to(served.get(&path, &token)).await.total(), count);
    assert_eq!(place.database.number("SELECT count(*) FROM shop_products").await, count);
    let served = Arc::into_inner(served).unwrap();
    served.stop().await;
    eventually("no connection is left", async || {
        (place.database.others().await == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "a file does not stall")]
async fn waiting_for_a_stalled_database_is_limited() {
    let (place, proxy, served, token) = behind_a_proxy().await;
    create_product(&served, &token, "first").await.expect(201);
    let most = place.database.others().await + 40;
    proxy.set(Line::Stalled);
    let mut asked = JoinSet::new();
    for number in 0..40 {
        let path = format!("{ROOT}/products?page[offset]={number}");
        asked.spawn(Answer::to(served.get(&path, &token)));
    }
    while let Some(answer) = patiently("an answer", asked.join_next()).await {
        let answer = answer.unwrap().expect(503);
        assert!(answer.headers.contains_key("retry-after"));
    }
    proxy.set(Line::Open);
    eventually("a product is created", async || {
        (create_product(&served, &token, "second").await.status == 201).then_some(())
    })
    .await;
    eventually("no connection is left over", async || {
        (place.database.others().await < most).then_some(())
    })
    .await;
    served.stop().await;
    eventually("no connection is left", async || {
        (place.database.others().await == 0).then_some(())
    })
    .await;
}

/// A store whose connections pass through a proxy.
pub(super) async fn bare_behind_a_proxy() -> (Bare, Proxy) {
    let mut store = Bare::open().await;
    let proxy = Proxy::to(store.database.server_address()).await;
    let plain = plain(store.database.engine);
    let url = format!("{}?{plain}", store.database.url_through(proxy.address));
    let through = Store::open(&url).unwrap();
    store.app = App::new(HostHandle::new(PermissiveHost), through, "");
    (store, proxy)
}

pub(super) async fn create_manufacturer(store: &Bare) -> Response {
    store.ask(Method::Post, "/manufacturers", json!({"manufacturer_name": "Birch"})).await
}

const MANUFACTURERS: &str = "SELECT count(*) FROM shop_manufacturers";

/// Whether a commit whose answer is lost has happened is unknown, so it is not repeated.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "a file always answers")]
async fn a_commit_whose_answer_is_lost_is_not_repeated() {
    let (store, proxy) = bare_behind_a_proxy().await;
    proxy.lose(Loss::OfAnswer, Loss::at_commit(store.database.engine));
    let answer = create_manufacturer(&store).await;
    assert_eq!(answer.status(), 503, "{}", String::from_utf8_lossy(answer.body()));
    let outcome = answer.headers().iter().find(|header| header.name() == CHANGE_OUTCOME);
    assert_eq!(outcome.map(|header| header.value()), Some("unknown"));
    assert!(proxy.has_lost());
    // The server may still be committing.
    eventually("the record is there", async || {
        (store.database.number(MANUFACTURERS).await > 0).then_some(())
    })
    .await;
    assert_eq!(store.database.number(MANUFACTURERS).await, 1);
}

/// If a connection is lost before the commit, everything is rolled back.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "a file always answers")]
async fn a_write_is_repeated_if_its_connection_is_lost_before_the_commit() {
    for loss in [Loss::OfStatement, Loss::OfAnswer] {
        let (store, proxy) = bare_behind_a_proxy().await;
        proxy.lose(loss, b"INSERT INTO shop_manufacturers");
        let answer = create_manufacturer(&store).await;
        assert_eq!(answer.status(), 201, "{loss:?}");
        assert!(proxy.has_lost());
        assert_eq!(store.database.number(MANUFACTURERS).await, 1, "{loss:?}");
    }
}

/// Failures that a server reports because of other clients: a deadlock, and on MariaDB the
/// exhaustion of prepared statements.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "there is one writer at a time")]
async fn a_write_is_repeated_after_a_conflict() {
    let refused: &[&str] = match Engine::of_this_run() {
        Engine::MariaDb => &[
            "IF NEXTVAL(tries) < 3 THEN SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END IF",
            "IF NEXTVAL(tries) < 3 THEN SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1461; END IF",
        ],
        _ => &["IF nextval('tries') < 3 THEN RAISE EXCEPTION 'not now' USING ERRCODE = '40001'; \
                END IF"],
    };
    for refused in refused {
        let store = Bare::open().await;
        // The sequence keeps counting when a transaction is rolled back.
        store.run("CREATE SEQUENCE tries").await;
        store.trigger("others", "BEFORE INSERT", "shop_manufacturers", "1 = 1", refused).await;
        assert_eq!(create_manufacturer(&store).await.status(), 201, "{refused}");
        assert_eq!(store.database.number(MANUFACTURERS).await, 1);
        store.app.shop.store.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "a file has no such limits")]
async fn a_server_without_free_statements_or_memory_is_a_503() {
    let store = Bare::open().await;
    let full = match store.database.engine {
        Engine::MariaDb => "SIGNAL SQLSTATE '42000' SET MYSQL_ERRNO = 1461",
        _ => "RAISE EXCEPTION 'out of memory' USING ERRCODE = '53200'",
    };
    store.trigger("spent", "BEFORE INSERT", "shop_manufacturers", "1 = 1", full).await;
    let answer = create_manufacturer(&store).await;
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().iter().any(|header| header.name() == "retry-after"));
    store.drop_trigger("spent", "shop_manufacturers").await;
    assert_eq!(create_manufacturer(&store).await.status(), 201);
}

/// A statement that takes much longer than the time limit, and on SQLite blocks all writers.
fn endless(engine: Engine) -> Statement {
    let text = match engine {
        Engine::Sqlite => {
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
             INSERT INTO shop_manufacturers (manufacturer_name, manufacturer_name_fold) \
             SELECT 'x', 'x' FROM n WHERE i < 0"
        }
        Engine::Postgres => "SELECT pg_sleep(600)::text",
        Engine::MariaDb => "SELECT SLEEP(600)",
    };
    Statement::fixed(text, Vec::new())
}

/// The number of such statements that a server is running; SQLite does not report it.
async fn running(store: &Bare) -> i64 {
    store
        .database
        .number(match store.database.engine {
            Engine::Sqlite => return 1,
            Engine::Postgres => {
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND state = 'active' AND query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()"
            }
            Engine::MariaDb => {
                "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() \
                 AND info LIKE '%SLEEP(600)%' AND id <> CONNECTION_ID()"
            }
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_is_cancelled_soon_after_its_request_ends() {
    let store = Bare::open().await;
    let engine = store.database.engine;
    for _ in 0..3 {
        let asked = store.app.shop.store.clone();
        let asked = tokio::spawn(async move { asked.execute(endless(engine)).await });
        eventually("it runs", async || (running(&store).await == 1).then_some(())).await;
        // On SQLite, wait until it has begun.
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
        if engine != Engine::Sqlite {
            let over = eventually("it ends", async || (running(&store).await == 0).then_some(()));
            // Sooner than the server's own time limit.
            tokio::time::timeout(Duration::from_secs(8), over).await.unwrap();
        }
        // With one writer at a time, it would block this write.
        assert_eq!(create_manufacturer(&store).await.status(), 201);
    }
    let made = store.ask(Method::Get, "/manufacturers", json!(null)).await;
    let made: serde_json::Value = serde_json::from_slice(made.body()).unwrap();
    assert_eq!(made["meta"]["total"], 3);
    eventually("no connection is busy", async || {
        store.app.shop.store.usage().iter().all(|pool| pool.busy == 0).then_some(())
    })
    .await;
    store.app.shop.store.close().await;
}

/// A statement of the host itself, which waits for a lock, ends with the request of its client.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "the host tests its own file")]
async fn a_statement_of_the_host_ends_with_its_request() {
    let place = Place::of_the_store();
    // The host has not looked for this token yet.
    let token = place.user("ann", "Manager").await;
    let served = place.serve().await;
    let (lock, waiting) = match place.database.engine {
        Engine::MariaDb => (
            "LOCK TABLES host_api_tokens WRITE",
            "SELECT count(*) FROM information_schema.processlist WHERE db = DATABASE() \
             AND info LIKE '%FROM host_api_token_secrets%' AND id <> CONNECTION_ID()",
        ),
        _ => (
            "LOCK TABLE host_api_tokens",
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
             AND state = 'active' AND query LIKE '%FROM host_api_token_secrets%' \
             AND pid <> pg_backend_pid()",
        ),
    };
    let waiting = async || place.database.number(waiting).await;
    let asked = async {
        for _ in 0..3 {
            let request = served.get(&format!("{ROOT}/manufacturers"), &token);
            let asking = tokio::spawn(Answer::to(request));
            eventually("it waits for the lock", async || (waiting().await == 1).then_some(()))
                .await;
            asking.abort();
            let over = eventually("it ends", async || (waiting().await == 0).then_some(()));
            // Sooner than the time limit of a statement.
            tokio::time::timeout(Duration::from_secs(3), over).await.unwrap();
        }
    };
    place.database.during(&[lock], asked).await;
    served.stop().await;
}

/// A connection whose statement continued would be closed only at its end.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server ends it")]
async fn a_read_is_cancelled_soon_after_its_client_disconnects() {
    const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) \
                           SELECT count(*) AS c0 FROM n";
    let store = Bare::on(Engine::Sqlite).await;
    let reading = async || {
        let asked = store.app.shop.store.clone();
        let table = Table::new(ENDLESS, Vec::new(), &[Kind::COUNT]);
        let asked = tokio::spawn(async move { asked.table(table).await });
        eventually("it has a connection", async || {
            (store.app.shop.store.usage()[0].busy > 0).then_some(())
        })
        .await;
        asked.abort();
        assert!(asked.await.unwrap_err().is_cancelled());
    };
    store.app.shop.store.ping().await.unwrap();
    for _ in 0..3 {
        reading().await;
        eventually("no statement is running", async || {
            (store.app.shop.store.usage()[0].busy == 0).then_some(())
        })
        .await;
    }
    store.app.shop.store.close().await;
}

/// A statement that takes too long is cancelled while its request still waits; the request gets a
/// 503.
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_takes_too_long_is_cancelled_and_rolled_back() {
    let store = Bare::open().await;
    let url = store.database.url();
    let hasty = Store::open_for(&url, Duration::from_secs(1)).unwrap();
    let insert = || {
        let text = "INSERT INTO shop_manufacturers (manufacturer_name, manufacturer_name_fold) \
                    VALUES ('x', 'x')";
        Statement::fixed(text, Vec::new())
    };
    for _ in 0..3 {
        let mut transaction = hasty.begin().await.unwrap();
        transaction.change(insert()).await.unwrap();
        let ended = transaction.texts(endless(store.database.engine)).await;
        assert!(matches!(ended, Err(Error::Unavailable(_))), "{ended:?}");
        drop(transaction);
        hasty.write([insert()]).await.unwrap();
    }
    let rows = "SELECT count(*) FROM shop_manufacturers";
    let mut transaction = hasty.begin_read().await.unwrap();
    assert_eq!(transaction.numbers(Statement::fixed(rows, Vec::new())).await.unwrap(), [3]);
    drop(transaction);
    eventually("no connection is busy", async || {
        hasty.usage().iter().all(|pool| pool.busy == 0).then_some(())
    })
    .await;
    hasty.close().await;
    store.app.shop.store.close().await;
}

/// The number of locks on a file, as the operating system lists them.
#[cfg(target_os = "linux")]
fn locks_on(file: &std::path::Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let inode = format!(":{}", std::fs::metadata(file).unwrap().ino());
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let is_on = |line: &&str| line.split_whitespace().any(|word| word.ends_with(&inode));
    locks.lines().filter(is_on).count()
}

/// A process loses its locks on a file when it closes any descriptor of it; another process may
/// then take the log for stale and remove it.
#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server locks its own files")]
async fn reopening_a_store_keeps_the_locks_on_its_file() {
    let store = Bare::on(Engine::Sqlite).await;
    let file = store.database.folder.path().join("host.db");
    let reading = store.app.shop.store.begin_read().await.unwrap();
    let before = locks_on(&file);
    assert!(before > 0);
    store.app.shop.store.migrate(REGISTRY).await.unwrap();
    assert!(locks_on(&file) >= before);
    drop(reading);
    store.app.shop.store.close().await;
}

/// A shell prefix that limits the size of the program's files and makes writes beyond it fail. The
/// limit can be lifted while the program runs, which simulates a full disk.
#[cfg(target_os = "linux")]
fn limited_to(bytes: u64) -> String {
    format!("trap '' XFSZ; ulimit -S -f {}; exec", bytes / 512)
}

/// A command that removes root's privilege to write to read-only files.
#[cfg(target_os = "linux")]
const ORDINARY: &str = "[ $(id -u) -ne 0 ] || set -- setpriv --bounding-set=-dac_override \
                        --inh-caps=-dac_override \"$@\"; exec";

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has its own disk")]
async fn a_full_disk_is_a_503_for_writes_and_damages_nothing() {
    let (place, token) = Place::with_ann("Administrator").await;
    let limit = std::fs::metadata(place.data("shop.db")).unwrap().len() + 400_000;
    let served = place.call("serve --listen 127.0.0.1:0").through(&limited_to(limit)).start().await;

    let description = "x".repeat(10_000);
    let create = async |name: String| {
        let body = json!({"manufacturer_name": name, "manufacturer_desc": description});
        let path = format!("{ROOT}/manufacturers");
        let request = served.ask("POST", &path, &token).header("content-type", "application/json");
        Answer::to(request.body(body.to_string())).await
    };
    let count = async || {
        let path = format!("{ROOT}/manufacturers?page[limit]=1");
        Answer::to(served.get(&path, &token)).await.expect(200).total()
    };
    let mut kept = 0;
    let full = loop {
        let answer = create(format!("m{kept}")).await;
        if answer.status != 201 {
            break answer.expect(503);
        }
        kept += 1;
    };
    assert_eq!(full.errors(), ["503 unavailable"]);
    assert!(full.headers.contains_key("retry-after"));
    assert!(kept > 10, "{kept}");
    served.log.wait_for("disk").await;
    for _ in 0..3 {
        create("again".to_owned()).await.expect(503);
        assert_eq!(count().await, kept, "reads are served");
    }

    served.shell("prlimit --fsize=unlimited --pid").await;
    create("and on".to_owned()).await.expect(201);
    assert_eq!(count().await, kept + 1);
    served.stop().await;
    let mut file = SqliteConnection::connect(&place.store_url()).await.unwrap();
    let found: String =
        sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut file).await.unwrap();
    assert_eq!(found, "ok");
}

/// Changes get their places when they are read, which is a write.
#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has its own disk")]
async fn changes_are_readable_on_a_full_disk_and_complete_once_there_is_room() {
    let (place, token) = Place::with_ann("Administrator").await;
    let served =
        place.call("serve --listen 127.0.0.1:0").through(&limited_to(1 << 30)).start().await;
    let client = Client::of(&served, &token);
    for name in ["Birch", "Oak", "Elm"] {
        client.create("/manufacturers", json!({"manufacturer_name": name})).await;
    }
    let mut mirror = Mirror::of("manufacturers");
    mirror.read_all(&client).await;
    let recent = "/manufacturers?filter[modified_since]=";
    let whole = client.expect(200, "GET", &format!("{recent}2020-01-01"), None).await;
    let as_of = whole["meta"]["as_of"].as_str().unwrap().to_owned();

    served.shell("prlimit --fsize=4096:unlimited --pid").await;
    let oak = json!({"ordering": 7});
    client.expect(503, "PATCH", "/manufacturers/1", Some(oak.clone())).await;
    // Another program has room, so there is a change that cannot get its place.
    let mut file = SqliteConnection::connect(&place.store_url()).await.unwrap();
    sqlx::query("PRAGMA busy_timeout = 60000").execute(&mut file).await.unwrap();
    let change = "UPDATE shop_manufacturers SET manufacturer_name = 'Pine', version = version + 1 \
        WHERE shop_manufacturer_id = 2";
    sqlx::query(change).execute(&mut file).await.unwrap();
    let queued = async |file: &mut SqliteConnection| {
        let count = sqlx::query_scalar("SELECT count(*) FROM shop_change_queue");
        count.fetch_one(file).await.unwrap()
    };
    for _ in 0..3 {
        assert_eq!(mirror.read(&client).await, Some(0), "what has no place is not shown yet");
        let list = client.expect(200, "GET", &format!("{recent}{as_of}"), None).await;
        let next = list["meta"]["as_of"].as_str().unwrap();
        assert!(*next <= *as_of, "{next} is later than what was shown");
        let mut first = Mirror::of("manufacturers");
        first.read_all(&client).await;
        assert_eq!(first.records.len(), 3);
        let left: i64 = queued(&mut file).await;
        assert_eq!(left, 1);
    }
    client.expect(503, "PATCH", "/manufacturers/1", Some(oak.clone())).await;

    served.shell("prlimit --fsize=unlimited --pid").await;
    assert_eq!(mirror.read(&client).await, Some(1));
    client.expect(200, "PATCH", "/manufacturers/1", Some(oak)).await;
    mirror.read_all(&client).await;
    let mut whole = Mirror::of("manufacturers");
    whole.read_all(&client).await;
    mirror.equals(&whole);
    let list = client.expect(200, "GET", &format!("{recent}{as_of}"), None).await;
    let listed: Vec<&Value> = list["data"].as_array().unwrap().iter().collect();
    for id in ["1", "2"] {
        assert!(listed.iter().any(|record| record["id"] == id), "{list}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has its own disk")]
async fn a_read_only_disk_is_reported_before_serving() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::of_the_store();
    place.user("ann", "Administrator").await;
    let mode = |name: &str, mode: u32| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(place.data(name), permissions).unwrap();
    };
    let content = || ["host.db", "shop.db"].map(|name| std::fs::read(place.data(name)).unwrap());
    let before = content();
    for (name, closed, open, line) in [
        ("host.db", 0o444, 0o600, "host.db: Permission denied"),
        ("shop.db", 0o444, 0o600, "shop.db cannot be written: Permission denied"),
        ("", 0o555, 0o755, "attempt to write a readonly database"),
    ] {
        mode(name, closed);
        for words in ["serve --listen 127.0.0.1:0", "demo"] {
            let refused = place.call(words).through(ORDINARY).finish().await.fails();
            assert!(refused.contains(line), "{words}: {refused}");
        }
        mode(name, open);
    }
    assert_eq!(content(), before, "nothing was changed");
    assert_eq!(place.run("user list").await.lines().count(), 1);
}
