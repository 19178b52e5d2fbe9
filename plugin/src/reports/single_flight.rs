//! One shared computation for equal requests at the same moment, so that the cost of a report does
//! not depend on the number of clients. Independent of particular reports.
//!
//! A computation in progress may miss what has been committed since it began. A request that
//! arrives during one shares the next one, so its report includes everything that was committed
//! before the request. No request owns a computation: it continues when the first client
//! disconnects, and ends when all have.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::error::Error;
use crate::store;

/// The time limit of a report.
const LONGEST: Duration = Duration::from_secs(20);
/// How long a request waits for other computations.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many computations without a result a request may join: those that panic, and those that all others have
/// left just before.
const ATTEMPTS: usize = 5;

/// The computations in progress, each once.
#[derive(Debug)]
pub(super) struct SingleFlight<A, V> {
    known: Mutex<Vec<Computing<A, V>>>,
    /// Limits how many run at once, because others need processors and connections, too.
    places: Arc<Semaphore>,
    computed: Arc<AtomicU64>,
}

type Outcome<V> = Result<V, Arc<Error>>;

#[derive(Debug)]
struct Computing<A, V> {
    asked: A,
    /// The waiting requests listen here.
    outcome: Weak<watch::Sender<Option<Outcome<V>>>>,
    begun: Arc<AtomicBool>,
    /// Serialises the computations for equal requests.
    queue: Arc<Semaphore>,
}

impl<A, V> Default for SingleFlight<A, V> {
    fn default() -> Self {
        let places = std::thread::available_parallelism().map_or(1, usize::from).max(2);
        Self {
            known: Mutex::default(),
            places: Arc::new(Semaphore::new(places)),
            computed: Arc::default(),
        }
    }
}

impl<A, V> SingleFlight<A, V>
where
    A: Clone + PartialEq,
    V: Clone + Send + Sync + 'static,
{
    /// The result of a request, computed once for all equal requests at this moment.
    ///
    /// # Errors
    /// Errors of the computation, and when it takes too long or has to wait for too long.
    pub(super) async fn ask<F>(&self, asked: A, compute: impl Fn(A) -> F) -> Result<V, Error>
    where
        F: Future<Output = Result<V, Error>> + Send + 'static,
    {
        for _ in 0..ATTEMPTS {
            let mut outcome = self.join(&asked, &compute);
            let outcome = outcome.wait_for(Option::is_some).await;
            if let Some(outcome) = outcome.ok().and_then(|outcome| outcome.clone()) {
                return outcome.map_err(Error::Shared);
            }
        }
        Err(Error::Contract("the computation of a report failed"))
    }

    /// The number of computations so far.
    pub(super) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    fn join<F>(&self, asked: &A, compute: impl Fn(A) -> F) -> watch::Receiver<Option<Outcome<V>>>
    where
        F: Future<Output = Result<V, Error>> + Send + 'static,
    {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // One that waits may be left by all before an earlier one ends, whose queue is then still needed.
        known.retain(|computing| {
            computing.outcome.strong_count() > 0 || Arc::strong_count(&computing.queue) > 1
        });
        let same = known.iter_mut().find(|computing| computing.asked == *asked);
        if let Some(same) = &same
            && !same.begun.load(Ordering::SeqCst)
            && let Some(outcome) = same.outcome.upgrade()
        {
            return outcome.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        let (sender, begun) = (Arc::new(sender), Arc::new(AtomicBool::new(false)));
        let new = Computing {
            asked: asked.clone(),
            outcome: Arc::downgrade(&sender),
            begun: Arc::clone(&begun),
            queue: same
                .as_ref()
                .map_or_else(|| Arc::new(Semaphore::new(1)), |same| same.queue.clone()),
        };
        let (queue, places) = (Arc::clone(&new.queue), Arc::clone(&self.places));
        match same {
            Some(same) => *same = new,
            None => known.push(new),
        }
        drop(known);
        let (work, computed) = (compute(asked.clone()), Arc::clone(&self.computed));
        let compute = {
            let sender = Arc::clone(&sender);
            move |place: Permits| {
                let compute = async move {
                    let _place = place;
                    tokio::select! {
                        done = tokio::time::timeout(LONGEST, work) => {
                            let done = done.unwrap_or_else(|_| Err(store::busy()));
                            sender.send_replace(Some(done.map_err(Arc::new)));
                        }
                        () = sender.closed() => {}
                    }
                };
                // Adding up many lines would block a thread that serves requests.
                let runtime = Handle::current();
                drop(tokio::task::spawn_blocking(move || {
                    begun.store(true, Ordering::SeqCst);
                    computed.fetch_add(1, Ordering::Relaxed);
                    runtime.block_on(compute)
                }));
            }
        };
        // Usually nothing has to be waited for, and no task for that.
        if let Some(place) = place(Arc::clone(&queue), Arc::clone(&places)).now_or_never() {
            compute(place);
            return receiver;
        }
        tokio::spawn(async move {
            let place = tokio::select! {
                place = tokio::time::timeout(PATIENCE, place(queue, places)) => place,
                () = sender.closed() => return,
            };
            match place {
                Ok(place) => compute(place),
                Err(_) => drop(sender.send_replace(Some(Err(Arc::new(store::busy()))))),
            }
        });
        receiver
    }
}

/// What a computation holds until it ends.
type Permits = [Option<OwnedSemaphorePermit>; 2];

/// A permit to compute, after all earlier computations for equal requests.
async fn place(queue: Arc<Semaphore>, places: Arc<Semaphore>) -> Permits {
    // These semaphores are never closed.
    [queue.acquire_owned().await.ok(), places.acquire_owned().await.ok()]
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use tokio::sync::Notify;

    use super::*;

    /// A computation that returns the number of earlier ones, once its gate is open.
    struct Counted {
        flights: SingleFlight<&'static str, usize>,
        gate: Semaphore,
        begun: Notify,
        ended: Notify,
    }

    /// Notifies when a computation has ended, whether it completed or was aborted.
    struct Ends(Arc<Counted>);

    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.ended.notify_one();
        }
    }

    impl Counted {
        fn new() -> Arc<Self> {
            let (flights, gate) = (SingleFlight::default(), Semaphore::new(0));
            Arc::new(Self { flights, gate, begun: Notify::new(), ended: Notify::new() })
        }

        async fn ask(self: Arc<Self>, asked: &'static str) -> usize {
            let compute = |_| {
                let counted = Arc::clone(&self);
                async move {
                    let _ends = Ends(Arc::clone(&counted));
                    counted.begun.notify_one();
                    counted.gate.acquire().await.unwrap().forget();
                    Ok(usize::try_from(counted.flights.computed()).unwrap())
                }
            };
            self.flights.ask(asked, compute).await.unwrap()
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_request_during_a_computation_shares_the_next_one() {
        let counted = Counted::new();
        let first = tokio::spawn(counted.clone().ask("a"));
        counted.begun.notified().await;
        let others = futures_util::future::join_all((0..10).map(|_| counted.clone().ask("a")));
        let mut others = Box::pin(others);
        assert!((&mut others).now_or_never().is_none());
        counted.gate.add_permits(2);
        assert_eq!(first.await.unwrap(), 1);
        assert_eq!(others.await, [2; 10]);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_disconnected_client_does_not_end_a_shared_computation() {
        let counted = Counted::new();
        // Another computation blocks it, so that both requests share it.
        let before = tokio::spawn(counted.clone().ask("a"));
        counted.begun.notified().await;
        let mut leaves = Box::pin(counted.clone().ask("a"));
        let mut stays = Box::pin(counted.clone().ask("a"));
        assert!((&mut leaves).now_or_never().is_none());
        assert!((&mut stays).now_or_never().is_none());
        counted.gate.add_permits(1);
        before.await.unwrap();
        counted.begun.notified().await;
        drop(leaves);
        counted.gate.add_permits(1);
        assert_eq!(stays.await, 2);
    }

    #[tokio::test]
    async fn a_request_after_one_that_left_waits_for_the_computation_in_progress() {
        let counted = Counted::new();
        let before = tokio::spawn(counted.clone().ask("a"));
        counted.begun.notified().await;
        let mut leaves = Box::pin(counted.clone().ask("a"));
        assert!((&mut leaves).now_or_never().is_none());
        drop(leaves);
        // The task that waits for it ends.
        tokio::task::yield_now().await;
        let stays = tokio::spawn(counted.clone().ask("a"));
        let beside = tokio::time::timeout(Duration::from_millis(50), counted.begun.notified());
        assert!(beside.await.is_err(), "two computations at the same time");
        counted.gate.add_permits(2);
        assert_eq!(before.await.unwrap(), 1);
        assert_eq!(stays.await.unwrap(), 2);
    }

    /// A computation must not monopolise the only thread.
    #[tokio::test]
    async fn other_tasks_run_during_a_computation() {
        let flights = SingleFlight::<&str, u8>::default();
        let (others, done) = std::sync::mpsc::channel::<u8>();
        let done = Mutex::new(Some(done));
        let compute = |_| {
            let done = done.lock().unwrap().take().unwrap();
            async move { Ok(done.recv_timeout(Duration::from_secs(10)).unwrap()) }
        };
        let asked = flights.ask("a", compute);
        let answered = async {
            while flights.computed() == 0 {
                tokio::task::yield_now().await;
            }
            others.send(7).unwrap();
        };
        let (computed, ()) = tokio::join!(asked, answered);
        assert_eq!(computed.unwrap(), 7);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_computation_without_clients_is_ended() {
        let counted = Counted::new();
        let asked = tokio::spawn(counted.clone().ask("a"));
        counted.begun.notified().await;
        asked.abort();
        counted.ended.notified().await;
        counted.gate.add_permits(1);
        assert_eq!(counted.clone().ask("a").await, 2);
    }
}
