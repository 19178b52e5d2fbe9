//! The HTTP server: takes connections, bounds what they may cost, and stops without cutting a
//! request off. What is answered stands in the files beside this one.

mod access_log;
mod api;
mod body;
mod checks;
mod health;
mod problem;
mod request_id;
mod routing;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, Method, header};
use host_interface::{Description, LoadedPlugin};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::config::ServerSettings;
use crate::error::Error;
use crate::site::Site;

use self::request_id::RequestIds;
use self::routing::Routes;

/// How long requests in flight may take to finish when the server stops.
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// A site that is being served.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    site: Site,
    stop: watch::Sender<bool>,
    accepting: JoinHandle<()>,
    following: JoinHandle<()>,
}

impl Running {
    /// The address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Stops taking connections, lets requests in flight finish within ten seconds, then lets the
    /// plugins finish and closes the site.
    pub async fn shutdown(self) {
        // Only fails when the task has ended, which is what is asked for.
        let _ = self.stop.send(true);
        if let Err(error) = self.accepting.await {
            tracing::error!(%error, "the server did not stop in order");
        }
        self.following.abort();
        self.site.close().await;
    }
}

impl Site {
    /// Serves the site on a listener until it is told to stop.
    ///
    /// # Errors
    /// When the routes of the plugins contradict each other, or the listener is of no use.
    pub fn serve(
        &self,
        listener: TcpListener,
        settings: &ServerSettings,
    ) -> Result<Running, Error> {
        let addr = listener
            .local_addr()
            .map_err(|error| Error::Invalid(format!("the listener has no address: {error}")))?;
        let server = Arc::new(Server {
            routes: Routes::new(self.plugins())?,
            site: self.clone(),
            request_timeout: settings.request_timeout,
            body_limit: settings.body_limit,
            ids: RequestIds::new()?,
        });
        let router = router(server, settings)?;
        let (stop, stopping) = watch::channel(false);
        let accepting = tokio::spawn(accept(listener, router, settings.clone(), stopping));
        let state = Arc::clone(self.state());
        let following = tokio::spawn(async move { state.follow().await });
        tracing::info!("listening on http://{addr}");
        Ok(Running { addr, site: self.clone(), stop, accepting, following })
    }
}

/// Refuses plugins whose routes contradict each other, before anything has been done for them.
pub(crate) fn check_routes<'a>(
    plugins: impl Iterator<Item = (&'a Description, &'a Arc<LoadedPlugin>)>,
) -> Result<(), Error> {
    Routes::new(plugins).map(drop)
}

/// What every request needs.
struct Server {
    site: Site,
    routes: Routes,
    request_timeout: Duration,
    body_limit: usize,
    ids: RequestIds,
}

fn router(server: Arc<Server>, settings: &ServerSettings) -> Result<Router, Error> {
    let mut router = Router::new().fallback(api::answer).with_state(Arc::clone(&server));
    if !settings.cors_origins.is_empty() {
        router = router.layer(cors(&settings.cors_origins)?);
    }
    // Outermost, so that preflights are logged and have an id too.
    Ok(router.layer(axum::middleware::from_fn_with_state(server, access_log::observe)))
}

fn cors(origins: &[String]) -> Result<CorsLayer, Error> {
    let origins = origins
        .iter()
        .map(|origin| {
            HeaderValue::from_str(origin)
                .map_err(|_| Error::Invalid(format!("{origin:?} is no origin")))
        })
        .collect::<Result<Vec<HeaderValue>, Error>>()?;
    Ok(CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE, header::ACCEPT])
        .expose_headers([HeaderName::from_static(request_id::HEADER), header::LOCATION]))
}

/// Takes connections until it is told to stop, then waits for the requests in flight.
async fn accept(
    listener: TcpListener,
    router: Router,
    settings: ServerSettings,
    mut stopping: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(settings.header_timeout);
    let permits = Arc::new(Semaphore::new(settings.connections));
    let graceful = GracefulShutdown::new();
    let (cut, cutting) = watch::channel(());
    loop {
        let accepted = tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => break,
            accepted = take(&listener, &permits) => accepted,
        };
        let (stream, permit) = match accepted {
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
        let service = TowerToHyperService::new(router.clone());
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        let mut cutting = cutting.clone();
        tokio::spawn(async move {
            tokio::select! {
                served = connection => if let Err(error) = served {
                    tracing::debug!(%error, "a connection ended early");
                },
                _ = cutting.changed() => {}
            }
            drop(permit);
        });
    }
    drop(listener);
    if tokio::time::timeout(DRAIN_TIME, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests that took too long to finish were cut off");
    }
    // Dropping the sender ends the connections that are left; their permits come back when the
    // requests on them have been dropped.
    drop(cut);
    let connections = u32::try_from(settings.connections).unwrap_or(u32::MAX);
    let all = tokio::time::timeout(Duration::from_secs(1), permits.acquire_many(connections));
    if all.await.is_err() {
        tracing::warn!("a request could not be dropped");
    }
}

/// A connection, as soon as there may be another one.
async fn take(
    listener: &TcpListener,
    permits: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, tokio::sync::OwnedSemaphorePermit)> {
    let permit = Arc::clone(permits).acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, permit))
}
