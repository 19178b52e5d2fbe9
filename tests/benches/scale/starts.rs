//! What a start does to bring the objects of a store up to date that follow from descriptions: if nothing has
//! changed since the last one, if a trigger has, and if the rules of a kept count have, so that it is filled anew.

use std::time::Instant;

use plugin::resources::REGISTRY;
use plugin::store::Store as Tables;

use crate::machine::median;

use super::stores::{Engine, Store, run};
use super::{Settings, verdict};

/// The limit of a start without changes, in milliseconds, beyond the time of its connection.
const UNCHANGED: f64 = 50.0;

/// Measures the starts of one program, after its first connection. On a server, each opens another one, whose
/// time depends on the driver and on encryption; it is measured beside it.
pub async fn measure(settings: &Settings, engine: Engine, store: &Store) {
    println!("### Starts\n");
    println!("ms, {}; medians of {} rounds\n", store.size, settings.rounds);
    println!(
        "| what has changed | a connection | the start, with its connection | limit beyond it |"
    );
    println!("|---|---|---|---|");
    for (what, condition, most) in [
        ("nothing", "1 = 2", Some(UNCHANGED)),
        ("a trigger", "name LIKE '% shop_zones_feed%'", None),
        ("a kept count of orders", "name = 'table shop_order_counts'", None),
    ] {
        let (mut connecting, mut starting) = (Vec::new(), Vec::new());
        for _ in 0..settings.rounds {
            let change = format!(
                "UPDATE shop_derived SET digest = 'another' WHERE {condition}; \
                 UPDATE shop_meta SET derived_digest = 'another' \
                 WHERE EXISTS (SELECT 1 FROM shop_derived WHERE digest = 'another')"
            );
            run(engine, &store.tables, &change).await.unwrap();
            let tables = Tables::open(&store.tables).unwrap();
            let begun = Instant::now();
            tables.ping().await.unwrap();
            connecting.push(milliseconds(begun));
            let begun = Instant::now();
            tables.migrate(REGISTRY).await.unwrap();
            starting.push(milliseconds(begun));
            tables.close().await;
        }
        let [connection, start] = [connecting, starting].map(median);
        let met = |most: &f64| verdict(start - connection <= *most);
        let limit = most.map_or_else(|| "none".to_owned(), |most| format!("{most}{}", met(&most)));
        println!("| {what} | {connection:.1} | {start:.1} | {limit} |");
    }
    println!();
}

fn milliseconds(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
