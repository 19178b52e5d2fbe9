//! Stock movements in a large store: a delivery of many products, by SKU, in one request; a single
//! movement; and orders that take their items out of the stock, beside those that do not.

use fastrand::Rng;
use serde_json::{Value, json};

use super::load::{Ask, Client, percentile};
use super::stores::{Engine, Store};
use super::{Settings, verdict};

/// How many products a delivery has.
const STEPS: usize = 500;
/// How often each request is sent in one round.
const TIMES: usize = 20;
/// The limit of the median of a delivery in milliseconds, on SQLite.
const LIMIT: f64 = 100.0;

/// A kind of request.
#[derive(Clone, Copy)]
enum Movement {
    Delivery,
    One,
    /// An order, with this `take_stock` in its items.
    Order(i64),
}

impl Movement {
    const ALL: [Movement; 4] =
        [Movement::Delivery, Movement::One, Movement::Order(0), Movement::Order(1)];

    fn name(self) -> String {
        match self {
            Movement::Delivery => format!("`POST /inventory/adjust`, {STEPS} by SKU"),
            Movement::One => "`POST /inventory/<id>/adjust`".to_owned(),
            Movement::Order(take) => format!("`POST /orders`, three items, `take_stock` {take}"),
        }
    }
}

/// Measures a single client.
pub async fn measure(settings: &Settings, engine: Engine, store: &Store) {
    let host = store.serve();
    let mut client = Client::of(host.door.clone()).await;
    let mut chance = Rng::new();
    let products = products(&mut client, store, &mut chance).await;
    println!("### Stock movements\n");
    println!("one client, ms; {} rounds of {TIMES}, {}\n", settings.rounds, settings.large);
    println!("| what | p50 | p99 | bar |");
    println!("|---|---|---|---|");
    for what in Movement::ALL {
        let mut taken = Vec::new();
        for round in 0..=settings.rounds {
            for _ in 0..TIMES {
                let ask = match what {
                    Movement::Delivery => delivery(&products, &mut chance),
                    Movement::One => one(&products, &mut chance),
                    Movement::Order(take_stock) => order(&products, take_stock, &mut chance),
                };
                let answer = client.ask(&ask).await;
                // The first round warms up.
                if round > 0 {
                    taken.push(answer.took);
                }
            }
        }
        let p50 = percentile(&mut taken, 50);
        let bar = match (what, engine) {
            (Movement::Delivery, Engine::Sqlite) => format!("{LIMIT} ms{}", verdict(p50 <= LIMIT)),
            _ => "none".to_owned(),
        };
        println!("| {} | {p50:.2} | {:.2} | {bar} |", what.name(), percentile(&mut taken, 99));
    }
    println!();
}

/// A product of the store.
pub struct Product {
    key: String,
    sku: String,
    quantity: i64,
}

/// Products from all over the store.
pub async fn products(client: &mut Client, store: &Store, chance: &mut Rng) -> Vec<Product> {
    let all = i64::try_from(store.size.products).unwrap();
    let mut products = Vec::new();
    for _ in 0..40 {
        let offset = chance.i64(0..(all - 100).max(1));
        let page = format!("/products?page[limit]=100&page[offset]={offset}");
        let page: Value = serde_json::from_slice(&client.ask(&Ask::get(page)).await.body).unwrap();
        products.extend(page["data"].as_array().unwrap().iter().map(|row| Product {
            key: row["id"].as_str().unwrap().to_owned(),
            sku: row["attributes"]["sku"].as_str().unwrap().to_owned(),
            quantity: row["attributes"]["quantity"].as_i64().unwrap(),
        }));
    }
    products
}

fn delivery(products: &[Product], chance: &mut Rng) -> Ask {
    let steps = (0..STEPS).map(|_| {
        let sku = &chance.choice(products).unwrap().sku;
        json!({"sku": sku, "quantity_delta": 1, "reason": "Measured", "reference": "D-4711"})
    });
    Ask::post("/inventory/adjust", &json!({"adjustments": Vec::from_iter(steps)}))
}

/// A movement of one of these products.
pub fn one(products: &[Product], chance: &mut Rng) -> Ask {
    let key = &chance.choice(products).unwrap().key;
    let body = json!({"quantity_delta": 1, "reason": "Measured"});
    Ask::post(format!("/inventory/{key}/adjust"), &body)
}

/// An order of three products with enough in stock for all rounds.
fn order(products: &[Product], take_stock: i64, chance: &mut Rng) -> Ask {
    let stocked: Vec<&Product> = products.iter().filter(|of| of.quantity > 100).collect();
    let items = (0..3).map(|_| {
        let key: i64 = chance.choice(&stocked).unwrap().key.parse().unwrap();
        json!({"product_id": key, "take_stock": take_stock})
    });
    let items = Vec::from_iter(items);
    Ask::post("/orders", &json!({"user_email": "bench@example.com", "items": items}))
}
