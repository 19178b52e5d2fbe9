//! What can be measured of a site: counts and times that are kept while it serves, as text in the form
//! of OpenMetrics, which Prometheus reads. Who may ask, and what else is read then, is the server's.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

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
        registry.register("http_requests", "Requests answered", requests.clone());
        registry.register(
            "http_request_duration_seconds",
            "Duration of requests, from their headers to the answer",
            durations.clone(),
        );
        registry.register("http_requests_in_flight", "Requests in progress", in_flight.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("mails", "Mails sent for extensions", mails.clone());
        registry.register("audit_entries", "Changes for the audit trail", audited.clone());
        Self { registry, requests, durations, in_flight, connections, mails, audited }
    }

    /// A request has come in; it is under way until the guard is dropped.
    pub(crate) fn request(&self) -> Guard {
        Guard::new(&self.in_flight)
    }

    /// A connection is open until the guard is dropped.
    pub(crate) fn connection(&self) -> Guard {
        Guard::new(&self.connections)
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

    /// All of it as text, with what has just been read.
    pub(crate) fn text(&self, readings: impl Collector + 'static) -> Result<String, fmt::Error> {
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
pub(crate) struct Guard(Gauge);

impl Guard {
    fn new(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.dec();
    }
}
