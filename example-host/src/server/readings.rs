//! Metrics that are read on request, from the host's database and the extensions. Metrics that are
//! counted continuously are in `watch/metrics.rs`.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use host_interface::{LoadedPlugin, Metric, MetricKind, Sample};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::base::text::one_line;
use crate::site::Site;

/// The time limit for the metrics of an extension.
const TIME: Duration = Duration::from_secs(2);

/// All metrics of the site, as text.
pub(crate) async fn text(site: &Site) -> Result<String, fmt::Error> {
    let mut readings = Readings::default();
    readings.add("host", database(site));
    for (extension, metrics) in extensions(site).await {
        readings.add(&extension.replace('-', "_"), metrics);
    }
    site.metrics().text(readings)
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

/// The metrics of the enabled extensions, by their names. An extension that fails is omitted.
async fn extensions(site: &Site) -> Vec<(String, Vec<Metric>)> {
    let mut answered = Vec::new();
    for (extension, asking) in site.ask_enabled(|plugin| async move { ask(&plugin).await }) {
        match asking.await.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(metrics) => answered.push((extension, metrics)),
            Err(error) => {
                tracing::warn!(extension, error, "the metrics of an extension could not be read")
            }
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

/// The metrics that were read. Duplicate and invalid names are omitted, because one bad line would
/// make the whole text unreadable.
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
                tracing::debug!(name, "the name of a metric is invalid or already used");
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
                _ => MetricType::Unknown,
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
        // A gauge promises nothing about how the value moves, so it will do for kinds of later versions.
        _ => metric.encode_gauge(&value),
    }
}
