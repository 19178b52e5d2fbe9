//! Totals are exact: immediately after one's own write, and after a long mix of concurrent writes
//! by several clients, some of which fail. The expected numbers are counted here, from the records
//! themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::TryStreamExt;
use host_interface::Method;
use plugin::bulk::copy;
use plugin::model::value::{Kind, decimal_text};
use plugin::resources;
use plugin::sql::Statement;
use serde_json::json;

use super::shelves::{CLIENTS, DAYS, GROUPS, STATUSES, Shelves, date, document};
use super::writers::{CURRENCIES, Client, OWN, PAYMENTS, own_payment};
use crate::support::databases::Engine;

#[tokio::test(flavor = "multi_thread")]
async fn totals_are_exact_after_many_concurrent_writes() {
    let store = Arc::new(Shelves::open().await);
    let seed = seed();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|number| {
            let client = Client::new(&store, number, seed);
            tokio::spawn(client.work())
        })
        .collect();
    let mut failures = 0;
    for client in clients {
        failures += client.await.unwrap();
    }
    assert!(failures > 0, "some writes fail");

    // Chance may have removed every customer, and nothing would be compared.
    let person = json!({"first_name": "a", "last_name": "b", "email": "a@example.com"});
    Client::new(&store, 0, seed).made(Method::Post, "/customers", person).await;

    // MariaDB opens all tables of a statement at once, for each mention anew: with hundreds of them it takes
    // seconds while other tests open tables, too.
    for totals in store.totals().chunks(20) {
        let counted = totals.iter().map(|(_, from)| format!("(SELECT count(*) FROM {from})"));
        let truth = store.numbers(counted.collect::<Vec<_>>().join(", ")).await;
        for ((path, _), truth) in totals.iter().zip(truth) {
            assert_eq!(store.total(path).await, truth, "{path}");
        }
    }
    store.no_row_counts_nothing().await;
    store.kept_counts_are_those_of_their_tables().await;
    store.pieces_are_those_of_the_texts().await;
    store.sums_of_days_and_months_are_those_of_the_orders().await;
    store.report_is_that_of_the_orders().await;
    store.reports_of_kept_days_are_those_of_the_database().await;
    store.report_of_the_stock_is_that_of_the_products().await;
    store.what_triggers_keep_is_what_counting_anew_gives().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_total_includes_ones_own_write_at_once() {
    let store = Arc::new(Shelves::open().await);
    let mut client = Client::new(&store, 0, seed());
    let all = ["/products", "/orders", "/customers", "/inventory"];
    let mut totals = BTreeMap::new();
    for path in all {
        totals.insert(path, store.total(path).await);
    }
    for _ in 0..OWN {
        client.write_own().await;
        let product = json!({"product_name": "x"});
        let product = client.made(Method::Post, "/products", product).await;
        *totals.get_mut("/products").unwrap() += 1;
        client.made(Method::Delete, &format!("/inventory/{product}"), json!({})).await;
        let person = json!({"first_name": "a", "last_name": "b", "email": "a@example.com"});
        client.made(Method::Post, "/customers", person).await;
        *totals.get_mut("/customers").unwrap() += 1;
        let order =
            client.made(Method::Post, "/orders", json!({"user_email": "a@b.example"})).await;
        *totals.get_mut("/orders").unwrap() += 1;
        client.made(Method::Delete, &format!("/orders/{order}"), json!({})).await;
        *totals.get_mut("/orders").unwrap() -= 1;
        let (products, orders) = (client.products.len() as i64, client.orders.len() as i64);
        assert_eq!(store.total("/products").await, totals["/products"] + products);
        assert_eq!(store.total("/inventory").await, totals["/inventory"] + products);
        assert_eq!(store.total("/orders").await, totals["/orders"] + orders);
        assert_eq!(store.total("/customers").await, totals["/customers"]);
    }
}

/// Clients cannot fill the tables of kept counts with values that no record has any more.
#[tokio::test(flavor = "multi_thread")]
async fn counts_that_become_zero_leave_no_row() {
    const TURNS: i64 = 12;
    let store = Arc::new(Shelves::open().await);
    let before = store.rows_of_counts().await;
    let clients: Vec<_> = (0..CLIENTS as i64)
        .map(|number| {
            let client = Client::new(&store, number as usize, seed());
            let [zone, country] = store.zones[0];
            tokio::spawn(async move {
                let product = json!({"product_name": "x", "quantity": 1});
                let product = client.made(Method::Post, "/products", product).await;
                let person = json!({"first_name": "a", "last_name": "b", "email": "a@b.example"});
                let person = client.made(Method::Post, "/customers", person).await;
                for turn in 1..=TURNS {
                    let own = number * TURNS + turn;
                    let order = json!({
                        "user_email": "a@b.example", "user_id": own, "order_subtotal": "1",
                        "created_on": format!("19{:02}-01-01", own),
                    });
                    let order = client.made(Method::Post, "/orders", order).await;
                    let order = format!("/orders/{order}");
                    let product = format!("/products/{product}");
                    for (path, change) in [
                        (&order, json!({"orderpayment_type": format!("type {own}")})),
                        (&order, json!({"order_state_id": 1 + own % STATUSES})),
                        (&order, json!({"currency_code": CURRENCIES[own as usize % 3]})),
                        (&product, json!({"product_type": format!("type{own}")})),
                        (&product, json!({"quantity": own + 10, "price": own})),
                        (&product, json!({"manufacturer_id": 1 + own % 3, "enabled": own % 2})),
                    ] {
                        client.made(Method::Patch, path, change).await;
                    }
                    let place = match turn % 2 {
                        0 => json!({"country_id": country, "zone_id": zone}),
                        _ => json!({"country_id": null, "zone_id": null}),
                    };
                    client.made(Method::Patch, &format!("/customers/{person}"), place).await;
                    client.made(Method::Delete, &order, json!({})).await;
                }
                client.made(Method::Delete, &format!("/products/{product}"), json!({})).await;
                client.made(Method::Delete, &format!("/customers/{person}"), json!({})).await;
            })
        })
        .collect();
    for client in clients {
        client.await.unwrap();
    }
    store.no_row_counts_nothing().await;
    assert_eq!(store.rows_of_counts().await, before, "as many rows as before");

    // Neither a recount nor older rows leave anything behind.
    let client = Client::new(&store, 0, seed());
    let product = json!({"product_name": "x", "product_type": "rare", "quantity": 77});
    let product = client.made(Method::Post, "/products", product).await;
    store.what_triggers_keep_is_what_counting_anew_gives().await;
    client.made(Method::Patch, &format!("/products/{product}"), json!({"quantity": 78})).await;
    client.made(Method::Delete, &format!("/products/{product}"), json!({})).await;
    store.no_row_counts_nothing().await;
    let kinds = "count(*) FROM shop_product_counts WHERE product_type = 'rare'";
    assert_eq!(store.numbers(kinds.to_owned()).await, [0]);
    store.what_triggers_keep_is_what_counting_anew_gives().await;
}

/// The seed of this run; `TEST_SEED` repeats it.
fn seed() -> u64 {
    let given = std::env::var("TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("TEST_SEED={seed}");
    seed
}

impl Shelves {
    /// The lists with totals, each with the rows that it contains.
    fn totals(&self) -> Vec<(String, String)> {
        let mut totals = Vec::new();
        for resource in resources::REGISTRY.iter().filter(|resource| resource.crud) {
            let fixed = resource.fixed.iter().map(|(name, value)| format!("{name} = {value}"));
            let stock = (resource.kind == "inventory").then(|| "has_stock = 1".to_owned());
            let tests = std::iter::once("1 = 1".to_owned()).chain(fixed).chain(stock);
            let tests = tests.collect::<Vec<_>>().join(" AND ");
            totals
                .push((format!("/{}", resource.kind), format!("{} WHERE {tests}", resource.table)));
        }
        // No record has the key 0, and those without a key are not meant by it.
        let groups = || (0..=GROUPS + CLIENTS as i64 + 1).map(|group| group.to_string());
        let flags = || ["0", "1"].map(str::to_owned).into_iter();
        let (enabled, visible) = (filters("enabled", "enabled", flags()), flags());
        let makers = filters("manufacturer", "manufacturer_id", groups());
        let categories = filters("category", "category_id", groups());
        let types = ["simple", "variable", "none"].map(str::to_owned).into_iter();
        let products = List::new("/products", "shop_products");
        for filters in [
            &enabled,
            &filters("visibility", "visibility", visible),
            &filters("product_type", "product_type", types),
            &makers,
            &categories,
        ] {
            totals.extend(products.with(filters));
        }
        totals.extend(products.with(&pairs(&enabled, &makers)));
        totals.extend(products.with(&pairs(&enabled, &categories)));

        let statuses = (1..=STATUSES).map(|status| status.to_string());
        let statuses = filters("status", "order_state_id", statuses);
        let own = (0..CLIENTS).map(own_payment);
        let payments = PAYMENTS[1..].iter().map(|name| (*name).to_owned()).chain(own);
        let payments = filters("payment_type", "orderpayment_type", payments);
        let users = (0..=CLIENTS).map(|user| user.to_string());
        let users = filters("customer_id", "user_id", users);
        let days = self.ranges();
        let orders = List::new("/orders", "shop_orders");
        for filters in [&statuses, &payments, &users, &days] {
            totals.extend(orders.with(filters));
        }
        totals.extend(orders.with(&pairs(&statuses, &payments)));
        totals.extend(orders.with(&pairs(&statuses, &users)));
        totals.extend(orders.with(&pairs(&statuses, &days)));
        for user in 1..=CLIENTS {
            let path = format!("/customers/{user}/orders");
            let of_user = List { path, rows: format!("shop_orders WHERE user_id = {user}") };
            totals.extend(of_user.with(&statuses));
            totals.extend(of_user.with(&payments));
        }
        let countries = self.zones.iter().map(|[_, country]| country.to_string());
        let countries = countries.chain(["0".to_owned()]);
        let countries = filters("country", "country_id", countries);
        totals.extend(List::new("/customers", "shop_addresses").with(&countries));
        // Pages whose totals are found in other ways.
        for list in [
            "/products?filter[manufacturer]=0&page[offset]=1",
            "/products?filter[category]=0&list[ordering]=sku",
            "/customers?filter[country]=0&list[ordering]=company",
        ] {
            totals.push((list.to_owned(), "shop_products WHERE 1 = 0".to_owned()));
        }
        let everything = ("/variants?".to_owned(), "shop_variants".to_owned());
        totals.push(everything);
        totals
    }

    /// Filters by the day of an order: from a day, up to a day, and between two.
    fn ranges(&self) -> Vec<Filter> {
        let day = self.day("created_on");
        let from = |number| Filter {
            sent: format!("filter[date_from]={}", date(number)),
            test: format!("{day} >= '{}'", date(number)),
        };
        let to = |number| Filter {
            sent: format!("filter[date_to]={}", date(number)),
            test: format!("{day} <= '{}'", date(number)),
        };
        let mut ranges = Vec::new();
        for first in [1, 4, DAYS] {
            ranges.extend([from(first), to(first)]);
            ranges
                .extend([first, DAYS - 2, DAYS].map(|last| from(first).and(&to(last.max(first)))));
        }
        ranges
    }

    /// Each table of kept counts equals a grouping of its records.
    async fn kept_counts_are_those_of_their_tables(&self) {
        let mut kept = self.tables().await;
        kept.retain(|_, columns| columns.contains("n"));
        assert!(kept.len() > 5, "{kept:?}");
        for (table, columns) in kept {
            let (base, key) = match table.split('_').nth(1) {
                Some("product") => ("shop_products", "shop_product_id"),
                Some("order" | "fulfilment") => ("shop_orders", "shop_order_id"),
                Some("address") => ("shop_addresses", "shop_address_id"),
                _ => panic!("what is {table} about?"),
            };
            let by = columns.iter().filter(|column| !["n", "slot"].contains(&column.as_str()));
            let by: Vec<&str> = by.map(String::as_str).collect();
            let groups = by.iter().map(|column| match *column {
                "day" => self.day("created_on"),
                "block" => format!("{key} >> 12"),
                // An unset key is counted as 0.
                column if column.ends_with("_id") => format!("coalesce({column}, 0)"),
                column => column.to_owned(),
            });
            let (by, groups) = (by.join(", "), groups.collect::<Vec<_>>().join(", "));
            // A count may be spread over several rows, of which only the sum is meaningful.
            let sums = format!("SELECT {by}, sum(n) FROM {table} GROUP BY {by} HAVING sum(n) <> 0");
            let truth = format!("SELECT {groups}, count(*) FROM {base} GROUP BY {groups}");
            self.same(&table, &sums, &truth).await;
        }
    }

    /// Each table of kept counts and sums has rows only for existing values: no rows of zeros, and
    /// none that cancel each other out.
    async fn no_row_counts_nothing(&self) {
        for (table, count) in self.counting().await {
            let nothing = self.numbers(format!("count(*) FROM {table} WHERE {count} <= 0")).await;
            assert_eq!(nothing, [0], "{table}");
        }
    }

    /// The number of rows of each of them.
    async fn rows_of_counts(&self) -> BTreeMap<String, Vec<i64>> {
        let mut rows = BTreeMap::new();
        for (table, _) in self.counting().await {
            let number = self.numbers(format!("count(*) FROM {table}")).await;
            rows.insert(table, number);
        }
        rows
    }

    /// The tables that triggers keep, each with the column of the number of records.
    async fn counting(&self) -> Vec<(String, &'static str)> {
        let tables = self.tables().await;
        let counts = [
            ("n", None),
            ("orders", Some("shop_sales_by_day")),
            ("orders", Some("shop_sales_by_month")),
            ("products", Some("shop_stock")),
        ];
        let counting = tables.into_iter().filter_map(|(table, columns)| {
            let counts = counts.iter().find(|(column, only)| {
                columns.contains(*column) && only.is_none_or(|only| only == table)
            })?;
            Some((table, counts.0))
        });
        let counting: Vec<_> = counting.collect();
        assert!(counting.len() > 13, "{counting:?}");
        counting
    }

    /// The tables for substring search correspond to the texts.
    async fn pieces_are_those_of_the_texts(&self) {
        match self.store.database.engine {
            Engine::Sqlite => {
                for table in ["products", "variants", "orders", "addresses"] {
                    let table = format!("shop_{table}_search");
                    let check = format!("INSERT INTO {table} ({table}, rank)");
                    self.store.run(format!("{check} VALUES ('integrity-check', 1)")).await;
                }
            }
            // The engine maintains its index itself.
            Engine::Postgres => {}
            Engine::MariaDb => {
                for (table, text) in [
                    ("shop_product_name_pieces", "product_name_fold"),
                    ("shop_product_sku_pieces", "sku_fold"),
                ] {
                    let kept = format!("SELECT piece, record, place, ahead FROM {table}");
                    let truth = format!(
                        "SELECT * FROM (WITH RECURSIVE places (place) AS \
                         (SELECT 0 UNION ALL SELECT place + 3 FROM places WHERE place < 750) \
                         SELECT left(substr({text}, place + 1), 12), shop_product_id, place + 1, \
                         right(left({text}, place), 2) FROM shop_products JOIN places \
                         WHERE place < char_length({text})) pieces"
                    );
                    self.same(table, &kept, &truth).await;
                }
            }
        }
    }

    /// The sums of days and of months equal those of the orders.
    async fn sums_of_days_and_months_are_those_of_the_orders(&self) {
        let whole = ["orders", "items"].map(|column| format!("sum({column})"));
        // An amount is kept in parts, of 10^4 and of its smallest unit, which the engine may not
        // store as such.
        let unit = match self.store.database.engine {
            Engine::Sqlite => "1",
            Engine::Postgres | Engine::MariaDb => "100000",
        };
        let amounts = ["subtotal", "discount", "refund", "shipping", "tax"]
            .map(|column| format!("sum({column}_1 * 1000000000.0 + {column}_0) / {unit}.0"));
        let sums = whole.into_iter().chain(amounts).collect::<Vec<_>>().join(", ");
        let day = self.day("created_on");
        let month = format!("substr({day}, 1, 7)");
        for (table, column, of_order) in
            [("shop_sales_by_day", "day", day), ("shop_sales_by_month", "month", month)]
        {
            let by = |first: &str| format!("{first}, currency_code, order_state_id");
            let kept = by(column);
            let kept = format!(
                "SELECT {kept}, {sums} FROM {table} GROUP BY {kept} HAVING sum(orders) <> 0"
            );
            let by = by(&of_order);
            let truth = format!(
                "SELECT {by}, count(*), {ORDER_SUMS} FROM {ORDERS_WITH_ITEMS} GROUP BY {by}"
            );
            self.same(table, &kept, &truth).await;
        }
    }

    /// Two queries have the same result, which is not empty.
    async fn same(&self, what: &str, sums: &str, truth: &str) {
        let [missing, surplus, rows] = self
            .numbers(format!(
                "(SELECT count(*) FROM ({truth} EXCEPT {sums}) AS missing), \
                 (SELECT count(*) FROM ({sums} EXCEPT {truth}) AS surplus), \
                 (SELECT count(*) FROM ({sums}) AS kept)"
            ))
            .await
            .try_into()
            .unwrap();
        assert_eq!([missing, surplus], [0, 0], "{what}");
        assert!(rows > 0, "{what} has something to compare");
    }

    /// The report on sales has the sums of each day's orders.
    async fn report_is_that_of_the_orders(&self) {
        const MONEY: [&str; 5] = ["gross_sales", "discounts", "refunds", "shipping", "tax"];
        let path = format!(
            "/reports/sales?filter[date_from]={}&filter[date_to]={}&page[limit]=100",
            date(1),
            date(DAYS)
        );
        let answer = self.store.ask(Method::Get, &path, json!(null)).await;
        let report = document(&answer);
        let rows = report["data"].as_array().unwrap();
        assert_eq!(report["meta"]["total"], rows.len(), "one page contains all");
        let told = rows.iter().map(|row| &row["attributes"]).filter(|row| row["orders"] != 0);
        let told: Vec<String> = told
            .map(|row| {
                let numbers = ["orders", "items_sold"].map(|name| row[name].to_string()).join(" ");
                let words = ["period_start", "currency_code"].iter().chain(&MONEY);
                let words: Vec<&str> = words.map(|name| row[*name].as_str().unwrap()).collect();
                format!("{numbers} {}", words.join(" "))
            })
            .collect();

        let day = self.day("created_on");
        let by = format!("{day}, currency_code");
        let statement = Statement {
            text: format!(
                "SELECT count(*), {ORDER_SUMS}, {by} FROM {ORDERS_WITH_ITEMS} \
                 WHERE order_state_id IN (1, 2, 7, 8) AND {day} <= '{}' \
                 GROUP BY {by} ORDER BY {by}",
                date(DAYS)
            ),
            binds: Vec::new(),
        };
        let mut kinds = vec![Kind::COUNT; 2];
        kinds.extend([Kind::MONEY; MONEY.len()]);
        kinds.extend([Kind::WORD; 2]);
        let mut transaction = self.store.app.shop.store.begin_read().await.unwrap();
        let rows = transaction.stream(statement, &kinds).unwrap();
        let rows: Vec<Vec<plugin::model::value::Value>> = rows.try_collect().await.unwrap();
        transaction.commit().await.unwrap();
        let truth: Vec<String> = rows
            .iter()
            .map(|row| {
                let money = row[2..7].iter().map(|sum| decimal_text(sum.int("sum").unwrap(), 5, 2));
                let words = row[7..].iter().map(|word| word.to_string());
                let words: Vec<String> = words.chain(money).collect();
                format!("{} {} {}", row[0], row[1], words.join(" "))
            })
            .collect();
        assert!(truth.len() > 5);
        assert_eq!(told, truth);
    }

    /// Sums of cached days equal those that the database computes, which it does for a range that
    /// is too long for the cache.
    async fn reports_of_kept_days_are_those_of_the_database(&self) {
        for report in ["products", "customers"] {
            let [kept, truth] = [date(1), "2020-01-01".to_owned()];
            let (kept, truth) =
                (self.report(report, &kept).await, self.report(report, &truth).await);
            assert_ne!(truth["data"], json!([]), "{report}");
            assert_eq!(kept["data"], truth["data"], "{report}");
            for beside in ["totals", "total"] {
                assert_eq!(kept["meta"][beside], truth["meta"][beside], "{report}");
            }
        }
    }

    /// The report on the inventory equals the sums of the products.
    async fn report_of_the_stock_is_that_of_the_products(&self) {
        let answer = self.store.ask(Method::Get, "/reports/inventory", json!(null)).await;
        let totals = document(&answer)["meta"]["totals"].clone();
        // On SQLite amounts are whole numbers of their smallest unit, and a quantity of two is low.
        let (pieces, low) = match self.store.database.engine {
            Engine::Sqlite => ("quantity * 100000", 200_000),
            Engine::Postgres | Engine::MariaDb => ("quantity", 2),
        };
        let out = format!("{pieces} <= coalesce(min_out_qty, 0)");
        let low = format!("{pieces} <= coalesce(notify_qty, {low})");
        let mut tests = vec!["manage_stock = 0".to_owned()];
        for test in
            [out.clone(), format!("NOT {out} AND {low}"), format!("NOT {out} AND NOT {low}")]
        {
            tests.push(format!("manage_stock = 1 AND {test}"));
        }
        let counts = tests.iter().map(|test| format!("sum(CASE WHEN {test} THEN 1 ELSE 0 END)"));
        let counts = counts.collect::<Vec<_>>().join(", ");
        let truth = format!("{counts}, sum(quantity), sum(quantity * price) FROM shop_products");
        let [unmanaged, out, low, enough, units, value] =
            self.numbers(truth).await.try_into().unwrap();
        let truth = json!({
            "in_stock": enough, "low_stock": low, "out_of_stock": out, "unmanaged": unmanaged,
            "units": units, "value": decimal_text(i128::from(value), 5, 2),
        });
        assert!(unmanaged * out * low * enough > 0, "there is something of each: {truth}");
        assert_eq!(totals, truth);
    }

    /// A recount does not change what triggers keep.
    async fn what_triggers_keep_is_what_counting_anew_gives(&self) {
        let store = &self.store.app.shop.store;
        let kept = copy::kept(store).await.unwrap();
        assert!(kept.iter().any(|(_, sums)| !sums.is_empty()));
        store.recount().await.unwrap();
        assert_eq!(kept, copy::kept(store).await.unwrap());
    }
}

/// Orders, each with the number of its items.
const ORDERS_WITH_ITEMS: &str = "(SELECT o.*, (SELECT coalesce(sum(i.orderitem_quantity), 0) \
    FROM shop_orderitems i WHERE i.order_key = o.shop_order_id) AS pieces FROM shop_orders o) t";

const ORDER_SUMS: &str = "sum(pieces), sum(order_subtotal), sum(order_discount), \
    sum(order_refund), sum(order_shipping), sum(order_tax)";

/// A list and the rows that it contains without any filter.
struct List {
    path: String,
    rows: String,
}

/// A filter, and the condition that a row must satisfy.
#[derive(Clone)]
struct Filter {
    sent: String,
    test: String,
}

impl List {
    fn new(path: &str, table: &str) -> List {
        List { path: path.to_owned(), rows: format!("{table} WHERE 1 = 1") }
    }

    fn with(&self, filters: &[Filter]) -> Vec<(String, String)> {
        let one = |filter: &Filter| {
            let path = format!("{}?{}", self.path, filter.sent);
            (path, format!("{} AND {}", self.rows, filter.test))
        };
        filters.iter().map(one).collect()
    }
}

impl Filter {
    fn and(&self, other: &Filter) -> Filter {
        Filter {
            sent: format!("{}&{}", self.sent, other.sent),
            test: format!("{} AND {}", self.test, other.test),
        }
    }
}

/// A filter for each of these values of a column.
fn filters(name: &str, column: &str, values: impl Iterator<Item = String>) -> Vec<Filter> {
    let filter = |value: String| Filter {
        sent: format!("filter[{name}]={value}"),
        test: if value.bytes().all(|byte| byte.is_ascii_digit()) {
            format!("{column} = {value}")
        } else {
            format!("{column} = '{value}'")
        },
    };
    values.map(filter).collect()
}

/// The pairs of these filters.
fn pairs(these: &[Filter], those: &[Filter]) -> Vec<Filter> {
    these.iter().flat_map(|one| those.iter().map(|other| one.and(other))).collect()
}
