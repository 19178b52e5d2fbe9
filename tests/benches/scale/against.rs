//! A page of products through host and plugin, token and permission included, against a handler that
//! was written by hand for this one list and checks nothing.

use super::race;
use super::stores::{Engine, Host, Store};

/// How many of the requests of the handler by hand the host is to answer.
const BAR: f64 = 0.8;

/// Both, taking turns on the same database.
pub async fn measure(rounds: usize, engine: Engine, store: &Store) {
    if engine == Engine::MariaDb {
        return;
    }
    let by_hand = Host::of_this_program("bare", &store.tables);
    let host = store.serve();
    println!("### Against a handler by hand\n");
    race::head(["by hand", "host"], rounds);
    race::row("/products", [&by_hand, &host], rounds, BAR).await;
    println!();
}
