//! Requests with the same key go one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interleavings::error::{Error, FaultKind};
use interleavings::key_queue::KeyQueue;
use interleavings::{Caller, Request, exhaust, explore};
use shuttle::current::{me, set_label_for_task};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, yield_now};

/// The requests of one key, and how many of them hold it.
#[derive(Default)]
struct Desk {
    queue: KeyQueue,
    holders: AtomicUsize,
}

/// The label of tasks whose patience ends.
#[derive(Clone, Debug)]
struct Impatient;

fn request(user: i64, key: &str) -> Request {
    Request(Caller(user), key.to_owned())
}

impl Desk {
    /// A request that holds the key for a while.
    async fn hold(self: Arc<Self>) -> Result<(), Error> {
        let held = self.queue.wait(&request(1, "a")).await?;
        assert_eq!(self.holders.fetch_add(1, Ordering::SeqCst), 0, "two hold the key");
        yield_now().await;
        self.holders.fetch_sub(1, Ordering::SeqCst);
        drop(held);
        Ok(())
    }

    fn holds(self: &Arc<Self>) -> JoinHandle<Result<(), Error>> {
        tokio::spawn(Arc::clone(self).hold())
    }

    /// Debug output is the only view of the lanes from outside.
    fn assert_no_lane_is_left(&self) {
        let queue = format!("{:?}", self.queue);
        assert!(queue.contains("{}"), "{queue}");
    }
}

async fn one_holds_it_at_a_time(requests: usize) {
    let desk = Arc::new(Desk::default());
    let requests: Vec<_> = (0..requests).map(|_| desk.holds()).collect();
    for request in requests {
        request.await.unwrap().unwrap();
    }
    desk.assert_no_lane_is_left();
}

#[test]
fn of_requests_with_one_key_one_holds_it_at_a_time_and_no_lane_is_left() {
    explore(|| one_holds_it_at_a_time(4));
}

#[test]
fn in_every_order_of_two_requests_with_one_key_one_holds_it_at_a_time() {
    exhaust(|| one_holds_it_at_a_time(2));
}

#[test]
fn other_keys_and_other_users_do_not_wait() {
    explore(|| async {
        let desk = Arc::new(Desk::default());
        let (ends, until) = oneshot::channel();
        let first = Arc::clone(&desk);
        let first = tokio::spawn(async move {
            let _held = first.queue.wait(&request(1, "a")).await.unwrap();
            until.await.unwrap();
        });
        // The first one holds its key until both others have theirs; they would wait for ever.
        let _other_key = desk.queue.wait(&request(1, "b")).await.unwrap();
        let _other_user = desk.queue.wait(&request(2, "a")).await.unwrap();
        ends.send(()).unwrap();
        first.await.unwrap();
    });
}

#[test]
fn a_request_that_disconnects_blocks_nobody_and_leaves_no_lane() {
    explore(|| async {
        let desk = Arc::new(Desk::default());
        let (before, leaves, after) = (desk.holds(), Arc::clone(&desk), desk.holds());
        let leaves = tokio::spawn(async move {
            let request = request(1, "a");
            tokio::select! {
                held = leaves.queue.wait(&request) => drop(held.unwrap()),
                () = yield_now() => {}
            }
        });
        leaves.await.unwrap();
        before.await.unwrap().unwrap();
        after.await.unwrap().unwrap();
        desk.assert_no_lane_is_left();
    });
}

#[test]
fn a_request_whose_patience_ends_is_refused_blocks_nobody_and_leaves_no_lane() {
    explore(|| async {
        let desk = Arc::new(Desk::default());
        let (before, leaves, after) = (desk.holds(), Arc::clone(&desk), desk.holds());
        let leaves = tokio::spawn(async move {
            set_label_for_task(me(), Impatient);
            leaves.hold().await
        });
        yield_now().await;
        tokio::time::trigger_timeouts(|labels| labels.get::<Impatient>().is_some());
        match leaves.await.unwrap() {
            Ok(()) | Err(Error::Fault(FaultKind::RequestInProgress)) => {}
            Err(other) => panic!("{other}"),
        }
        before.await.unwrap().unwrap();
        after.await.unwrap().unwrap();
        desk.assert_no_lane_is_left();
    });
}
