//! What a round has done, as it is noted in one transaction: the place and the health of the webhook, what has failed,
//! the attempts, and a mail to the user if there is a reason. Knows nothing of how messages are sent.

use std::collections::BTreeMap;

use host_interface::{Mail, TrailEntry, User, UserQuery};
use time::Duration;

use super::attempts::{Consequence, Health, Reason};
use super::endpoint::{Endpoint, Place, Step, moment_at};
use super::outcome::{Attempt, Counts, Fate};
use super::reader::{Batch, Due};
use crate::changes::place_of;
use crate::error::{Error, chain};
use crate::model::moment;
use crate::model::value::Value;
use crate::service::call::Shop;
use crate::service::notification::new_id;
use crate::service::outbox;
use crate::sql::webhooks;
use crate::store::{self, Store, Transaction};

/// For how long attempts are kept.
const KEPT: Duration = Duration::days(30);
/// How many of a webhook are kept at most.
const MOST_KEPT: i64 = 10_000;
/// After so many attempts, older ones are removed.
pub(super) const SWEPT_AFTER: i64 = 500;
/// How many attempts one transaction removes.
const SWEPT_AT_ONCE: i64 = 500;
/// A place that has moved past nothing that matters to the webhook is written after so many seconds.
const UNWRITTEN: i64 = 60 * 60;

/// What a round has done.
#[derive(Debug)]
pub(super) struct Outcome<'a> {
    pub(super) batch: &'a Batch,
    /// What became of each event of the batch.
    pub(super) fates: Vec<Fate>,
    pub(super) health: Health,
    pub(super) consequences: Vec<Consequence>,
}

/// What was noted.
#[derive(Debug)]
pub(super) struct Noted {
    pub(super) place: Place,
    /// Whether nothing of the batch is left.
    pub(super) is_whole: bool,
    /// When the first failed event is due again.
    pub(super) next_due: Option<i64>,
    pub(super) counts: Counts,
    /// Whether nothing was noted, because somebody has changed the webhook.
    pub(super) is_stale: bool,
}

/// Notes what a round of a webhook has done.
pub(super) async fn note(
    endpoint: &Endpoint,
    outcome: &Outcome<'_>,
    shop: &Shop,
) -> Result<Noted, Error> {
    let mut plan = Plan::of(endpoint, outcome);
    if plan.is_empty(endpoint, outcome) {
        plan.noted.place = endpoint.place.clone();
        return Ok(plan.noted);
    }
    let mail = mail(endpoint, outcome, shop).await?;
    let id = endpoint.id;
    let written = store::retry(|| async {
        let mut transaction = shop.store.begin().await?;
        let step = plan.step(outcome);
        if !endpoint.note(&step, &mut transaction).await? {
            transaction.end().await;
            return Ok(false);
        }
        let dialect = transaction.dialect();
        let mut statements = Vec::new();
        statements.extend(plan.forgets_all.then(|| webhooks::remove_all_retries(id)));
        for (kind, records) in &plan.removed {
            statements.push(webhooks::remove_retries(id, kind, records.clone(), dialect));
        }
        statements.extend(webhooks::add_retries(plan.failed.clone(), dialect));
        statements.extend(webhooks::add_deliveries(plan.attempts.clone(), dialect));
        for statement in statements {
            transaction.execute(statement).await?;
        }
        if let Some(mail) = &mail {
            outbox::enqueue(mail.clone(), &mut transaction).await?;
        }
        transaction.commit().await?;
        Ok(true)
    });
    if !written.await? {
        plan.noted.is_stale = true;
        return Ok(plan.noted);
    }
    if mail.is_some() {
        shop.sender.wake();
    }
    if let Some(reason) = plan.disabled {
        tell(endpoint, reason, shop).await;
    }
    Ok(plan.noted)
}

/// Notes a test of a webhook; `false` if somebody has changed the webhook meanwhile.
pub(super) async fn note_test(
    endpoint: &Endpoint,
    health: Health,
    attempt: &Attempt,
    store: &Store,
) -> Result<bool, Error> {
    store::retry(|| async {
        let mut transaction = store.begin().await?;
        let is_noted = write_test(endpoint, health, attempt, &mut transaction).await?;
        // One that was removed meanwhile has no attempts.
        let rows = is_noted.then(|| attempt.row_of_test(endpoint.id)).into_iter().collect();
        for statement in webhooks::add_deliveries(rows, transaction.dialect()) {
            transaction.execute(statement).await?;
        }
        transaction.commit().await?;
        Ok(is_noted)
    })
    .await
}

/// Notes within a transaction what a test means for the webhook, without the attempt itself.
pub(super) async fn write_test(
    endpoint: &Endpoint,
    health: Health,
    attempt: &Attempt,
    transaction: &mut Transaction,
) -> Result<bool, Error> {
    let why = attempt.why();
    let accepted = attempt.is_accepted();
    let step = Step {
        place: &endpoint.place,
        health: &health,
        disabled: None,
        success: accepted.then_some(attempt.ended),
        failure: (!accepted).then_some((attempt.ended, &*why)),
    };
    endpoint.note(&step, transaction).await
}

/// Removes attempts of a webhook, so that no more are left than are kept.
pub(super) async fn trim(id: i64, store: &Store) -> Result<(), Error> {
    store::retry(|| async {
        let mut transaction = store.begin().await?;
        let oldest = webhooks::nth_newest_delivery(id, MOST_KEPT - 2 * SWEPT_AFTER);
        if let Some(last) = transaction.numbers(oldest).await?.first() {
            transaction.execute(webhooks::remove_deliveries(id, *last)).await?;
        }
        transaction.commit().await
    })
    .await
}

/// Whether a webhook has made so many attempts that older ones are to be removed.
pub(super) fn is_to_trim(attempts: i64) -> bool {
    attempts >= SWEPT_AFTER
}

/// Removes the attempts that are older than they are kept.
pub(crate) async fn sweep(store: &Store) -> Result<(), Error> {
    let before = Value::Moment(moment::now().saturating_sub(KEPT));
    let old = || webhooks::old_deliveries(before.clone(), SWEPT_AT_ONCE);
    store.sweep(old, webhooks::remove_deliveries_of).await
}

/// What is written of a round.
#[derive(Debug)]
struct Plan {
    noted: Noted,
    forgets_all: bool,
    /// The records whose failed events are removed, by type.
    removed: BTreeMap<&'static str, Vec<i64>>,
    failed: Vec<[Value; 7]>,
    attempts: Vec<[Value; 10]>,
    success: Option<i64>,
    failure: Option<(i64, String)>,
    disabled: Option<Reason>,
}

impl Plan {
    fn of(endpoint: &Endpoint, outcome: &Outcome<'_>) -> Self {
        let Outcome { batch, fates, consequences, .. } = outcome;
        let mut plan = Self {
            noted: Noted {
                place: endpoint.place.clone(),
                is_whole: fates.iter().all(|fate| !matches!(fate, Fate::Left)),
                next_due: batch.next_due,
                counts: Counts::default(),
                is_stale: false,
            },
            forgets_all: false,
            removed: BTreeMap::new(),
            failed: Vec::new(),
            attempts: Vec::new(),
            success: None,
            failure: None,
            disabled: consequences.iter().find_map(|of| match of {
                Consequence::Disable(reason) => Some(*reason),
                Consequence::None | Consequence::Warn => None,
            }),
        };
        if plan.noted.is_whole {
            plan.noted.place = batch.place.clone();
            plan.forgets_all = batch.starts_over;
        } else if !batch.starts_over {
            // Up to the first change that is left.
            let new = batch.due.iter().zip(fates).filter(|(due, _)| due.is_new);
            let done = new.take_while(|(_, fate)| !matches!(fate, Fate::Left));
            if let Some((due, _)) = done.last() {
                plan.noted.place.seq = due.event.seq;
            }
        }
        for &(kind, record) in &batch.obsolete {
            plan.removed.entry(kind).or_default().push(record);
        }
        for (due, fate) in batch.due.iter().zip(fates) {
            plan.take(endpoint.id, due, fate);
        }
        plan
    }

    fn take(&mut self, webhook: i64, due: &Due, fate: &Fate) {
        let event = &due.event;
        if !matches!(fate, Fate::Left) && due.is_noted {
            self.removed.entry(event.kind).or_default().push(event.record);
        }
        let Fate::Sent(attempt) = fate else { return };
        // A webhook that is disabled tries nothing until somebody enables it.
        let next = attempt.due.filter(|_| self.disabled.is_none());
        self.attempts.push(attempt.row(webhook, event, next));
        if attempt.is_accepted() {
            self.noted.counts.delivered += 1;
            self.success = self.success.max(Some(attempt.ended));
            return;
        }
        self.noted.counts.failed += 1;
        self.failure = Some((attempt.ended, attempt.why()));
        let Some(due_at) = attempt.due else {
            self.noted.counts.given_up += 1;
            return;
        };
        let first = self.noted.next_due.map_or(due_at, |first| first.min(due_at));
        self.noted.next_due = Some(first);
        let text = |text: &str| Value::Text(text.to_owned());
        self.failed.push([
            Value::Int(webhook),
            text(event.kind),
            Value::Int(event.record),
            Value::Int(event.seq),
            text(event.what.name()),
            Value::Int(attempt.attempt),
            Value::Int(due_at),
        ]);
    }

    /// Whether nothing has to be written: nothing was sent, and the place has hardly moved.
    fn is_empty(&self, endpoint: &Endpoint, outcome: &Outcome<'_>) -> bool {
        let (far, place) = (place_of(moment_at(UNWRITTEN)), &self.noted.place);
        self.attempts.is_empty()
            && self.removed.is_empty()
            && !outcome.batch.moves
            && place.feed == endpoint.place.feed
            && place.seq.saturating_sub(endpoint.place.seq) < far
    }

    fn step<'a>(&'a self, outcome: &'a Outcome<'_>) -> Step<'a> {
        Step {
            place: &self.noted.place,
            health: &outcome.health,
            disabled: self.disabled,
            success: self.success,
            failure: self.failure.as_ref().map(|(at, why)| (*at, &**why)),
        }
    }
}

/// The mail to the user of a webhook, if there is a reason for one.
async fn mail(
    endpoint: &Endpoint,
    outcome: &Outcome<'_>,
    shop: &Shop,
) -> Result<Option<Mail>, Error> {
    let told = outcome.consequences.iter().find_map(|of| match of {
        Consequence::Warn => Some(false),
        Consequence::Disable(Reason::Failures) => Some(true),
        Consequence::Disable(_) | Consequence::None => None,
    });
    let Some(is_disabled) = told else { return Ok(None) };
    let user = shop.host.find_user(UserQuery::Id(endpoint.user)).await?;
    let Some(User { email, name, .. }) = user.filter(|user| !user.email.is_empty()) else {
        return Ok(None);
    };
    let (id, url) = (endpoint.id, &endpoint.url);
    let (state, what_happens) = if is_disabled {
        (
            "is disabled",
            "for five days, because each attempt has failed. It is disabled now.\nWhen it is enabled again, it \
             goes on where it has stopped.",
        )
    } else {
        (
            "fails",
            "for a day, because each attempt has failed. It is tried again.\nAfter five days without a success it \
             is disabled.\n\nThe reasons are in the list of its attempts.",
        )
    };
    let subject = format!("Online store: webhook {id} {state}");
    let text = format!("Webhook {id} has sent nothing to\n\n{url}\n\n{what_happens}\n");
    Ok(Some(Mail::new(new_id()?, email, subject, text).to_name(name)))
}

/// Records in the trail and the log of the host that a webhook is disabled. It stays disabled if that fails.
async fn tell(endpoint: &Endpoint, reason: Reason, shop: &Shop) {
    let id = endpoint.id;
    let why = match reason {
        Reason::Gone => "the receiver answered 410",
        Reason::Failures => "each attempt of five days has failed",
        Reason::Request => "on request",
    };
    tracing::warn!(webhook = id, why, "a webhook is disabled");
    let entry = TrailEntry::new("webhooks.disable", "webhooks", id.to_string())
        .details(format!("{why}."))
        .user(endpoint.user);
    if let Err(error) = shop.host.record(&entry).await {
        let causes = chain(&error);
        tracing::warn!(
            webhook = id,
            causes,
            "the trail has no entry of a webhook that is disabled"
        );
    }
}
