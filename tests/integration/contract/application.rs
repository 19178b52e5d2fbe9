//! Any application on tower and http as a host: the one that the documents print in full, as a process
//! with the real store, and one in this process that decides everything an application may decide.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Response, StatusCode};
use axum::routing::get;
use host_interface::{Caller, Denial, Environment, Event, Host, LogRecord, Principal, capability};
use host_service::{Access, Asked, Asking, Extension, Limits, Mount, Refusal, RequestId};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tower_service::Service;

use crate::support::harness::{Answer, MEDIA_TYPE, example, fixture, library};
use crate::support::process::Lines;
use crate::support::waiting::{eventually, patiently};

/// The application of the documents, serving.
struct Application {
    child: Child,
    root: String,
    client: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Application {
    async fn start() -> Application {
        let folder = tempfile::tempdir().unwrap();
        let mut program = Command::new(example("application"));
        program.arg(library()).arg("127.0.0.1:0").current_dir(folder.path()).kill_on_drop(true);
        let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
        let root = Lines::of(child.stdout.take().unwrap()).wait_for("http://").await;
        Application { child, root, client: reqwest::Client::new(), _folder: folder }
    }

    /// A request to the store.
    fn ask(&self, method: &str, path: &str, token: &str) -> reqwest::RequestBuilder {
        let url = format!("{}/store/v1/shop/{path}", self.root);
        let request = self.client.request(method.parse().unwrap(), url);
        let request = request.header("accept", MEDIA_TYPE);
        if token.is_empty() { request } else { request.bearer_auth(token) }
    }

    async fn stop(mut self) {
        let id = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().await.unwrap().success());
        assert!(patiently("the end", self.child.wait()).await.unwrap().success());
    }
}

#[cfg(engine = "sqlite")]
#[tokio::test]
async fn the_application_of_the_documents_serves_the_store_beside_its_own_page() {
    let app = Application::start().await;
    let own = app.client.get(format!("{}/", app.root)).send().await.unwrap();
    assert_eq!(own.text().await.unwrap(), "My own page\n");

    let lamp = json!({"manufacturer_name": "Lamps & Sons"});
    let create = |token| app.ask("POST", "manufacturers", token).json(&lamp);
    let created = Answer::to(create("s3cret")).await;
    let location = created.expect(201).header("location").to_owned();
    assert!(location.starts_with("/store/v1/shop/manufacturers/"), "{location}");
    let id = location.rsplit('/').next().unwrap();
    let read = Answer::to(app.ask("GET", &format!("manufacturers/{id}"), "s3cret")).await;
    assert_eq!(read.json()["data"]["attributes"]["manufacturer_name"], "Lamps & Sons");
    assert!(!read.header("x-request-id").is_empty() && !read.header("etag").is_empty());
    let head = Answer::to(app.ask("HEAD", &format!("manufacturers/{id}"), "s3cret")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));

    // A customer belongs to a user of the application.
    let customer = |user: i64| {
        let body = json!({"user_id": user, "first_name": "Ann", "last_name": "Example",
            "email": format!("ann-{user}@example.com")});
        app.ask("POST", "customers", "s3cret").json(&body)
    };
    assert_eq!(Answer::to(customer(1)).await.status, 201);
    assert_eq!(Answer::to(customer(3)).await.status, 422);
    // The application has no parameters, so those of the store have their defaults.
    let config = Answer::to(app.ask("GET", "config", "s3cret")).await.expect(200).json();
    assert_eq!(config["data"]["attributes"]["default_currency"], "EUR");

    for (status, request) in [
        (401, create("")),
        (401, create("unknown")),
        (403, create("0ther")),
        (403, app.ask("DELETE", &format!("manufacturers/{id}"), "s3cret")),
        (404, app.ask("GET", "nothing", "s3cret")),
        (405, app.ask("PUT", "manufacturers", "s3cret")),
        (406, app.client.get(format!("{}/store/v1/shop/manufacturers", app.root))),
        (413, app.ask("POST", "manufacturers", "s3cret").body(vec![b' '; 1024 * 1024 + 1])),
    ] {
        let refused = Answer::to(request).await.expect(status);
        assert_eq!(refused.json()["errors"][0]["status"], status);
    }
    let outside = app.client.get(format!("{}/elsewhere", app.root)).send().await.unwrap();
    assert_eq!((outside.status().as_u16(), outside.text().await.unwrap()), (404, String::new()));
    app.stop().await;
}

/// What an application decides, as a test sets it.
#[derive(Default)]
struct Site {
    unavailable: AtomicBool,
    disabled: Mutex<Vec<&'static str>>,
    authentications: AtomicUsize,
    answered: Mutex<Vec<Value>>,
}

struct Anybody(i64);

impl Principal for Anybody {
    fn user(&self) -> i64 {
        self.0
    }
    fn may(&self, _action: &str, _asset: &str) -> Result<(), Denial> {
        Ok(())
    }
}

impl Access for Site {
    type User = Caller;

    async fn authenticate(&self, asking: Asking<'_>) -> Result<Option<Caller>, Refusal> {
        self.authentications.fetch_add(1, Ordering::Relaxed);
        let Some(credentials) = asking.credentials() else { return Ok(None) };
        if credentials.scheme() == "bearer" {
            return Ok((credentials.secret() == "known").then(|| Caller::new(Anybody(7))));
        }
        let user = asking.ask_extensions(&credentials).await?;
        Ok(user.map(|user| Caller::new(Anybody(user))))
    }

    fn is_available(&self) -> bool {
        !self.unavailable.load(Ordering::Relaxed)
    }

    fn is_enabled(&self, extension: &str) -> bool {
        !self.disabled.lock().unwrap().contains(&extension)
    }

    async fn answered(&self, asked: Asked<Caller>, mut response: Response<Body>) -> Response<Body> {
        response.headers_mut().append("vary", HeaderValue::from_static("Cookie"));
        let user = asked.user.as_ref().map(Caller::user);
        let (status, method) = (response.status().as_u16(), asked.method.as_str());
        let record = json!([asked.record.kind, asked.record.id]);
        let entry = json!([method, &*asked.route, status, user, record]);
        self.answered.lock().unwrap().push(entry);
        response
    }
}

/// A host that keeps what is logged.
#[derive(Clone, Default)]
struct Keeps(Arc<Mutex<Vec<String>>>);

impl Host for Keeps {
    fn log(&self, record: &LogRecord<'_>) {
        self.0.lock().unwrap().push(record.message().to_owned());
    }
}

/// The extension of a fixture, created below a base path.
fn created(name: &str, host: &Keeps, base: &str) -> Extension {
    let library = host_service::open(&fixture(name)).unwrap();
    let environment = Environment::new("sqlite://unused.db").base_path(base);
    let environment = environment.capabilities([capability::EVENTS, capability::JOBS]);
    Extension::create(&library, host.clone(), environment).unwrap()
}

/// Extensions of fixtures, mounted below `/api` and logging to this host.
fn mounted_with(host: &Keeps, fixtures: &[&str], limits: Limits) -> (Arc<Site>, Mount<Site>) {
    let site = Arc::new(Site::default());
    let extensions = fixtures.iter().map(|name| created(name, host, "/api"));
    let mount = Mount::new(Arc::clone(&site), extensions, limits).unwrap();
    mount.start().unwrap();
    (site, mount)
}

fn mounted(fixtures: &[&str], limits: Limits) -> (Arc<Site>, Mount<Site>) {
    mounted_with(&Keeps::default(), fixtures, limits)
}

/// Sends a request to a router, as a server would.
async fn send(app: &Router, request: Request<Body>) -> (StatusCode, String) {
    let answered = app.clone().call(request).await.unwrap();
    let (head, body) = answered.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (head.status, String::from_utf8(body.to_vec()).unwrap())
}

fn greeting(authorization: &str) -> Request<Body> {
    let request = Request::get("/api/v1/greetings/7").header("accept", "text/plain");
    let request = match authorization {
        "" => request,
        credentials => request.header("authorization", credentials),
    };
    request.body(Body::empty()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_decides_who_asks_and_what_is_enabled() {
    let (site, mount) = mounted(&["greeter", "authenticates"], Limits::default());
    let app = Router::new().route("/", get(|| async { "own" })).merge(mount.router());
    let status = async |request| send(&app, request).await.0.as_u16();

    assert_eq!(send(&app, greeting("Bearer known")).await.1, "Hello, number 7!\n");
    assert_eq!(status(greeting("Bearer other")).await, 401);
    assert_eq!(status(greeting("")).await, 401);
    // An extension authenticates the user, unless it is disabled.
    assert_eq!(status(greeting("ApiKey user-8")).await, 200);
    site.disabled.lock().unwrap().push("authenticates");
    assert_eq!(status(greeting("ApiKey user-8")).await, 401);

    // What comes first is refused first, and nobody is authenticated for it.
    let before = site.authentications.load(Ordering::Relaxed);
    let plain = Request::get("/api/v1/greetings/7").body(Body::empty()).unwrap();
    assert_eq!(status(plain).await, 406);
    let post = Request::post("/api/v1/greetings/7").body(Body::empty()).unwrap();
    assert_eq!(status(post).await, 405);
    site.unavailable.store(true, Ordering::Relaxed);
    assert_eq!(status(greeting("Bearer known")).await, 503);
    let unknown = Request::get("/api/v1/nothing").body(Body::empty()).unwrap();
    assert_eq!(status(unknown).await, 404);
    site.unavailable.store(false, Ordering::Relaxed);
    site.disabled.lock().unwrap().push("greeter");
    assert_eq!(status(greeting("Bearer known")).await, 404);
    assert_eq!(site.authentications.load(Ordering::Relaxed), before);

    let own = Request::get("/").body(Body::empty()).unwrap();
    assert_eq!(send(&app, own).await.1, "own");
    let answered = std::mem::take(&mut *site.answered.lock().unwrap());
    assert_eq!(
        Value::from(answered),
        json!([
            ["GET", "greeting", 200, 7, ["", ""]],
            ["GET", "greeting", 401, null, ["", ""]],
            ["GET", "greeting", 401, null, ["", ""]],
            ["GET", "greeting", 200, 8, ["", ""]],
            ["GET", "greeting", 401, null, ["", ""]],
            ["GET", "greeting", 406, null, ["", ""]],
            ["POST", "", 405, null, ["", ""]],
            ["GET", "", 503, null, ["", ""]],
            ["GET", "", 404, null, ["", ""]],
            ["GET", "", 404, null, ["", ""]],
        ])
    );
    mount.shut_down(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_sets_limits_and_ids() {
    let mut limits = Limits::default();
    (limits.body_limit, limits.request_timeout) = (100, Duration::from_millis(300));
    let (_site, mount) = mounted(&["misbehaves"], limits);
    let app = mount.router::<()>();
    let post = |bytes: usize| {
        let request = Request::post("/api/v1/misbehaves/pieces").header("accept", MEDIA_TYPE);
        let request = request.header("authorization", "Bearer known");
        let request = request.extension(RequestId::known("mine"));
        request.body(Body::from(vec![b'x'; bytes])).unwrap()
    };
    let answered = app.clone().call(post(101)).await.unwrap();
    assert_eq!(
        (answered.status(), &answered.headers()["x-request-id"]),
        (StatusCode::PAYLOAD_TOO_LARGE, &HeaderValue::from_static("mine"))
    );
    let vary: Vec<_> = answered.headers().get_all("vary").iter().collect();
    assert_eq!(vary, ["Cookie", "Accept, Authorization"]);
    let pending = Request::get("/api/v1/misbehaves/pending").header("accept", MEDIA_TYPE);
    let pending = pending.header("authorization", "Bearer known").body(Body::empty()).unwrap();
    assert_eq!(send(&app, pending).await.0, 504);
    mount.shut_down(Duration::from_secs(1)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_is_answered_when_the_application_begins_to_stop() {
    let host = Keeps::default();
    let (_site, mount) = mounted_with(&host, &["listens", "greeter"], Limits::default());
    let app = mount.router();
    let request = Request::get("/api/v1/listens/waits").body(Body::empty()).unwrap();
    let waiting = tokio::spawn(async move { send(&app, request).await });
    let (signal, signalled) = oneshot::channel();
    let stopping = tokio::spawn(mount.stopping_after(signalled));
    eventually("it waits", async || (!host.0.lock().unwrap().is_empty()).then_some(())).await;
    signal.send(()).unwrap();
    patiently("the beginning of the stop", stopping).await.unwrap();
    let (status, body) = patiently("the answer", waiting).await.unwrap();
    assert_eq!((status, &*body), (StatusCode::OK, "until the stop"));

    // Whoever stops the application otherwise may report it as well: once is enough.
    mount.stopping();
    mount.shut_down(Duration::from_secs(5)).await;
    let logged = host.0.lock().unwrap();
    assert_eq!(*logged, ["a request waits", r#"event {"event":"stopping"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_that_only_shuts_down_reports_the_stop_too() {
    let host = Keeps::default();
    let (_site, mount) = mounted_with(&host, &["listens"], Limits::default());
    mount.shut_down(Duration::from_secs(5)).await;
    assert_eq!(*host.0.lock().unwrap(), [r#"event {"event":"stopping"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_refused_because_too_many_are_in_progress_is_recorded() {
    let mut limits = Limits::default();
    (limits.changes, limits.request_timeout) = (0, Duration::from_millis(100));
    let (site, mount) = mounted(&["misbehaves"], limits);
    let request = Request::post("/api/v1/misbehaves/pieces").header("accept", MEDIA_TYPE);
    let request = request.header("authorization", "Bearer known").body(Body::empty()).unwrap();
    assert_eq!(send(&mount.router(), request).await.0, StatusCode::SERVICE_UNAVAILABLE);
    let answered = std::mem::take(&mut *site.answered.lock().unwrap());
    assert_eq!(
        Value::from(answered),
        json!([["POST", "misbehaves.take-pieces", 503, 7, ["pieces", ""]]])
    );
    mount.shut_down(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn an_application_reports_events_to_those_that_ask_for_them() {
    let host = Keeps::default();
    for name in ["listens", "greeter"] {
        created(name, &host, "/api").report(&Event::switched(false)).await;
    }
    let logged = host.0.lock().unwrap();
    assert_eq!(*logged, [r#"event {"event":"switched","enabled":false}"#]);
}

#[test]
fn extensions_that_do_not_fit_together_are_refused() {
    let create = |base: &str| created("greeter", &Keeps::default(), base);
    let refused = |extensions| host_service::check_together(extensions).unwrap_err().to_string();
    assert_eq!(refused(vec![create("/api"), create("/api")]), "greeter: is loaded twice");
}
