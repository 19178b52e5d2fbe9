//! The number of prepared statements. MariaDB limits it for all connections of all hosts together,
//! so different limits, lists and changes must share statements.

use std::collections::{BTreeMap, HashSet};

use host_interface::{Body, Method};
use plugin::error::Error;
use plugin::model::value::{Kind, Value};
use plugin::resources;
use plugin::sql::approach::{Approach, Keys};
use plugin::sql::dialect::{Limits, MYSQL, POSTGRES, SQLITE};
use plugin::sql::{self, Statement, Table};
use plugin::store::Transaction;
use plugin::wire::request::{Listing, Scope};
use serde_json::{Value as Json, json};

use crate::support::bare::{Bare, FileHeaders};
use crate::support::databases::Engine;
use crate::support::waiting::eventually;

#[test]
fn page_limits_and_list_lengths_need_few_statements() {
    let products = resources::REGISTRY.find("products").unwrap();
    for dialect in [&SQLITE, &POSTGRES, &MYSQL] {
        let read = if dialect.embedded { sql::page_as_json } else { sql::page };
        let (mut pages, mut by_keys, mut tables) = (HashSet::new(), HashSet::new(), HashSet::new());
        let mut inserts = HashSet::new();
        for number in 1..=100_i64 {
            let listing = format!("page[limit]={number}&filter[manufacturer]={number}");
            let listing = Listing::read(&listing, Scope::All(products), &[]).unwrap();
            let page = listing.page(products, listing.conditions.clone());
            pages.insert(read(&page, &Approach::unasked(&page), dialect).text);
            let keys = Keys::Known((1..=number).collect());
            let known = Approach::new(Some(number), keys);
            by_keys.insert(read(&page, &known, dialect).text);
            let list = (1..=number).map(Value::Int).collect();
            let table = Table::new("SELECT 1 AS c0 WHERE 1 IN (?)", vec![list], &[Kind::COUNT]);
            tables.insert(sql::table(table, dialect).text);
            let rows: Vec<_> = (1..=number).map(|number| vec![Value::Int(number)]).collect();
            let rows = sql::insert_rows("shop_mails", &["id"], rows, dialect);
            inserts.extend(rows.into_iter().map(|insert| insert.text));
        }
        let counts = [pages.len(), by_keys.len(), tables.len(), inserts.len()];
        let limits = match dialect.limits {
            Limits::Bound => 1,
            Limits::TextOfIndex => 7,
            // Those that are rounded up have a second limit.
            Limits::Text => 12,
        };
        let most = [limits, 7, 7, 7];
        assert_eq!(counts, most, "{}", dialect.name);
    }
}

/// Duplicates in a list have no effect.
#[tokio::test(flavor = "multi_thread")]
async fn a_padded_list_finds_each_record_once() {
    let store = Bare::open().await;
    let mut transaction = store.app.shop.store.begin_read().await.unwrap();
    for length in 0..10_i64 {
        let asked =
            "SELECT count(*) AS c0 FROM shop_orderstatuses WHERE shop_orderstatus_id IN (?)";
        let list = (1..=length).map(Value::Int).collect();
        let found = transaction.table(Table::new(asked, vec![list], &[Kind::COUNT])).await.unwrap();
        assert_eq!(found.rows().unwrap()[0][0].int("length").unwrap(), length.min(8), "{length}");
    }
    drop(transaction);
    store.app.shop.store.close().await;
}

/// The number of open prepared statements of the connection that will be used next.
async fn prepared(store: &Bare) -> i64 {
    let count = if store.database.engine == Engine::Postgres {
        "SELECT count(*) FROM pg_prepared_statements"
    } else {
        "SELECT CAST(sum(IF(variable_name = 'COM_STMT_PREPARE', 1, -1) * variable_value) \
         AS SIGNED) FROM information_schema.session_status \
         WHERE variable_name IN ('COM_STMT_PREPARE', 'COM_STMT_CLOSE')"
    };
    let mut transaction = store.app.shop.store.begin_read().await.unwrap();
    transaction.numbers(Statement::fixed(count, Vec::new())).await.unwrap()[0]
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(
    engine = "sqlite",
    ignore = "`a_warmed_connection_plans_nothing_again` counts them there"
)]
async fn pages_filters_and_changes_prepare_few_statements() {
    let store = Bare::open().await;
    let ask = async |method: Method, path: &str, body: Json, status: u16| {
        let answer = store.ask(method, path, body).await;
        assert_eq!(answer.status(), status, "{path}: {}", String::from_utf8_lossy(answer.body()));
    };
    for number in 0..3 {
        let product = json!({"product_name": format!("Lamp {number}"), "sku": number.to_string()});
        ask(Method::Post, "/products", product, 201).await;
    }
    let before = prepared(&store).await;
    // Each set of six fields.
    let fields = ["product_name", "upc", "enabled", "price", "main_image", "visibility"];
    for set in 1..64 {
        let changed = fields.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
        let changed = changed.map(|(_, field)| ((*field).to_owned(), json!("1")));
        let changed: serde_json::Map<String, Json> = changed.collect();
        ask(Method::Patch, "/products/1", changed.into(), 200).await;
    }
    for limit in 1..=100 {
        for list in ["products", "products?filter[enabled]=1", "products?filter[search]=lamp"] {
            let joint = if list.contains('?') { '&' } else { '?' };
            ask(Method::Get, &format!("/{list}{joint}page[limit]={limit}"), json!(null), 200).await;
        }
    }
    for items in 1..=40 {
        let items = vec![json!({"product_id": 1}); items];
        let order = json!({"user_email": "ada@example.com", "items": items});
        ask(Method::Post, "/orders", order, 201).await;
    }
    let walked = prepared(&store).await;
    assert!(walked - before < 50, "{before}, and then {walked}");
    // A connection keeps a bounded number, whatever the requests. Those here are too few for the bound of PostgreSQL:
    // each list prepares one statement at most, and one connection may have prepared them all.
    let fields =
        ["price", "sku", "product_name", "created_on", "quantity", "enabled", "visibility"];
    let filters = ["manufacturer", "category", "enabled", "visibility"];
    let directions = ["asc", "desc"];
    for field in fields {
        for filter in filters {
            for direction in directions {
                let order = format!("list[ordering]={field}&list[direction]={direction}");
                let path = format!("/products?filter[{filter}]=1&{order}");
                ask(Method::Get, &path, json!(null), 200).await;
            }
        }
    }
    let lists = (fields.len() * filters.len() * directions.len()) as i64;
    let bound = match store.database.engine {
        Engine::Postgres => before + 50 + lists,
        _ => 64 + 2,
    };
    let most = prepared(&store).await;
    assert!(most <= bound, "{before}, and then {most}");
    store.app.shop.store.close().await;
}

/// The number of statements that the connections which will be used next have executed: one for single
/// statements, and one for snapshots, which are the same on PostgreSQL.
async fn executed(store: &Bare) -> i64 {
    let is_postgres = store.database.engine == Engine::Postgres;
    let count = if is_postgres {
        // Those about the store, and by this condition this one; a snapshot begins with another.
        "SELECT sum(generic_plans + custom_plans)::bigint AS c0 FROM pg_prepared_statements \
         WHERE statement LIKE '%shop%'"
    } else {
        "SELECT CAST(variable_value AS SIGNED) AS c0 FROM information_schema.session_status \
         WHERE variable_name = 'COM_STMT_EXECUTE'"
    };
    settled(store).await;
    let store = &store.app.shop.store;
    let mut transaction = store.begin_read().await.unwrap();
    let of_snapshots = transaction.number(Statement::fixed(count, Vec::new())).await.unwrap();
    // Returns the connection at once, so that the next request uses it.
    transaction.commit().await.unwrap();
    if is_postgres {
        return of_snapshots;
    }
    let single = store.table(Table::new(count, Vec::new(), &[Kind::COUNT])).await.unwrap();
    let single = single.rows().unwrap()[0][0].int("executed").unwrap();
    of_snapshots + single
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "servers count the statements of a connection")]
async fn a_list_is_one_statement_and_each_relation_another() {
    let store = Bare::open().await;
    let ask = async |method: Method, path: &str, body: Json, status: u16| {
        let answer = store.ask(method, path, body).await;
        assert_eq!(answer.status(), status, "{path}: {}", String::from_utf8_lossy(answer.body()));
    };
    ask(Method::Post, "/manufacturers", json!({"manufacturer_name": "Birch"}), 201).await;
    for number in 0..30 {
        let product = json!({"product_name": format!("Lamp {number}"), "manufacturer_id": 1});
        ask(Method::Post, "/products", product, 201).await;
        let items = vec![json!({"product_id": 1}); 5];
        let order = json!({"user_email": "ada@example.com", "items": items});
        ask(Method::Post, "/orders", order, 201).await;
    }
    for (path, statements) in [
        ("/products", 1),
        ("/products?fields[products]=sku,upc,category", 1),
        ("/products?include=", 1),
        ("/products?include=manufacturer", 2),
        ("/products?include=manufacturer,variants", 3),
        // No product has a category, so nothing is asked about categories.
        ("/products?include=variants.product,category.parent", 3),
        ("/orders?page[limit]=100&include=items,history.orderstatus,orderstatus", 5),
        ("/orders/1", 1),
        ("/orders/1?include=items.order,history", 4),
    ] {
        // The first request may prepare connections.
        ask(Method::Get, path, json!(null), 200).await;
        let before = executed(&store).await;
        ask(Method::Get, path, json!(null), 200).await;
        // Those that count are among them: one on each connection.
        let counts = if store.database.engine == Engine::Postgres { 1 } else { 2 };
        assert_eq!(executed(&store).await - before - counts, statements, "{path}");
    }
    store.app.shop.store.close().await;
}

/// What a connection has prepared: how often each text has been prepared or planned anew, and how often it has
/// been run since it was prepared.
type Prepared = BTreeMap<String, (i64, i64)>;

/// The statements of the connections that the next requests use: for a single statement, to read a snapshot,
/// and to write.
async fn plans(store: &Bare) -> [Prepared; 3] {
    let text = match store.database.engine {
        Engine::Sqlite => {
            "SELECT sql AS c0, sum(1 + reprep) AS c1, sum(run) AS c2 FROM sqlite_stmt GROUP BY sql"
        }
        Engine::Postgres => {
            "SELECT statement AS c0, count(*)::bigint AS c1, \
             sum(generic_plans + custom_plans)::bigint AS c2 \
             FROM pg_prepared_statements GROUP BY statement"
        }
        Engine::MariaDb => {
            "SELECT variable_name AS c0, CAST(variable_value AS SIGNED) AS c1, 0 AS c2 \
             FROM information_schema.session_status WHERE variable_name = 'COM_STMT_PREPARE'"
        }
    };
    settled(store).await;
    let store = &store.app.shop.store;
    let asked = || Table::new(text, Vec::new(), &[Kind::WORD, Kind::COUNT, Kind::COUNT]);
    let single = store.table(asked()).await.unwrap();
    let mut reading = store.begin_read().await.unwrap();
    let of_snapshots = reading.table(asked()).await.unwrap();
    reading.commit().await.unwrap();
    let mut writing = store.begin().await.unwrap();
    let of_writes = writing.table(asked()).await.unwrap();
    writing.commit().await.unwrap();
    [single, of_snapshots, of_writes].map(|cells| {
        let rows = cells.rows().unwrap();
        let rows = rows.iter().map(|row| {
            let [text, prepared, run] = &row[..] else { panic!("{row:?}") };
            let counts = (prepared.int("prepared").unwrap(), run.int("run").unwrap());
            (text.text("text").unwrap().to_owned(), counts)
        });
        rows.collect()
    })
}

/// A request does not wait for the end of what it has read, after which its connection returns. The next one
/// uses the connection that returned last.
async fn settled(store: &Bare) {
    eventually("the connections have returned", async || {
        store.app.shop.store.usage().iter().all(|pool| pool.busy == 0).then_some(())
    })
    .await;
}

/// Sends 200 requests of many kinds, whose values differ from those of other rounds.
async fn two_hundred_requests(store: &Bare, round: i64) {
    let ask = async |method: Method, path: String, body: Json| {
        let answer = store.ask(method, &path, body).await;
        let text = String::from_utf8_lossy(answer.body());
        assert!((200..300).contains(&answer.status()), "{path}: {text}");
        settled(store).await;
    };
    for (number, limit) in (0..10).zip([1, 3, 5, 10, 20, 30, 50, 70, 100, 20]) {
        let nth = round * 10 + number;
        for path in [
            format!("/products?page[limit]={limit}"),
            format!("/products?page[limit]={limit}&page[offset]={nth}"),
            format!("/products?filter[search]=lamp {nth}"),
            format!("/products?filter[manufacturer]={}&page[limit]={limit}", nth % 3),
            format!("/products?list[ordering]=price&page[limit]={limit}&page[offset]={number}"),
            format!("/products/{}", 1 + nth % 5),
            format!("/orders?page[limit]={limit}"),
            format!("/orders?filter[status]={}", 1 + nth % 8),
            format!("/orders?list[ordering]=created_on&page[limit]={limit}"),
            format!("/orders/1/items?page[limit]={limit}"),
            "/orders/1?include=items,history".into(),
            format!("/inventory?page[limit]={limit}&page[offset]={number}"),
            format!("/countries/{}/zones?filter[search]=a", 1 + nth % 5),
            format!("/reports/sales?date_from=2026-01-{:02}&date_to=2026-02-01", 1 + nth % 28),
        ] {
            ask(Method::Get, path, json!(null)).await;
        }
        let product = json!({"product_name": format!("Lamp {nth}"), "sku": format!("L-{nth}")});
        ask(Method::Post, "/products".into(), product).await;
        ask(Method::Patch, format!("/products/{}", 1 + nth % 5), json!({"price": nth + 100})).await;
        let items = json!([{"product_id": 1 + nth % 5, "orderitem_quantity": 1 + nth}]);
        let order = json!({"user_email": format!("{nth}@example.com"), "items": items});
        ask(Method::Post, "/orders".into(), order).await;
        let entry = json!({"order_state_id": 1 + nth % 2, "comment": format!("No. {nth}")});
        ask(Method::Post, "/orders/1/history".into(), entry).await;
        let moved = json!({"quantity_delta": 1, "reason": format!("No. {nth}")});
        ask(Method::Post, format!("/inventory/{}/adjust", 1 + nth % 5), moved).await;
        ask(Method::Post, "/manufacturers".into(), json!({"manufacturer_name": nth.to_string()}))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warmed_connection_plans_nothing_again() {
    let store = Bare::open().await;
    for number in 0..5 {
        let product = json!({"product_name": format!("Lamp {number}"), "quantity": number});
        store.ask(Method::Post, "/products", product).await;
    }
    store.ask(Method::Post, "/orders", json!({"user_email": "ada@example.com"})).await;
    for round in 0..3 {
        two_hundred_requests(&store, round).await;
    }
    // The first look prepares what a look needs.
    plans(&store).await;
    let before = plans(&store).await;
    two_hundred_requests(&store, 3).await;
    let after = plans(&store).await;
    for (before, after) in before.iter().zip(&after) {
        for (text, (prepared, run)) in after {
            let Some((prepared_before, run_before)) = before.get(text) else {
                panic!("is prepared for the first time: {text}");
            };
            assert_eq!(prepared, prepared_before, "is planned again: {text}");
            assert!(run >= run_before, "was forgotten and prepared again: {text}");
        }
    }
    store.app.shop.store.close().await;
}

/// A new manufacturer in a transaction that inserts several together, of which so many more follow.
async fn gather(
    transaction: &mut Transaction,
    name: &str,
    further: Option<(&str, Value)>,
    others: usize,
) -> i64 {
    let manufacturers = resources::REGISTRY.find("manufacturers").unwrap();
    let named = ("manufacturer_name", Value::Text(name.to_owned()));
    let values = [named].into_iter().chain(further).map(|(name, value)| {
        (manufacturers.fields().find(|field| field.name == name).unwrap(), value)
    });
    let values = Vec::from_iter(values);
    let values = values.iter().map(|(field, value)| (*field, value));
    transaction.gather(manufacturers, values, others).await.unwrap()
}

/// Whether records can be gathered. MariaDB gives keys only to rows, and there it is refused.
async fn gathers(store: &Bare) -> bool {
    if store.database.engine != Engine::MariaDb {
        return true;
    }
    let manufacturers = resources::REGISTRY.find("manufacturers").unwrap();
    let mut transaction = store.app.shop.store.begin().await.unwrap();
    let refused = transaction.gather(manufacturers, std::iter::empty(), 1).await;
    assert!(matches!(refused, Err(Error::Contract(_))), "{refused:?}");
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn records_that_are_gathered_share_statements() {
    let store = Bare::open().await;
    if !gathers(&store).await {
        return;
    }
    let named = |key: i64| {
        let text = "SELECT count(*) FROM shop_manufacturers WHERE shop_manufacturer_id = ? \
                    AND manufacturer_name_fold = 'birch 7'";
        Statement::fixed(text, vec![Value::Int(key)])
    };
    let mut transaction = store.app.shop.store.begin().await.unwrap();
    let mut keys = Vec::new();
    for number in 0..200 {
        let name = format!("Birch {number}");
        keys.push(gather(&mut transaction, &name, None, 199 - number).await);
    }
    assert_eq!(keys, Vec::from_iter(1..=200));
    // Whatever follows finds them.
    assert_eq!(transaction.number(named(keys[7])).await.unwrap(), 1);
    // Those with other values are not among the others, and keep their order.
    let mixed = [true, false, false, true];
    let mut further = Vec::new();
    for (others, described) in mixed.into_iter().enumerate().rev() {
        let described = described.then(|| ("manufacturer_desc", Value::Text("Of wood.".into())));
        further.push(gather(&mut transaction, "Oak", described, others).await);
    }
    transaction.commit().await.unwrap();
    assert_eq!(further, [201, 202, 203, 204]);
    let described = "SELECT shop_manufacturer_id FROM shop_manufacturers \
                     WHERE manufacturer_desc <> '' ORDER BY shop_manufacturer_id DESC LIMIT 1";
    let mut reading = store.app.shop.store.begin_read().await.unwrap();
    assert_eq!(reading.number(Statement::fixed(described, Vec::new())).await.unwrap(), 204);
    reading.commit().await.unwrap();
    // An insertion by itself goes on after them.
    let body = json!({"manufacturer_name": "Elm"});
    let single = store.ask(Method::Post, "/manufacturers", body).await;
    let single: Json = serde_json::from_slice(single.body()).unwrap();
    assert_eq!(single["data"]["id"], "205");

    let [_, _, writing] = plans(&store).await;
    store.app.shop.store.close().await;
    let insertions = writing.iter().filter(|(text, _)| text.contains("INTO shop_manufacturers"));
    let runs: i64 = insertions.map(|(_, (_, run))| run).sum();
    // SQLite counts a trigger of each row as a run of its statement.
    let of_triggers = if store.database.engine == Engine::Sqlite { 205 } else { 0 };
    // One of 128 rows, those of 64 and of 8, three of those that differ from one another, and the last one.
    assert_eq!(runs - of_triggers, 1 + 2 + 3 + 1);
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "what is sent together does not depend on the engine")]
async fn the_records_of_an_import_are_checked_and_inserted_together() {
    let store = Bare::open().await;
    let lines = (0..200).map(|number| format!("B-{number},Birch {number},{number}\n"));
    let file = format!("sku,product_name,quantity\n{}", lines.collect::<String>());
    let query = "type=products&mode=create";
    let report = store.import(query, FileHeaders(None), Body::whole(file)).await;
    let report = report.text().await.unwrap();
    assert!(report.contains("\"created\":200"), "{report}");
    let [_, _, writing] = plans(&store).await;
    store.app.shop.store.close().await;
    // SQLite counts a trigger of each row as a run of the statement that inserts it.
    let products = |text: &str| text.starts_with("INSERT INTO shop_products ");
    let (insertions, others): (Vec<_>, Vec<_>) =
        writing.into_iter().partition(|(text, _)| products(text));
    // One of 128 rows, one of 64, and one of 8.
    assert_eq!(insertions.len(), 3);
    // The checks and the ledger of the stock are among them.
    for (text, (_, run)) in others {
        assert!(run < 20, "runs {run} times: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_one_of_gathered_records_is_a_conflict_of_all() {
    let store = Bare::open().await;
    if !gathers(&store).await {
        return;
    }
    let mut transaction = store.app.shop.store.begin().await.unwrap();
    for enabled in [1, 7, 0] {
        gather(&mut transaction, "Birch", Some(("enabled", Value::Int(enabled))), 2).await;
    }
    let count = || Statement::fixed("SELECT count(*) FROM shop_manufacturers", Vec::new());
    let refused = transaction.number(count()).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    drop(transaction);
    let mut reading = store.app.shop.store.begin_read().await.unwrap();
    assert_eq!(reading.number(count()).await.unwrap(), 0);
    drop(reading);
    store.app.shop.store.close().await;
}
