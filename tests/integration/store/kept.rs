//! Kept numbers and queued changes: migrated databases have the tables and triggers that are generated
//! from the descriptions.

use std::collections::BTreeSet;
use std::path::Path;

use host_interface::ProgressHandle;
use plugin::bulk::{copy, demo, reference};
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::sql::feed::followed;
use plugin::sql::kept::tables;
use plugin::store::Store;
use sqlx::migrate::Migrator;
use sqlx::{Connection, MySqlConnection, PgConnection, SqliteConnection};

use crate::support::databases::{Database, Engine};

fn plain(text: impl Into<String>) -> Statement {
    Statement { text: text.into(), binds: Vec::new() }
}

async fn texts(store: &Store, question: &str) -> Vec<String> {
    let mut reading = store.begin_read().await.unwrap();
    let texts = reading.texts(plain(question)).await.unwrap();
    reading.commit().await.unwrap();
    texts
}

/// All tables of the store with their columns, and all triggers with their bodies.
async fn catalogue(store: &Store, engine: Engine) -> BTreeSet<String> {
    let question = match engine {
        Engine::Sqlite => "SELECT type || ' ' || sql FROM sqlite_schema WHERE sql IS NOT NULL",
        Engine::Postgres => {
            "SELECT pg_get_functiondef(oid) FROM pg_proc \
             WHERE pronamespace = current_schema()::regnamespace AND proname LIKE 'shop%' \
             UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal \
             UNION ALL SELECT format('%s.%s %s %s %s %s', table_name, column_name, ordinal_position, \
             udt_name || coalesce(character_maximum_length::text, ''), collation_name, is_nullable) \
             FROM information_schema.columns WHERE table_schema = current_schema() \
             UNION ALL SELECT conrelid::regclass || pg_get_constraintdef(oid) FROM pg_constraint \
             UNION ALL SELECT oid::regclass || reloptions::text FROM pg_class \
             WHERE relnamespace = current_schema()::regnamespace AND reloptions IS NOT NULL"
        }
        Engine::MariaDb => {
            "SELECT concat_ws(' ', trigger_name, event_manipulation, action_timing, \
             event_object_table, action_statement) AS piece FROM information_schema.triggers \
             WHERE trigger_schema = database() \
             UNION ALL SELECT concat_ws(' ', table_name, column_name, ordinal_position, column_type, \
             collation_name, is_nullable, column_key) FROM information_schema.columns \
             WHERE table_schema = database() \
             UNION ALL SELECT concat_ws(' ', table_name, index_name, seq_in_index, column_name) \
             FROM information_schema.statistics WHERE table_schema = database()"
        }
    };
    let pieces = texts(store, question).await.into_iter();
    // Only white space may differ.
    pieces.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test]
async fn tables_and_triggers_are_generated_from_their_description() {
    let engine = Engine::of_this_run();
    let (migrated, made) = (Database::new().await, Database::new().await);
    let [migrated_store, made_store] =
        [&migrated, &made].map(|database| Store::open(&database.url()).unwrap());
    for store in [&migrated_store, &made_store] {
        store.migrate().await.unwrap();
    }
    let terms = made_store.dialect().kept;
    let made_anew = tables(terms);
    let names: Vec<&str> = made_anew
        .iter()
        .filter_map(|text| text.strip_prefix("CREATE TABLE ")?.split(' ').next())
        .collect();
    assert!(names.len() > 14, "{names:?}");
    // Triggers that write to one of these tables, or queue changes, are dropped.
    let mentions = |column: &str| {
        let names = names.iter().chain(&["shop_change_queue"]);
        let like = names.map(|name| format!("{column} LIKE '%{name}%'"));
        like.collect::<Vec<_>>().join(" OR ")
    };
    let find = match engine {
        Engine::Sqlite => format!(
            "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger' AND ({})",
            mentions("sql")
        ),
        Engine::Postgres => format!(
            "SELECT format('DROP FUNCTION %s CASCADE', oid::regprocedure) FROM pg_proc \
             WHERE pronamespace = current_schema()::regnamespace AND ({})",
            mentions("prosrc")
        ),
        Engine::MariaDb => format!(
            "SELECT concat('DROP TRIGGER ', trigger_name) AS gone FROM information_schema.triggers \
             WHERE trigger_schema = database() AND ({})",
            mentions("action_statement")
        ),
    };
    let gone = texts(&made_store, &find).await;
    assert!(gone.len() >= 12, "{gone:?}");
    let gone = gone.into_iter().chain(names.iter().map(|name| format!("DROP TABLE {name}")));
    let gone: Vec<String> = gone.collect();
    let tables = followed(REGISTRY).into_iter();
    let queuing = tables.flat_map(|of| (made_store.dialect().feed_triggers)(&of));
    let triggers = (terms.triggers)().into_iter().chain(queuing);
    for text in gone.into_iter().chain(made_anew.clone()).chain(triggers) {
        made_store.execute(plain(text)).await.unwrap();
    }
    let [migrated_has, made_has] =
        [catalogue(&migrated_store, engine).await, catalogue(&made_store, engine).await];
    let missing: Vec<_> = made_has.difference(&migrated_has).collect();
    let surplus: Vec<_> = migrated_has.difference(&made_has).collect();
    assert!(
        missing.is_empty() && surplus.is_empty(),
        "The next migration is to make these:\n{missing:#?}\nand to drop these:\n{surplus:#?}"
    );
    migrated_store.close().await;
    made_store.close().await;
}

/// The tables of the version before triggers were generated from the description.
async fn version_before(database: &Database) {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../plugin/migrations");
    let (folder, last) = match database.engine {
        Engine::Sqlite => ("sqlite", 11),
        Engine::Postgres => ("postgres", 10),
        Engine::MariaDb => ("mysql", 13),
    };
    let mut earlier = Migrator::new(folders.join(folder)).await.unwrap();
    let migrations = earlier.migrations.iter().filter(|migration| migration.version <= last);
    earlier.migrations = migrations.cloned().collect();
    // On a server, the host's table of migrations is in the same database.
    if database.engine != Engine::Sqlite {
        earlier.dangerous_set_table_name("shop_migrations");
    }
    let url = database.url();
    match database.engine {
        Engine::Sqlite => {
            let mut file = SqliteConnection::connect(&format!("{url}?mode=rwc")).await.unwrap();
            earlier.run_direct(None, &mut file, false).await.unwrap();
            file.close().await.unwrap();
        }
        Engine::Postgres => {
            let mut server = PgConnection::connect(&url).await.unwrap();
            earlier.run_direct(None, &mut server, false).await.unwrap();
        }
        Engine::MariaDb => {
            let mut server = MySqlConnection::connect(&url).await.unwrap();
            earlier.run_direct(None, &mut server, false).await.unwrap();
        }
    }
}

/// Tables that demo data fill and that version lacked, with their columns.
const TABLES_SINCE: [(&str, &str); 3] = [
    (
        "shop_inventory_ledger",
        "product_id integer, sku text, quantity_delta integer, quantity_before integer, \
         quantity_after integer, reason text, created_on timestamp",
    ),
    (
        "shop_shipments",
        "order_key integer, tracking_id text, carrier text, \
         tracking_url text, items json, status_before integer, status_after integer, \
         created_on timestamp, modified_on timestamp",
    ),
    (
        "shop_fulfilment_counts",
        "is_shippable integer, fulfilment_state text, order_state_id integer, \
         shipping_country_id integer, n integer",
    ),
];
/// Columns that demo data fill and that version lacked, with their types.
const COLUMNS_SINCE: [(&str, &str); 3] = [
    ("shop_currencies", "version integer DEFAULT 1"),
    ("shop_orderitems", "shipped integer"),
    (
        "shop_orders",
        "shipping_first_name text, shipping_last_name text, \
         shipping_company text, shipping_phone_1 text, \
         shipping_address_1 text, shipping_city text, shipping_zip text, \
         shipping_zone_id integer, shipping_zone_name text, shipping_country_id integer, \
         shipping_country_name text, ordershipping_name text, \
         ordershipping_code text, ordershipping_type text, \
         fulfilment_state text",
    ),
];

#[tokio::test]
async fn a_store_of_the_previous_version_is_migrated_to_the_present_triggers() {
    let database = Database::new().await;
    version_before(&database).await;
    let store = Store::open(&database.url()).unwrap();
    reference::install(&store).await.unwrap();
    let size = demo::Size { products: 40, orders: 60 };
    // Today's demo data have more than that version had room for.
    for (table, columns) in TABLES_SINCE {
        store.execute(plain(format!("CREATE TABLE {table} ({columns})"))).await.unwrap();
    }
    for (table, columns) in COLUMNS_SINCE {
        for column in columns.split(", ") {
            let add = format!("ALTER TABLE {table} ADD COLUMN {column}");
            store.execute(plain(add)).await.unwrap();
        }
    }
    demo::fill(&store, size, &ProgressHandle::new(())).await.unwrap();
    let kept = async |store: &Store| {
        let mut kept = copy::kept(store).await.unwrap();
        // It has been kept since.
        kept.retain(|(table, _)| *table != "shop_fulfilment_counts");
        kept
    };
    let [others @ .., (counts, _)] = TABLES_SINCE;
    for (table, _) in others {
        store.execute(plain(format!("DROP TABLE {table}"))).await.unwrap();
    }
    let before = kept(&store).await;
    store.execute(plain(format!("DROP TABLE {counts}"))).await.unwrap();
    for (table, columns) in COLUMNS_SINCE {
        for column in columns.split(", ").filter_map(|column| column.split(' ').next()) {
            let drop = format!("ALTER TABLE {table} DROP COLUMN {column}");
            store.execute(plain(drop)).await.unwrap();
        }
    }
    assert!(before.iter().all(|(_, sums)| !sums.is_empty()), "{before:?}");
    let long = "a".repeat(300);
    let image = format!(
        "UPDATE shop_products SET main_image = '{long}B', main_image_fold = '{}' \
         WHERE shop_product_id = 1",
        &long[..255]
    );
    store.execute(plain(image)).await.unwrap();
    // Sessions remember the columns that are gone.
    store.close().await;
    let store = Store::open(&database.url()).unwrap();
    store.migrate().await.unwrap();
    assert_eq!(kept(&store).await, before);
    let counted = copy::kept(&store).await.unwrap();
    let counted = counted.iter().find(|(table, _)| *table == "shop_fulfilment_counts").unwrap();
    assert!(!counted.1.is_empty(), "orders that are there are counted");
    store.recount().await.unwrap();
    let recounted = copy::kept(&store).await.unwrap();
    assert!(recounted.contains(counted), "{counted:?}");
    let rest = "SELECT main_image_rest FROM shop_products WHERE shop_product_id = 1";
    assert_eq!(texts(&store, rest).await, [format!("{}b", &long[..45])]);
    let others = "SELECT product_name FROM shop_products WHERE version <> 1";
    assert!(texts(&store, others).await.is_empty(), "each record has the version 1");
    let others = "SELECT product_name FROM shop_products WHERE quantity <> coalesce((SELECT \
        sum(quantity_delta) FROM shop_inventory_ledger WHERE product_id = shop_product_id), 0)";
    assert!(texts(&store, others).await.is_empty(), "each ledger begins with the stock there is");

    // The new triggers subtract what the old ones added.
    for change in [
        "UPDATE shop_orders SET user_id = 7, order_state_id = 3 WHERE shop_order_id <= 30",
        "UPDATE shop_orders SET order_tax = order_tax + 1",
        "UPDATE shop_products SET quantity = quantity + 3, manufacturer_id = NULL",
        "DELETE FROM shop_orders WHERE shop_order_id > 20",
        "DELETE FROM shop_addresses",
        "DELETE FROM shop_products WHERE shop_product_id <= 20",
    ] {
        store.execute(plain(change)).await.unwrap();
    }
    let kept = copy::kept(&store).await.unwrap();
    assert_ne!(kept, recounted);
    store.recount().await.unwrap();
    assert_eq!(copy::kept(&store).await.unwrap(), kept);
    store.close().await;
}
