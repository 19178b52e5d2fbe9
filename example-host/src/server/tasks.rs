//! Background tasks of a served site. A task that panics is logged and restarted.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::task::{JoinHandle, JoinSet};

/// The pause before a task that panicked is restarted.
const PAUSE: Duration = Duration::from_secs(1);

/// A task that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct Background(JoinHandle<()>);

impl Background {
    /// Starts the task with what it needs, and restarts it whenever it panics.
    pub(crate) fn begin<T: Clone + Send + 'static, F: Future<Output = ()> + Send + 'static>(
        name: &'static str,
        with: T,
        begin: impl Fn(T) -> F + Send + 'static,
    ) -> Self {
        Self::repeat(name, Box::new(move || Box::pin(begin(with.clone()))))
    }

    /// With boxes, because a runtime's code for a task is compiled again for each type of future.
    fn repeat(name: &'static str, begin: Box<dyn Fn() -> BoxFuture<'static, ()> + Send>) -> Self {
        Self(tokio::spawn(async move {
            loop {
                // A `JoinSet`, because dropping it aborts its task.
                let mut task = JoinSet::new();
                task.spawn(begin());
                match task.join_next().await {
                    Some(Err(error)) => {
                        tracing::error!(%error, "the task to {name} failed and is restarted");
                        tokio::time::sleep(PAUSE).await;
                    }
                    _ => return,
                }
            }
        }))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;

    #[test]
    #[allow(clippy::panic, reason = "the task under test panics")]
    fn a_task_that_panics_is_restarted_and_ends_on_drop() -> std::io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let (begun, again) = (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()));
            let with = (Arc::clone(&begun), Arc::clone(&again));
            let background = Background::begin("count", with, |(count, notify)| async move {
                assert!(count.fetch_add(1, Ordering::Relaxed) > 0, "the first time");
                notify.notify_one();
                std::future::pending().await
            });
            again.notified().await;
            assert_eq!(begun.load(Ordering::Relaxed), 2);
            drop(background);
            while Arc::strong_count(&again) > 1 {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    }
}
