//! Clients that make, change and delete records of every type through the hosts that serve now, one
//! after another, until they are told to stop. Each may change and delete what others have made.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::support::ledger::{Client, key};

/// The pause after a request that could not be answered.
const PAUSE: Duration = Duration::from_millis(20);
/// What a request does to a record.
const DEEDS: [&str; 3] = ["made", "changed", "deleted"];

/// The clients.
pub struct Writers {
    pub known: Arc<Known>,
    tasks: JoinSet<()>,
}

/// What the clients share.
pub struct Known {
    hosts: watch::Receiver<Vec<Client>>,
    over: AtomicBool,
    /// They pause once so many requests were successful.
    allowed: AtomicUsize,
    /// The keys of the records, by type.
    keys: Mutex<BTreeMap<&'static str, Vec<i64>>>,
    /// How many requests were successful, by type and deed.
    done: Mutex<BTreeMap<(&'static str, &'static str), usize>>,
    /// How many were not answered, because their host was killed.
    lost: AtomicUsize,
    /// How many were refused, because another client has changed something.
    refused: AtomicUsize,
}

/// A type, with the bodies that make a record and that change one.
struct Form {
    kind: &'static str,
    make: fn(&mut Writer) -> Value,
    change: fn(&mut Writer) -> Value,
}

/// One client.
struct Writer {
    known: Arc<Known>,
    rng: fastrand::Rng,
    name: String,
}

impl Writers {
    /// Starts so many clients, each of which sends its requests to any of the hosts.
    pub fn start(
        count: usize,
        hosts: watch::Receiver<Vec<Client>>,
        rng: &mut fastrand::Rng,
    ) -> Self {
        let known = Arc::new(Known {
            hosts,
            over: AtomicBool::new(false),
            allowed: AtomicUsize::new(usize::MAX),
            keys: Mutex::default(),
            done: Mutex::default(),
            lost: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
        });
        let mut tasks = JoinSet::new();
        for number in 0..count {
            let (known, rng) = (Arc::clone(&known), rng.fork());
            tasks.spawn(Writer { known, rng, name: String::new() }.work(number));
        }
        Self { known, tasks }
    }

    /// What has not been done to a record of each type yet.
    pub fn missing(&self) -> Vec<(&'static str, &'static str)> {
        let done = self.known.done.lock().unwrap();
        let each = FORMS.iter().flat_map(|form| DEEDS.map(|deed| (form.kind, deed)));
        each.filter(|of| !done.contains_key(of)).collect()
    }

    /// Lets them pause once so many requests were successful.
    pub fn allow(&self, count: usize) {
        self.known.allowed.store(count, Ordering::Relaxed);
    }

    /// How many requests were successful so far.
    pub fn count(&self) -> usize {
        self.known.count()
    }

    /// Ends them after their last answers, and returns how many requests were successful.
    pub async fn stop(mut self) -> usize {
        self.known.over.store(true, Ordering::Relaxed);
        while let Some(done) = self.tasks.join_next().await {
            done.unwrap();
        }
        let [lost, refused] = [&self.known.lost, &self.known.refused];
        let [lost, refused] = [lost, refused].map(|count| count.load(Ordering::Relaxed));
        println!("{} writes, {refused} refused, {lost} without an answer", self.count());
        self.count()
    }
}

impl Known {
    fn count(&self) -> usize {
        self.done.lock().unwrap().values().sum()
    }

    /// The key of some record of this type, if there is one.
    pub fn some(&self, kind: &str, rng: &mut fastrand::Rng) -> Option<i64> {
        let keys = self.keys.lock().unwrap();
        keys.get(kind).and_then(|keys| rng.choice(keys).copied())
    }
}

impl Writer {
    async fn work(mut self, number: usize) {
        for turn in 0.. {
            if self.known.over.load(Ordering::Relaxed) {
                return;
            }
            if self.known.count() >= self.known.allowed.load(Ordering::Relaxed) {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            self.name = format!("w{number}_{turn}");
            let form = &FORMS[(number + turn) % FORMS.len()];
            match (self.one_of(form.kind), self.rng.u8(..10)) {
                (Some(key), 0..2) => {
                    let path = format!("/{}/{key}", form.kind);
                    if self.send(form.kind, "deleted", "DELETE", &path, None).await.is_some() {
                        self.forget(form.kind, key);
                    }
                }
                (Some(key), 2..6) => self.change(form, key).await,
                _ => self.make(form).await,
            }
        }
    }

    async fn make(&mut self, form: &Form) {
        let body = (form.make)(self);
        let in_stock = body.get("quantity").is_some();
        let path = format!("/{}", form.kind);
        let Some(made) = self.send(form.kind, "made", "POST", &path, Some(body)).await else {
            return;
        };
        let key = key(&made);
        self.note(form.kind, key);
        if form.kind == "products" && in_stock {
            self.note("inventory", key);
        }
    }

    /// Changes a record, or adds something to one that has parts.
    async fn change(&mut self, form: &Form, key: i64) {
        let part = self.rng.bool();
        let (method, path, body) = match form.kind {
            "orders" if part => {
                let body = json!({"order_state_id": self.rng.i64(1..=8), "comment": self.name});
                ("POST", format!("/orders/{key}/history"), body)
            }
            "vouchers" if part => {
                let adjustment = if self.rng.bool() { "debit" } else { "credit" };
                let body = json!({
                    "adjustment_type": adjustment, "amount": "0.01", "reason": self.name,
                });
                ("POST", format!("/vouchers/{key}/adjust"), body)
            }
            "inventory" if part => {
                let body = json!({"quantity_delta": self.rng.i64(1..5), "reason": "Delivered"});
                ("POST", format!("/inventory/{key}/adjust"), body)
            }
            kind => ("PATCH", format!("/{kind}/{key}"), (form.change)(self)),
        };
        self.send(form.kind, "changed", method, &path, Some(body)).await;
    }

    /// Sends a request, and returns its document if it was successful.
    async fn send(
        &mut self,
        kind: &'static str,
        deed: &'static str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Option<Value> {
        let client = self.rng.choice(self.known.hosts.borrow().iter().cloned()).unwrap();
        match client.ask(method, path, body.clone()).await {
            Some((200..300, document)) => {
                *self.known.done.lock().unwrap().entry((kind, deed)).or_default() += 1;
                return Some(document);
            }
            Some((404 | 409 | 422, _)) => {
                self.known.refused.fetch_add(1, Ordering::Relaxed);
            }
            None | Some((503, _)) => {
                self.known.lost.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(PAUSE).await;
            }
            Some((status, answer)) => panic!("{method} {path} {body:?}: {status} {answer}"),
        }
        None
    }

    /// The key of some record of this type, if there is one.
    fn one_of(&mut self, kind: &str) -> Option<i64> {
        self.known.some(kind, &mut self.rng)
    }

    fn note(&self, kind: &'static str, key: i64) {
        self.known.keys.lock().unwrap().entry(kind).or_default().push(key);
    }

    fn forget(&self, kind: &'static str, key: i64) {
        let mut keys = self.known.keys.lock().unwrap();
        keys.entry(kind).or_default().retain(|known| *known != key);
    }

    /// So many capital letters, which some other record may have already.
    fn letters(&mut self, count: usize) -> String {
        (0..count).map(|_| self.rng.uppercase()).collect()
    }

    fn price(&mut self) -> String {
        format!("{}.{:02}", self.rng.u16(..1_000), self.rng.u8(..100))
    }
}

/// All types with routes to write. Many references are to records that are deleted meanwhile, which is
/// refused.
const FORMS: [Form; 16] = [
    Form {
        kind: "categories",
        make: |writer| match writer.one_of("categories") {
            Some(parent) => json!({"title": writer.name, "parent_id": parent}),
            None => json!({"title": writer.name}),
        },
        change: |writer| match writer.one_of("categories").filter(|_| writer.rng.bool()) {
            // Moves the branch; below itself it cannot be.
            Some(parent) => json!({"parent_id": parent}),
            None => json!({"alias": writer.name, "title": writer.name}),
        },
    },
    Form {
        kind: "countries",
        make: |writer| {
            json!({
                "country_name": writer.name, "country_isocode_2": writer.letters(2),
                "country_isocode_3": writer.letters(3),
            })
        },
        change: |writer| json!({"country_name": writer.name}),
    },
    Form {
        kind: "coupons",
        make: |writer| json!({"coupon_name": writer.name, "coupon_code": writer.name, "value": writer.price()}),
        change: |writer| json!({"max_uses": writer.rng.u16(..)}),
    },
    Form {
        kind: "currencies",
        make: |writer| json!({"currency_title": writer.name, "currency_code": writer.letters(3)}),
        change: |writer| json!({"currency_title": writer.name}),
    },
    Form {
        kind: "customers",
        make: |writer| {
            json!({
                "first_name": "Ada", "last_name": writer.name, "email": "ada@example.com",
                "country_id": writer.one_of("countries"),
            })
        },
        change: |writer| json!({"city": writer.name}),
    },
    Form {
        kind: "inventory",
        make: |writer| json!({"shop_product_id": writer.one_of("products").unwrap_or(1), "quantity": 5}),
        change: |writer| json!({"notify_qty": writer.rng.u8(..)}),
    },
    Form {
        kind: "manufacturers",
        make: |writer| json!({"manufacturer_name": writer.name}),
        change: |writer| json!({"ordering": writer.rng.u16(..)}),
    },
    Form {
        kind: "orders",
        make: |writer| {
            let product = writer.one_of("products");
            let items = match product {
                Some(product) => json!([
                    {"product_id": product}, {"product_id": product, "take_stock": writer.rng.u8(..2)},
                ]),
                None => json!([{"orderitem_name": "Lamp", "orderitem_price": writer.price()}]),
            };
            json!({"user_email": "ada@example.com", "items": items})
        },
        change: |writer| json!({"customer_note": writer.name}),
    },
    Form {
        kind: "orderstatuses",
        make: |writer| json!({"orderstatus_name": writer.name}),
        change: |writer| json!({"orderstatus_name": writer.name}),
    },
    Form {
        kind: "paymentmethods",
        make: |writer| json!({"name": writer.name, "element": writer.name}),
        change: |writer| json!({"params": {"fee": writer.price()}}),
    },
    Form {
        kind: "products",
        make: |writer| {
            let mut product = json!({
                "product_name": writer.name, "sku": writer.name, "price": writer.price(),
            });
            if writer.rng.bool() {
                product["quantity"] = json!(writer.rng.u16(..));
            }
            if let Some(manufacturer) = writer.one_of("manufacturers") {
                product["manufacturer_id"] = json!(manufacturer);
            }
            product
        },
        change: |writer| {
            if writer.rng.bool() {
                json!({"price": writer.price()})
            } else {
                json!({"product_name": writer.name})
            }
        },
    },
    Form {
        kind: "shippingmethods",
        make: |writer| json!({"name": writer.name, "element": writer.name}),
        change: |writer| json!({"ordering": writer.rng.u16(..)}),
    },
    Form {
        kind: "taxprofiles",
        make: |writer| json!({"taxprofile_name": writer.name}),
        change: |writer| json!({"taxprofile_name": writer.name}),
    },
    Form {
        kind: "taxrates",
        make: |writer| json!({"taxrate_name": writer.name, "tax_percent": "20"}),
        change: |writer| json!({"tax_percent": writer.rng.u8(..100)}),
    },
    Form {
        kind: "vouchers",
        make: |writer| json!({"voucher_value": writer.price(), "email_to": "ada@example.com"}),
        change: |writer| json!({"subject": writer.name}),
    },
    Form {
        kind: "zones",
        make: |writer| {
            let country = writer.one_of("countries").unwrap_or(1);
            json!({"zone_name": writer.name, "zone_code": writer.name, "country_id": country})
        },
        change: |writer| json!({"zone_name": writer.name}),
    },
];
