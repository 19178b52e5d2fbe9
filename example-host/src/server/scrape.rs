//! The server of the metrics. It has an address of its own, because metrics are not meant for the
//! clients of the site.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::base::error::Error;
use crate::site::Site;
use crate::watch::metrics::MEDIA_TYPE;

use super::connections::{Connections, address};
use super::phase::{Phase, Phases};
use super::readings;

/// The path of the metrics.
const PATH: &str = "/metrics";

/// The server of the metrics; it stops when this is dropped.
#[derive(Debug)]
pub struct MetricsServer {
    addr: SocketAddr,
    accepting: JoinHandle<()>,
    _phase: watch::Sender<Phase>,
}

impl MetricsServer {
    /// The address that it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Site {
    /// Serves the metrics of the site on a listener of their own, at `/metrics`.
    ///
    /// # Errors
    /// When the listener has no address.
    pub fn serve_metrics(&self, listener: TcpListener) -> Result<MetricsServer, Error> {
        let addr = address(&listener)?;
        let connections = Connections {
            router: Router::new().fallback(answer).with_state(self.clone()),
            tls: None,
            full: None,
            header_timeout: Duration::from_secs(10),
            stall_time: Duration::from_secs(10),
            limit: 16,
            limit_of_one: 16,
            trusted_proxies: Vec::new(),
            metrics: None,
        };
        let (phase, phases) = Phases::begin();
        let accepting = tokio::spawn(connections.accept(listener, phases));
        tracing::info!("metrics at http://{addr}{PATH}");
        Ok(MetricsServer { addr, accepting, _phase: phase })
    }
}

async fn answer(State(site): State<Site>, request: Request<Body>) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    if request.uri().path() != PATH {
        *response.status_mut() = StatusCode::NOT_FOUND;
    } else if request.method() != Method::GET {
        *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET"));
    } else {
        match readings::text(&site).await {
            Ok(text) => {
                let media_type = HeaderValue::from_static(MEDIA_TYPE);
                response.headers_mut().insert(header::CONTENT_TYPE, media_type);
                *response.body_mut() = Body::from(text);
            }
            Err(error) => {
                tracing::error!(%error, "the metrics could not be encoded");
                *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            }
        }
    }
    response
}
