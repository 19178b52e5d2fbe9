//! A database that is made once for tests that run at the same time, and copied for each of them: to create
//! its tables takes far longer.

use std::sync::{Arc, Weak};

use tokio::sync::Mutex;

use crate::support::databases::{Database, Engine};

/// A database to copy, on the engine of this run, and what is known about its content. It is removed with
/// the last copy, so that no server keeps it.
pub struct Template<T> {
    made: Mutex<Weak<(Database, T)>>,
}

impl<T: Clone + Send + Sync + 'static> Template<T> {
    pub const fn new() -> Template<T> {
        Template { made: Mutex::const_new(Weak::new()) }
    }

    /// A copy for one test on this engine. What `make` returns is copied, so nothing may have it open any
    /// more. Where nothing can be copied, each test gets one that is made for it.
    pub async fn copy(
        &self,
        engine: Engine,
        make: impl AsyncFnOnce() -> (Database, T),
    ) -> (Database, T) {
        if engine != Engine::of_this_run() || !engine.copies() {
            return Box::pin(make()).await;
        }
        let mut made = self.made.lock().await;
        let template = match made.upgrade() {
            Some(template) => template,
            None => {
                // On the heap, because this future is a part of that of each test.
                let template = Arc::new(Box::pin(make()).await);
                *made = Arc::downgrade(&template);
                template
            }
        };
        drop(made);
        let copy = template.0.copy(template.clone()).await;
        (copy, template.1.clone())
    }
}
