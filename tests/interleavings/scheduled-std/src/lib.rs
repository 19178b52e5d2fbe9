//! The standard library for code under shuttle's scheduler: locks and atomics are scheduling points, the
//! clock stands until a test advances it, and there are two processors. Everything else is `std`.

pub use ::std::*;

/// Locks and atomics of shuttle.
pub mod sync {
    pub use ::std::sync::*;
    pub use shuttle::sync::{Mutex, MutexGuard, atomic};
}

/// The number of processors does not depend on the machine.
pub mod thread {
    pub use ::std::thread::*;

    /// Two.
    ///
    /// # Errors
    /// Never; it has the signature of the standard library.
    pub fn available_parallelism() -> ::std::io::Result<::std::num::NonZero<usize>> {
        ::std::num::NonZero::new(2).ok_or_else(|| ::std::io::ErrorKind::Other.into())
    }
}

/// A clock that is set by tests.
pub mod time {
    use ::std::cell::Cell;
    pub use ::std::time::*;

    // Shuttle runs all tasks of a test on one thread.
    ::std::thread_local! {
        static NOW: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    /// A moment of this clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct Instant(Duration);

    impl Instant {
        /// The moment of the clock.
        pub fn now() -> Self {
            Self(NOW.get())
        }

        /// How long it is ago.
        pub fn elapsed(&self) -> Duration {
            NOW.get().saturating_sub(self.0)
        }

        /// The time from another moment until this one.
        pub fn saturating_duration_since(&self, other: Self) -> Duration {
            self.0.saturating_sub(other.0)
        }

        /// Lets time pass.
        pub fn advance(by: Duration) {
            NOW.set(NOW.get() + by);
        }
    }
}
