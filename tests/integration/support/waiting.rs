//! Waiting for something that happens soon, and failing the test if it does not.

use std::time::Duration;

/// How long anything may take before a test fails: much longer than on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Fails the test when something takes too long.
pub async fn patiently<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(PATIENCE, future).await;
    done.unwrap_or_else(|_| panic!("waited too long: {what}"))
}

/// Repeats a check until it returns a value.
pub async fn eventually<T>(what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
    patiently(what, async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}
