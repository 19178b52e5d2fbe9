//! What a start does to bring the objects of a store up to date that follow from descriptions: if nothing has
//! changed since the last one, if a trigger has, and if the rules of a kept count have, so that it is filled anew.

use std::time::Instant;

use plugin::resources::REGISTRY;
use plugin::store::Store as Tables;

use crate::machine::median;

use super::stores::{Engine, Store, run};
use super::{Settings, verdict};

/// The limit of a start without changes, in milliseconds.
const UNCHANGED: f64 = 50.0;

/// Measures the starts of one program, after its first connection.
pub async fn measure(settings: &Settings, engine: Engine, store: &Store) {
    println!("### Starts\n");
    println!("ms, {}; medians of {} rounds\n", store.size, settings.rounds);
    println!("| what has changed | time | limit |");
    println!("|---|---|---|");
    for (what, condition, most) in [
        ("nothing", "1 = 2", Some(UNCHANGED)),
        ("a trigger", "name LIKE '% shop_zones_feed%'", None),
        ("a kept count of orders", "name = 'table shop_order_counts'", None),
    ] {
        let mut taken = Vec::new();
        for _ in 0..settings.rounds {
            let change = format!(
                "UPDATE shop_derived SET digest = 'another' WHERE {condition}; \
                 UPDATE shop_meta SET derived_digest = 'another' \
                 WHERE EXISTS (SELECT 1 FROM shop_derived WHERE digest = 'another')"
            );
            run(engine, &store.tables, &change).await.unwrap();
            let tables = Tables::open(&store.tables).unwrap();
            tables.ping().await.unwrap();
            let begun = Instant::now();
            tables.migrate(REGISTRY).await.unwrap();
            taken.push(begun.elapsed().as_secs_f64() * 1e3);
            tables.close().await;
        }
        let time = median(taken);
        let limit = most
            .map_or_else(|| "none".to_owned(), |most| format!("{most}{}", verdict(time <= most)));
        println!("| {what} | {time:.1} | {limit} |");
    }
    println!();
}
