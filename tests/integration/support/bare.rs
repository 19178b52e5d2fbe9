//! A store without a host, for tests below the level of HTTP: the statically linked one, on a
//! database that the loaded library never opens.

use crate::support::permissive::{PermissiveHost, permitted};
use host_interface::{Headers, HostHandle, Method, Request, Response, User};
use plugin::app::App;
use plugin::bulk::reference;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::store::Store;
use serde_json::Value;

use crate::support::databases::{Database, Engine};

/// A store without a host.
pub struct Bare {
    pub app: App,
    pub database: Database,
}

/// The headers of a body of JSON.
pub struct JsonHeaders;

impl Headers for JsonHeaders {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        (name == "content-type" && nth == 0).then_some(b"application/json")
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        (nth == 0).then_some(("content-type", b"application/json"))
    }
}

/// The same with an `Idempotency-Key`.
pub struct KeyedHeaders(pub String);

impl Headers for KeyedHeaders {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        match (name, nth) {
            ("idempotency-key", 0) => Some(self.0.as_bytes()),
            _ => JsonHeaders.get(name, nth),
        }
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        match nth {
            1 => Some(("idempotency-key", self.0.as_bytes())),
            _ => JsonHeaders.at(nth),
        }
    }
}

impl Bare {
    /// Opens a store on the engine of this run.
    pub async fn open() -> Bare {
        Bare::on(Engine::of_this_run()).await
    }

    pub async fn on(engine: Engine) -> Bare {
        Bare::of(engine, HostHandle::new(PermissiveHost)).await
    }

    /// Opens a store for a host with users.
    pub async fn of(engine: Engine, host: HostHandle) -> Bare {
        let database = Database::on(engine).await;
        let store = Store::open(&database.url()).unwrap();
        store.migrate(REGISTRY).await.unwrap();
        reference::install(&store).await.unwrap();
        Bare { app: App::new(host, store, ""), database }
    }

    /// Sends a request for a path, which may have a query.
    pub async fn ask(&self, method: Method, path: &str, body: Value) -> Response {
        self.ask_with(method, path, body, JsonHeaders).await
    }

    /// The same with these headers.
    pub async fn ask_with(
        &self,
        method: Method,
        path: &str,
        body: Value,
        headers: impl Headers + 'static,
    ) -> Response {
        self.app.handle(self.request(method, path, body, headers)).await
    }

    /// A request for a path, which may have a query.
    pub fn request(
        &self,
        method: Method,
        path: &str,
        body: Value,
        headers: impl Headers + 'static,
    ) -> Request {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let mut id = None;
        let segments = path.trim_start_matches('/').split('/').map(|segment| {
            if segment.starts_with(|first: char| first.is_ascii_digit()) {
                id = Some(segment);
                return "{id:digits}";
            }
            segment
        });
        let segments: Vec<&str> = segments.collect();
        let pattern = segments.join("/");
        let mut routes = self.app.routes.iter();
        let route = routes.position(|known| known.method == method && known.path == pattern);
        let mut request = Request::builder(route.unwrap() as u32, method)
            .path(path)
            .query(query)
            .headers(headers)
            .caller(permitted(User::new(7, "ada", "Ada", "ada@example.com")))
            .body(body.to_string().into_bytes());
        if let Some(id) = id {
            request = request.param(id);
        }
        request.build()
    }

    /// Runs a statement directly, for example to create or drop a trigger.
    pub async fn run(&self, text: impl Into<String>) {
        let statement = Statement { text: text.into(), binds: Vec::new() };
        self.app.shop.store.execute(statement).await.unwrap();
    }

    /// Adds a trigger that runs at each write of a matching row.
    pub async fn trigger(&self, name: &str, event: &str, table: &str, condition: &str, does: &str) {
        let statements = match self.database.engine {
            Engine::Sqlite => vec![format!(
                "CREATE TRIGGER {name} {event} ON {table} WHEN {condition} BEGIN {does}; END"
            )],
            Engine::Postgres => vec![
                format!(
                    "CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS \
                     $$ BEGIN {does}; RETURN NEW; END $$"
                ),
                format!(
                    "CREATE TRIGGER {name} {event} ON {table} FOR EACH ROW WHEN ({condition}) \
                     EXECUTE FUNCTION {name}()"
                ),
            ],
            Engine::MariaDb => vec![format!(
                "CREATE TRIGGER {name} {event} ON {table} FOR EACH ROW \
                 IF {condition} THEN {does}; END IF"
            )],
        };
        for text in statements {
            self.run(text).await;
        }
    }

    /// Makes each write of a matching row fail.
    pub async fn fail(&self, name: &str, event: &str, table: &str, condition: &str) {
        let failure = match self.database.engine {
            Engine::Sqlite => "SELECT RAISE(ABORT, 'made to fail')",
            Engine::Postgres => "RAISE EXCEPTION 'made to fail'",
            Engine::MariaDb => "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'made to fail'",
        };
        self.trigger(name, event, table, condition, failure).await;
    }
}
