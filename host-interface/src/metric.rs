//! Numbers that a plugin provides for monitoring. How they are exposed is up to the host.

use serde::{Deserialize, Serialize};

/// One thing that is measured, with one value, or with a value for each of several cases.
///
/// ```
/// use host_interface::Metric;
///
/// let jobs = Metric::gauge("jobs", "Jobs that wait.").value(3.0);
/// let connections = Metric::gauge("connections", "Connections to the database.")
///     .value_of([("state", "idle")], 4.0)
///     .value_of([("state", "busy")], 1.0);
/// assert_eq!((jobs.samples.len(), connections.samples.len()), (1, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Metric {
    /// The name, unique in the plugin: lower-case letters, digits and underscores, with the unit
    /// at its end if it has one, for example `waiting_seconds`.
    pub name: String,
    /// What is measured, a sentence for people.
    pub description: String,
    /// How the value moves.
    pub kind: MetricKind,
    /// The values.
    pub samples: Vec<Sample>,
}

/// How the value of a [`Metric`] moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MetricKind {
    /// Begins at zero when the plugin is created, and only grows.
    Counter,
    /// Goes up and down.
    Gauge,
}

/// One value of a [`Metric`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sample {
    /// What distinguishes it from the other values: pairs of a name and a value. There must be few
    /// combinations, since a monitoring system keeps each of them.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: f64,
}

impl Metric {
    /// Something that only grows.
    pub fn counter(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name.into(), description.into(), MetricKind::Counter)
    }

    /// Something that goes up and down.
    pub fn gauge(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self::new(name.into(), description.into(), MetricKind::Gauge)
    }

    /// Gives the value.
    pub fn value(self, value: f64) -> Self {
        self.value_of::<String, String>([], value)
    }

    /// Gives the value of one case.
    pub fn value_of<N: Into<String>, V: Into<String>>(
        mut self,
        labels: impl IntoIterator<Item = (N, V)>,
        value: f64,
    ) -> Self {
        let labels = labels.into_iter().map(|(name, value)| (name.into(), value.into()));
        self.samples.push(Sample { labels: labels.collect(), value });
        self
    }

    fn new(name: String, description: String, kind: MetricKind) -> Self {
        Self { name, description, kind, samples: Vec::new() }
    }
}
