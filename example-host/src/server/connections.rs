//! Connections: takes them, bounds what they may cost, and ends them without cutting a request
//! off. What is answered on them is a router's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::timeout;

use crate::metrics::{Held, Metrics};

use super::client::Peer;
use super::tls::Tls;

/// How long requests in flight may take to finish when the server stops.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// What is done with connections.
#[derive(Clone)]
pub(super) struct Connections {
    pub(super) router: Router,
    pub(super) tls: Option<Arc<Tls>>,
    /// How long the headers of a request may take, and before them the beginning of TLS.
    pub(super) header_timeout: Duration,
    /// How many there may be; more wait.
    pub(super) limit: usize,
    /// Where they are counted.
    pub(super) metrics: Option<Arc<Metrics>>,
}

impl Connections {
    /// Takes connections until it is told to stop, then waits for the requests in flight.
    pub(super) async fn accept(self, listener: TcpListener, mut stopping: watch::Receiver<bool>) {
        let permits = Arc::new(Semaphore::new(self.limit));
        let graceful = GracefulShutdown::new();
        let (cut, cutting) = watch::channel(());
        loop {
            let accepted = tokio::select! {
                _ = stopping.wait_for(|stop| *stop) => break,
                accepted = take(&listener, &permits) => accepted,
            };
            let (stream, peer, permit) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, most likely: connections that end give some back.
                    tracing::warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "a connection keeps its delay");
            }
            let open: Option<Held> = self.metrics.as_ref().map(|metrics| metrics.connection());
            let (connections, watcher) = (self.clone(), graceful.watcher());
            let (stopping, mut cutting) = (stopping.clone(), cutting.clone());
            tokio::spawn(async move {
                tokio::select! {
                    () = connections.serve(stream, peer, watcher, stopping) => {}
                    _ = cutting.changed() => {}
                }
                drop((open, permit));
            });
        }
        drop(listener);
        if timeout(DRAIN_TIME, graceful.shutdown()).await.is_err() {
            tracing::warn!("requests that took too long to finish were cut off");
        }
        // Dropping the sender ends the connections that are left; their permits come back when
        // the requests on them have been dropped.
        drop(cut);
        let all = u32::try_from(self.limit).unwrap_or(u32::MAX);
        if timeout(Duration::from_secs(1), permits.acquire_many(all)).await.is_err() {
            tracing::warn!("a request could not be dropped");
        }
    }

    async fn serve(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        watcher: Watcher,
        mut stopping: watch::Receiver<bool>,
    ) {
        let peer = Peer(peer.ip());
        let Some(tls) = &self.tls else {
            return self.answer(stream, peer, watcher).await;
        };
        let begun = tokio::select! {
            // Nothing is in flight yet.
            _ = stopping.wait_for(|stop| *stop) => return,
            begun = timeout(self.header_timeout, tls.acceptor().accept(stream)) => begun,
        };
        match begun {
            Ok(Ok(stream)) => self.answer(stream, peer, watcher).await,
            Ok(Err(error)) => tracing::debug!(%error, "a connection did not get as far as TLS"),
            Err(_) => tracing::debug!("a connection took too long to begin TLS"),
        }
    }

    async fn answer(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Peer,
        watcher: Watcher,
    ) {
        let service = From { peer, inner: TowerToHyperService::new(self.router.clone()) };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.header_timeout);
        let served = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await;
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

/// A connection, as soon as there may be another one.
async fn take(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((stream, peer, permit))
}

/// Tells each request where it comes from.
struct From<S> {
    peer: Peer,
    inner: S,
}

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for From<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(self.peer);
        self.inner.call(request)
    }
}
