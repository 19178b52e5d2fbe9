//! Accepts connections, limits their number and duration, and closes them gracefully. Requests are
//! answered by a router.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{HeaderValue, Request, Response, StatusCode, header};
use host_service::Streamed;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout, timeout_at};

use crate::base::error::Error;
use crate::watch::metrics::{Guard, Metrics};

use super::client::{self, Peer};
use super::closing::{self, Received, Unread};
use super::limits::{ConnectionLimit, Permit};
use super::phase::{Phases, Stop};
use super::progress::Progress;
use super::tls::Tls;

/// The number of additional connections above the limit, which only get the answer 503.
const EXTRA_CONNECTIONS: usize = 16;
/// How many of these one client may have.
const EXTRA_PER_CLIENT: usize = 4;
/// The time limit for each step of such a connection.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum size of a request's head. Each connection can occupy this much memory.
const BUFFER: usize = 64 * 1024;

/// The time limit for the last answer of a connection that is closed in favour of another.
const CLOSING_TIME: Duration = Duration::from_secs(2);

/// How connections are served.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) router: Router,
    /// Answers on connections above the limit. Without it they are closed.
    pub(crate) full: Option<Router>,
    pub(crate) tls: Option<Arc<Tls>>,
    /// The time limit for the headers of a request, and for the TLS handshake.
    pub(crate) header_timeout: Duration,
    /// How long the client may pause while it reads an answer.
    pub(crate) stall_time: Duration,
    /// The maximum number of connections.
    pub(crate) limit: usize,
    /// The maximum number of connections of one client.
    pub(crate) limit_of_one: usize,
    /// The proxies to which the limit for one client does not apply.
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// The metrics that count the connections.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

impl Connections {
    /// Accepts connections until the server stops, then waits for the requests in progress.
    pub(crate) async fn accept(self, listener: TcpListener, mut phases: Phases) {
        let limit = ConnectionLimit::new(self.limit, self.limit_of_one);
        let extra = ConnectionLimit::new(EXTRA_CONNECTIONS, EXTRA_PER_CLIENT);
        let (cut, cutting) = watch::channel(());
        // Each connection has a sender, so that the receiver ends with the last of them.
        let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
        let Stop { finish_by, abort_by } = loop {
            let accepted = tokio::select! {
                stop = phases.stopped() => break stop,
                accepted = listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Probably no file descriptor is free; the pause gives connections time to
                    // close.
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let peer = Peer(address.ip());
            let proxy = client::is_trusted(peer, &self.trusted_proxies);
            let Some(mut connection) = self.place(&limit, &extra, peer, proxy) else {
                tracing::debug!(%address, "the limit of connections is reached");
                continue;
            };
            connection.once |= !phases.is_serving();
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set for a connection");
            }
            let counted: Option<Guard> = self.metrics.as_ref().map(|metrics| metrics.connection());
            let (phases, mut cutting) = (phases.clone(), cutting.clone());
            let (tls, open) = (self.tls.clone(), open.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = connection.serve(tls, stream, phases) => {}
                    _ = cutting.changed() => {}
                }
                drop((counted, open));
            });
        };
        drop((listener, open));
        if timeout_at(finish_by, all_closed.recv()).await.is_err() {
            tracing::warn!("requests that took too long to finish were aborted");
        }
        // Dropping the sender aborts the remaining connections.
        drop(cut);
        if timeout_at(abort_by, all_closed.recv()).await.is_err() {
            tracing::warn!("a request could not be aborted");
        }
    }

    /// Assigns a new connection to one of the limits, or refuses it.
    fn place(
        &self,
        limit: &Arc<ConnectionLimit>,
        extra: &Arc<ConnectionLimit>,
        peer: Peer,
        proxy: bool,
    ) -> Option<Connection> {
        let connection = |permit, router: &Router, extra| Connection {
            peer,
            permit: Arc::new(permit),
            router: router.clone(),
            once: extra,
            header_timeout: if extra { EXTRA_TIMEOUT } else { self.header_timeout },
            stall_time: if extra { EXTRA_TIMEOUT } else { self.stall_time },
        };
        if let Some(permit) = limit.acquire(peer.0, proxy) {
            return Some(connection(permit, &self.router, false));
        }
        let full = self.full.as_ref()?;
        Some(connection(extra.acquire(peer.0, false)?, full, true))
    }
}

/// An accepted connection.
struct Connection {
    peer: Peer,
    permit: Arc<Permit>,
    router: Router,
    /// Whether it is closed after one answer, because it is above the limit or was accepted while
    /// the server drained. That answer is given even if the server stops meanwhile.
    once: bool,
    header_timeout: Duration,
    stall_time: Duration,
}

impl Connection {
    async fn serve(&self, tls: Option<Arc<Tls>>, stream: TcpStream, phases: Phases) {
        let stream = Progress::of(self.stall_time, stream);
        match tls {
            // The task of a connection is as large as the largest of what it may become.
            Some(tls) => Box::pin(self.decrypt(tls, stream, phases)).await,
            None => self.answer(stream, phases).await,
        }
    }

    /// Answers requests once the client has agreed on how the connection is encrypted.
    async fn decrypt(&self, tls: Arc<Tls>, stream: Progress<TcpStream>, mut phases: Phases) {
        let begun = tokio::select! {
            // No request is in progress yet.
            _ = phases.stopped(), if !self.once => return,
            () = self.permit.evicted() => return,
            begun = timeout(self.header_timeout, tls.acceptor().accept(stream)) => begun,
        };
        match begun {
            Ok(Ok(stream)) => self.answer(Box::new(stream), phases).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    /// Answers requests until the client or the server closes the connection.
    async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut phases: Phases,
    ) {
        let unread = Unread::default();
        let service = Watched {
            peer: self.peer,
            unread: unread.clone(),
            permit: Arc::clone(&self.permit),
            phases: phases.clone(),
            inner: TowerToHyperService::new(self.router.clone()),
        };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.header_timeout);
        http.keep_alive(!self.once).max_buf_size(BUFFER);
        let mut served = http.serve_connection(TokioIo::new(stream), service);
        let mut closing = false;
        let closed = loop {
            tokio::select! {
                served = poll_fn(|context| served.poll_without_shutdown(context)) => break served,
                _ = phases.stopped(), if !closing && !self.once => {
                    // A request whose head is incomplete is not in progress.
                    if !self.permit.was_used() {
                        return;
                    }
                }
                () = self.permit.evicted(), if !closing => {
                    if !self.permit.was_used() {
                        return;
                    }
                    // The current answer is finished, if that does not take long.
                    Pin::new(&mut served).graceful_shutdown();
                    let last = poll_fn(|context| served.poll_without_shutdown(context));
                    match timeout(CLOSING_TIME, last).await {
                        Ok(served) => break served,
                        Err(_) => return,
                    }
                }
            }
            closing = true;
            Pin::new(&mut served).graceful_shutdown();
        };
        let unread = match &closed {
            Ok(()) => unread.is_noted(),
            Err(error) => {
                tracing::debug!(%error, "a connection ended early");
                if !error.is_parse() {
                    return;
                }
                // What is no request was answered with that, and what follows it is not read either.
                true
            }
        };
        let stream = served.into_parts().io.into_inner();
        tokio::select! {
            () = closing::close(stream, unread) => {}
            () = self.permit.evicted() => {}
        }
    }
}

/// Adds the peer and the permit of the connection to each request, notes whether its body is read, marks the
/// connection as busy while a request is answered, and announces to the client with the answer if the server is
/// about to stop.
struct Watched<S> {
    peer: Peer,
    unread: Unread,
    permit: Arc<Permit>,
    phases: Phases,
    inner: S,
}

impl<S> Service<Request<Incoming>> for Watched<S>
where
    S: Service<Request<Received<Incoming>>, Response = Response<Body>>,
    S::Future: Send + 'static,
    S::Error: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        request.extensions_mut().insert(Arc::downgrade(&self.permit));
        let busy = Busy::new(&self.permit);
        let phases = self.phases.clone();
        let request = request.map(|body| Received::new(body, &self.unread));
        let answering = self.inner.call(request);
        Box::pin(async move {
            let mut answer = answering.await?;
            // The router gives every answer to `HEAD` a length, also one that has no body at all.
            if matches!(answer.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
                answer.headers_mut().remove(header::CONTENT_LENGTH);
            }
            if !phases.is_serving() {
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(header::CONNECTION, close);
            }
            Ok(match answer.extensions().get::<Streamed>() {
                Some(Streamed) => answer.map(|body| Body::new(Sending { body, _busy: busy })),
                None => answer,
            })
        })
    }
}

/// Marks a connection as busy until it is dropped.
struct Busy(Arc<Permit>);

impl Busy {
    fn new(permit: &Arc<Permit>) -> Self {
        permit.mark_busy();
        Self(Arc::clone(permit))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.mark_idle();
    }
}

/// A body in pieces, whose connection is busy until the last one is sent.
struct Sending {
    body: Body,
    _busy: Busy,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The local address of a listener.
pub(crate) fn address(listener: &TcpListener) -> Result<SocketAddr, Error> {
    let address = listener.local_addr();
    address.map_err(|error| Error::Invalid(format!("the listener has no address: {error}")))
}
