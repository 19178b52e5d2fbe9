//! Webhooks as clients see them: what they set, the secret that is shown once, and the routes to test one, to set it back
//! and to read its attempts. `crate::webhooks` sends.

use host_interface::{Response, fact};

use super::route::post;
use crate::changes::{Clock, Cursor, Position, moment_of, place_of};
use crate::error::{Error, Fault, FaultKind};
use crate::model::field::{
    ENABLED, Field, Handle, choice, count, created_on, modified_on, moment, text, words,
};
use crate::model::moment::render;
use crate::model::presentation::{Group, Presentation};
use crate::model::question::{Page, Shape};
use crate::model::record::Record;
use crate::model::resource::{Join, Nested, Order, Permissions, Resource};
use crate::model::value::{Cell, Value, short};
use crate::service::call::{Call, Rights, VIEW};
use crate::service::crud;
use crate::service::hooks::{Answer, Service};
use crate::service::write::Write;
use crate::sql;
use crate::webhooks::{
    self, ERRORS, EVENTS, KIND, MOST, PAYLOAD, SCOPES, State, TYPES, Trial, URL, USER, new_secret,
    purpose,
};
use crate::wire::document::Records;
use crate::wire::draft::{Draft, Intent};
use crate::wire::view::View;
use crate::wire::{answer, document, object, request};

pub(crate) static WEBHOOKS: Resource = Resource {
    kind: KIND,
    singular: "webhook",
    table: "shop_webhooks",
    key: "shop_webhook_id",
    list: &[
        URL.field,
        text("description", 255),
        TYPES.field,
        words("events", EVENTS),
        PAYLOAD.field,
        ENABLED.field,
        choice("state", State::NAMES).joined(AT, "state"),
        text("disabled_reason", 16).joined(AT, "disabled_reason"),
        count("behind").computed(sql::webhooks::BEHIND),
        count("retrying").computed(
            "(SELECT count(*) FROM shop_webhook_retries r WHERE r.webhook_id = t.shop_webhook_id)",
        ),
        moment("last_success_on").joined(AT, "last_success_on"),
        moment("last_failure_on").joined(AT, "last_failure_on"),
        text("last_failure", 255).joined(AT, "last_failure"),
        USER.field,
        created_on().read_only(),
        modified_on(),
    ],
    detail: &[SECRET],
    hidden: &[SCOPES.field],
    joins: &[Join {
        alias: AT,
        table: "shop_webhook_places",
        key: "webhook_id",
        by: "shop_webhook_id",
    }],
    // How the store is used, and not what it is about: a change of a webhook is no event.
    followed: false,
    serialised: true,
    folds: false,
    shown: Presentation {
        group: Some(Group::Exchange),
        label: &["url"],
        columns: &["url", "description", "state", "enabled", "last_success_on"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

static DELIVERIES: Resource = Resource {
    kind: "webhookdeliveries",
    title: Some("Webhook deliveries"),
    singular: "webhook delivery",
    table: "shop_webhook_deliveries",
    key: "shop_webhook_delivery_id",
    // The newest first, and in no other order.
    detail: &[
        // Not a relationship: the list is below the webhook.
        count("webhook_id"),
        text("event", 80),
        text("record_type", 64),
        count("record_id").nullable(),
        count("attempt"),
        count("status").nullable(),
        count("duration_ms"),
        choice("error", ERRORS).nullable(),
        moment("attempted_on"),
        moment("next_attempt_on"),
    ],
    crud: false,
    nested: &[Nested { parent: KIND, segment: "deliveries", by: "webhook_id", filters: &[] }],
    order: Order { field: None, descending: true },
    versioned: false,
    folds: false,
    permissions: Permissions::Of(KIND),
    shown: Presentation {
        label: &["attempted_on"],
        columns: &["attempted_on", "event", "record_type", "record_id", "status", "error"],
        ..Presentation::PLAIN
    },
    ..Resource::CRUD
}
.checked();

/// Where a webhook is to be set back to.
static REPLAY: Resource = Resource {
    kind: KIND,
    view: Some("webhooks.replay"),
    singular: "replay",
    list: &[SINCE.field, CURSOR.field],
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// A test, which takes no attributes.
static TEST: Resource =
    Resource { view: Some("webhooks.test"), singular: "test", list: &[], ..REPLAY }.checked();

/// A change of the secret, which takes no attributes either.
static ROTATION: Resource =
    Resource { view: Some("webhooks.rotation"), singular: "rotation", ..TEST }.checked();

pub(super) const DELIVERY_SERVICE: Service = Service::of(&DELIVERIES);

pub(super) const SERVICE: Service = Service {
    create: Some(|call| Box::pin(create(call))),
    derive: Some(|draft, before, write| Box::pin(derive(draft, before, write))),
    before_update: Some(|before, after, write| Box::pin(restart(before, after, write))),
    special: &[
        post(
            "webhooks/{id:digits}/test",
            "test",
            "Send a test to a webhook",
            &TEST,
            Answer::Entry(&DELIVERIES),
            |call| Box::pin(test(call)),
        ),
        post(
            "webhooks/{id:digits}/rotate",
            "rotate",
            "Replace the secret of a webhook",
            &ROTATION,
            Answer::One(&WEBHOOKS),
            |call| Box::pin(rotate(call)),
        ),
        post(
            "webhooks/{id:digits}/replay",
            "replay",
            "Send earlier changes to a webhook again",
            &REPLAY,
            Answer::One(&WEBHOOKS),
            |call| Box::pin(replay(call)),
        ),
    ],
    ..Service::of(&WEBHOOKS)
};

/// The alias of the table that its sender writes.
const AT: &str = "sent";

/// The secret, which is empty but for the answers that show it once.
const SECRET: Field = text(SECRET_NAME, 64).computed("''");
const SECRET_NAME: &str = "secret";

/// In `meta` of the answer to a repeated request: the first one has shown the secret.
const SHOWN_BEFORE: &str = "secret_shown_before";

/// For how long a secret still signs after it was replaced, in seconds.
const BOTH_SIGN: i64 = 24 * 60 * 60;

const SINCE: Handle<time::PrimitiveDateTime> = moment("since").time();
const CURSOR: Handle<String> = text("cursor", 4_096).words();

/// `POST /webhooks`
async fn create(call: &Call<'_>) -> Result<Response, Error> {
    let mut draft = Draft::sent(call.request, &WEBHOOKS, None, Intent::Create)?;
    let mut write = crud::begin(call, &WEBHOOKS).await?;
    derive(&mut draft, None, &mut write).await?;
    let record = draft.as_record();
    write.validate(&mut draft, &record).await?;
    if write.transaction.number(sql::count_rows(WEBHOOKS.table)).await? >= MOST {
        let detail = format!("A store has at most {MOST} webhooks.");
        return write.refuse(Fault::new(FaultKind::Refused, detail)).await;
    }
    let key = write.insert(&draft).await?;
    let secret = new_secret()?;
    let sealed = call.shop.host.seal(&purpose(key), &secret)?;
    webhooks::begin(key, record.need(&ENABLED)?, sealed, &mut write.transaction).await?;
    answer_once(201, key, &secret, write).await
}

/// Checks the types and the address, and notes who decides now what the webhook may see.
async fn derive(
    draft: &mut Draft,
    before: Option<&Record>,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    let changed = |draft: &Draft, field: &Handle<String>| {
        let Some(given) = draft.get(field)?.map(str::to_owned) else { return Ok(None) };
        let known = before.map(|before| before.need(field)).transpose()?;
        Ok::<_, Error>((known != Some(&*given)).then_some(given))
    };
    let (url, types) = (changed(draft, &URL)?, changed(draft, &TYPES)?);
    let payload = changed(draft, &PAYLOAD)?;
    if let Some(types) = &types {
        check_types(types, draft, write.call)?;
    }
    if let Some(url) = &url {
        check_address(url, draft, write.call)?;
    }
    if before.is_none() || url.is_some() || types.is_some() || payload.is_some() {
        draft.set(&USER, write.call.user())?;
        draft.set(&SCOPES, scopes(write.call))?;
    }
    Ok(())
}

/// Who names a type must be permitted to view it.
fn check_types(types: &str, draft: &mut Draft, call: &Call<'_>) -> Result<(), Error> {
    for kind in types.split(',').filter(|kind| !kind.is_empty()) {
        let resource = call.shop.registry.find(kind).filter(|of| of.is_followed());
        match resource {
            Some(resource) => call.permit_any(&Rights::to(VIEW, resource))?,
            None => {
                let detail = format!("types: there is no type {:?} to follow.", short(kind));
                draft.refuse(&TYPES, detail);
            }
        }
    }
    Ok(())
}

/// What the host knows of an address without looking its name up.
fn check_address(url: &str, draft: &mut Draft, call: &Call<'_>) -> Result<(), Error> {
    match call.shop.host.may_deliver(url) {
        Ok(()) => {}
        Err(host_interface::Error::Refused(detail)) => draft.refuse(&URL, detail),
        Err(host_interface::Error::Unsupported(_)) => {
            draft.refuse(&URL, "The host of this site sends no requests to other sites.");
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// The scopes of the token that the request was sent with; empty if these set no limit.
fn scopes(call: &Call<'_>) -> String {
    let caller = call.request.caller();
    caller.and_then(|caller| caller.fact(fact::TOKEN_SCOPES)).unwrap_or_default().to_owned()
}

/// A webhook that is enabled again, or has another address, is tried first.
async fn restart(before: &Record, after: &Record, write: &mut Write<'_>) -> Result<(), Error> {
    let is_enabled = after.need(&ENABLED)?;
    let is_moved = before.need(&URL)? != after.need(&URL)?;
    if before.need(&ENABLED)? != is_enabled || (is_enabled && is_moved) {
        webhooks::restart(after.key(), is_enabled, &mut write.transaction).await?;
    }
    Ok(())
}

/// `POST /webhooks/<id>/test`
async fn test(call: &Call<'_>) -> Result<Response, Error> {
    let draft = without_fields(call, &TEST)?;
    let key = call.path_key(&WEBHOOKS)?;
    // A repeated request is answered without another test.
    let mut write = crud::begin(call, &WEBHOOKS).await?;
    write.target(&WEBHOOKS, key).await?;
    refuse_faults(draft, &mut write).await?;
    let trial = Trial::send(key, write.transaction, call.shop).await?;
    let trial = trial.map_err(|why| Fault::new(FaultKind::Refused, why))?;
    let mut write = crud::begin(call, &WEBHOOKS).await?;
    write.record(&WEBHOOKS, key).await?;
    trial.note(&mut write.transaction).await?;
    // The sender reads again what has another version.
    write.change(&WEBHOOKS, key, &[]).await?;
    let values: Vec<_> = DELIVERIES.fields().zip(trial.row()).collect();
    let attempt = write.add(&DELIVERIES, &values).await?;
    let answer = write.shown(&DELIVERIES, attempt).await?;
    write.commit(answer).await
}

/// `POST /webhooks/<id>/rotate`
async fn rotate(call: &Call<'_>) -> Result<Response, Error> {
    let draft = without_fields(call, &ROTATION)?;
    let key = call.path_key(&WEBHOOKS)?;
    let mut write = crud::begin(call, &WEBHOOKS).await?;
    write.target(&WEBHOOKS, key).await?;
    refuse_faults(draft, &mut write).await?;
    let secret = new_secret()?;
    let sealed = call.shop.host.seal(&purpose(key), &secret)?;
    let until = write.transaction.seconds().await?.saturating_add(BOTH_SIGN);
    webhooks::rotate(key, sealed, until, &mut write.transaction).await?;
    let values = [(&*USER, Value::Int(call.user())), (&*SCOPES, Value::Text(scopes(call)))];
    write.change(&WEBHOOKS, key, &values).await?;
    answer_once(200, key, &secret, write).await
}

/// `POST /webhooks/<id>/replay`
async fn replay(call: &Call<'_>) -> Result<Response, Error> {
    let id = request::id(call.request)?;
    let mut draft = Draft::sent(call.request, &REPLAY, id, Intent::Create)?;
    let key = call.path_key(&WEBHOOKS)?;
    let mut write = crud::begin(call, &WEBHOOKS).await?;
    write.target(&WEBHOOKS, key).await?;
    let clock = Clock::read(&mut write.transaction).await?;
    let now = write.transaction.seconds().await?;
    let place = place(&mut draft, &clock, now, call)?;
    refuse_faults(Some(draft), &mut write).await?;
    webhooks::move_to(key, place, &mut write.transaction).await?;
    write.change(&WEBHOOKS, key, &[]).await?;
    let answer = write.shown(&WEBHOOKS, key).await?;
    write.commit(answer).await
}

/// The place that a replay names. Otherwise the draft gets a fault. `now` is in seconds since 1970.
fn place(draft: &mut Draft, clock: &Clock, now: i64, call: &Call<'_>) -> Result<i64, Error> {
    let since = draft.get(&SINCE)?;
    let cursor = draft.get(&CURSOR)?.filter(|text| !text.is_empty()).map(str::to_owned);
    let (field, place): (&Field, i64) = match (since, cursor) {
        (Some(since), None) => {
            if since.assume_utc().unix_timestamp() > now {
                draft.refuse(&SINCE, "since is in the future.");
            }
            (&*SINCE, place_of(since))
        }
        (None, Some(text)) => match Cursor::read(&text, call.shop.registry) {
            Some(Cursor { feed, step: Position::Follow(seq), .. }) if feed == clock.feed => {
                if seq > clock.seq {
                    draft.refuse(&CURSOR, "cursor is later than the latest change.");
                }
                (&*CURSOR, seq)
            }
            Some(Cursor { step: Position::Follow(_), .. }) => {
                draft.refuse(&CURSOR, "cursor is of a feed that was begun anew.");
                return Ok(clock.seq);
            }
            _ => {
                draft.refuse(&CURSOR, "cursor must be one that follows the feed of changes.");
                return Ok(clock.seq);
            }
        },
        _ if draft.faults.is_empty() => {
            draft.fault_at(FaultKind::MissingField, SINCE.name, "Give either since or cursor.");
            return Ok(clock.seq);
        }
        _ => return Ok(clock.seq),
    };
    if place < clock.floor {
        let first = render(moment_of(clock.floor.saturating_add(999_999)));
        let detail = format!("{}: the feed goes back to {first} only.", field.name);
        draft.refuse(field, detail);
    }
    // What follows a place is sent: a change may have the first place of the moment. Where nothing has changed since
    // the moment, or what has is without a place yet, it is what follows the latest change.
    let is_before = since.is_some() && place > clock.floor;
    Ok(if is_before { (place - 1).min(clock.seq) } else { place })
}

/// Reads a body that may be missing, and has no fields.
fn without_fields(call: &Call<'_>, of: &'static Resource) -> Result<Option<Draft>, Error> {
    if call.request.body().is_empty() {
        return Ok(None);
    }
    let id = request::id(call.request)?;
    Draft::sent(call.request, of, id, Intent::Create).map(Some)
}

/// Refuses a write whose body has faults, once its record is known to exist.
async fn refuse_faults(draft: Option<Draft>, write: &mut Write<'_>) -> Result<(), Error> {
    let faults = draft.map(|mut draft| draft.take_faults()).unwrap_or_default();
    if faults.is_empty() { Ok(()) } else { write.refuse(faults).await }
}

/// Commits, and answers with the webhook and its secret. What is kept for repetitions of the request lacks the secret.
async fn answer_once(
    status: u16,
    key: i64,
    secret: &str,
    mut write: Write<'_>,
) -> Result<Response, Error> {
    let call = write.call;
    let cells = write.transaction.page(&Page::of_one(&WEBHOOKS, key).shown()).await?;
    let (mut rows, view) = (cells.rows()?, View::of(Shape::Detail));
    let missing = || Error::Contract("a webhook that was written is missing");
    let body = |rows: &[Vec<Cell<'_>>], beside| {
        let records = Records { resource: &WEBHOOKS, view: &view, rows, included: None };
        let version = records.version()?;
        let body = document::single(records, &[], call.link_base(), beside)?;
        Ok::<_, Error>((version, body.ok_or_else(missing)?))
    };
    // The tag is that of the record as it is read later.
    let (version, plain) = body(&rows, None)?;
    let tagged = answer::record(status, version, plain);
    let tag = tagged.headers().iter().find(|header| header.name() == "etag");
    let tag = tag.map(|header| header.value().to_owned()).unwrap_or_default();
    let location = object::record_path(&WEBHOOKS, key, &call.shop.root);
    let with_headers = |body: Vec<u8>| {
        let response = answer::document(status, body).with_header("etag", tag.clone());
        if status == 201 { response.with_header("location", location.clone()) } else { response }
    };
    let (_, kept) = body(&rows, Some((SHOWN_BEFORE, 1)))?;
    let at = WEBHOOKS.position(SECRET_NAME).ok_or_else(|| WEBHOOKS.lacks(SECRET_NAME))?;
    let cell = rows.first_mut().and_then(|row| row.get_mut(at + 1)).ok_or_else(missing)?;
    *cell = Cell::Text(secret.into());
    let (_, shown) = body(&rows, None)?;
    let (kept, shown) = (with_headers(kept), with_headers(shown));
    write.commit(kept).await?;
    Ok(shown)
}
