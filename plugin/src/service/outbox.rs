//! The queue of mails to the host: a mail is written in the transaction of its cause, and sent
//! after it. Independent of the contents of mails.
//!
//! A row is claimed before its mail is handed over, so only one of several hosts on a database
//! sends it, and it is deleted when the host has accepted the mail. A claim has a token of its own:
//! only its holder renews the claim and records the outcome. All times are the database's, so the
//! clocks of hosts may differ.
//!
//! The outcome is unknown if the process ends in between, or can neither renew its claim nor stop
//! in time: the claim then expires, and the mail is sent again under the same id, so that its
//! recipient can recognise it.

use std::time::Duration;

use host_interface::{HostHandle, Mail};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::error::{Error, chain};
use crate::model::field::{Handle, flag, int, text};
use crate::model::personal::Personal;
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::{Order, Resource};
use crate::model::value::Value;
use crate::sql::{self, Rows, Statement, row};
use crate::store::{self, Store, Transaction};

/// How many mails are in transit to the host at a time.
const AT_ONCE: i64 = 16;
/// How often the sender looks for mails that another process has left behind or that have become
/// due.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The pause before another attempt to record an outcome after a database failure.
const RECORD_EVERY: Duration = Duration::from_secs(1);
/// The longest pause between two attempts, in seconds.
const LONGEST_PAUSE: i64 = 3_600;
/// After this many attempts, over about three days, a mail is given up.
const MAX_ATTEMPTS: i64 = 84;

/// The time limits of the steps of sending a mail.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// How long a claim is valid unless it is renewed, in whole seconds.
    pub claim: Duration,
    /// How often a claim is renewed while its mail is in transit.
    pub renewal: Duration,
    /// How long the host may take for a mail.
    pub sending: Duration,
    /// How long a stop waits for mails in transit.
    pub stopping: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            claim: Duration::from_secs(20),
            renewal: Duration::from_secs(5),
            sending: Duration::from_secs(60),
            stopping: Duration::from_secs(5),
        }
    }
}

/// A mail for the queue.
#[derive(Debug)]
pub struct Outgoing {
    /// The mail.
    pub mail: Mail,
    /// Why it cannot be sent; it is then kept with this reason, as one that was given up.
    pub failure: Option<String>,
}

impl From<Mail> for Outgoing {
    fn from(mail: Mail) -> Self {
        Self { mail, failure: None }
    }
}

/// Writes a mail, which is sent once the transaction has been committed and the sender woken.
pub async fn enqueue(
    outgoing: impl Into<Outgoing>,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    let Outgoing { mail, failure } = outgoing.into();
    let now = transaction.seconds().await?;
    let row = [
        ("mail_id", Value::Text(mail.id)),
        ("recipient", Value::Text(mail.to)),
        ("recipient_name", Value::Text(mail.to_name)),
        ("subject", Value::Text(mail.subject)),
        ("body", Value::Text(mail.text)),
        ("created_on", Value::now()),
        ("attempts", Value::Int(0)),
        ("due_at", Value::Int(now)),
        ("given_up", Value::Int(failure.is_some().into())),
        ("failure", Value::Text(failure.unwrap_or_default())),
    ];
    let (columns, values): (Vec<&str>, _) = row.into_iter().unzip();
    let insert = sql::insert_at_once("shop_mails", &columns, values, transaction.dialect());
    transaction.execute(insert).await
}

/// The number of mails that wait to be sent, and of those given up.
pub async fn count(store: &Store) -> Result<[u32; 2], Error> {
    row! {
        struct Counted {
            given_up: bool,
            mails: i64 = "count(*)",
        }
    }
    let counted = Rows::<Counted>::select("FROM shop_mails GROUP BY given_up", Vec::new());
    let mut counts = [0, 0];
    for Counted { given_up, mails } in store.rows(counted).await? {
        counts[usize::from(given_up)] = u32::try_from(mails).unwrap_or(u32::MAX);
    }
    Ok(counts)
}

/// Sends the mails.
#[derive(Debug)]
pub struct Sender {
    store: Store,
    host: HostHandle,
    pace: Pace,
    wake: Notify,
    /// Set when the sender is stopped: until when mails may be in transit.
    stopped: watch::Sender<Option<Instant>>,
}

impl Sender {
    /// Sends mails from this store to this host, once it [runs](Sender::run).
    pub fn new(store: Store, host: HostHandle) -> Self {
        Self::with_pace(store, host, Pace::default())
    }

    /// Creates a sender with other time limits.
    pub fn with_pace(store: Store, host: HostHandle, pace: Pace) -> Self {
        Self { store, host, pace, wake: Notify::new(), stopped: watch::Sender::new(None) }
    }

    /// Wakes the sender after a mail has been committed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Makes [`Sender::run`] end when the mails in transit are done or have taken too long.
    pub fn stop(&self) {
        self.stopped.send_replace(Some(Instant::now() + self.pace.stopping));
    }

    /// Sends mails as they become due, until it is stopped.
    pub async fn run(&self) {
        let mut stopped = self.stopped.subscribe();
        loop {
            let sent = tokio::select! {
                biased;
                sent = self.send_due() => sent,
                () = self.out_of_time() => {
                    tracing::warn!(
                        "stopped while mails were being sent; their outcome is unknown"
                    );
                    return;
                }
            };
            let pause = sent.unwrap_or_else(|error| {
                tracing::error!(causes = chain(&error), "cannot read which mails are due");
                LOOK_EVERY
            });
            tokio::select! {
                biased;
                // The channel cannot be closed while this borrow keeps its other end alive.
                _ = stopped.wait_for(Option::is_some) => return,
                () = self.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Waits until the time limit of a stop has passed.
    async fn out_of_time(&self) {
        let mut stopped = self.stopped.subscribe();
        let deadline = stopped.wait_for(Option::is_some).await.ok().and_then(|deadline| *deadline);
        if let Some(deadline) = deadline {
            sleep_until(deadline).await;
        }
    }

    /// Sends the mails that are due, and returns the time until others may be.
    async fn send_due(&self) -> Result<Duration, Error> {
        let mut transaction = self.store.begin_read().await?;
        let now = transaction.seconds().await?;
        let waiting = transaction.page(&due_mails()).await?;
        transaction.end().await;
        let waiting = waiting.records(&MAILS)?;
        let due_at = waiting.iter().map(|mail| mail.need(&DUE_AT));
        let due_at = due_at.collect::<Result<Vec<i64>, Error>>()?;
        let later = due_at.iter().copied().find(|due| *due > now);
        let due = due_at.iter().filter(|due| **due <= now).count();
        let mut sending = JoinSet::new();
        for claim in store::retry(|| self.claim(&waiting[..due])).await? {
            let (store, host, pace) = (self.store.clone(), self.host.clone(), self.pace);
            sending.spawn(async move { send(&claim, &store, &host, pace).await });
        }
        while let Some(sent) = sending.join_next().await {
            match sent {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::error!(causes = chain(&error), "whether a mail was sent is unknown");
                }
                Err(error) => tracing::error!(%error, "sending a mail broke off"),
            }
        }
        Ok(match later {
            _ if due > 0 => Duration::ZERO,
            Some(later) => LOOK_EVERY.min(Duration::from_secs((later - now).unsigned_abs())),
            None => LOOK_EVERY,
        })
    }

    /// Claims mails, except those that another process claims first.
    async fn claim(&self, mails: &[Record]) -> Result<Vec<Claim>, Error> {
        let mut claimed = Vec::new();
        if mails.is_empty() {
            return Ok(claimed);
        }
        let until = self.pace.end_of_claim();
        let mut transaction = self.store.begin().await?;
        let now = transaction.seconds().await?;
        for mail in mails {
            let token = token()?;
            let statement = Statement::fixed(
                "UPDATE shop_mails SET attempts = attempts + 1, due_at = ?, claim = ? \
                 WHERE shop_mail_id = ? AND attempts = ? AND due_at <= ? AND given_up = 0",
                vec![
                    Value::Int(now + self.pace.claim_seconds()),
                    Value::Text(token.clone()),
                    Value::Int(mail.key()),
                    Value::Int(mail.need(&ATTEMPTS)?),
                    Value::Int(now),
                ],
            );
            if transaction.change(statement).await? == 1 {
                claimed.push(Claim { mail: mail.clone(), token, until });
            }
        }
        transaction.commit().await?;
        Ok(claimed)
    }
}

impl Pace {
    fn claim_seconds(&self) -> i64 {
        i64::try_from(self.claim.as_secs()).unwrap_or(i64::MAX / 2)
    }

    /// The end of a claim that begins now. The database has whole seconds, and the first one may be
    /// almost over.
    fn end_of_claim(&self) -> Instant {
        Instant::now() + self.claim.saturating_sub(Duration::from_secs(1))
    }
}

/// A mail that only this process may send for now.
struct Claim {
    mail: Record,
    token: String,
    /// Until when the claim is certain to be valid.
    until: Instant,
}

/// The outcome of sending a mail.
enum Outcome {
    Sent,
    /// It is due again after this many seconds.
    Later(i64, String),
    GivenUp(String),
}

impl Claim {
    /// Renews the claim repeatedly, and ends when it is lost: another process may then send the
    /// mail. A failed renewal is repeated while the claim is valid.
    async fn renew_until_lost(&self, store: &Store, pace: Pace) {
        let mut until = self.until;
        loop {
            let renewal = async {
                sleep(pace.renewal).await;
                let renewed_until = pace.end_of_claim();
                (renewed_until, self.renew(store, pace).await)
            };
            match timeout_at(until, renewal).await {
                Ok((renewed_until, Ok(true))) => until = renewed_until,
                Ok((_, Err(error))) => {
                    tracing::warn!(causes = chain(&error), "the claim on a mail cannot be renewed");
                }
                Ok((_, Ok(false))) | Err(_) => return,
            }
        }
    }

    /// Renews the claim, and returns whether it still existed.
    async fn renew(&self, store: &Store, pace: Pace) -> Result<bool, Error> {
        let mut transaction = store.begin().await?;
        let due_at = transaction.seconds().await? + pace.claim_seconds();
        let renewal = Statement::fixed(
            "UPDATE shop_mails SET due_at = ? WHERE shop_mail_id = ? AND claim = ?",
            vec![Value::Int(due_at), self.key(), self.token()],
        );
        let renewed = transaction.change(renewal).await? == 1;
        transaction.commit().await?;
        Ok(renewed)
    }

    /// Records the outcome, if the claim still exists.
    async fn record(&self, outcome: &Outcome, store: &Store) -> Result<bool, Error> {
        let mut transaction = store.begin().await?;
        let statement = match outcome {
            Outcome::Sent => Statement::fixed(
                "DELETE FROM shop_mails WHERE shop_mail_id = ? AND claim = ?",
                vec![self.key(), self.token()],
            ),
            Outcome::GivenUp(why) => Statement::fixed(
                "UPDATE shop_mails SET given_up = 1, failure = ? WHERE shop_mail_id = ? AND claim = ?",
                vec![Value::Text(why.clone()), self.key(), self.token()],
            ),
            Outcome::Later(pause, why) => {
                let due_at = transaction.seconds().await? + pause;
                Statement::fixed(
                    "UPDATE shop_mails SET due_at = ?, failure = ?, claim = '' \
                     WHERE shop_mail_id = ? AND claim = ?",
                    vec![Value::Int(due_at), Value::Text(why.clone()), self.key(), self.token()],
                )
            }
        };
        let recorded = transaction.change(statement).await? == 1;
        transaction.commit().await?;
        Ok(recorded)
    }

    fn key(&self) -> Value {
        Value::Int(self.mail.key())
    }

    fn token(&self) -> Value {
        Value::Text(self.token.clone())
    }
}

/// Hands a mail to the host and records the outcome.
async fn send(claim: &Claim, store: &Store, host: &HostHandle, pace: Pace) -> Result<(), Error> {
    let text = |field| claim.mail.need(field);
    let mail = Mail::new(text(&MAIL_ID)?, text(&RECIPIENT)?, text(&SUBJECT)?, text(&BODY)?)
        .to_name(text(&RECIPIENT_NAME)?);
    let sent = tokio::select! {
        biased;
        sent = timeout(pace.sending, host.send_mail(&mail)) => sent,
        () = claim.renew_until_lost(store, pace) => {
            tracing::warn!(mail = mail.id, "the claim on a mail is lost; it may be sent again");
            return Ok(());
        }
    };
    let failure = match sent {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(_) => Some(host_interface::Error::failed("the host took too long")),
    };
    let attempts = claim.mail.need(&ATTEMPTS)? + 1;
    let outcome = match &failure {
        None => Outcome::Sent,
        Some(error) if is_final(error) || attempts >= MAX_ATTEMPTS => {
            tracing::error!(mail = mail.id, attempts, causes = chain(error), "a mail is given up");
            Outcome::GivenUp(chain(error))
        }
        Some(error) => {
            tracing::warn!(mail = mail.id, attempts, causes = chain(error), "a mail is postponed");
            Outcome::Later(pause(attempts), chain(error))
        }
    };
    loop {
        match store::retry(|| claim.record(&outcome, store)).await {
            Ok(true) => return Ok(()),
            Ok(false) => {
                tracing::warn!(mail = mail.id, "another host has taken over a mail");
                return Ok(());
            }
            // The outcome can still be recorded until another process claims the mail.
            Err(error) if error.may_pass() || error.passes() => {
                tracing::warn!(
                    mail = mail.id,
                    causes = chain(&error),
                    "the outcome of a mail cannot be recorded yet; trying again"
                );
                sleep(RECORD_EVERY).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether a mail would always fail in the same way.
fn is_final(error: &host_interface::Error) -> bool {
    matches!(error, host_interface::Error::Refused(_))
}

/// The pause in seconds after this many attempts; it doubles each time.
fn pause(attempts: i64) -> i64 {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0);
    2_i64.saturating_pow(doublings).min(LONGEST_PAUSE)
}

/// The waiting mails, in the order in which they are due. Each has a due time of its own, so mails
/// that cannot be sent do not block the others.
fn due_mails() -> Page {
    let order = Order { field: Some(DUE_AT.field.name), descending: false };
    let conditions = vec![Condition::equals(&GIVEN_UP, Value::Int(0))];
    Page { conditions, order, limit: AT_ONCE, ..Page::of(&MAILS) }
}

/// The table of mails, which no route shows.
pub(crate) static MAILS: Resource = Resource {
    kind: "mails",
    singular: "mail",
    table: "shop_mails",
    key: "shop_mail_id",
    list: &[
        MAIL_ID.field,
        RECIPIENT.field,
        RECIPIENT_NAME.field,
        SUBJECT.field,
        BODY.field,
        ATTEMPTS.field,
        DUE_AT.field,
        GIVEN_UP.field,
    ],
    crud: false,
    versioned: false,
    ..Resource::CRUD
}
.checked();

const MAIL_ID: Handle<String> = text("mail_id", 64).words();
const RECIPIENT: Handle<String> = text("recipient", 254).personal(Personal::Contact).words();
const RECIPIENT_NAME: Handle<String> = text("recipient_name", 511).personal(Personal::Name).words();
const SUBJECT: Handle<String> = text("subject", 1_000).personal(Personal::FreeText).words();
const BODY: Handle<String> = text("body", usize::MAX).personal(Personal::FreeText).words();
const ATTEMPTS: Handle<i64> = int("attempts").number();
const DUE_AT: Handle<i64> = int("due_at").between(0, i64::MAX).number();
const GIVEN_UP: Handle<bool> = flag("given_up").truth();

/// A random token, unique to a claim.
fn token() -> Result<String, Error> {
    let chance = getrandom::u64().map_err(host_interface::Error::failed)?;
    Ok(format!("{chance:016x}"))
}
