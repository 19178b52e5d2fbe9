//! Locks of data in memory. They are used although a thread has panicked while it held one: each change of what they
//! protect is complete by itself.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whatever has become of those who locked it before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
