//! The route of the feed of changes: who may read which types, and for how long a client waits.
//! `crate::changes` reads the feed.

use std::time::Instant;

use form_urlencoded::Serializer as Query;
use host_interface::Response;

use super::route::get;
use crate::changes::{Asked, Cursor, Expired, Portion, Waited};
use crate::error::{Error, Fault, FaultKind};
use crate::model::resource::{Permissions, Resource};
use crate::service::call::{Call, Rights, VIEW};
use crate::service::hooks::{Answer, Service, Special};
use crate::wire::answer;
use crate::wire::following::{AFTER, DEFAULT_SIZE, Following, SIZE, TYPES};

static CHANGES: Resource = Resource {
    kind: "changes",
    singular: "change",
    crud: false,
    versioned: false,
    // Each type needs the permission to view its records.
    permissions: Permissions::None,
    ..Resource::CRUD
}
.checked();

pub(super) const SERVICE: Service = Service {
    special: &[Special {
        action: None,
        ..get("changes", "follow", "Follow the changes of all records", Answer::Changes, |call| {
            Box::pin(list(call))
        })
    }],
    ..Service::of(&CHANGES)
};

/// `GET /changes`
async fn list(call: &Call<'_>) -> Result<Response, Error> {
    let registry = call.shop.registry;
    let (sent, faults) = Following::read(call.request.query(), registry);
    let cursor = sent.after.as_deref().map(|text| Cursor::read(text, registry));
    let known = cursor.as_ref().and_then(Option::as_ref);
    let named = sent
        .kinds
        .clone()
        .or_else(|| known.filter(|cursor| cursor.named).map(|cursor| cursor.kinds.clone()));
    let kinds = viewable(call, named.as_deref())?;
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let readable = |cursor: Option<_>| cursor.ok_or_else(|| malformed("the cursor cannot be read"));
    let cursor = cursor.map(readable).transpose()?;
    if let Some(cursor) = &cursor {
        let same = !cursor.named || sent.kinds.as_ref().is_none_or(|kinds| *kinds == cursor.kinds);
        if !same || (sent.kinds.is_some() && !cursor.named) {
            return Err(malformed("the cursor is of other types"));
        }
        if kinds.iter().any(|kind| !cursor.kinds.contains(kind)) {
            return Err(expired("You may view more types than before.", &sent, call));
        }
    }
    let size = sent.size.unwrap_or(DEFAULT_SIZE);
    let mut asked = Asked { kinds, named: named.is_some(), size, limit: call.limit, cursor };
    let portion = call.shop.feed.read(&asked).await?;
    let portion = portion.map_err(|reason| refused(reason, &sent, call))?;
    let Some(time) = call.request.wait().filter(|_| portion.is_empty()) else {
        return written(&portion, &sent, call);
    };
    let deadline = Instant::now() + time;
    let mut next = portion.next.clone();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let Waited::Changed(seq) = call.shop.feed.wait(&next, left).await else {
            return written(&portion, &sent, call);
        };
        // The permissions may have changed meanwhile.
        asked.kinds = viewable(call, named.as_deref())?;
        // Nothing had happened before, so the client could as well have come with this cursor.
        asked.cursor = Some(next);
        let shared = call.shop.feed.read_shared(&asked, seq).await?;
        match &*shared {
            // What has changed was of other types.
            Ok(portion) if portion.is_empty() => next = portion.next.clone(),
            Ok(portion) => return written(portion, &sent, call),
            Err(reason) => return Err(refused(*reason, &sent, call)),
        }
    }
}

/// The types that the client names, all of which it must be permitted to view; or all that it may view.
fn viewable(call: &Call<'_>, named: Option<&[&'static str]>) -> Result<Vec<&'static str>, Error> {
    if let Some(named) = named {
        let resources = named.iter().filter_map(|kind| call.shop.registry.find(kind));
        resources.map(view).try_for_each(|rights| call.permit_any(&rights))?;
        return Ok(named.to_vec());
    }
    let (mut kinds, mut refusal) = (Vec::new(), None);
    for resource in call.shop.registry.followed() {
        match call.permit_any(&view(resource)) {
            Ok(()) => kinds.push(resource.kind),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    match refusal.filter(|_| kinds.is_empty()) {
        Some(refusal) => Err(refusal),
        None => Ok(kinds),
    }
}

/// What a client must be permitted to see the changes of a type.
fn view(resource: &'static Resource) -> Rights {
    Rights::to(VIEW, resource)
}

/// The answer with a page.
fn written(portion: &Portion, sent: &Following, call: &Call<'_>) -> Result<Response, Error> {
    let mut share = call.shop.answers.begin(call.limit);
    share.read(portion.bytes())?;
    let own = link(sent, sent.after.clone(), call);
    let next = |cursor: &Cursor| link(sent, Some(cursor.text()), call);
    let body = portion.document(&own, next, call.link_base())?;
    drop(share);
    Ok(answer::document(200, call.send(body)?))
}

/// The path of a page with this cursor.
fn link(sent: &Following, after: Option<String>, call: &Call<'_>) -> String {
    let kinds = sent.kinds.as_ref().map(|kinds| (TYPES, kinds.join(",")));
    let size = sent.size.map(|size| (SIZE, size.to_string()));
    let after = after.map(|after| (AFTER, after));
    let mut query = Query::new(String::new());
    query.extend_pairs([kinds, size, after].into_iter().flatten());
    match query.finish() {
        query if query.is_empty() => call.request.path().to_owned(),
        query => format!("{}?{query}", call.request.path()),
    }
}

fn malformed(why: &str) -> Error {
    let detail = format!("{AFTER} must be a cursor as links.next has it: {why}.");
    Fault::at_parameter(FaultKind::InvalidParameter, AFTER, detail).into()
}

fn refused(reason: Expired, sent: &Following, call: &Call<'_>) -> Error {
    let why = match reason {
        Expired::OtherFeed => "The feed was begun anew.",
        Expired::TooOld => "Deletions since then are not kept any more.",
    };
    expired(why, sent, call)
}

/// The refusal of a cursor that was valid once.
fn expired(why: &str, sent: &Following, call: &Call<'_>) -> Error {
    let detail = format!("The cursor has expired: {why} Start over at links.first.");
    let fault = Fault::at_parameter(FaultKind::CursorExpired, AFTER, detail);
    fault.starting_over_at(link(sent, None, call)).into()
}
