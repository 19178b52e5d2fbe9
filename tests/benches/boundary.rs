//! What the boundary costs: the list of manufacturers through the loaded library, against the same
//! handler linked into the server. Prints a table of medians and the ratio between them.
//!
//! Each variant is served by a process of its own, because two copies of SQLite must not open one
//! file in one process. Both serve from the same minimal host and the same axum handler, so that
//! nothing differs but the boundary. Rounds alternate, so that a noisy machine disturbs both alike.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::float_arithmetic,
    clippy::expect_used,
    reason = "a program to measure with: it may stop at the first surprise"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use bytes::Bytes;
use host_interface::{
    DemoSize, Description, Environment, Headers, HostHandle, LoadedPlugin, Method, ProgressHandle,
    Request, Response, SharedUser, User,
};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::TokioIo;
use plugin::app::{self, App};
use plugin::document::MEDIA_TYPE;
use plugin::store::Store;
use plugin::{demo, reference};
use tests::{PermissiveHost, median};
use tokio::net::{TcpListener, TcpStream};

const CONNECTIONS: usize = 8;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(3);
const VARIANTS: [&str; 2] = ["linked", "loaded"];
const PATH: &str = "/api/index.php/v1/shop/manufacturers";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    match arguments.iter().position(|argument| argument == "--serve") {
        Some(at) => runtime.block_on(serve(&arguments[at + 1], Path::new(&arguments[at + 2]))),
        None => runtime.block_on(measure()),
    }
}

async fn measure() {
    let data = tempfile::tempdir().unwrap();
    let mut servers: Vec<Server> =
        VARIANTS.iter().map(|variant| Server::start(variant, data.path())).collect();
    for server in &servers {
        load(&server.address, ROUND / 3).await;
    }
    for round in 0..ROUNDS {
        // The order changes with each round, so that neither always comes first.
        let mut order: Vec<usize> = (0..servers.len()).collect();
        order.rotate_left(round % VARIANTS.len());
        for position in order {
            let server = &mut servers[position];
            let before = server.cpu();
            let (requests, seconds) = load(&server.address, ROUND).await;
            server.rates.push(requests as f64 / seconds);
            server.costs.push((server.cpu() - before) / requests as f64 * 1e6);
        }
    }
    println!("GET {PATH}, {CONNECTIONS} connections, median of {ROUNDS} rounds of {ROUND:?}:\n");
    println!("| handler | requests/s | CPU per request |");
    println!("|---|---|---|");
    let results: Vec<(f64, f64)> = servers
        .iter()
        .map(|server| (median(server.rates.iter().copied()), median(server.costs.iter().copied())))
        .collect();
    for (variant, (rate, cost)) in VARIANTS.iter().zip(&results) {
        println!("| {variant} | {rate:.0} | {cost:.1} us |");
    }
    let (linked, loaded) = (results[0], results[1]);
    println!("| ratio | {:.3} | {:.3} |", loaded.0 / linked.0, loaded.1 / linked.1);
}

/// Asks as fast as answers come, on all connections, and counts.
async fn load(address: &str, time: Duration) -> (u64, f64) {
    let start = Instant::now();
    let tasks = (0..CONNECTIONS).map(|_| {
        let address = address.to_owned();
        tokio::spawn(async move {
            let stream = TcpStream::connect(&address).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
            tokio::spawn(connection);
            let mut count = 0;
            while start.elapsed() < time {
                let request = hyper::Request::get(PATH)
                    .header(header::HOST, &address)
                    .body(Empty::<Bytes>::new())
                    .unwrap();
                let response = sender.send_request(request).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                let body = response.into_body().collect().await.unwrap().to_bytes();
                assert!(body.len() > 1_000, "a page of records came back");
                count += 1;
            }
            count
        })
    });
    let mut requests = 0;
    for task in tasks.collect::<Vec<_>>() {
        requests += task.await.unwrap();
    }
    (requests, start.elapsed().as_secs_f64())
}

/// A process that serves one variant.
struct Server {
    process: Child,
    address: String,
    rates: Vec<f64>,
    costs: Vec<f64>,
}

impl Server {
    fn start(variant: &str, data: &Path) -> Server {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--serve", variant])
            .arg(data.join(variant).with_extension("db"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim().to_owned();
        Server { process, address, rates: Vec::new(), costs: Vec::new() }
    }

    /// The processor time used so far, in seconds.
    fn cpu(&self) -> f64 {
        tests::processor_time(self.process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

enum Handler {
    Linked(Box<App>),
    Loaded(LoadedPlugin),
}

impl Handler {
    async fn handle(&self, request: Request) -> Response {
        match self {
            Handler::Linked(app) => app.handle(request).await,
            Handler::Loaded(plugin) => plugin.handle(request).await.unwrap(),
        }
    }
}

async fn serve(variant: &str, database: &Path) {
    let host = HostHandle::new(PermissiveHost);
    let environment =
        Environment::new(format!("sqlite://{}", database.display())).base_path("/api/index.php");
    let handler = match variant {
        "loaded" => {
            let library = host_interface::open(&library()).unwrap();
            let loaded = library.create(host, &environment).unwrap();
            loaded.install().await.unwrap();
            loaded.demo(DemoSize::default(), ()).await.unwrap();
            Handler::Loaded(loaded)
        }
        _ => {
            let store = Store::open(&environment.database_url).unwrap();
            store.migrate().await.unwrap();
            reference::install(&store).await.unwrap();
            demo::fill(&store, DemoSize::default(), &ProgressHandle::new(())).await.unwrap();
            Handler::Linked(Box::new(App::new(host, store, &environment.base_path)))
        }
    };
    let route = route(&app::describe());
    let user = SharedUser::new(User::new(1, "bench", "Bench", "bench@example.com"));
    let handler = Arc::new(handler);
    let answer = move |headers: HeaderMap| {
        let (handler, user) = (Arc::clone(&handler), user.clone());
        async move {
            let request = Request::builder(route, Method::Get)
                .path(PATH)
                .headers(Sent(headers))
                .user(user)
                .id("bench")
                .build();
            let response = handler.handle(request).await;
            let status = StatusCode::from_u16(response.status()).unwrap();
            let kind = [(header::CONTENT_TYPE, MEDIA_TYPE)];
            (status, kind, Bytes::from_owner(response.into_body())).into_response()
        }
    };
    let router = axum::Router::new().route(PATH, axum::routing::get(answer));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    std::io::stdout().flush().unwrap();
    axum::serve(listener, router).await.unwrap();
}

fn route(description: &Description) -> u32 {
    let list = description.routes.iter().find(|route| route.name == "manufacturers.list");
    list.unwrap().handler
}

/// The library that was built with this program.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let name = format!("{}plugin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    program.parent().unwrap().join(name)
}

struct Sent(HeaderMap);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(nth).map(|value| value.as_bytes())
    }
}
