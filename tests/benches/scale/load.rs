//! Load: a client that sends one request after another over one connection, and times each answer.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use plugin::wire::document::MEDIA_TYPE;
use serde_json::Value;
use tokio::net::TcpStream;

/// The path of the store.
pub const ROOT: &str = "/api/index.php/v1/shop";

const KEY: &str = "idempotency-key";

/// How often a request is sent in one round, and for how long at most.
const TIMES: usize = 200;
const PATIENCE: Duration = Duration::from_secs(2);

/// A request.
#[derive(Clone, Debug)]
pub struct Ask {
    pub method: Method,
    /// The path below the store's.
    pub path: String,
    pub body: Option<String>,
    /// The `Idempotency-Key`.
    pub key: Option<String>,
    /// For how many seconds the answer may be held open.
    pub wait: Option<u64>,
    /// The media type of body and answer, where it is not that of documents.
    pub media: &'static str,
}

impl Ask {
    pub fn get(path: impl Into<String>) -> Ask {
        Ask { method: Method::GET, path: path.into(), body: None, key: None, wait: None, media: "" }
    }

    pub fn post(path: impl Into<String>, body: &Value) -> Ask {
        Ask { method: Method::POST, body: Some(body.to_string()), ..Ask::get(path) }
    }

    pub fn patch(path: impl Into<String>, body: &Value) -> Ask {
        Ask { method: Method::PATCH, body: Some(body.to_string()), ..Ask::get(path) }
    }

    pub fn delete(path: impl Into<String>) -> Ask {
        Ask { method: Method::DELETE, ..Ask::get(path) }
    }
}

/// A response.
pub struct Answer {
    pub status: StatusCode,
    pub body: Bytes,
    /// The response time in milliseconds.
    pub took: f64,
}

impl Answer {
    /// The id of the record.
    pub fn id(&self) -> i64 {
        let body: Value = serde_json::from_slice(&self.body).unwrap();
        body["data"]["id"].as_str().unwrap().parse().unwrap()
    }
}

/// The address of the host, and the user.
#[derive(Clone, Debug)]
pub struct Door {
    pub address: String,
    pub token: String,
}

/// A client with a persistent connection, as an integrator's has.
pub struct Client {
    door: Door,
    sender: SendRequest<Full<Bytes>>,
}

/// The results of a round. Times are in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub p50: f64,
    /// The processor time of the host for one request.
    pub cpu: f64,
}

impl Client {
    pub async fn of(door: Door) -> Client {
        let stream = TcpStream::connect(&door.address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Client { door, sender }
    }

    /// Sends a request once. The caller checks the answer.
    pub async fn try_to(&mut self, ask: &Ask) -> Answer {
        let (sent, wanted) = match ask.media {
            "" => ("application/json", MEDIA_TYPE),
            media => (media, media),
        };
        let request = Request::builder()
            .method(&ask.method)
            .uri(format!("{ROOT}{}", ask.path))
            .header(header::HOST, &self.door.address)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.door.token))
            .header(header::ACCEPT, wanted)
            .header(header::CONTENT_TYPE, sent);
        let request = ask.key.iter().fold(request, |request, key| request.header(KEY, key));
        let request = ask
            .wait
            .iter()
            .fold(request, |request, wait| request.header("prefer", format!("wait={wait}")));
        let request = request.body(Full::from(ask.body.clone().unwrap_or_default())).unwrap();
        let asked = Instant::now();
        let response = self.sender.send_request(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Answer { status, body, took: asked.elapsed().as_secs_f64() * 1e3 }
    }

    /// Sends a request once, which must succeed.
    pub async fn ask(&mut self, ask: &Ask) -> Answer {
        let answer = self.try_to(ask).await;
        let text = String::from_utf8_lossy(&answer.body);
        assert!(answer.status.is_success(), "{ask:?}: {} {text}", answer.status);
        answer
    }

    /// Sends a request repeatedly; `cpu` returns the processor time of the server.
    pub async fn round(&mut self, path: &str, cpu: impl Fn() -> f64) -> Load {
        let ask = Ask::get(path);
        let (begun, used) = (Instant::now(), cpu());
        let mut taken = Vec::with_capacity(TIMES);
        while taken.len() < TIMES && begun.elapsed() < PATIENCE {
            taken.push(self.ask(&ask).await.took);
        }
        let cpu = (cpu() - used) / taken.len() as f64 * 1e3;
        Load { p50: crate::machine::median(taken), cpu }
    }
}

/// Sends a request as fast as answers arrive, on several connections, and returns the answers per
/// second.
pub async fn rate(door: &Door, ask: &Ask, connections: usize, time: Duration) -> f64 {
    let begun = Instant::now();
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (door, ask) = (door.clone(), ask.clone());
            tokio::spawn(async move {
                let mut client = Client::of(door).await;
                let mut count = 0.0;
                while begun.elapsed() < time {
                    client.ask(&ask).await;
                    count += 1.0;
                }
                count
            })
        })
        .collect();
    let mut requests = 0.0;
    for task in tasks {
        requests += task.await.unwrap();
    }
    requests / begun.elapsed().as_secs_f64()
}

/// A percentile of the values; 0 if there are none.
pub fn percentile(values: &mut [f64], of_a_hundred: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() * of_a_hundred).div_ceil(100).saturating_sub(1);
    values.get(place).copied().unwrap_or_default()
}
