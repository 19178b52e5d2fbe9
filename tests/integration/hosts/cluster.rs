//! A host beside each node of a Galera cluster. The nodes do not share locks: conflicting writes
//! are found only at the commit, and one of the two is refused.
//!
//! `TEST_GALERA` lists the three nodes, which `tests/cluster/galera.sh` creates.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use plugin::store::Store;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection, MySqlConnection};
use tokio::process::Command;
use tokio::sync::{Mutex as Turn, MutexGuard};
use tokio::task::JoinSet;

use super::mirror::season;
use super::refunding::refund_at_once;
use crate::support::databases::servers;
use crate::support::harness::ROOT;
use crate::support::ledger::{Client, key};
use crate::support::process::{Place, Served, stop};
use crate::support::waiting::eventually;

/// The number of nodes.
const NODES: usize = 3;

/// A site with a host beside each node, all of them started at the same moment.
struct Cluster {
    place: Place,
    nodes: Vec<String>,
    hosts: Vec<Served>,
    token: String,
    /// Tests use the cluster one at a time, because one of them kills a node.
    _turn: MutexGuard<'static, ()>,
}

impl Cluster {
    async fn start() -> Cluster {
        static TURN: Turn<()> = Turn::const_new(());
        let turn = TURN.lock().await;
        let place = Place::of_the_store();
        let nodes: Vec<String> =
            servers("TEST_GALERA").iter().map(|node| place.database.url_on(node)).collect();
        assert_eq!(nodes.len(), NODES, "TEST_GALERA names three nodes");
        for node in &nodes {
            eventually("the database is there", async || {
                MySqlConnection::connect(node).await.ok()?.close().await.ok()
            })
            .await;
        }
        let [one, two, three] = [0, 1, 2].map(|node| serve(&place, &nodes[node]));
        let (one, two, three) = tokio::join!(one, two, three);
        let token = place.user("ann", "Administrator").await;
        let cluster = Cluster { place, nodes, hosts: vec![one, two, three], token, _turn: turn };
        for host in &cluster.hosts {
            host.until(200, &format!("{ROOT}/currencies"), &cluster.token).await;
        }
        cluster
    }

    /// A client of the host beside this node.
    fn client(&self, node: usize) -> Client {
        Client::of(&self.hosts[node], &self.token)
    }

    /// Sends all requests at the same time, to the hosts in turn, and returns the answers.
    async fn ask_all(
        &self,
        asked: impl IntoIterator<Item = (&str, String, Option<Value>)>,
    ) -> Vec<(u16, Value)> {
        let clients = [0, 1, 2].map(|node| self.client(node));
        let mut tasks = JoinSet::new();
        for (number, (method, path, body)) in asked.into_iter().enumerate() {
            let (client, method) = (clients[number % NODES].clone(), method.to_owned());
            tasks.spawn(async move { client.ask(&method, &path, body).await.unwrap() });
        }
        tasks.join_all().await
    }

    /// A number from a node, once it has caught up with the others.
    async fn number(&self, node: usize, query: &str) -> i64 {
        let mut node = MySqlConnection::connect(&self.nodes[node]).await.unwrap();
        sqlx::query("SET wsrep_sync_wait = 1").execute(&mut node).await.unwrap();
        sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut node).await.unwrap()
    }

    /// Fails the test unless every node returns this number.
    async fn agrees(&self, number: i64, query: &str) {
        for node in 0..NODES {
            assert_eq!(self.number(node, query).await, number, "node {}: {query}", node + 1);
        }
    }

    async fn stop(self) {
        for host in self.hosts {
            host.stop().await;
        }
    }
}

async fn serve(place: &Place, node: &str) -> Served {
    place.serve_with(&[("DATABASE_URL", node)]).await
}

/// Runs the script that created the cluster.
async fn script(words: &[&str]) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster/galera.sh");
    let mut command = Command::new(script);
    let done = command.args(words).stdin(Stdio::null()).status().await.unwrap();
    assert!(done.success(), "{words:?}");
}

fn count(answers: &[(u16, Value)], status: u16) -> usize {
    answers.iter().filter(|(known, _)| *known == status).count()
}

/// The statuses other than these, for a message.
fn others(answers: &[(u16, Value)], statuses: &[u16]) -> Vec<(u16, Value)> {
    answers.iter().filter(|(status, _)| !statuses.contains(status)).cloned().collect()
}

#[tokio::test]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn hosts_that_start_together_on_three_nodes_install_once() {
    for _ in 0..3 {
        let cluster = Cluster::start().await;
        let files = concat!(env!("CARGO_MANIFEST_DIR"), "/../example-host/migrations/mysql");
        let migrations = std::fs::read_dir(files).unwrap().count().try_into().unwrap();
        for (table, rows) in
            [("host_migrations", migrations), ("host_groups", 5), ("shop_orderstatuses", 8)]
        {
            cluster.agrees(rows, &format!("SELECT count(*) FROM {table}")).await;
        }
        let failed = "SELECT count(*) FROM shop_migrations WHERE NOT success";
        cluster.agrees(0, failed).await;
        cluster.stop().await;
    }
}

#[tokio::test]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn the_lock_of_a_start_killed_on_another_node_is_taken_over() {
    let cluster = Cluster::start().await;
    let mut node = MySqlConnection::connect(&cluster.nodes[2]).await.unwrap();
    let taken = "UPDATE host_start SET holder = 'a node that is gone', beats = beats + 1";
    sqlx::query(taken).execute(&mut node).await.unwrap();
    let begun = Instant::now();
    assert!(cluster.place.run("user list").await.contains("ann"));
    assert!(begun.elapsed() > Duration::from_secs(10), "the start waited for the lock");
    // No other start has to wait.
    cluster.agrees(0, "SELECT count(*) FROM host_start WHERE holder <> ''").await;
    cluster.stop().await;
}

#[tokio::test]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn hosts_of_all_nodes_follow_changes_on_one() {
    let cluster = Cluster::start().await;
    let path = format!("{ROOT}/currencies");
    for (command, status) in [
        ("user block ann", 401),
        ("user unblock ann", 200),
        ("extension disable webservices-shop", 404),
        ("extension enable webservices-shop", 200),
        ("token revoke ann", 401),
    ] {
        cluster.place.run(command).await;
        for host in &cluster.hosts {
            host.until(status, &path, &cluster.token).await;
        }
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn exactly_99_of_150_parallel_debits_on_three_nodes_succeed() {
    let cluster = Cluster::start().await;
    let voucher = json!({"voucher_value": "100.00"});
    let voucher = cluster.client(0).create("/vouchers", voucher).await;
    let debit = json!({"adjustment_type": "debit", "amount": "1.01", "reason": "Test"});
    let path = format!("/vouchers/{voucher}/adjust");
    let answers = cluster.ask_all((0..150).map(|_| ("POST", path.clone(), Some(debit.clone()))));
    let answers = answers.await;
    assert_eq!(others(&answers, &[200, 422]), []);
    assert_eq!((count(&answers, 200), count(&answers, 422)), (99, 51));
    cluster.agrees(99, "SELECT count(*) FROM shop_voucher_ledger").await;
    cluster
        .agrees(-9_999, "SELECT CAST(sum(amount) * 100 AS INTEGER) FROM shop_voucher_ledger")
        .await;
    // Each entry begins with the balance at which the previous one ended.
    let chain = "SELECT count(DISTINCT balance_before) FROM shop_voucher_ledger";
    cluster.agrees(99, chain).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn of_64_clients_of_three_nodes_as_many_refund_a_piece_as_there_are() {
    let cluster = Cluster::start().await;
    refund_at_once(&cluster.hosts, &cluster.token).await;
    cluster.agrees(40, "SELECT count(*) FROM shop_orderrefunds").await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn one_of_32_parallel_posts_of_the_same_code_on_three_nodes_succeeds() {
    let cluster = Cluster::start().await;
    let product = json!({"product_name": "Twin", "sku": "TWIN"});
    let coupon = json!({"coupon_name": "Twin", "coupon_code": "TWIN", "value": 1});
    let voucher = json!({"voucher_code": "TWIN", "voucher_value": 1});
    for (path, body) in [("/products", product), ("/coupons", coupon), ("/vouchers", voucher)] {
        let asked = (0..32).map(|_| ("POST", path.to_owned(), Some(body.clone())));
        let answers = cluster.ask_all(asked).await;
        assert_eq!(others(&answers, &[201, 422]), [], "{path}");
        assert_eq!(count(&answers, 201), 1, "{path}");
    }
    for table in ["shop_products", "shop_variants", "shop_coupons", "shop_vouchers"] {
        cluster.agrees(1, &format!("SELECT count(*) FROM {table}")).await;
    }
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn status_changes_of_an_order_on_three_nodes_leave_every_entry() {
    let cluster = Cluster::start().await;
    let client = cluster.client(0);
    let order = client.create("/orders", json!({"user_email": "ada@example.com"})).await;
    let path = format!("/orders/{order}/history");
    // Some of them do not change the status.
    let moves = (0..60).map(|number| {
        let body = json!({"order_state_id": 1 + number % 2, "comment": format!("move {number}")});
        ("POST", path.clone(), Some(body))
    });
    let answers = cluster.ask_all(moves).await;
    assert_eq!(others(&answers, &[201]), []);
    cluster.agrees(61, "SELECT count(*) FROM shop_orderhistories").await;
    cluster.agrees(61, "SELECT count(DISTINCT comment) FROM shop_orderhistories").await;
    let last = "SELECT o.order_state_id = h.order_state_id FROM shop_orders o \
         JOIN shop_orderhistories h ON h.order_key = o.shop_order_id \
         ORDER BY shop_orderhistory_id DESC LIMIT 1";
    cluster.agrees(1, last).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn two_categories_are_never_moved_below_each_other_on_two_nodes() {
    let cluster = Cluster::start().await;
    let client = cluster.client(0);
    for round in 0..40 {
        let mut made = Vec::new();
        for name in ["one", "other"] {
            let title = json!({"title": format!("{name} {round}")});
            made.push(client.create("/categories", title).await);
        }
        let below = |category: usize| {
            let body = json!({"parent_id": made[1 - category]});
            ("PATCH", format!("/categories/{}", made[category]), Some(body))
        };
        let answers = cluster.ask_all([below(0), below(1)]).await;
        assert_eq!((count(&answers, 200), count(&answers, 422)), (1, 1), "{answers:?}");
    }
    cluster.agrees(0, "SELECT count(*) FROM shop_categories WHERE level > 2").await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn a_record_is_not_removed_on_one_node_while_another_refers_to_it() {
    let cluster = Cluster::start().await;
    let client = cluster.client(0);
    for round in 0..40 {
        let order = json!({"user_email": "ada@example.com", "order_id": format!("O-{round}")});
        let order = client.create("/orders", order).await;
        let voucher = json!({"voucher_value": 1, "order_id": format!("O-{round}")});
        let maker = json!({"manufacturer_name": format!("M-{round}")});
        let maker = client.create("/manufacturers", maker).await;
        let product = json!({"product_name": "Lamp", "manufacturer_id": maker});
        for (path, naming) in [
            (format!("/orders/{order}"), ("POST", "/vouchers".to_owned(), Some(voucher))),
            (format!("/manufacturers/{maker}"), ("POST", "/products".to_owned(), Some(product))),
        ] {
            let answers = cluster.ask_all([("DELETE", path, None), naming]).await;
            assert_eq!(count(&answers, 422), 1, "{answers:?}");
            assert_eq!(count(&answers, 204) + count(&answers, 201), 1, "{answers:?}");
        }
    }
    let without = "SELECT count(*) FROM shop_vouchers v LEFT JOIN shop_orders o \
         ON o.order_id = v.order_id WHERE o.order_id IS NULL";
    cluster.agrees(0, without).await;
    cluster.stop().await;
}

/// The requests to a cluster whose nodes come and go, and those that were acknowledged.
#[derive(Default)]
struct Load {
    orders: BTreeSet<String>,
    moves: BTreeSet<String>,
    debits: usize,
    debits_in_doubt: usize,
    refused: usize,
}

/// Sends one request after another until it is stopped.
async fn work(name: String, client: Client, voucher: i64, load: Arc<Mutex<Load>>, on: &AtomicBool) {
    let mut last = None;
    for turn in 0.. {
        if !on.load(Ordering::Relaxed) {
            return;
        }
        let name = format!("{name}-{turn}");
        let (path, body, expected) = match (turn % 3, last) {
            (1, Some(order)) => {
                let body = json!({"order_state_id": 1 + turn % 8, "comment": name});
                (format!("/orders/{order}/history"), body, 201)
            }
            (2, _) => {
                let body = json!({"adjustment_type": "debit", "amount": "0.01", "reason": name});
                (format!("/vouchers/{voucher}/adjust"), body, 200)
            }
            _ => {
                let items = json!([{"orderitem_name": "Lamp", "orderitem_price": "19.99"}]);
                let email = "ada@example.com";
                let body = json!({"order_id": name, "user_email": email, "items": items});
                ("/orders".to_owned(), body, 201)
            }
        };
        let (status, document) = client.ask("POST", &path, Some(body)).await.unwrap();
        assert!(status == expected || status == 503, "{path}: {status} {document}");
        if status == 503 {
            // A client repeats a request after a 503.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut load = load.lock().unwrap();
        match (status, path.as_str()) {
            (503, _) => {
                load.refused += 1;
                load.debits_in_doubt += usize::from(expected == 200);
            }
            (_, "/orders") => {
                last = Some(key(&document));
                load.orders.insert(name);
            }
            (201, _) => drop(load.moves.insert(name)),
            _ => load.debits += 1,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn three_nodes_give_one_feed() {
    let Cluster { place, nodes, hosts, token, _turn } = Cluster::start().await;
    stop(hosts).await;
    // The transactions beside the hosts are on the last node.
    let store = Store::open(&nodes[NODES - 1]).unwrap();
    let serve = async |host: usize| serve(&place, &nodes[host]).await;
    for host in season(serve, NODES, &token, store).await {
        host.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(galera), ignore = "needs a Galera cluster: TEST_GALERA")]
async fn a_node_killed_under_load_loses_nothing_and_catches_up() {
    static ON: AtomicBool = AtomicBool::new(true);
    let cluster = Cluster::start().await;
    let voucher = json!({"voucher_value": "100000"});
    let voucher = cluster.client(0).create("/vouchers", voucher).await;
    let load = Arc::new(Mutex::new(Load::default()));
    let mut workers = JoinSet::new();
    for number in 0..2 * NODES {
        let client = cluster.client(number % NODES);
        workers.spawn(work(format!("w{number}"), client, voucher, Arc::clone(&load), &ON));
    }
    let acknowledged = || load.lock().unwrap().orders.len();
    let more = async |orders: usize| {
        let before = acknowledged();
        eventually("more orders", async || (acknowledged() >= before + orders).then_some(())).await;
    };
    more(30).await;
    script(&["kill", "3"]).await;
    // The remaining nodes continue by themselves.
    more(60).await;
    script(&["join", "3"]).await;
    let path = format!("{ROOT}/currencies");
    cluster.hosts[2].until(200, &path, &cluster.token).await;
    more(30).await;
    ON.store(false, Ordering::Relaxed);
    while let Some(done) = workers.join_next().await {
        done.unwrap();
    }

    let load = std::mem::take(&mut *load.lock().unwrap());
    println!(
        "{} orders, {} moves and {} debits were acknowledged, {} requests were answered with 503",
        load.orders.len(),
        load.moves.len(),
        load.debits,
        load.refused
    );
    for node in 0..NODES {
        let mut connection = MySqlConnection::connect(&cluster.nodes[node]).await.unwrap();
        let orders: Vec<String> = sqlx::query_scalar("SELECT order_id FROM shop_orders")
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let orders: BTreeSet<String> = orders.into_iter().collect();
        assert_eq!(load.orders.difference(&orders).next(), None, "node {}", node + 1);
        let moves: Vec<String> = sqlx::query_scalar("SELECT comment FROM shop_orderhistories")
            .fetch_all(&mut connection)
            .await
            .unwrap();
        let moves: BTreeSet<String> = moves.into_iter().collect();
        assert_eq!(load.moves.difference(&moves).next(), None, "node {}", node + 1);
        let debits = "SELECT count(*) FROM shop_voucher_ledger";
        let debits = cluster.number(node, debits).await as usize;
        let possible = load.debits..=load.debits + load.debits_in_doubt;
        assert!(possible.contains(&debits), "node {}: {debits}, not {possible:?}", node + 1);
    }
    // All nodes have the same data.
    let kept = "SELECT coalesce(sum(n), 0) FROM shop_order_counts";
    let orders = cluster.number(0, "SELECT count(*) FROM shop_orders").await;
    cluster.agrees(orders, &format!("SELECT CAST(({kept}) AS INTEGER)")).await;
    cluster.stop().await;
}
