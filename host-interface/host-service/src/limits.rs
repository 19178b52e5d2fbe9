//! The limits of requests.

use std::time::Duration;

/// The limits of requests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// How long a request may take, its body included, and without the time for which it may wait. One with a
    /// file may take a day longer, see [`Route::bulk`](host_interface::Route::bulk). Default: 30 s.
    pub request_timeout: Duration,
    /// How long a client may pause while it sends a body, and a plugin while it produces one.
    /// Default: 10 s.
    pub stall_timeout: Duration,
    /// The maximum size of a body in bytes. Default: 1 MiB.
    pub body_limit: usize,
    /// The maximum size in bytes of a body that is a file, on a route that takes such. Default: 1 GiB.
    pub bulk_limit: usize,
    /// The size in bytes that an answer should not exceed, unless it is a stream. Plugins get it as a
    /// [fact](host_interface::Request::answer_limit), and keep to it. Default: 8 MiB.
    pub answer_limit: usize,
    /// The size in bytes above which a body is passed on in pieces, where the route takes it so.
    /// Default: 64 KiB.
    pub stream_above: usize,
    /// How many changes may run at the same time; others wait. Default: 1,024.
    pub changes: usize,
    /// How many requests may wait at the same time, see [`Route::waits`](host_interface::Route::waits).
    /// Beyond it, one that asks to wait is answered at once. One token and one client, by its
    /// [address](crate::ClientAddress), have at most a tenth of them; beyond that, it is refused.
    /// Default: 1,000.
    pub waiters: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(10),
            body_limit: 1024 * 1024,
            bulk_limit: 1024 * 1024 * 1024,
            answer_limit: 8 * 1024 * 1024,
            stream_above: 64 * 1024,
            changes: 1024,
            waiters: 1000,
        }
    }
}
