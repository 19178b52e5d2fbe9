//! Imports: a file of records, each of which is written as by a request of its own, and accounted for. `source` has
//! the bytes as they arrive, `reader` and `header` make records of them, `runner` gathers records and writes them with
//! `batch`, `names` and `parts`, `undone` has what a dry run needs of earlier lines, `report` is the answer, `preview` its beginning, `progress` the record in the database, and
//! `document` what a client sees of that. Knows nothing of particular resources.

mod batch;
mod document;
mod header;
mod known;
mod names;
mod parts;
mod preview;
mod progress;
mod reader;
mod report;
mod runner;
mod source;
mod undone;

#[cfg(test)]
mod generated;

use std::sync::{Arc, PoisonError};

use host_interface::{Request, Response};
use serde_json::Value as Json;
use sha2::Digest as _;

use crate::error::{Error, Fault, FaultKind};
use crate::model::registry::Registry;
use crate::service::call::Call;
use crate::service::hooks::Service;
use crate::service::key_queue::in_progress;
use crate::store;
use crate::wire::document::MEDIA_TYPE;
use crate::wire::importing::{self, Import};
use crate::wire::object::record_path;
use crate::wire::table::{Format, NDJSON};
use document::document;
use header::Header;
use progress::{Left, Progress};
use reader::{Line, Reader};
use report::Report;
use runner::{Runner, Summary, last_line, permit};
use source::Source;

pub(crate) use progress::{DONE, INTERRUPTED, RUNNING, sweep};

/// The header with the import that another one goes on with.
const IMPORT_OF: &str = "import-of";

/// Where an import begins.
struct Start {
    progress: Progress,
    /// The first line that is read; `None` if there is none.
    first: Option<Line>,
    /// Whether it has come to its end before.
    is_done: bool,
}

/// `POST /imports`
///
/// Answers while the import goes on. What is wrong with the file as a whole is refused first.
pub(crate) async fn import(
    call: &Call<'_>,
    services: &'static [Service],
) -> Result<Response, Error> {
    let subject = importing::subject(call.request.query(), call.shop.registry)?;
    let (resource, mode) = subject;
    permit(call, resource, mode)?;
    let import = Import::read(call.request, subject)?;
    let as_document = !Format::accepts_lines(call.request);
    let service = services.iter().find(|service| std::ptr::eq(service.of, resource));
    let service = service.ok_or(Error::Contract("a resource has no service"))?;
    let pieces =
        call.pieces.and_then(|pieces| pieces.lock().unwrap_or_else(PoisonError::into_inner).take());
    let source = Source::new(call.request.body().to_vec(), pieces, import.gzip, import.limit);
    let registry: Registry = call.shop.registry;
    let mut reader = Reader::begin(source, &import, Header::of(&import, registry)).await?;
    let Start { progress, first, is_done } = start(call, &import, &mut reader).await?;
    let (id, media_type) = (progress.id, if as_document { MEDIA_TYPE } else { NDJSON });
    let location = record_path(progress::resource(call)?, id, &call.shop.root);
    let response = Response::new(200)
        .with_header("content-type", media_type)
        .with_header("location", location);
    if is_done {
        let response = response.with_header("idempotent-replayed", "true");
        let body = if as_document {
            store::retry(|| document(call, id)).await?
        } else {
            let summary = Summary { counts: progress.counts, seconds: 0 };
            serde_json::to_vec(&last_line(&summary, Json::Null))?
        };
        return Ok(response.with_body(body));
    }
    let mut first: Vec<Result<Line, Error>> = first.into_iter().map(Ok).collect();
    let (report, body) = Report::begin();
    if import.preview && !as_document {
        while first.len() < preview::RECORDS && first.iter().all(Result::is_ok) {
            let Some(line) = reader.next().await.transpose() else { break };
            first.push(line);
        }
        report.line(&preview::of(&reader, &first, resource, registry));
    }
    let runner = Runner {
        shop: Arc::clone(call.shop),
        request: detached(call.request),
        import,
        service,
        progress,
        report,
        as_document,
    };
    tokio::spawn(runner.run(first, reader));
    Ok(response.with_stream(body))
}

/// Where an import begins: at its beginning, or where an earlier one of the same file was left.
async fn start(call: &Call<'_>, import: &Import, reader: &mut Reader) -> Result<Start, Error> {
    let key = call.key.map(|key| key.text().to_owned());
    if let Some(key) = &key
        && let Some(left) = progress::of_key(key, call).await?
    {
        return go_on(left, call, import, reader).await;
    }
    let (first, left) = match earlier(call)? {
        Some(earlier) => {
            let (first, left) = after(earlier, call, import, reader).await?;
            (first, Some(left))
        }
        None => {
            let first = reader.next().await?;
            (Some(first.ok_or_else(|| source::invalid("The file has no records."))?), None)
        }
    };
    match progress::begin(call, import, key.as_deref(), left).await {
        // Another program has begun the same import at this moment.
        Err(Error::Constraint(..)) if key.is_some() => Err(in_progress()),
        begun => Ok(Start { progress: begun?, first, is_done: false }),
    }
}

/// Goes on with the import that has the same key, from where it was left.
async fn go_on(
    left: Left,
    call: &Call<'_>,
    import: &Import,
    reader: &mut Reader,
) -> Result<Start, Error> {
    if left.fingerprint != progress::fingerprint(import)
        || !follow(&left.progress, 0, reader).await?
    {
        return Err(reused());
    }
    let followed = left.progress.counts.committed_lines;
    let is_done = left.state == DONE;
    // The earlier request may still be at it, and has come further until it gives up.
    let progress = if is_done {
        left.progress
    } else {
        let taken = progress::take_over(left.progress.id, import.stops, call).await?;
        taken.ok_or_else(reused)?.progress
    };
    if !follow(&progress, followed, reader).await? {
        return Err(reused());
    }
    let first = reader.next().await?;
    if is_done && first.is_some() {
        return Err(reused());
    }
    Ok(Start { progress, first, is_done })
}

/// The first line after those that an earlier import has written, which will not go on then, and how far that has come.
async fn after(
    earlier: i64,
    call: &Call<'_>,
    import: &Import,
    reader: &mut Reader,
) -> Result<(Option<Line>, Progress), Error> {
    let left = progress::find(earlier, call).await?;
    let left = left.filter(|left| left.record_type == import.resource.kind);
    let left = left.ok_or_else(|| unknown(earlier, import))?;
    let changed = |detail: String| -> Error {
        Fault::at_header(FaultKind::FileChanged, "Import-Of", detail).into()
    };
    if let Some(name) = progress::differs(&left, import) {
        return Err(changed(format!("Import {earlier} has another {name}.")));
    }
    let committed = left.progress.counts.committed_lines;
    if u64::try_from(committed).ok().and_then(|lines| lines.checked_add(1))
        != Some(import.from_line)
    {
        let detail = format!(
            "Import {earlier} has written {committed} lines of the file: from_line must be {}.",
            committed + 1
        );
        return Err(changed(detail));
    }
    if !follow(&left.progress, 0, reader).await? {
        let detail =
            format!("The first {committed} lines of the file are not those of import {earlier}.");
        return Err(changed(detail));
    }
    let first = reader.next().await?;
    if left.state != DONE && !progress::give_up(&left, call).await? {
        let detail = format!("Import {earlier} is going on, and has written more lines.");
        return Err(changed(detail));
    }
    Ok((first, left.progress))
}

/// Reads a file from behind this line up to where an earlier import was left, and returns whether it is the same file.
async fn follow(left: &Progress, behind: i64, reader: &mut Reader) -> Result<bool, Error> {
    let committed = u64::try_from(left.counts.committed_lines).unwrap_or(0);
    if left.counts.committed_lines <= behind {
        return Ok(true);
    }
    while let Some(line) = reader.next().await? {
        if line.last >= committed {
            let is_there = line.last == committed;
            return Ok(is_there && hex::encode(line.digest.finalize()) == left.sha256);
        }
    }
    Ok(false)
}

/// The import that the client wants to go on with.
fn earlier(call: &Call<'_>) -> Result<Option<i64>, Error> {
    let Some(sent) = call.request.header(IMPORT_OF) else { return Ok(None) };
    let id = std::str::from_utf8(sent).ok().and_then(|text| text.trim().parse::<i64>().ok());
    let only = call.request.header_at(IMPORT_OF, 1).is_none();
    let invalid = || {
        let detail = "Import-Of must be the id of an import.";
        Fault::at_header(FaultKind::InvalidHeader, "Import-Of", detail)
    };
    Ok(Some(id.filter(|_| only).ok_or_else(invalid)?))
}

fn unknown(id: i64, import: &Import) -> Error {
    let detail = format!("There is no import {id} of {}.", import.resource.kind);
    Fault::at_header(FaultKind::NotFound, "Import-Of", detail).into()
}

fn reused() -> Error {
    let detail = "This key was sent with another import; send each import with a key of its own.";
    Fault::at_header(FaultKind::KeyReused, "Idempotency-Key", detail).into()
}

/// Who asks, for work that goes on when the request has been answered.
fn detached(request: &Request) -> Request {
    let builder = Request::builder(request.handler(), request.method())
        .path(request.path())
        .query(request.query())
        .id(request.id());
    match request.caller() {
        Some(caller) => builder.caller(caller.clone()).build(),
        None => builder.build(),
    }
}
