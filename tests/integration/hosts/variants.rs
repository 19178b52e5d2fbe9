//! Clients that create, stock, sell and remove variants of the same products at once, while their hosts are
//! killed: whatever happens, the quantity of a product is the sum of those of its variants, and each is what the
//! ledger adds up to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::support::kills::{kill, kills, randomness};
use crate::support::ledger::{Client, key};
use crate::support::process::{Place, stop};

/// How often the hosts are killed.
const KILLS: usize = 3;
/// The number of concurrent clients.
const CLIENTS: usize = 8;
/// What a client does, and how often in 20.
const DEEDS: [(&str, u8); 9] = [
    ("added", 4),
    ("removed", 3),
    ("adjusted", 3),
    ("sold", 4),
    ("set", 1),
    ("priced", 1),
    ("sold without one", 1),
    ("set as a whole", 1),
    ("emptied", 2),
];

/// One client, until its host is gone.
struct Clerk {
    client: Client,
    rng: fastrand::Rng,
    products: Vec<i64>,
    /// How many requests were successful, by what they do.
    done: BTreeMap<&'static str, usize>,
}

impl Clerk {
    async fn work(mut self) -> BTreeMap<&'static str, usize> {
        while self.one_deed().await.is_some() {}
        self.done
    }

    /// Does one thing; `None` if the host is gone.
    async fn one_deed(&mut self) -> Option<()> {
        let product = self.rng.choice(self.products.iter().copied())?;
        let all: Vec<&str> =
            DEEDS.iter().flat_map(|(deed, often)| [*deed].repeat(usize::from(*often))).collect();
        let deed = self.rng.choice(all)?;
        let variants = self.variants(product).await?;
        let some = self.rng.choice(variants.iter().copied()).unwrap_or(0);
        let pieces = self.rng.i64(1..6);
        let variant = format!("/variants/{some}");
        let path = format!("/products/{product}");
        let line = |named: Value| {
            let mut line = named;
            line["orderitem_quantity"] = json!(pieces);
            line["take_stock"] = json!(1);
            json!({"user_email": "ada@example.com", "items": [line]})
        };
        let (method, path, body) = match deed {
            "added" => {
                let size = self.rng.choice(["S", "M", "L", "XL"])?;
                let mut body = json!({"options": {"Size": size}, "allow_backorder": pieces % 3});
                if self.rng.bool() {
                    body["quantity"] = json!(self.rng.i64(..20));
                }
                ("POST", format!("{path}/variants"), Some(body))
            }
            "removed" => ("DELETE", variant, None),
            "adjusted" => {
                let delta = if self.rng.bool() { pieces } else { -pieces };
                let mut body = json!({"quantity_delta": delta, "reason": "Counted"});
                if some > 0 {
                    body["variant_id"] = json!(some);
                }
                ("POST", format!("/inventory/{product}/adjust"), Some(body))
            }
            "sold" => ("POST", "/orders".to_owned(), Some(line(json!({"variant_id": some})))),
            "sold without one" => {
                ("POST", "/orders".to_owned(), Some(line(json!({"product_id": product}))))
            }
            "set" => ("PATCH", variant, Some(json!({"quantity": pieces * 3}))),
            "priced" => ("PATCH", path, Some(json!({"price": pieces.to_string()}))),
            "set as a whole" => ("PATCH", path, Some(json!({"quantity": pieces * 4}))),
            _ => {
                for each in variants {
                    self.send(deed, "DELETE", &format!("/variants/{each}"), None).await?;
                }
                return Some(());
            }
        };
        self.send(deed, method, &path, body).await
    }

    /// The keys of the further variants of a product.
    async fn variants(&self, product: i64) -> Option<Vec<i64>> {
        let path = format!("/products/{product}/variants");
        let (status, list) = self.client.ask("GET", &path, None).await?;
        assert_eq!(status, 200, "{list}");
        Some(further(list["data"].as_array().unwrap()))
    }

    async fn send(
        &mut self,
        deed: &'static str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Option<()> {
        match self.client.ask(method, path, body.clone()).await? {
            (200..300, _) => *self.done.entry(deed).or_default() += 1,
            // Another client has changed what this one has seen.
            (404 | 409 | 422 | 503, _) => {}
            (status, answer) => panic!("{method} {path} {body:?}: {status} {answer}"),
        }
        Some(())
    }
}

/// The keys of the variants in a list that are not masters.
fn further(rows: &[Value]) -> Vec<i64> {
    let further = rows.iter().filter(|row| row["attributes"]["is_master"] == 0);
    further.map(|row| row["attributes"]["shop_variant_id"].as_i64().unwrap()).collect()
}

/// Fails unless the variants, their product, its stock record and the ledger agree.
async fn agree(client: &Client, product: i64) {
    let record = client.expect(200, "GET", &format!("/products/{product}"), None).await;
    let quantity = record["data"]["attributes"]["quantity"].as_i64().unwrap();
    let stock = client.expect(200, "GET", &format!("/inventory/{product}"), None).await;
    assert_eq!(stock["data"]["attributes"]["quantity"], quantity);
    let variants = client.all(&format!("/products/{product}/variants")).await;
    let further = further(&variants);
    let mut by_holder: BTreeMap<Option<i64>, i64> = BTreeMap::new();
    for entry in client.all(&format!("/inventory/{product}/ledger")).await {
        let of = &entry["attributes"];
        let delta = of["quantity_delta"].as_i64().unwrap();
        *by_holder.entry(of["variant_id"].as_i64()).or_default() += delta;
    }
    by_holder.retain(|_, sum| *sum != 0);
    let mut expected = BTreeMap::new();
    for row in &variants {
        let of = &row["attributes"];
        let key = of["shop_variant_id"].as_i64().unwrap();
        if further.contains(&key) {
            let path = format!("/variants/{key}");
            let variant = client.expect(200, "GET", &path, None).await;
            let held = variant["data"]["attributes"]["quantity"].as_i64().unwrap();
            expected.insert(Some(key), held);
        }
    }
    if further.is_empty() {
        expected.insert(None, quantity);
    } else {
        assert_eq!(expected.values().sum::<i64>(), quantity, "product {product}")
    }
    expected.retain(|_, held| *held != 0);
    assert_eq!(by_holder, expected, "product {product}");
    let has_options = i64::from(!further.is_empty());
    assert_eq!(record["data"]["attributes"]["has_options"], has_options);
}

#[tokio::test(flavor = "multi_thread")]
async fn variants_products_and_ledgers_agree_after_every_kill() {
    let kills = kills(KILLS);
    let (place, token) = Place::with_ann("Administrator").await;
    let mut rng = randomness();
    let mut hosts = place.serve_twice_with(&[]).await;
    let client = Client::of(&hosts[0], &token);
    let mut products = Vec::new();
    for name in ["Shirt", "Jacket", "Hat"] {
        let body = json!({"product_name": name, "quantity": 40, "price": "20"});
        products.push(key(&client.expect(201, "POST", "/products", Some(body)).await));
    }
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    let all_done =
        |done: &BTreeMap<&str, usize>| DEEDS.iter().all(|(deed, _)| done.contains_key(deed));
    // On a slow machine little is done between two kills.
    for round in 0.. {
        if round >= kills && all_done(&done) {
            break;
        }
        assert!(round < 20 * kills, "{done:?}");
        let mut clerks = JoinSet::new();
        for number in 0..CLIENTS {
            let client = Client::of(&hosts[number % hosts.len()], &token);
            let (rng, products) = (rng.fork(), products.clone());
            clerks.spawn(Clerk { client, rng, products, done: BTreeMap::new() }.work());
        }
        tokio::time::sleep(Duration::from_millis(rng.u64(200..1_200))).await;
        kill(hosts).await;
        hosts = place.serve_twice_with(&[]).await;
        for counts in clerks.join_all().await {
            for (deed, count) in counts {
                *done.entry(deed).or_default() += count;
            }
        }
        assert_eq!(place.run("check").await, "", "{done:?}");
        let client = Client::of(&hosts[0], &token);
        for product in &products {
            agree(&client, *product).await;
        }
    }
    println!("{done:?}");
    stop(hosts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_clients_one_gets_the_last_piece_of_a_size() {
    const MANY: usize = 32;
    let (place, token) = Place::with_ann("Administrator").await;
    let hosts = place.serve_twice_with(&[]).await;
    let client = Client::of(&hosts[0], &token);
    let variants = json!([
        {"options": {"Size": "M"}, "quantity": 1},
        {"options": {"Size": "L"}, "quantity": 50},
    ]);
    let shirt = json!({"product_name": "Shirt", "variants": variants});
    let product = client.create("/products", shirt).await;
    let medium = further(&client.all(&format!("/products/{product}/variants")).await)[0];
    let line = json!({"variant_id": medium, "take_stock": 1});
    let order = json!({"user_email": "ada@example.com", "items": [line]});
    let mut tasks = JoinSet::new();
    for number in 0..MANY {
        let (client, order) = (Client::of(&hosts[number % hosts.len()], &token), order.clone());
        tasks.spawn(async move { client.in_turn("POST", "/orders", &order).await });
    }
    let (sold, refused): (Vec<_>, Vec<_>) =
        tasks.join_all().await.into_iter().partition(|(status, _)| *status == 201);
    assert_eq!(sold.len(), 1);
    for (status, document) in refused {
        let error = &document["errors"][0];
        assert_eq!((status, &error["code"]), (422, &json!("insufficient_stock")));
        assert_eq!(error["meta"]["quantity"], 0);
    }
    assert_eq!(client.all("/orders").await.len(), 1);
    agree(&client, product).await;
    stop(hosts).await;
    assert_eq!(place.run("check").await, "");
}
