//! What a webhook has to send now: failed events that are due again, and what the feed of changes has after its place.
//! Each record is in it once. Read in one snapshot, with a statement for each type; knows nothing of how it is sent.

use std::collections::{HashMap, HashSet};

use serde_json::value::RawValue;

use super::endpoint::{Endpoint, Place};
use super::event::{Event, SHOP, What};
use super::message::{Content, MOST_BYTES, Record};
use crate::changes::Clock;
use crate::error::Error;
use crate::model::question::Page;
use crate::model::registry::Registry;
use crate::model::resource::Resource;
use crate::model::value::Cell;
use crate::service::call::Shop;
use crate::sql::places::{self, Placed};
use crate::sql::webhooks;
use crate::store::Transaction;
use crate::wire::document;
use crate::wire::object::{LinkBase, record_path};

/// How many changes are read at a time. Up to so many are sent again after a kill.
const PAGE: usize = 100;
/// How many changes are read at a time if the messages have the records, which are in memory together.
const FULL_PAGE: usize = 25;
/// From so many failed events on, the place does not move: the feed keeps the rest.
const MOST_RETRIES: usize = 100;
/// How many bytes of long texts are read at a time.
const READ_BYTES: usize = 4 << 20;

/// What is to be sent, in this order.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) due: Vec<Due>,
    /// The place of the webhook once all of it is sent.
    pub(super) place: Place,
    /// Whether the place has moved past changes.
    pub(super) moves: bool,
    /// How far the feed has been looked through.
    pub(super) seen: i64,
    /// Whether the feed has more.
    pub(super) has_more: bool,
    /// Whether the place cannot move until something that has failed is done.
    pub(super) is_blocked: bool,
    /// Whether the failed events have lost their meaning.
    pub(super) starts_over: bool,
    /// Failed events about records that are gone: their deletion is or will be in the feed.
    pub(super) obsolete: Vec<(&'static str, i64)>,
    /// When the first failed event is due that is not in this batch.
    pub(super) next_due: Option<i64>,
}

impl Batch {
    /// One without events, at this place, whose feed has been looked through so far.
    fn empty(place: Place, seen: i64) -> Self {
        Self {
            due: Vec::new(),
            place,
            moves: false,
            seen,
            has_more: false,
            is_blocked: false,
            starts_over: false,
            obsolete: Vec::new(),
            next_due: None,
        }
    }
}

/// An event that is to be sent.
#[derive(Debug)]
pub(super) struct Due {
    pub(super) event: Event,
    pub(super) content: Content,
    /// Whether the feed has it, and not only the table of failed events.
    pub(super) is_new: bool,
    /// Whether there is a failed event about the same record, which is replaced or removed.
    pub(super) is_noted: bool,
}

/// Reads what a webhook has to send of these types.
pub(super) async fn read(
    endpoint: &Endpoint,
    kinds: &[&'static Resource],
    only_one: bool,
    now: i64,
    shop: &Shop,
) -> Result<Batch, Error> {
    let mut transaction = shop.store.begin_read().await?;
    let clock = Clock::read(&mut transaction).await?;
    if !endpoint.goes_on(&clock) {
        transaction.end().await;
        return Ok(start_over(clock));
    }
    let retries = retries(endpoint.id, shop.registry, &mut transaction).await?;
    let mut batch = Batch::empty(endpoint.place.clone(), clock.seq);
    let most = if endpoint.is_full { FULL_PAGE } else { PAGE };
    let room = match (only_one, retries.is_empty()) {
        (true, true) => 1,
        // The event that has waited for the longest time is the one that is tried.
        (true, false) => 0,
        (false, _) => most.min(MOST_RETRIES.saturating_sub(retries.len())),
    };
    let mut fresh = Vec::new();
    if room == 0 {
        batch.is_blocked = true;
    } else if kinds.is_empty() {
        // All of it is passed over.
        batch.place.seq = clock.seq;
    } else {
        fresh = follow(endpoint, kinds, room, &clock, &mut batch, &mut transaction).await?;
    }
    let noted: HashMap<(&str, i64), What> =
        retries.iter().map(|(event, _)| ((event.kind, event.record), event.what)).collect();
    let replaced: HashSet<(&str, i64)> =
        fresh.iter().map(|event: &Event| (event.kind, event.record)).collect();
    let mut chosen = Vec::new();
    for (event, due_at) in retries {
        if replaced.contains(&(event.kind, event.record)) {
            continue;
        }
        let is_due = if only_one { chosen.is_empty() } else { due_at <= now };
        if is_due && chosen.len() < most {
            chosen.push((event, false));
        } else {
            batch.next_due = Some(batch.next_due.map_or(due_at, |first| first.min(due_at)));
        }
    }
    for mut event in fresh {
        // Its creation was not sent yet.
        if noted.get(&(event.kind, event.record)) == Some(&What::Created)
            && event.what == What::Updated
        {
            event.what = What::Created;
        }
        chosen.push((event, true));
    }
    let mut contents = contents(endpoint, &chosen, shop, &mut transaction).await?;
    transaction.end().await;
    for (event, is_new) in chosen {
        let of = (event.kind, event.record);
        let is_noted = noted.contains_key(&of);
        let content = match event.what {
            What::Created | What::Updated => contents.remove(&of),
            What::Deleted | What::Resync | What::Test => Some(Content::default()),
        };
        match content {
            Some(content) => batch.due.push(Due { event, content, is_new, is_noted }),
            None if is_noted => batch.obsolete.push(of),
            None => {}
        }
    }
    Ok(batch)
}

/// What a webhook sends whose place nobody can go on from.
fn start_over(clock: Clock) -> Batch {
    let Clock { feed, seq, .. } = clock;
    let event = Event::resync(seq);
    Batch {
        due: vec![Due { event, content: Content::default(), is_new: true, is_noted: false }],
        moves: true,
        starts_over: true,
        ..Batch::empty(Place { feed, seq }, seq)
    }
}

/// The failed events of a webhook, each with when it is due.
async fn retries(
    id: i64,
    registry: Registry,
    transaction: &mut Transaction,
) -> Result<Vec<(Event, i64)>, Error> {
    let rows = transaction.rows(webhooks::retries(id)).await?;
    // A later version of the store may have had others.
    let retries = rows.into_iter().filter_map(|row| {
        let known = registry.find(&row.kind).map(|of| of.kind);
        let kind = if row.kind == SHOP { Some(SHOP) } else { known }?;
        let webhooks::Retry { record, seq, attempts, due_at, .. } = row;
        let event = Event { kind, record, seq, what: What::named(&row.event)?, attempts };
        Some((event, due_at))
    });
    Ok(retries.collect())
}

/// The events after the place of a webhook, which moves on.
async fn follow(
    endpoint: &Endpoint,
    kinds: &[&'static Resource],
    room: usize,
    clock: &Clock,
    batch: &mut Batch,
    transaction: &mut Transaction,
) -> Result<Vec<Event>, Error> {
    let names: Vec<&str> = kinds.iter().map(|of| of.kind).collect();
    let from = endpoint.place.seq;
    let limit = i64::try_from(room).unwrap_or(i64::MAX);
    let rows = transaction.rows(places::after(from, &names, limit)).await?;
    let mut events = Vec::new();
    let mut latest = clock.seq;
    batch.has_more = rows.len() >= room;
    batch.moves = !rows.is_empty();
    for Placed { kind, record, seq, deleted, created } in rows {
        if batch.has_more {
            latest = seq;
        }
        let what = if deleted {
            What::Deleted
        } else if created > from {
            What::Created
        } else {
            What::Updated
        };
        let Some(resource) = kinds.iter().find(|of| of.kind == kind) else { continue };
        if endpoint.wants_event(what.name()) {
            events.push(Event { kind: resource.kind, record, seq, what, attempts: 0 });
        }
    }
    (batch.place.seq, batch.seen) = (latest, latest);
    Ok(events)
}

/// What the messages contain about the records that exist.
async fn contents(
    endpoint: &Endpoint,
    chosen: &[(Event, bool)],
    shop: &Shop,
    transaction: &mut Transaction,
) -> Result<HashMap<(&'static str, i64), Content>, Error> {
    let mut keys: HashMap<&'static str, Vec<i64>> = HashMap::new();
    for (event, _) in chosen {
        if matches!(event.what, What::Created | What::Updated) {
            keys.entry(event.kind).or_default().push(event.record);
        }
    }
    let mut contents = HashMap::new();
    for (kind, keys) in keys {
        let Some(resource) = shop.registry.find(kind) else { continue };
        for (key, version) in transaction.versions(resource, keys).await? {
            let content = Content {
                version,
                path: Some(record_path(resource, key, &shop.root)),
                record: Record::Unwanted,
            };
            contents.insert((kind, key), content);
        }
        if endpoint.is_full {
            let found = contents.keys().filter(|(of, _)| *of == kind).map(|(_, key)| *key);
            let found = found.collect();
            records(resource, found, shop, transaction, &mut contents).await?;
        }
    }
    Ok(contents)
}

/// Adds the records themselves to the messages about them.
async fn records(
    resource: &'static Resource,
    keys: Vec<i64>,
    shop: &Shop,
    transaction: &mut Transaction,
    contents: &mut HashMap<(&'static str, i64), Content>,
) -> Result<(), Error> {
    let base = LinkBase { path: "", root: &shop.root, registry: shop.registry, limit: MOST_BYTES };
    let mut left = vec![keys];
    while let Some(mut keys) = left.pop() {
        if keys.is_empty() {
            continue;
        }
        let page = Page::of_these(resource, keys.clone()).shown();
        let cells = match transaction.page(&Page { most_bytes: READ_BYTES, ..page }).await {
            Err(error) if error.is_too_large() => {
                if let [key] = keys[..] {
                    note(resource, key, Record::TooLarge, contents);
                } else {
                    left.push(keys.split_off(keys.len() / 2));
                    left.push(keys);
                }
                continue;
            }
            read => read?,
        };
        for row in cells.rows()? {
            let key = resource.key_of(&row)?;
            note(resource, key, written(resource, &row, base)?, contents);
        }
    }
    Ok(())
}

fn written(
    resource: &'static Resource,
    row: &[Cell<'_>],
    base: LinkBase<'_>,
) -> Result<Record, Error> {
    match document::object(resource, row, base) {
        Ok(text) => Ok(Record::Whole(RawValue::from_string(text)?)),
        Err(error) if error.is_too_large() => Ok(Record::TooLarge),
        Err(error) => Err(error),
    }
}

fn note(
    resource: &'static Resource,
    key: i64,
    record: Record,
    contents: &mut HashMap<(&'static str, i64), Content>,
) {
    if let Some(content) = contents.get_mut(&(resource.kind, key)) {
        content.record = record;
    }
}
