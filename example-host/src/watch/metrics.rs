//! What can be measured of a site: counts and times that are kept while it serves, and what the
//! database and the extensions say when they are asked. As text in the form of OpenMetrics, which
//! Prometheus reads. Who may ask, and where, is the server's.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use host_interface::{Description, LoadedPlugin, Metric, MetricKind, Sample};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::base::error::one_line;
use crate::site::Site;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// How long each extension may take to say what it measures.
const TIME: Duration = Duration::from_secs(2);

/// Upper bounds of the histogram of durations, in seconds.
const DURATIONS: [f64; 13] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// What is counted and timed while a site is open.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<OfRoute, Histogram>,
    in_flight: Gauge,
    connections: Gauge,
    mails: Family<OfMails, Counter>,
    audited: Family<OfAudit, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRoute {
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfMails {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfAudit {
    result: &'static str,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("host");
        let requests = Family::default();
        let durations =
            Family::new_with_constructor((|| Histogram::new(DURATIONS)) as fn() -> Histogram);
        let (in_flight, connections) = (Gauge::default(), Gauge::default());
        let mails = Family::<OfMails, Counter>::default();
        // A count of zero is there from the start, so that its first step can be seen.
        for result in ["sent", "failed", "refused"] {
            drop(mails.get_or_create(&OfMails { result }));
        }
        let audited = Family::<OfAudit, Counter>::default();
        for result in ["written", "lost"] {
            drop(audited.get_or_create(&OfAudit { result }));
        }
        registry.register("http_requests", "Requests that were answered", requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "How long requests took, from their headers to the answer",
            durations.clone(),
        );
        registry.register(
            "http_requests_in_flight",
            "Requests that are being answered",
            in_flight.clone(),
        );
        registry.register("http_connections", "Connections that are open", connections.clone());
        registry.register("mails", "Mails that extensions asked for", mails.clone());
        registry.register("audit_entries", "Changes for the audit trail", audited.clone());
        Self { registry, requests, durations, in_flight, connections, mails, audited }
    }

    /// A request has come in; it is under way until the guard is dropped.
    pub(crate) fn request(&self) -> Held {
        Held::new(&self.in_flight)
    }

    /// A connection is open until the guard is dropped.
    pub(crate) fn connection(&self) -> Held {
        Held::new(&self.connections)
    }

    /// A request to the route of this name has been answered.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        // Without a route there is nothing to name but this: a path is whatever a client sends.
        let route = if route.is_empty() { "none" } else { route }.to_owned();
        self.durations.get_or_create(&OfRoute { route: route.clone() }).observe(took.as_secs_f64());
        self.requests.get_or_create(&Answered { route, status }).inc();
    }

    /// A mail has been sent, or not: for now, or for ever.
    pub(crate) fn mail(&self, result: &'static str) {
        self.mails.get_or_create(&OfMails { result }).inc();
    }

    /// This many changes are in the audit trail, or never will be.
    pub(crate) fn audited(&self, result: &'static str, count: u64) {
        self.audited.get_or_create(&OfAudit { result }).inc_by(count);
    }

    /// Everything that is known of the site now.
    pub(crate) async fn text(&self, site: &Site) -> Result<String, fmt::Error> {
        let mut readings = Readings::default();
        readings.add("host", database(site));
        for (extension, metrics) in extensions(site).await {
            readings.add(&extension.replace('-', "_"), metrics);
        }
        let mut now = Registry::default();
        now.register_collector(Box::new(readings));
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &now)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

/// Counts as one as long as it is there.
#[derive(Debug)]
pub(crate) struct Held(Gauge);

impl Held {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// The use of the host's own database.
fn database(site: &Site) -> Vec<Metric> {
    let mut connections =
        Metric::gauge("database_connections", "Connections to the host's database");
    for (pool, busy, idle) in site.state().database().connections() {
        connections = connections
            .value_of([("pool", pool), ("state", "busy")], f64::from(busy))
            .value_of([("pool", pool), ("state", "idle")], f64::from(idle));
    }
    vec![connections]
}

/// What the extensions in use measure, by their names. One that fails is left out.
async fn extensions(site: &Site) -> Vec<(String, Vec<Metric>)> {
    let enabled = |of: &Description| site.state().snapshot().enabled(&of.name);
    let asked: Vec<_> = site
        .plugins()
        .filter(|(description, _)| enabled(description))
        .map(|(description, plugin)| {
            let plugin = Arc::clone(plugin);
            (description.name.clone(), tokio::spawn(async move { ask(&plugin).await }))
        })
        .collect();
    let mut answered = Vec::new();
    for (extension, asking) in asked {
        match asking.await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(metrics) => answered.push((extension, metrics)),
            Err(error) => tracing::warn!(extension, error, "does not say what it measures"),
        }
    }
    answered
}

async fn ask(plugin: &LoadedPlugin) -> Result<Vec<Metric>, String> {
    match tokio::time::timeout(TIME, plugin.metrics()).await {
        Ok(metrics) => metrics.map_err(|error| error.to_string()),
        Err(_) => Err("took too long".to_owned()),
    }
}

/// Values as they were when they were asked for. No name stands twice, and none that the form does
/// not permit: one bad line would make the whole text unreadable.
#[derive(Debug, Default)]
struct Readings {
    names: HashSet<String>,
    metrics: Vec<Metric>,
}

impl Readings {
    fn add(&mut self, prefix: &str, metrics: impl IntoIterator<Item = Metric>) {
        for mut metric in metrics {
            let name = metric.name.strip_suffix("_total").unwrap_or(&metric.name);
            let name = format!("{prefix}_{name}");
            let labels = metric.samples.iter().flat_map(|sample| &sample.labels);
            let well_formed = is_name(&name) && labels.clone().all(|(label, _)| is_name(label));
            if !well_formed || !self.names.insert(name.clone()) {
                tracing::debug!(name, "is no name of a metric, or one that is taken");
                continue;
            }
            metric.name = name;
            self.metrics.push(metric);
        }
    }
}

fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.bytes().all(fits) && text.starts_with(|first: char| first.is_ascii_lowercase())
}

impl Collector for Readings {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for Metric { name, description, kind, samples, .. } in &self.metrics {
            let kind_of_text = match kind {
                MetricKind::Counter => MetricType::Counter,
                MetricKind::Gauge => MetricType::Gauge,
            };
            let help = one_line(description);
            let mut all = encoder.encode_descriptor(name, &help, None, kind_of_text)?;
            for Sample { labels, value, .. } in samples {
                match labels.as_slice() {
                    [] => encode(&mut all, *kind, *value)?,
                    _ => encode(&mut all.encode_family(labels)?, *kind, *value)?,
                }
            }
        }
        Ok(())
    }
}

fn encode(metric: &mut MetricEncoder<'_>, kind: MetricKind, value: f64) -> Result<(), fmt::Error> {
    match kind {
        MetricKind::Counter => metric.encode_counter::<NoLabelSet, f64, u64>(&value, None),
        MetricKind::Gauge => metric.encode_gauge(&value),
    }
}
