//! A store whose totals and reports are checked while several clients write: the records that all
//! of them share, and queries on the database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use host_interface::{HostHandle, Method, Response};
use plugin::model::value::Kind;
use plugin::sql::{Statement, Table};
use serde_json::{Value, json};

use crate::support::bare::{Bare, Directory};
use crate::support::databases::Engine;

pub const CLIENTS: usize = 4;

/// The number of shared manufacturers and categories; each client's own follow.
pub const GROUPS: i64 = 3;

pub const STATUSES: i64 = 8;

pub const DAYS: i64 = 12;

/// A text in a write that makes the database fail at its last statement.
pub const DOOMED: &str = "doomed";

/// A store with the records by which products and orders are counted.
pub struct Shelves {
    pub store: Bare,
    /// The keys of shared records, some of which may have been deleted.
    pub products: Mutex<Vec<i64>>,
    pub orders: Mutex<Vec<i64>>,
    pub people: Mutex<Vec<i64>>,
    /// Zones, each with its country.
    pub zones: Vec<[i64; 2]>,
}

impl Shelves {
    pub async fn open() -> Shelves {
        let store = Bare::of(Engine::of_this_run(), HostHandle::new(Directory::default())).await;
        for number in 0..GROUPS + CLIENTS as i64 {
            let name = format!("m{number}");
            for (path, body) in [
                ("/manufacturers", json!({"manufacturer_name": name})),
                ("/categories", json!({"title": name})),
            ] {
                assert_eq!(store.ask(Method::Post, path, body).await.status(), 201);
            }
        }
        // One product for each stock status.
        for (quantity, managed) in [(0, 1), (2, 1), (9, 1), (9, 0)] {
            let body = json!({"product_name": "x", "quantity": quantity, "price": "19.99"});
            let key = id(&store.ask(Method::Post, "/products", body).await);
            let body = json!({"manage_stock": managed});
            let answer = store.ask(Method::Patch, &format!("/inventory/{key}"), body).await;
            assert_eq!(answer.status(), 200);
        }
        let doomed = format!("NEW.upc = '{DOOMED}'");
        store.fail("doom_products", "AFTER INSERT", "shop_variants", &doomed).await;
        let doomed = format!("NEW.customer_note = '{DOOMED}'");
        store.fail("doom_orders", "AFTER UPDATE", "shop_orders", &doomed).await;
        let mut shelves = Shelves {
            store,
            products: Mutex::default(),
            orders: Mutex::default(),
            people: Mutex::default(),
            zones: Vec::new(),
        };
        for number in 0..3 {
            let zone = format!(
                "shop_zone_id, country_id FROM shop_zones ORDER BY shop_zone_id \
                 LIMIT 1 OFFSET {}",
                number * 1_000
            );
            shelves.zones.push(shelves.numbers(zone).await.try_into().unwrap());
        }
        shelves
    }

    /// The total of a list.
    pub async fn total(&self, path: &str) -> i64 {
        let answer = self.store.ask(Method::Get, path, json!(null)).await;
        assert_eq!(answer.status(), 200, "{path}: {}", text(&answer));
        document(&answer)["meta"]["total"].as_i64().unwrap()
    }

    /// A row of numbers.
    pub async fn numbers(&self, what: String) -> Vec<i64> {
        let mut transaction = self.store.app.shop.store.begin_read().await.unwrap();
        let statement = Statement { text: format!("SELECT {what}"), binds: Vec::new() };
        let row = transaction.numbers(statement).await.unwrap();
        transaction.commit().await.unwrap();
        row
    }

    /// The day of a moment, in the SQL of the engine.
    pub fn day(&self, column: &str) -> String {
        match self.store.database.engine {
            Engine::Sqlite => format!("substr({column}, 1, 10)"),
            Engine::Postgres => format!("to_char({column}, 'YYYY-MM-DD')"),
            Engine::MariaDb => format!("date_format({column}, '%Y-%m-%d')"),
        }
    }

    /// A report on the days up to the last one with orders.
    pub async fn report(&self, name: &str, from: &str) -> Value {
        let to = date(DAYS);
        let path = format!(
            "/reports/{name}?filter[date_from]={from}&filter[date_to]={to}&page[limit]=100"
        );
        let answer = self.store.ask(Method::Get, &path, json!(null)).await;
        assert_eq!(answer.status(), 200, "{path}: {}", text(&answer));
        document(&answer)
    }

    /// The store's tables with their columns.
    pub async fn tables(&self) -> BTreeMap<String, BTreeSet<String>> {
        const KINDS: &[Kind] = &[Kind::WORD, Kind::WORD, Kind::WORD, Kind::COUNT];
        let store = &self.store.app.shop.store;
        let columns = Table::new(store.dialect().columns, Vec::new(), KINDS);
        let cells = store.table(columns).await.unwrap();
        let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for row in cells.rows().unwrap() {
            let columns = tables.entry(row[0].text("table").unwrap().to_owned()).or_default();
            columns.insert(row[1].text("column").unwrap().to_owned());
        }
        tables
    }
}

/// One of the days with orders.
pub fn date(number: i64) -> String {
    format!("2026-02-{number:02}")
}

pub fn document(answer: &Response) -> Value {
    serde_json::from_slice(answer.body()).unwrap()
}

pub fn id(answer: &Response) -> i64 {
    document(answer)["data"]["id"].as_str().unwrap().parse().unwrap()
}

pub fn text(answer: &Response) -> String {
    String::from_utf8_lossy(answer.body()).into_owned()
}
