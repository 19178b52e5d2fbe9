//! Serving a site until a signal ends the program: addresses, and the output of the first start.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::admin;
use crate::base::settings::Settings;
use crate::base::tls_files::TlsFiles;
use crate::base::variables::HOST_LISTEN;
use crate::server::{self, MetricsServer, Running};
use crate::site::{BASE_PATH, Site, quickstart};

use super::arguments::ServeArgs;
use super::log::Log;
use super::progress::Bar;
use super::service::{self, Sockets};
use super::signals::{Asked, Signals};
use super::terminal::{Failure, print};

pub(super) async fn serve(
    site: &Site,
    args: ServeArgs,
    settings: &Settings,
    log: &Log,
    mut sockets: Sockets,
) -> Result<(), Failure> {
    let signals = Signals::new()?;
    let mut settings = settings.clone();
    if args.tls_cert.is_some() || args.tls_key.is_some() {
        settings.server.tls = TlsFiles::both(args.tls_cert, args.tls_key)?;
    }
    settings.metrics = args.metrics.or(settings.metrics);
    let listener = sockets.for_site(&args.listen).await?;
    let metrics = serve_metrics(site, &settings, &mut sockets).await?;
    let running = site.serve(listener, &settings.server)?;
    until_signalled(signals, running, metrics, log).await
}

/// Serves the metrics, if an address is set for them.
async fn serve_metrics(
    site: &Site,
    settings: &Settings,
    sockets: &mut Sockets,
) -> Result<Option<MetricsServer>, Failure> {
    let listener = sockets.for_metrics(settings.metrics.as_deref()).await?;
    Ok(listener.map(|listener| site.serve_metrics(listener)).transpose()?)
}

pub(super) async fn quick_start(
    site: &Site,
    settings: &Settings,
    log: &Log,
    mut sockets: Sockets,
) -> Result<(), Failure> {
    let listen = std::env::var("HOST_LISTEN").ok().filter(|listen| !listen.is_empty());
    // An address in use is reported before the demo data are filled in, not after.
    let listener = sockets.for_site(listen.as_deref().unwrap_or(HOST_LISTEN.default)).await?;
    let metrics = serve_metrics(site, settings, &mut sockets).await?;
    server::check_tls(&settings.server)?;
    let first = quickstart::prepare(site, Bar::new).await?;
    let signals = Signals::new()?;
    let running = site.serve(listener, &settings.server)?;
    let address = reachable(running.addr());
    let scheme = settings.server.scheme();
    let mut lines = vec![format!("Serving at {scheme}://{address}")];
    if let Some(first) = first {
        lines.extend([
            String::new(),
            format!("Sign in at     {scheme}://{address}{}", admin::BASE),
            format!("Administrator  {}", first.username),
            format!("Password       {}", first.password),
            format!("API token      {}", first.token),
            String::new(),
        ]);
        let samples = site.state().descriptions().iter().filter(|of| !of.sample_path.is_empty());
        let samples = samples.map(|of| {
            format!(
                "curl -H 'Authorization: Bearer {}' -H 'Accept: {}' \
                 {scheme}://{address}{BASE_PATH}/{}",
                first.token, of.media_type, of.sample_path
            )
        });
        let samples: Vec<String> = samples.collect();
        if samples.is_empty() {
            lines.push("These are shown only once.".to_owned());
        } else {
            lines.push("These are shown only once. Try the API in another terminal:".to_owned());
            lines.push(String::new());
            lines.extend(samples);
        }
        lines.push(String::new());
    }
    // The site is served even if this cannot be printed.
    if let Err(error) = print(lines) {
        tracing::error!(%error, "the address could not be printed");
    }
    until_signalled(signals, running, metrics, log).await
}

/// An address that a client on this machine can use.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}

/// Serves until a signal, then stops gracefully; a second signal ends the program at once. The
/// metrics are served until the end. On SIGHUP the certificate and the filter of the log are read anew.
async fn until_signalled(
    mut signals: Signals,
    mut running: Running,
    metrics: Option<MetricsServer>,
    log: &Log,
) -> Result<(), Failure> {
    service::notify_ready();
    let failed = loop {
        tokio::select! {
            asked = signals.next() => match asked {
                Asked::Stop => break false,
                Asked::Reload => {
                    log.reload();
                    running.reload().await;
                }
            },
            () = running.failed() => break true,
        }
    };
    service::notify_stopping();
    tracing::info!("stopping; requests in progress are finished first");
    tokio::select! {
        () = running.shutdown() => {}
        () = signals.stop() => tracing::warn!("stopped immediately"),
    }
    drop(metrics);
    if failed { Err("the server failed; see the log".into()) } else { Ok(()) }
}
