//! Writes that span tables are all or nothing: the last statement of each is made to fail, and
//! nothing is left behind. The database itself enforces its rules, with the same errors as
//! validation. These tests bypass the services, so they use a store without a host.

use std::sync::Arc;
use std::time::Duration;

use host_interface::{Method, Response};
use plugin::sql::Statement;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::support::bare::Bare;
use crate::support::databases::Engine;
use crate::support::waiting::eventually;

impl Bare {
    /// Sends a request while a transaction that has run this statement is open, and commits the
    /// transaction once the request waits for it.
    async fn race(self: &Arc<Self>, first: &'static str, ask: (Method, String, Value)) -> Response {
        let mut transaction = self.app.shop.store.begin().await.unwrap();
        transaction.execute(Statement::fixed(first, Vec::new())).await.unwrap();
        let store = self.clone();
        let (method, path, body) = ask;
        let asked = tokio::spawn(async move { store.ask(method, &path, body).await });
        self.until_one_waits(&asked).await;
        assert!(!asked.is_finished(), "the request does not wait");
        transaction.commit().await.unwrap();
        asked.await.unwrap()
    }

    /// Waits until a transaction waits for another one, or the request has stopped waiting. With
    /// one writer at a time nothing is visible: the second transaction has not begun.
    async fn until_one_waits(&self, asked: &JoinHandle<Response>) {
        let waiting = match self.database.engine {
            Engine::Sqlite => return,
            Engine::Postgres => {
                "SELECT count(*) FROM pg_stat_activity \
                 WHERE datname = current_database() AND wait_event_type = 'Lock'"
            }
            Engine::MariaDb => {
                "SELECT count(*) FROM information_schema.innodb_trx t \
                 JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
                 WHERE p.db = database() AND t.trx_state = 'LOCK WAIT'"
            }
        };
        while !asked.is_finished() {
            // InnoDB refreshes its list of transactions only after 100 ms without a query.
            tokio::time::sleep(Duration::from_millis(150)).await;
            let mut transaction = self.app.shop.store.begin().await.unwrap();
            let found = transaction.numbers(Statement::fixed(waiting, Vec::new())).await.unwrap();
            if found != [0] {
                return;
            }
        }
    }

    async fn country(&self, code: &'static str) -> i64 {
        let text = "SELECT shop_country_id FROM shop_countries WHERE country_isocode_2 = ?";
        let statement =
            Statement::fixed(text, vec![plugin::model::value::Value::Text(code.to_owned())]);
        let mut transaction = self.app.shop.store.begin().await.unwrap();
        transaction.numbers(statement).await.unwrap()[0]
    }

    /// The numbers of everything that could have been written.
    async fn counts(&self) -> Vec<i64> {
        let mut transaction = self.app.shop.store.begin().await.unwrap();
        let text = "SELECT (SELECT count(*) FROM shop_products), \
                    (SELECT count(*) FROM shop_variants), (SELECT count(*) FROM shop_orders), \
                    (SELECT count(*) FROM shop_orderhistories), \
                    (SELECT coalesce(sum(order_state_id), 0) FROM shop_orders), \
                    (SELECT count(*) FROM shop_categories WHERE path LIKE 'a%')";
        transaction.numbers(Statement::fixed(text, Vec::new())).await.unwrap()
    }
}

/// Status, code and pointer of the first fault.
fn fault(response: &Response) -> (u16, String, String) {
    let body: Value = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
    let error = &body["errors"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (response.status(), text(&error["code"]), text(&error["source"]["pointer"]))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_rolled_back_if_its_last_statement_fails() {
    let store = Bare::open().await;
    let product = json!({"product_name": "Lamp", "sku": "L-1"});
    let order = json!({"user_email": "ada@example.com"});
    store.ask(Method::Post, "/products", product.clone()).await;
    store.ask(Method::Post, "/orders", order.clone()).await;
    for (title, parent) in [("a", 0), ("b", 1), ("c", 2)] {
        let category = json!({"title": title, "parent_id": parent});
        store.ask(Method::Post, "/categories", category).await;
    }
    let before = store.counts().await;
    assert_eq!(before, [1, 1, 1, 1, 5, 3]);

    // Each of these is written last: the master variant of a new product, the first entry of a new
    // order, the entry and the order of a status change, and the branch of a category.
    store.fail("fail_variant", "BEFORE INSERT", "shop_variants", "1 = 1").await;
    store.fail("fail_entry", "AFTER INSERT", "shop_orderhistories", "1 = 1").await;
    store.fail("fail_category", "AFTER UPDATE", "shop_categories", "NEW.id = 1").await;
    let twin = json!({"product_name": "Twin", "sku": "L-2"});
    let moved = json!({"order_state_id": 7});
    for (method, path, body) in [
        (Method::Post, "/products", twin),
        (Method::Post, "/orders", order),
        (Method::Post, "/orders/1/history", moved.clone()),
        (Method::Patch, "/orders/1", moved.clone()),
        (Method::Patch, "/categories/1", json!({"alias": "z"})),
    ] {
        let answer = store.ask(method, path, body).await;
        assert_eq!(answer.status(), 500, "{method} {path}");
        let text = String::from_utf8_lossy(answer.body());
        assert!(!text.contains("made to fail"), "{text}");
        assert_eq!(store.counts().await, before, "{method} {path}");
    }

    // If the order's own row cannot be written, the entry is rolled back with it.
    store.drop_trigger("fail_entry", "shop_orderhistories").await;
    store.fail("fail_order", "BEFORE UPDATE", "shop_orders", "1 = 1").await;
    assert_eq!(store.ask(Method::Post, "/orders/1/history", moved).await.status(), 500);
    assert_eq!(store.counts().await, before);
}

/// What a connection writes outside of transactions would stay in one that is still open.
#[tokio::test]
async fn a_write_that_is_ended_leaves_its_connection_as_it_was() {
    let store = Bare::open().await;
    let shared = &store.app.shop.store;
    shared.begin().await.unwrap().end().await;
    eventually("its connection is free", async || {
        shared.usage().iter().all(|pool| pool.busy == 0).then_some(())
    })
    .await;
    let columns = "manufacturer_name, manufacturer_name_fold";
    store.run(format!("INSERT INTO shop_manufacturers ({columns}) VALUES ('x', 'x')")).await;
    // On the engine on which this matters, another connection reads.
    let count = Statement::fixed("SELECT count(*) FROM shop_manufacturers", Vec::new());
    let mut reading = shared.begin_read().await.unwrap();
    assert_eq!(reading.numbers(count).await.unwrap(), [1]);
}

/// Another writer interferes between the check and the write. Triggers simulate it: they take the
/// value, or break a rule, at the moment of the write.
#[tokio::test(flavor = "multi_thread")]
async fn the_database_refuses_what_validation_misses_with_the_same_422() {
    // On other engines a trigger must not write to its own table; real concurrent writers are
    // tested below.
    let store = Bare::on(Engine::Sqlite).await;
    let product = json!({"product_name": "Lamp", "sku": "L-1"});
    store.ask(Method::Post, "/products", product).await;
    let twin = "INSERT INTO shop_coupons (coupon_name, coupon_name_fold, coupon_code, \
                coupon_code_fold, value) VALUES ('y', 'y', NEW.coupon_code, NEW.coupon_code_fold, 0)";
    store
        .trigger("other_writer", "BEFORE INSERT", "shop_coupons", "NEW.coupon_name = 'x'", twin)
        .await;
    let coupon = json!({"coupon_name": "x", "coupon_code": "TWIN", "value": 1});
    let answer = store.ask(Method::Post, "/coupons", coupon).await;
    assert_eq!(fault(&answer), (422, "duplicate".to_owned(), "/coupon_code".to_owned()));

    let variant = "INSERT INTO shop_variants (product_id, sku, sku_fold, quantity) \
                   VALUES (NEW.shop_product_id, NEW.sku, NEW.sku_fold, 0)";
    store.trigger("late_variant", "BEFORE UPDATE OF sku", "shop_products", "1 = 1", variant).await;
    let answer = store.ask(Method::Patch, "/products/1", json!({"sku": "L-9"})).await;
    assert_eq!(fault(&answer).1, "duplicate");

    let removal = "DELETE FROM shop_zones WHERE country_id = NEW.country_id; \
                   DELETE FROM shop_countries WHERE shop_country_id = NEW.country_id";
    store.trigger("late_country", "BEFORE INSERT", "shop_zones", "1 = 1", removal).await;
    let zone = json!({"zone_name": "x", "zone_code": "x", "country_id": 1});
    let answer = store.ask(Method::Post, "/zones", zone).await;
    assert_eq!(fault(&answer).1, "missing_reference");
}

/// A request meets a write that affects it and has not been committed yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_waits_for_a_concurrent_write_that_it_depends_on() {
    let store = Arc::new(Bare::open().await);
    for (path, body) in [
        ("/products", json!({"product_name": "Lamp", "sku": "L-1"})),
        ("/products", json!({"product_name": "Bulb", "sku": "B-1"})),
        ("/categories", json!({"title": "a"})),
        ("/categories", json!({"title": "b"})),
        ("/orders", json!({"user_email": "ada@example.com", "order_id": "A-1"})),
        ("/orders", json!({"user_email": "ada@example.com", "order_id": "A-2"})),
        ("/vouchers", json!({"voucher_value": 10, "voucher_code": "GIFT"})),
        (
            "/countries",
            json!({"country_name": "x", "country_isocode_2": "XX",
                              "country_isocode_3": "XXX"}),
        ),
        (
            "/countries",
            json!({"country_name": "y", "country_isocode_2": "XY",
                              "country_isocode_3": "XXY"}),
        ),
    ] {
        assert_eq!(store.ask(Method::Post, path, body).await.status(), 201, "{path}");
    }
    let country = store.country("XX").await;
    let other = store.country("XY").await;

    let coupon = json!({"coupon_name": "x", "coupon_code": "twin", "value": 1});
    let taken = store
        .race(
            "INSERT INTO shop_coupons (coupon_name, coupon_name_fold, coupon_code, \
             coupon_code_fold, value) VALUES ('y', 'y', 'TWIN', 'twin', 0)",
            (Method::Post, "/coupons".to_owned(), coupon),
        )
        .await;
    assert_eq!(fault(&taken), (422, "duplicate".to_owned(), "/coupon_code".to_owned()));

    let taken = store
        .race(
            "INSERT INTO shop_variants (product_id, sku, sku_fold, quantity) \
             VALUES (2, 'L-9', 'l-9', 0)",
            (Method::Patch, "/products/1".to_owned(), json!({"sku": "L-9"})),
        )
        .await;
    assert_eq!(fault(&taken), (422, "duplicate".to_owned(), "/sku".to_owned()));

    let zone = json!({"zone_name": "x", "zone_code": "x", "country_id": country});
    let gone = store
        .race(
            "DELETE FROM shop_countries WHERE country_isocode_2 = 'XX'",
            (Method::Post, "/zones".to_owned(), zone),
        )
        .await;
    assert_eq!(fault(&gone).1, "missing_reference");

    let referred = store
        .race(
            "INSERT INTO shop_zones (zone_name, zone_name_fold, zone_code, zone_code_fold, \
             country_id) SELECT 'z', 'z', 'z', 'z', shop_country_id FROM shop_countries \
             WHERE country_isocode_2 = 'XY'",
            (Method::Delete, format!("/countries/{other}"), json!({})),
        )
        .await;
    assert_eq!(fault(&referred).1, "referenced");

    let named = json!({"voucher_value": 1, "order_id": "A-2"});
    let gone = store
        .race(
            "DELETE FROM shop_orders WHERE order_id = 'A-2'",
            (Method::Post, "/vouchers".to_owned(), named),
        )
        .await;
    assert_eq!(fault(&gone), (422, "missing_reference".to_owned(), "/order_id".to_owned()));

    let moved = store
        .race(
            "UPDATE shop_orders SET order_state_id = 7 WHERE order_id = 'A-1'",
            (Method::Patch, "/orders/1".to_owned(), json!({"order_state_id": 7})),
        )
        .await;
    assert_eq!(moved.status(), 200);
    // The order already had the status, so nothing changed and nothing was recorded.
    let list = store.ask(Method::Get, "/orders/1/history", json!(null)).await;
    let list: Value = serde_json::from_slice(list.body()).unwrap();
    assert_eq!(list["meta"]["total"], 1);

    let spent = store
        .race(
            "UPDATE shop_vouchers SET voucher_value = 0 WHERE shop_voucher_id = 1",
            (
                Method::Post,
                "/vouchers/1/adjust".to_owned(),
                json!({"adjustment_type": "debit", "amount": 1, "reason": "x"}),
            ),
        )
        .await;
    assert_eq!(fault(&spent), (422, "refused".to_owned(), "/amount".to_owned()));
}
