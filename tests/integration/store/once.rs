//! Writes with an `Idempotency-Key`: each happens once, however often and wherever it is sent.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use host_interface::Method;
use plugin::service::call::Call;
use plugin::service::once;
use plugin::sql::Statement;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::bare::{Bare, KeyedHeaders};
use crate::support::databases::Engine;
use crate::support::harness::{Answer, Ask, NDJSON, ROOT, Role, Shop};
use crate::support::ledger::Client;
use crate::support::process::{Place, Served, stop};
use crate::support::smtp::Sink;

/// How many clients send one request at the same moment.
const TWINS: usize = 32;

/// The headers of an answer that a repetition has too.
const HEADERS: [&str; 3] = ["content-type", "etag", "location"];

/// What a repetition must have in common with the first answer.
fn shown(answer: &Answer) -> (u16, Vec<Option<&[u8]>>, &[u8]) {
    let headers = HEADERS.map(|name| answer.headers.get(name).map(|value| value.as_bytes()));
    (answer.status, headers.to_vec(), &answer.body)
}

fn is_replay(answer: &Answer) -> bool {
    answer.headers.get("idempotent-replayed").is_some_and(|value| value == "true")
}

/// Every kind of write, in an order in which each succeeds: method, path and body.
fn writes() -> Vec<(&'static str, &'static str, Value)> {
    let adjustment = json!({"adjustment_type": "debit", "amount": "1.01", "reason": "Test"});
    let stock = json!({"shop_product_id": 2, "quantity": 7});
    let order = json!({"user_email": "ada@example.com", "items": [{"product_id": 1}]});
    vec![
        ("POST", "/manufacturers", json!({"manufacturer_name": "Oak"})),
        ("PATCH", "/manufacturers/1", json!({"ordering": 7})),
        ("PATCH", "/manufacturers/1", json!({"ordering": 8})),
        ("POST", "/products", json!({"product_name": "Ünïcode lamp", "sku": "U-1"})),
        ("PATCH", "/products/1", json!({"price": "20"})),
        ("POST", "/categories", json!({"title": "Chairs"})),
        ("POST", "/orders", order),
        ("POST", "/orders/1/history", json!({"order_state_id": 2, "comment": "Packed"})),
        ("POST", "/vouchers/1/adjust", adjustment),
        ("POST", "/inventory/1/adjust", json!({"quantity_delta": -1, "reason": "Sold"})),
        (
            "POST",
            "/inventory/adjust",
            json!({"adjustments": [
                {"sku": "L-1", "quantity_delta": -2, "reason": "Sold"},
            ]}),
        ),
        ("DELETE", "/inventory/2", Value::Null),
        ("POST", "/inventory", stock),
        ("DELETE", "/coupons/1", Value::Null),
    ]
}

fn keyed<'a>(shop: &'a Shop, write: &(&str, &str, Value), key: &str) -> Ask<'a> {
    let (method, path, body) = write;
    let ask = shop.request(method, path).header("idempotency-key", key);
    if body.is_null() { ask } else { ask.json(body.clone()) }
}

/// The number of rows of each table that the writes change.
async fn counts(shop: &Shop) -> Vec<i64> {
    let mut counts = Vec::new();
    for path in ["/manufacturers", "/products", "/categories", "/orders", "/orders/1/history"] {
        counts.push(shop.get(path).send().await.expect(200).total());
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_write_is_answered_as_before_and_not_done_again() {
    let shop = Shop::stocked().await;
    let mut first = Vec::new();
    for (number, write) in writes().iter().enumerate() {
        let answer = keyed(&shop, write, &format!("key-{number}")).send().await;
        assert!(answer.status < 300 && !is_replay(&answer), "{write:?}: {}", answer.status);
        first.push(answer);
    }
    let before = counts(&shop).await;
    // Whatever has happened to the record since.
    shop.delete("/products/2").send().await.expect(204);
    shop.patch("/manufacturers/1", json!({"ordering": 9})).send().await.expect(200);
    for (number, write) in writes().iter().enumerate() {
        for key in [format!("key-{number}"), format!("\"key-{number}\"")] {
            let again = keyed(&shop, write, &key).send().await;
            assert!(is_replay(&again), "{write:?}");
            assert_eq!(shown(&again), shown(&first[number]), "{write:?}");
        }
    }
    let mut after = counts(&shop).await;
    after[1] += 1;
    assert_eq!(after, before);
    let ordering = shop.get("/manufacturers/1").send().await.expect(200).attribute("ordering");
    assert_eq!(ordering, 9);
    let balance = keyed(&shop, &writes()[8], "another").send().await.expect(200);
    assert_eq!(balance.attribute("remaining_balance"), "47.98");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_belongs_to_one_request_of_one_user() {
    let shop = Shop::open().await;
    let birch = json!({"manufacturer_name": "Birch", "enabled": 1});
    let post = |body: Value| shop.post("/manufacturers", body).header("idempotency-key", "k");
    let made = post(birch.clone()).send().await.expect(201);
    // The same request, written differently.
    let written = r#" { "enabled":1, "manufacturer_name":"\u0042irch" } "#;
    let again = post(birch.clone()).text(written).send().await.expect(201);
    assert!(is_replay(&again) && again.body == made.body);
    for other in [
        post(json!({"manufacturer_name": "Birch", "enabled": "1"})),
        post(birch.clone()).header("accept", "application/vnd.api+json").json(json!({})),
        shop.post("/coupons", birch.clone()).header("idempotency-key", "k"),
        shop.patch("/manufacturers/1", birch.clone()).header("idempotency-key", "k"),
        shop.post("/manufacturers?a=1", birch.clone()).header("idempotency-key", "k"),
        shop.delete("/manufacturers/1").header("idempotency-key", "k"),
    ] {
        let refused = other.send().await.expect(422);
        assert_eq!(refused.errors(), ["422 idempotency_key_reused header Idempotency-Key"]);
    }
    let other_user = post(birch.clone()).by(Role::Manager).send().await.expect(201);
    assert!(!is_replay(&other_user) && other_user.id() != made.id());
    // Another token of the user finds the key.
    let token = format!("Bearer {}", shop.site.generate_token("administrator").await.unwrap());
    let again = post(birch).header("authorization", &token).send().await.expect(201);
    assert!(is_replay(&again) && again.body == made.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_and_another_write_never_have_the_same_key() {
    let shop = Shop::open().await;
    let post = |name: &str, key: &str| {
        let body = json!({"manufacturer_name": name});
        shop.post("/manufacturers", body).header("idempotency-key", key)
    };
    let import = |name: &str, key: &str| {
        let line = json!({"manufacturer_name": name}).to_string();
        let import = shop.request("POST", "/imports?type=manufacturers&mode=create");
        import.file(NDJSON, line).header("idempotency-key", key)
    };
    post("Birch", "of-a-write").send().await.expect(201);
    let imported = import("Oak", "of-an-import").send().await.expect(200);
    assert!(!is_replay(&imported));
    for other in [import("Ash", "of-a-write"), post("Ash", "of-an-import")] {
        let refused = other.send().await.expect(422);
        assert_eq!(refused.errors(), ["422 idempotency_key_reused header Idempotency-Key"]);
    }
    // Each still is what its own request gets.
    assert!(is_replay(&post("Birch", "of-a-write").send().await.expect(201)));
    assert!(is_replay(&import("Oak", "of-an-import").send().await.expect(200)));
    assert_eq!(shop.get("/manufacturers").send().await.total(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_write_leaves_its_key_free() {
    let shop = Shop::stocked().await;
    let key = async |ask: Ask<'_>| ask.header("idempotency-key", "k").send().await;
    let named = |name: &str| json!({"manufacturer_name": name});
    let post = |body: Value| shop.post("/manufacturers", body);
    key(post(json!({}))).await.expect(400);
    key(post(json!({"manufacturer_name": "Oak", "enabled": 2}))).await.expect(422);
    key(post(named("Oak")).header("content-encoding", "gzip")).await.expect(415);
    key(post(named("Oak")).by(Role::Registered)).await.expect(403);
    key(shop.patch("/manufacturers/99", named("Oak"))).await.expect(404);
    key(shop.patch("/manufacturers/1", named("Oak")).header("if-match", "\"9\"")).await.expect(412);
    key(shop.delete("/countries/1")).await.expect(422);
    let made = key(post(named("Oak"))).await.expect(201);
    assert!(!is_replay(&made));
    assert!(is_replay(&key(post(named("Oak"))).await.expect(201)));
}

#[tokio::test(flavor = "multi_thread")]
async fn permission_and_syntax_come_before_a_replay_and_the_record_after_it() {
    let shop = Shop::stocked().await;
    let change = |version: &str| {
        let ask = shop.patch("/manufacturers/1", json!({"ordering": 5}));
        ask.header("if-match", version).header("idempotency-key", "k")
    };
    let changed = change("\"1\"").send().await.expect(200);
    for version in ["\"1\"", "\"9\""] {
        let again = change(version).send().await.expect(200);
        assert!(is_replay(&again) && shown(&again) == shown(&changed));
    }
    change("\"1\"").by(Role::Registered).send().await.expect(403);
    change("\"1\"").header("content-type", "text/plain").send().await.expect(400);
    // The record has gone.
    let removed = keyed(&shop, &("DELETE", "/coupons/1", Value::Null), "d").send().await;
    removed.expect(204);
    assert!(is_replay(&shop.delete("/coupons/1").header("idempotency-key", "d").send().await));
    shop.delete("/coupons/1").send().await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_key_is_refused_and_a_read_ignores_it() {
    let shop = Shop::open().await;
    let post = || shop.post("/manufacturers", json!({"manufacturer_name": "Birch"}));
    for malformed in ["", "\"\"", "a b", &"k".repeat(256)] {
        let refused = post().header("idempotency-key", malformed).send().await.expect(400);
        assert_eq!(refused.errors(), ["400 invalid_header header Idempotency-Key"]);
    }
    let twice = post().header("idempotency-key", "k").also("idempotency-key", "k");
    assert_eq!(
        twice.send().await.expect(400).errors(),
        ["400 invalid_header header Idempotency-Key"]
    );
    post().header("idempotency-key", &"k".repeat(255)).send().await.expect(201);
    // Keys differ in case.
    for key in ["k", "K"] {
        assert!(!is_replay(&post().header("idempotency-key", key).send().await.expect(201)));
    }
    shop.get("/manufacturers").header("idempotency-key", "a b").send().await.expect(200);
}

/// Sends one request many times at the same moment, through all hosts: one does it, and all get the
/// same bytes, which are returned.
async fn twins(hosts: &[Served], token: &str, path: &str, body: &Value, key: &str) -> Value {
    let mut tasks = JoinSet::new();
    for number in 0..TWINS {
        let ask = hosts[number % hosts.len()].ask("POST", &format!("{ROOT}{path}"), token);
        let ask = ask.header("idempotency-key", key).json(body);
        tasks.spawn(Answer::in_turn(ask));
    }
    let answers = tasks.join_all().await;
    let firsts = answers.iter().filter(|answer| !is_replay(answer)).count();
    let shown: BTreeSet<_> = answers.iter().map(shown).collect();
    let bodies = shown.iter().map(|(status, _, body)| (*status, String::from_utf8_lossy(body)));
    assert_eq!(shown.len(), 1, "{path}: {:?}", bodies.collect::<Vec<_>>());
    assert_eq!(firsts, 1, "{path}");
    assert!(answers[0].status < 300, "{path}");
    answers[0].json()
}

#[tokio::test(flavor = "multi_thread")]
async fn of_32_twins_on_all_hosts_one_writes_and_all_get_its_answer() {
    let sink = Sink::start().await;
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[("HOST_SMTP_URL", &sink.url())]).await;
    let client = Client::of(&hosts[0], &token);
    let product = json!({"product_name": "Lamp", "price": "5", "sku": "L-1", "quantity": 100});
    let product = client.create("/products", product).await;
    let voucher = json!({"voucher_value": "100", "email_to": "ann@example.com"});
    let voucher = client.create("/vouchers", voucher).await;
    let order = json!({"user_email": "ada@example.com", "items": [{"product_id": product}]});
    let debit = json!({"adjustment_type": "debit", "amount": "1", "reason": "Test"});
    let moved = json!({"order_state_id": 2, "notify_customer": 1, "comment": "Packed"});
    let stock = format!("/inventory/{product}/adjust");
    let sale = json!({"quantity_delta": -1, "reason": "Sold"});
    let sales = json!({"adjustments": [{"sku": "l-1", "quantity_delta": -2, "reason": "Sold"}]});
    for round in 1..=5_usize {
        let key = |what: &str| format!("{what}-{round}");
        let made = twins(&hosts, &token, "/orders", &order, &key("order")).await;
        let of_order = format!("/orders/{}", made["data"]["id"].as_str().unwrap());
        assert_eq!(client.all("/orders").await.len(), round);
        assert_eq!(client.all(&format!("{of_order}/items")).await.len(), 1);
        let history = format!("{of_order}/history");
        twins(&hosts, &token, &history, &moved, &key("history")).await;
        assert_eq!(client.all(&history).await.len(), 2);
        assert_eq!(sink.wait_for(round).await.len(), round);
        let adjust = format!("/vouchers/{voucher}/adjust");
        let left = twins(&hosts, &token, &adjust, &debit, &key("debit")).await;
        let balance = format!("{}.00", 100 - round);
        assert_eq!(left["data"]["attributes"]["remaining_balance"], balance);
        let left = twins(&hosts, &token, &stock, &sale, &key("sale")).await;
        assert_eq!(left["data"]["attributes"]["quantity"], 102 - 3 * round);
        let left = twins(&hosts, &token, "/inventory/adjust", &sales, &key("sales")).await;
        assert_eq!(left["data"][0]["attributes"]["quantity"], 100 - 3 * round);
        assert_eq!(client.all(&format!("/inventory/{product}/ledger")).await.len(), 1 + 2 * round);
        // What may exist only once is no fault of a twin.
        let unique = json!({"product_name": "x", "sku": key("SKU")});
        twins(&hosts, &token, "/products", &unique, &key("product")).await;
    }
    assert_eq!(sink.mails().len(), 5);
    stop(hosts).await;
}

/// A request with a key, straight to the store.
async fn ask(store: &Bare, key: &str) -> host_interface::Response {
    let body = json!({"manufacturer_name": "Birch"});
    let headers = KeyedHeaders(key.to_owned());
    store.ask_with(Method::Post, "/manufacturers", body, headers).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_has_waited_for_5_seconds_is_refused_for_now() {
    let store = Bare::open().await;
    let body = json!({"manufacturer_name": "Birch"});
    let headers = KeyedHeaders("k".to_owned());
    let request = store.request(Method::Post, "/manufacturers", body, headers);
    let shop = &store.app.shop;
    let refused = async || {
        let begun = Instant::now();
        let answer = ask(&store, "k").await;
        let taken = begun.elapsed();
        assert_eq!(answer.status(), 409, "{}", String::from_utf8_lossy(answer.body()));
        assert!(String::from_utf8_lossy(answer.body()).contains("request_in_progress"));
        let mut headers = answer.headers().iter();
        assert!(headers.any(|header| (header.name(), header.value()) == ("retry-after", "1")));
        assert!(taken > Duration::from_millis(4_900), "{taken:?}");
        taken
    };
    // On this host it waits in memory, without a connection.
    let key = shop.keys.wait(&request).await.unwrap();
    assert!(refused().await < Duration::from_secs(14));
    assert_eq!(ask(&store, "other").await.status(), 201);
    drop(key);
    // Another host claims the key in the database.
    if Engine::of_this_run() != Engine::Sqlite {
        let key = shop.keys.wait(&request).await.unwrap();
        let call = Call { key: key.as_ref(), ..Call::new(shop, &request) };
        let claimed = once::begin(&call).await.unwrap();
        drop(key);
        assert!(refused().await < Duration::from_secs(14));
        drop(claimed);
    }
    assert_eq!(ask(&store, "k").await.status(), 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn old_keys_are_swept_and_may_be_used_again() {
    let store = Bare::open().await;
    let replayed = |answer: &host_interface::Response| {
        assert_eq!(answer.status(), 201);
        answer.headers().iter().any(|header| header.name() == "idempotent-replayed")
    };
    for key in ["old", "older", "new"] {
        assert!(!replayed(&ask(&store, key).await));
    }
    let age = |key: &str, days: i64| {
        let then = time::UtcDateTime::now().date() - time::Duration::days(days);
        format!(
            "UPDATE shop_keys SET created_on = '{then}T00:00:00' WHERE idempotency_key = '{key}'"
        )
    };
    store.run(age("old", 8)).await;
    store.run(age("older", 400)).await;
    store.run(age("new", 6)).await;
    // More than are removed at once.
    let many = "INSERT INTO shop_keys (user_id, idempotency_key, fingerprint, created_on, status, \
        location, etag, body) SELECT 9, concat('k', a.shop_zone_id), '', '2020-01-01T00:00:00', 0, \
        '', '', '' FROM shop_zones a LIMIT 1200";
    let many = match store.database.engine {
        Engine::Sqlite => many.replace("concat('k', a.shop_zone_id)", "'k' || a.shop_zone_id"),
        Engine::Postgres => many.replace("'2020-01-01T00:00:00'", "timestamp '2020-01-01'"),
        Engine::MariaDb => many.to_owned(),
    };
    store.run(many).await;
    store.app.job("sweep_keys").await.unwrap();
    let mut transaction = store.app.shop.store.begin_read().await.unwrap();
    let left = Statement::fixed("SELECT idempotency_key FROM shop_keys", Vec::new());
    assert_eq!(transaction.texts(left).await.unwrap(), ["new"]);
    transaction.commit().await.unwrap();
    assert!(replayed(&ask(&store, "new").await));
    assert!(!replayed(&ask(&store, "old").await));
}
