//! Bulk-loading of a store: the result equals that of adding record by record, and after an
//! interruption the store is served completely or not at all.

use std::time::Duration;

use host_interface::ProgressHandle;
use plugin::bulk::{copy, demo, reference};
use plugin::error::Error;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::store::Store;

use crate::support::databases::{Database, Engine};
use crate::support::kills::{kills, randomness};
use crate::support::process::Place;

/// How often bulk-loading is killed.
const KILLS: usize = 2;

async fn store_of(database: &Database) -> Store {
    let store = Store::open(&database.url()).unwrap();
    store.migrate(REGISTRY).await.unwrap();
    reference::install(&store).await.unwrap();
    store
}

/// Fills a store, in bulk if at least this many records are missing.
async fn fill(store: &Store, products: u64, orders: u64, large: u64) {
    let size = demo::Size { products, orders };
    demo::fill_from(store, size, large, &ProgressHandle::new(())).await.unwrap();
}

/// The indexes, references and triggers of the tables.
async fn structure(store: &Store, engine: Engine) -> Vec<String> {
    let all = match engine {
        Engine::Sqlite => {
            "SELECT type || ' ' || name || ' ' || sql FROM sqlite_schema \
             WHERE type <> 'table' AND sql IS NOT NULL ORDER BY 1"
        }
        Engine::Postgres => {
            "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() \
             UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal \
             UNION ALL SELECT conrelid::regclass || conname || pg_get_constraintdef(oid) \
             FROM pg_constraint WHERE contype = 'f' ORDER BY 1"
        }
        Engine::MariaDb => {
            "SELECT table_name || '.' || index_name || seq_in_index || column_name || non_unique \
             || coalesce(sub_part, '') || index_type AS piece FROM information_schema.statistics \
             WHERE table_schema = database() \
             UNION ALL SELECT trigger_name || event_manipulation || action_timing || action_order \
             || event_object_table || sql_mode || action_statement \
             FROM information_schema.triggers WHERE event_object_schema = database() \
             UNION ALL SELECT constraint_name || table_name || column_name \
             || coalesce(referenced_table_name, '') FROM information_schema.key_column_usage \
             WHERE table_schema = database() ORDER BY 1"
        }
    };
    let mut reading = store.begin_read().await.unwrap();
    reading.texts(Statement::fixed(all, Vec::new())).await.unwrap()
}

/// Fails unless the kept numbers equal those of the records.
async fn assert_counted(store: &Store, engine: Engine) {
    let kept = copy::kept(store).await.unwrap();
    assert!(kept.iter().any(|(_, sums)| !sums.is_empty()));
    let pieces = pieces(store, engine).await;
    store.recount().await.unwrap();
    assert_eq!(kept, copy::kept(store).await.unwrap());
    assert_eq!(pieces, self::pieces(store, engine).await);
}

/// The tables for substring search, if they can be read. An index of texts checks itself.
async fn pieces(store: &Store, engine: Engine) -> Vec<String> {
    match engine {
        Engine::Sqlite => {
            for check in [
                "INSERT INTO shop_products_search (shop_products_search, rank) VALUES ('integrity-check', 1)",
                "INSERT INTO shop_variants_search (shop_variants_search, rank) VALUES ('integrity-check', 1)",
                "INSERT INTO shop_orders_search (shop_orders_search, rank) VALUES ('integrity-check', 1)",
                "INSERT INTO shop_addresses_search (shop_addresses_search, rank) VALUES ('integrity-check', 1)",
            ] {
                store.execute(Statement::fixed(check, Vec::new())).await.unwrap();
            }
            Vec::new()
        }
        Engine::Postgres => Vec::new(),
        Engine::MariaDb => {
            let all = "SELECT concat_ws('|', 'name', piece, record, place, ahead) AS piece \
                 FROM shop_product_name_pieces UNION ALL \
                 SELECT concat_ws('|', 'sku', piece, record, place, ahead) \
                 FROM shop_product_sku_pieces UNION ALL \
                 SELECT concat_ws('|', 'variant', piece, record, place, ahead) \
                 FROM shop_variant_sku_pieces ORDER BY 1";
            let mut reading = store.begin_read().await.unwrap();
            let pieces = reading.texts(Statement::fixed(all, Vec::new())).await.unwrap();
            reading.commit().await.unwrap();
            assert!(!pieces.is_empty());
            pieces
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bulk_filling_equals_filling_record_by_record() {
    // A transaction that MariaDB has repeated after a conflict, as on a busy machine, uses up keys of ledgers.
    let mut tries = if Engine::of_this_run() == Engine::MariaDb { 3 } else { 1 };
    while let Err(difference) = fill_both_ways().await {
        tries -= 1;
        assert!(tries > 0, "{difference}");
    }
}

/// Fills two stores, one in bulk and one by record, and fails if they differ.
async fn fill_both_ways() -> Result<(), Error> {
    let databases = [Database::new().await, Database::new().await];
    let [at_once, by_record] = [store_of(&databases[0]).await, store_of(&databases[1]).await];
    let before = structure(&at_once, databases[0].engine).await;
    for products in [730, 1_600] {
        fill(&at_once, products, 900, 1).await;
        fill(&by_record, products, 900, u64::MAX).await;
        // A bulk fill begins another feed of changes, and records that are written are changes.
        for store in [&by_record, &at_once] {
            store.renew_feed().await.unwrap();
            let same =
                "UPDATE shop_feed SET feed = 'same', began = 1, seq = 1, floor = 1, swept = 1";
            store.execute(Statement::fixed(same, Vec::new())).await.unwrap();
        }
        copy::compare(&by_record, &at_once, REGISTRY).await?;
        assert_eq!(structure(&at_once, databases[0].engine).await, before);
        assert_counted(&at_once, databases[0].engine).await;
        assert_counted(&by_record, databases[1].engine).await;
    }
    at_once.close().await;
    by_record.close().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_filling_leaves_a_valid_store_and_is_resumed() {
    const DEMO: &str = "demo --products 12000 --orders 14000";
    let place = Place::of_the_store();
    // The structure of a store without bulk-loading.
    place.run("demo --products 1 --orders 1").await;
    let store = place.store();
    let before = structure(&store, place.database.engine).await;
    store.close().await;

    let mut rng = randomness();
    for _ in 0..kills(KILLS) {
        let mut filling = place.call(DEMO).spawn();
        tokio::time::sleep(Duration::from_millis(rng.u64(100..4_000))).await;
        filling.kill().await.unwrap();
        place.serve().await.stop().await;
        let store = place.store();
        assert_eq!(structure(&store, place.database.engine).await, before);
        assert_counted(&store, place.database.engine).await;
        store.close().await;
    }
    let earlier = variants_read(&place.database).await;
    assert_eq!(place.run(DEMO).await, "12000 products, 1750 customers, 14000 orders\n");
    // 19,200 variants are read for each index and a few statements, and not for each item of an order.
    let read = variants_read(&place.database).await - earlier;
    assert!(read < 2_000_000, "{read}");
    let store = place.store();
    assert_eq!(structure(&store, place.database.engine).await, before);
    assert_counted(&store, place.database.engine).await;
    if place.database.engine == Engine::Sqlite {
        // With samples of values, a statement would be prepared anew for each value.
        let samples = Statement::fixed("SELECT count(*) FROM sqlite_stat4", Vec::new());
        let mut reading = store.begin_read().await.unwrap();
        assert_eq!(reading.numbers(samples).await.unwrap(), [0]);
    }
    store.close().await;
}

/// How many rows of variants PostgreSQL has read without an index so far. Other engines do not count them.
async fn variants_read(database: &Database) -> i64 {
    match database.engine {
        Engine::Postgres => {
            let count =
                "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'shop_variants'";
            database.number(count).await
        }
        Engine::Sqlite | Engine::MariaDb => 0,
    }
}
