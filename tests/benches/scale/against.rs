//! A page of products through host and plugin, including token and permission, against a handler
//! that was written by hand for this list and checks nothing.

use super::race;
use super::stores::{Engine, Host, Store};

/// The share of the hand-written handler's requests per second that the host must reach.
const BAR: f64 = 0.8;

/// Measures both alternately on the same database.
pub async fn measure(rounds: usize, engine: Engine, store: &Store) {
    if engine == Engine::MariaDb {
        return;
    }
    let by_hand = Host::of_this_program("bare", &store.tables);
    let host = store.serve();
    println!("### Against a hand-written handler\n");
    race::head(["by hand", "host"], rounds);
    race::row("/products", [&by_hand, &host], rounds, BAR).await;
    println!();
}
