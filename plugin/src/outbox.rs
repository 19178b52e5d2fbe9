//! Mails on their way to the host: written in the transaction of what they tell of, and sent after
//! it. What a mail says is none of this module's business.
//!
//! A row is claimed before its mail is handed over, so that of several hosts on one database one
//! sends it, and it goes when the host has taken the mail. A process that ends between the two
//! leaves a claim that soon runs out: the mail is then sent again under the same id, by which a
//! host can tell.

use std::pin::pin;
use std::time::Duration;

use host_interface::{HostHandle, Mail};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::error::{Error, chain};
use crate::plan::{Condition, Order, Page, Record, Shape};
use crate::resource::{Field, Resource, flag, int, text};
use crate::sql::{self, Statement, Table};
use crate::store::{self, Store, Transaction};
use crate::value::{Kind, Value};

/// How many mails are on their way to the host at a time.
const AT_ONCE: i64 = 16;
/// How long the host may take over one.
const SENDING_TIME: Duration = Duration::from_secs(60);
/// How long a claim stands, in seconds, unless it is renewed.
const CLAIM: i64 = 20;
/// How often a claim is renewed while its mail is on its way.
const RENEW_EVERY: Duration = Duration::from_secs(5);
/// How often mails are looked for that another process may have left, or whose time has come.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// The longest pause between two attempts, in seconds.
const LONGEST_PAUSE: i64 = 3_600;
/// After this many attempts, which take about three days, nobody tries again.
const MAX_ATTEMPTS: i64 = 84;

/// Writes a mail, to be sent once the transaction has been committed and the sender woken.
///
/// # Errors
/// Those of the database.
pub async fn put(mail: Mail, transaction: &mut Transaction) -> Result<(), Error> {
    let row = vec![
        Value::Text(mail.id),
        Value::Text(mail.to),
        Value::Text(mail.to_name),
        Value::Text(mail.subject),
        Value::Text(mail.text),
        Value::now(),
        Value::Int(0),
        Value::Int(now()),
    ];
    let columns = [
        "mail_id",
        "recipient",
        "recipient_name",
        "subject",
        "body",
        "created_on",
        "attempts",
        "due_at",
    ];
    for insert in sql::insert_rows("shop_mails", &columns, &[row], transaction.dialect()) {
        transaction.execute(insert).await?;
    }
    Ok(())
}

/// How many mails wait to be sent, and how many nobody took.
///
/// # Errors
/// Those of the database.
pub async fn count(store: &Store) -> Result<[u32; 2], Error> {
    const COUNTS: &str = "SELECT given_up AS c0, count(*) AS c1 FROM shop_mails GROUP BY given_up";
    let table = Table::new(COUNTS, Vec::new(), &[Kind::Flag, Kind::COUNT]);
    let cells = store.table(table).await?;
    let mut counts = [0, 0];
    for row in cells.rows()? {
        if let [given_up, count] = &row[..] {
            counts[usize::from(given_up.int() == 1)] =
                u32::try_from(count.int()).unwrap_or(u32::MAX);
        }
    }
    Ok(counts)
}

/// The one who sends.
#[derive(Debug)]
pub struct Sender {
    store: Store,
    host: HostHandle,
    wake: Notify,
    stopped: watch::Sender<bool>,
}

impl Sender {
    /// Takes mails from this store to this host, once it [runs](Sender::run).
    pub fn new(store: Store, host: HostHandle) -> Self {
        Self { store, host, wake: Notify::new(), stopped: watch::Sender::new(false) }
    }

    /// Says that a mail has been committed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Lets [`Sender::run`] end after the mails that are on their way.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Sends what is due, now and from now on, until it is stopped.
    pub async fn run(&self) {
        let mut stopped = self.stopped.subscribe();
        loop {
            let pause = match self.send_due().await {
                Ok(pause) => pause,
                Err(error) => {
                    tracing::error!(causes = chain(&error), "the mails that are due are unknown");
                    LOOK_EVERY
                }
            };
            tokio::select! {
                biased;
                // The channel cannot be closed while its other end is borrowed.
                _ = stopped.wait_for(|stopped| *stopped) => return,
                () = self.wake.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Sends the mails that are due, and gives the time until there may be others.
    async fn send_due(&self) -> Result<Duration, Error> {
        let waiting = self.store.page(&next()).await?;
        let waiting = Record::all(&MAILS, &waiting)?;
        let now = now();
        let later = waiting.iter().map(|mail| mail.value("due_at").int()).find(|due| *due > now);
        let due = waiting.iter().filter(|mail| mail.value("due_at").int() <= now).count();
        let mut sending = JoinSet::new();
        for mail in store::persist(|| self.claim(&waiting[..due], now)).await? {
            let (store, host) = (self.store.clone(), self.host.clone());
            sending.spawn(async move { send(&mail, &store, &host).await });
        }
        while let Some(sent) = sending.join_next().await {
            match sent {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::error!(causes = chain(&error), "what became of a mail is unknown");
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

    /// Claims mails; those that another process was faster to claim are left out.
    async fn claim(&self, mails: &[Record], now: i64) -> Result<Vec<Record>, Error> {
        let mut claimed = Vec::new();
        if mails.is_empty() {
            return Ok(claimed);
        }
        let mut transaction = self.store.begin().await?;
        for mail in mails {
            let claim = Statement::fixed(
                "UPDATE shop_mails SET attempts = attempts + 1, due_at = ? \
                 WHERE shop_mail_id = ? AND attempts = ? AND given_up = 0",
                vec![
                    Value::Int(now + CLAIM),
                    Value::Int(mail.key()),
                    mail.value("attempts").clone(),
                ],
            );
            if transaction.change(claim).await? == 1 {
                claimed.push(mail.clone());
            }
        }
        transaction.commit().await?;
        Ok(claimed)
    }
}

/// Hands a mail to the host and writes down what became of it.
async fn send(row: &Record, store: &Store, host: &HostHandle) -> Result<(), Error> {
    let text = |name| row.value(name).text().to_owned();
    let mail = Mail {
        id: text("mail_id"),
        to: text("recipient"),
        to_name: text("recipient_name"),
        subject: text("subject"),
        text: text("body"),
    };
    let mut sending = pin!(timeout(SENDING_TIME, host.send_mail(&mail)));
    let sent = loop {
        tokio::select! {
            sent = &mut sending => break sent,
            () = sleep(RENEW_EVERY) => renew(row, store).await?,
        }
    };
    let failure = match sent {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error),
        Err(_) => Some(host_interface::Error::failed("the host took too long")),
    };
    let key = Value::Int(row.key());
    let attempts = row.value("attempts").int() + 1;
    let outcome = match &failure {
        None => Statement::fixed("DELETE FROM shop_mails WHERE shop_mail_id = ?", vec![key]),
        Some(error) if is_final(error) || attempts >= MAX_ATTEMPTS => {
            tracing::error!(mail = mail.id, attempts, causes = chain(error), "a mail is given up");
            Statement::fixed(
                "UPDATE shop_mails SET given_up = 1, failure = ? WHERE shop_mail_id = ?",
                vec![Value::Text(chain(error)), key],
            )
        }
        Some(error) => {
            tracing::warn!(mail = mail.id, attempts, causes = chain(error), "a mail has to wait");
            Statement::fixed(
                "UPDATE shop_mails SET due_at = ?, failure = ? WHERE shop_mail_id = ?",
                vec![Value::Int(now() + pause(attempts)), Value::Text(chain(error)), key],
            )
        }
    };
    store::persist(|| store.write([outcome.clone()])).await
}

/// Says that a mail is still on its way.
async fn renew(row: &Record, store: &Store) -> Result<(), Error> {
    let renewal = Statement::fixed(
        "UPDATE shop_mails SET due_at = ? WHERE shop_mail_id = ?",
        vec![Value::Int(now() + CLAIM), Value::Int(row.key())],
    );
    store.write([renewal]).await
}

/// Whether a mail would fail in the same way for ever.
fn is_final(error: &host_interface::Error) -> bool {
    matches!(error, host_interface::Error::Refused(_))
}

/// How many seconds pass after this many attempts: twice as many each time.
fn pause(attempts: i64) -> i64 {
    let doublings = u32::try_from(attempts - 1).unwrap_or(0).min(12);
    2_i64.pow(doublings).min(LONGEST_PAUSE)
}

/// The mails that are waiting, in the order in which they are due. Each has a due time of its own,
/// so those that cannot be sent do not keep the others waiting.
fn next() -> Page {
    Page {
        resource: &MAILS,
        shape: Shape::Detail,
        conditions: vec![Condition::Equals("given_up", Value::Int(0))],
        order: Order { field: Some("due_at"), descending: false },
        offset: 0,
        limit: AT_ONCE,
    }
}

/// The rows of mails, which no route shows.
static MAILS: Resource = Resource {
    kind: "mails",
    singular: "mail",
    table: "shop_mails",
    key: "shop_mail_id",
    list: &[
        text("mail_id", 64),
        text("recipient", 254),
        text("recipient_name", 511),
        text("subject", 1_000),
        text("body", usize::MAX),
        int("attempts"),
        DUE_AT,
        flag("given_up"),
    ],
    crud: false,
    ..Resource::CRUD
};

const DUE_AT: Field = int("due_at").between(0, i64::MAX);

/// Seconds since 1970.
fn now() -> i64 {
    time::UtcDateTime::now().unix_timestamp()
}
