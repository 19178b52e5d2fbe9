//! Requests that wait have a limited number of places, and so has each holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use interleavings::{Places, explore};
use tokio::task::yield_now;

/// Requests with these tokens ask for a place at the same time, of which so many may be held.
async fn at_most(most: usize, places: usize, tokens: &'static [&'static str]) {
    let (places, waiting) = (Arc::new(Places::new(places)), Arc::new(AtomicUsize::new(0)));
    let free = format!("{places:?}");
    let requests: Vec<_> = tokens
        .iter()
        .map(|token| {
            let (places, waiting) = (Arc::clone(&places), Arc::clone(&waiting));
            tokio::spawn(async move {
                let answering = async {
                    assert!(waiting.fetch_add(1, Ordering::SeqCst) < most, "too many wait");
                    yield_now().await;
                    waiting.fetch_sub(1, Ordering::SeqCst);
                };
                places.wait(token, answering).await.is_some()
            })
        })
        .collect();
    let mut granted = 0;
    for request in requests {
        granted += usize::from(request.await.unwrap());
    }
    assert!(granted >= most, "{granted} have waited");
    assert_eq!(format!("{places:?}"), free, "a place is not free again");
}

#[test]
fn no_more_wait_than_there_are_places() {
    explore(|| at_most(2, 2, &["a", "b", "c", "d"]));
}

#[test]
fn a_holder_has_a_tenth_of_the_places() {
    explore(|| at_most(2, 20, &["a"; 4]));
}
