//! Reports: what was sold, to whom, and what is in stock.

use host_interface::Method;
use plugin::sql::Statement;
use plugin::store::Store;
use rust_decimal::Decimal;
use serde_json::{Value, json};

use crate::support::bare::Bare;
use crate::support::harness::{Answer, Shop};

/// Creates an order at this moment, with these further attributes.
pub(super) async fn order(shop: &Shop, created_on: &str, beside: Value) -> i64 {
    let mut body = json!({
        "user_email": "ada@example.com", "order_state_id": 1, "created_on": created_on,
    });
    body.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
    shop.create("/orders", body).await
}

pub(super) async fn report(shop: &Shop, path: &str) -> Answer {
    shop.get(&format!("/reports/{path}")).send().await.expect(200)
}

/// The rows of a report, each as these attributes separated by spaces.
pub(super) fn rows(report: &Answer, names: &[&str]) -> Vec<String> {
    let report = report.json();
    let rows = report["data"].as_array().unwrap().iter();
    rows.map(|row| line(&row["attributes"], names)).collect()
}

pub(super) fn line(attributes: &Value, names: &[&str]) -> String {
    let cells = names.iter().map(|name| match &attributes[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    cells.collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn daily_sales_have_every_day_of_each_currency_and_the_totals() {
    let shop = Shop::open().await;
    let item = json!([{"orderitem_price": "50", "orderitem_quantity": 2}]);
    let beside = json!({
        "items": item, "order_discount": "7.5", "order_shipping": "4.90", "order_tax": "17.57",
        "order_shipping_tax": "0.93",
    });
    order(&shop, "2026-03-01T00:00:00", beside).await;
    order(&shop, "2026-03-03T23:59:59", json!({"order_subtotal": "0.01"})).await;
    let refunded = json!({"order_subtotal": "20", "order_refund": "30.00001"});
    order(&shop, "2026-03-03T12:00:00", refunded).await;
    let yen = json!({"currency_code": "JPY", "order_subtotal": "1000"});
    order(&shop, "2026-03-02T12:00:00", yen).await;
    // Orders of other days, and one in a status that does not count.
    order(&shop, "2026-02-28T23:59:59", json!({"order_subtotal": "11"})).await;
    order(&shop, "2026-03-04T00:00:00", json!({"order_subtotal": "13"})).await;
    let pending = json!({"order_subtotal": "17", "order_state_id": 4});
    order(&shop, "2026-03-02T12:00:00", pending).await;

    let path = "sales?filter[date_from]=2026-03-01&filter[date_to]=2026-03-03&page[limit]=2";
    let sales = report(&shop, path).await;
    insta::assert_json_snapshot!(sales.json());
    let next = "sales?filter[date_from]=2026-03-01&filter[date_to]=2026-03-03&page[offset]=2";
    let next = report(&shop, next).await;
    assert_eq!(
        rows(&next, &["period_start", "currency_code", "orders", "gross_sales", "net_sales"]),
        [
            "2026-03-02 EUR 0 0.00 0.00",
            "2026-03-02 JPY 1 1000.00 1000.00",
            "2026-03-03 EUR 2 20.01 -9.99001",
            "2026-03-03 JPY 0 0.00 0.00",
        ]
    );
    assert_eq!(next.column("average_order_value"), ["0.00", "1000.00", "-5.00", "0.00"]);
    assert_eq!(next.json()["meta"]["totals"], sales.json()["meta"]["totals"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sums_follow_every_write_and_the_statuses_of_the_configuration() {
    let shop = Shop::open().await;
    let path = "sales?filter[date_from]=2026-03-01&filter[date_to]=2026-03-01";
    let sums = async || {
        let sales = report(&shop, path).await;
        rows(&sales, &["currency_code", "orders", "items_sold", "gross_sales"]).join(", ")
    };
    let items = json!({"items": [{"orderitem_price": "5", "orderitem_quantity": 3}]});
    let key = order(&shop, "2026-03-01T10:00:00", items).await;
    assert_eq!(sums().await, "EUR 1 3 15.00");
    let order = format!("/orders/{key}");
    shop.patch(&order, json!({"order_subtotal": "16"})).send().await.expect(200);
    assert_eq!(sums().await, "EUR 1 3 16.00");
    shop.patch(&order, json!({"currency_code": "USD"})).send().await.expect(200);
    assert_eq!(sums().await, "USD 1 3 16.00");
    let moved = json!({"order_state_id": 6});
    shop.post(&format!("{order}/history"), moved).send().await.expect(201);
    assert_eq!(sums().await, "EUR 0 0 0.00");
    shop.site.set_parameter("report_statuses", &json!([6])).await.unwrap();
    assert_eq!(sums().await, "USD 1 3 16.00");
    shop.set_default_currency("CHF").await;
    shop.delete(&order).send().await.expect(204);
    assert_eq!(sums().await, "CHF 0 0 0.00");
    shop.site.set_parameter("report_statuses", &json!([])).await.unwrap();
    assert_eq!(sums().await, "CHF 0 0 0.00");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_covers_the_last_thirty_days_by_default() {
    let shop = Shop::open().await;
    let today = time::UtcDateTime::now().date();
    let ago = |days| (today - time::Duration::days(days)).to_string();
    order(&shop, &ago(0), json!({})).await;
    order(&shop, &ago(29), json!({})).await;
    order(&shop, &ago(30), json!({})).await;
    let range = async |filters: String| {
        let sales = report(&shop, &format!("sales?{filters}")).await.json();
        let [from, to] = ["date_from", "date_to"].map(|end| sales["meta"]["range"][end].clone());
        (from, to, sales["meta"]["totals"][0]["orders"].clone(), sales["meta"]["total"].clone())
    };
    let expected = (json!(ago(29)), json!(ago(0)), json!(2), json!(30));
    assert_eq!(range(String::new()).await, expected);
    let expected = (json!(ago(39)), json!(ago(10)), json!(2), json!(30));
    assert_eq!(range(format!("filter[date_to]={}", ago(10))).await, expected);
    let expected = (json!(ago(2)), json!(ago(0)), json!(1), json!(3));
    assert_eq!(range(format!("filter[date_from]={}", ago(2))).await, expected);
    // The client may be in a time zone in which it is already tomorrow.
    let expected = (json!(ago(-1)), json!(ago(-1)), json!(0), json!(1));
    assert_eq!(range(format!("filter[date_from]={}", ago(-1))).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_report_requests_are_refused() {
    let shop = Shop::open().await;
    for (query, status, error) in [
        ("filter[period]=decade", 422, "422 invalid_filter parameter filter[period]"),
        ("filter[date_from]=2026-02-30", 422, "422 invalid_filter parameter filter[date_from]"),
        ("filter[date_to]=yesterday", 422, "422 invalid_filter parameter filter[date_to]"),
        (
            "filter[date_from]=2026-03-02&filter[date_to]=2026-03-01",
            422,
            "422 invalid_filter parameter filter[date_to]",
        ),
        ("filter[status]=1", 400, "400 unknown_parameter parameter filter[status]"),
        ("list[ordering]=orders", 400, "400 unknown_parameter parameter list[ordering]"),
        ("list[direction]=desc", 400, "400 unknown_parameter parameter list[direction]"),
        ("page[limit]=0", 400, "400 invalid_parameter parameter page[limit]"),
    ] {
        for name in ["sales", "products", "customers", "inventory"] {
            let answer = shop.get(&format!("/reports/{name}?{query}")).send().await.expect(status);
            assert_eq!(answer.errors(), [error], "{name} {query}");
        }
    }
    // The number of periods is limited in every report, even one that does not list them.
    let long = "filter[date_from]=1990-01-01&filter[date_to]=2020-01-01";
    let ever = "filter[date_from]=0001-01-01&filter[date_to]=9999-12-31";
    for name in ["sales", "products", "customers"] {
        for range in [long, ever, &format!("{ever}&filter[period]=month")] {
            let answer = shop.get(&format!("/reports/{name}?{range}")).send().await.expect(422);
            assert_eq!(answer.errors(), ["422 invalid_filter parameter filter[period]"]);
        }
        report(&shop, &format!("{name}?{long}&filter[period]=week")).await;
        report(&shop, &format!("{name}?{ever}&filter[period]=year")).await;
    }
    report(&shop, &format!("inventory?{ever}")).await;
    let sales = report(&shop, &format!("sales?{ever}&filter[period]=year&page[offset]=9998")).await;
    assert_eq!(rows(&sales, &["period_start", "period_end"]), ["9999-01-01 9999-12-31"]);
    report(&shop, "sales?filter[date_to]=0001-01-01").await;
    // Empty filters count as not sent, and paging past the end is empty.
    let empty = report(&shop, "sales?filter[period]=&filter[date_from]=&page[offset]=99999").await;
    assert_eq!((empty.total(), empty.ids().len()), (30, 0));
    for name in ["sales", "products", "customers", "inventory"] {
        let path = format!("/reports/{name}");
        for method in ["POST", "PATCH", "DELETE"] {
            let answer = shop.request(method, &path).json(json!({})).send().await.expect(405);
            assert!(answer.header("allow").contains("GET"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn products_are_reported_by_revenue_including_removed_ones() {
    let shop = Shop::stocked().await;
    let of = |product: i64, quantity: i64| json!({"product_id": product, "orderitem_quantity": quantity});
    let day = "2026-03-01T10:00:00";
    order(&shop, day, json!({"items": [of(1, 2), of(2, 1)]})).await;
    order(&shop, day, json!({"items": [of(1, 1), of(1, 1), of(2, 3)]})).await;
    let yen = json!({"currency_code": "JPY", "currency_value": "160", "items": [of(2, 1)]});
    order(&shop, day, yen).await;
    let loose = json!([{"orderitem_name": "Wrap", "orderitem_sku": "W", "orderitem_price": "0.1"}]);
    order(&shop, day, json!({"items": loose})).await;
    order(&shop, day, json!({"order_state_id": 4, "items": [of(1, 50)]})).await;
    order(&shop, "2026-03-02", json!({"items": [of(1, 50)]})).await;
    shop.patch("/products/1", json!({"product_name": "Lamp, new"})).send().await.expect(200);
    shop.delete("/products/2").send().await.expect(204);

    let path = "products?filter[date_from]=2026-03-01&filter[date_to]=2026-03-01";
    let products = report(&shop, path).await;
    insta::assert_json_snapshot!(products.json());
    let second = report(&shop, &format!("{path}&page[offset]=1&page[limit]=1")).await.json();
    assert_eq!(second["data"].as_array().unwrap(), &[products.json()["data"][1].clone()]);
    assert_eq!(second["meta"]["totals"], products.json()["meta"]["totals"]);
    assert_eq!(second["meta"]["total"], 4);
    let past = report(&shop, &format!("{path}&page[offset]=9")).await.json();
    assert_eq!((&past["data"], &past["meta"]["total"]), (&json!([]), &json!(4)));
    assert_eq!(past["meta"]["totals"], products.json()["meta"]["totals"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn customers_are_reported_by_spending_and_guests_by_address() {
    let shop = Shop::open().await;
    let ada = json!({"user_id": 1, "order_total": "10", "billing_first_name": "Ada"});
    order(&shop, "2026-03-01T10:00:00", ada.clone()).await;
    let married = json!({
        "user_id": 1, "order_total": "5.01", "user_email": "ada.berg@example.com",
        "billing_first_name": "Ada", "billing_last_name": "Berg",
    });
    order(&shop, "2026-03-02T10:00:00", married).await;
    let guest = |email: &str, total: &str| json!({"user_email": email, "order_total": total});
    order(&shop, "2026-03-01T11:00:00", guest("cleo@example.com", "7")).await;
    order(&shop, "2026-03-01T09:00:00", guest("Cleo@Example.com", "20")).await;
    order(&shop, "2026-03-01T12:00:00", guest("dora@example.com", "27")).await;
    let mut dollars = ada.clone();
    dollars["currency_code"] = json!("USD");
    order(&shop, "2026-03-01T10:00:00", dollars).await;
    order(&shop, "2026-02-28T10:00:00", ada).await;

    let path = "customers?filter[date_from]=2026-03-01&filter[date_to]=2026-03-31";
    let customers = report(&shop, path).await;
    insta::assert_json_snapshot!(customers.json());
    let second = report(&shop, &format!("{path}&page[offset]=1&page[limit]=2")).await.json();
    let all = customers.json();
    assert_eq!(second["data"].as_array().unwrap(), &all["data"].as_array().unwrap()[1..3]);
    assert_eq!(second["meta"]["totals"], all["meta"]["totals"]);
}

/// The reports on products and customers, each computed in both ways: the database adds up a range
/// of more than a year, and a shorter one is added up from cached days.
async fn both(about: &str, fetch: impl AsyncFn(&str) -> Value) -> Vec<(Value, Value)> {
    let mut reports = Vec::new();
    for name in ["products", "customers"] {
        for page in ["", "&page[limit]=1", "&page[offset]=1", "&page[offset]=9"] {
            let from = |from: &str| {
                format!("{name}?filter[date_from]={from}&filter[date_to]=2026-03-31{page}")
            };
            let kept = fetch(&from("2026-03-01")).await;
            let truth = fetch(&from("2020-01-01")).await;
            assert_eq!(kept["data"], truth["data"], "{about}: {name}{page}");
            assert_eq!(kept["meta"]["total"], truth["meta"]["total"], "{about}: {name}{page}");
            assert_eq!(kept["meta"]["totals"], truth["meta"]["totals"], "{about}: {name}{page}");
            reports.push((kept["data"].clone(), kept["meta"]["totals"].clone()));
        }
    }
    reports
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_follow_every_write_whatever_was_reported_before() {
    let shop = Shop::stocked().await;
    let of = |product: i64| json!([{"product_id": product, "orderitem_quantity": 2}]);
    let lamp = json!({"items": of(1), "user_email": "cleo@example.com"});
    let order_of_lamps = order(&shop, "2026-03-01T10:00:00", lamp).await;
    order(&shop, "2026-03-03T10:00:00", json!({"items": of(2), "user_id": 1})).await;
    let fetch = async |path: &str| report(&shop, path).await.json();
    let mut before = both("at first", fetch).await;
    let mut changed = async |about: &str| {
        let now = both(about, fetch).await;
        assert_ne!(now, before, "{about} is reported");
        before = now;
    };
    let path = format!("/orders/{order_of_lamps}");
    for (about, change) in [
        ("another total", json!({"order_total": "99"})),
        ("another currency", json!({"currency_code": "USD"})),
        ("another guest", json!({"user_email": "dora@example.com"})),
        ("a user", json!({"user_id": 1})),
    ] {
        shop.patch(&path, change).send().await.expect(200);
        changed(about).await;
    }
    let away = json!({"order_state_id": 6});
    shop.post(&format!("{path}/history"), away).send().await.expect(201);
    changed("another status").await;
    order(&shop, "2026-03-03T11:00:00", json!({"items": of(1), "user_id": 1})).await;
    changed("another order").await;
    shop.site.set_parameter("report_statuses", &json!([6])).await.unwrap();
    changed("another configuration").await;
    shop.delete(&path).send().await.expect(204);
    changed("an order that has gone").await;
    shop.site.set_parameter("report_statuses", &json!([1])).await.unwrap();
    changed("the configuration again").await;
}

/// Other programs may write to the same database.
#[tokio::test(flavor = "multi_thread")]
async fn reports_follow_writes_by_other_programs() {
    let bare = Bare::open().await;
    for name in ["Lamp", "Bulb", "Shade"] {
        let product = json!({"product_name": name, "price": "5"});
        assert_eq!(bare.ask(Method::Post, "/products", product).await.status(), 201);
    }
    for (product, day) in [(1, "2026-03-01"), (2, "2026-03-03")] {
        let order = json!({
            "user_email": "cleo@example.com", "order_state_id": 1,
            "created_on": format!("{day}T10:00:00"),
            "items": [{"product_id": product, "orderitem_quantity": 2}],
        });
        assert_eq!(bare.ask(Method::Post, "/orders", order).await.status(), 201);
    }
    let fetch = async |path: &str| {
        let answer = bare.ask(Method::Get, &format!("/reports/{path}"), json!(null)).await;
        assert_eq!(answer.status(), 200, "{path}");
        serde_json::from_slice::<Value>(answer.body()).unwrap()
    };
    let mut before = both("at first", fetch).await;
    let other = Store::open(&bare.database.url()).unwrap();
    for statement in [
        "UPDATE shop_orderitems SET orderitem_quantity = 7 WHERE product_id = 2",
        "UPDATE shop_orderitems SET product_id = 3 WHERE product_id = 2",
        "DELETE FROM shop_orderitems WHERE product_id = 3",
        "UPDATE shop_orders SET order_total = 5",
        "UPDATE shop_orders SET created_on = '2026-04-01T10:00:00'",
        "UPDATE shop_orders SET created_on = '2026-03-31T10:00:00'",
        "DELETE FROM shop_orders",
    ] {
        other.execute(Statement::fixed(statement, Vec::new())).await.unwrap();
        let now = both(statement, fetch).await;
        assert_ne!(now, before, "{statement} is reported");
        before = now;
    }
    other.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inventory_is_reported_lowest_first_with_exact_values() {
    let shop = Shop::open().await;
    for (name, quantity, price, stock) in [
        ("plenty", 10, "0.00001", json!({})),
        ("none", 0, "5", json!({})),
        ("at the threshold", 2, "1.10", json!({})),
        ("above its own", 2, "1", json!({"notify_qty": "1.5"})),
        ("at its own", 7, "1", json!({"notify_qty": "7"})),
        ("kept back", 4, "1", json!({"min_out_qty": "4"})),
        ("unmanaged", 3, "2", json!({"manage_stock": 0})),
    ] {
        let product = json!({"product_name": name, "quantity": quantity, "price": price});
        let key = shop.create("/products", product).await;
        shop.patch(&format!("/inventory/{key}"), stock).send().await.expect(200);
    }
    shop.create("/products", json!({"product_name": "removed", "quantity": 9})).await;
    shop.delete("/inventory/8").send().await.expect(204);
    let inventory = report(&shop, "inventory").await;
    insta::assert_json_snapshot!(inventory.json());
    shop.site.set_parameter("low_stock_threshold", &json!(10)).await.unwrap();
    let totals = report(&shop, "inventory?page[limit]=1").await.json()["meta"]["totals"].clone();
    assert_eq!(line(&totals, &["in_stock", "low_stock", "out_of_stock", "unmanaged"]), "1 3 2 2");

    // The largest stock of the most expensive product exceeds 64 bits in units.
    let dear = json!({
        "product_name": "dear", "quantity": i32::MAX, "price": "999999999999.99999",
    });
    shop.create("/products", dear).await;
    let dearest = report(&shop, "inventory?page[offset]=8").await;
    let price: Decimal = "999999999999.99999".parse().unwrap();
    let value = price * Decimal::from(i32::MAX);
    assert_eq!(dearest.column("stock_value"), [value.normalize().to_string()]);
    let value = value + Decimal::new(212_001, 4);
    let totals = &dearest.json()["meta"]["totals"];
    assert_eq!(totals["value"], value.normalize().to_string());
}

/// The cost of a report does not depend on the number of clients. Requests during a computation
/// share the next one, which includes everything committed before them.
#[tokio::test(flavor = "multi_thread")]
async fn equal_concurrent_reports_are_computed_once() {
    let store = Bare::open().await;
    // Each day is computed by itself, so that the report takes longer than the requests for it.
    for day in 1..=90 {
        let created_on = format!("2026-{:02}-{:02}", 1 + day / 28, 1 + day % 28);
        let items = json!([{"orderitem_price": "5", "product_id": null}]);
        let body = json!({
            "user_email": "ada@example.com", "order_state_id": 1, "created_on": created_on, "items": items,
        });
        assert_eq!(store.ask(Method::Post, "/orders", body).await.status(), 201);
    }
    let computed = async || {
        let metrics = store.app.shop.metrics().await.unwrap();
        let reports = metrics.iter().find(|metric| metric.name == "reports_computed").unwrap();
        reports.samples[0].value
    };
    for name in ["products", "customers"] {
        let before = computed().await;
        let path =
            format!("/reports/{name}?filter[date_from]=2026-01-01&filter[date_to]=2026-12-31");
        let asked = (0..30).map(|_| store.ask(Method::Get, &path, json!(null)));
        let answers = futures_util::future::join_all(asked).await;
        for answer in &answers {
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.body(), answers[0].body());
        }
        let times = computed().await - before;
        // Two as a rule; on a busy machine, some requests may arrive after the second one.
        assert!((1.0..=10.0).contains(&times), "{name} was computed {times} times");
        // Another page is computed separately.
        store.ask(Method::Get, &format!("{path}&page[limit]=1"), json!(null)).await;
        assert_eq!(computed().await, before + times + 1.0);
    }
    store.app.shop.store.close().await;
}

/// The greatest amount of money.
const HUGE: &str = "999999999999.99999";

/// The sum exceeds 64 bits in the smallest unit.
#[tokio::test(flavor = "multi_thread")]
async fn a_day_of_a_hundred_of_the_largest_orders_is_summed_exactly() {
    const ORDERS: i64 = 100;
    let shop = Shop::open().await;
    for number in 0..ORDERS {
        let greatest = json!({
            "user_email": "ada@example.com", "order_state_id": 1, "order_subtotal": HUGE,
            "order_tax": HUGE, "order_shipping": HUGE, "order_discount": HUGE,
            "order_refund": HUGE, "order_total": HUGE, "created_on": "2026-03-05",
            "items": [{
                "orderitem_name": "Crown", "orderitem_sku": format!("C-{number}"),
                "product_id": 7, "orderitem_price": "499999999999.99",
                "orderitem_quantity": 2, "orderitem_tax": "0.00002",
            }],
        });
        shop.create("/orders", greatest).await;
        let crown = json!({"product_name": "Crown", "price": HUGE, "quantity": i32::MAX});
        shop.create("/products", crown).await;
    }
    let day = "filter[date_from]=2026-03-05&filter[date_to]=2026-03-05";
    for unit in ["day", "week", "month", "year"] {
        let sales = report(&shop, &format!("sales?{day}&filter[period]={unit}")).await;
        let names =
            ["orders", "gross_sales", "shipping", "tax", "net_sales", "average_order_value"];
        let sums = "100 99999999999999.999 99999999999999.999 99999999999999.999 \
            -99999999999999.999 -1000000000000.00";
        assert_eq!(rows(&sales, &names), [sums], "{unit}");
        assert_eq!(line(&sales.json()["meta"]["totals"][0], &names), sums);
    }
    let after = "sales?filter[date_from]=2026-03-06&filter[date_to]=2026-03-06";
    let previous = report(&shop, after).await.json()["meta"]["previous"][0].clone();
    assert_eq!(previous["gross_sales"], "99999999999999.999");
    let stock = report(&shop, "inventory").await.json()["meta"]["totals"].clone();
    assert_eq!(stock["units"], ORDERS * i64::from(i32::MAX));
    assert_eq!(stock["value"], "214748364699999997852516.353");

    // By product and by customer, from cached days and from the database.
    for range in [day, "filter[date_from]=2020-01-01&filter[date_to]=2026-12-31"] {
        let products = report(&shop, &format!("products?{range}")).await;
        let names = ["quantity_sold", "orders", "revenue"];
        assert_eq!(rows(&products, &names), ["200 100 99999999999998.00"], "{range}");
        assert_eq!(
            line(&products.json()["meta"]["totals"][0], &names),
            "200 100 99999999999998.00"
        );
        let customers = report(&shop, &format!("customers?{range}")).await;
        let names = ["orders", "total_spent", "average_order_value"];
        let sums = "100 99999999999999.999 1000000000000.00";
        assert_eq!(rows(&customers, &names), [sums], "{range}");
        let names = ["customers", "total_spent"];
        let totals = customers.json()["meta"]["totals"][0].clone();
        assert_eq!(line(&totals, &names), "1 99999999999999.999");
    }

    // These orders can be read, changed and removed.
    let list = shop.get("/orders?list[ordering]=order_total&page[limit]=100").send().await;
    let list = list.expect(200).ids();
    assert_eq!(list.len(), ORDERS as usize);
    for (key, turn) in list.into_iter().zip(0..) {
        let order = format!("/orders/{key}");
        let change = match turn % 3 {
            0 => json!({"order_subtotal": "1"}),
            1 => json!({"currency_code": "USD"}),
            _ => json!({"order_state_id": 7}),
        };
        shop.patch(&order, change).send().await.expect(200);
        shop.delete(&order).send().await.expect(204);
    }
    let sales = report(&shop, &format!("sales?{day}")).await;
    assert_eq!(rows(&sales, &["currency_code", "orders", "gross_sales"]), ["EUR 0 0.00"]);
}

#[tokio::test]
async fn the_panel_of_sales_has_every_day_however_many_currencies_there_are() {
    let bare = Bare::open().await;
    let codes = bare.ask(Method::Get, "/currencies?page[limit]=18", json!(null)).await;
    let codes: Value = serde_json::from_slice(codes.body()).unwrap();
    for code in codes["data"].as_array().unwrap() {
        let code = &code["attributes"]["currency_code"];
        let order = json!({
            "user_email": "ada@example.com", "order_state_id": 1, "currency_code": code,
            "order_subtotal": "5.5",
        });
        assert_eq!(bare.ask(Method::Post, "/orders", order).await.status(), 201);
    }
    let panel = bare.app.panel("sales").await.unwrap();
    assert_eq!(panel.table.unwrap().rows.len(), 18);
    for chart in panel.charts {
        let today = chart.points.last().unwrap();
        assert_eq!((chart.points.len(), &*today.value), (30, "5.50"), "{}", chart.heading);
    }
}
