//! A database that is made once for all tests of a run, and copied for each of them: to create its tables takes
//! far longer.

use std::any::Any;
use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

use crate::support::databases::{Database, Engine};

/// A database to copy, on the engine of this run, and what is known about its content.
pub struct Template<T> {
    made: Mutex<Weak<(Database, T)>>,
}

impl<T: Clone + Send + Sync + 'static> Template<T> {
    pub const fn new() -> Template<T> {
        Template { made: Mutex::const_new(Weak::new()) }
    }

    /// A copy for one test on this engine. What `make` returns is copied, so nothing may have it open any
    /// more. On another engine than that of the run, each test gets one that is made for it.
    pub async fn copy(
        &self,
        engine: Engine,
        make: impl AsyncFnOnce() -> (Database, T),
    ) -> (Database, T) {
        if engine != Engine::of_this_run() {
            return Box::pin(make()).await;
        }
        let mut made = self.made.lock().await;
        let template = match made.upgrade() {
            Some(template) => template,
            None => {
                // On the heap, because this future is a part of that of each test.
                let (mut database, known) = Box::pin(make()).await;
                database.templates = None;
                let template = Arc::new((database, known));
                *made = Arc::downgrade(&template);
                template
            }
        };
        drop(made);
        let mut copy = template.0.copy().await;
        let known = template.1.clone();
        copy.templates = Some(kept_with(template));
        (copy, known)
    }
}

/// All templates of this process. Each copy keeps them all: they are removed with the last copy, so that no server
/// keeps one, and are seldom made again, because there is hardly a moment in which no test has a copy.
type Templates = std::sync::Mutex<Vec<Arc<dyn Any + Send + Sync>>>;

/// The templates, with this one among them.
fn kept_with(template: Arc<dyn Any + Send + Sync>) -> Arc<Templates> {
    static KEPT: std::sync::Mutex<Weak<Templates>> = std::sync::Mutex::new(Weak::new());
    let mut kept = KEPT.lock().unwrap();
    let templates = kept.upgrade().unwrap_or_default();
    *kept = Arc::downgrade(&templates);
    let mut all = templates.lock().unwrap();
    if !all.iter().any(|known| Arc::ptr_eq(known, &template)) {
        all.push(template);
    }
    drop(all);
    templates
}
