//! The job that sends: one host of a site at a time runs it. It follows the feed, and begins a round for each webhook
//! that has something to send, all of them side by side, so that none waits for another. While nothing happens, it asks
//! the database one question for all of them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};

use super::attempts::State;
use super::endpoint::Endpoint;
use super::journal;
use super::outcome::Counts;
use super::round::{self, Now, Round};
use crate::error::{Error, chain};
use crate::service::call::Shop;
use crate::sql::places;
use crate::sql::webhooks::{self, Overview};

/// How often the database is asked for what other hosts have written.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often the webhooks are read again although none seems to have changed.
const READ_EVERY: Duration = Duration::from_secs(10);
/// After this time the job ends as soon as nothing is under way, and begins anew, on any host.
const SHIFT: Duration = Duration::from_secs(30);
/// After this time it begins no more rounds, so that it ends.
const LONGEST_SHIFT: Duration = Duration::from_secs(10 * 60);
/// How long a webhook waits after a round that could not be done.
const PAUSE: Duration = Duration::from_secs(5);

/// What sends, over all runs of the job on this host.
#[derive(Debug)]
pub(crate) struct Sender {
    stopped: watch::Sender<bool>,
    sent: Sent,
}

/// How many events became what on this host.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    delivered: AtomicU64,
    failed: AtomicU64,
    given_up: AtomicU64,
}

impl Sender {
    /// One that sends when its job runs.
    pub(crate) fn new() -> Self {
        Self { stopped: watch::Sender::new(false), sent: Sent::default() }
    }

    /// Makes the job end soon, and those that begin later at once, until it may send again.
    pub(crate) fn stop(&self, stop: bool) {
        self.stopped.send_replace(stop);
    }

    /// How many events were delivered, failed once more, and were given up.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 3] {
        let Sent { delivered, failed, given_up } = &self.sent;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        [("delivered", read(delivered)), ("failed", read(failed)), ("given_up", read(given_up))]
    }

    /// Sends while there are webhooks that are enabled. Returns whether the job is to run again at once.
    pub(crate) async fn run(&self, shop: &Arc<Shop>) -> Result<bool, Error> {
        let mut shift = Shift {
            shop,
            stopped: self.stopped.subscribe(),
            sent: &self.sent,
            rounds: JoinSet::new(),
            of: HashMap::new(),
            known: BTreeMap::new(),
            heads: Heads::default(),
            now: Now::of(0),
            read: None,
            began: Instant::now(),
        };
        let mut stopped = self.stopped.subscribe();
        // Whoever lets it send wakes its job.
        if *stopped.borrow() {
            return Ok(false);
        }
        let mut moves = shop.feed.moves();
        let mut looked = None;
        loop {
            // The end of a round is no reason to ask the database, unless its webhook has to be read again.
            let is_late = looked.is_none_or(|looked: Instant| looked.elapsed() >= LOOK_EVERY);
            if is_late || shift.read.is_none() {
                let found = shift.look().await;
                looked = Some(Instant::now());
                match found {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        let causes = chain(&error);
                        tracing::warn!(causes, "the webhooks cannot be read now");
                        shift.finish().await;
                        sleep(PAUSE).await;
                        return Ok(true);
                    }
                }
            }
            // After a stop, another host goes on, or this one once it has started again.
            if *stopped.borrow() || shift.is_over() {
                shift.finish().await;
                return Ok(true);
            }
            shift.begin_rounds();
            let until = shift.next_look(looked);
            tokio::select! {
                Some(done) = shift.rounds.join_next_with_id() => shift.end_round(done),
                _ = moves.changed() => looked = None,
                () = sleep_until(until) => {}
                _ = stopped.wait_for(|stopped| *stopped) => {}
            }
        }
        shift.finish().await;
        Ok(false)
    }
}

impl Sent {
    fn add(&self, counts: Counts) {
        self.delivered.fetch_add(counts.delivered, Ordering::Relaxed);
        self.failed.fetch_add(counts.failed, Ordering::Relaxed);
        self.given_up.fetch_add(counts.given_up, Ordering::Relaxed);
    }
}

/// The latest places, by type.
#[derive(Debug, Default)]
struct Heads {
    feed: String,
    /// The latest place.
    seq: i64,
    /// The place up to which deletions are forgotten.
    floor: i64,
    /// The place after which the latest place of each type is known here.
    since: i64,
    kinds: HashMap<String, i64>,
}

/// A webhook as a shift knows it.
#[derive(Debug)]
struct Known {
    endpoint: Endpoint,
    /// How far the feed has been looked through for it.
    seen: i64,
    /// Whether a round is under way.
    is_busy: bool,
    /// Whether its row is not what is known here, because a client has changed it during a round, or because a round
    /// could not be done or noted. It is read before the next round.
    is_unsure: bool,
    has_more: bool,
    next_due: Option<i64>,
    /// No round begins before this moment.
    held_until: Instant,
    /// How many attempts were noted since older ones were removed.
    attempts: i64,
}

/// A run of the job.
struct Shift<'a> {
    shop: &'a Arc<Shop>,
    stopped: watch::Receiver<bool>,
    sent: &'a Sent,
    rounds: JoinSet<Result<Round, Error>>,
    /// The webhook of each round.
    of: HashMap<Id, i64>,
    known: BTreeMap<i64, Known>,
    heads: Heads,
    now: Now,
    /// When the webhooks were read.
    read: Option<Instant>,
    began: Instant,
}

impl Shift<'_> {
    /// Looks at what has changed. Returns whether there is any webhook that is enabled.
    async fn look(&mut self) -> Result<bool, Error> {
        let mut rows = self.shop.store.rows(webhooks::overview()).await?;
        let versions: Vec<(i64, i64)> =
            rows.iter().filter_map(|row| row.webhook.zip(row.version)).collect();
        let clock = rows.pop().ok_or(Error::Contract("the feed of changes has no row"))?;
        let Overview { feed, seq, floor, .. } = clock;
        if versions.is_empty() && self.rounds.is_empty() {
            return Ok(false);
        }
        let is_old = self.read.is_none_or(|read| read.elapsed() > READ_EVERY);
        let own = self.known.values().map(|of| (of.endpoint.id, of.endpoint.version));
        if is_old || !own.eq(versions.iter().copied()) {
            self.read_all().await?;
        }
        self.heads.floor = floor;
        if feed != self.heads.feed {
            self.heads = Heads { feed, seq, floor, since: seq, kinds: HashMap::new() };
        } else if seq != self.heads.seq {
            let heads = self.shop.store.rows(places::heads(self.heads.seq)).await?;
            self.heads.kinds.extend(heads.into_iter().map(|head| (head.kind, head.seq)));
            self.heads.seq = seq;
        }
        Ok(true)
    }

    /// Reads all webhooks. What is known of those that have a round under way stays until its end.
    async fn read_all(&mut self) -> Result<(), Error> {
        let mut transaction = self.shop.store.begin_read().await?;
        self.now = Now::of(transaction.seconds().await?);
        let due = transaction.rows(webhooks::due()).await?.into_iter();
        let due: HashMap<i64, i64> = due.map(|of| (of.webhook_id, of.due_at)).collect();
        transaction.end().await;
        let mut before = std::mem::take(&mut self.known);
        for endpoint in Endpoint::all(&self.shop.store).await? {
            let (id, next_due) = (endpoint.id, due.get(&endpoint.id).copied());
            let known = match before.remove(&id) {
                Some(known) if known.is_busy => {
                    let has_changed = known.endpoint.version != endpoint.version;
                    Known { is_unsure: known.is_unsure || has_changed, ..known }
                }
                Some(known) if known.endpoint.version == endpoint.version && !known.is_unsure => {
                    // Its place may have been looked through further than it is written.
                    let has_moved = known.endpoint.place != endpoint.place;
                    let seen = if has_moved { endpoint.place.seq } else { known.seen };
                    Known { endpoint, seen, next_due, ..known }
                }
                other => Known {
                    seen: endpoint.place.seq,
                    endpoint,
                    is_busy: false,
                    is_unsure: false,
                    has_more: true,
                    next_due,
                    // What a client has changed may be what it was waiting for.
                    held_until: match &other {
                        Some(known) if known.is_unsure => known.held_until,
                        _ => Instant::now(),
                    },
                    attempts: other.map_or(journal::SWEPT_AFTER, |known| known.attempts),
                },
            };
            self.known.insert(id, known);
        }
        // The rounds of those that are gone or disabled end by themselves.
        let busy = before.into_iter().filter(|(_, known)| known.is_busy);
        self.known.extend(busy.map(|(id, known)| (id, Known { is_unsure: true, ..known })));
        self.read = Some(Instant::now());
        Ok(())
    }

    /// Begins a round for each webhook that has something to send.
    fn begin_rounds(&mut self) {
        if self.began.elapsed() > LONGEST_SHIFT {
            return;
        }
        let (now, moment) = (self.now.seconds(), Instant::now());
        for (id, known) in &mut self.known {
            let is_ready = !known.is_busy && !known.is_unsure && known.held_until <= moment;
            if !is_ready || !self.heads.calls(known, now) {
                continue;
            }
            known.is_busy = true;
            let (id, endpoint, shop) = (*id, known.endpoint.clone(), Arc::clone(self.shop));
            let (now, stopped) = (self.now, self.stopped.clone());
            let round = async move { round::run(endpoint, &shop, now, stopped).await };
            self.of.insert(self.rounds.spawn(round).id(), id);
        }
    }

    /// Takes note of a round that has ended.
    fn end_round(&mut self, done: Result<(Id, Result<Round, Error>), JoinError>) {
        let (task, done) = match done {
            Ok((task, done)) => (task, done),
            Err(error) => (error.id(), Err(host_interface::Error::failed(error).into())),
        };
        let Some(id) = self.of.remove(&task) else { return };
        let Some(known) = self.known.get_mut(&id) else { return };
        known.is_busy = false;
        match done {
            Ok(round) => {
                self.sent.add(round.counts);
                let Counts { delivered, failed, .. } = round.counts;
                let count = i64::try_from(delivered.saturating_add(failed)).unwrap_or(i64::MAX);
                known.attempts = known.attempts.saturating_add(count);
                let Round { endpoint, seen, has_more, next_due, hold, is_stale, .. } = round;
                (known.seen, known.has_more, known.next_due) = (seen, has_more, next_due);
                // A client may have changed it meanwhile, which the version in its row shows.
                known.endpoint = endpoint;
                known.held_until = Instant::now() + hold.unwrap_or_default();
                known.is_unsure |= is_stale;
            }
            Err(error) => {
                let causes = chain(&error);
                tracing::warn!(webhook = id, causes, "a round of a webhook could not be done");
                known.held_until = Instant::now() + PAUSE;
                known.is_unsure = true;
            }
        }
        if known.is_unsure {
            self.read = None;
        }
        if journal::is_to_trim(known.attempts) {
            known.attempts = 0;
            let store = self.shop.store.clone();
            drop(tokio::spawn(async move {
                if let Err(error) = journal::trim(id, &store).await {
                    tracing::warn!(causes = chain(&error), "old attempts cannot be removed now");
                }
            }));
        }
    }

    /// Whether the job is to begin anew.
    fn is_over(&self) -> bool {
        self.began.elapsed() > SHIFT && self.rounds.is_empty()
    }

    /// When to look again, if nothing happens after the last look.
    fn next_look(&self, looked: Option<Instant>) -> Instant {
        let now = Instant::now();
        let next = looked.unwrap_or(now) + LOOK_EVERY;
        let held = self.known.values().filter(|known| !known.is_busy).map(|known| known.held_until);
        held.filter(|held| *held > now).min().map_or(next, |held| held.min(next))
    }

    /// Waits for the rounds under way.
    async fn finish(&mut self) {
        while let Some(done) = self.rounds.join_next_with_id().await {
            self.end_round(done);
        }
    }
}

impl Heads {
    /// Whether a webhook has something to send now.
    fn calls(&self, known: &Known, now: i64) -> bool {
        let Known { endpoint, seen, has_more, next_due, .. } = known;
        match endpoint.health.state {
            State::Disabled => false,
            State::Pending | State::Failing => endpoint.health.resume_at <= now,
            State::Active => {
                *has_more
                    || next_due.is_some_and(|due| due <= now)
                    || endpoint.place.feed != self.feed
                    || *seen < self.floor
                    || (*seen < self.seq && self.is_news(endpoint, *seen))
            }
        }
    }

    fn is_news(&self, endpoint: &Endpoint, seen: i64) -> bool {
        let newer = |(kind, latest): (&String, &i64)| *latest > seen && endpoint.wants_type(kind);
        seen < self.since || self.kinds.iter().any(newer)
    }
}
