//! Why a request has no answer: the classes that the contract names, with what the log has of them.

use std::io;
use std::net::IpAddr;

use host_interface::undelivered;
use tokio::time::error::Elapsed;

/// Why a request has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undelivered {
    #[error("the name cannot be resolved: {0}")]
    Name(io::Error),
    #[error("the address {0} is not allowed")]
    Address(IpAddr),
    #[error("there is no connection: {0}")]
    Connection(io::Error),
    #[error("the connection has failed: {0}")]
    Broken(#[from] hyper::Error),
    #[error("the connection was closed before the request was sent")]
    Closed,
    #[error("there is no encryption: {0}")]
    Tls(io::Error),
    #[error("the time was over")]
    Timeout,
}

impl Undelivered {
    /// The name of its class in the contract.
    pub(super) fn class(&self) -> &'static str {
        match self {
            Self::Name(_) => undelivered::DNS,
            Self::Address(_) => undelivered::ADDRESS,
            Self::Connection(_) | Self::Broken(_) | Self::Closed => undelivered::CONNECT,
            Self::Tls(_) => undelivered::TLS,
            Self::Timeout => undelivered::TIMEOUT,
        }
    }
}

impl From<Elapsed> for Undelivered {
    fn from(_: Elapsed) -> Self {
        Self::Timeout
    }
}
