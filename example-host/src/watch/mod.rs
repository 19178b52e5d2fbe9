//! What is remembered of what happened: the audit trail, the last hour of the API, the metrics. Knows
//! nothing of who reads it.

pub(crate) mod audit;
pub(crate) mod metrics;
pub(crate) mod traffic;
