//! The report of an import: a line for each record, while it goes on. A client may read it later than it sends
//! its file, so it is kept, the beginning in memory and the rest in a temporary file. Knows nothing of the store.

use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream;
use host_interface::{Body, Error};
use serde::Serialize;
use serde_json::Value as Json;
use tempfile::SpooledTempFile;
use tokio::sync::watch;

/// How much of a report is kept in memory.
const IN_MEMORY: usize = 256 * 1024;
/// The size of a piece of the answer.
const PIECE: usize = 64 * 1024;

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Became {
    /// It was created.
    Created,
    /// It was changed.
    Updated,
    /// It is as it was.
    Unchanged,
    /// It was refused.
    Failed,
}

/// What became of a line.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    /// The line of the file.
    pub(super) line: u64,
    /// What the record is known by, as far as that is known.
    pub(super) key: Option<String>,
    /// What became of it.
    pub(super) result: Became,
    /// The key of the record.
    pub(super) id: Option<i64>,
    /// Its version.
    pub(super) version: Option<i64>,
    /// Whether it needs what the dry run has undone, so that not all of it could be tried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) undone: bool,
    /// What was wrong.
    #[serde(skip_serializing_if = "Json::is_null")]
    pub(super) errors: Json,
}

impl Outcome {
    /// Whether something was written.
    pub(super) fn has_written(&self) -> bool {
        matches!(self.result, Became::Created | Became::Updated)
    }
}

/// The report while it is written.
#[derive(Debug)]
pub(super) struct Report {
    kept: Arc<Mutex<SpooledTempFile>>,
    state: watch::Sender<State>,
}

/// How far a report has come.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// How many bytes there are.
    size: u64,
    /// Whether that is all.
    has_ended: bool,
    /// Whether what follows could not be kept.
    is_broken: bool,
}

impl Report {
    /// An empty report, and the body of the answer that it becomes.
    pub(super) fn begin() -> (Self, Body) {
        let kept = Arc::new(Mutex::new(SpooledTempFile::new(IN_MEMORY)));
        let (state, seen) = watch::channel(State::default());
        let reading = Reading { kept: Arc::clone(&kept), seen, at: 0 };
        let pieces = stream::try_unfold(reading, |mut reading| async move {
            Ok(reading.next().await?.map(|piece| (piece, reading)))
        });
        (Self { kept, state }, Body::new(Box::pin(pieces)))
    }

    /// Adds a line.
    pub(super) fn line(&self, line: &impl Serialize) {
        // Serialising texts, numbers and lists cannot fail.
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        self.write(&text);
    }

    /// Adds an empty line, so that nobody takes the answer for dead.
    pub(super) fn sign_of_life(&self) {
        self.write(b"\n");
    }

    /// Adds a text.
    pub(super) fn write(&self, text: &[u8]) {
        // Nobody reads it any more, or a part is missing before this one.
        if self.state.is_closed() || self.state.borrow().is_broken {
            return;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let written = kept.seek(SeekFrom::End(0)).and_then(|_| kept.write_all(text));
        drop(kept);
        match written {
            Ok(()) => self.state.send_modify(|state| state.size += length(text)),
            Err(error) => {
                tracing::error!(%error, "the rest of the report of an import is lost");
                self.state.send_modify(|state| state.is_broken = true);
            }
        }
    }
}

impl Drop for Report {
    fn drop(&mut self) {
        self.state.send_modify(|state| state.has_ended = true);
    }
}

/// The report while it is read.
struct Reading {
    kept: Arc<Mutex<SpooledTempFile>>,
    seen: watch::Receiver<State>,
    at: u64,
}

impl Reading {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        loop {
            let State { size, has_ended, is_broken } = *self.seen.borrow_and_update();
            if self.at < size {
                let left = usize::try_from(size - self.at).unwrap_or(PIECE);
                let mut piece = vec![0; left.min(PIECE)];
                let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                let read =
                    kept.seek(SeekFrom::Start(self.at)).and_then(|_| kept.read_exact(&mut piece));
                drop(kept);
                read.map_err(Error::failed)?;
                self.at += length(&piece);
                return Ok(Some(piece));
            }
            // A client must not take it for the whole report.
            if is_broken {
                return Err(Error::failed("the report of an import is incomplete"));
            }
            if has_ended || self.seen.changed().await.is_err() {
                return Ok(None);
            }
        }
    }
}

fn length(text: &[u8]) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}
