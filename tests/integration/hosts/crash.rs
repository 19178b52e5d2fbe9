//! A host that is killed at any moment: acknowledged writes persist, nothing is half-written, and
//! every mail that is due is still sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rust_decimal::Decimal;
use serde_json::{Value, json};
use time::{Date, Month};

use crate::support::kills::{kill, kills, randomness};
use crate::support::ledger::{Client, Order, check_reports, decimal, key, new_order};
use crate::support::process::{Place, Served};
use crate::support::smtp::Sink;

/// How often the host is killed.
const KILLS: usize = 4;
/// The number of concurrent clients.
const WORKERS: u64 = 4;

/// A request. If it was not acknowledged, it may or may not have been executed.
#[derive(Clone, Debug)]
struct Asked {
    what: Write,
    acknowledged: bool,
}

#[derive(Clone, Debug)]
enum Write {
    /// A product with this SKU.
    Product(String),
    /// An order with this reference.
    Order(String, Box<Order>),
    /// An entry with this comment in the history of the order with this key.
    Move { order: i64, state: i64, comment: String, notify: bool },
    /// A debit of the voucher.
    Debit(Decimal),
}

/// The expected content of the store.
#[derive(Default)]
struct Known {
    orders: BTreeMap<i64, Order>,
    products: BTreeSet<String>,
    /// The comments of entries, by order; and the comments about which the customer is notified.
    entries: BTreeMap<i64, Vec<(String, i64)>>,
    told: BTreeSet<String>,
    balance: Decimal,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_killed_loses_nothing_and_sends_every_mail() {
    let kills = kills(KILLS);
    let sink = Sink::start().await;
    let (place, token) = Place::with_ann("Administrator").await;
    let mut rng = randomness();

    let mut served = serve(&place, &sink).await;
    let client = Client::of(&served, &token);
    let prices = [Decimal::new(1_999, 2), Decimal::new(5, 3), Decimal::new(123_456, 5)];
    for (number, price) in prices.iter().enumerate() {
        let product = json!({"product_name": format!("p{number}"), "price": price.to_string()});
        client.create("/products", product).await;
    }
    let voucher = json!({"voucher_value": "100000", "email_to": "ann@example.com"});
    let voucher = client.create("/vouchers", voucher).await;
    let mut known = Known { balance: Decimal::from(100_000), ..Known::default() };

    // On a slow machine little is done between two kills.
    for round in 0.. {
        if round >= kills && known.orders.len() > kills {
            break;
        }
        assert!(round < 20 * kills, "{} orders", known.orders.len());
        let client = Client::of(&served, &token);
        let orders: Vec<i64> = known.orders.keys().copied().collect();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let workers = (0..WORKERS).map(|worker| {
            let name = format!("{round}-{worker}");
            let rng = rng.fork();
            let (client, orders, asked) = (client.clone(), orders.clone(), Arc::clone(&asked));
            tokio::spawn(
                async move { work(&name, rng, client, voucher, orders, &prices, &asked).await },
            )
        });
        let workers: Vec<_> = workers.collect();
        tokio::time::sleep(Duration::from_millis(rng.u64(30..700))).await;
        kill([served]).await;
        for worker in workers {
            worker.await.unwrap();
        }
        served = serve(&place, &sink).await;
        let client = Client::of(&served, &token);
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        known.check(asked, &client).await;
    }

    let client = Client::of(&served, &token);
    let orders: Vec<Order> = known.orders.values().cloned().collect();
    assert_eq!(client.all("/orders").await.len(), orders.len());
    let day = |year, month, day| Date::from_calendar_date(year, month, day).unwrap();
    let (first, last) = (day(2023, Month::November, 30), day(2024, Month::March, 31));
    check_reports(&client, &orders, first, last).await;

    // Every mail that is due arrives. A mail that was being sent when the host was killed may
    // arrive twice, with the same id; there is no mail about anything that did not happen.
    sink.has_one_about_each(&known.told).await;
    served.stop().await;
}

async fn serve(place: &Place, sink: &Sink) -> Served {
    place.serve_with(&[("HOST_SMTP_URL", &sink.url())]).await
}

/// Sends one request after another until the host is gone.
async fn work(
    name: &str,
    mut rng: fastrand::Rng,
    client: Client,
    voucher: i64,
    mut orders: Vec<i64>,
    prices: &[Decimal],
    asked: &Mutex<Vec<Asked>>,
) {
    for turn in 0.. {
        let name = format!("{name}-{turn}");
        let (path, body, expected, what) = match rng.u8(..8) {
            0 => {
                let sku = format!("P-{name}");
                let body = json!({"product_name": name, "sku": sku});
                ("/products".to_owned(), body, 201, Write::Product(sku))
            }
            1..=3 => {
                let (mut body, order) = new_order(&mut rng, prices);
                let reference = format!("O-{name}");
                body["order_id"] = json!(reference);
                ("/orders".to_owned(), body, 201, Write::Order(reference, Box::new(order)))
            }
            4..=5 if !orders.is_empty() => {
                let order = orders[rng.usize(..orders.len())];
                let (state, notify) = (rng.i64(1..=8), rng.bool());
                let comment = format!("move {name}");
                let body = json!({
                    "order_state_id": state, "notify_customer": notify, "comment": comment,
                });
                let what = Write::Move { order, state, comment, notify };
                (format!("/orders/{order}/history"), body, 201, what)
            }
            _ => {
                let amount = Decimal::new(rng.i64(1..10_000), 2);
                let body = json!({
                    "adjustment_type": "debit", "amount": amount.to_string(), "reason": name,
                });
                (format!("/vouchers/{voucher}/adjust"), body, 200, Write::Debit(amount))
            }
        };
        let position = {
            let mut asked = asked.lock().unwrap();
            asked.push(Asked { what: what.clone(), acknowledged: false });
            asked.len() - 1
        };
        let Some((status, document)) = client.ask("POST", &path, Some(body)).await else { return };
        assert_eq!(status, expected, "{path}: {document}");
        asked.lock().unwrap()[position].acknowledged = true;
        if matches!(what, Write::Order(..)) {
            orders.push(key(&document));
        }
    }
}

impl Known {
    /// Compares the content of the store with the requests since the last comparison.
    async fn check(&mut self, asked: Vec<Asked>, client: &Client) {
        let rows = client.all("/orders?list[ordering]=shop_order_id").await;
        let by_reference: BTreeMap<&str, &Value> =
            rows.iter().map(|row| (row["attributes"]["order_id"].as_str().unwrap(), row)).collect();
        let skus: BTreeSet<String> = client
            .all("/products")
            .await
            .iter()
            .map(|row| row["attributes"]["sku"].as_str().unwrap().to_owned())
            .collect();
        let mut moves: BTreeMap<i64, Vec<(i64, String, bool, bool)>> = BTreeMap::new();
        let mut in_doubt = Vec::new();
        for Asked { what, acknowledged } in asked {
            match what {
                Write::Product(sku) => {
                    assert!(skus.contains(&sku) || !acknowledged, "{sku}");
                    self.products.extend(skus.get(&sku).cloned());
                }
                Write::Order(reference, mut order) => {
                    let Some(row) = by_reference.get(reference.as_str()) else {
                        assert!(!acknowledged, "{reference}");
                        continue;
                    };
                    order.key = row["id"].as_str().unwrap().parse().unwrap();
                    self.check_order(&order, client).await;
                    self.entries.insert(order.key, vec![(String::new(), order.state)]);
                    moves.entry(order.key).or_default();
                    self.orders.insert(order.key, *order);
                }
                Write::Move { order, state, comment, notify } => {
                    let moves = moves.entry(order).or_default();
                    moves.push((state, comment, notify, acknowledged));
                }
                Write::Debit(amount) if acknowledged => self.balance -= amount,
                Write::Debit(amount) => in_doubt.push(amount),
            }
        }
        for (order, moves) in moves {
            self.check_moves(order, &moves, client).await;
        }
        let mine = client.expect(200, "GET", "/vouchers/mine", None).await;
        let left = decimal(&mine["data"][0]["attributes"]["remaining_balance"]);
        let possible = (0..1_u32 << in_doubt.len()).map(|chosen| {
            let taken = in_doubt.iter().enumerate().filter(|(bit, _)| chosen >> bit & 1 == 1);
            self.balance - taken.map(|(_, amount)| amount).sum::<Decimal>()
        });
        assert!(possible.into_iter().any(|balance| balance == left), "{left} of {}", self.balance);
        self.balance = left;
        assert!(self.products.iter().all(|sku| skus.contains(sku)));
        assert_eq!(rows.len(), self.orders.len(), "no unexpected orders");
    }

    /// An order exists with all of its items, or not at all.
    async fn check_order(&self, order: &Order, client: &Client) {
        let path = format!("/orders/{}", order.key);
        let shown = client.expect(200, "GET", &path, None).await;
        let attributes = &shown["data"]["attributes"];
        assert_eq!(decimal(&attributes["order_total"]), order.total);
        let items = client.all(&format!("{path}/items")).await;
        let finalprices: Vec<Decimal> =
            items.iter().map(|item| decimal(&item["attributes"]["orderitem_finalprice"])).collect();
        let expected: Vec<Decimal> = order.lines.iter().map(|line| line.2).collect();
        assert_eq!(finalprices, expected, "{path}");
    }

    /// The history consists of the known entries, followed by those that were requested; its last
    /// entry has the order's status.
    async fn check_moves(
        &mut self,
        order: i64,
        moves: &[(i64, String, bool, bool)],
        client: &Client,
    ) {
        let path = format!("/orders/{order}");
        let history = client.all(&format!("{path}/history")).await;
        let entries: Vec<(String, i64)> = history
            .iter()
            .map(|entry| {
                let entry = &entry["attributes"];
                let comment = entry["comment"].as_str().unwrap().to_owned();
                (comment, entry["order_state_id"].as_i64().unwrap())
            })
            .collect();
        let known = &self.entries[&order];
        assert_eq!(&entries[..known.len()], &known[..], "{path}");
        let new: BTreeSet<&(String, i64)> = entries[known.len()..].iter().collect();
        assert_eq!(new.len(), entries.len() - known.len(), "{path}: each once");
        let mut found = 0;
        for (state, comment, notify, acknowledged) in moves {
            let there = new.contains(&(comment.clone(), *state));
            assert!(there || !acknowledged, "{path}: {comment}");
            found += usize::from(there);
            if there && *notify {
                self.told.insert(comment.clone());
            }
        }
        assert_eq!(found, new.len(), "{path}: no entry comes from nowhere");
        let shown = client.expect(200, "GET", &path, None).await;
        let state = shown["data"]["attributes"]["order_state_id"].as_i64().unwrap();
        assert_eq!(state, entries.last().unwrap().1, "{path}");
        if let Some(order) = self.orders.get_mut(&order) {
            order.state = state;
        }
        self.entries.insert(order, entries);
    }
}
