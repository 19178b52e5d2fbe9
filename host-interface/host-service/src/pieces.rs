//! Bodies in pieces: the large body of a request on its way to a plugin, and a body that a plugin
//! produces on its way to the client. Each side asks for the next piece when it has room for it. The
//! limits of whole bodies apply: size, and the time without progress.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use futures_core::Stream;
use host_interface::{Body as Pieces, Chunk, Error};
use http_body::{Frame, SizeHint};
use tokio::runtime::Handle;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::access::Access;
use crate::admission::{Admission, Watch};
use crate::body;
use crate::extension::Extension;
use crate::refusal::Refusal;

/// Marks a response whose body is produced while it is sent, in its extensions.
#[derive(Clone, Copy, Debug)]
pub struct Streamed;

/// The limits of a body that arrives in pieces.
pub(crate) struct ArrivalLimits {
    /// The maximum size in bytes.
    pub(crate) size: usize,
    /// How long the client may pause.
    pub(crate) stall: Duration,
    /// When the plugin must have answered.
    pub(crate) deadline: Instant,
}

/// What host and plugin see of the same body.
#[derive(Debug, Default)]
pub(crate) struct Arrival {
    answered: AtomicBool,
    broken: OnceLock<Refusal>,
}

impl Arrival {
    /// Ends the time limit for the answer.
    pub(crate) fn answered(&self) {
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Why the body broke off, if it did.
    pub(crate) fn broken(&self) -> Option<&Refusal> {
        self.broken.get()
    }
}

/// The body of a request, of which the first bytes have been read.
pub(crate) struct Arriving {
    first: Option<Vec<u8>>,
    /// Absent at the end.
    rest: Option<Body>,
    read: usize,
    limits: ArrivalLimits,
    /// When the client began to pause, and the timer for that.
    pause: Option<(Instant, Pin<Box<Sleep>>)>,
    arrival: Arc<Arrival>,
    /// Whether the sender still has access.
    watch: Watch,
    /// A plugin polls on threads of its own, where timers need the host's runtime.
    runtime: Handle,
}

impl Arriving {
    /// The body for the plugin, and what the host sees of it. `length` is its length in bytes, if the
    /// client sent it.
    pub(crate) fn pieces(
        first: Vec<u8>,
        rest: Body,
        limits: ArrivalLimits,
        length: Option<u64>,
        admission: &Arc<Admission<impl Access>>,
    ) -> (Pieces, Arc<Arrival>) {
        let arrival = Arc::new(Arrival::default());
        let arriving = Self {
            read: first.len(),
            first: Some(first),
            rest: Some(rest),
            limits,
            pause: None,
            arrival: Arc::clone(&arrival),
            watch: Watch::new(admission),
            runtime: Handle::current(),
        };
        let pieces = match length {
            Some(length) => Pieces::with_length(arriving, length),
            None => Pieces::new(arriving),
        };
        (pieces, arrival)
    }

    /// The next data of the client, within the limits.
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        if let Err(refusal) = ready!(self.watch.poll(context)) {
            return Poll::Ready(Some(Err(refusal)));
        }
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        while let Poll::Ready(frame) = Pin::new(&mut *rest).poll_frame(context) {
            self.pause = None;
            let data = match frame {
                None => {
                    self.rest = None;
                    return Poll::Ready(None);
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "a body ended early");
                    self.rest = None;
                    return Poll::Ready(Some(Err(Refusal::BodyIncomplete)));
                }
                Some(Ok(frame)) => frame.into_data().unwrap_or_default(),
            };
            self.read = self.read.saturating_add(data.len());
            if self.read > self.limits.size {
                let limit = self.limits.size;
                return Poll::Ready(Some(Err(Refusal::BodyTooLarge { limit })));
            }
            if !data.is_empty() {
                return Poll::Ready(Some(Ok(data)));
            }
        }
        self.poll_pause(context).map(|refusal| Some(Err(refusal)))
    }

    /// Is ready when the client has paused for too long, or the plugin must have answered.
    fn poll_pause(&mut self, context: &mut Context<'_>) -> Poll<Refusal> {
        let ArrivalLimits { stall, deadline, .. } = self.limits;
        loop {
            let waits = !self.arrival.answered.load(Ordering::Relaxed);
            let (since, timer) = self.pause.get_or_insert_with(|| {
                let now = Instant::now();
                (now, Box::pin(sleep_until(now)))
            });
            let end = *since + stall;
            let end = if waits { end.min(deadline) } else { end };
            if Instant::now() >= end {
                self.rest = None;
                return Poll::Ready(Refusal::BodyTooSlow);
            }
            timer.as_mut().reset(end);
            ready!(timer.as_mut().poll(context));
        }
    }
}

impl Stream for Arriving {
    type Item = Result<Chunk, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first.into())));
        }
        let runtime = self.runtime.clone();
        let _entered = runtime.enter();
        Poll::Ready(ready!(self.poll_data(context)).map(|data| match data {
            Ok(data) => Ok(Chunk::from_owner(data)),
            Err(refusal) => {
                let reason = refusal.reason();
                // Only the first reason counts; after it the body has ended.
                let _ = self.arrival.broken.set(refusal);
                Err(Error::Refused(reason.to_owned()))
            }
        }))
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        // A client that is still sending would not receive the answer.
        if let Some(rest) = self.rest.take() {
            self.runtime.spawn(body::discard(rest));
        }
    }
}

/// A body that a plugin produces while it is sent. If the plugin fails or gives nothing for too long,
/// the connection is closed before the end, which the client notices.
pub(crate) struct Produced {
    /// Absent after the end.
    pieces: Option<Pieces>,
    /// How many bytes are still to come, if the plugin has named a length.
    left: Option<u64>,
    stall: Duration,
    /// The timer while nothing comes.
    pause: Option<Pin<Box<Sleep>>>,
    extension: Extension,
    route: Arc<str>,
}

impl Produced {
    pub(crate) fn new(
        pieces: Pieces,
        stall: Duration,
        extension: &Extension,
        route: &Arc<str>,
    ) -> Self {
        let (extension, route) = (extension.clone(), Arc::clone(route));
        let left = pieces.length();
        Self { pieces: Some(pieces), left, stall, pause: None, extension, route }
    }

    fn fails(&mut self, error: Error) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        self.pieces = None;
        let (extension, route) = (self.extension.name(), &*self.route);
        tracing::error!(extension, route, %error, "an extension failed while its answer was sent");
        Poll::Ready(Some(Err(error)))
    }
}

impl HttpBody for Produced {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let Some(pieces) = &mut self.pieces else { return Poll::Ready(None) };
        match Pin::new(pieces).poll_next(context) {
            Poll::Ready(piece) => {
                self.pause = None;
                match piece {
                    Some(Ok(data)) => {
                        let length = u64::try_from(data.len()).unwrap_or(u64::MAX);
                        self.left = self.left.map(|left| left.saturating_sub(length));
                        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(data)))))
                    }
                    Some(Err(error)) => self.fails(error),
                    None => {
                        self.pieces = None;
                        Poll::Ready(None)
                    }
                }
            }
            Poll::Pending => {
                let end = Instant::now() + self.stall;
                let pause = self.pause.get_or_insert_with(|| Box::pin(sleep_until(end)));
                ready!(pause.as_mut().poll(context));
                self.fails(Error::failed("it gave nothing for too long"))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The body of an answer that is sent for as long as its receiver has access.
pub(crate) struct Watched {
    /// Absent after the end.
    body: Option<Body>,
    watch: Watch,
}

impl Watched {
    pub(crate) fn new(body: Body, admission: &Arc<Admission<impl Access>>) -> Self {
        Self { body: Some(body), watch: Watch::new(admission) }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self { body, watch } = &mut *self;
        let Some(sent) = body else { return Poll::Ready(None) };
        if let Err(refusal) = ready!(watch.poll(context)) {
            *body = None;
            let reason = "the receiver of an answer has no access any more";
            tracing::info!(?refusal, "{reason}");
            return Poll::Ready(Some(Err(axum::Error::new(Error::Refused(reason.to_owned())))));
        }
        Pin::new(sent).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, HttpBody::size_hint)
    }
}
