//! The commands that import and export files. They ask the same routes as clients do, on behalf of an operator, who
//! may do everything.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use form_urlencoded::Serializer as Query;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use host_interface::{
    Body, Caller, CommandOutput, Denial, Error as HostError, Headers, Method, Parameter,
    ParameterKind, Principal, ProgressHandle, Request, RequestBuilder, Response, fact,
};
use serde_json::{Map, Value};
use tokio::task::spawn_blocking;

use super::routes::Endpoint;
use crate::error::{Error, Fault, FaultKind};
use crate::wire::exporting::{COLUMNS, PARTS};
use crate::wire::importing::{DRY_RUN, KEY, MODE, MODES, REPORT, REPORTS, TYPE};
use crate::wire::table::{CSV, NDJSON};

/// The columns of the lines that have failed.
pub(super) const FAULTS: [&str; 3] = ["line", "key", "detail"];

/// The names of the routes.
const IMPORT: &str = "imports.create";
const EXPORT: &str = "exports.export";

/// The name of standard input and output among files.
const STANDARD: &str = "-";
/// The size of a piece of a file, in bytes.
const PIECE: usize = 64 * 1024;
/// How many lines that have failed are printed; the record of the import has more.
const PRINTED: usize = 1_000;
/// After how many lines the progress is reported.
const REPORTED: u64 = 500;

/// The routes, and who answers requests to them.
pub(super) struct Asking<'a> {
    pub(super) routes: &'a [Endpoint],
    pub(super) handle: &'a (dyn Fn(Request) -> BoxFuture<'a, Response> + Sync),
}

impl Asking<'_> {
    /// A request of the operator to the route of this name.
    fn request(&self, name: &str, method: Method, query: &str) -> Result<RequestBuilder, Error> {
        let position = self.routes.iter().position(|route| route.name == name);
        let handler = position.and_then(|position| u32::try_from(position).ok());
        let handler = handler.ok_or(Error::Contract("a command asks for a route that is none"))?;
        let operator = Caller::new(Operator);
        Ok(Request::builder(handler, method).query(query).id("command").caller(operator))
    }
}

/// The options of an import.
pub(super) fn import_options() -> [Parameter; 6] {
    [
        option("file", STANDARD, "The file; - is standard input."),
        option("type", "", "The type of the records, for example products."),
        option("mode", MODES[0], "upsert, create or update."),
        option("key", "", "The field by which records are found; by default a unique one, or id."),
        option("format", "", FORMAT),
        flag(DRY_RUN, "Whether everything is undone: the report is that of the import."),
    ]
}

const FORMAT: &str = "csv or ndjson; by default as the file is called, or else ndjson.";

/// The options of an export.
pub(super) fn export_options() -> [Parameter; 5] {
    [
        option("type", "", "The type of the records, for example products."),
        option("file", STANDARD, "The file to write; - is standard output."),
        option("format", "", FORMAT),
        option("columns", "keys", "keys or names of related records."),
        flag(PARTS, "Whether records have their parts, such as the items of orders."),
    ]
}

fn option(name: &str, default: &str, what: &str) -> Parameter {
    Parameter::new(name, ParameterKind::Text, default, what)
}

fn flag(name: &str, what: &str) -> Parameter {
    Parameter::new(name, ParameterKind::Flag, 0, what)
}

/// Imports a file, and returns the lines that have failed.
pub(super) async fn import(
    asking: &Asking<'_>,
    options: &Map<String, Value>,
    progress: &ProgressHandle,
) -> Result<CommandOutput, Error> {
    let given = |name| text(options, name);
    let (file, format) = (given("file"), given("format"));
    let is_csv = is_csv(format, file.trim_end_matches(".gz"))?;
    let dry_run = options.get(DRY_RUN).and_then(Value::as_i64).unwrap_or_default();
    let key = Some((KEY, given("key"))).filter(|(_, key)| !key.is_empty());
    let dry_run = dry_run.to_string();
    let all = [(MODE, given("mode")), (DRY_RUN, &dry_run), (REPORT, REPORTS[0])];
    let all = all.into_iter().chain(key).chain([(TYPE, given("type"))]);
    let query = Query::new(String::new()).extend_pairs(all).finish();
    let headers = Sent(vec![
        ("accept", NDJSON),
        ("content-type", if is_csv { CSV } else { NDJSON }),
        ("content-encoding", if file.ends_with(".gz") { "gzip" } else { "identity" }),
    ]);
    let body = Body::new(pieces_of(file)?);
    // Whoever has the file on the machine may import all of it.
    let request = asking.request(IMPORT, Method::Post, &query)?;
    let request = request.fact(fact::BODY_LIMIT, usize::MAX.to_string());
    let response = (asking.handle)(request.headers(headers).stream(body).build()).await;
    let pieces = accepted(response)?;
    let mut lines = Lines { pieces, rest: Vec::new(), ready: VecDeque::new() };
    let (mut output, mut read, mut failed) = (CommandOutput::new(), 0, 0);
    while let Some(line) = lines.next().await? {
        let line: Value = serde_json::from_str(&line)?;
        let Some(summary) = line.get("summary") else {
            read += 1;
            if read % REPORTED == 0 {
                progress.report("lines", read, read);
            }
            let detail = line.pointer("/errors/0/detail").cloned();
            if let Some(detail) = detail {
                failed += 1;
                if failed <= PRINTED {
                    output = output.row([line["line"].clone(), line["key"].clone(), detail]);
                }
            }
            continue;
        };
        progress.report("lines", read, read);
        let count = |name: &str| summary[name].as_u64().unwrap_or_default();
        let counts = ["created", "updated", "unchanged", "failed"];
        let counts = counts.map(|name| format!("{} {name}", count(name)));
        output = output.line(format!("{} read: {}", count("read"), counts.join(", ")));
        if let Some(detail) = line.pointer("/errors/0/detail").and_then(Value::as_str) {
            let committed = count("committed_lines");
            return Ok(output.failure(format!("interrupted after line {committed}: {detail}")));
        }
        return Ok(match failed {
            0 => output,
            1 => output.failure("a line has failed"),
            failed => output.failure(format!("{failed} lines have failed")),
        });
    }
    Ok(output.failure("the import broke off: import the file again"))
}

/// Exports a type.
pub(super) async fn export(
    asking: &Asking<'_>,
    options: &Map<String, Value>,
    progress: &ProgressHandle,
) -> Result<CommandOutput, Error> {
    let given = |name| text(options, name).to_owned();
    let file = given("file");
    let accept = if is_csv(&given("format"), &file)? { CSV } else { NDJSON };
    let headers = Sent(vec![("accept", accept)]);
    let parts = options.get(PARTS).and_then(Value::as_i64).unwrap_or_default().to_string();
    let asked = [(COLUMNS, given("columns")), (PARTS, parts)];
    let query = Query::new(String::new()).extend_pairs(asked).finish();
    let request = asking.request(EXPORT, Method::Get, &query)?;
    let response = (asking.handle)(request.param(given("type")).headers(headers).build()).await;
    let mut pieces = accepted(response)?;
    let mut written: Box<dyn Write + Send> = match file.as_str() {
        STANDARD => Box::new(std::io::stdout()),
        file => Box::new(std::fs::File::create(file).map_err(|error| unusable(file, &error))?),
    };
    let mut bytes = 0;
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        bytes += u64::try_from(piece.len()).unwrap_or_default();
        progress.report("bytes", bytes, bytes);
        // One piece after the other, on a thread that may wait for whoever reads them.
        let done = spawn_blocking(move || written.write_all(&piece).map(|()| written)).await;
        written = match done.map_err(HostError::failed)? {
            // Whoever reads it has read enough.
            Err(error) if file == STANDARD && error.kind() == ErrorKind::BrokenPipe => {
                return Ok(CommandOutput::new());
            }
            done => done.map_err(|error| unusable(&file, &error))?,
        };
    }
    written.flush().map_err(|error| unusable(&file, &error))?;
    Ok(CommandOutput::new())
}

/// Whether the format of this name is CSV, or the file is called so.
fn is_csv(format: &str, file: &str) -> Result<bool, Error> {
    match format {
        "" => Ok(file.ends_with(".csv")),
        "csv" => Ok(true),
        "ndjson" => Ok(false),
        _ => Err(Fault::new(FaultKind::Refused, "format must be one of csv, ndjson.").into()),
    }
}

fn text<'a>(options: &'a Map<String, Value>, name: &str) -> &'a str {
    options.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The pieces of an answer, unless it is a refusal.
fn accepted(response: Response) -> Result<Body, Error> {
    let status = response.status();
    match response.into_body() {
        Err(pieces) if status == 200 => Ok(pieces),
        Err(_) => Err(Error::Contract("a refusal comes in pieces")),
        Ok(whole) => {
            let document: Value = serde_json::from_slice(&whole)?;
            let errors = document["errors"].as_array().into_iter().flatten();
            let details = errors.filter_map(|error| error["detail"].as_str());
            let details = details.map(|detail| Fault::new(FaultKind::Refused, detail));
            Err(details.collect::<Vec<_>>().into())
        }
    }
}

/// A file in pieces, as they are taken.
fn pieces_of(
    file: &str,
) -> Result<impl stream::Stream<Item = Result<Vec<u8>, HostError>> + Send + 'static, Error> {
    let reader: Box<dyn Read + Send> = match file {
        STANDARD => Box::new(std::io::stdin()),
        file => Box::new(std::fs::File::open(file).map_err(|error| unusable(file, &error))?),
    };
    let reader = Arc::new(Mutex::new(reader));
    Ok(stream::try_unfold(reader, |reader| async move {
        let reading = Arc::clone(&reader);
        let piece = spawn_blocking(move || {
            let mut piece = vec![0; PIECE];
            let mut reader = reading.lock().unwrap_or_else(PoisonError::into_inner);
            loop {
                match reader.read(&mut piece) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    read => {
                        piece.truncate(read?);
                        return Ok::<_, std::io::Error>(piece);
                    }
                }
            }
        });
        let piece = piece.await.map_err(HostError::failed)?.map_err(HostError::failed)?;
        Ok((!piece.is_empty()).then_some((piece, reader)))
    })
    .boxed())
}

fn unusable(file: &str, error: &std::io::Error) -> Error {
    Fault::new(FaultKind::Refused, format!("{file}: {error}")).into()
}

/// The lines of a stream, without empty ones.
struct Lines {
    pieces: Body,
    rest: Vec<u8>,
    ready: VecDeque<String>,
}

impl Lines {
    async fn next(&mut self) -> Result<Option<String>, Error> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            let Some(piece) = self.pieces.next().await else { return Ok(None) };
            self.rest.extend_from_slice(&piece?);
            let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else { continue };
            let lines: Vec<u8> = self.rest.drain(..=end).collect();
            let lines = String::from_utf8_lossy(&lines);
            let lines = lines.lines().filter(|line| !line.is_empty());
            self.ready.extend(lines.map(str::to_owned));
        }
    }
}

/// Whoever runs a command on the machine may do everything.
struct Operator;

impl Principal for Operator {
    fn user(&self) -> i64 {
        0
    }

    fn may(&self, _action: &str, _asset: &str) -> Result<(), Denial> {
        Ok(())
    }
}

/// The headers of a request of the operator.
struct Sent(Vec<(&'static str, &'static str)>);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        let mut values = self.0.iter().filter(|(known, _)| *known == name);
        values.nth(nth).map(|(_, value)| value.as_bytes())
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        self.0.get(nth).map(|(name, value)| (*name, value.as_bytes()))
    }
}
