//! The files that people have sent to be imported, until they have seen what the import would do. Each belongs to
//! the session that has sent it, is kept for an hour at most or until others need its room, and is only on this host.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::base::error::Error;
use crate::base::lock::lock;
use crate::base::secret::{self, SecretHash};

use super::form::Form;
use super::spool::Spool;

/// For how long a file is kept.
const KEPT_FOR: Duration = Duration::from_secs(60 * 60);
/// How many files are kept; the oldest one makes room.
pub(crate) const KEPT: usize = 16;
/// How many files may be arriving.
const ARRIVING: usize = 4;

/// All files.
#[derive(Debug)]
pub(crate) struct Uploads {
    kept: Mutex<Vec<Arc<Upload>>>,
    places: Arc<Semaphore>,
}

/// A file, and how it is to be imported.
#[derive(Debug)]
pub(crate) struct Upload {
    pub(crate) id: String,
    session: SecretHash,
    since: Instant,
    pub(crate) file: Arc<SentFile>,
    /// The form that it was sent with.
    pub(crate) settings: Form,
    /// What was wrong with its lines, as CSV.
    faults: Mutex<Arc<Spool>>,
    has_run: AtomicBool,
}

/// A file as it was sent.
#[derive(Debug)]
pub(crate) struct SentFile {
    pub(crate) name: String,
    pub(crate) content: Arc<Spool>,
}

impl Uploads {
    pub(crate) fn new() -> Self {
        Self { kept: Mutex::default(), places: Arc::new(Semaphore::new(ARRIVING)) }
    }

    /// A place for a file that arrives, if there is one.
    pub(crate) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.places).try_acquire_owned().ok()
    }

    /// Keeps a file. It takes the place of another one of the same session.
    pub(crate) fn keep(
        &self,
        session: SecretHash,
        file: Arc<SentFile>,
        settings: Form,
    ) -> Result<Arc<Upload>, Error> {
        let upload = Arc::new(Upload {
            id: secret::random_text()?,
            session,
            since: Instant::now(),
            file,
            settings,
            faults: Mutex::new(Arc::new(Spool::new())),
            has_run: AtomicBool::new(false),
        });
        let mut kept = self.kept();
        kept.retain(|other| other.session != session);
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&upload));
        Ok(upload)
    }

    /// The file with this id, if the session has sent it.
    pub(crate) fn find(&self, id: &str, session: SecretHash) -> Option<Arc<Upload>> {
        let kept = self.kept();
        kept.iter().find(|upload| upload.id == id && upload.session == session).cloned()
    }

    /// Those that are still kept.
    fn kept(&self) -> MutexGuard<'_, Vec<Arc<Upload>>> {
        let mut kept = lock(&self.kept);
        kept.retain(|upload| upload.since.elapsed() < KEPT_FOR);
        kept
    }
}

impl Upload {
    /// Marks the file as imported, and returns whether it was not so before.
    pub(crate) fn begins(&self) -> bool {
        !self.has_run.swap(true, Ordering::Relaxed)
    }

    /// Marks the file as not imported: it was refused, or nobody knows.
    pub(crate) fn may_begin_again(&self) {
        self.has_run.store(false, Ordering::Relaxed);
    }

    /// What was wrong with its lines in the latest run.
    pub(crate) fn faults(&self) -> Arc<Spool> {
        Arc::clone(&lock(&self.faults))
    }

    /// Begins the list of what is wrong anew.
    pub(crate) fn begin_faults(&self) -> Arc<Spool> {
        let new = Arc::new(Spool::new());
        *lock(&self.faults) = Arc::clone(&new);
        new
    }
}
