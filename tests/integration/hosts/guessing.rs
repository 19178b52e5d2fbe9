//! Wrong passwords in any number: a flood of them changes neither the memory of a host nor what its API
//! answers, and few addresses that guess a name do not keep its owner out.
//!
//! With `TEST_SIGN_INS=100` the owner signs in so often, every ten seconds.
//! With `TEST_GUESSES=1000000` there are that many, the flood has the pace of the variable
//! `TEST_GUESSES_PER_SECOND`, and the times of the API with and without it are compared.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

use crate::support::harness::{Answer, ROOT};
use crate::support::process::{Place, Served};
use crate::support::visitor::{PASSWORD, Visitor};
use crate::support::waiting::eventually;

/// The addresses that the attempts come from.
const ADDRESSES: usize = 10_000;

/// The names that are tried; one of them exists.
const NAMES: usize = 1_000;

/// How many connections the flood uses.
const CONNECTIONS: usize = 32;

/// In how many parts a compared flood comes. What else the machine does is then before and beside the
/// flood.
const PARTS: usize = 10;

/// How long the API is measured before each of them.
const QUIET: Duration = Duration::from_secs(5);

/// Within what time users get in.
const SOON: Duration = Duration::from_secs(10);

/// The clients that use the API while a name is guessed.
const CLIENTS: usize = 24;

/// How much more memory the host may use.
const MEMORY: usize = 20 * 1024 * 1024;

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// The attempts so far, by their status.
#[derive(Default)]
struct Flood {
    begun: AtomicUsize,
    wrong: AtomicUsize,
    throttled: AtomicUsize,
    busy: AtomicUsize,
}

impl Flood {
    /// Sends attempts until there have been so many, not more than so many a second. They come from a
    /// thread of their own, because the client whose times are measured is not to wait for them.
    async fn send(self: &Arc<Self>, address: SocketAddr, until: usize, pace: usize) {
        let flood = Arc::clone(self);
        let sending = move || {
            let runtime = Builder::new_current_thread().enable_all().build().unwrap();
            let (first, start) = (flood.begun.load(Ordering::Relaxed), Instant::now());
            let due = |number: usize| {
                start
                    + Duration::from_secs(1) * u32::try_from(number - first).unwrap()
                        / u32::try_from(pace).unwrap()
            };
            let connections = (0..CONNECTIONS).map(|_| flood.connection(address, until, due));
            runtime.block_on(futures_util::future::join_all(connections));
            flood.begun.store(until, Ordering::Relaxed);
        };
        tokio::task::spawn_blocking(sending).await.unwrap();
    }

    async fn connection(&self, address: SocketAddr, until: usize, due: impl Fn(usize) -> Instant) {
        let mut connection = TcpStream::connect(address).await.unwrap();
        loop {
            let number = self.begun.fetch_add(1, Ordering::Relaxed);
            if number >= until {
                return;
            }
            tokio::time::sleep_until(due(number).into()).await;
            let counter = match attempt(&mut connection, number).await {
                422 => &self.wrong,
                429 => &self.throttled,
                503 => &self.busy,
                status => panic!("attempt {number} got {status}"),
            };
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sends an attempt and returns the status of its answer, with as little work as possible: the test
/// shares its processors with the host.
async fn attempt(connection: &mut TcpStream, number: usize) -> u16 {
    // Each address tries other names than those before it.
    let (address, name) = (number % ADDRESSES, number * 7 % NAMES);
    let name = if name == 0 { "ann".to_owned() } else { format!("user{name}") };
    let body = format!("username={name}&password=guess+number+{number}");
    let request = format!(
        "POST /administrator/sign-in HTTP/1.1\r\nhost: localhost\r\norigin: http://localhost\r\n\
         x-forwarded-for: 10.1.{}.{}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         content-length: {}\r\n\r\n{body}",
        address / 250,
        address % 250 + 1,
        body.len()
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    let (mut answer, mut piece) = (Vec::new(), [0; 8192]);
    loop {
        let count = connection.read(&mut piece).await.unwrap();
        assert!(count > 0, "the connection was closed");
        answer.extend_from_slice(&piece[..count]);
        let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = std::str::from_utf8(&answer[..end]).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if answer.len() == end + 4 + length.unwrap().parse::<usize>().unwrap() {
            return head.split(' ').nth(1).unwrap().parse().unwrap();
        }
    }
}

/// The times of requests to the API, which are sent in turn until something else has ended.
async fn times(served: &Served, token: &str, during: impl Future<Output = ()>) -> Vec<Duration> {
    let mut times = Vec::new();
    let asking = async {
        loop {
            let begun = Instant::now();
            let path = format!("{ROOT}/countries?page[limit]=20");
            let answer = Answer::to(served.get(&path, token)).await;
            assert_eq!(answer.status, 200);
            times.push(begun.elapsed());
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        () = during => {}
        () = asking => {}
    }
    times
}

/// The time within which 99 of 100 requests were answered.
fn p99(what: &str, times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("{what}: {} requests, median {median:?}, p99 {p99:?}", times.len());
    p99
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(target_os = "linux"), ignore = "memory is read from /proc")]
async fn a_flood_of_wrong_passwords_costs_neither_memory_nor_the_api() {
    let count = number("TEST_GUESSES");
    let pace = number("TEST_GUESSES_PER_SECOND").unwrap_or(2_000);
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    let token = place.user("bob", "Administrator").await;
    let environment = [
        ("HOST_TRUSTED_PROXIES", "127.0.0.1"),
        // Lines about a million requests would only fill the memory of the test.
        ("HOST_LOG", "info,access=off,administration=off"),
    ];
    let served = place.serve_with(&environment).await;
    // A few passwords, and the first requests, so that what every host needs is there.
    let mut ann = Visitor::of(&served.url("")).with("x-forwarded-for", "192.0.2.1");
    for _ in 0..4 {
        assert_eq!(ann.sign_in("ann", PASSWORD).await.status, 303);
    }
    times(&served, &token, tokio::time::sleep(Duration::from_secs(2))).await;
    let before = served.memory();
    let (all, parts) = count.map_or((5_000, 1), |count| (count, PARTS));
    let (flood, flooded) = (Arc::new(Flood::default()), Instant::now());
    let (mut quiet, mut loud) = (Vec::new(), Vec::new());
    for part in 1..=parts {
        quiet.extend(times(&served, &token, tokio::time::sleep(QUIET)).await);
        let sent = flood.send(served.address, all * part / parts, pace);
        let mut again = Visitor::of(&served.url("")).with("x-forwarded-for", "192.0.2.1");
        again.cookies.clone_from(&ann.cookies);
        again.cookies.remove("administration");
        let known = async {
            // Once there is a flood.
            tokio::time::sleep(Duration::from_secs(1)).await;
            let begun = Instant::now();
            assert_eq!(again.sign_in("ann", PASSWORD).await.status, 303);
            begun.elapsed()
        };
        let sent = async {
            let ((), took) = tokio::join!(sent, known);
            assert!(took < SOON, "a known device waited for {took:?}");
        };
        loud.extend(times(&served, &token, sent).await);
    }
    let after = served.memory();
    let (quiet, loud) = (p99("without the flood", &mut quiet), p99("beside it", &mut loud));
    let [wrong, throttled, busy] = [&flood.wrong, &flood.throttled, &flood.busy]
        .map(|counter| counter.load(Ordering::Relaxed));
    println!("{wrong} wrong, {throttled} throttled, {busy} busy; memory {before} to {after}");
    assert_eq!(wrong + throttled + busy, all);
    assert!(wrong > 0 && busy > 0);
    assert!(after < before + MEMORY, "memory grew from {before} to {after}");
    if count.is_some() {
        assert!(loud < quiet * 3 / 2, "99 of 100 answers took {loud:?} instead of {quiet:?}");
    }

    // Whoever is in stays in, who was in on the same device gets in, and so does whoever waits and knows
    // the password.
    assert!(ann.is_in().await);
    eventually("the wait of the name is over", async || {
        let mut again = Visitor::of(&served.url("")).with("x-forwarded-for", "192.0.2.2");
        (again.sign_in("ann", PASSWORD).await.status == 303).then_some(())
    })
    .await;
    served.stop().await;
    // The trail has not been filled with what the flood has done.
    let trail = place.run("audit export").await;
    let refused = trail.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused = refused.filter(|entry| entry["what"].as_str().unwrap().contains("refused"));
    let minutes = flooded.elapsed().as_secs() / 60 + 2;
    let refused = u64::try_from(refused.count()).unwrap();
    assert!((2..=minutes * 5).contains(&refused), "{refused} entries");
    place.run("audit verify").await;
}

/// Guesses the password of a user from an address without end, on several connections.
async fn guess(host: &str, address: &str, tries: &AtomicUsize) {
    let connections = (0..4).map(|_| async {
        let mut guest = Visitor::of(host).with("x-forwarded-for", address);
        loop {
            match guest.sign_in("ann", "not the password").await.status {
                422 => drop(tries.fetch_add(1, Ordering::Relaxed)),
                429 | 503 => tokio::time::sleep(Duration::from_millis(10)).await,
                status => panic!("a guess got {status}"),
            }
        }
    });
    futures_util::future::join_all(connections).await;
}

/// How many tries a name has if each failure from the fifth on doubles the wait, up to a minute.
fn tries_by_doubling(time: Duration) -> usize {
    let mut next = Duration::ZERO;
    let waits = (0..).map(|number| Duration::from_secs(60.min(1 << 6.min(number))));
    5 + waits
        .take_while(|wait| {
            next += *wait;
            next <= time
        })
        .count()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_a_name_gets_in_while_two_addresses_guess_it_without_end() {
    let sign_ins = number("TEST_SIGN_INS");
    let place = Place::of_the_store();
    place.add_administrator("ann", PASSWORD).await;
    let token = place.user("bob", "Administrator").await;
    let environment =
        [("HOST_TRUSTED_PROXIES", "127.0.0.1"), ("HOST_LOG", "info,access=off,administration=off")];
    let served = Arc::new(place.serve_with(&environment).await);
    let mut desk = Visitor::of(&served.url("")).with("x-forwarded-for", "203.0.113.1");
    assert_eq!(desk.sign_in("ann", PASSWORD).await.status, 303);

    let (tries, asked) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let mut others = tokio::task::JoinSet::new();
    let begun = Instant::now();
    for address in ["192.0.2.1", "192.0.2.2"] {
        let (host, tries) = (served.url(""), Arc::clone(&tries));
        others.spawn(async move { guess(&host, address, &tries).await });
    }
    for _ in 0..CLIENTS {
        let (served, token, asked) = (Arc::clone(&served), token.clone(), Arc::clone(&asked));
        others.spawn(async move {
            loop {
                let path = format!("{ROOT}/countries?page[limit]=20");
                Answer::to(served.get(&path, &token)).await.expect(200);
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    eventually("both have to wait", async || (tries.load(Ordering::Relaxed) >= 6).then_some(()))
        .await;
    // From a third address, on a device that is known and on new ones.
    let (count, pause) = sign_ins.map_or((10, Duration::ZERO), |count| (count, SOON));
    let (mut known, mut new) = (Vec::new(), Vec::new());
    for _ in 0..count {
        let fresh = Visitor::of(&served.url("")).with("x-forwarded-for", "192.0.2.3");
        for (visitor, times) in [(&mut desk, &mut known), (&mut { fresh }, &mut new)] {
            let asked = Instant::now();
            let status = visitor.sign_in("ann", PASSWORD).await.status;
            times.push((status, asked.elapsed()));
        }
        tokio::time::sleep(pause).await;
    }
    let (guessing, tries) = (begun.elapsed(), tries.load(Ordering::Relaxed));
    others.abort_all();
    while others.join_next().await.is_some() {}
    println!("{tries} guesses and {} requests in {guessing:?}", asked.load(Ordering::Relaxed));
    for (what, times) in [("known", &known), ("new", &new)] {
        let in_time = times.iter().filter(|(status, took)| *status == 303 && *took < SOON).count();
        let slowest = times.iter().map(|(_, took)| took).max().unwrap();
        println!("{what}: {in_time} of {count}, the slowest after {slowest:?}");
        assert!(in_time * 10 >= count * 9, "{what}: {times:?}");
    }
    // Some of those of the first minute come earlier.
    let most = tries_by_doubling(guessing.max(Duration::from_secs(63)));
    assert!(tries <= most, "{tries} guesses in {guessing:?}");
    let served = Arc::into_inner(served).unwrap();
    served.stop().await;
}
