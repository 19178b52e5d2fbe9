//! Clients that write concurrently, each to shared records and to some of its own.

use std::sync::{Arc, Mutex};

use fastrand::Rng;
use host_interface::Method;
use serde_json::{Value, json};

use super::shelves::{CLIENTS, DAYS, DOOMED, GROUPS, STATUSES, Shelves, date, id, text};

/// The number of writes of each client to shared records, and to its own.
pub const SHARED: usize = 100;

pub const OWN: usize = 15;

pub const CURRENCIES: [&str; 3] = ["CHF", "EUR", "USD"];

/// Short and longer names, one of them repetitive.
const NAMES: [&str; 4] = ["x", "Straße", "Ring, ring, ring, ring, ring", "Ähre und Öhr 12"];

pub const PAYMENTS: [&str; 3] = ["", "card", "invoice"];

/// A client that writes.
pub struct Client {
    pub store: Arc<Shelves>,
    pub number: usize,
    pub chance: Rng,
    /// The products of the client's own manufacturer, and whether each is enabled; and the orders
    /// with the client's own payment type, each with its status.
    pub products: Vec<(i64, i64)>,
    pub orders: Vec<(i64, i64)>,
}

impl Client {
    pub fn new(store: &Arc<Shelves>, number: usize, seed: u64) -> Client {
        let chance = Rng::with_seed(seed + number as u64);
        let store = Arc::clone(store);
        Client { store, number, chance, products: Vec::new(), orders: Vec::new() }
    }

    /// Writes to shared records, and from time to time to its own. Returns the number of failed
    /// writes.
    pub async fn work(mut self) -> usize {
        let mut failures = 0;
        for turn in 0..SHARED {
            let (method, path, body) = self.shared();
            let doomed = body.to_string().contains(DOOMED);
            let answer = self.store.store.ask(method, &path, body.clone()).await;
            match answer.status() {
                201 => self.note(&path, id(&answer)),
                200 | 204 => {}
                404 | 422 => failures += 1,
                500 if doomed => failures += 1,
                status => panic!("{method} {path} {body}: {status} {}", text(&answer)),
            }
            if turn % (SHARED / OWN) == 0 {
                self.write_own().await;
                // The cached lines of a day must not be reported after other clients change it.
                for report in ["products", "customers"] {
                    self.store.report(report, &date(1)).await;
                }
            }
        }
        failures
    }

    fn note(&self, path: &str, key: i64) {
        let known = match path {
            "/products" => &self.store.products,
            "/orders" => &self.store.orders,
            "/customers" => &self.store.people,
            _ => return,
        };
        known.lock().unwrap().push(key);
    }

    /// A write that other clients may make at the same time.
    fn shared(&mut self) -> (Method, String, Value) {
        let kind = self.chance.u8(..23);
        let (product, order) = (self.any(|store| &store.products), self.any(|store| &store.orders));
        let person = self.any(|store| &store.people);
        match kind {
            0..=2 => (Method::Post, "/products".to_owned(), self.product()),
            3..=4 => (Method::Patch, format!("/products/{product}"), self.product()),
            5 => (Method::Delete, format!("/products/{product}"), json!({})),
            6 => (Method::Delete, format!("/inventory/{product}"), json!({})),
            7 => {
                let mut stock = self.stock();
                stock["shop_product_id"] = json!(product);
                (Method::Post, "/inventory".to_owned(), stock)
            }
            8..=10 => (Method::Post, "/orders".to_owned(), self.order()),
            11..=13 => {
                let mut change = self.order();
                let members = change.as_object_mut().unwrap();
                members.retain(|name, _| name != "items");
                if self.chance.u8(..6) == 0 {
                    members.insert("customer_note".to_owned(), json!(DOOMED));
                }
                (Method::Patch, format!("/orders/{order}"), change)
            }
            14 => (Method::Delete, format!("/orders/{order}"), json!({})),
            15..=16 => {
                // One status more than exist.
                let body = json!({"order_state_id": self.chance.i64(1..=STATUSES + 1)});
                (Method::Post, format!("/orders/{order}/history"), body)
            }
            17 => (Method::Post, "/customers".to_owned(), self.person()),
            18 => (Method::Patch, format!("/customers/{person}"), self.person()),
            19..=21 => (Method::Patch, format!("/inventory/{product}"), self.stock()),
            _ => (Method::Delete, format!("/customers/{person}"), json!({})),
        }
    }

    /// One of the noted keys; 0 if there are none.
    fn any(&mut self, of: impl Fn(&Shelves) -> &Mutex<Vec<i64>>) -> i64 {
        let keys = of(&self.store).lock().unwrap();
        self.chance.choice(keys.iter()).copied().unwrap_or_default()
    }

    fn product(&mut self) -> Value {
        let chance = &mut self.chance;
        // One group more than exist, and sometimes none.
        let mut group = || match chance.i64(..=GROUPS + 1) {
            0 => json!(null),
            group if group > GROUPS => json!(999_999),
            group => json!(group),
        };
        let (manufacturer, category) = (group(), group());
        json!({
            "product_name": NAMES[chance.usize(..NAMES.len())], "manufacturer_id": manufacturer, "category_id": category,
            "enabled": chance.u8(..2), "visibility": chance.u8(..2),
            "product_type": if chance.bool() { "simple" } else { "variable" },
            "sku": if chance.u8(..4) == 0 { "taken" } else { "" },
            "upc": if chance.u8(..6) == 0 { DOOMED } else { "" },
            "price": chance.choice(["0", "19.99", "9999999999.99999"]).unwrap(),
        })
    }

    fn stock(&mut self) -> Value {
        let chance = &mut self.chance;
        let mut limit = || chance.choice([json!(null), json!("1.5"), json!("7")]).unwrap();
        let (out, notify) = (limit(), limit());
        json!({
            "quantity": chance.u8(..10), "manage_stock": u8::from(chance.u8(..4) > 0),
            "min_out_qty": out, "notify_qty": notify,
        })
    }

    fn order(&mut self) -> Value {
        let chance = &mut self.chance;
        let day = date(chance.i64(1..=DAYS));
        json!({
            "user_email": format!("{}@example.com", chance.choice(["a", "B", "b"]).unwrap()),
            "user_id": chance.usize(..=CLIENTS),
            "order_state_id": chance.i64(1..=STATUSES),
            "orderpayment_type": chance.choice(PAYMENTS),
            "currency_code": if chance.u8(..9) == 0 { Some("ZZZ") } else { chance.choice(CURRENCIES) },
            "created_on": format!("{day}T{:02}:59:59", chance.u8(..24)),
            "order_discount": chance.u8(..2), "order_refund": format!("0.{}", chance.u8(1..10)),
            "order_shipping": "4.9",
            "items": (0..chance.u8(..3)).map(|item| json!({
                "orderitem_sku": "s", "orderitem_name": "x", "orderitem_price": format!("{item}.10"),
                "orderitem_quantity": chance.u8(1..4), "orderitem_tax": "0.01",
                "product_id": chance.choice([None, Some(1), Some(2), Some(999_999)]).unwrap(),
            })).collect::<Vec<_>>(),
        })
    }

    fn person(&mut self) -> Value {
        let [zone, country] = *self.chance.choice(&self.store.zones).unwrap();
        let zone = if self.chance.bool() { json!(zone) } else { json!(null) };
        // A zone without its country is refused.
        let country = if self.chance.u8(..3) > 0 { json!(country) } else { json!(null) };
        json!({
            "first_name": "a", "last_name": "b", "email": "a@example.com",
            "country_id": country, "zone_id": zone,
        })
    }

    /// Writes to a record of its own, and checks that its totals follow.
    pub async fn write_own(&mut self) {
        let manufacturer = GROUPS + 1 + self.number as i64;
        match self.products.pop() {
            Some((key, _)) if self.chance.u8(..3) == 0 => {
                self.made(Method::Delete, &format!("/products/{key}"), json!({})).await;
            }
            Some((key, enabled)) if self.chance.bool() => {
                let body = json!({"enabled": 1 - enabled});
                self.made(Method::Patch, &format!("/products/{key}"), body).await;
                self.products.insert(0, (key, 1 - enabled));
            }
            other => {
                self.products.extend(other);
                let sku = format!("OWN-{}", self.chance.u64(..));
                let body = json!({
                    "product_name": "own", "manufacturer_id": manufacturer, "sku": sku,
                });
                let key = self.made(Method::Post, "/products", body).await;
                self.products.push((key, 1));
            }
        }
        let payment = own_payment(self.number);
        let status = self.chance.i64(1..=STATUSES);
        match self.orders.pop() {
            Some((key, _)) if self.chance.u8(..3) == 0 => {
                self.made(Method::Delete, &format!("/orders/{key}"), json!({})).await;
            }
            Some((key, _)) if self.chance.bool() => {
                let body = json!({"order_state_id": status});
                self.made(Method::Post, &format!("/orders/{key}/history"), body).await;
                self.orders.insert(0, (key, status));
            }
            other => {
                self.orders.extend(other);
                let body = json!({
                    "user_email": "a@example.com", "orderpayment_type": payment,
                    "order_state_id": status,
                });
                let key = self.made(Method::Post, "/orders", body).await;
                self.orders.push((key, status));
            }
        }
        let of = format!("/products?filter[manufacturer]={manufacturer}");
        assert_eq!(self.store.total(&of).await, self.products.len() as i64);
        let enabled = self.products.iter().filter(|(_, enabled)| *enabled == 1).count();
        let of = format!("{of}&filter[enabled]=1");
        assert_eq!(self.store.total(&of).await, enabled as i64);
        let of = format!("/orders?filter[payment_type]={payment}");
        assert_eq!(self.store.total(&of).await, self.orders.len() as i64);
        let alike = self.orders.iter().filter(|(_, known)| *known == status).count();
        let of = format!("{of}&filter[status]={status}");
        assert_eq!(self.store.total(&of).await, alike as i64);
    }

    /// A write that must succeed; returns the key of the record, if the answer has one.
    pub async fn made(&self, method: Method, path: &str, body: Value) -> i64 {
        let answer = self.store.store.ask(method, path, body).await;
        assert!(answer.status() < 300, "{method} {path}: {}", text(&answer));
        if answer.status() == 204 { 0 } else { id(&answer) }
    }
}

/// A payment type that only this client's own orders have.
pub fn own_payment(client: usize) -> String {
    format!("own-{client}")
}
