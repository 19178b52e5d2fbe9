//! The data that all requests have in common.

use axum::http::HeaderValue;
use host_service::{Changes, RequestIds};
use ipnet::IpNet;

use crate::admin::Administration;
use crate::api::gate::Api;

use super::arrivals::Arrivals;
use super::health::Watch;
use super::phase::Phases;

/// The data that all requests have in common.
pub(crate) struct Context {
    pub(crate) api: Api,
    pub(crate) administration: Administration,
    /// The forms that arrive before sign-in.
    pub(crate) arrivals: Arrivals,
    /// The forms of the administration that are being processed.
    pub(crate) forms: Changes,
    pub(crate) health: Watch,
    pub(crate) phases: Phases,
    /// Whether connections to this server are encrypted.
    pub(crate) encrypted: bool,
    /// The value of the HSTS header, if it is sent.
    pub(crate) strict_transport: Option<HeaderValue>,
    pub(crate) trusted_proxies: Vec<IpNet>,
    pub(crate) ids: RequestIds,
}

crate::base::opaque::opaque!(Context);
