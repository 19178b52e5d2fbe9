//! The metrics of a site: counters and durations, as text in the OpenMetrics format, which
//! Prometheus reads.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use host_interface::undelivered;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the histogram of durations, in seconds.
const DURATIONS: [f64; 13] =
    [0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// What comes of requests to other sites: an answer, the reasons why there is none, and why nothing was sent.
const DELIVERIES: [&str; 9] = [
    "accepted",
    "rejected",
    undelivered::DNS,
    undelivered::ADDRESS,
    undelivered::CONNECT,
    undelivered::TLS,
    undelivered::TIMEOUT,
    "refused",
    "busy",
];

/// The counters and histograms of an open site.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<OfRoute, Histogram>,
    in_flight: Gauge,
    connections: Gauge,
    waiting: Gauge,
    mails: Family<OfResult, Counter>,
    audited: Family<OfResult, Counter>,
    jobs: Family<OfRuns, Counter>,
    last_runs: Family<OfJob, Gauge<f64, AtomicU64>>,
    deliveries: Family<OfResult, Counter>,
    delivery_durations: Histogram,
    delivering: Gauge,
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
struct OfResult {
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRuns {
    extension: String,
    job: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfJob {
    extension: String,
    job: String,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("host");
        let all = &mut registry;
        let durations =
            Family::new_with_constructor((|| Histogram::new(DURATIONS)) as fn() -> Histogram);
        // In the order of the text.
        Self {
            requests: add(all, "http_requests", "Requests answered", Family::default()),
            durations: add(
                all,
                "http_request_duration_seconds",
                "Duration of requests that do not wait, from their headers to the answer",
                durations,
            ),
            in_flight: add(
                all,
                "http_requests_in_flight",
                "Requests in progress",
                Gauge::default(),
            ),
            connections: add(all, "http_connections", "Open connections", Gauge::default()),
            waiting: add(
                all,
                "http_requests_waiting",
                "Requests in progress that wait for something to answer",
                Gauge::default(),
            ),
            mails: add(
                all,
                "mails",
                "Mails sent for extensions",
                results(&["sent", "failed", "refused"]),
            ),
            audited: add(
                all,
                "audit_entries",
                "Changes for the audit trail",
                results(&["written", "lost"]),
            ),
            jobs: add(all, "job_runs", "Runs of jobs of extensions", Family::default()),
            last_runs: add(
                all,
                "job_last_run_seconds",
                "Duration of the last run of a job",
                Family::default(),
            ),
            deliveries: add(
                all,
                "deliveries",
                "Requests sent to other sites for extensions",
                results(&DELIVERIES),
            ),
            delivery_durations: add(
                all,
                "delivery_duration_seconds",
                "Duration of requests to other sites, from resolution to the end of the answer",
                Histogram::new(DURATIONS),
            ),
            delivering: add(
                all,
                "deliveries_in_flight",
                "Requests to other sites in progress",
                Gauge::default(),
            ),
            registry,
        }
    }

    /// Counts a request as in progress until the guard is dropped.
    pub(crate) fn request(&self) -> Guard {
        Guard::new(&self.in_flight)
    }

    /// Counts a connection as open until the guard is dropped.
    pub(crate) fn connection(&self) -> Guard {
        Guard::new(&self.connections)
    }

    /// Counts a request as waiting until the guard is dropped.
    pub(crate) fn waiting(&self) -> Guard {
        Guard::new(&self.waiting)
    }

    /// Counts an answered request by the name of its route. There is no duration of one that waited:
    /// it is not known how long it was worked on.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Option<Duration>) {
        // The path is not used without a route, because clients can send any number of paths.
        let route = if route.is_empty() { "none" } else { route }.to_owned();
        if let Some(took) = took {
            let durations = self.durations.get_or_create(&OfRoute { route: route.clone() });
            durations.observe(took.as_secs_f64());
        }
        self.requests.get_or_create(&Answered { route, status }).inc();
    }

    /// Counts a mail by its result: `sent`, `failed` or `refused`.
    pub(crate) fn mail(&self, result: &'static str) {
        self.mails.get_or_create(&OfResult { result }).inc();
    }

    /// Counts changes by their result in the audit trail: `written` or `lost`.
    pub(crate) fn audited(&self, result: &'static str, count: u64) {
        self.audited.get_or_create(&OfResult { result }).inc_by(count);
    }

    /// Counts a run of a job, and keeps its duration.
    pub(crate) fn job(&self, extension: &str, job: &str, done: bool, took: Duration) {
        let (extension, job) = (extension.to_owned(), job.to_owned());
        let of = OfJob { extension: extension.clone(), job: job.clone() };
        self.last_runs.get_or_create(&of).set(took.as_secs_f64());
        let result = if done { "done" } else { "failed" };
        self.jobs.get_or_create(&OfRuns { extension, job, result }).inc();
    }

    /// Counts a request to another site as in progress until the guard is dropped.
    pub(crate) fn delivering(&self) -> Guard {
        Guard::new(&self.delivering)
    }

    /// Counts a request to another site by its result: `accepted`, `rejected`, or why there was no answer.
    pub(crate) fn delivered(&self, result: &'static str, took: Duration) {
        self.delivery_durations.observe(took.as_secs_f64());
        self.undelivered(result);
    }

    /// Counts a request to another site that was not sent: `refused` or `busy`.
    pub(crate) fn undelivered(&self, result: &'static str) {
        self.deliveries.get_or_create(&OfResult { result }).inc();
    }

    /// All metrics as text, with the current readings.
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

/// Registers a metric, and returns it.
fn add<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// Counters by results. They exist from the start, so that their first increase is visible.
fn results(all: &[&'static str]) -> Family<OfResult, Counter> {
    let counters = Family::default();
    for result in all {
        drop(counters.get_or_create(&OfResult { result }));
    }
    counters
}

/// Increments a gauge until it is dropped.
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
