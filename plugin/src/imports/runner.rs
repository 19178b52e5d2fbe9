//! The course of an import: lines are gathered while they arrive, and written some at a time. No transaction is open
//! while the client is waited for, and none takes long.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use host_interface::{Request, TrailEntry, UserQuery};
use serde::Serialize;
use serde_json::{Value as Json, json};
use sha2::Digest;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout_at;

use super::batch::{Batch, add_versions, created};
use super::document::document;
use super::progress::{Counts, DONE, INTERRUPTED, KIND, Progress};
use super::reader::{Line, Reader};
use super::report::{Became, Outcome, Report};
use super::undone::{Made, Undone};
use crate::error::{Error, Fault, FaultKind, chain};
use crate::model::resource::Resource;
use crate::model::value::{Kind, Value};
use crate::service::call::{Call, Rights, Shop};
use crate::service::crud;
use crate::service::hooks::Service;
use crate::service::write::Write;
use crate::store;
use crate::wire::answer;
use crate::wire::importing::{Import, Mode};
use crate::wire::literal;

/// How many bytes are written in one transaction at most. A parameter of the store has the number of lines.
const BYTES: usize = 4 * 1024 * 1024;
/// How long one may take before it is ended: others wait for it.
const SLICE: Duration = Duration::from_millis(150);
/// How many lines may be ready before they are written.
const AHEAD: usize = 16;
/// How long more lines are waited for before those that are there are written.
const PAUSE: Duration = Duration::from_secs(1);
/// How often a report shows that the import goes on while it has nothing else: by this a bar grows.
const SIGN: Duration = Duration::from_millis(100);
/// After how many such pauses the mark in the record of the import is renewed.
const PAUSES: u32 = 15;
/// How often a line is tried again because somebody else may have created its record meanwhile.
const LOOKS: u32 = 2;
/// After how many new records the engine looks how large tables have become, and then after twice as many each time.
const GROWN: i64 = 1_000;

/// Checks that the user may do to the records what an import in this mode does.
pub(super) fn permit(call: &Call<'_>, resource: &Resource, mode: Mode) -> Result<(), Error> {
    mode.actions().iter().try_for_each(|action| call.permit_any(&Rights::to(action, resource)))
}

/// An import that goes on.
pub(super) struct Runner {
    pub(super) shop: Arc<Shop>,
    /// Who imports, without the body.
    pub(super) request: Request,
    pub(super) import: Import,
    pub(super) service: &'static Service,
    pub(super) progress: Progress,
    pub(super) report: Report,
    /// Whether the answer is the record of the import, and not the lines.
    pub(super) as_document: bool,
}

/// Lines as they were written.
struct Written {
    outcomes: Vec<Outcome>,
    progress: Progress,
    /// What a dry run has undone of it.
    undone: Made,
}

/// How an import has ended.
enum End {
    /// At the end of the file.
    Done,
    /// At a line that failed.
    Stopped,
    /// Before its end.
    Broken(Error),
}

impl Runner {
    /// Imports these lines, which have been read, and the rest of their file.
    pub(super) async fn run(mut self, first: Vec<Result<Line, Error>>, reader: Reader) {
        let begun = Instant::now();
        let (lines, taken) = channel(AHEAD);
        let reading = tokio::spawn(read(first, reader, lines));
        let end = self.work(taken).await;
        // It waits for room for a line that nobody takes any more.
        reading.abort();
        self.end(end, begun).await;
    }

    async fn work(&mut self, mut taken: Receiver<Result<Line, Error>>) -> End {
        let mut lines: Vec<Line> = Vec::new();
        let mut undone = Undone::default();
        let mut users = Users::default();
        let mut broken = None;
        let mut pauses = 0;
        let mut told = Instant::now();
        let mut pace = usize::MAX;
        let mut grown = GROWN;
        loop {
            let at_most = match self.shop.parameters.current() {
                Ok(parameters) => usize::try_from(parameters.import_lines).unwrap_or(1),
                Err(error) => return End::Broken(error),
            };
            let mut size: usize = lines.iter().map(|line| line.size).sum();
            let mut has_ended = broken.is_some();
            // However slowly lines arrive, none waits for longer.
            let until = Instant::now() + PAUSE;
            while !has_ended && lines.len() < at_most && size < BYTES {
                match timeout_at(until.into(), taken.recv()).await {
                    Ok(Some(Ok(line))) if line.number < self.import.from_line => {}
                    Ok(Some(Ok(line))) => {
                        size += line.size;
                        lines.push(line);
                    }
                    Ok(Some(Err(error))) => {
                        broken = Some(error);
                        has_ended = true;
                    }
                    Ok(None) => has_ended = true,
                    Err(_) => break,
                }
            }
            if lines.is_empty() {
                if has_ended {
                    return broken.map_or(End::Done, End::Broken);
                }
                self.report.sign_of_life();
                pauses += 1;
                if pauses % PAUSES == 0
                    && let Err(error) = self.progress.seen(&self.shop.store).await
                {
                    tracing::warn!(causes = chain(&error), "an import cannot note that it goes on");
                }
                continue;
            }
            let offered = &lines[..lines.len().min(pace)];
            let written = match self.batch(offered, &mut users, &undone).await {
                Ok(written) => written,
                Err(error) => return End::Broken(error),
            };
            let count = written.outcomes.len();
            // What is looked up for lines that there is no time for is looked up again.
            pace = if count < offered.len() { count.max(1) } else { pace.saturating_mul(2) };
            lines.drain(..count);
            self.progress = written.progress;
            undone.add(written.undone);
            if self.progress.counts.created >= grown {
                self.note_growth().await;
                grown = self.progress.counts.created.saturating_mul(2);
            }
            let failed = written.outcomes.iter().any(|of| of.result == Became::Failed);
            for outcome in &written.outcomes {
                let is_wanted = !self.import.only_faults || outcome.result == Became::Failed;
                if !self.as_document && is_wanted {
                    self.report.line(outcome);
                }
            }
            if failed && self.import.stops {
                return End::Stopped;
            }
            // A report of faults alone may have nothing for long.
            if told.elapsed() >= SIGN {
                self.report.sign_of_life();
                told = Instant::now();
            }
        }
    }

    /// Lets an engine that keeps plans know how large tables have become. PostgreSQL takes its indexes of trigrams for
    /// empty otherwise, and finds each SKU with them.
    async fn note_growth(&self) {
        let store = &self.shop.store;
        if !store.dialect().keeps_plans {
            return;
        }
        let tables = self.shop.registry.tables();
        let tables: Vec<&str> = tables.iter().map(|of| of.table).chain(["shop_changes"]).collect();
        // Statements are only slower otherwise.
        if let Err(error) = store.analyze(&tables).await {
            tracing::warn!(causes = chain(&error), "the sizes of tables could not be noted");
        }
    }

    /// Writes the first of these lines, as many as there is time for, in one transaction, which is done
    /// again after a conflict: first all lines together, and then each of them alone.
    async fn batch(
        &self,
        lines: &[Line],
        users: &mut Users,
        undone: &Undone,
    ) -> Result<Written, Error> {
        users.look_up(lines, &self.import, &self.shop).await?;
        let strangers = &users.strangers;
        let looks = AtomicU32::new(LOOKS);
        let again = AtomicBool::new(false);
        let attempt = || {
            let alone = again.swap(true, Ordering::Relaxed);
            self.attempt(lines, (strangers, undone), (&looks, alone))
        };
        let written = store::retry(attempt).await?;
        self.shop.feed.written();
        Ok(written)
    }

    async fn attempt(
        &self,
        lines: &[Line],
        known: (&HashSet<i64>, &Undone),
        (looks, alone): (&AtomicU32, bool),
    ) -> Result<Written, Error> {
        let Import { resource, mode, dry_run, stops, .. } = self.import;
        let call = Call::new(&self.shop, &self.request);
        // The user may have lost a right since the import has begun.
        permit(&call, resource, mode)?;
        // Another import may have ended meanwhile.
        self.shop.store.expect_many_statements(true).await?;
        let mut write = crud::begin(&call, resource).await?;
        let of = (&self.import, self.service);
        let mut batch = Batch::prepare(of, lines, known, alone, &mut write).await?;
        let begun = Instant::now();
        let mut outcomes = Vec::with_capacity(lines.len());
        for (position, line) in lines.iter().enumerate() {
            if batch.awaits(position) && outcomes.iter().any(Outcome::has_written) {
                break;
            }
            let outcome = batch.write(position, line, &mut write).await?;
            if batch.has_been_overtaken() {
                // It begins the next transaction, which looks for its record anew.
                if position > 0 {
                    break;
                }
                // Where something else has its key for ever, this comes to an end.
                let left = |left: u32| left.checked_sub(1);
                if looks.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
                    return Err(store::interrupted());
                }
            }
            let failed = outcome.result == Became::Failed;
            outcomes.push(outcome);
            if (failed && stops) || begun.elapsed() > SLICE {
                break;
            }
        }
        write.write_together().await?;
        add_versions(&mut outcomes, resource, &mut write).await?;
        let progress = self.after(lines, &outcomes);
        let mut undone = Made::default();
        if dry_run {
            undone = batch.made(&outcomes, &mut write).await?;
            drop(write);
            let created = created(&outcomes);
            for outcome in &mut outcomes {
                // Somebody else will get the key of a record that is undone.
                outcome.id = outcome.id.filter(|id| !created.contains(id));
            }
            write = Write::begin(&call).await?;
        }
        let failed: Vec<&Outcome> =
            outcomes.iter().filter(|of| of.result == Became::Failed).collect();
        progress.note(&failed, resource.kind, &mut write.transaction).await?;
        match write.commit(host_interface::Response::new(204)).await {
            Ok(_) => Ok(Written { outcomes, progress, undone }),
            Err(Error::Undecided(cause)) => {
                if progress.is_committed(&call).await? {
                    Ok(Written { outcomes, progress, undone })
                } else {
                    Err(Error::Conflict(cause))
                }
            }
            Err(error) => Err(error),
        }
    }

    /// How far the import has come after these lines.
    fn after(&self, lines: &[Line], outcomes: &[Outcome]) -> Progress {
        let mut progress = self.progress.clone();
        let counts = &mut progress.counts;
        for (line, outcome) in lines.iter().zip(outcomes) {
            counts.read += 1;
            match outcome.result {
                Became::Created => counts.created += 1,
                Became::Updated => counts.updated += 1,
                Became::Unchanged => counts.unchanged += 1,
                Became::Failed => counts.failed += 1,
            }
            // The line at which an import stops is sent again.
            if !(self.import.stops && outcome.result == Became::Failed) {
                counts.committed_lines = i64::try_from(line.last).unwrap_or(i64::MAX);
                progress.sha256 = hex::encode(line.digest.clone().finalize());
            }
        }
        progress
    }

    /// Notes and reports how the import has ended.
    async fn end(self, end: End, begun: Instant) {
        let (state, faults) = match end {
            End::Done => (DONE, Vec::new()),
            End::Stopped => {
                let detail = "A line has failed, and on_error is stop.";
                (INTERRUPTED, vec![Fault::new(FaultKind::Refused, detail)])
            }
            End::Broken(Error::Faults(faults)) => (INTERRUPTED, faults),
            End::Broken(Error::TakenOver) => {
                let detail = "Another request has taken this import over.";
                (INTERRUPTED, vec![Fault::new(FaultKind::RequestInProgress, detail)])
            }
            End::Broken(error) => {
                let request_id = self.request.id();
                tracing::error!(request_id, causes = chain(&error), "an import broke off");
                let (kind, detail) = if error.passes() {
                    (FaultKind::Unavailable, "The store is temporarily unavailable")
                } else {
                    (FaultKind::Internal, "The store failed")
                };
                let detail = format!("{detail}; go on from there. Request id: {request_id}.");
                (INTERRUPTED, vec![Fault::new(kind, detail)])
            }
        };
        let reason = faults.iter().map(|fault| fault.detail.as_str()).collect::<Vec<_>>().join(" ");
        let call = Call::new(&self.shop, &self.request);
        let ended = store::retry(|| async {
            let mut write = Write::begin(&call).await?;
            self.progress.end(state, &reason, &mut write).await?;
            write.commit(host_interface::Response::new(204)).await
        });
        if let Err(error) = ended.await {
            tracing::error!(causes = chain(&error), "the end of an import could not be noted");
        }
        // Writes are only slower otherwise.
        if let Err(error) = self.shop.store.expect_many_statements(false).await {
            tracing::warn!(causes = chain(&error), "the store is still prepared for imports");
        }
        self.record(state).await;
        if self.as_document {
            match document(&call, self.progress.id).await {
                Ok(document) => self.report.write(&document),
                Err(error) => {
                    tracing::error!(
                        causes = chain(&error),
                        "the record of an import cannot be read"
                    );
                }
            }
            return;
        }
        let summary = Summary { counts: self.progress.counts, seconds: begun.elapsed().as_secs() };
        let errors = if faults.is_empty() { Json::Null } else { answer::members(faults) };
        self.report.line(&last_line(&summary, errors));
    }

    /// Adds to the host's audit trail what came of the import: the entry of its request was written when it
    /// began.
    async fn record(&self, state: &str) {
        let Progress { id, counts, sha256, .. } = &self.progress;
        let Counts { read, created, updated, unchanged, failed, .. } = counts;
        // In groups, so that a page need not break it anywhere.
        let groups = sha256.as_bytes().chunks(8).map(String::from_utf8_lossy);
        let sha256 = groups.collect::<Vec<_>>().join(" ");
        let run = if self.import.dry_run { "dry run " } else { "" };
        let details = format!(
            "{run}{state}: {read} {} read, {created} created, {updated} updated, {unchanged} \
             unchanged, {failed} failed; SHA-256 {sha256}",
            self.import.resource.kind
        );
        let entry = TrailEntry::new("imports.end", KIND, id.to_string()).details(details);
        let user = self.request.caller().map_or(0, |caller| caller.user());
        match self.shop.host.record(&entry.user(user)).await {
            // The record of the import has the same.
            Ok(()) | Err(host_interface::Error::Unsupported(_)) => {}
            Err(error) => tracing::error!(%error, "the audit trail lacks the end of an import"),
        }
    }
}

/// What the last line of a report has.
#[derive(Serialize)]
pub(super) struct Summary {
    #[serde(flatten)]
    pub(super) counts: Counts,
    pub(super) seconds: u64,
}

/// The last line of a report.
pub(super) fn last_line(summary: &Summary, errors: Json) -> Json {
    match errors {
        Json::Null => json!({"summary": summary}),
        errors => json!({"summary": summary, "errors": errors}),
    }
}

/// Reads a file, as far as its lines are taken.
async fn read(
    first: Vec<Result<Line, Error>>,
    mut reader: Reader,
    lines: Sender<Result<Line, Error>>,
) {
    let mut first = first.into_iter();
    loop {
        let line = match first.next() {
            Some(line) => Some(line),
            None => reader.next().await.transpose(),
        };
        let Some(line) = line else { return };
        let is_last = line.is_err();
        if lines.send(line).await.is_err() || is_last {
            return;
        }
    }
}

/// The users of the host that lines name.
#[derive(Default)]
struct Users {
    known: HashSet<i64>,
    strangers: HashSet<i64>,
}

impl Users {
    /// Asks the host about those that it has not been asked about, before a transaction begins that would have to
    /// wait for it.
    async fn look_up(&mut self, lines: &[Line], import: &Import, shop: &Shop) -> Result<(), Error> {
        let fields = import.resource.fields().filter(|field| field.kind == Kind::User);
        for field in fields {
            for members in lines.iter().filter_map(|line| line.members.as_ref().ok()) {
                let given = members.iter().find(|(name, _)| name == field.name);
                let given = given.map(|(_, literal)| literal::read(field.kind, false, literal));
                let Some(Ok(Value::Int(id))) = given else { continue };
                if id == 0 || self.known.contains(&id) || self.strangers.contains(&id) {
                    continue;
                }
                let found = shop.host.find_user(UserQuery::Id(id)).await?;
                if found.is_some() { &mut self.known } else { &mut self.strangers }.insert(id);
            }
        }
        Ok(())
    }
}
