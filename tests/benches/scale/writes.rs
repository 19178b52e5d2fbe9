//! The writes of an integrator, in a large store against a store with only its initial data. The
//! records are removed at the end; changed prices remain.

use std::sync::{Arc, Mutex};

use fastrand::Rng;
use serde_json::{Value, json};

use super::load::{Answer, Ask, Client, percentile};
use super::stores::{Engine, Host, Size, Store};
use super::{Settings, verdict};

/// How often each write is done in one round.
const TIMES: usize = 40;
/// The limit of a write's cost relative to the empty store, and of its 99th percentile in
/// milliseconds; on SQLite, where only the disk affects the speed of writes.
const RATIO: f64 = 4.0;
const P99: f64 = 15.0;

/// A kind of write.
#[derive(Clone, Copy, Debug)]
pub enum Write {
    Product,
    Price,
    Order,
    History,
    Adjustment,
}

impl Write {
    pub const ALL: [Write; 5] =
        [Write::Product, Write::Price, Write::Order, Write::History, Write::Adjustment];

    pub fn name(self) -> &'static str {
        match self {
            Write::Product => "`POST /products`",
            Write::Price => "`PATCH /products/<id>`, price",
            Write::Order => "`POST /orders`, three items",
            Write::History => "`POST /orders/<id>/history`",
            Write::Adjustment => "`POST /vouchers/<id>/adjust`",
        }
    }
}

/// Measures a single client, alternately on the two stores.
pub async fn measure(settings: &Settings, engine: Engine, stores: &[Store; 2]) {
    let hosts = stores.each_ref().map(Store::serve);
    let mut writers = [
        Writer::open(&hosts[0], stores[0].size, Written::default()).await,
        Writer::open(&hosts[1], stores[1].size, Written::default()).await,
    ];
    println!("### Writes\n");
    println!("one client, ms; {} rounds of {TIMES}\n", settings.rounds);
    println!("| what | empty, p50 | p99 | {}, p50 | p99 | ratio | bar | CPU |", settings.large);
    println!("|---|---|---|---|---|---|---|---|");
    for write in Write::ALL {
        let mut taken = [Vec::new(), Vec::new()];
        let mut used = [0.0, 0.0];
        for round in 0..=settings.rounds {
            for which in [round % 2, (round + 1) % 2] {
                let before = hosts[which].cpu();
                for _ in 0..TIMES {
                    let answer = writers[which].write(write).await;
                    // The first round warms up.
                    if round > 0 {
                        taken[which].push(answer.took);
                    }
                }
                if round > 0 {
                    used[which] += hosts[which].cpu() - before;
                }
            }
        }
        let [empty, large] = &mut taken;
        let (at_empty, at_large) = (percentile(empty, 50), percentile(large, 50));
        let (ratio, p99) = (at_large / at_empty, percentile(large, 99));
        let bar = match engine {
            Engine::Sqlite => {
                let met = ratio <= RATIO && p99 < P99;
                format!("{RATIO} ×, p99 {P99} ms{}", verdict(met))
            }
            _ => "none".to_owned(),
        };
        println!(
            "| {} | {at_empty:.2} | {:.2} | {at_large:.2} | {p99:.2} | {ratio:.2} | {bar} | {:.2} |",
            write.name(),
            percentile(empty, 99),
            used[1] / (settings.rounds * TIMES) as f64 * 1e3,
        );
    }
    for writer in writers {
        writer.clean().await;
    }
    println!();
}

/// Measures a single client, alternately without and with a key for each write.
pub async fn measure_keys(settings: &Settings, engine: Engine, store: &Store) {
    let host = store.serve();
    let written = Written::default();
    let mut writers = [
        Writer::open(&host, store.size, written.clone()).await,
        Writer { keyed: true, ..Writer::beside(&host, store.size, written).await },
    ];
    let most = match engine {
        Engine::Sqlite => 1.15,
        _ => 1.25,
    };
    println!("### Writes with a key\n");
    println!("one client, ms; {} rounds of {TIMES}, {}\n", settings.rounds, settings.large);
    println!("| what | without, p50 | p99 | with, p50 | p99 | ratio | bar |");
    println!("|---|---|---|---|---|---|---|");
    for write in Write::ALL {
        let mut taken = [Vec::new(), Vec::new()];
        for round in 0..=settings.rounds {
            // Alternating with each write, since the machine's speed varies.
            for turn in 0..2 * TIMES {
                let which = (round + turn) % 2;
                let answer = writers[which].write(write).await;
                if round > 0 {
                    taken[which].push(answer.took);
                }
            }
        }
        let [without, with] = &mut taken;
        let (plain, keyed) = (percentile(without, 50), percentile(with, 50));
        let ratio = keyed / plain;
        println!(
            "| {} | {plain:.2} | {:.2} | {keyed:.2} | {:.2} | {ratio:.2} | {most}{} |",
            write.name(),
            percentile(without, 99),
            percentile(with, 99),
            verdict(ratio <= most),
        );
    }
    for writer in writers {
        writer.clean().await;
    }
    println!();
}

/// The keys of written records, which several writers may share.
#[derive(Clone, Default)]
pub struct Written(Arc<Mutex<[Vec<i64>; 3]>>);

/// A kind of record, as an index into the keys.
#[derive(Clone, Copy)]
enum Made {
    Products,
    Orders,
    Vouchers,
}

impl Made {
    const ALL: [(Made, &'static str); 3] =
        [(Made::Orders, "/orders"), (Made::Vouchers, "/vouchers"), (Made::Products, "/products")];
}

impl Written {
    fn add(&self, kind: Made, key: i64) {
        self.0.lock().unwrap()[kind as usize].push(key);
    }

    fn any(&self, kind: Made, chance: &mut Rng) -> i64 {
        *chance.choice(&self.0.lock().unwrap()[kind as usize]).unwrap()
    }

    fn take(&self, kind: Made) -> Vec<i64> {
        std::mem::take(&mut self.0.lock().unwrap()[kind as usize])
    }
}

/// A client that writes to a store.
pub struct Writer {
    pub client: Client,
    size: Size,
    written: Written,
    chance: Rng,
    /// Whether each write has a key.
    keyed: bool,
}

impl Writer {
    /// A writer that has created a few records of each kind to start with.
    pub async fn open(host: &Host, size: Size, written: Written) -> Writer {
        let mut writer = Writer::beside(host, size, written).await;
        for _ in 0..8 {
            let voucher = json!({"voucher_value": "100.00", "email_to": "bench@example.com"});
            let answer = writer.client.ask(&Ask::post("/vouchers", &voucher)).await;
            writer.written.add(Made::Vouchers, answer.id());
            writer.write(Write::Product).await;
            writer.write(Write::Order).await;
        }
        writer
    }

    /// Another writer, which continues with the records of this one.
    pub async fn beside(host: &Host, size: Size, written: Written) -> Writer {
        let client = Client::of(host.door.clone()).await;
        Writer { client, size, written, chance: Rng::new(), keyed: false }
    }

    /// Writes something of this kind, which must succeed.
    pub async fn write(&mut self, write: Write) -> Answer {
        let answer = self.try_to(write).await;
        let text = String::from_utf8_lossy(&answer.body);
        assert!(answer.status.is_success(), "{write:?}: {} {text}", answer.status);
        answer
    }

    /// Writes something of this kind. The caller checks the answer.
    pub async fn try_to(&mut self, write: Write) -> Answer {
        let mut ask = self.next(write);
        ask.key = self.keyed.then(|| format!("bench-{:016x}", self.chance.u64(..)));
        let answer = self.client.try_to(&ask).await;
        match write {
            Write::Product if answer.status.is_success() => {
                self.written.add(Made::Products, answer.id());
            }
            Write::Order if answer.status.is_success() => {
                self.written.add(Made::Orders, answer.id());
            }
            _ => {}
        }
        answer
    }

    fn next(&mut self, write: Write) -> Ask {
        let number = self.chance.u32(..);
        match write {
            Write::Product => {
                let body = json!({
                    "product_name": format!("Measured lamp {number}"), "price": "19.99",
                    "sku": format!("bench-{:016x}", self.chance.u64(..)), "quantity": 10,
                    "manufacturer_id": number % 20 + 1, "category_id": number % 20 + 1,
                });
                Ask::post("/products", &body)
            }
            Write::Price => {
                let price = format!("{}.{:02}", number % 500 + 1, number % 100);
                Ask::patch(format!("/products/{}", self.product()), &json!({"price": price}))
            }
            Write::Order => {
                let items: Vec<Value> = (0..3)
                    .map(|_| json!({"product_id": self.product(), "orderitem_quantity": 2}))
                    .collect();
                let body = json!({
                    "user_email": "bench@example.com", "billing_first_name": "Ada",
                    "billing_last_name": "Bench", "order_shipping": "4.90", "items": items,
                });
                Ask::post("/orders", &body)
            }
            Write::History => {
                let order = self.written.any(Made::Orders, &mut self.chance);
                let body = json!({"order_state_id": number % 8 + 1, "comment": "Measured"});
                Ask::post(format!("/orders/{order}/history"), &body)
            }
            Write::Adjustment => {
                let voucher = self.written.any(Made::Vouchers, &mut self.chance);
                let body =
                    json!({"adjustment_type": "credit", "amount": "0.01", "reason": "Measured"});
                Ask::post(format!("/vouchers/{voucher}/adjust"), &body)
            }
        }
    }

    /// A product anywhere in the store, since those written recently are still cached.
    fn product(&mut self) -> i64 {
        match i64::try_from(self.size.products).unwrap() {
            0 => self.written.any(Made::Products, &mut self.chance),
            products => self.chance.i64(1..=products),
        }
    }

    /// Removes the written records.
    pub async fn clean(mut self) {
        for (kind, path) in Made::ALL {
            for key in self.written.take(kind) {
                self.client.ask(&Ask::delete(format!("{path}/{key}"))).await;
            }
        }
    }
}
