//! Equal requests for a report share a computation.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use interleavings::error::Error;
use interleavings::{Flights, explore};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, yield_now};

/// Reports about what is committed, and the computations in progress.
struct Shop {
    flights: Flights<&'static str, usize>,
    committed: AtomicUsize,
    running: Mutex<Vec<&'static str>>,
    /// Each computation takes a permit before it ends.
    gate: Semaphore,
}

/// A computation in progress. It ends when this is dropped.
struct Running(Arc<Shop>, &'static str);

impl Running {
    fn begin(shop: &Arc<Shop>, asked: &'static str) -> Self {
        let mut running = shop.running.lock().unwrap();
        assert!(!running.contains(&asked), "two computations of {asked}");
        running.push(asked);
        assert!(running.len() <= 2, "more computations than places");
        Self(Arc::clone(shop), asked)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A failed test unwinds through here.
        let Ok(mut running) = self.0.running.lock() else { return };
        running.retain(|asked| *asked != self.1);
    }
}

impl Shop {
    fn open() -> Arc<Self> {
        Self::with_gate(Semaphore::MAX_PERMITS)
    }

    fn with_gate(permits: usize) -> Arc<Self> {
        let (committed, running) = (AtomicUsize::new(0), Mutex::default());
        Arc::new(Self {
            flights: Flights::default(),
            committed,
            running,
            gate: Semaphore::new(permits),
        })
    }

    /// A request whose computation goes on until the gate opens.
    async fn during_a_computation() -> (Arc<Self>, JoinHandle<Result<usize, Error>>) {
        let shop = Self::with_gate(0);
        let first = shop.asks("a");
        while shop.running.lock().unwrap().is_empty() {
            yield_now().await;
        }
        (shop, first)
    }

    /// The number of commits, as a report of it sees them.
    async fn ask(self: Arc<Self>, asked: &'static str) -> Result<usize, Error> {
        let compute = |asked| {
            let shop = Arc::clone(&self);
            async move {
                let _running = Running::begin(&shop, asked);
                let seen = shop.committed.load(Ordering::SeqCst);
                yield_now().await;
                shop.gate.acquire().await.unwrap().forget();
                if asked == "fails" { Err(Error::Contract("failed")) } else { Ok(seen) }
            }
        };
        self.flights.ask(asked, compute).await
    }

    fn asks(self: &Arc<Self>, asked: &'static str) -> JoinHandle<Result<usize, Error>> {
        tokio::spawn(Arc::clone(self).ask(asked))
    }

    /// Commits, then asks: the answer has the commit.
    async fn commit_and_ask(self: Arc<Self>, asked: &'static str) {
        let committed = self.committed.fetch_add(1, Ordering::SeqCst) + 1;
        let seen = self.ask(asked).await.unwrap();
        assert!(seen >= committed, "{seen} of {committed}");
    }

    /// Asks and disconnects at some moment.
    async fn ask_and_leave(self: Arc<Self>, asked: &'static str) {
        tokio::select! {
            _ = self.ask(asked) => {}
            () = yield_now() => {}
        }
    }
}

#[test]
fn an_answer_has_all_that_was_committed_before_its_request() {
    explore(|| async {
        let shop = Shop::open();
        let asks: Vec<_> =
            (0..4).map(|_| tokio::spawn(Arc::clone(&shop).commit_and_ask("a"))).collect();
        for ask in asks {
            ask.await.unwrap();
        }
    });
}

#[test]
fn requests_during_a_computation_share_the_next_one() {
    explore(|| async {
        let (shop, first) = Shop::during_a_computation().await;
        let mut others = [(); 2].map(|()| Box::pin(Arc::clone(&shop).commit_and_ask("a")));
        for other in &mut others {
            assert_eq!(other.now_or_never(), None);
        }
        shop.gate.add_permits(2);
        for other in others {
            other.await;
        }
        first.await.unwrap().unwrap();
        assert_eq!(shop.flights.computed(), 2);
    });
}

#[test]
fn equal_requests_are_never_computed_at_the_same_time_and_two_different_ones_are_at_most() {
    explore(|| async {
        let shop = Shop::open();
        let asks: Vec<_> = ["a", "b", "a", "c", "b"].map(|asked| shop.asks(asked)).into();
        for ask in asks {
            ask.await.unwrap().unwrap();
        }
    });
}

#[test]
fn requests_that_leave_end_no_computation_of_others() {
    explore(|| async {
        let (shop, first) = Shop::during_a_computation().await;
        // Both share the next computation, which begins after the first.
        let mut leaves = Box::pin(Arc::clone(&shop).ask("a"));
        let mut stays = Box::pin(Arc::clone(&shop).commit_and_ask("a"));
        assert!((&mut leaves).now_or_never().is_none());
        assert!((&mut stays).now_or_never().is_none());
        let leaves = tokio::spawn(leaves);
        shop.gate.add_permits(1);
        first.await.unwrap().unwrap();
        yield_now().await;
        leaves.abort();
        shop.gate.add_permits(1);
        stays.await;
        assert_eq!(shop.flights.computed(), 2);
    });
}

#[test]
fn a_request_waits_for_the_computation_in_progress_even_if_one_before_it_has_left() {
    explore(|| async {
        let (shop, first) = Shop::during_a_computation().await;
        tokio::spawn(Arc::clone(&shop).ask_and_leave("a")).await.unwrap();
        let last = tokio::spawn(Arc::clone(&shop).commit_and_ask("a"));
        yield_now().await;
        shop.gate.add_permits(3);
        first.await.unwrap().unwrap();
        last.await.unwrap();
    });
}

#[test]
fn a_request_is_answered_even_if_each_computation_that_it_joins_is_left() {
    // It is rare that two in a row are, so there are several chances in each order.
    explore(|| async {
        for _ in 0..8 {
            let (shop, first) = Shop::during_a_computation().await;
            let leave = [(); 3].map(|()| tokio::spawn(Arc::clone(&shop).ask_and_leave("a")));
            let stays = tokio::spawn(Arc::clone(&shop).commit_and_ask("a"));
            for leaves in leave {
                leaves.await.unwrap();
            }
            shop.gate.add_permits(5);
            first.await.unwrap().unwrap();
            stays.await.unwrap();
        }
    });
}

#[test]
fn when_all_have_left_nothing_goes_on_and_later_requests_are_answered() {
    explore(|| async {
        // No computation ends by itself.
        let shop = Shop::with_gate(0);
        for leaves in
            ["a", "a", "b"].map(|asked| tokio::spawn(Arc::clone(&shop).ask_and_leave(asked)))
        {
            leaves.await.unwrap();
        }
        while !shop.running.lock().unwrap().is_empty() {
            yield_now().await;
        }
        shop.gate.add_permits(2);
        shop.commit_and_ask("a").await;
    });
}

#[test]
fn an_error_reaches_all_who_share_it() {
    explore(|| async {
        let shop = Shop::open();
        for ask in [(); 3].map(|()| shop.asks("fails")) {
            let answer = ask.await.unwrap();
            assert!(matches!(&answer, Err(Error::Shared(_))), "{answer:?}");
        }
    });
}
