//! The HTTP server: serves a site until it is told to stop. How connections are taken and what is
//! answered stands in the files beside this one.

mod access_log;
mod api;
mod body;
mod checks;
mod client;
mod connections;
mod health;
mod notes;
mod pages;
mod problem;
mod request_id;
mod revalidation;
mod routing;
mod scrape;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, HeaderValue, Method, header};
use host_interface::{Description, LoadedPlugin};
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::SizeAbove;
use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::admin::Administration;
use crate::audit::{self, Writing};
use crate::config::ServerSettings;
use crate::error::Error;
use crate::site::Site;
use crate::tokens::Usage;

use self::connections::Connections;
use self::request_id::RequestIds;
use self::routing::Routes;
use self::tls::Tls;

pub(crate) use self::api::Api;
pub(crate) use self::health::failing;
pub use self::scrape::MetricsServer;
pub use self::tls::TlsError;

/// An answer of fewer bytes fits into a packet or two, compressed or not.
const WORTH_COMPRESSING: u64 = 1024;

/// A site that is being served.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    site: Site,
    usage: Arc<Usage>,
    audit: Writing,
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
        // Nothing is answered any more, so nothing more is noted.
        self.audit.finish().await;
        self.following.abort();
        // A database that does not answer any more is not waited for: it is only about minutes.
        let written = self.usage.write(self.site.state().database());
        if tokio::time::timeout(Duration::from_secs(1), written).await.is_err() {
            tracing::debug!("which tokens were used was not written down");
        }
        self.site.close().await;
    }
}

impl Site {
    /// Serves the site on a listener until it is told to stop.
    ///
    /// # Errors
    /// When the routes of the plugins contradict each other, the certificate cannot be used, or
    /// the listener is of no use.
    pub fn serve(
        &self,
        listener: TcpListener,
        settings: &ServerSettings,
    ) -> Result<Running, Error> {
        let addr = address(&listener)?;
        let tls = settings.tls.as_ref().map(Tls::open).transpose()?.map(Arc::new);
        let usage = Arc::new(Usage::default());
        let (audit, writing) = audit::begin(self.state(), self.metrics(), settings.audit_entries);
        let audit = Arc::new(audit);
        let api = Arc::new(Api {
            site: self.clone(),
            routes: Routes::new(self.plugins())?,
            usage: Arc::clone(&usage),
            audit: Arc::clone(&audit),
            request_timeout: settings.request_timeout,
            body_limit: settings.body_limit,
        });
        let server = Arc::new(Server {
            administration: Administration::new(self.clone(), Arc::clone(&api), audit)?,
            api,
            encrypted: settings.tls.is_some(),
            trusted_proxies: settings.trusted_proxies.clone(),
            ids: RequestIds::new()?,
        });
        let connections = Connections {
            router: router(server, settings)?,
            tls: tls.clone(),
            header_timeout: settings.header_timeout,
            limit: settings.connections,
            metrics: Some(Arc::clone(self.metrics())),
        };
        for (description, plugin) in self.plugins() {
            plugin.start().map_err(|source| Error::Plugin {
                plugin: description.name.clone(),
                step: "start",
                source,
            })?;
        }
        let (stop, stopping) = watch::channel(false);
        let accepting = tokio::spawn(connections.accept(listener, stopping));
        let state = Arc::clone(self.state());
        let uses = Arc::clone(&usage);
        let following = tokio::spawn(async move {
            let files = async {
                match &tls {
                    Some(tls) => tls.follow().await,
                    None => std::future::pending().await,
                }
            };
            tokio::join!(state.follow(), files, uses.follow(state.database()));
        });
        tracing::info!("listening on {}://{addr}", settings.scheme());
        Ok(Running { addr, site: self.clone(), usage, audit: writing, stop, accepting, following })
    }
}

/// Whether a certificate and its key can be used, before anything has been done with them.
pub(crate) fn check_tls(settings: &ServerSettings) -> Result<(), Error> {
    settings.tls.as_ref().map(Tls::open).transpose()?;
    Ok(())
}

/// The address that a listener has got.
fn address(listener: &TcpListener) -> Result<SocketAddr, Error> {
    let address = listener.local_addr();
    address.map_err(|error| Error::Invalid(format!("the listener has no address: {error}")))
}

/// Refuses plugins whose routes contradict each other, before anything has been done for them.
pub(crate) fn check_routes<'a>(
    plugins: impl Iterator<Item = (&'a Description, &'a Arc<LoadedPlugin>)>,
) -> Result<(), Error> {
    Routes::new(plugins).map(drop)
}

/// What every request needs.
struct Server {
    api: Arc<Api>,
    administration: Administration,
    /// Whether connections to this server are encrypted.
    encrypted: bool,
    trusted_proxies: Vec<IpNet>,
    ids: RequestIds,
}

fn router(server: Arc<Server>, settings: &ServerSettings) -> Result<Router, Error> {
    let mut router = Router::new().fallback(api::answer).with_state(Arc::clone(&server));
    if !settings.cors_origins.is_empty() {
        router = router.layer(cors(&settings.cors_origins)?);
    }
    // Around everything, so that preflights are logged and have an id too.
    let router = router.layer(axum::middleware::from_fn_with_state(server, access_log::observe));
    // Outermost, so that the log tells how large an answer is, whoever reads it.
    Ok(router.layer(CompressionLayer::new().compress_when(SizeAbove::new(WORTH_COMPRESSING))))
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
        .allow_headers([
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::ACCEPT,
            header::IF_NONE_MATCH,
        ])
        .expose_headers([
            HeaderName::from_static(request_id::HEADER),
            header::LOCATION,
            header::ETAG,
        ]))
}
