//! Writes that span tables are all or nothing: the last statement of each is made to fail, and
//! nothing is left behind. The database upholds its rules by itself, and says so as validation
//! does.
//!
//! These tests reach under the services, so they use the statically linked engine on a file that
//! the loaded library never opens.

use host_interface::{Headers, HostHandle, Method, Request, Response, SharedUser, User};
use plugin::app::{self, App};
use plugin::reference;
use plugin::sql::Statement;
use plugin::store::Store;
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::PermissiveHost;

/// A store without a host around it.
struct Bare {
    app: App,
    _data: TempDir,
}

struct Json;

impl Headers for Json {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        (name == "content-type" && nth == 0).then_some(b"application/json")
    }
}

impl Bare {
    async fn open() -> Bare {
        let data = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", data.path().join("bare.db").display());
        let store = Store::open(&url).unwrap();
        store.migrate().await.unwrap();
        reference::install(&store).await.unwrap();
        Bare { app: App::new(HostHandle::new(PermissiveHost), store, ""), _data: data }
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> Response {
        let (pattern, id) = match path.trim_start_matches('/').split_once('/') {
            Some((kind, rest)) => {
                let (id, below) = rest.split_once('/').unwrap_or((rest, ""));
                let below = if below.is_empty() { String::new() } else { format!("/{below}") };
                (format!("v1/shop/{kind}/{{id:digits}}{below}"), Some(id))
            }
            None => (format!("v1/shop{path}"), None),
        };
        let routes = app::describe().routes;
        let route = routes.iter().find(|known| known.method == method && known.pattern == pattern);
        let mut request = Request::builder(route.unwrap().handler, method)
            .path(path)
            .headers(Json)
            .user(SharedUser::new(User::new(7, "ada", "Ada", "ada@example.com")))
            .body(body.to_string().into_bytes());
        if let Some(id) = id {
            request = request.param(id);
        }
        self.app.handle(request.build()).await
    }

    /// Runs a statement beside the services.
    async fn run(&self, text: &'static str) {
        let mut transaction = self.app.store.begin().await.unwrap();
        transaction.execute(Statement::fixed(text, Vec::new())).await.unwrap();
        transaction.commit().await.unwrap();
    }

    /// Everything that could have been written, counted.
    async fn counts(&self) -> Vec<i64> {
        let mut transaction = self.app.store.begin().await.unwrap();
        let text = "SELECT (SELECT count(*) FROM shop_products), \
                    (SELECT count(*) FROM shop_variants), (SELECT count(*) FROM shop_orders), \
                    (SELECT count(*) FROM shop_orderhistories), \
                    (SELECT coalesce(sum(order_state_id), 0) FROM shop_orders), \
                    (SELECT count(*) FROM shop_categories WHERE path LIKE 'a%')";
        transaction.numbers(Statement::fixed(text, Vec::new())).await.unwrap()
    }
}

fn status(response: &Response) -> (u16, String) {
    let body: Value = serde_json::from_slice(response.body()).unwrap_or(Value::Null);
    (response.status(), body["errors"][0]["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_last_statement_fails_nothing_of_the_write_is_left() {
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

    // The master variant of a new product, the first entry of a new order, the entry and the order
    // of a move, and the branch of a category are each written last.
    for trigger in [
        "CREATE TRIGGER fail_variant BEFORE INSERT ON shop_variants \
         BEGIN SELECT RAISE(ABORT, 'made to fail'); END",
        "CREATE TRIGGER fail_entry AFTER INSERT ON shop_orderhistories \
         BEGIN SELECT RAISE(ABORT, 'made to fail'); END",
        "CREATE TRIGGER fail_category AFTER UPDATE OF path ON shop_categories WHEN NEW.id = 1 \
         BEGIN SELECT RAISE(ABORT, 'made to fail'); END",
    ] {
        store.run(trigger).await;
    }
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

    // And where it is the order's own row that cannot be written, the entry goes with it.
    store.run("DROP TRIGGER fail_entry").await;
    store
        .run(
            "CREATE TRIGGER fail_order BEFORE UPDATE ON shop_orders \
             BEGIN SELECT RAISE(ABORT, 'made to fail'); END",
        )
        .await;
    assert_eq!(store.ask(Method::Post, "/orders/1/history", moved).await.status(), 500);
    assert_eq!(store.counts().await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_slips_past_validation_is_refused_by_the_database_as_the_same_422() {
    let store = Bare::open().await;
    let product = json!({"product_name": "Lamp", "sku": "L-1"});
    store.ask(Method::Post, "/products", product).await;
    // Another writer comes between the check and the write: played by triggers that take the
    // value, or break a rule, at the moment of the write.
    store
        .run(
            "CREATE TRIGGER other_writer BEFORE INSERT ON shop_coupons WHEN NEW.coupon_name = 'x' \
             BEGIN INSERT INTO shop_coupons (coupon_name, coupon_name_fold, coupon_code, \
             coupon_code_fold, value) VALUES ('y', 'y', NEW.coupon_code, NEW.coupon_code_fold, 0); \
             END",
        )
        .await;
    let coupon = json!({"coupon_name": "x", "coupon_code": "TWIN", "value": 1});
    let answer = store.ask(Method::Post, "/coupons", coupon).await;
    assert_eq!(status(&answer), (422, "duplicate".to_owned()));
    let body: Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(body["errors"][0]["source"]["pointer"], "/coupon_code");

    store
        .run(
            "CREATE TRIGGER late_variant BEFORE UPDATE OF sku ON shop_products \
             BEGIN INSERT INTO shop_variants (product_id, sku, sku_fold) \
             VALUES (NEW.shop_product_id, NEW.sku, NEW.sku_fold); END",
        )
        .await;
    let answer = store.ask(Method::Patch, "/products/1", json!({"sku": "L-9"})).await;
    assert_eq!(status(&answer), (422, "duplicate".to_owned()));

    store
        .run(
            "CREATE TRIGGER late_country BEFORE INSERT ON shop_zones \
             BEGIN DELETE FROM shop_zones WHERE country_id = NEW.country_id; \
             DELETE FROM shop_countries WHERE shop_country_id = NEW.country_id; END",
        )
        .await;
    let zone = json!({"zone_name": "x", "zone_code": "x", "country_id": 1});
    let answer = store.ask(Method::Post, "/zones", zone).await;
    assert_eq!(status(&answer), (422, "missing_reference".to_owned()));
}

/// Totals come from kept counts; the truth is counted here.
#[tokio::test(flavor = "multi_thread")]
async fn kept_counts_equal_the_counted_truth_after_a_long_mix_of_concurrent_writes() {
    let store = std::sync::Arc::new(Bare::open().await);
    for number in 0..4 {
        let name = format!("m{number}");
        store.ask(Method::Post, "/manufacturers", json!({"manufacturer_name": name})).await;
        store.ask(Method::Post, "/categories", json!({"title": name})).await;
    }
    let writers = (0..4_u64).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut rng = fastrand::Rng::with_seed(writer);
            for _ in 0..120 {
                let id = rng.u32(1..60);
                let optional = |number: u32| if number == 0 { json!(null) } else { json!(number) };
                let product = json!({
                    "product_name": "x", "enabled": rng.u8(..2), "visibility": rng.u8(..2),
                    "product_type": if rng.bool() { "simple" } else { "variable" },
                    "manufacturer_id": optional(rng.u32(..5)), "category_id": optional(rng.u32(..5)),
                });
                let order = json!({
                    "user_email": "a@example.com", "order_state_id": rng.u8(1..=8),
                    "orderpayment_type": if rng.bool() { "card" } else { "" },
                    "created_on": format!("2026-0{}-1{}T12:00:00", rng.u8(1..4), rng.u8(..10)),
                });
                let customer = json!({
                    "first_name": "a", "last_name": "b", "email": "a@example.com",
                    "country_id": optional(rng.u32(..4)), "zone_id": null,
                });
                let (method, path, body) = match rng.u8(..12) {
                    0..=2 => (Method::Post, "/products".to_owned(), product),
                    3..=4 => (Method::Patch, format!("/products/{id}"), product),
                    5 => (Method::Delete, format!("/products/{id}"), json!({})),
                    6 => (Method::Delete, format!("/inventory/{id}"), json!({})),
                    7..=8 => (Method::Post, "/orders".to_owned(), order),
                    9 => (Method::Patch, format!("/orders/{id}"), order),
                    10 => (Method::Delete, format!("/orders/{id}"), json!({})),
                    _ => (Method::Post, "/customers".to_owned(), customer),
                };
                let answer = store.ask(method, &path, body).await;
                assert!(answer.status() < 500, "{method} {path}: {}", answer.status());
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let mut transaction = store.app.store.begin().await.unwrap();
    for (groups, from, kept) in [
        ("has_stock, enabled, visibility, product_type", "shop_products", "shop_product_counts"),
        (
            "coalesce(manufacturer_id, 0), enabled",
            "shop_products",
            "shop_product_counts_by_manufacturer",
        ),
        ("coalesce(category_id, 0), enabled", "shop_products", "shop_product_counts_by_category"),
        ("order_state_id, orderpayment_type, currency_code", "shop_orders", "shop_order_counts"),
        ("user_id, order_state_id", "shop_orders", "shop_order_counts_by_user"),
        ("substr(created_on, 1, 10), order_state_id", "shop_orders", "shop_order_counts_by_day"),
        ("coalesce(country_id, 0)", "shop_addresses", "shop_address_counts"),
    ] {
        let truth = format!("SELECT {groups}, count(*) FROM {from} GROUP BY {groups}");
        let text = format!(
            "SELECT (SELECT count(*) FROM (SELECT * FROM ({truth}) EXCEPT \
             SELECT * FROM {kept} WHERE n <> 0)), (SELECT count(*) FROM \
             (SELECT * FROM {kept} WHERE n <> 0 EXCEPT SELECT * FROM ({truth}))), \
             (SELECT count(*) FROM {kept} WHERE n <> 0)"
        );
        let differences = transaction.numbers(Statement { text, binds: Vec::new() }).await.unwrap();
        assert_eq!(differences[..2], [0, 0], "{kept}");
        assert!(differences[2] > 0, "{kept} has something to compare");
    }
    transaction.commit().await.unwrap();
}
