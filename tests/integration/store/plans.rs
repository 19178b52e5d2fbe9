//! How each engine executes lists: by reading an index up to the end of the page, or by sorting the
//! few records that match a filter. The query plans indicate the cost in a larger store.

use futures_util::TryStreamExt;
use host_interface::{Method, ProgressHandle};
use plugin::bulk::demo;
use plugin::model::question::{Check, Condition, Page, Shape};
use plugin::model::relation::Relation;
use plugin::model::resource::{Order, Resource, Test};
use plugin::model::value::{Kind, Value};
use plugin::resources;
use plugin::resources::REGISTRY;
use plugin::sql::approach::{Approach, Keys, Next, Probe};
use plugin::sql::{self, Statement};
use plugin::store::{Store, Transaction};
use plugin::wire::literal;
use plugin::wire::request::{Listing, Scope};
use serde_json::json;

use crate::support::bare::Bare;
use crate::support::databases::{Database, Engine};
use crate::support::template::Template;
use crate::support::waiting::eventually;

/// The tables that grow with a store.
const LARGE: [&str; 4] = ["shop_products", "shop_orders", "shop_addresses", "shop_variants"];

/// Filters that integrators combine.
const TOGETHER: [&str; 20] = [
    "products?filter[enabled]=1&filter[manufacturer]=3",
    "products?filter[enabled]=1&filter[category]=11",
    "products?filter[manufacturer]=3&filter[category]=11",
    "products?filter[enabled]=1&list[ordering]=created_on&list[direction]=desc",
    "products?filter[enabled]=1&list[ordering]=price",
    "products?filter[category]=11&list[ordering]=created_on&list[direction]=desc",
    "products?filter[category]=11&list[ordering]=price",
    "products?filter[category]=11&list[ordering]=product_name",
    "products?filter[manufacturer]=3&list[ordering]=created_on",
    "products?filter[manufacturer]=3&list[ordering]=price&list[direction]=desc",
    "products?filter[manufacturer]=3&list[ordering]=product_name",
    "orders?filter[status]=1&filter[payment_type]=payment_invoice",
    "orders?filter[status]=1&filter[date_from]=2020-01-01&filter[date_to]=2099-12-31",
    "orders?filter[status]=8&list[ordering]=order_total",
    "orders?filter[status]=8&list[ordering]=shop_order_id",
    "orders?filter[customer_id]=0&list[ordering]=order_total",
    "orders?filter[customer_id]=0&filter[status]=8",
    "orders?filter[payment_type]=payment_invoice&list[ordering]=shop_order_id",
    "orders?filter[payment_type]=payment_invoice&list[ordering]=orderstatus_name",
    "customers?filter[country]=77&list[ordering]=zone_name",
];

/// The page of a request, from its path and query.
fn page_of(request: &str) -> Page {
    let (kind, query) = request.split_once('?').unwrap_or((request, ""));
    let resource = resources::REGISTRY.find(kind).unwrap();
    let listing = Listing::read(query, Scope::All(resource), &[]).unwrap();
    listing.page(resource, listing.conditions.clone())
}

/// Every list without filters, in every order, and with every filter that has an index.
fn alone() -> Vec<String> {
    let mut requests = Vec::new();
    for kind in ["products", "orders", "customers", "variants"] {
        let resource: &Resource = resources::REGISTRY.find(kind).unwrap();
        requests.push(kind.to_owned());
        for field in std::iter::once(resource.key).chain(resource.list.iter().map(|f| f.name)) {
            for direction in ["asc", "desc"] {
                let order = format!("list[ordering]={field}&list[direction]={direction}");
                requests.push(format!("{kind}?{order}"));
            }
        }
    }
    let filters = [
        "products?filter[category]=11",
        "products?filter[manufacturer]=3",
        "products?filter[product_type]=variable",
        "products?filter[enabled]=1",
        "products?filter[enabled]=0",
        "products?filter[visibility]=0",
        "orders?filter[status]=1",
        "orders?filter[customer_id]=0",
        "orders?filter[payment_type]=payment_invoice",
        "orders?filter[date_from]=2020-01-01",
        "orders?filter[date_to]=2099-12-31",
        "customers?filter[country]=77",
    ];
    requests.extend(filters.map(str::to_owned));
    requests
}

/// A store with enough records for realistic plans, and its database.
async fn filled() -> (Store, Database) {
    static FILLED: Template<()> = Template::new();
    let filled = Bare::prepared(&FILLED, async |store| {
        let size = demo::Size { products: 3_000, orders: 4_000 };
        demo::fill(store, size, &ProgressHandle::new(())).await.unwrap();
    });
    let (store, database) = filled.await;
    // What an engine knows of the rows is not copied with them everywhere.
    let analyse = match Engine::of_this_run() {
        Engine::Sqlite | Engine::Postgres => "ANALYZE",
        Engine::MariaDb => "ANALYZE TABLE shop_products, shop_orders, shop_addresses",
    };
    store.execute(Statement::fixed(analyse, Vec::new())).await.unwrap();
    (store, database)
}

/// A transaction without the plans that engines prefer for small tables, which read and sort all
/// rows.
async fn reading(store: &Store, engine: Engine) -> Transaction {
    let mut transaction = store.begin_read().await.unwrap();
    if engine == Engine::Postgres {
        for of_small in ["enable_seqscan", "enable_sort", "enable_bitmapscan"] {
            let set = format!("SELECT set_config('{of_small}', 'off', true)");
            let set = Statement { text: set, binds: Vec::new() };
            transaction.texts(set).await.unwrap();
        }
    }
    transaction
}

/// The engine's plan of a statement.
async fn plan(transaction: &mut Transaction, engine: Engine, asked: Statement) -> String {
    let (explain, kinds) = match engine {
        Engine::Sqlite => {
            ("EXPLAIN QUERY PLAN", &[Kind::COUNT, Kind::COUNT, Kind::COUNT, Kind::WORD][..])
        }
        Engine::Postgres => ("EXPLAIN (COSTS OFF)", &[Kind::WORD][..]),
        Engine::MariaDb => ("EXPLAIN FORMAT=JSON", &[Kind::WORD][..]),
    };
    let statement = Statement { text: format!("{explain} {}", asked.text), binds: asked.binds };
    let rows = transaction.stream(statement, kinds).unwrap();
    let rows: Vec<Vec<Value>> = rows.try_collect().await.unwrap();
    let lines = rows.iter().map(|row| row.last().unwrap().to_string());
    lines.collect::<Vec<_>>().join("\n")
}

/// The fault of a plan: it reads a large table from beginning to end, or sorts.
fn waste(engine: Engine, plan: &str, sorts: bool) -> Option<&'static str> {
    let lines = || plan.lines().map(str::trim_start);
    let joined = lines().collect::<Vec<_>>().join(" ");
    let scans = match engine {
        // Scanning an index, or a table in the order of its keys, is allowed.
        Engine::Sqlite => false,
        Engine::Postgres => LARGE
            .iter()
            .any(|table| lines().any(|line| line.contains(&format!("Seq Scan on {table} ")))),
        Engine::MariaDb => joined.contains("\"table_name\": \"t\", \"access_type\": \"ALL\""),
    };
    let sorted = match engine {
        Engine::Sqlite => plan.contains("TEMP B-TREE FOR ORDER BY") || plan.contains("RIGHT PART"),
        Engine::Postgres => lines().any(|line| line.contains("Sort Key")),
        Engine::MariaDb => plan.contains("filesort"),
    };
    match (scans, sorted && !sorts) {
        (true, _) => Some("scans a table"),
        (_, true) => Some("sorts"),
        _ => None,
    }
}

/// Whether a plan reads any table or index from beginning to end.
fn scans(engine: Engine, plan: &str) -> bool {
    match engine {
        Engine::Sqlite => {
            plan.lines().any(|line| line.contains("SCAN ") && !line.contains("SCAN CONSTANT ROW"))
        }
        Engine::Postgres => plan.contains("Seq Scan"),
        Engine::MariaDb => ["ALL", "index"]
            .iter()
            .any(|access| plan.contains(&format!("\"access_type\": \"{access}\""))),
    }
}

/// Whether a total is read from kept counts.
fn is_kept(total: &Statement) -> bool {
    LARGE.iter().all(|table| !total.text.contains(&format!("{table} ")))
}

#[tokio::test]
async fn items_of_demo_orders_find_their_variants_by_a_key() {
    let (store, database) = filled().await;
    let mut transaction = store.begin().await.unwrap();
    let statement = Statement::fixed(transaction.dialect().match_skus, Vec::new());
    let plan = plan(&mut transaction, database.engine, statement).await;
    // Otherwise the variants would be read once for each item.
    let by_key = match database.engine {
        Engine::Sqlite => "SEARCH ",
        Engine::Postgres => " Cond: ",
        Engine::MariaDb => "\"key\": \"key0\"",
    };
    assert!(plan.contains(by_key), "{plan}");
    drop(transaction);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_list_scans_or_sorts_a_table() {
    let (store, database) = filled().await;
    let mut transaction = reading(&store, database.engine).await;
    let dialect = store.dialect();
    let mut wasteful = Vec::new();
    for request in alone().into_iter().chain(TOGETHER.map(str::to_owned)) {
        let page = page_of(&request);
        // The number of matches is small in so small a store, and might be small in a large one; if
        // they are read in index order, they must not be sorted.
        let approach = transaction.approach(&page).await.unwrap();
        assert_ne!(approach.keys, Keys::Empty, "{request} is about something");
        let sorts = approach.keys == Keys::FilterThenSort;
        let keys = match Probe::of(&page) {
            Some(along @ Probe::Beginnings(_)) => sql::probe(&along, &page, dialect),
            _ => sql::keys(&page, &approach, dialect),
        };
        let found = plan(&mut transaction, database.engine, keys).await;
        if let Some(waste) = waste(database.engine, &found, sorts) {
            wasteful.push(format!("{request} {waste}:\n{found}"));
        }
        if page.conditions.len() < 2 && !is_kept(&sql::total(&page, dialect)) {
            wasteful.push(format!("{request} counts its records"));
        }
    }
    assert!(wasteful.is_empty(), "{}", wasteful.join("\n\n"));
    drop(transaction);
    store.close().await;
}

/// However far a client has come in a list of changed records, its next page is read from there.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_after_another_is_read_from_where_that_ended() {
    let (store, database) = filled().await;
    let mut transaction = reading(&store, database.engine).await;
    let since = Condition::Changed(1_000_000);
    let by_key = ["products", "products?filter[manufacturer]=3", "orders", "customers"];
    let by_key = by_key.map(|request| Page { order: Order::KEY, ..page_of(request) });
    let by_change = ["products", "orders", "customers"];
    let by_change = by_change.map(|kind| Page {
        conditions: vec![since.clone()],
        by_change: true,
        ..page_of(kind)
    });
    for page in by_key.into_iter().chain(by_change) {
        let page = Page { after: Some(1_500), limit: 101, ..page };
        let approach = transaction.approach(&page).await.unwrap();
        let keys = sql::keys(&page, &approach, store.dialect());
        let found = plan(&mut transaction, database.engine, keys).await;
        assert_eq!(waste(database.engine, &found, false), None, "{page:?}:\n{found}");
        let read_on = match database.engine {
            Engine::Sqlite => found.contains("SEARCH "),
            Engine::Postgres => found.contains("Index Cond: "),
            Engine::MariaDb => found.contains("\"access_type\": \"range\""),
        };
        assert!(read_on, "{page:?}:\n{found}");
    }
    drop(transaction);
    store.close().await;
}

/// The records of a relation are found by an index, however many there are.
#[tokio::test(flavor = "multi_thread")]
async fn no_included_relation_scans_a_table() {
    let (store, database) = filled().await;
    let mut transaction = reading(&store, database.engine).await;
    let mut followed = 0;
    for resource in resources::REGISTRY.iter().filter(|resource| resource.has_own_route()) {
        for relation in Relation::of(resource, resources::REGISTRY) {
            let page = Page::of_related(&relation, Shape::Detail, (1..=100).collect(), 1_001);
            let asked = sql::page(&page, &Approach::unasked(&page), store.dialect());
            let found = plan(&mut transaction, database.engine, asked).await;
            // A table of few records is best read as a whole.
            let large =
                LARGE.contains(&page.resource.table) || matches!(relation, Relation::Many(_));
            let scans = match database.engine {
                Engine::Sqlite => large && found.lines().any(|line| line.starts_with("SCAN t")),
                Engine::Postgres => {
                    found.contains(&format!("Seq Scan on {} ", page.resource.table))
                }
                Engine::MariaDb => {
                    // Few orders of the demo store have refunds.
                    let few = page.resource.table == "shop_orderrefunds";
                    let many = matches!(relation, Relation::Many(_)) && !few;
                    many && found.contains("\"access_type\": \"ALL\"")
                }
            };
            assert!(!scans, "{} of {}:\n{found}", relation.name(), resource.kind);
            followed += 1;
        }
    }
    assert!(followed > 10, "{followed}");
    drop(transaction);
    store.close().await;
}

/// Where the choice depends on the number of records, few are sorted and many are read in order,
/// and the SQL makes the engine do so.
#[tokio::test(flavor = "multi_thread")]
async fn few_records_are_sorted_and_many_are_read_in_index_order() {
    let (store, database) = filled().await;
    let mut transaction = reading(&store, database.engine).await;
    let dialect = store.dialect();
    for (request, many) in [
        ("products?filter[enabled]=1&list[ordering]=price", true),
        ("products?filter[visibility]=1&list[ordering]=product_name", true),
        ("products?filter[search]=e&list[ordering]=price", true),
        ("products?filter[search]=heron+7&list[ordering]=price", false),
        ("products?filter[product_type]=downloadable&filter[enabled]=0", false),
        ("orders?filter[status]=8&list[ordering]=user_email", true),
        (
            "orders?filter[status]=6&filter[payment_type]=payment_invoice&list[ordering]=user_email",
            false,
        ),
    ] {
        let page = page_of(request);
        assert!(matches!(Probe::of(&page), Some(Probe::Totals)), "{request}");
        let approach = transaction.approach(&page).await.unwrap();
        match approach.keys {
            Keys::IndexScan(_) => assert!(many, "{request} is walked"),
            Keys::FilterThenSort => assert!(!many, "{request} is sorted"),
            ref keys => panic!("{request} is found by {keys:?}"),
        }
        let keys = sql::keys(&page, &approach, dialect);
        let found = plan(&mut transaction, database.engine, keys).await;
        assert_eq!(waste(database.engine, &found, !many), None, "{request}:\n{found}");
    }
    drop(transaction);
    store.close().await;
}

/// Open orders are few, and the latest: whoever reads orders in the order of time meets them last.
#[tokio::test(flavor = "multi_thread")]
async fn the_pick_list_reads_open_orders_alone() {
    let (store, database) = filled().await;
    let mut transaction = store.begin_read().await.unwrap();
    let words = |words: &[&str]| words.iter().map(|word| Value::Text((*word).to_owned())).collect();
    let open = [
        Condition::Equals("is_shippable", Value::Int(1)),
        Condition::OneOf("fulfilment_state", words(&["unfulfilled", "partial"])),
        Condition::OneOf("order_state_id", [1, 2, 4, 5].map(Value::Int).to_vec()),
    ];
    for filters in ["", "?filter[country]=77", "?filter[date_from]=2020-01-01"] {
        let mut page = page_of(&format!("orderfulfilments{filters}"));
        page.conditions.extend(open.iter().cloned());
        let approach = transaction.approach(&page).await.unwrap();
        assert!(matches!(approach.keys, Keys::FilterThenSortBy(Some(_))), "{approach:?}");
        let keys = sql::keys(&page, &approach, store.dialect());
        let found = plan(&mut transaction, database.engine, keys).await;
        let by_time = found.contains("shop_orders_created");
        assert!(found.contains("shop_orders_fulfilment") && !by_time, "{filters}:\n{found}");
    }
    drop(transaction);
    store.close().await;
}

/// Of products and of variants, only those at the beginning of an index are sorted together.
#[tokio::test(flavor = "multi_thread")]
async fn the_inventory_is_read_along_two_indexes() {
    let (store, database) = filled().await;
    let mut transaction = reading(&store, database.engine).await;
    let rows = sql::table(sql::in_stock(0, 20).table, store.dialect());
    let found = plan(&mut transaction, database.engine, rows).await;
    for index in ["shop_products_quantity", "shop_variants_quantity"] {
        assert!(found.contains(index), "{index}:\n{found}");
    }
    drop(transaction);
    store.close().await;
}

/// A unique index answers whether a value is free.
#[tokio::test(flavor = "multi_thread")]
async fn no_check_of_a_unique_value_scans_a_table() {
    let (store, database) = filled().await;
    let mut transaction = reading(&store, database.engine).await;
    for kind in ["products", "variants", "orders", "vouchers", "coupons"] {
        let resource = resources::REGISTRY.find(kind).unwrap();
        for unique in resource.unique {
            let values = vec![Value::Text("x-1".to_owned()); unique.fields.len()];
            let check = Check::Free { resource, unique, values, except: 0 };
            let asked = sql::checks(&[&check], store.dialect());
            let found = plan(&mut transaction, database.engine, asked).await;
            assert!(!scans(database.engine, &found), "{kind} {:?}:\n{found}", unique.fields);
        }
    }
    drop(transaction);
    store.close().await;
}

/// What an import names is found by the index of whole texts, however many there are: an index of trigrams would be
/// searched for each, and a table read to its end.
#[tokio::test(flavor = "multi_thread")]
async fn the_texts_of_a_list_are_found_one_by_one() {
    let (store, database) = filled().await;
    let mut transaction = store.begin_read().await.unwrap();
    let texts: Vec<String> = (0..200).map(|number| format!("sku-{number:06}")).collect();
    let products = resources::REGISTRY.find("products").unwrap();
    let sku = products.fields().find(|field| field.name == "sku").unwrap();
    let named = sql::find_by(products, sku, texts.clone(), None, store.dialect());
    let stocked = sql::find_skus(texts, store.dialect());
    for asked in [named.table, stocked.table] {
        let asked = sql::table(asked, store.dialect());
        let found = plan(&mut transaction, database.engine, asked).await;
        assert!(!scans(database.engine, &found) && !found.contains("trigrams"), "{found}");
    }
    drop(transaction);
    store.close().await;
}

/// A text in few records is searched for once: its keys are then known, and used for the page.
#[tokio::test(flavor = "multi_thread")]
async fn a_rare_text_is_searched_for_once() {
    let (store, _database) = filled().await;
    let mut transaction = store.begin_read().await.unwrap();
    for (request, few) in [
        ("products?filter[search]=heron+7", true),
        ("products?filter[search]=heron+7&page[offset]=2&page[limit]=3", true),
        ("products?filter[search]=heron&list[ordering]=shop_product_id&list[direction]=desc", true),
        ("products?filter[search]=he", true),
        ("products?filter[search]=no+such+bird", true),
        ("products?filter[search]=heron+7&page[offset]=5000", true),
        ("products?filter[sku]=0001", true),
        ("variants?filter[search]=0001", true),
        ("variants?filter[search]=-1-2", true),
        ("variants?filter[search]=no-such-sku&list[ordering]=price", true),
        ("customers?filter[search]=rossi", true),
        ("products?filter[search]=e", false),
    ] {
        let page = page_of(request);
        let approach = transaction.approach(&page).await.unwrap();
        let known = matches!(approach.keys, Keys::Known(_) | Keys::Empty);
        assert_eq!(known, few, "{request} is found by {:?}", approach.keys);

        let [Condition::Contains(names, text)] = &page.conditions[..] else { panic!("{request}") };
        let columns: Vec<String> = names.iter().map(|name| format!("{name}_fold")).collect();
        let Resource { key, table, .. } = page.resource;
        let all = format!("SELECT {key}, {} FROM {table} ORDER BY {key}", columns.join(", "));
        let mut kinds = vec![Kind::WORD; columns.len() + 1];
        kinds[0] = Kind::COUNT;
        let rows = transaction.stream(Statement { text: all, binds: Vec::new() }, &kinds).unwrap();
        let mut rows: Vec<Vec<Value>> = rows.try_collect().await.unwrap();
        rows.retain(|row| row[1..].iter().any(|value| value.to_string().contains(text)));
        let mut truth: Vec<i64> = rows.iter().map(|row| row[0].int("key").unwrap()).collect();
        if page.order.descending {
            truth.reverse();
        }
        let cells = transaction.page(&page).await.unwrap();
        assert_eq!(cells.total(), truth.len() as i64, "{request}");
        let found: Vec<i64> =
            cells.rows().unwrap().iter().map(|row| row[0].int("key").unwrap()).collect();
        let truth = truth.into_iter().skip(page.offset as usize).take(page.limit as usize);
        assert_eq!(found, truth.collect::<Vec<_>>(), "{request}");
    }
    drop(transaction);
    store.close().await;
}

/// On a distant page, the preceding records are skipped in steps.
#[tokio::test(flavor = "multi_thread")]
async fn a_distant_page_is_found_by_kept_counts() {
    let (store, _database) = filled().await;
    let mut transaction = store.begin_read().await.unwrap();
    for request in ["orders", "orders?list[ordering]=shop_order_id", "orders?filter[status]=8"] {
        for direction in ["asc", "desc"] {
            let joint = if request.contains('?') { '&' } else { '?' };
            let mut page = page_of(&format!("{request}{joint}list[direction]={direction}"));
            // So few records are skipped one by one, and the result must be the same.
            page.limit = 40;
            let one_by_one = |offset| Page { offset, ..page.clone() };
            let steps =
                page.resource.storage.steps.iter().find(|steps| steps.day_of() == page.order.field);
            let probe = Probe::Steps(steps.unwrap());
            for offset in [0, 39, 1_000, 1_500] {
                let near = one_by_one(offset);
                let asked = sql::probe(&probe, &near, store.dialect());
                let rows = transaction.stream(asked, probe.kinds()).unwrap();
                let rows: Vec<Vec<Value>> = rows.try_collect().await.unwrap();
                let Ok(Next::Read(approach)) = probe.answered(&near, &rows) else {
                    panic!("{rows:?}")
                };
                let Keys::Seek(bound, passed) = &approach.keys else { panic!("{approach:?}") };
                assert!(matches!(bound, Condition::AtLeast(..) | Condition::AtMost(..)));
                assert!(*passed <= offset);
                let keys = async |transaction: &mut Transaction, approach: &Approach| {
                    let asked = sql::keys(&near, approach, store.dialect());
                    let rows = transaction.stream(asked, &[Kind::COUNT]).unwrap();
                    let mut rows: Vec<Vec<Value>> = rows.try_collect().await.unwrap();
                    // The limit may have been rounded up.
                    rows.truncate(40);
                    rows
                };
                let found = keys(&mut transaction, &approach).await;
                assert_eq!(found.len(), 40, "{request} from {offset}");
                assert_eq!(found, keys(&mut transaction, &Approach::default()).await);
            }
        }
    }
    drop(transaction);
    store.close().await;
}

/// What can be refunded of a new order is noted in it afterwards. PostgreSQL leaves the indexes alone if there is room for
/// that on its page.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(engine = "sqlite", ignore = "it changes rows in their place")]
async fn a_new_order_is_entered_into_its_indexes_once() {
    const CHANGED: &str = "SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'shop_orders'";
    const ENTERED: &str = "SELECT n_tup_upd - n_tup_hot_upd FROM pg_stat_user_tables \
         WHERE relname = 'shop_orders'";
    if Engine::of_this_run() != Engine::Postgres {
        return;
    }
    let bare = Bare::open().await;
    // Pages of larger orders leave room for a smaller one, of which PostgreSQL knows after this.
    let size = demo::Size { products: 10, orders: 400 };
    demo::fill(&bare.app.shop.store, size, &ProgressHandle::new(())).await.unwrap();
    for statement in ["VACUUM shop_orders", "SELECT pg_stat_reset()"] {
        bare.database.execute(statement).await;
    }
    for _ in 0..40 {
        let item =
            json!({"orderitem_name": "Lamp", "orderitem_quantity": 1, "orderitem_price": "1"});
        let order = json!({"user_email": "ada@example.com", "items": [item.clone(), item]});
        let made = bare.ask(Method::Post, "/orders", order).await;
        assert_eq!(made.status(), 201, "{}", String::from_utf8_lossy(made.body()));
    }
    let number = async |asked| bare.database.number(asked).await;
    // A connection reports to the statistics when it has been idle.
    eventually("the changes are counted", async || (number(CHANGED).await >= 40).then_some(()))
        .await;
    assert_eq!(number(ENTERED).await, 0);
}

/// Each write adds a segment to an index of texts, which a search has to read.
#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "a server maintains its indexes itself")]
async fn segments_of_a_text_index_are_merged_while_others_write() {
    const PARTS: &str = "SELECT count(DISTINCT segid) FROM shop_products_search_idx";
    const IN_WRITES: &str =
        "SELECT v FROM shop_products_search_config WHERE k = 'automerge' AND v = 0";
    let bare = Bare::open().await;
    let store = &bare.app.shop.store;
    // With one more write, the engine would merge the segments within the write.
    for number in 0..15 {
        let product = json!({"product_name": format!("Lamp {number}")});
        assert_eq!(bare.ask(Method::Post, "/products", product).await.status(), 201);
    }
    let number = async |asked: &'static str| {
        let mut reading = store.begin_read().await.unwrap();
        reading.numbers(Statement::fixed(asked, Vec::new())).await.unwrap()
    };
    assert_eq!(number(IN_WRITES).await, [0]);
    // Each write is followed by a small merge.
    eventually("only a few segments remain", async || {
        let change = json!({"price": "1"});
        assert_eq!(bare.ask(Method::Patch, "/products/1", change).await.status(), 200);
        (number(PARTS).await[0] < 4).then_some(())
    })
    .await;
    let lamps = bare.ask(Method::Get, "/products?filter[search]=amp", json!(null)).await;
    let lamps: serde_json::Value = serde_json::from_slice(lamps.body()).unwrap();
    assert_eq!(lamps["meta"]["total"], 15);
}

/// Reads through the statically linked engine, from a file that the loaded library never opens.
#[tokio::test]
async fn every_column_that_a_resource_names_exists() {
    let database = Database::new().await;
    let store = Store::open(&database.url()).unwrap();
    store.migrate(REGISTRY).await.unwrap();
    // The configuration has no table.
    for resource in plugin::resources::REGISTRY.iter().filter(|resource| !resource.table.is_empty())
    {
        let searched = resource.filters.iter().map(|filter| match filter.test {
            Test::Contains(fields) => Condition::Contains(fields, "x".to_owned()),
            Test::Equals(name) => {
                let field = resource.fields().find(|field| field.name == name).unwrap();
                let value = if let Kind::Choice(words) = field.kind { words[0] } else { "1" };
                Condition::Equals(name, literal::read_plain(field.kind, value).unwrap())
            }
            Test::From(field) => Condition::AtLeast(field, Value::now()),
            Test::To(field) => Condition::AtMost(field, Value::now()),
            Test::OfPart(part) => Condition::OfPart(part, "x".to_owned()),
        });
        let orders = resource.list.iter().map(|field| Some(field.name)).chain([None]);
        for field in orders {
            let page = Page {
                shape: Shape::Detail,
                conditions: searched.clone().collect(),
                order: Order { field, descending: true },
                limit: 1,
                ..Page::of(resource)
            };
            let read = store.page(&page).await;
            assert!(read.is_ok(), "{} by {field:?}: {:?}", resource.kind, read.err());
        }
    }
    store.close().await;
}
