//! Objects that follow from descriptions: what a start does if they differ from those that the database has
//! noted, if one is missing, or if it is interrupted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use host_interface::ProgressHandle;
use plugin::bulk::{copy, demo};
use plugin::error::Error;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::sql::derived::{NUMBER, digest_of, objects};
use plugin::sql::dialect::{MYSQL, POSTGRES, SQLITE};
use plugin::store::Store;

use crate::support::bare::Bare;
use crate::support::databases::{Database, Engine};
use crate::support::kills::{kills, randomness};
use crate::support::process::Place;
use crate::support::template::Template;

/// How often a start is killed.
const KILLS: usize = 3;
/// How often everything is made anew at least, and how much is written meanwhile.
const ANEW: usize = 4;

/// The digest of the objects on each engine. Whoever changes objects that have been released increases
/// `NUMBER` too.
#[test]
fn objects_of_this_number_have_these_digests() {
    let digests = [&SQLITE, &POSTGRES, &MYSQL].map(|dialect| {
        let objects = objects(REGISTRY, dialect);
        format!("{}: {} objects, {}", dialect.name, objects.len(), digest_of(&objects))
    });
    insta::assert_snapshot!(format!("objects_{NUMBER}"), digests.join("\n"));
}

#[tokio::test]
async fn an_object_that_differs_is_replaced_and_the_others_stay() {
    let (store, _database) = filled().await;
    let engine = Engine::of_this_run();
    let (before, feed) = (catalogue(&store, engine).await, feed(&store).await);
    // An earlier program's trigger did nothing, and its table counted something else.
    let nothing: &[&str] = match engine {
        Engine::Sqlite => &[
            "DROP TRIGGER shop_zones_feed_new",
            "CREATE TRIGGER shop_zones_feed_new AFTER INSERT ON shop_zones BEGIN SELECT 1; END",
        ],
        Engine::Postgres => &["CREATE OR REPLACE FUNCTION shop_zones_feed() RETURNS trigger \
             LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"],
        Engine::MariaDb => &["CREATE OR REPLACE TRIGGER shop_zones_feed_new AFTER INSERT \
             ON shop_zones FOR EACH ROW SET @nothing = 1"],
    };
    let others = [
        "DELETE FROM shop_stock",
        "UPDATE shop_derived SET digest = 'another' \
         WHERE name LIKE '% shop_zones_feed%' OR name = 'table shop_stock'",
        "CREATE TABLE shop_outdated (n integer)",
        "INSERT INTO shop_derived (name, digest, remove) \
         VALUES ('table shop_outdated', 'any', 'DROP TABLE IF EXISTS shop_outdated')",
        // No reason to fill this one, which shows that it stays.
        "DELETE FROM shop_address_blocks",
        OUTDATED,
    ];
    for change in nothing.iter().chain(&others) {
        store.execute(plain(*change)).await.unwrap();
    }
    store.migrate(REGISTRY).await.unwrap();
    assert_eq!(catalogue(&store, engine).await, before);
    assert_eq!(self::feed(&store).await, feed);
    let kept = copy::kept(&store).await.unwrap().into_iter();
    let (stayed, mut kept): (Vec<_>, Vec<_>) =
        kept.partition(|(table, _)| *table == "shop_address_blocks");
    assert!(stayed[0].1.is_empty(), "{stayed:?}");
    store.recount().await.unwrap();
    let recounted = copy::kept(&store).await.unwrap();
    kept.retain(|of| !recounted.contains(of));
    assert!(kept.is_empty(), "{kept:?}");
    store.close().await;
}

#[tokio::test]
async fn a_store_that_lost_a_trigger_gets_everything_anew() {
    let (store, _database) = filled().await;
    let engine = Engine::of_this_run();
    let (before, feed) = (catalogue(&store, engine).await, feed(&store).await);
    let lose = match engine {
        Engine::Sqlite => "DROP TRIGGER shop_order_counts_new",
        Engine::Postgres => "DROP TRIGGER shop_orders_kept_new ON shop_orders",
        Engine::MariaDb => "DROP TRIGGER shop_orders_kept_new",
    };
    // What passes meanwhile is not counted.
    for change in [lose, "DELETE FROM shop_order_blocks", "DELETE FROM shop_address_blocks"] {
        store.execute(plain(change)).await.unwrap();
    }
    store.migrate(REGISTRY).await.unwrap();
    assert_eq!(catalogue(&store, engine).await, before);
    assert_ne!(self::feed(&store).await, feed, "changes may have been lost");
    is_counted(&store).await;
    store.close().await;
}

#[tokio::test]
async fn objects_of_a_newer_program_are_refused() {
    let (store, _database) = filled().await;
    let newer = "UPDATE shop_meta SET derived_number = 9999, derived_digest = 'later'";
    store.execute(plain(newer)).await.unwrap();
    let error = store.migrate(REGISTRY).await.unwrap_err();
    assert!(matches!(error, Error::NewerObjects(9999, NUMBER)), "{error:?}");
    assert!(error.to_string().contains("newer than this program"), "{error}");
    store.close().await;
}

#[tokio::test]
async fn tables_of_an_unreleased_program_are_refused() {
    let (store, database) = filled().await;
    // The first of its many migrations was another one.
    let other = match database.engine {
        Engine::Sqlite => "UPDATE _sqlx_migrations SET checksum = x'00'",
        Engine::Postgres => "UPDATE shop_migrations SET checksum = '\\x00'",
        Engine::MariaDb => "UPDATE shop_migrations SET checksum = x'00'",
    };
    store.execute(plain(other)).await.unwrap();
    let (columns, values) =
        ("(version, description, success, checksum, execution_time)", "(52, 'later', TRUE, '', 0)");
    let table = migrations(database.engine);
    let second = format!("INSERT INTO {table} {columns} VALUES {values}");
    store.execute(plain(second)).await.unwrap();
    let error = store.migrate(REGISTRY).await.unwrap_err();
    assert!(matches!(error, Error::Unreleased), "{error:?}");
    assert!(error.to_string().contains("unreleased version"), "{error}");
    store.close().await;
}

#[tokio::test]
async fn orders_of_an_earlier_version_get_the_lines_that_can_be_refunded() {
    const LINES: &str =
        "SELECT cast(refundable_lines AS char(2000)) FROM shop_orders ORDER BY shop_order_id";
    let (store, database) = filled().await;
    let before = database.texts_at(&database.url(), LINES).await;
    assert!(before.iter().any(|lines| lines.contains("],[")), "{before:?}");
    let migrations = migrations(database.engine);
    for change in [
        "ALTER TABLE shop_orders DROP COLUMN refundable_lines".to_owned(),
        format!("DELETE FROM {migrations} WHERE version = 9"),
    ] {
        store.execute(plain(change)).await.unwrap();
    }
    store.migrate(REGISTRY).await.unwrap();
    assert_eq!(database.texts_at(&database.url(), LINES).await, before);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_continue_while_everything_is_made_anew() {
    let (store, database) = filled().await;
    let writer = Store::open(&database.url()).unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let made = Arc::new(AtomicBool::new(false));
    let (count, end) = (Arc::clone(&written), Arc::clone(&made));
    let writes = tokio::spawn(async move {
        for round in (0..).take_while(|_| !end.load(Ordering::Relaxed)) {
            let change = format!(
                "UPDATE shop_products SET quantity = quantity + 1, enabled = {} \
                 WHERE shop_product_id = {}",
                round % 2,
                round % 40 + 1
            );
            // Conflicts are the clients' to repeat.
            let done = writer.execute(plain(change)).await.is_ok();
            count.fetch_add(usize::from(done), Ordering::Relaxed);
        }
        writer.close().await;
    });
    let mut times = 0;
    while times < ANEW || written.load(Ordering::Relaxed) < ANEW {
        store.execute(plain("DELETE FROM shop_derived")).await.unwrap();
        store.execute(plain(OUTDATED)).await.unwrap();
        store.migrate(REGISTRY).await.unwrap();
        times += 1;
    }
    made.store(true, Ordering::Relaxed);
    writes.await.unwrap();
    is_counted(&store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_that_is_killed_is_continued_by_the_next() {
    let kills = kills(KILLS);
    let place = Place::of_the_store();
    place.serve().await.stop().await;
    let mut store = place.store();
    demo::fill(&store, SIZE, &ProgressHandle::new(())).await.unwrap();
    let engine = place.database.engine;
    let before = catalogue(&store, engine).await;
    let forget = async |store: Store| {
        for change in ["DELETE FROM shop_derived", "DELETE FROM shop_order_blocks", OUTDATED] {
            store.execute(plain(change)).await.unwrap();
        }
        store.close().await;
    };
    forget(store).await;
    let begun = Instant::now();
    place.serve().await.stop().await;
    let longest = begun.elapsed();
    store = place.store();
    let mut rng = randomness();
    let mut unfinished = 0;
    for _ in 0..kills {
        forget(store).await;
        let mut start = place.call("serve --listen 127.0.0.1:0").spawn();
        tokio::time::sleep(longest.mul_f64(rng.f64())).await;
        start.kill().await.unwrap();
        store = place.store();
        let objects = objects(REGISTRY, store.dialect());
        let noted = texts(&store, "SELECT derived_digest FROM shop_meta").await;
        unfinished += usize::from(noted != [digest_of(&objects)]);
        store.migrate(REGISTRY).await.unwrap();
        assert_eq!(catalogue(&store, engine).await, before);
        is_counted(&store).await;
    }
    println!("{unfinished} of {kills} starts had not finished");
    store.close().await;
}

/// The note of an earlier program.
const OUTDATED: &str = "UPDATE shop_meta SET derived_digest = 'earlier'";
const SIZE: demo::Size = demo::Size { products: 40, orders: 60 };

/// A store with demo data.
async fn filled() -> (Store, Database) {
    static FILLED: Template<()> = Template::new();
    Bare::prepared(&FILLED, async |store| {
        demo::fill(store, SIZE, &ProgressHandle::new(())).await.unwrap();
    })
    .await
}

async fn is_counted(store: &Store) {
    let kept = copy::kept(store).await.unwrap();
    assert!(kept.iter().all(|(_, sums)| !sums.is_empty()), "{kept:?}");
    store.recount().await.unwrap();
    assert_eq!(copy::kept(store).await.unwrap(), kept);
}

async fn feed(store: &Store) -> Vec<String> {
    texts(store, "SELECT feed FROM shop_feed").await
}

/// The table of the migrations that have been installed.
fn migrations(engine: Engine) -> &'static str {
    if engine == Engine::Sqlite { "_sqlx_migrations" } else { "shop_migrations" }
}

pub(super) fn plain(text: impl Into<String>) -> Statement {
    Statement { text: text.into(), binds: Vec::new() }
}

async fn texts(store: &Store, question: &str) -> Vec<String> {
    let mut reading = store.begin_read().await.unwrap();
    let texts = reading.texts(plain(question)).await.unwrap();
    reading.commit().await.unwrap();
    texts
}

/// All tables of the store with their columns, and all triggers with their bodies.
pub(super) async fn catalogue(store: &Store, engine: Engine) -> BTreeSet<String> {
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
             WHERE event_object_schema = database() \
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
