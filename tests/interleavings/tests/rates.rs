//! A token has as many requests in any 60 seconds as its rate, over all hosts.

use std::sync::{Arc, Mutex};

use interleavings::database::Database;
use interleavings::{Rates, explore};
use scheduled_std::time::{Duration, Instant};
use tokio::task::yield_now;

const WINDOW: Duration = Duration::from_secs(60);

/// When an admitted request was sent and when it was answered.
type Admitted = (Instant, Instant);

/// Whether more than the rate were certainly in less than the window: from the moment when the first was sent until
/// the last was answered.
fn too_many(admitted: &[Admitted], rate: usize) -> bool {
    admitted.iter().any(|(first, _)| {
        let later = admitted.iter().filter(|(sent, _)| sent >= first);
        let mut ends: Vec<_> = later.map(|(_, answered)| *answered).collect();
        ends.sort_unstable();
        ends.get(rate).is_some_and(|last| last.saturating_duration_since(*first) < WINDOW)
    })
}

#[test]
fn no_window_has_more_requests_than_the_rate() {
    explore(|| async {
        let (rates, admitted) = (Arc::new(Rates::default()), Arc::new(Mutex::new(Vec::new())));
        let clock = tokio::spawn(async {
            for _ in 0..6 {
                Instant::advance(Duration::from_secs(25));
                yield_now().await;
            }
        });
        let clients = [(); 3].map(|()| {
            let (rates, admitted) = (Arc::clone(&rates), Arc::clone(&admitted));
            tokio::spawn(async move {
                for _ in 0..4 {
                    let sent = Instant::now();
                    if rates.count(1, 2).is_ok() {
                        admitted.lock().unwrap().push((sent, Instant::now()));
                    }
                    yield_now().await;
                }
            })
        });
        for task in clients.into_iter().chain([clock]) {
            task.await.unwrap();
        }
        let admitted = admitted.lock().unwrap();
        assert!(!too_many(&admitted, 2), "{admitted:?}");
    });
}

#[test]
fn a_refused_request_is_admitted_after_the_time_that_it_is_given() {
    explore(|| async {
        let rates = Arc::new(Rates::default());
        let clients = [(); 4].map(|()| {
            let rates = Arc::clone(&rates);
            tokio::spawn(async move {
                Instant::advance(Duration::from_millis(1_300));
                rates.count(1, 3)
            })
        });
        let mut refused = Vec::new();
        for client in clients {
            refused.extend(client.await.unwrap().err());
        }
        // No others come meanwhile.
        assert_eq!(refused.len(), 1);
        Instant::advance(Duration::from_secs(refused[0].reset));
        assert!(rates.count(1, 3).is_ok(), "{refused:?}");
    });
}

#[test]
fn two_hosts_come_to_know_each_request_of_both_once() {
    explore(|| async {
        let database = Database::default();
        let other = database.of_another_host();
        let hosts = [database, other].map(|database| Arc::new((Rates::default(), database)));
        let exchanges = hosts.each_ref().map(|host| {
            let host = Arc::clone(host);
            tokio::spawn(async move { host.0.follow(&host.1).await })
        });
        let clients = hosts.each_ref().map(|host| {
            let host = Arc::clone(host);
            tokio::spawn(async move {
                for _ in 0..3 {
                    host.0.count(1, 100).unwrap();
                    yield_now().await;
                }
            })
        });
        for client in clients {
            client.await.unwrap();
        }
        // All are sent in the first exchange that begins from now on, and known after another one.
        for _ in 0..2 {
            for until in hosts.each_ref().map(|host| (Arc::clone(host), host.1.ended() + 3)) {
                while until.0.1.ended() < until.1 {
                    yield_now().await;
                }
            }
        }
        for exchange in exchanges {
            exchange.abort();
            assert!(exchange.await.is_err());
        }
        for host in hosts {
            assert_eq!(host.0.count(1, 100).unwrap().remaining, 100 - 6 - 1);
        }
    });
}
