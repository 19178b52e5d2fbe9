//! Clients of two hosts that give the same orders back at once, also while the hosts are killed: what is given back is
//! exactly what there was, each refund with a key happens once, and orders, ledger and reports agree.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::kills::{kill, kills, randomness};
use crate::support::ledger::{Client, decimal, key};
use crate::support::process::{Place, Served, stop};

/// How often the hosts are killed.
const KILLS: usize = 3;
/// The number of concurrent clients.
const CLIENTS: usize = 4;
/// How many orders they give back, of how many pieces.
const ORDERS: usize = 3;
const PIECES: i64 = 5_000;

/// An order of many lamps from the stock, and its item.
async fn order(client: &Client, pieces: i64) -> (i64, i64) {
    let line = json!({
        "product_id": 1, "orderitem_quantity": pieces, "orderitem_price": "3.3333",
        "orderitem_tax": "19.07", "take_stock": 1,
    });
    let order = json!({"user_email": "ada@example.com", "items": [line]});
    let order = client.create("/orders", order).await;
    let items = client.all(&format!("/orders/{order}/items")).await;
    (order, items[0]["attributes"]["shop_orderitem_id"].as_i64().unwrap())
}

async fn lamps(client: &Client, pieces: i64) {
    let lamp = json!({"product_name": "Lamp", "price": "3", "quantity": pieces});
    client.create("/products", lamp).await;
}

/// What an order shows of its refunds.
async fn refunded(client: &Client, order: i64) -> (Decimal, Value) {
    let shown = client.expect(200, "GET", &format!("/orders/{order}"), None).await;
    let refund = decimal(&shown["data"]["attributes"]["order_refund"]);
    (refund, shown["data"]["meta"]["refundable"].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn of_64_clients_of_two_hosts_as_many_refund_a_piece_as_there_are() {
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[]).await;
    refund_at_once(&hosts, &token).await;
    stop(hosts).await;
    assert_eq!(place.run("check").await, "");
}

/// Has 64 clients of these hosts refund one of 40 pieces each. Fails the test unless exactly 40 do, to the cent.
pub async fn refund_at_once(hosts: &[Served], token: &str) {
    let client = Client::of(&hosts[0], token);
    lamps(&client, 40).await;
    let (order, item) = order(&client, 40).await;
    let mut tasks = JoinSet::new();
    for number in 0..64 {
        let client = Client::of(&hosts[number % hosts.len()], token);
        let line = json!({"orderitem_id": item, "quantity": 1, "restock": 1});
        let body = json!({"reason": "Returned", "items": [line]});
        let path = format!("/orders/{order}/refunds");
        tasks.spawn(async move {
            let key = number.to_string();
            loop {
                match client.ask_under(&key, &path, &body).await.unwrap() {
                    // Too many wait for the order at once, or for too long: a client tries again.
                    (409 | 503 | 504, ..) => tokio::time::sleep(Duration::from_millis(50)).await,
                    (status, document, _) => return (status, document),
                }
            }
        });
    }
    let (given, refused): (Vec<_>, Vec<_>) =
        tasks.join_all().await.into_iter().partition(|(status, _)| *status == 201);
    assert_eq!(given.len(), 40);
    for (status, document) in refused {
        let error = &document["errors"][0];
        assert_eq!((status, &error["code"]), (422, &json!("over_refunded")));
        assert_eq!(error["meta"]["left"], json!({"quantity": 0, "amount": "0.00"}));
    }
    let sums = ["amount", "tax_amount"].map(|name| {
        given.iter().map(|(_, made)| decimal(&made["data"]["attributes"][name])).sum::<Decimal>()
    });
    assert_eq!(sums, ["152.40", "19.07"].map(|sum| sum.parse().unwrap()));
    assert_eq!(refunded(&client, order).await.0, sums[0]);
    let stock = client.expect(200, "GET", "/inventory/1", None).await;
    assert_eq!(stock["data"]["attributes"]["quantity"], 40);
}

/// A client that repeats each write under one key until it is answered.
#[derive(Clone)]
struct Cashier {
    now: watch::Receiver<Vec<Client>>,
    over: Arc<AtomicBool>,
    orders: Vec<(i64, i64)>,
}

/// What a client has given back of each order: an amount and pieces, each refund once.
type Given = BTreeMap<i64, (Decimal, i64, usize)>;

impl Cashier {
    async fn write(&self, at: usize, path: &str, body: &Value, key: &str) -> (u16, Value) {
        loop {
            let clients = self.now.borrow().clone();
            match clients[at % clients.len()].ask_under(key, path, body).await {
                // The connections of a killed host may hold the key for a moment.
                Some((409 | 503, ..)) | None => {}
                Some((status, document, _)) => return (status, document),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn work(self, number: usize, mut rng: fastrand::Rng) -> Given {
        let mut given = Given::new();
        let mut open: Vec<(i64, i64, Decimal, i64)> = Vec::new();
        for turn in 0.. {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            let name = format!("{number}-{turn}");
            if rng.u8(..3) == 0 && !open.is_empty() {
                let (order, refund, amount, pieces) = open.swap_remove(rng.usize(..open.len()));
                let path = format!("/orders/{order}/refunds/{refund}/reverse");
                let body = json!({"reason": "Wrong"});
                let (status, document) = self.write(turn, &path, &body, &name).await;
                assert_eq!(status, 201, "{document}");
                let of = given.entry(order).or_default();
                *of = (of.0 - amount, of.1 - pieces, of.2 + 1);
                continue;
            }
            let (order, item) = self.orders[rng.usize(..self.orders.len())];
            let pieces = rng.i64(1..9);
            let line = json!({"orderitem_id": item, "quantity": pieces, "restock": 1});
            let body = json!({"reason": name, "items": [line]});
            let path = format!("/orders/{order}/refunds");
            let (status, document) = self.write(turn, &path, &body, &name).await;
            if status == 422 {
                assert_eq!(document["errors"][0]["code"], "over_refunded");
                continue;
            }
            assert_eq!(status, 201, "{document}");
            let amount = decimal(&document["data"]["attributes"]["amount"]);
            let of = given.entry(order).or_default();
            *of = (of.0 + amount, of.1 + pieces, of.2 + 1);
            open.push((order, key(&document), amount, pieces));
        }
        given
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refunds_happen_once_and_everything_agrees_after_every_kill() {
    let kills = kills(KILLS);
    let (place, token) = Place::with_ann("Administrator").await;
    let mut rng = randomness();
    let clients = |hosts: &[Served]| -> Vec<Client> {
        hosts.iter().map(|host| Client::of(host, &token)).collect()
    };
    let mut hosts = place.serve_twice_with(&[]).await;
    let client = Client::of(&hosts[0], &token);
    lamps(&client, PIECES * ORDERS as i64).await;
    let mut orders = Vec::new();
    for _ in 0..ORDERS {
        orders.push(order(&client, PIECES).await);
    }
    let (current, now) = watch::channel(clients(&hosts));
    let cashier = Cashier { now, over: Arc::default(), orders: orders.clone() };
    let work: Vec<_> =
        (0..CLIENTS).map(|number| tokio::spawn(cashier.clone().work(number, rng.fork()))).collect();
    for _ in 0..kills {
        tokio::time::sleep(Duration::from_millis(rng.u64(50..600))).await;
        kill(hosts).await;
        hosts = place.serve_twice_with(&[]).await;
        current.send_replace(clients(&hosts));
        assert_eq!(place.run("check").await, "");
    }
    cashier.over.store(true, Ordering::Relaxed);
    let mut given = Given::new();
    for worker in work {
        for (order, (amount, pieces, refunds)) in worker.await.unwrap() {
            let of = given.entry(order).or_default();
            *of = (of.0 + amount, of.1 + pieces, of.2 + refunds);
        }
    }
    let client = Client::of(&hosts[0], &token);
    let (mut all, mut back) = (Decimal::ZERO, 0);
    for (order, item) in &orders {
        let (amount, pieces, refunds) = given.get(order).copied().unwrap_or_default();
        let (refund, left) = refunded(&client, *order).await;
        assert_eq!(refund, amount, "order {order}");
        assert_eq!(left["items"][item.to_string()]["quantity"], PIECES - pieces);
        let made = client.all(&format!("/orders/{order}/refunds")).await;
        assert_eq!(made.len(), refunds, "each refund once");
        (all, back) = (all + amount, back + pieces);
    }
    let stock = client.expect(200, "GET", "/inventory/1", None).await;
    assert_eq!(stock["data"]["attributes"]["quantity"], back);
    let day = time::UtcDateTime::now().date();
    let range = format!("filter[date_from]=2026-01-01&filter[date_to]={day}");
    let report = client.expect(200, "GET", &format!("/reports/sales?{range}"), None).await;
    assert_eq!(decimal(&report["meta"]["totals"][0]["refunds_made"]), all);
    assert!(!given.is_empty());
    stop(hosts).await;
    assert_eq!(place.run("check").await, "");
}
