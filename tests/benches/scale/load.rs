//! Load: one client that asks one thing after another, which times each answer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use plugin::document::MEDIA_TYPE;
use tokio::net::TcpStream;

use super::stores::Host;

/// How often something is asked in one round, and for how long at most.
const TIMES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection to a host that is kept open, as an integrator's is.
pub struct Client<'a> {
    host: &'a Host,
    sender: SendRequest<Empty<Bytes>>,
}

/// What came of a round. Times are in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub p50: f64,
    /// What a request costs the host's processors.
    pub cpu: f64,
}

impl<'a> Client<'a> {
    pub async fn of(host: &'a Host) -> Client<'a> {
        let stream = TcpStream::connect(&host.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Client { host, sender }
    }

    /// Asks for a path again and again.
    pub async fn round(&mut self, path: &str) -> Load {
        let (begun, cpu) = (Instant::now(), self.host.cpu());
        let mut taken = Vec::with_capacity(TIMES);
        while taken.len() < TIMES && begun.elapsed() < PATIENCE {
            let request = Request::get(format!("/api/index.php/v1/shop{path}"))
                .header(header::HOST, &self.host.address)
                .header(header::AUTHORIZATION, format!("Bearer {}", self.host.token))
                .header(header::ACCEPT, MEDIA_TYPE)
                .body(Empty::new())
                .unwrap();
            let asked = Instant::now();
            let response = self.sender.send_request(request).await.unwrap();
            let status = response.status();
            let body = response.into_body().collect().await.unwrap().to_bytes();
            taken.push(asked.elapsed().as_secs_f64() * 1e3);
            assert!(status.is_success(), "{path}: {status} {}", String::from_utf8_lossy(&body));
        }
        let cpu = (self.host.cpu() - cpu) / taken.len() as f64 * 1e3;
        Load { p50: tests::median(taken), cpu }
    }
}
