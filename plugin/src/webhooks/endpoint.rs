//! A webhook as its sender needs it: where it sends what, on whose behalf, and how far it has come. Reads and changes
//! the rows; knows nothing of what clients see of them.

use time::{PrimitiveDateTime, UtcDateTime};

use super::attempts::{Health, Reason, State};
use crate::changes::Clock;
use crate::error::Error;
use crate::model::field::{Handle, choice, text, user, words};
use crate::model::value::Value;
use crate::sql::webhooks::{self, Webhook};
use crate::sql::{self, Statement};
use crate::store::{self, Store, Transaction};

/// The kind of the resource that shows them.
pub(crate) const KIND: &str = "webhooks";
/// How many webhooks a store has at most.
pub(crate) const MOST: i64 = 50;

/// The address of the receiver.
pub(crate) const URL: Handle<String> = text("url", 2_048).required().words();
/// The types whose changes it sends; empty is all that may be viewed.
pub(crate) const TYPES: Handle<String> = words("types", &[]).words();
/// Whether a message has the record.
pub(crate) const PAYLOAD: Handle<String> = choice("payload", &[THIN, FULL]).words();
/// Whose rights it has.
pub(crate) const USER: Handle<i64> = user("user_id").read_only().number();
/// The scopes of the token with which that user has made it; empty if these set no limit.
pub(crate) const SCOPES: Handle<String> = text("scopes", usize::MAX).read_only().words();
/// Notes a failure, for whoever looks.
const FAILED: &str =
    "UPDATE shop_webhook_places SET last_failure_on = ?, last_failure = ? WHERE webhook_id = ?";
const THIN: &str = "thin";
const FULL: &str = "full";

/// A webhook.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub(super) id: i64,
    /// Changes with whatever clients change of it.
    pub(super) version: i64,
    pub(super) url: String,
    /// The types, and the events; empty is all.
    types: Vec<String>,
    events: Vec<String>,
    /// Whether its messages have the records.
    pub(super) is_full: bool,
    pub(super) user: i64,
    pub(super) scopes: String,
    sealed: String,
    former_sealed: String,
    former_until: i64,
    pub(super) health: Health,
    pub(super) place: Place,
}

/// A place in a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) feed: String,
    pub(super) seq: i64,
}

/// What is written of an endpoint after it has sent something, or has come to another place.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) place: &'a Place,
    pub(super) health: &'a Health,
    /// Why it is disabled, if it has just been.
    pub(super) disabled: Option<Reason>,
    /// When it last succeeded in this step.
    pub(super) success: Option<i64>,
    /// When it last failed in this step, and why.
    pub(super) failure: Option<(i64, &'a str)>,
}

impl Endpoint {
    /// Those that are enabled, in the order of their keys.
    pub(super) async fn all(store: &Store) -> Result<Vec<Self>, Error> {
        store.rows(webhooks::enabled()).await?.into_iter().map(Self::of_row).collect()
    }

    /// The one with this key, if it exists, enabled or not.
    pub(super) async fn find(
        id: i64,
        transaction: &mut Transaction,
    ) -> Result<Option<Self>, Error> {
        transaction.rows(webhooks::with_key(id)).await?.pop().map(Self::of_row).transpose()
    }

    fn of_row(row: Webhook) -> Result<Self, Error> {
        let state = State::named(&row.state);
        Ok(Self {
            id: row.id,
            version: row.version,
            url: row.url,
            types: list(&row.types),
            events: list(&row.events),
            is_full: row.payload == FULL,
            user: row.user,
            scopes: row.scopes,
            sealed: row.sealed,
            former_sealed: row.former_sealed,
            former_until: row.former_until,
            health: Health {
                state: state.ok_or(Error::Contract("a webhook has a state that is not known"))?,
                failures: row.failures,
                failing_since: row.failing_since,
                resume_at: row.resume_at,
                mails: row.mails,
            },
            place: Place { feed: row.feed, seq: row.place },
        })
    }

    /// This webhook after a step.
    pub(super) fn at(self, place: Place, health: Health) -> Self {
        Self { place, health, ..self }
    }

    /// Whether changes of this type are wanted.
    pub(super) fn wants_type(&self, kind: &str) -> bool {
        self.types.is_empty() || self.types.iter().any(|of| of == kind)
    }

    /// Whether somebody has named its types.
    pub(super) fn names_types(&self) -> bool {
        !self.types.is_empty()
    }

    /// Whether events of this name are wanted.
    pub(super) fn wants_event(&self, name: &str) -> bool {
        self.events.is_empty() || self.events.iter().any(|of| of == name)
    }

    /// The encrypted secrets that sign at this moment, the newest first.
    pub(super) fn sealed(&self, now: i64) -> impl Iterator<Item = &str> {
        let former = Some(&*self.former_sealed);
        let former = former.filter(|secret| !secret.is_empty() && now < self.former_until);
        std::iter::once(&*self.sealed).chain(former)
    }

    /// Whether it goes on where it stands in this feed. Otherwise deletions may be missing.
    pub(super) fn goes_on(&self, clock: &Clock) -> bool {
        let Place { feed, seq } = &self.place;
        *feed == clock.feed && (clock.floor..=clock.seq).contains(seq)
    }

    /// Writes why it cannot send now, for whoever looks.
    pub(super) async fn note_pause(&self, why: &str, store: &Store) -> Result<(), Error> {
        let binds = vec![Value::now(), Value::Text(why.to_owned()), Value::Int(self.id)];
        let paused = Statement::fixed(FAILED, binds);
        store::retry(|| store.write([paused.clone()])).await
    }

    /// Writes a step, unless somebody has moved or changed the webhook since it was read: `false` then.
    pub(super) async fn note(
        &self,
        step: &Step<'_>,
        transaction: &mut Transaction,
    ) -> Result<bool, Error> {
        const NOTE: &str = "UPDATE shop_webhook_places SET state = ?, feed = ?, place = ?, \
            failures = ?, failing_since = ?, resume_at = ?, mails = ? WHERE webhook_id = ? AND feed = ? AND place = ? AND state = ?";
        const SUCCEEDED: &str =
            "UPDATE shop_webhook_places SET last_success_on = ? WHERE webhook_id = ?";
        const EXPLAIN: &str =
            "UPDATE shop_webhook_places SET disabled_reason = ? WHERE webhook_id = ?";
        const DISABLE: &str = "UPDATE shop_webhooks SET version = version + 1, enabled = 0, \
            modified_on = ? WHERE shop_webhook_id = ?";
        let Step { place, health, disabled, success, failure } = step;
        let text = |text: &str| Value::Text(text.to_owned());
        let moment = |at: i64| Value::Moment(moment_at(at));
        let binds = vec![
            text(health.state.name()),
            text(&place.feed),
            Value::Int(place.seq),
            Value::Int(health.failures),
            Value::Int(health.failing_since),
            Value::Int(health.resume_at),
            Value::Int(health.mails),
            Value::Int(self.id),
            text(&self.place.feed),
            Value::Int(self.place.seq),
            text(self.health.state.name()),
        ];
        if transaction.change(Statement::fixed(NOTE, binds)).await? != 1 {
            return Ok(false);
        }
        let mut further = Vec::new();
        if let Some(at) = *success {
            further.push((SUCCEEDED, vec![moment(at), Value::Int(self.id)]));
        }
        if let Some((at, why)) = *failure {
            further.push((FAILED, vec![moment(at), text(why), Value::Int(self.id)]));
        }
        if let Some(reason) = *disabled {
            further.push((EXPLAIN, vec![text(reason.name()), Value::Int(self.id)]));
            further.push((DISABLE, vec![Value::now(), Value::Int(self.id)]));
        }
        for (statement, binds) in further {
            transaction.execute(Statement::fixed(statement, binds)).await?;
        }
        Ok(true)
    }
}

/// Gives a new webhook its encrypted secret, and its place in the feed: what changes from now on.
pub(crate) async fn begin(
    id: i64,
    enabled: bool,
    sealed: String,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    const COLUMNS: [&str; 6] =
        ["webhook_id", "state", "disabled_reason", "sealed", "feed", "place"];
    let Clock { feed, seq, .. } = Clock::read(transaction).await?;
    let (state, reason) = initial(enabled);
    let text = |text: &str| Value::Text(text.to_owned());
    let row = vec![
        Value::Int(id),
        text(state.name()),
        text(reason),
        Value::Text(sealed),
        text(&feed),
        Value::Int(seq),
    ];
    for insert in
        sql::insert_rows("shop_webhook_places", &COLUMNS, vec![row], transaction.dialect())
    {
        transaction.execute(insert).await?;
    }
    Ok(())
}

/// Gives a webhook another encrypted secret. The one before signs too, until this moment.
pub(crate) async fn rotate(
    id: i64,
    sealed: String,
    until: i64,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    // In this order: an engine may see what it has just set.
    const ROTATE: &str = "UPDATE shop_webhook_places SET former_sealed = sealed, former_until = ?, \
        sealed = ? WHERE webhook_id = ?";
    let binds = vec![Value::Int(until), Value::Text(sealed), Value::Int(id)];
    transaction.execute(Statement::fixed(ROTATE, binds)).await
}

/// Makes a webhook begin as a new one does, at its place: it is tried first, if it is enabled.
pub(crate) async fn restart(
    id: i64,
    enabled: bool,
    transaction: &mut Transaction,
) -> Result<(), Error> {
    const RESTART: &str = "UPDATE shop_webhook_places SET state = ?, disabled_reason = ?, \
        failures = 0, failing_since = 0, resume_at = 0, mails = 0 WHERE webhook_id = ?";
    let (state, reason) = initial(enabled);
    let text = |text: &str| Value::Text(text.to_owned());
    let binds = vec![text(state.name()), text(reason), Value::Int(id)];
    transaction.execute(Statement::fixed(RESTART, binds)).await
}

/// Sets a webhook back to a place of the feed.
pub(crate) async fn move_to(id: i64, seq: i64, transaction: &mut Transaction) -> Result<(), Error> {
    const MOVE: &str = "UPDATE shop_webhook_places SET place = ?, feed = \
        (SELECT feed FROM shop_feed WHERE one = 1) WHERE webhook_id = ?";
    let binds = vec![Value::Int(seq), Value::Int(id)];
    transaction.execute(Statement::fixed(MOVE, binds)).await
}

/// What a secret of a webhook is encrypted for.
pub(crate) fn purpose(id: i64) -> String {
    format!("webhook {id}")
}

/// A moment in seconds since 1970, to show it.
pub(super) fn moment_at(seconds: i64) -> PrimitiveDateTime {
    let at = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::UNIX_EPOCH);
    PrimitiveDateTime::new(at.date(), at.time())
}

fn initial(enabled: bool) -> (State, &'static str) {
    if enabled { (State::Pending, "") } else { (State::Disabled, Reason::Request.name()) }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
