//! Records of past events: the audit trail, the last hour of the API, the metrics.

pub(crate) mod audit;
pub(crate) mod metrics;
pub(crate) mod traffic;
