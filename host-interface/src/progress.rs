//! How far a long piece of work has come, from the plugin to the host. How it is shown is up to the host.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::panic::attempt;

/// A listener to the progress of long work. It is called from any thread and must not block.
pub trait Progress: Send + Sync + 'static {
    /// `done` of `total` units of the step named `step` are done. The plugin chooses the unit.
    fn report(&self, step: &str, done: u64, total: u64);
}

/// Ignores the reports.
impl Progress for () {
    fn report(&self, _step: &str, _done: u64, _total: u64) {}
}

/// A listener to the progress of long work, usually on the other side of the boundary. Clones are the same
/// listener.
#[derive(Clone)]
pub struct ProgressHandle(Arc<dyn Progress>);

impl ProgressHandle {
    /// A handle to a listener on the same side, for tests and for work of the plugin's own. The
    /// listener of a call is passed to it: see [`LoadedPlugin::command`](crate::LoadedPlugin::command).
    pub fn new(listener: impl Progress) -> Self {
        Self(Arc::new(listener))
    }

    /// `done` of `total` units of the step named `step` are done.
    pub fn report(&self, step: &str, done: u64, total: u64) {
        self.0.report(step, done, total);
    }
}

impl std::fmt::Debug for ProgressHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ProgressHandle")
    }
}

/// A report as it crosses.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) task: u64,
    pub(crate) step: String,
    pub(crate) done: u64,
    pub(crate) total: u64,
}

/// The listeners of a host, each by the number of the work that it listens to.
#[derive(Clone, Default)]
pub(crate) struct Listeners(Arc<Mutex<Numbered>>);

#[derive(Default)]
struct Numbered {
    last: u64,
    listeners: HashMap<u64, Arc<dyn Progress>>,
}

impl Listeners {
    /// Listens until the guard is dropped.
    pub(crate) fn listen(&self, listener: impl Progress) -> Listening {
        let mut numbered = self.lock();
        numbered.last += 1;
        let task = numbered.last;
        numbered.listeners.insert(task, Arc::new(listener));
        Listening { listeners: self.clone(), task }
    }

    /// Passes a report on. One about work that has ended is late and is ignored.
    pub(crate) fn report(&self, report: &Report) {
        let listener = self.lock().listeners.get(&report.task).cloned();
        if let Some(listener) = listener {
            drop(attempt(|| listener.report(&report.step, report.done, report.total)));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Numbered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A listener that is registered.
pub(crate) struct Listening {
    listeners: Listeners,
    /// The number of the work.
    pub(crate) task: u64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        let listener = self.listeners.lock().listeners.remove(&self.task);
        // Only now, because its destructor may report something, which takes the lock.
        drop(listener);
    }
}
