//! A round of a webhook: what it has to send now is sent, at most four messages at a time, and then noted in one
//! transaction: its place, what has failed, and the attempts. A round that is given up half-way has noted nothing, so
//! what it sent is sent again. Independent of when rounds begin.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use host_interface::{Caller, Delivered, Delivery, HostHandle, undelivered};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::attempts::{NEVER, State};
use super::endpoint::{Endpoint, Place, purpose};
use super::event::Event;
use super::journal::{self, Noted, Outcome};
use super::message::{About, Message, id_of, test_id};
use super::outcome::{Attempt, Counts, Fate};
use super::reader::{self, Batch, Due};
use crate::changes::{Cursor, Position, moment_of};
use crate::error::{Error, chain};
use crate::model::moment;
use crate::model::resource::Resource;
use crate::service::call::{Rights, Shop, VIEW};

/// How many messages of a webhook are under way at a time.
const AT_ONCE: usize = 4;
/// After this time a round begins with no further message, so that what it did is noted.
const SLICE: Duration = Duration::from_secs(5);
/// How long a stop waits for the messages under way.
const GRACE: Duration = Duration::from_secs(3);
/// How long a webhook waits that cannot send for a reason of this store.
const HOLD: Duration = Duration::from_secs(30);
/// How long one waits that fails and has nothing to try it with.
const IDLE: Duration = Duration::from_secs(5);

/// What the sender knows of a webhook after a round.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) endpoint: Endpoint,
    /// How far the feed has been looked through, which may be further than the place.
    pub(super) seen: i64,
    pub(super) has_more: bool,
    /// When the first failed event is due again.
    pub(super) next_due: Option<i64>,
    /// How long to wait before another round.
    pub(super) hold: Option<Duration>,
    pub(super) counts: Counts,
    /// Whether somebody has changed the webhook meanwhile, so that it must be read again.
    pub(super) is_stale: bool,
}

/// The clock of the database, as far as a program knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    seconds: i64,
    read: Instant,
}

impl Now {
    /// The clock shows these seconds since 1970 now.
    pub(super) fn of(seconds: i64) -> Self {
        Self { seconds, read: Instant::now() }
    }

    /// The time in seconds since 1970.
    pub(super) fn seconds(self) -> i64 {
        self.seconds.saturating_add(i64::try_from(self.read.elapsed().as_secs()).unwrap_or(0))
    }
}

/// Sends what a webhook has to send now.
pub(super) async fn run(
    endpoint: Endpoint,
    shop: &Arc<Shop>,
    now: Now,
    stopped: watch::Receiver<bool>,
) -> Result<Round, Error> {
    let sender = match Sender::of(&endpoint, shop, now) {
        Ok(sender) => sender,
        Err(why) => {
            endpoint.note_pause(why, &shop.store).await?;
            return Ok(Round { hold: Some(HOLD), ..Round::idle(endpoint.clone()) });
        }
    };
    if endpoint.health.state == State::Pending {
        return try_out(&endpoint, &sender).await;
    }
    let kinds = sender.kinds();
    let only_one = endpoint.health.state == State::Failing;
    let batch = reader::read(&endpoint, &kinds, only_one, now.seconds(), shop).await?;
    let names: Vec<&'static str> = kinds.iter().map(|of| of.kind).collect();
    let (outcome, is_held) = sender.send_all(&batch, &names, stopped).await?;
    let noted = journal::note(&endpoint, &outcome, shop).await?;
    let Noted { place, is_whole, next_due, counts, is_stale } = noted;
    let hold = if is_held { Some(HOLD) } else { batch.due.is_empty().then_some(IDLE) };
    Ok(Round {
        seen: if is_whole { batch.seen } else { place.seq },
        has_more: batch.has_more || !is_whole || (batch.is_blocked && counts.delivered > 0),
        next_due,
        hold: hold.filter(|_| is_held || only_one),
        counts,
        is_stale,
        endpoint: endpoint.at(place, outcome.health),
    })
}

/// Sends a test of a webhook, whatever its state, and returns what came of it, or why it cannot be sent.
pub(super) async fn test(
    endpoint: &Endpoint,
    shop: &Arc<Shop>,
    now: Now,
) -> Result<Result<Attempt, &'static str>, Error> {
    let sender = match Sender::of(endpoint, shop, now) {
        Ok(sender) => sender,
        Err(why) => return Ok(Err(why)),
    };
    let message = sender.test()?;
    sender.deliver(&message, 0).await.map(Ok)
}

/// Tries a new webhook out: it is active if the receiver answers well.
async fn try_out(endpoint: &Endpoint, sender: &Sender<'_>) -> Result<Round, Error> {
    let message = sender.test()?;
    let attempt = sender.deliver(&message, 0).await?;
    let mut health = endpoint.health;
    if attempt.is_accepted() {
        health.succeed()
    } else {
        // Once is enough: somebody looks at it, and tries again.
        health.resume_at = NEVER
    }
    let is_stale = !journal::note_test(endpoint, health, &attempt, &sender.shop.store).await?;
    let endpoint = endpoint.clone().at(endpoint.place.clone(), health);
    Ok(Round { is_stale, has_more: true, ..Round::idle(endpoint) })
}

impl Round {
    /// One that has done nothing.
    fn idle(endpoint: Endpoint) -> Self {
        Self {
            seen: endpoint.place.seq,
            endpoint,
            has_more: false,
            next_due: None,
            hold: None,
            counts: Counts::default(),
            is_stale: false,
        }
    }
}

/// What a webhook needs to send.
struct Sender<'a> {
    endpoint: &'a Endpoint,
    shop: &'a Arc<Shop>,
    now: Now,
    secrets: Vec<String>,
}

impl<'a> Sender<'a> {
    /// An error is the reason why the webhook cannot send, which is not the receiver's.
    fn of(endpoint: &'a Endpoint, shop: &'a Arc<Shop>, now: Now) -> Result<Self, &'static str> {
        let id = endpoint.id;
        let purpose = purpose(id);
        let opened = endpoint.sealed(now.seconds()).map(|it| shop.host.unseal(&purpose, it));
        let secrets = opened.collect::<Result<Vec<_>, _>>().map_err(|error| {
            let causes = chain(&error);
            tracing::warn!(webhook = id, causes, "the secret of a webhook cannot be opened");
            "The secret cannot be opened with the key of this host: rotate it."
        })?;
        let sender = Self { endpoint, shop, now, secrets };
        match sender.caller() {
            Some(_) => Ok(sender),
            None => Err("The user of the webhook is gone or blocked."),
        }
    }

    /// The user of the webhook, with the scopes of the token that has made it, as of now.
    fn caller(&self) -> Option<Caller> {
        let Endpoint { user, scopes, .. } = self.endpoint;
        let host: &HostHandle = &self.shop.host;
        match &**scopes {
            "" => host.caller(*user),
            scopes => host.caller_within(*user, scopes),
        }
    }

    /// The types that the webhook wants and may see.
    fn kinds(&self) -> Vec<&'static Resource> {
        let Some(caller) = self.caller() else { return Vec::new() };
        let followed = self.shop.registry.followed();
        followed.filter(|of| self.endpoint.wants_type(of.kind) && may_view(&caller, of)).collect()
    }

    /// Whether the webhook may send an event, asked each time before it does; `None` if its user is gone.
    fn may_tell(&self, event: &Event) -> Option<bool> {
        let caller = self.caller()?;
        let Some((kind, _)) = event.about() else { return Some(true) };
        let resource = self.shop.registry.find(kind);
        Some(resource.is_some_and(|of| self.endpoint.wants_type(kind) && may_view(&caller, of)))
    }

    /// Sends the events of a batch in their order, a few at a time. What is left is a part at its end, unless a
    /// stop has left messages under way. Returns also whether something on this side prevents that more is sent now.
    async fn send_all<'b>(
        &self,
        batch: &'b Batch,
        kinds: &[&'static str],
        mut stopped: watch::Receiver<bool>,
    ) -> Result<(Outcome<'b>, bool), Error> {
        let mut health = self.endpoint.health;
        let mut fates: Vec<Fate> = batch.due.iter().map(|_| Fate::Left).collect();
        let mut consequences = Vec::new();
        let mut under_way = FuturesUnordered::new();
        let (mut next, end) = (0, Instant::now() + SLICE);
        let (mut deadline, mut is_held) = (None, false);
        loop {
            let goes_on = deadline.is_none()
                && Instant::now() < end
                && health.state != State::Disabled
                && (health.state != State::Failing || next == 0);
            if goes_on && under_way.len() < AT_ONCE && next < batch.due.len() {
                let (due, at) = (&batch.due[next], next);
                match self.may_tell(&due.event) {
                    Some(true) => {
                        let message = self.message(due, kinds, &batch.place)?;
                        under_way.push(async move {
                            (at, self.deliver(&message, due.event.attempts).await)
                        });
                    }
                    Some(false) => fates[at] = Fate::Done,
                    // Those under way are still waited for.
                    None => {
                        is_held = true;
                        deadline = Some(Instant::now() + GRACE);
                        continue;
                    }
                }
                next += 1;
                continue;
            }
            let done = tokio::select! {
                biased;
                done = under_way.next() => done,
                () = over(&mut stopped, deadline) => match deadline {
                    Some(_) => break,
                    None => {
                        deadline = Some(Instant::now() + GRACE);
                        continue;
                    }
                },
            };
            let Some((at, attempt)) = done else { break };
            let attempt = match attempt {
                Ok(attempt) => attempt,
                // The host cannot send at all: what was sent until now is noted.
                Err(error) => {
                    tracing::warn!(causes = chain(&error), "a message cannot be sent now");
                    is_held = true;
                    deadline = Some(deadline.unwrap_or_else(|| Instant::now() + GRACE));
                    continue;
                }
            };
            // It is disabled if the receiver has answered meanwhile that it is gone.
            if health.state != State::Disabled {
                if attempt.is_accepted() {
                    health.succeed();
                } else {
                    consequences.push(health.fail(attempt.ended, attempt.is_gone(), attempt.due));
                }
            }
            fates[at] = Fate::Sent(attempt);
        }
        Ok((Outcome { batch, fates, health, consequences }, is_held))
    }

    fn message(&self, due: &Due, kinds: &[&'static str], place: &Place) -> Result<Message, Error> {
        let Due { event, content, .. } = due;
        let (named, feed) = (self.endpoint.names_types(), place.feed.clone());
        let kinds = kinds.to_vec();
        let cursor = Cursor { feed, kinds, named, step: Position::Follow(event.seq) };
        let (id, cursor) = (id_of(event, &place.feed), cursor.text());
        let first = format!("{}/changes", self.shop.root);
        let about = About { webhook: self.endpoint.id, cursor: &cursor, first: &first };
        Message::of(event, id, content, moment_of(event.seq), about)
    }

    fn test(&self) -> Result<Message, Error> {
        let about = About { webhook: self.endpoint.id, cursor: "", first: "" };
        let content = super::message::Content::default();
        Message::of(&Event::test(), test_id()?, &content, moment::now(), about)
    }

    /// Sends a message that has been sent so many times before.
    async fn deliver(&self, message: &Message, before: i64) -> Result<Attempt, Error> {
        let timestamp = time::UtcDateTime::now().unix_timestamp();
        let signature = message.signature(&self.secrets, timestamp)?;
        let delivery = Delivery::new(&self.endpoint.url, &message.body)
            .header("content-type", "application/json")
            .header("webhook-id", &message.id)
            .header("webhook-timestamp", timestamp.to_string())
            .header("webhook-signature", signature)
            .header("user-agent", concat!("online-store/", env!("CARGO_PKG_VERSION")));
        let begun = self.now.seconds();
        let delivered = match self.shop.host.deliver(&delivery).await {
            // The address was allowed once.
            Err(host_interface::Error::Refused(_)) => {
                Delivered::failed(undelivered::ADDRESS, Duration::ZERO)
            }
            done => done?,
        };
        Ok(Attempt::of(&delivered, before + 1, begun, self.now.seconds()))
    }
}

fn may_view(caller: &Caller, resource: &Resource) -> bool {
    Rights::to(VIEW, resource).has(caller)
}

/// Waits for a stop, or until its deadline.
async fn over(stopped: &mut watch::Receiver<bool>, deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => {
            if stopped.wait_for(|stopped| *stopped).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
