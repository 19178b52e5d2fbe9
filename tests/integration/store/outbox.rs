//! Mails in the store's outbox: one of several hosts sends each of them, once, however slow the
//! mail server is; failures are retried after growing pauses; and a stop waits for a mail in
//! transit, but only for a limited time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::permissive::PermissiveHost;
use host_interface::{Error, Host, HostHandle, LogRecord, Mail, Method, User, UserQuery};
use plugin::model::parameters::Parameters;
use plugin::service::notification::Notice;
use plugin::service::outbox::{self, Pace, Sender};
use plugin::sql::Statement;
use plugin::store::Store;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::bare::Bare;
use crate::support::databases::Engine;
use crate::support::waiting::{eventually, patiently};

/// A host with a slow mail server.
#[derive(Clone)]
struct Slow {
    takes: Duration,
    /// How many attempts fail before one succeeds.
    failures: Arc<AtomicUsize>,
    /// The ids of the mails that it was asked to send, and the number that it has completed.
    asked: Arc<Mutex<Vec<String>>>,
    ended: Arc<AtomicUsize>,
    /// The number of mails that were cancelled before completion.
    broken_off: Arc<AtomicUsize>,
}

impl Slow {
    fn taking(takes: Duration) -> Slow {
        Slow {
            takes,
            failures: Arc::default(),
            asked: Arc::default(),
            ended: Arc::default(),
            broken_off: Arc::default(),
        }
    }

    fn failing(times: usize) -> Slow {
        let host = Slow::taking(Duration::ZERO);
        host.failures.store(times, Ordering::Relaxed);
        host
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    async fn is_asked(&self) {
        eventually("a mail is on its way", async || (!self.asked().is_empty()).then_some(())).await;
    }
}

impl Host for Slow {
    async fn find_user(self: Arc<Self>, query: UserQuery) -> Result<Option<User>, Error> {
        Arc::new(PermissiveHost).find_user(query).await
    }

    async fn send_mail(self: Arc<Self>, mail: Mail) -> Result<(), Error> {
        self.asked.lock().unwrap().push(mail.id);
        let mut begun = Begun { host: &self, ended: false };
        tokio::time::sleep(self.takes).await;
        begun.ended = true;
        let left = self.failures.load(Ordering::Relaxed);
        self.failures.store(left.saturating_sub(1), Ordering::Relaxed);
        if left > 0 { Err(Error::failed("not now")) } else { Ok(()) }
    }

    fn log(&self, record: &LogRecord<'_>) {
        PermissiveHost.log(record);
    }
}

/// A mail in transit.
struct Begun<'a> {
    host: &'a Slow,
    ended: bool,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let count = if self.ended { &self.host.ended } else { &self.host.broken_off };
        count.fetch_add(1, Ordering::Relaxed);
    }
}

/// A store with a mail that is due, and the hosts that may send it.
struct Due {
    store: Bare,
    host: Slow,
}

impl Due {
    async fn with(host: Slow) -> Due {
        let handle = HostHandle::new(host.clone());
        let store = Bare::of(Engine::of_this_run(), handle).await;
        let order = json!({"user_email": "ada@example.com"});
        assert_eq!(store.ask(Method::Post, "/orders", order).await.status(), 201);
        let entry = json!({"order_state_id": 7, "notify_customer": 1});
        assert_eq!(store.ask(Method::Post, "/orders/1/history", entry).await.status(), 201);
        Due { store, host }
    }

    /// Adds a host on the same database, which sends what is due.
    fn host(&self, pace: Pace) -> Running {
        let store = Store::open(&self.store.database.url()).unwrap();
        let handle = HostHandle::new(self.host.clone());
        let sender = Arc::new(Sender::with_pace(store.clone(), handle, pace));
        let running = Arc::clone(&sender);
        let task = tokio::spawn(async move { running.run().await });
        Running { sender, store, task }
    }

    async fn numbers(&self, query: &str) -> Vec<i64> {
        let mut transaction = self.store.app.shop.store.begin_read().await.unwrap();
        let statement = Statement { text: query.to_owned(), binds: Vec::new() };
        let numbers = transaction.numbers(statement).await.unwrap();
        transaction.commit().await.unwrap();
        numbers
    }

    /// The database's time.
    async fn seconds(&self) -> i64 {
        self.numbers(self.store.app.shop.store.dialect().seconds).await[0]
    }

    /// The number of waiting mails.
    async fn waiting(&self) -> u32 {
        outbox::count(&self.store.app.shop.store).await.unwrap()[0]
    }

    async fn is_sent(&self) {
        eventually("the mail is sent", async || (self.waiting().await == 0).then_some(())).await;
    }
}

struct Running {
    sender: Arc<Sender>,
    store: Store,
    task: JoinHandle<()>,
}

impl Running {
    async fn stop(self) {
        self.sender.stop();
        patiently("the end of the sender", self.task).await.unwrap();
        self.store.close().await;
    }
}

/// Claims that expire while a mail is in transit, unless they are renewed.
const SHORT_CLAIMS: Pace = Pace {
    claim: Duration::from_secs(5),
    renewal: Duration::from_millis(500),
    sending: Duration::from_secs(60),
    stopping: Duration::from_secs(5),
};

#[tokio::test(flavor = "multi_thread")]
async fn a_due_mail_is_sent_once_by_one_of_two_hosts_even_if_that_outlasts_a_claim() {
    let due = Due::with(Slow::taking(Duration::from_secs(8))).await;
    let hosts = [due.host(SHORT_CLAIMS), due.host(SHORT_CLAIMS)];
    due.is_sent().await;
    assert_eq!(due.host.asked().len(), 1);
    for host in hosts {
        host.stop().await;
    }
    assert_eq!(due.host.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_renewal_of_a_claim_sends_no_mail_twice() {
    let due = Due::with(Slow::taking(Duration::from_secs(2))).await;
    // A renewal changes the end of the claim and not the number of attempts.
    let renewal = "NEW.attempts = OLD.attempts";
    due.store.fail("doom_renewals", "BEFORE UPDATE", "shop_mails", renewal).await;
    let host = due.host(Pace { renewal: Duration::from_millis(300), ..Pace::default() });
    due.is_sent().await;
    host.stop().await;
    assert_eq!(due.host.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_has_lost_its_claim_stops_sending_the_mail() {
    let due = Due::with(Slow::taking(Duration::from_secs(60))).await;
    let host = due.host(SHORT_CLAIMS);
    due.host.is_asked().await;
    // Another host has claimed the mail.
    due.store
        .run("UPDATE shop_mails SET claim = 'another', attempts = 2, due_at = due_at + 1000")
        .await;
    // This host notices it when it renews its claim.
    eventually("it takes the mail back", async || {
        (due.host.broken_off.load(Ordering::Relaxed) == 1).then_some(())
    })
    .await;
    let kept = "SELECT count(*) FROM shop_mails WHERE claim = 'another' AND attempts = 2 \
        AND failure = '' AND given_up = 0";
    assert_eq!(due.numbers(kept).await, [1]);
    host.stop().await;
    assert_eq!(due.numbers(kept).await, [1]);
    assert_eq!(due.host.asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_pauses_double_from_1_to_3600_seconds() {
    let due = Due::with(Slow::failing(usize::MAX)).await;
    let doubled = (0..12).map(|doublings| 1_i64 << doublings);
    for (expected, before) in doubled.chain([3_600, 3_600]).zip(0..) {
        due.store
            .run(format!("UPDATE shop_mails SET attempts = {before}, due_at = 0, claim = ''"))
            .await;
        let begun = due.seconds().await;
        let host = due.host(Pace::default());
        eventually("the mail has to wait", async || {
            let outcome = "SELECT count(*) FROM shop_mails WHERE claim = '' AND due_at > 0";
            (due.numbers(outcome).await == [1]).then_some(())
        })
        .await;
        host.stop().await;
        let ended = due.seconds().await;
        let [attempts, due_at] = due.numbers("SELECT attempts, due_at FROM shop_mails").await[..]
        else {
            panic!("the mail is waiting")
        };
        // A short pause may be over, and another attempt made, before the host has stopped.
        if attempts == before + 1 {
            let due_at_most = begun + expected..=ended + expected;
            assert!(due_at_most.contains(&due_at), "{attempts}: {due_at} in {due_at_most:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_mail_that_fails_twice_is_sent_by_the_third_attempt() {
    let due = Due::with(Slow::failing(2)).await;
    let host = due.host(Pace::default());
    due.is_sent().await;
    host.stop().await;
    let mut asked = due.host.asked();
    assert_eq!(asked.len(), 3);
    asked.dedup();
    assert_eq!(asked.len(), 1, "a mail has the same id in every attempt");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_waits_for_a_mail_being_sent_but_not_for_ever() {
    let due = Due::with(Slow::taking(Duration::from_secs(1))).await;
    let host = due.host(Pace::default());
    due.host.is_asked().await;
    host.stop().await;
    assert_eq!((due.waiting().await, due.host.ended.load(Ordering::Relaxed)), (0, 1));
    assert_eq!(due.host.asked().len(), 1);

    // After the time limit, the mail is left to the next start.
    let due = Due::with(Slow::taking(Duration::from_secs(3_600))).await;
    let host = due.host(Pace { stopping: Duration::from_millis(200), ..Pace::default() });
    due.host.is_asked().await;
    host.stop().await;
    assert_eq!((due.waiting().await, due.host.ended.load(Ordering::Relaxed)), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(engine = "sqlite"), ignore = "others send its statements")]
async fn a_mail_that_would_be_too_long_is_given_up_with_the_reason() {
    let bare = Bare::open().await;
    let store = &bare.app.shop.store;
    let template = json!({ "order_mail_text": "{{ comment }}".repeat(100) });
    let parameters = Parameters::read(&template.to_string()).unwrap();
    for (comment, counts) in [("short", [1, 0]), (&"x".repeat(60_000), [1, 1])] {
        let notice = Notice { comment: comment.to_owned(), ..Notice::default() };
        let outgoing = notice.into_mail(&parameters).unwrap();
        let reason = outgoing.failure.as_deref().unwrap_or_default();
        assert_eq!(reason.contains("more than 1048576 bytes"), counts[1] == 1, "{reason}");
        let mut transaction = store.begin().await.unwrap();
        outbox::enqueue(outgoing, &mut transaction).await.unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(outbox::count(store).await.unwrap(), counts);
    }
    store.close().await;
}
