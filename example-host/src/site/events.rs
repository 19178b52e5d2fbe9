//! Events: reports what has happened on the site to the extensions that ask for it. Each report has
//! a time limit and runs in a task of its own, so that no request waits for it. A failure is only
//! logged.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use host_interface::{Event, LoadedPlugin};
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::base::lock::lock;
use crate::site::snapshot::Snapshot;

/// The extensions that ask for events, and the reports in progress.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Absent until all extensions are installed; until then nothing is reported.
    listeners: OnceLock<Vec<Listener>>,
    tasks: Mutex<JoinSet<()>>,
}

/// An extension that asks for events.
#[derive(Debug)]
pub(crate) struct Listener {
    extension: String,
    /// The names of the events.
    events: Vec<String>,
    /// Weak, because a plugin refers to the site that refers to its listeners.
    plugin: Weak<LoadedPlugin>,
}

impl Listener {
    pub(crate) fn new(extension: &str, events: &[String], plugin: &Arc<LoadedPlugin>) -> Self {
        let (extension, plugin) = (extension.to_owned(), Arc::downgrade(plugin));
        Self { extension, events: events.to_vec(), plugin }
    }
}

impl Events {
    /// Reports what happens from now on to these extensions.
    pub(crate) fn begin(&self, listeners: Vec<Listener>) {
        if self.listeners.set(listeners).is_err() {
            tracing::error!("the extensions that ask for events were set twice");
        }
    }

    /// Reports an event to every extension that asks for it.
    pub(crate) fn report(&self, event: &Event) {
        for listener in self.listeners() {
            self.report_to(listener, event);
        }
    }

    /// Reports what differs between two snapshots to the extensions that it concerns.
    pub(crate) fn compare(&self, before: &Snapshot, after: &Snapshot) {
        for listener in self.listeners() {
            let extension = &listener.extension;
            let enabled = after.enabled(extension);
            if before.enabled(extension) != enabled {
                self.report_to(listener, &Event::switched(enabled));
            }
            if before.parameters.revision(extension) != after.parameters.revision(extension) {
                self.report_to(listener, &Event::ParametersChanged);
            }
        }
    }

    /// Runs a short task that is waited for like a report.
    pub(crate) fn run(&self, runtime: &Handle, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        // Those that are done are removed, so that the set does not grow.
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, runtime);
    }

    /// Waits for the reports in progress, and gives those up that are not done by then. What they begin
    /// meanwhile, for example to wake a job, is waited for by the next call.
    pub(crate) async fn finish(&self, by: Instant) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        let all = async { while tasks.join_next().await.is_some() {} };
        if timeout_at(by, all).await.is_err() {
            tracing::warn!("extensions did not deal with all events before the end");
        }
    }

    fn report_to(&self, listener: &Listener, event: &Event) {
        if !listener.events.iter().any(|wanted| wanted == event.name()) {
            return;
        }
        let Some(plugin) = listener.plugin.upgrade() else { return };
        let (extension, event) = (listener.extension.clone(), event.clone());
        self.run(&Handle::current(), async move {
            host_service::report_event(&extension, &plugin, &event).await;
        });
    }

    fn listeners(&self) -> &[Listener] {
        self.listeners.get().map_or(&[], Vec::as_slice)
    }
}
