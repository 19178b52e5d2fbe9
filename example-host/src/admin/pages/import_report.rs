//! The page of an import while it goes on: the columns of the file, a bar that grows with what has been read, and at
//! the end what became of the lines. The page is sent as it is made, so that it needs no script. A bar replaces the one
//! before it, which the stylesheet hides.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use askama::Template;
use axum::body::Body;
use axum::http::Response;
use csv::{Terminator, WriterBuilder};
use futures_util::stream;
use http_body_util::BodyExt;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::sync::mpsc::{Sender, channel};
use tokio::time::{MissedTickBehavior, interval};

use crate::admin::openapi::plain;
use crate::admin::problem::Problem;
use crate::admin::spool::Spool;
use crate::admin::uploads::Upload;
use crate::admin::view::{Layout, View, counted};
use crate::base::text::harmless;

/// How often the bar may grow.
const TICK: Duration = Duration::from_millis(250);
/// How many pieces of the page may be ready before the browser has taken them.
const AHEAD: usize = 4;
/// How many faults are shown; the file has all of them.
const SHOWN: usize = 100;
/// How many characters of a cell are shown.
const CELL: usize = 60;
/// The maximum length of a line of the report.
const LONGEST: usize = 16 * 1024 * 1024;
/// Where the page is split: what comes while the import goes on is put there.
const HERE: &str = "\u{1}here\u{1}";

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Everything is undone.
    DryRun,
    /// It is imported.
    Run,
}

/// An import whose report is about to come.
pub(super) struct Report {
    pub(super) step: Step,
    pub(super) upload: Arc<Upload>,
    /// The title of the type of the records.
    pub(super) of: String,
    /// How much of the file the API has taken.
    pub(super) taken: Arc<AtomicU64>,
}

#[derive(Template)]
#[template(path = "admin/import_report.html")]
struct ReportPage<'a> {
    layout: Layout,
    of: &'a str,
    size: String,
    here: &'static str,
}

#[derive(Template)]
#[template(path = "admin/import_preview.html")]
struct PreviewPart<'a> {
    preview: &'a Preview,
}

#[derive(Template)]
#[template(path = "admin/import_result.html")]
struct ResultPart<'a> {
    step: Step,
    upload: &'a Upload,
    csrf_token: &'a str,
    /// What became of the lines; absent if the report broke off.
    summary: Option<Summary>,
    /// How much of the file had been read, in percent.
    percent: u64,
    /// How many lines are known to have failed.
    failed: u64,
    /// Why it did not come to its end.
    broken: &'a str,
    /// The first lines that have failed.
    faults: &'a [Failed],
}

/// A line of the report.
#[derive(Deserialize)]
struct ReportLine {
    preview: Option<Preview>,
    summary: Option<Summary>,
    line: Option<u64>,
    #[serde(default)]
    key: Value,
    #[serde(default)]
    errors: Vec<Fault>,
}

/// How a file is understood.
#[derive(Deserialize)]
struct Preview {
    #[serde(default)]
    columns: Vec<Column>,
    #[serde(default)]
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    field: Option<String>,
    takes: Option<String>,
}

#[derive(Deserialize)]
struct Record {
    line: u64,
    #[serde(default)]
    members: Map<String, Value>,
    #[serde(default)]
    errors: Vec<Fault>,
}

/// How many lines became what.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Summary {
    read: u64,
    created: u64,
    updated: u64,
    unchanged: u64,
    failed: u64,
    committed_lines: u64,
}

#[derive(Deserialize)]
struct Fault {
    #[serde(default)]
    detail: String,
}

/// A line that has failed.
struct Failed {
    line: u64,
    key: String,
    detail: String,
}

impl Report {
    /// The page, which goes on as long as the answer of the API does.
    pub(super) fn view(self, layout: Layout, answer: Response<Body>) -> Result<View, Problem> {
        let csrf_token = layout.csrf_token().to_owned();
        let size = self.upload.file.content.size();
        let page = ReportPage { layout, of: &self.of, size: bytes(size), here: HERE }.render()?;
        let (before, after) = page.split_once(HERE).unwrap_or((&page, ""));
        let (begin, end) = (before.to_owned(), after.to_owned());
        let (pieces, mut taken) = channel(AHEAD);
        let following = Following { faults: self.upload.begin_faults(), report: self, pieces };
        tokio::spawn(async move {
            following.follow(begin, &csrf_token, answer.into_body(), end).await;
        });
        let pieces = stream::poll_fn(move |context| taken.poll_recv(context));
        Ok(View::page(Body::from_stream(pieces)).in_pieces())
    }
}

/// A page that is being sent.
struct Following {
    report: Report,
    faults: Arc<Spool>,
    pieces: Sender<Result<String, Infallible>>,
}

impl Following {
    /// Follows an import to its end, also if the browser leaves: its user comes back for the faults.
    async fn follow(self, begin: String, csrf_token: &str, body: Body, end: String) {
        self.send(begin).await;
        let mut lines = Lines { body, rest: Vec::new(), looked: 0 };
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut shown, mut faults) = (None, Vec::new());
        let (mut failed, mut summary, mut broken) = (0, None, String::new());
        let mut has_preview = false;
        loop {
            let line = tokio::select! {
                line = lines.next() => line,
                _ = ticks.tick() => {
                    self.bar(&mut shown, failed).await;
                    continue;
                }
            };
            let line = match line {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(why) => {
                    broken = why;
                    break;
                }
            };
            let Ok(line) = serde_json::from_slice::<ReportLine>(&line) else { continue };
            let details = line.errors.iter().map(|fault| fault.detail.as_str());
            let detail = details.collect::<Vec<_>>().join(" ");
            if let Some(preview) = line.preview.filter(|_| !has_preview) {
                has_preview = true;
                self.send(PreviewPart { preview: &preview }.render().unwrap_or_default()).await;
            } else if let Some(found) = line.summary {
                summary = Some(found);
                broken = detail;
            } else if let Some(number) = line.line.filter(|_| !line.errors.is_empty()) {
                failed += 1;
                let key = plain(&line.key);
                self.note(number, &key, &detail);
                if faults.len() < SHOWN {
                    faults.push(Failed { line: number, key, detail });
                }
            }
        }
        if summary.is_none() && self.report.step == Step::Run {
            // Nobody knows what was not imported, and what was stays as it is.
            self.report.upload.may_begin_again();
        }
        self.bar(&mut shown, failed).await;
        let result = ResultPart {
            step: self.report.step,
            upload: &self.report.upload,
            csrf_token,
            summary,
            percent: self.percent(),
            failed: summary.map_or(failed, |summary| summary.failed),
            broken: &broken,
            faults: &faults,
        };
        self.send(format!("</div>{}{end}", result.render().unwrap_or_default())).await;
    }

    /// How much of the file has been read.
    fn percent(&self) -> u64 {
        let size = self.report.upload.file.content.size().max(1);
        100 * self.report.taken.load(Ordering::Relaxed) / size
    }

    /// Shows how much of the file has been read, if that has changed.
    async fn bar(&self, shown: &mut Option<u64>, failed: u64) {
        let percent = self.percent();
        if *shown == Some(percent) {
            return;
        }
        *shown = Some(percent);
        let faults = match failed {
            0 => String::new(),
            failed => format!(", {}", counted(failed, "fault")),
        };
        let bar = format!(
            "<p><progress max=\"100\" value=\"{percent}\" aria-label=\"Read\">{percent} %</progress> \
             <span>{percent} % read{faults}</span></p>\n"
        );
        self.send(bar).await;
    }

    /// Adds a line to the file of faults.
    fn note(&self, line: u64, key: &str, detail: &str) {
        let mut text = Vec::new();
        let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(&mut text);
        let names = (self.faults.size() == 0).then_some(["line", "key", "fault"]);
        let cells = [line.to_string(), harmless(key.to_owned()), harmless(detail.to_owned())];
        let mut rows = names.into_iter().chain([cells.each_ref().map(String::as_str)]);
        let written = rows.try_for_each(|row| writer.write_record(row));
        drop(writer);
        let kept = written.map_err(std::io::Error::from).and_then(|()| self.faults.append(&text));
        if let Err(error) = kept {
            tracing::error!(%error, "a fault of an import cannot be kept for its file");
        }
    }

    /// Sends a piece of the page, if the browser has not left.
    async fn send(&self, piece: String) {
        drop(self.pieces.send(Ok(piece)).await);
    }
}

impl Column {
    fn describes(&self) -> String {
        match (&self.field, &self.takes) {
            (Some(field), Some(takes)) if *field != self.name => format!("{field}: {takes}"),
            (Some(_), Some(takes)) => takes.clone(),
            (Some(field), None) => field.clone(),
            (None, _) => "unknown".to_owned(),
        }
    }
}

impl Record {
    /// What the record has in a column.
    fn cell(&self, column: &Column) -> String {
        let text = self.members.get(&column.name).map(plain).unwrap_or_default();
        match text.char_indices().nth(CELL) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

impl ResultPart<'_> {
    fn is_dry_run(&self) -> bool {
        self.step == Step::DryRun
    }

    fn good(&self) -> u64 {
        self.summary.map_or(0, |summary| summary.read.saturating_sub(summary.failed))
    }

    /// Whether more lines have failed than are shown.
    fn has_more_faults(&self) -> bool {
        self.failed > self.faults.len() as u64
    }

    /// What a button begins next, if there is one.
    fn next(&self) -> Option<&'static str> {
        match (self.step, self.summary) {
            (Step::DryRun, Some(_)) if self.good() > 0 && self.broken.is_empty() => Some("Import"),
            (Step::Run, None) => Some("Import again"),
            _ => None,
        }
    }

    fn heading(&self) -> String {
        if self.summary.is_none() {
            let step = if self.is_dry_run() { "dry run" } else { "import" };
            return format!("The report of the {step} broke off");
        }
        let records = counted(self.good(), "record");
        match (self.is_dry_run(), self.failed) {
            (true, 0) => format!("{records} can be imported"),
            (true, failed) => {
                format!("{records} can be imported, {} cannot", counted(failed, "record"))
            }
            (false, 0) => format!("{records} imported"),
            (false, failed) => {
                format!("{records} imported, {} left out", counted(failed, "record"))
            }
        }
    }
}

/// The lines of an answer that comes in pieces.
struct Lines {
    body: Body,
    rest: Vec<u8>,
    /// How many bytes of the rest have no end of a line.
    looked: usize,
}

impl Lines {
    /// The next line that is not empty; `None` at the end.
    ///
    /// # Errors
    /// A sentence, when the answer breaks off.
    async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        loop {
            let end = self.rest[self.looked..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end {
                let mut line: Vec<u8> = self.rest.drain(..=self.looked + end).collect();
                self.looked = 0;
                line.pop();
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            self.looked = self.rest.len();
            if self.looked > LONGEST {
                return Err("It has a line that is too long.".to_owned());
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    self.rest.extend_from_slice(&frame.into_data().unwrap_or_default());
                }
                Some(Err(error)) => {
                    tracing::error!(%error, "the report of an import was interrupted");
                    return Err("It was interrupted.".to_owned());
                }
                None => return Ok(None),
            }
        }
    }
}

/// A size for people.
fn bytes(size: u64) -> String {
    match size {
        0..10_240 => format!("{size} bytes"),
        10_240..10_485_760 => format!("{} KiB", size / 1024),
        _ => format!("{} MiB", size / 1_048_576),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::form::Form;
    use crate::admin::uploads::{SentFile, Uploads};
    use crate::base::secret;

    /// The page of an import of ten bytes, of which five were taken, and the file.
    async fn page(step: Step, answer: &'static str) -> Option<(String, Arc<Upload>)> {
        let content = Spool::new();
        content.append(b"sku\nA\nB\nC\n").ok()?;
        let file = SentFile { name: "a.csv".to_owned(), content: Arc::new(content) };
        let session = secret::hash("session");
        let upload = Uploads::new().keep(session, Arc::new(file), Form::default()).ok()?;
        assert!(upload.begins());
        let (of, taken) = ("Products".to_owned(), Arc::new(AtomicU64::new(5)));
        let report = Report { step, upload: Arc::clone(&upload), of, taken };
        let view = report.view(Layout::bare("Import"), Response::new(Body::from(answer)));
        let page = view.ok()?.response().into_body().collect().await.ok()?.to_bytes();
        Some((String::from_utf8(page.to_vec()).ok()?, upload))
    }

    #[tokio::test]
    async fn a_report_that_breaks_off_claims_nothing_and_says_what_to_do()
    -> Result<(), &'static str> {
        let fault = "{\"line\": 2, \"key\": \"A\", \"errors\": [{\"detail\": \"is wrong.\"}]}\n";
        let (page, upload) = page(Step::Run, fault).await.ok_or("no page")?;
        for text in [
            "The report of the import broke off",
            "50 % of the file had been read",
            "How many of its records were imported is not known.",
            "records that are imported already stay as they are",
            "<button class=\"primary\">Import again</button>",
            "Line 2",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        for text in ["0 records", "up to line 0", "<dt>"] {
            assert!(!page.contains(text), "{text}: {page}");
        }
        assert!(page.ends_with("</html>"), "{page}");
        assert!(upload.begins(), "it may be imported again");
        Ok(())
    }

    #[tokio::test]
    async fn a_dry_run_whose_report_breaks_off_leads_to_no_import() -> Result<(), &'static str> {
        let (page, _) = page(Step::DryRun, "{\"line\": 2, ").await.ok_or("no page")?;
        assert!(page.contains("The report of the dry run broke off"), "{page}");
        assert!(page.contains("Nothing was changed."), "{page}");
        assert!(!page.contains("<button class=\"primary\">Import"), "{page}");
        Ok(())
    }

    #[tokio::test]
    async fn an_import_that_was_reported_to_its_end_is_not_begun_again() -> Result<(), &'static str>
    {
        let last = "{\"summary\": {\"read\": 3, \"created\": 3, \"committed_lines\": 4}}\n";
        let (page, upload) = page(Step::Run, last).await.ok_or("no page")?;
        assert!(page.contains("3 records imported"), "{page}");
        assert!(!upload.begins());
        Ok(())
    }
}
