//! The HTTP server: serves a site until it is stopped.

mod access_log;
mod administration;
mod arrivals;
mod client;
mod closing;
mod connections;
mod context;
mod health;
mod host_header;
mod limits;
mod phase;
mod progress;
mod readings;
mod router;
mod scrape;
mod tasks;
mod tls;
mod waits;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use host_interface::Event;
use host_service::{Changes, Limits, RequestIds};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::admin::Administration;
use crate::api::gate::{Api, Gate};
use crate::api::notes::Notes;
use crate::base::error::Error;
use crate::base::settings::ServerSettings;
use crate::identity::rates::Rates;
use crate::identity::uses::Uses;
use crate::site::Site;
use crate::site::jobs::Runner;
use crate::watch::audit::{self, Bounds, Writing};

use self::arrivals::Arrivals;
use self::connections::{Connections, address};
use self::context::Context;
use self::health::Watch;
use self::phase::{Phase, Phases, Stop};
use self::tasks::Background;
use self::tls::Tls;

pub use self::scrape::MetricsServer;

/// A site that is being served.
#[derive(Debug)]
pub struct Running {
    addr: SocketAddr,
    site: Site,
    context: Arc<Context>,
    audit: Writing,
    drain_time: Duration,
    stop_timeout: Duration,
    phase: watch::Sender<Phase>,
    /// `None` once the task is known to have ended.
    accepting: Option<JoinHandle<()>>,
    tls: Option<Arc<Tls>>,
    jobs: Arc<Runner>,
    running_jobs: Background,
    following: [Background; 5],
}

impl Running {
    /// The address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Waits until the server ends without having been stopped, which only a bug can cause.
    pub async fn failed(&mut self) {
        match &mut self.accepting {
            Some(accepting) => {
                if let Err(error) = accepting.await {
                    tracing::error!(%error, "no more connections are accepted");
                }
                self.accepting = None;
            }
            None => std::future::pending().await,
        }
    }

    /// Reads the certificate and its key anew at once; new connections use them.
    pub async fn reload(&self) {
        if let Some(tls) = &self.tls {
            tls.reload().await;
        }
    }

    /// Drains the server, if there is a time for that. Then stops accepting connections, waits for
    /// requests, changes and jobs in progress, shuts the plugins down and closes the site, which
    /// together takes no longer than the time limit for a stop.
    ///
    /// Each step has a deadline within that time; the next step also gets the time that is left of
    /// it.
    pub async fn shutdown(self) {
        // Nobody waits any more, and no more jobs are begun.
        self.context.api.grant_no_waits();
        drop(self.running_jobs);
        // Extensions answer those who wait, on connections that are to be closed by then.
        let end_waits = || self.site.state().events().report(&Event::Stopping);
        let drains = self.accepting.is_some() && !self.drain_time.is_zero();
        if drains {
            self.phase.send_replace(Phase::Draining);
            tracing::info!("draining for {} seconds", self.drain_time.as_secs());
            end_waits();
            sleep(self.drain_time).await;
        }
        let begun = Instant::now();
        let after = |percent: u32| begun + self.stop_timeout * percent / 100;
        let (finish_by, abort_by) = (after(50), after(55));
        self.phase.send_replace(Phase::Stopping(Stop { finish_by, abort_by }));
        if !drains {
            end_waits();
        }
        if let Some(accepting) = self.accepting {
            match timeout_at(after(60), accepting).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::error!(%error, "the server failed while stopping"),
                Err(_) => tracing::error!("the server did not stop in time"),
            }
        }
        // Changes continue after their clients have disconnected.
        let api = &self.context.api;
        tokio::join!(
            api.changes().finish(finish_by, abort_by),
            self.context.forms.finish(finish_by, abort_by),
            self.jobs.finish(finish_by, abort_by)
        );
        // No more requests are answered, so no more entries are queued.
        self.audit.finish(after(70)).await;
        drop(self.following);
        // This may be given up early: only the last few seconds of use would be lost.
        let written = api.access().uses.write(self.site.state().database());
        if timeout_at(after(72), written).await.is_err() {
            tracing::debug!("the last use of tokens could not be recorded");
        }
        self.site.close_by(after(90), after(95)).await;
    }
}

impl Site {
    /// Serves the site on a listener until it is stopped.
    ///
    /// # Errors
    /// When the routes of the plugins conflict, the certificate cannot be used, or the listener has
    /// no address.
    pub fn serve(
        &self,
        listener: TcpListener,
        settings: &ServerSettings,
    ) -> Result<Running, Error> {
        let addr = address(&listener)?;
        let tls = settings.tls.as_ref().map(Tls::open).transpose()?.map(Arc::new);
        let (phase, phases) = Phases::begin();
        let (uses, rates) = (Arc::new(Uses::default()), Arc::new(Rates::default()));
        let bounds = Bounds::new(settings.audit_days, settings.audit_entries);
        let (audit, writing) = audit::begin(self.state().database(), self.metrics(), bounds);
        let audit = Arc::new(audit);
        let gate = Arc::new(Gate {
            site: self.clone(),
            uses: Arc::clone(&uses),
            rates: Arc::clone(&rates),
            notes: Notes { site: self.clone(), audit: Arc::clone(&audit) },
        });
        let mut limits = Limits::default();
        limits.request_timeout = settings.request_timeout;
        limits.stall_timeout = settings.stall_timeout;
        limits.body_limit = settings.body_limit;
        limits.bulk_limit = settings.import_limit;
        limits.answer_limit = settings.answer_limit;
        limits.stream_above = settings.stream_above;
        limits.changes = settings.connections;
        limits.waiters = settings.waiters;
        let api = Api::new(gate, self.served().cloned(), limits)?;
        let context = Arc::new(Context {
            administration: Administration::new(self.clone(), api.clone(), audit, settings)?,
            api,
            arrivals: Arrivals::default(),
            forms: Changes::new(settings.connections),
            health: Watch::default(),
            phases: phases.clone(),
            encrypted: settings.tls.is_some(),
            strict_transport: router::strict_transport(settings)?,
            trusted_proxies: settings.trusted_proxies.clone(),
            ids: RequestIds::new()?,
        });
        let (router, above_limit) = router::routers(&context, settings)?;
        let connections = Connections {
            router,
            full: Some(above_limit),
            tls: tls.clone(),
            header_timeout: settings.header_timeout,
            stall_time: settings.stall_timeout,
            limit: settings.connections,
            limit_of_one: settings.connections_per_address,
            trusted_proxies: settings.trusted_proxies.clone(),
            metrics: Some(Arc::clone(self.metrics())),
        };
        context.api.start()?;
        let jobs = Runner::new(self)?;
        let state = Arc::clone(self.state());
        let accepting = tokio::spawn(async move {
            // Installing or filling the site may have taken minutes since its state was read.
            state.look_again().await;
            connections.accept(listener, phases).await;
        });
        let state = Arc::clone(self.state());
        let following = [
            Background::begin("follow changes", state, |state| async move {
                state.follow().await;
            }),
            Background::begin("follow the certificate", tls.clone(), |files| async move {
                if let Some(files) = files {
                    files.follow().await;
                }
            }),
            Background::begin(
                "record the last use of tokens",
                (uses, self.clone()),
                |(uses, site)| async move { uses.follow(site.state().database()).await },
            ),
            Background::begin(
                "exchange the rates of tokens",
                (rates, self.clone()),
                |(rates, site)| async move { rates.follow(site.state().database()).await },
            ),
            Background::begin("remind users of tokens", self.clone(), |site| async move {
                site.remind().await;
            }),
        ];
        tracing::info!("listening on {}://{addr}", settings.scheme());
        Ok(Running {
            addr,
            site: self.clone(),
            context,
            audit: writing,
            drain_time: settings.drain_time,
            stop_timeout: settings.stop_timeout,
            phase,
            accepting: Some(accepting),
            tls,
            running_jobs: Background::begin("run jobs", Arc::clone(&jobs), Runner::follow),
            jobs,
            following,
        })
    }
}

/// Checks that the certificate and its key can be used, before the site is filled.
pub(crate) fn check_tls(settings: &ServerSettings) -> Result<(), Error> {
    settings.tls.as_ref().map(Tls::open).transpose()?;
    Ok(())
}
