//! Connections: takes them, bounds what they may cost, and ends them without cutting a request
//! off. What is answered on them is a router's.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use ipnet::IpNet;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::base::error::Error;
use crate::watch::metrics::{Guard, Metrics};

use super::client::{self, Peer};
use super::progress::Progress;
use super::room::{Guest, Room};
use super::tls::Tls;

/// How many connections may be open beside those for which there is room, to be told so.
const OUTSIDE: usize = 16;
/// How many of them one client may have.
const OUTSIDE_OF_ONE: usize = 4;
/// How long each step of such a connection may take.
const OUTSIDE_TIME: Duration = Duration::from_secs(2);

/// How many bytes of a request are kept until its head is whole. Who does not come to its end has as
/// much for each connection.
const BUFFER: usize = 64 * 1024;

/// How long a connection that makes room for another may take over its last answer.
const LEAVING_TIME: Duration = Duration::from_secs(2);

/// What is done with connections.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) router: Router,
    /// What answers those for whom there is no room. Without it they are closed.
    pub(crate) full: Option<Router>,
    pub(crate) tls: Option<Arc<Tls>>,
    /// How long the headers of a request may take, and before them the beginning of TLS.
    pub(crate) header_timeout: Duration,
    /// How long the other end may take nothing of what it is sent.
    pub(crate) stall_time: Duration,
    /// How many there may be.
    pub(crate) limit: usize,
    /// How many one client may have.
    pub(crate) limit_of_one: usize,
    /// The proxies that may have more.
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// Where they are counted.
    pub(crate) metrics: Option<Arc<Metrics>>,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    /// Until when requests in flight may finish.
    pub(crate) patience: Instant,
    /// Until when those that did not are waited for that have been cut off.
    pub(crate) end: Instant,
}

/// The word to stop, when there is one.
pub(crate) type Stopping = watch::Receiver<Option<Stop>>;

impl Connections {
    /// Takes connections until it is stopped, then waits for the requests in flight.
    pub(crate) async fn accept(self, listener: TcpListener, mut stopping: Stopping) {
        let room = Room::new(self.limit, self.limit_of_one);
        let outside = Room::new(OUTSIDE, OUTSIDE_OF_ONE);
        let (cut, cutting) = watch::channel(());
        // Each connection has a sender, so that the receiver ends with the last of them.
        let (open, mut all_closed) = mpsc::channel::<Infallible>(1);
        let stop = loop {
            let accepted = tokio::select! {
                stop = stopping.wait_for(Option::is_some) => break stop.ok().and_then(|stop| *stop),
                accepted = listener.accept() => accepted,
            };
            let (stream, address) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: connections that end give some back.
                    tracing::warn!(%error, "a connection was not accepted");
                    sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let peer = Peer(address.ip());
            let proxy = client::is_known(peer, &self.trusted_proxies);
            let Some(connection) = self.place(&room, &outside, peer, proxy) else {
                tracing::debug!(%address, "the limit of connections is reached");
                continue;
            };
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "TCP_NODELAY could not be set for a connection");
            }
            let counted: Option<Guard> = self.metrics.as_ref().map(|metrics| metrics.connection());
            let (stopping, mut cutting) = (stopping.clone(), cutting.clone());
            let (tls, open) = (self.tls.clone(), open.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = connection.serve(tls, stream, stopping) => {}
                    _ = cutting.changed() => {}
                }
                drop((counted, open));
            });
        };
        drop((listener, open));
        let now = Instant::now();
        let Stop { patience, end } = stop.unwrap_or(Stop { patience: now, end: now });
        if timeout_at(patience, all_closed.recv()).await.is_err() {
            tracing::warn!("requests that took too long to finish were aborted");
        }
        // Dropping the sender ends the connections that are left.
        drop(cut);
        if timeout_at(end, all_closed.recv()).await.is_err() {
            tracing::warn!("a request could not be aborted");
        }
    }

    /// What becomes of a new connection.
    fn place(
        &self,
        room: &Arc<Room>,
        outside: &Arc<Room>,
        peer: Peer,
        proxy: bool,
    ) -> Option<Connection> {
        let connection = |guest, router: &Router, outside| Connection {
            peer,
            guest: Arc::new(guest),
            router: router.clone(),
            outside,
            header_timeout: if outside { OUTSIDE_TIME } else { self.header_timeout },
            stall_time: if outside { OUTSIDE_TIME } else { self.stall_time },
        };
        if let Some(guest) = room.enter(peer.0, proxy) {
            return Some(connection(guest, &self.router, false));
        }
        let full = self.full.as_ref()?;
        Some(connection(outside.enter(peer.0, false)?, full, true))
    }
}

/// A connection that has been taken.
struct Connection {
    peer: Peer,
    guest: Arc<Guest>,
    router: Router,
    /// Whether there was no room for it, so that it is closed after one answer.
    outside: bool,
    header_timeout: Duration,
    stall_time: Duration,
}

impl Connection {
    async fn serve(&self, tls: Option<Arc<Tls>>, stream: TcpStream, mut stopping: Stopping) {
        let stream = Progress::within(self.stall_time, stream);
        let Some(tls) = tls else { return self.answer(stream, stopping).await };
        let begun = tokio::select! {
            // Nothing is in flight yet.
            () = told(&mut stopping) => return,
            () = self.guest.has_to_leave() => return,
            begun = timeout(self.header_timeout, tls.acceptor().accept(stream)) => begun,
        };
        match begun {
            Ok(Ok(stream)) => self.answer(stream, stopping).await,
            Ok(Err(error)) => tracing::debug!(%error, "a TLS handshake failed"),
            Err(_) => tracing::debug!("a TLS handshake took too long"),
        }
    }

    /// Answers requests until the other end has had enough, or this one.
    async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        mut stopping: Stopping,
    ) {
        let service = Watched {
            peer: self.peer,
            guest: Arc::clone(&self.guest),
            inner: TowerToHyperService::new(self.router.clone()),
        };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.header_timeout);
        http.keep_alive(!self.outside).max_buf_size(BUFFER);
        let mut served = pin!(http.serve_connection(TokioIo::new(stream), service));
        let mut closing = false;
        let closed = loop {
            tokio::select! {
                served = served.as_mut() => break served,
                () = told(&mut stopping), if !closing => {
                    // What has only been begun to be asked is not in flight.
                    if !self.guest.has_asked() {
                        return;
                    }
                }
                () = self.guest.has_to_leave(), if !closing => {
                    if !self.guest.has_asked() {
                        return;
                    }
                    // An answer that is on its way is finished, if that does not take long.
                    served.as_mut().graceful_shutdown();
                    match timeout(LEAVING_TIME, served.as_mut()).await {
                        Ok(served) => break served,
                        Err(_) => return,
                    }
                }
            }
            closing = true;
            served.as_mut().graceful_shutdown();
        };
        if let Err(error) = closed {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// Waits for the word to stop.
async fn told(stopping: &mut Stopping) {
    // Nobody is left who would say it, which is as good.
    let _ = stopping.wait_for(Option::is_some).await;
}

/// Tells each request where it comes from, and the room whether there is one.
struct Watched<S> {
    peer: Peer,
    guest: Arc<Guest>,
    inner: S,
}

impl<S> Service<Request<Incoming>> for Watched<S>
where
    S: Service<Request<Incoming>>,
    S::Future: Send + 'static,
    S::Response: Send,
    S::Error: Send,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.guest.is_busy();
        let guest = Arc::clone(&self.guest);
        let answering = self.inner.call(request);
        Box::pin(async move {
            let answered = answering.await;
            guest.is_idle();
            answered
        })
    }
}

/// The address that a listener has got.
pub(crate) fn address(listener: &TcpListener) -> Result<SocketAddr, Error> {
    let address = listener.local_addr();
    address.map_err(|error| Error::Invalid(format!("the listener has no address: {error}")))
}
