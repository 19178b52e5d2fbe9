//! The store's database goes away, stalls, or cannot be written to while it is used: who asks is
//! told so, what was acknowledged stays, and everything goes on by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use sqlx::{Connection, SqliteConnection};
use tokio::task::JoinSet;

use crate::harness::{Answer, ROOT};
use crate::process::{Place, Served, eventually, patiently};
use crate::proxy::{Line, Proxy};

/// How many ask at the same time.
const WORKERS: usize = 8;

/// A store whose database is behind a proxy, and the token of somebody who may write.
async fn behind_a_proxy() -> (Place, Proxy, Served, String) {
    let place = Place::of_the_store();
    let token = place.user("ann", "Administrator").await;
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

/// Creates products until it is told to stop, and gives the SKUs of those that were acknowledged,
/// and of those that were not.
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
async fn a_database_that_goes_away_and_comes_back_has_every_acknowledged_write() {
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
    // What is short may pass unnoticed, because requests are tried again.
    proxy.set(Line::Cut);
    let refused = "gone".to_owned();
    create_product(&served, &token, &refused).await.expect(503);
    proxy.set(Line::Open);
    // By itself, and soon.
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
    // A commit whose acknowledgement was lost may have happened, once.
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
async fn a_database_that_stalls_is_waited_for_so_long_and_no_longer() {
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

/// What makes the files of a program no larger than so many bytes, and lets it notice: a limit that
/// can be lifted while it runs, which a real disk of this size would be too much to ask for.
#[cfg(target_os = "linux")]
fn limited_to(bytes: u64) -> String {
    format!("trap '' XFSZ; ulimit -S -f {}; exec", bytes / 512)
}

/// What takes from the administrator of the machine the right to write where nobody may.
#[cfg(target_os = "linux")]
const ORDINARY: &str = "[ $(id -u) -ne 0 ] || set -- setpriv --bounding-set=-dac_override \
                        --inh-caps=-dac_override \"$@\"; exec";

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has its own disk")]
async fn a_disk_that_is_full_is_a_503_for_writers_and_harms_nothing() {
    let place = Place::of_the_store();
    let token = place.user("ann", "Administrator").await;
    let limit = std::fs::metadata(place.data("shop.db")).unwrap().len() + 200_000;
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
        assert_eq!(count().await, kept, "who reads is served");
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

#[tokio::test(flavor = "multi_thread")]
#[cfg(target_os = "linux")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server has its own disk")]
async fn a_disk_that_can_only_be_read_is_said_before_anything_is_served() {
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
