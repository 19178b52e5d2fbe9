//! A host that is killed while its clients repeat each write, under one key, until it is answered:
//! every write happens once, and so does every mail, even if the host was killed between the commit
//! and the answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::support::kills::{kill, kills, randomness};
use crate::support::ledger::{Client, decimal, key};
use crate::support::process::{Place, Served};
use crate::support::smtp::Sink;
use crate::support::waiting::eventually;

/// How often the host is killed.
const KILLS: usize = 4;
/// The stock that the clients begin with: more than they can sell.
const PIECES: i64 = 1_000_000;
/// The number of concurrent clients.
const WORKERS: usize = 4;

/// The clients, which find the host that serves now.
#[derive(Clone)]
struct Clients {
    now: watch::Receiver<Client>,
    over: Arc<AtomicBool>,
    replays: Arc<AtomicUsize>,
}

/// What one client has written: each write once.
#[derive(Default)]
struct Done {
    /// The e-mail addresses of orders, with their keys and the comments of their entries.
    orders: BTreeMap<String, (i64, Vec<String>)>,
    debits: Vec<Decimal>,
    /// What was added to the stock, by the references of the movements.
    movements: BTreeMap<String, i64>,
}

impl Clients {
    /// Sends a write until it is answered.
    async fn write(&self, path: &str, body: &Value, key: &str) -> Value {
        loop {
            let client = self.now.borrow().clone();
            match client.ask_under(key, path, body).await {
                Some((200..300, document, replayed)) => {
                    self.replays.fetch_add(usize::from(replayed), Ordering::Relaxed);
                    return document;
                }
                // The connections of a killed host may hold the key for a moment.
                Some((409 | 503, ..)) | None => {}
                Some((status, document, _)) => panic!("{path}: {status} {document}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Writes one thing after another until the test is over.
    async fn work(self, name: String, mut rng: fastrand::Rng, voucher: i64) -> Done {
        let mut done = Done::default();
        for turn in 0.. {
            if self.over.load(Ordering::Relaxed) {
                break;
            }
            let name = format!("{name}-{turn}");
            match rng.u8(..6) {
                0 => {
                    let amount = Decimal::new(rng.i64(1..1_000), 2);
                    let body = json!({
                        "adjustment_type": "debit", "amount": amount.to_string(), "reason": name,
                    });
                    self.write(&format!("/vouchers/{voucher}/adjust"), &body, &name).await;
                    done.debits.push(amount);
                }
                1 => {
                    let delta = rng.i64(1..10);
                    let step = json!({
                        "quantity_delta": delta, "reason": "Delivered", "reference": name,
                    });
                    self.write("/inventory/1/adjust", &step, &name).await;
                    done.movements.insert(name, delta);
                }
                2 => {
                    let (sold, back) = (rng.i64(5..10), rng.i64(1..5));
                    let step = |delta: i64, reference: &str| {
                        json!({
                            "sku": "L-1", "quantity_delta": delta, "reason": "Sold",
                            "reference": format!("{name}{reference}"),
                        })
                    };
                    let steps = json!({"adjustments": [step(-sold, ""), step(back, " back")]});
                    self.write("/inventory/adjust", &steps, &name).await;
                    done.movements.insert(format!("{name} back"), back);
                    done.movements.insert(name, -sold);
                }
                3 | 4 if !done.orders.is_empty() => {
                    let at = rng.usize(..done.orders.len());
                    let (order, comments) = done.orders.values_mut().nth(at).unwrap();
                    let comment = format!("move {name}");
                    let body = json!({
                        "order_state_id": rng.i64(1..=8), "notify_customer": 1, "comment": comment,
                    });
                    self.write(&format!("/orders/{order}/history"), &body, &name).await;
                    comments.push(comment);
                }
                _ => {
                    let email = format!("{name}@example.com");
                    let items = json!([{"product_id": 1}, {"product_id": 1, "take_stock": 1}]);
                    let body = json!({"user_email": email, "items": items});
                    let made = self.write("/orders", &body, &name).await;
                    done.orders.insert(email, (key(&made), Vec::new()));
                }
            }
        }
        done
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_repeated_after_a_kill_happens_once() {
    let kills = kills(KILLS);
    let sink = Sink::start().await;
    let (place, token) = Place::with_ann("Administrator").await;
    let mut rng = randomness();
    let mut served = serve(&place, &sink).await;
    let client = Client::of(&served, &token);
    let lamp = json!({"product_name": "Lamp", "price": "5", "sku": "L-1", "quantity": PIECES});
    client.create("/products", lamp).await;
    let voucher = json!({"voucher_value": "1000000", "email_to": "ann@example.com"});
    let voucher = client.create("/vouchers", voucher).await;
    let (current, now) = watch::channel(client);
    let clients = Clients { now, over: Arc::default(), replays: Arc::default() };
    let work = (0..WORKERS).map(|worker| {
        let (clients, rng) = (clients.clone(), rng.fork());
        tokio::spawn(clients.work(worker.to_string(), rng, voucher))
    });
    let work: Vec<_> = work.collect();
    let mut witnesses = BTreeSet::new();
    for round in 0..kills {
        tokio::time::sleep(Duration::from_millis(rng.u64(30..700))).await;
        // This write has been committed when the host is killed, and its client never sees the answer.
        let name = format!("witness-{round}");
        let body = json!({"user_email": format!("{name}@example.com")});
        let client = current.borrow().clone();
        let (sender, key, order) = (client.clone(), name.clone(), body.clone());
        let lost = tokio::spawn(async move { sender.ask_under(&key, "/orders", &order).await });
        let list = format!("/orders?filter[search]={name}@");
        eventually("the order is there", async || {
            (client.all(&list).await.len() == 1).then_some(())
        })
        .await;
        kill([served]).await;
        drop(lost.await.unwrap());
        served = serve(&place, &sink).await;
        let client = Client::of(&served, &token);
        current.send_replace(client.clone());
        let (status, _, replayed) = client.ask_under(&name, "/orders", &body).await.unwrap();
        assert_eq!((status, replayed), (201, true));
        witnesses.insert(format!("{name}@example.com"));
    }
    clients.over.store(true, Ordering::Relaxed);
    let (mut orders, mut debited) = (BTreeMap::new(), Decimal::ZERO);
    let mut movements = BTreeMap::new();
    for worker in work {
        let done = worker.await.unwrap();
        orders.extend(done.orders);
        movements.extend(done.movements);
        debited += done.debits.into_iter().sum::<Decimal>();
    }
    println!("{} of the clients' answers were replays", clients.replays.load(Ordering::Relaxed));

    let client = Client::of(&served, &token);
    let rows = client.all("/orders?list[ordering]=shop_order_id").await;
    let mut emails: Vec<&str> =
        rows.iter().map(|row| row["attributes"]["user_email"].as_str().unwrap()).collect();
    emails.sort_unstable();
    let mut expected: Vec<&str> =
        orders.keys().chain(&witnesses).map(std::string::String::as_str).collect();
    expected.sort_unstable();
    assert_eq!(emails, expected, "each order once");
    // Each order has taken one piece, under its reference.
    for row in &rows {
        let email = row["attributes"]["user_email"].as_str().unwrap();
        if orders.contains_key(email) {
            let reference = row["attributes"]["order_id"].as_str().unwrap();
            movements.insert(reference.to_owned(), -1);
        }
    }
    let stock = client.expect(200, "GET", "/inventory/1", None).await;
    let quantity = stock["data"]["attributes"]["quantity"].as_i64().unwrap();
    assert_eq!(quantity, PIECES + movements.values().sum::<i64>());
    let mut ledger = client.all("/inventory/1/ledger").await;
    assert_eq!(ledger.pop().unwrap()["attributes"]["quantity_delta"], PIECES);
    assert_eq!(ledger.len(), movements.len(), "each movement once");
    for movement in ledger {
        let of = &movement["attributes"];
        let reference = of["reference"].as_str().unwrap();
        assert_eq!(movements.get(reference).copied(), of["quantity_delta"].as_i64(), "{reference}");
    }
    let mut told = BTreeSet::new();
    for (order, comments) in orders.values() {
        let history = client.all(&format!("/orders/{order}/history")).await;
        let entries = history.iter().map(|entry| entry["attributes"]["comment"].as_str().unwrap());
        let entries: Vec<&str> = entries.filter(|comment| !comment.is_empty()).collect();
        assert_eq!(&entries, comments, "each entry once, in order");
        assert_eq!(client.all(&format!("/orders/{order}/items")).await.len(), 2);
        told.extend(comments.iter().cloned());
    }
    let mine = client.expect(200, "GET", "/vouchers/mine", None).await;
    let left = decimal(&mine["data"][0]["attributes"]["remaining_balance"]);
    assert_eq!(left, Decimal::from(1_000_000) - debited, "each debit once");

    // Each entry has one mail. One that was being sent when the host was killed may arrive twice,
    // with the same id.
    sink.has_one_about_each(&told).await;
    served.stop().await;
}

async fn serve(place: &Place, sink: &Sink) -> Served {
    place.serve_with(&[("HOST_SMTP_URL", &sink.url())]).await
}
