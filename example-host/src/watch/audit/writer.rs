//! Writing the audit trail. A change to the site is recorded in its own transaction. A change
//! through the API is only queued in memory; one task writes the queued entries, many in one
//! transaction, so that no request waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::base::error::Error;
use crate::database::{Connection, Database, transact};
use crate::watch::metrics::Metrics;

use super::bounds::Bounds;
use super::chain::append;
use super::entry::Entry;
use super::seldom::Seldom;

/// The maximum number of queued entries. If the queue is full, entries are lost, which is preferred
/// to delaying requests.
const WAITING: usize = 8192;

/// How long an entry waits for others that are written with it.
const WRITE_EVERY: Duration = Duration::from_millis(250);

/// How often the writer looks for entries that were counted for long enough.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The maximum number of entries in one transaction.
const AT_ONCE: usize = 500;

/// The maximum number of attempts to write entries, a second apart.
const ATTEMPTS: u32 = 300;

/// The entry point for recording changes.
#[derive(Debug)]
pub(crate) struct Audit {
    notes: mpsc::Sender<Entry>,
    seldom: Arc<Seldom>,
    /// The number of lost entries since the last log line about them.
    lost: Arc<AtomicU64>,
    metrics: Arc<Metrics>,
    bounds: Bounds,
}

impl Audit {
    /// Writes an entry in the transaction of its change.
    pub(crate) async fn insert(
        &self,
        transaction: &mut Connection,
        entry: &Entry,
    ) -> Result<(), Error> {
        append(transaction, std::slice::from_ref(entry), Some(self.bounds)).await
    }

    /// Counts entries whose transaction was committed.
    pub(crate) fn has_written(&self, count: u64) {
        self.metrics.audited("written", count);
    }

    /// Queues an entry without waiting. If the queue is full, the entry is lost and counted.
    pub(crate) fn note(&self, entry: Entry) {
        if self.notes.try_send(entry).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
            self.metrics.audited("lost", 1);
        }
    }

    /// Queues an entry that anybody can cause any number of times: in each minute at most one is written
    /// for a key, with the number of those that it stands for. The key is short, and names
    /// what makes two entries alike.
    pub(crate) fn note_seldom(&self, key: &str, entry: Entry) {
        if let Some(entry) = self.seldom.first(key, entry, std::time::Instant::now()) {
            self.note(entry);
        }
    }
}

/// The task that writes queued entries.
#[derive(Debug)]
pub(crate) struct Writing {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Writing {
    /// Writes the remaining entries after the last request, until the deadline.
    pub(crate) async fn finish(self, end: Instant) {
        // This only fails if the task has ended.
        let _ = self.stop.send(());
        if tokio::time::timeout_at(end, self.task).await.is_err() {
            tracing::error!("the last changes could not be recorded in the audit trail");
        }
    }
}

/// Starts the writer. Entries that are beyond the bounds are removed.
pub(crate) fn begin(
    database: &Database,
    metrics: &Arc<Metrics>,
    bounds: Bounds,
) -> (Audit, Writing) {
    let (notes, noted) = mpsc::channel(WAITING);
    let (stop, stopping) = oneshot::channel();
    let (lost, seldom) = (Arc::new(AtomicU64::new(0)), Arc::new(Seldom::default()));
    let writer = Writer {
        database: database.clone(),
        metrics: Arc::clone(metrics),
        lost: Arc::clone(&lost),
        noted,
        seldom: Arc::clone(&seldom),
        stopping: Some(stopping),
        bounds,
    };
    let audit = Audit { notes, seldom, lost, metrics: Arc::clone(metrics), bounds };
    (audit, Writing { stop, task: tokio::spawn(writer.write()) })
}

struct Writer {
    database: Database,
    metrics: Arc<Metrics>,
    lost: Arc<AtomicU64>,
    noted: mpsc::Receiver<Entry>,
    seldom: Arc<Seldom>,
    /// `None` once the writer has to stop.
    stopping: Option<oneshot::Receiver<()>>,
    bounds: Bounds,
}

impl Writer {
    async fn write(mut self) {
        let mut batch = Vec::new();
        while self.gather(&mut batch).await {
            if batch.is_empty() {
                continue;
            }
            let count = batch.len() as u64;
            if self.put(&batch).await {
                self.metrics.audited("written", count);
            } else {
                self.lost.fetch_add(count, Ordering::Relaxed);
                self.metrics.audited("lost", count);
            }
            batch.clear();
            let lost = self.lost.swap(0, Ordering::Relaxed);
            if lost > 0 {
                tracing::error!(lost, "changes are missing in the audit trail");
            }
        }
    }

    /// Waits for an entry, and then a moment for others. Returns `false` when the writer has to
    /// stop and all entries are written.
    async fn gather(&mut self, batch: &mut Vec<Entry>) -> bool {
        while self.stopping.is_some() {
            tokio::select! {
                _ = self.noted.recv_many(batch, 1) => break,
                () = stopped(&mut self.stopping) => self.noted.close(),
                () = tokio::time::sleep(LOOK_EVERY) => break,
            }
        }
        self.pause(WRITE_EVERY).await;
        while batch.len() < AT_ONCE
            && let Ok(entry) = self.noted.try_recv()
        {
            batch.push(entry);
        }
        match self.stopping {
            Some(_) => batch.extend(self.seldom.due(std::time::Instant::now())),
            None if batch.is_empty() => batch.extend(self.seldom.rest()),
            None => {}
        }
        self.stopping.is_some() || !batch.is_empty()
    }

    /// Writes entries, with retries, and returns whether it succeeded.
    async fn put(&mut self, batch: &[Entry]) -> bool {
        let batch: Arc<[Entry]> = batch.into();
        for number in 1..=ATTEMPTS {
            let (database, batch, bounds) =
                (self.database.clone(), Arc::clone(&batch), self.bounds);
            match attempt(async move { write(&database, &batch, bounds).await }).await {
                Ok(()) => return true,
                // The error is logged once and not every second.
                Err(error) if number == 1 => {
                    tracing::error!(error, "changes could not be recorded in the audit trail yet");
                }
                Err(error) => {
                    tracing::debug!(error, "changes could not be recorded in the audit trail yet")
                }
            }
            if self.stopping.is_none() {
                break;
            }
            self.pause(Duration::from_secs(1)).await;
        }
        false
    }

    /// Waits, unless the writer has to stop.
    async fn pause(&mut self, time: Duration) {
        tokio::select! {
            () = stopped(&mut self.stopping), if self.stopping.is_some() => self.noted.close(),
            () = tokio::time::sleep(time), if self.stopping.is_some() => {}
            else => {}
        }
    }
}

/// Waits for the signal to stop, or until its sender is dropped.
async fn stopped(stopping: &mut Option<oneshot::Receiver<()>>) {
    if let Some(waiting) = stopping {
        let _ = waiting.await;
    }
    *stopping = None;
}

/// Runs one attempt in a task of its own, so that a panic is only a failed attempt.
async fn attempt(
    work: impl Future<Output = Result<(), Error>> + Send + 'static,
) -> Result<(), String> {
    match tokio::spawn(work).await {
        Ok(done) => done.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes entries in one transaction.
async fn write(database: &Database, entries: &[Entry], bounds: Bounds) -> Result<(), Error> {
    transact!(database, |transaction| append(transaction, entries, Some(bounds)).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_one_failed_attempt() {
        let failed = attempt(async { std::panic::resume_unwind(Box::new("on purpose")) }).await;
        assert!(failed.is_err_and(|error| error.contains("panic")));
        assert_eq!(attempt(async { Ok(()) }).await, Ok(()));
    }
}
