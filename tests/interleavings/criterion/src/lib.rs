//! What `shuttle-tokio` names of `criterion`, a library for benchmarks: its runtimes implement one trait of it. The rest
//! is for benchmarks of its own, and forty crates that nobody here would use.

/// Futures in benchmarks.
pub mod async_executor {
    use std::future::Future;

    /// A runtime.
    pub trait AsyncExecutor {
        /// Runs a future to its end.
        fn block_on<T>(&self, future: impl Future<Output = T>) -> T;
    }
}
