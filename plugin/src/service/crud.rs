//! The five operations that every resource has, and the lists below other records.

use std::collections::HashMap;
use std::ops::ControlFlow::{self, Break, Continue};

use host_interface::{Method, Response, UserQuery};

use super::call::Call;
use super::compound;
use super::hooks::{Scene, Service};
use super::once;
use crate::error::{Constraint, Error, Fault, FaultKind, Named};
use crate::model::field::Complaint;
use crate::model::question::{Condition, Page, Shape};
use crate::model::record::Record;
use crate::model::registry::Reference;
use crate::model::resource::{Brings, Nested, PartOf, Resource, Unique};
use crate::model::value::Value;
use crate::sql;
use crate::store::{Cells, Transaction};
use crate::wire::body::Body;
use crate::wire::document::Records;
use crate::wire::draft::{Draft, Intent};
use crate::wire::request::{self, Listing, Scope};
use crate::wire::view::View;
use crate::wire::{answer, document, object, precondition};

/// `GET /{kind}`
pub async fn list(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let read = listing(call, Scope::All(service.of))?;
    let narrowed = match service.narrow {
        Some(narrow) => narrow(call.shop, &read.0.conditions).await?,
        None => Vec::new(),
    };
    compound::list(call, service.of, read, narrowed).await
}

/// `GET /{parent}/{id}/{segment}`; the parent itself is not read.
pub async fn nested(
    call: &Call<'_>,
    resource: &'static Resource,
    nested: &'static Nested,
) -> Result<Response, Error> {
    let read = listing(call, Scope::Nested(resource, nested.filters))?;
    match request::id(call.request)? {
        Some(parent) => {
            let below = Condition::Equals(nested.by, Value::Int(parent));
            compound::list(call, resource, read, vec![below]).await
        }
        // An id that is too long for a key belongs to no record, so the list is empty.
        None => compound::empty(call, resource, &read),
    }
}

/// `GET /{kind}/{id}`
pub async fn show(call: &Call<'_>, resource: &'static Resource) -> Result<Response, Error> {
    let read = request::read_one(call.request.query(), resource, call.shop.registry);
    call.may_see(&read.view)?;
    let (sent, view) = read.accepted()?;
    let key = path_key(call, resource)?;
    compound::one(call, Page::of_one(resource, key), &view, &sent)
        .await?
        .ok_or_else(|| missing(resource))
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
    request::no_listing(call.request.query())?;
    let body = Body::read(call.request, resource, None)?;
    let mut draft = Draft::read(resource, &body, Intent::Create);
    ask_for_users(call, &mut draft).await?;
    let mut transaction = match begin(call, resource).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let mut scene = Scene { call, transaction: &mut transaction };
    if let Some(derive) = service.derive {
        derive(&mut draft, None, &mut scene).await?;
    }
    let after = draft.as_record();
    validate(&mut draft, &after, (service.check)(&after)?, &mut scene).await?;
    let insert = sql::insert(resource, draft.changes(), transaction.dialect());
    let written = transaction.insert(insert).await;
    let key = written.map_err(|error| violated(error, &draft, resource))?;
    if let Some(Brings { of, by: Some(by), .. }) = resource.brings {
        for part in &mut draft.parts {
            part.set(by, key)?;
        }
        let parts = draft.parts.iter().map(Draft::changes);
        for insert in sql::insert_all(of, parts, transaction.dialect()) {
            transaction.execute(insert).await?;
        }
    }
    if let Some(after_insert) = service.after_insert {
        let mut scene = Scene { call, transaction: &mut transaction };
        after_insert(key, &after, &mut scene).await?;
    }
    let cells = transaction.page(&Page::of_one(resource, key)).await?;
    once::commit(call, transaction, created(call, resource, key, &cells)?).await
}

/// `PATCH /{kind}/{id}`
pub async fn update(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let resource = service.of;
    request::no_listing(call.request.query())?;
    let id = request::id(call.request)?;
    let body = Body::read(call.request, resource, id)?;
    let key = path_key(call, resource)?;
    let parameters = call.shop.parameters.current()?;
    let mut draft = Draft::read(resource, &body, Intent::Update);
    ask_for_users(call, &mut draft).await?;
    let mut transaction = match begin(call, resource).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let before = locked(call, &mut transaction, resource, key).await?;
    let mut scene = Scene { call, transaction: &mut transaction };
    if let Some(derive) = service.derive {
        derive(&mut draft, Some(&before), &mut scene).await?;
    }
    draft.retain_changes(&before);
    let after = draft.applied_to(&before);
    for (name, detail) in (service.changeable)(&before, &after, &parameters)? {
        draft.fault_at(FaultKind::Refused, name, detail);
    }
    refuse_change_of_referenced_values(&mut draft, &before, &after, &mut scene).await?;
    validate(&mut draft, &after, (service.check)(&after)?, &mut scene).await?;
    if let Some(before_update) = service.before_update {
        before_update(&before, &after, &mut scene).await?;
    }
    if transaction.dialect().changes_all {
        draft.fill_in(&after);
    }
    if draft.changes().next().is_some() {
        let update = sql::update(resource, key, draft.changes(), transaction.dialect());
        let written = transaction.execute(update).await;
        written.map_err(|error| violated(error, &draft, resource))?;
    }
    let cells = transaction.page(&Page::of_one(resource, key)).await?;
    once::commit(call, transaction, single(200, call, resource, &cells)?).await
}

/// `DELETE /{kind}/{id}`
///
/// The permission has been checked before. The record is read and locked (404), and its version is
/// compared with the one that the client expects (428, 412). Then the rule of its resource is asked,
/// and the records that refer to it are looked for (422). Its own parts, such as the items of an
/// order, are deleted with it.
pub async fn delete(call: &Call<'_>, service: &'static Service) -> Result<Response, Error> {
    let resource = service.of;
    request::no_listing(call.request.query())?;
    let key = path_key(call, resource)?;
    let parameters = call.shop.parameters.current()?;
    let mut transaction = match begin(call, resource).await? {
        Continue(transaction) => transaction,
        Break(answer) => return Ok(answer),
    };
    let before = locked(call, &mut transaction, resource, key).await?;
    (service.deletable)(&before, &parameters)?;
    refuse_if_referenced(&before, &mut Scene { call, transaction: &mut transaction }).await?;
    transaction.execute(sql::delete(resource, key, transaction.dialect())).await?;
    if let Some(after_delete) = service.after_delete {
        let mut scene = Scene { call, transaction: &mut transaction };
        after_delete(&before, &mut scene).await?;
    }
    once::commit(call, transaction, Response::new(204)).await
}

/// Begins a write of the resource, unless it has been done already.
async fn begin(
    call: &Call<'_>,
    resource: &Resource,
) -> Result<ControlFlow<Response, Transaction>, Error> {
    let mut begun = once::begin(call).await?;
    if let (true, Continue(transaction)) = (resource.serialised, &mut begun) {
        transaction.lock_store().await?;
    }
    Ok(begun)
}

/// Asks the host about the users that a draft names, before a transaction begins that would have to
/// wait for it.
async fn ask_for_users(call: &Call<'_>, draft: &mut Draft) -> Result<(), Error> {
    let named: Vec<_> = draft.users().collect();
    for (field, id) in named {
        if call.shop.host.find_user(UserQuery::Id(id)).await?.is_none() {
            draft.no_such_user(field, id);
        }
    }
    Ok(())
}

/// Adds these complaints, and the faults that only the database can find, to a draft; any fault
/// ends the write.
pub(crate) async fn validate(
    draft: &mut Draft,
    after: &Record,
    complaints: Vec<Complaint>,
    scene: &mut Scene<'_>,
) -> Result<(), Error> {
    let transaction = &mut *scene.transaction;
    draft.complain(complaints);
    let checks = draft.checks(after, scene.call.shop.registry)?;
    for lock in sql::lock_referenced(&checks, transaction.dialect()) {
        transaction.execute(lock).await?;
    }
    if !checks.is_empty() {
        let passed = transaction.numbers(sql::checks(&checks, transaction.dialect())).await?;
        if passed.len() != checks.len() {
            return Err(Error::Contract("not all questions about a record have an answer"));
        }
        let passed: Vec<bool> = passed.into_iter().map(|number| number == 1).collect();
        draft.apply_results(&checks, &passed);
    }
    let faults = draft.take_faults();
    if faults.is_empty() {
        return Ok(());
    }
    transaction.ensure_open().await?;
    Err(faults.into())
}

/// The response to the creation of a record.
pub(crate) fn created(
    call: &Call<'_>,
    resource: &'static Resource,
    key: i64,
    cells: &Cells,
) -> Result<Response, Error> {
    let location = object::record_path(resource, key, &call.shop.root);
    Ok(single(201, call, resource, cells)?.with_header("location", location))
}

/// Converts a violated constraint of the database into the fault that validation would have found.
pub(crate) fn violated(error: Error, draft: &Draft, resource: &Resource) -> Error {
    let Error::Constraint(constraint, _) = &error else { return error };
    match (constraint, unique_of(constraint, resource)) {
        (_, Some(unique)) => draft.duplicate(unique).into(),
        (Constraint::Unique(_), None) => {
            let detail = format!("Another {} already has these values.", resource.singular);
            Fault::new(FaultKind::Duplicate, detail).into()
        }
        (Constraint::Reference, _) => {
            let detail = "A record that the values refer to does not exist.";
            Fault::new(FaultKind::MissingReference, detail).into()
        }
        (Constraint::Check, _) => {
            let detail = format!("These values cannot be combined in one {}.", resource.singular);
            Fault::new(FaultKind::InvalidValue, detail).into()
        }
    }
}

/// The first of the resource's unique groups that contains the columns of a constraint.
fn unique_of(constraint: &Constraint, resource: &Resource) -> Option<&'static Unique> {
    let Constraint::Unique(columns) = constraint else { return None };
    let is_column =
        |name: &str| columns.iter().any(|column| column == name || *column == sql::folded(name));
    resource.unique.iter().find(|unique| unique.fields.iter().all(|name| is_column(name)))
}

async fn refuse_if_referenced(record: &Record, scene: &mut Scene<'_>) -> Result<(), Error> {
    let referring = scene.call.shop.registry.referring_to(record)?;
    let Some(by) = referred_to_by(&referring, scene.transaction).await? else { return Ok(()) };
    scene.transaction.ensure_open().await?;
    let singular = record.resource().singular;
    let detail = format!("This {singular} cannot be deleted: {by} to it.");
    Err(Fault::new(FaultKind::Referenced, detail).into())
}

/// Refuses to change a value by which other records refer to this one.
async fn refuse_change_of_referenced_values(
    draft: &mut Draft,
    before: &Record,
    after: &Record,
    scene: &mut Scene<'_>,
) -> Result<(), Error> {
    for reference in scene.call.shop.registry.referring_to(before)? {
        let Some(column) = reference.relies_on else { continue };
        if before.value(column)? == after.value(column)? {
            continue;
        }
        if let Some(by) = referred_to_by(&[reference], scene.transaction).await? {
            let singular = before.resource().singular;
            let detail = format!("{column} cannot be changed: {by} to this {singular}.");
            draft.fault_at(FaultKind::Referenced, column, detail);
        }
    }
    Ok(())
}

/// The number of records, by kind, that refer to a record, as the beginning of a sentence; `None`
/// if there are none.
async fn referred_to_by(
    referring: &[Reference],
    transaction: &mut Transaction,
) -> Result<Option<String>, Error> {
    if referring.is_empty() {
        return Ok(None);
    }
    let columns = referring.iter().map(|by| (by.resource.table, by.field.name, &by.value));
    let statement = sql::count_references(columns, transaction.dialect());
    let counts = transaction.numbers(statement).await?;
    if counts.len() != referring.len() {
        return Err(Error::Contract("not all references to a record are counted"));
    }
    let by = referring.iter().zip(counts).filter(|(_, count)| *count > 0);
    let by = by.map(|(reference, count)| match count {
        1 => (format!("1 {}", reference.resource.singular), "refers"),
        _ => (format!("{count} {}", plural(reference.resource.singular)), "refer"),
    });
    let by: Vec<(String, &str)> = by.collect();
    Ok(match by.as_slice() {
        [] => None,
        [(one, verb)] => Some(format!("{one} {verb}")),
        several => {
            let several: Vec<&str> = several.iter().map(|(one, _)| one.as_str()).collect();
            Some(format!("{} refer", several.join(" and ")))
        }
    })
}

/// The regular plural, which suits all resources.
fn plural(singular: &str) -> String {
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with('s') => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}

/// Reads a record that is to be changed, locks it until the transaction ends, and checks that it has
/// the version that the client expects.
pub(crate) async fn locked(
    call: &Call<'_>,
    transaction: &mut Transaction,
    resource: &'static Resource,
    key: i64,
) -> Result<Record, Error> {
    if let Some(PartOf { whole, by }) = resource.part_of
        && transaction.dialect().locks.is_some()
    {
        // Whoever changes a whole locks it before its parts, and so does this.
        let part = self::record(transaction, resource, key).await?;
        transaction.lock(whole, part.need(by)?).await?;
    }
    transaction.lock(resource, key).await?;
    let record = record(transaction, resource, key).await?;
    let changes = matches!(call.request.method(), Method::Patch | Method::Delete);
    let required = changes && call.shop.parameters.current()?.require_if_match;
    if let Err(fault) = precondition::check(call.request, record.version(), required) {
        transaction.ensure_open().await?;
        return Err(fault.into());
    }
    Ok(record)
}

pub(crate) async fn record(
    transaction: &mut Transaction,
    resource: &'static Resource,
    key: i64,
) -> Result<Record, Error> {
    let cells = transaction.page(&Page::of_one(resource, key)).await?;
    match cells.records(resource)?.pop() {
        Some(record) => Ok(record),
        None => {
            transaction.ensure_open().await?;
            Err(missing(resource))
        }
    }
}

/// The existing records with these keys.
pub(crate) async fn records(
    transaction: &mut Transaction,
    resource: &'static Resource,
    mut keys: Vec<i64>,
) -> Result<HashMap<i64, Record>, Error> {
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let cells = transaction.page(&Page::of_these(resource, keys)).await?;
    let found = cells.records(resource)?;
    Ok(found.into_iter().map(|record| (record.key(), record)).collect())
}

pub(crate) fn single(
    status: u16,
    call: &Call<'_>,
    resource: &'static Resource,
    cells: &Cells,
) -> Result<Response, Error> {
    single_with(status, call, resource, cells, None)
}

/// The answer with one record, and a number beside it in `meta`.
pub(crate) fn single_with(
    status: u16,
    call: &Call<'_>,
    resource: &'static Resource,
    cells: &Cells,
    beside: Option<Named>,
) -> Result<Response, Error> {
    let (rows, view) = (cells.rows()?, View::of(Shape::Detail));
    let records = Records { resource, view: &view, rows: &rows, included: None };
    let version = records.version()?;
    let body = document::single(records, &[], call.link_base(), beside)?;
    Ok(answer::record(status, version, body.ok_or_else(|| missing(resource))?))
}

/// The answer with the records that have these keys, each once, in the order in which they are first
/// named.
pub(crate) async fn each(
    call: &Call<'_>,
    resource: &'static Resource,
    keys: Vec<i64>,
    transaction: &mut Transaction,
) -> Result<Response, Error> {
    let cells = transaction.page(&Page::of_these(resource, keys.clone())).await?;
    let mut found = HashMap::new();
    for row in cells.rows()? {
        found.insert(resource.key_of(&row)?, row);
    }
    let rows: Vec<_> = keys.into_iter().filter_map(|key| found.remove(&key)).collect();
    let view = View::of(Shape::Detail);
    let records = Records { resource, view: &view, rows: &rows, included: None };
    Ok(answer::document(200, document::each(records, call.link_base())?))
}

pub(crate) fn path_key(call: &Call<'_>, resource: &Resource) -> Result<i64, Error> {
    request::id(call.request)?.ok_or_else(|| missing(resource))
}

pub(crate) fn missing(resource: &Resource) -> Error {
    let detail = format!("There is no {} with this id.", resource.singular);
    Fault::new(FaultKind::NotFound, detail).into()
}
