//! The five operations that every resource has, and the lists below other records.

use host_interface::Response;

use super::call::{Call, missing};
use super::compound;
use super::hooks::Service;
use super::references::{refuse_change_of_referenced_values, refuse_if_referenced};
use super::write::Write;
use crate::error::{Error, FaultKind};
use crate::model::question::{Condition, Page};
use crate::model::record::Record;
use crate::model::resource::{Nested, Resource};
use crate::model::value::Value;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request::{self, Listing, Scope};
use crate::wire::view::View;

/// `GET /{kind}`
pub async fn list(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let visible = visible(call, service)?;
    let read = listing(call, Scope::All(service.of))?;
    let narrowed = match service.narrow {
        Some(narrow) => narrow(call.shop, &read.0.conditions).await?,
        None => Vec::new(),
    };
    let further = visible.into_iter().chain(narrowed).collect();
    compound::list(call, service.of, read, further).await
}

/// The conditions on the records of a resource that the user may see.
fn visible(call: &Call<'_>, service: &Service) -> Result<Vec<Condition>, Error> {
    service.visible.map_or(Ok(Vec::new()), |visible| visible(call))
}

/// `GET /{parent}/{id}/{segment}`; the parent itself is not read.
pub async fn nested(
    call: &Call<'_>,
    service: &'static Service,
    nested: &'static Nested,
) -> Result<Response, Error> {
    let resource = service.of;
    let visible = visible(call, service)?;
    let read = listing(call, Scope::Nested(resource, nested.filters))?;
    match request::id(call.request)? {
        Some(parent) => {
            let below = Condition::Equals(nested.by, Value::Int(parent));
            let further = visible.into_iter().chain([below]).collect();
            compound::list(call, resource, read, further).await
        }
        // An id that is too long for a key belongs to no record, so the list is empty.
        None => compound::empty(call, resource, &read),
    }
}

/// `GET /{kind}/{id}`
pub async fn show(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let resource = service.of;
    let visible = visible(call, service)?;
    let read = request::read_one(call.request.query(), resource, call.shop.registry);
    call.may_see(&read.view)?;
    let (sent, view) = read.accepted()?;
    let mut page = Page::of_one(resource, call.path_key(resource)?);
    page.conditions.extend(visible);
    compound::one(call, page, &view, &sent).await?.ok_or_else(|| missing(resource))
}

/// Reads the query of a list. A missing permission on what it includes precedes its faults.
fn listing(call: &Call<'_>, scope: Scope) -> Result<(Listing, View), Error> {
    let read = Listing::read_selecting(call.request.query(), scope, call.shop.registry);
    call.may_see(&read.view)?;
    read.accepted()
}

/// `POST /{kind}`
pub async fn create(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let resource = service.of;
    let mut draft = Draft::sent(call.request, resource, None, Intent::Create)?;
    let strangers = call.strangers(&draft).await?;
    draft.refuse_strangers(&strangers, None);
    let mut write = begin(call, resource).await?;
    let key = insert(service, &mut draft, &mut write).await?;
    let answer = write.created(resource, key).await?;
    write.commit(answer).await
}

/// `PATCH /{kind}/{id}`
pub async fn update(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let resource = service.of;
    let id = request::id(call.request)?;
    let mut draft = Draft::sent(call.request, resource, id, Intent::Update)?;
    let key = call.path_key(resource)?;
    let strangers = call.strangers(&draft).await?;
    let mut write = begin(call, resource).await?;
    let before = write.target(resource, key).await?;
    draft.refuse_strangers(&strangers, Some(&before));
    change(service, &mut draft, &before, &mut write).await?;
    let answer = write.shown(resource, key).await?;
    write.commit(answer).await
}

/// `DELETE /{kind}/{id}`
///
/// Foreign keys delete its parts with it, such as the items of an order.
pub async fn delete(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let resource = service.of;
    let key = call.path_key(resource)?;
    let parameters = call.shop.parameters.current()?;
    let mut write = begin(call, resource).await?;
    let record = write.target(resource, key).await?;
    (service.deletable)(&record, &parameters)?;
    refuse_if_referenced(&record, &mut write).await?;
    if let Some(before_delete) = service.before_delete {
        before_delete(&record, &mut write).await?;
    }
    write.delete(&record).await?;
    if let Some(after_delete) = service.after_delete {
        after_delete(&record, &mut write).await?;
    }
    write.commit(Response::new(204)).await
}

/// Begins a write of the resource.
pub(crate) async fn begin<'c>(call: &'c Call<'c>, resource: &Resource) -> Result<Write<'c>, Error> {
    let mut write = Write::begin(call).await?;
    if resource.serialised {
        write.transaction.lock_store().await?;
    }
    Ok(write)
}

/// Inserts the record that a draft describes, and returns its key.
pub(crate) async fn insert(
    service: &Service,
    draft: &mut Draft,
    write: &mut Write<'_>,
) -> Result<i64, Error> {
    if let Some(insert) = service.insert {
        return insert(draft, write).await;
    }
    if let Some(derive) = service.derive {
        derive(draft, None, write).await?;
    }
    let record = draft.as_record();
    draft.complain((service.check)(&record)?);
    write.validate(draft, &record).await?;
    let key = write.insert(draft).await?;
    if let Some(after_insert) = service.after_insert {
        after_insert(key, &record, write).await?;
    }
    Ok(key)
}

/// Changes a record as a draft describes.
pub(crate) async fn change(
    service: &Service,
    draft: &mut Draft,
    before: &Record,
    write: &mut Write<'_>,
) -> Result<(), Error> {
    if let Some(derive) = service.derive {
        derive(draft, Some(before), write).await?;
    }
    draft.retain_changes(before);
    let after = draft.applied_to(before);
    let parameters = write.call.shop.parameters.current()?;
    for (name, detail) in (service.changeable)(before, &after, &parameters)? {
        draft.fault_at(FaultKind::Refused, name, detail);
    }
    refuse_change_of_referenced_values(draft, before, &after, write).await?;
    draft.complain((service.check)(&after)?);
    write.validate(draft, &after).await?;
    if let Some(before_update) = service.before_update {
        before_update(before, &after, write).await?;
    }
    write.update(draft, &after).await
}
