//! A receiver of webhooks in threads of its own, which notes when what arrived and accepts it. On one path it never
//! answers to anything but tests.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::serve::ListenerExt;
use serde_json::Value;
use tokio::net::TcpListener;

/// The path on which nothing is answered.
pub const DEAD: &str = "/dead";

/// When the record with this id was told first on a path, which stands for a webhook.
type Arrivals = HashMap<(String, i64), Instant>;

/// The receiver, which lasts as long as the program.
pub struct Inbox {
    address: SocketAddr,
    arrivals: Arc<Mutex<Arrivals>>,
}

impl Inbox {
    pub fn open() -> Inbox {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let arrivals = Arc::<Mutex<Arrivals>>::default();
        let router = Router::new().fallback(receive).with_state(Arc::clone(&arrivals));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                let listener = listener.tap_io(|stream| stream.set_nodelay(true).unwrap());
                axum::serve(listener, router).await.unwrap();
            });
        });
        Inbox { address, arrivals }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits until so many records were told, on all paths together but the dead one, and takes when each was.
    pub async fn take(&self, count: usize) -> Arrivals {
        const PATIENCE: Duration = Duration::from_secs(300);
        let begun = Instant::now();
        loop {
            let arrived = self.arrivals.lock().unwrap().len();
            if arrived >= count {
                return std::mem::take(&mut *self.arrivals.lock().unwrap());
            }
            assert!(begun.elapsed() < PATIENCE, "{arrived} of {count} have arrived");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

async fn receive(
    State(arrivals): State<Arc<Mutex<Arrivals>>>,
    uri: Uri,
    body: String,
) -> StatusCode {
    let now = Instant::now();
    let message: Value = serde_json::from_str(&body).unwrap();
    let Some(id) = message["data"]["id"].as_str() else { return StatusCode::NO_CONTENT };
    if uri.path() == DEAD {
        std::future::pending::<()>().await;
    }
    let key = (uri.path().to_owned(), id.parse().unwrap());
    arrivals.lock().unwrap().entry(key).or_insert(now);
    StatusCode::NO_CONTENT
}
