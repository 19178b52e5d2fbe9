//! The end of a connection whose client is still sending. If it were closed at once, the system would answer what
//! arrives afterwards with a reset, and the client could lose an answer that is already under way. So the
//! rest is read and dropped for a moment. Knows no routes and no answers.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, sink};
use tokio::time::timeout;

/// How long the rest is read.
const READ_ON: Duration = Duration::from_secs(2);

/// Whether the client of a connection has sent, or is sending, something that nothing has read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unread(Arc<AtomicBool>);

impl Unread {
    pub(crate) fn note(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The body of a request, which notes when it is dropped before its end.
pub(crate) struct Received<B: HttpBody> {
    body: B,
    ended: bool,
    unread: Unread,
}

impl<B: HttpBody> Received<B> {
    pub(crate) fn new(body: B, unread: &Unread) -> Self {
        Self { body, ended: false, unread: unread.clone() }
    }
}

impl<B: HttpBody<Data = Bytes> + Unpin> HttpBody for Received<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.ended |= frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B: HttpBody> Drop for Received<B> {
    fn drop(&mut self) {
        if !self.ended && !self.body.is_end_stream() {
            self.unread.note();
        }
    }
}

/// Closes the connection: at once, or if the client is still sending when it has stopped, within [`READ_ON`].
pub(crate) async fn close(mut stream: impl AsyncRead + AsyncWrite + Unpin, still_sending: bool) {
    // What fails here is a connection that the client has given up.
    if stream.shutdown().await.is_ok() && still_sending {
        let _ = timeout(READ_ON, copy(&mut stream, &mut sink())).await;
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt, Full};

    use super::*;

    #[test]
    fn a_body_that_is_dropped_before_its_end_is_noted() {
        let unread = Unread::default();
        drop(Received::new(Full::new(Bytes::new()), &unread));
        assert!(!unread.is_noted());
        drop(Received::new(Full::new(Bytes::from_static(b"body")), &unread));
        assert!(unread.is_noted());
    }

    #[tokio::test]
    async fn a_body_that_is_read_to_its_end_is_not_noted() {
        let unread = Unread::default();
        // A body in chunks does not know its end before it has come.
        let mut body = Received::new(Full::new(Bytes::from_static(b"body")).boxed(), &unread);
        assert!(body.frame().await.is_some());
        assert!(body.frame().await.is_none());
        drop(body);
        assert!(!unread.is_noted());
    }
}
