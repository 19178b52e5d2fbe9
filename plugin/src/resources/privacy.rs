//! The routes that copy and erase a person's data. The host does it for the whole site, and calls the store for its
//! part; a host that does not know of it gets the part of the store alone.

use host_interface::{Body, ErasedEverywhere, Erasure, Person, Response};
use serde_json::json;

use super::route::post;
use crate::error::{Error, Fault, FaultKind, Source};
use crate::model::field::{Handle, email, flag, text, user};
use crate::model::resource::{Permissions, Resource};
use crate::privacy::{self, ACTION};
use crate::service::call::{Call, NAME};
use crate::service::hooks::{Answer, Service, Special};
use crate::service::pieces::joined;
use crate::service::write::Write;
use crate::wire::draft::{Draft, Intent};
use crate::wire::{answer, document};

static PRIVACY: Resource = Resource {
    kind: "privacy",
    title: Some("Personal data"),
    singular: "person",
    crud: false,
    versioned: false,
    // The routes are about the store as a whole.
    permissions: Permissions::None,
    ..Resource::CRUD
}
.checked();

pub(super) const SERVICE: Service = Service {
    special: &[
        Special {
            action: Some(ACTION),
            asset: Some(WHOLE),
            ..post(
                "privacy/export",
                EXPORT,
                "Export a person's data",
                &PERSON,
                Answer::Person(EXPORT),
                |call| Box::pin(export(call)),
            )
        },
        Special {
            action: Some(ACTION),
            asset: Some(WHOLE),
            ..post(
                "privacy/erase",
                ERASE,
                "Erase a person's data",
                &ERASURE,
                Answer::Person(ERASE),
                |call| Box::pin(erase(call)),
            )
        },
    ],
    ..Service::of(&PRIVACY)
};

const EXPORT: &str = "export";
const ERASE: &str = "erase";
/// The kind of the asset, which is no resource.
const WHOLE: &str = "store";

/// A person, by what is known of them.
static PERSON: Resource = Resource {
    kind: "privacy",
    view: Some("privacy.person"),
    singular: "person",
    list: &[EMAIL.field, USER.field],
    versioned: false,
    ..Resource::CRUD
}
.checked();

/// The removal of a person's data.
static ERASURE: Resource = Resource {
    view: Some("privacy.erasure"),
    list: &[EMAIL.field, USER.field, REASON.field, KEEP_UNTIL.field, DRY_RUN.field, FORCE.field],
    ..PERSON
}
.checked();

const EMAIL: Handle<String> = email("email").words();
const USER: Handle<i64> = user("user_id").number();
const REASON: Handle<String> = text("reason", 255).required().words();
const KEEP_UNTIL: Handle<String> = text("keep_until", 10).words();
const DRY_RUN: Handle<bool> = flag("dry_run").default(0).truth();
const FORCE: Handle<bool> = flag("force").default(0).truth();

/// `POST /privacy/export`
async fn export(call: &Call<'_>) -> Result<Response, Error> {
    let mut draft = Draft::sent(call.request, &PERSON, None, Intent::Create)?;
    let person = person(&mut draft)?;
    let everything = match call.shop.host.export_person(&person, call.user()).await {
        Err(host_interface::Error::Unsupported(_)) => {
            let own = privacy::export(call.shop, &person).await?;
            let person = serde_json::to_string(&person)?;
            let before = format!("{{\"person\":{person},\"parts\":{{\"{NAME}\":");
            joined([Body::whole(before), own, Body::whole("},\"unknown\":[]}")])
        }
        everything => everything.map_err(refused)?,
    };
    // The answer is not stored under a key: it would be one more copy.
    let (before, after) = document::around(PRIVACY.kind, EXPORT, call.request.path())?;
    let body = joined([Body::whole(before), everything, Body::whole(after)]);
    Ok(answer::document(200, Vec::new()).with_stream(body))
}

/// `POST /privacy/erase`
async fn erase(call: &Call<'_>) -> Result<Response, Error> {
    let mut draft = Draft::sent(call.request, &ERASURE, None, Intent::Create)?;
    let mut erasure = Erasure::new(Person::default(), "").by(call.user());
    erasure.keep_until = draft.get(&KEEP_UNTIL)?.filter(|day| !day.is_empty()).map(str::to_owned);
    erasure.dry_run = draft.get(&DRY_RUN)?.unwrap_or_default();
    erasure.force = draft.get(&FORCE)?.unwrap_or_default();
    erasure.reason = draft.get(&REASON)?.unwrap_or_default().to_owned();
    erasure.person = person(&mut draft)?;
    if call.key.is_some() {
        // An erasure that was done under this key is answered as it was.
        drop(Write::begin(call).await?);
    }
    let done = match call.shop.host.erase_person(&erasure).await {
        Err(host_interface::Error::Unsupported(_)) => {
            let mut done = ErasedEverywhere::default();
            done.parts.insert(NAME.to_owned(), privacy::erase(call.shop, &erasure).await?);
            done
        }
        done => done.map_err(refused)?,
    };
    let open: Vec<&str> = done.open().collect();
    if !erasure.force && !open.is_empty() {
        let orders = match open.len() {
            1 => "One order is".to_owned(),
            many => format!("{many} orders are"),
        };
        let detail =
            format!("{orders} not completed, so nothing was erased; force erases all the same.");
        return Err(Fault::new(FaultKind::Refused, detail).with_meta("open", json!(open)).into());
    }
    let mut attributes = serde_json::to_value(&done)?;
    attributes["dry_run"] = json!(i64::from(erasure.dry_run));
    let attributes = serde_json::value::to_raw_value(&attributes)?;
    let body = document::given(PRIVACY.kind, ERASE, &attributes, call.request.path())?;
    let answer = answer::document(200, body);
    match call.key {
        Some(_) => Write::begin(call).await?.commit(answer).await,
        None => Ok(answer),
    }
}

/// The person that a body names.
///
/// # Errors
/// All faults of the body.
fn person(draft: &mut Draft) -> Result<Person, Error> {
    let email = draft.get(&EMAIL)?.map(str::trim).filter(|email| !email.is_empty());
    let user = draft.get(&USER)?.filter(|user| *user > 0);
    let mut person = Person::default();
    person.email = email.map(str::to_owned);
    person.user = user;
    let is_faulty = |name| {
        let mut sources = draft.faults.iter().filter_map(|fault| fault.source.as_ref());
        sources.any(
            |source| matches!(source, Source::Pointer(at) if at.rsplit('/').next() == Some(name)),
        )
    };
    if person.is_unknown() && !is_faulty(EMAIL.name) && !is_faulty(USER.name) {
        let detail = "Give email or user_id, or both.";
        draft.fault_at(FaultKind::MissingField, EMAIL.name, detail);
    }
    let faults = draft.take_faults();
    if faults.is_empty() { Ok(person) } else { Err(faults.into()) }
}

/// What the host refuses is a fault of the request, written for people.
fn refused(error: host_interface::Error) -> Error {
    match error {
        host_interface::Error::Refused(why) => Fault::new(FaultKind::Refused, why).into(),
        error => error.into(),
    }
}
