//! The project's own synchronisation under the scheduler of [shuttle], which runs a test in thousands of orders
//! of its tasks. Knows nothing of what requests, reports and databases do.
//!
//! The files of the project are compiled as they are. `tokio`, and the locks and atomics of `std`, are those of
//! shuttle: each use is a point at which another task may continue. What else the files import has stand-ins
//! below. Their private items have wrappers here, because the tests are other crates; so the unit tests in the
//! files are not compiled.
//!
//! Not explored: orders of memory other than `SeqCst`; switches between two operations on the counts of an `Arc`
//! or of the receivers of a `watch`; moments at which a time limit ends, except where a test names them.

// What the files of the project mean by `std`, `axum`, `host_interface` and `host_service`.
extern crate scheduled_std as std;
extern crate self as axum;
extern crate self as host_interface;
extern crate self as host_service;

pub use http;

mod standins;
pub use standins::*;

#[path = "../../../plugin/src/service/key_queue.rs"]
pub mod key_queue;
#[path = "../../../example-host/src/base/lock.rs"]
mod lock;
#[path = "../../../example-host/src/identity/rates.rs"]
mod rates;
#[path = "../../../plugin/src/reports/single_flight.rs"]
mod single_flight;
#[path = "../../../host-interface/host-service/src/waiters.rs"]
#[allow(dead_code, reason = "the headers of answers are no matter of these tests")]
mod waiters;
#[path = "../../../example-host/src/identity/window.rs"]
mod window;

use std::sync::Arc;

use shuttle::scheduler::{DfsScheduler, PctScheduler, RandomScheduler, ReplayScheduler, Scheduler};

/// In how many orders a test runs, for each of two ways to choose them: at random, and by priorities that
/// change at a few moments.
const ORDERS: usize = 10_000;

/// Runs a test in many orders of its tasks; `TEST_ORDERS` is another number of them. A test that fails prints
/// its order, and `TEST_ORDER` repeats it.
pub fn explore<F: Future<Output = ()> + 'static>(test: impl Fn() -> F + Send + Sync + 'static) {
    if let Ok(order) = std::env::var("TEST_ORDER") {
        return run(ReplayScheduler::new_from_encoded(&order), Arc::new(test));
    }
    let orders = std::env::var("TEST_ORDERS").ok().and_then(|orders| orders.parse().ok());
    let orders = orders.unwrap_or(ORDERS);
    let test = Arc::new(test);
    run(RandomScheduler::new(orders), Arc::clone(&test));
    run(PctScheduler::new(3, orders), test);
}

/// Runs a test in all orders of its tasks.
pub fn exhaust<F: Future<Output = ()> + 'static>(test: impl Fn() -> F + Send + Sync + 'static) {
    run(DfsScheduler::new(None, false), Arc::new(test));
}

fn run<F: Future<Output = ()> + 'static>(
    scheduler: impl Scheduler + 'static,
    test: Arc<impl Fn() -> F + Send + Sync + 'static>,
) {
    let mut config = shuttle::Config::new();
    // It warns of weaker orders of memory, see above.
    config.silence_warnings = true;
    shuttle::Runner::new(scheduler, config).run(move || {
        tokio::time::clear_triggers();
        shuttle::future::block_on(test());
    });
}

/// The shared computations of the plugin. There are places for two at once.
#[derive(Default)]
pub struct Flights<A, V>(single_flight::SingleFlight<A, V>);

impl<A: Clone + PartialEq, V: Clone + Send + Sync + 'static> Flights<A, V> {
    /// The result for a request.
    ///
    /// # Errors
    /// Those of the computation.
    pub async fn ask<F>(&self, asked: A, compute: impl Fn(A) -> F) -> Result<V, error::Error>
    where
        F: Future<Output = Result<V, error::Error>> + Send + 'static,
    {
        self.0.ask(asked, compute).await
    }

    /// The number of computations so far.
    pub fn computed(&self) -> u64 {
        self.0.computed()
    }
}

/// The rates of the tokens of a host.
#[derive(Default)]
pub struct Rates(rates::Rates);

impl Rates {
    /// Counts a request with a token.
    ///
    /// # Errors
    /// When it is one too many.
    pub fn count(&self, token: i64, rate: u32) -> Result<RateLimit, RateLimit> {
        self.0.count(token, rate)
    }

    /// Exchanges counts with other hosts for ever.
    pub async fn follow(&self, database: &database::Database) {
        self.0.follow(database).await;
    }
}

/// The places of a host for requests that wait.
#[derive(Debug)]
pub struct Places(waiters::Waiters);

impl Places {
    /// So many.
    pub fn new(places: usize) -> Self {
        Self(waiters::Waiters::new(places))
    }

    /// Waits for an answer in a place, as the holder of a token; `None` if there is no place for it.
    pub async fn wait<T>(&self, token: &str, answering: impl Future<Output = T>) -> Option<T> {
        let granted = self.0.grant(1, waiters::Holder::all(Some(token), None), None);
        Some(granted.ok()??.during(answering).await)
    }
}
