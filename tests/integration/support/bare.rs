//! A store without a host, for tests below the level of HTTP: the statically linked one, on a
//! database that the loaded library never opens.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_interface::{
    Body, Caller, Error, Headers, Host, HostHandle, LogRecord, Mail, Method, Request, Response,
    TrailEntry, User, UserQuery,
};
use plugin::app::App;
use plugin::app::routes::Operation;
use plugin::bulk::reference;
use plugin::resources::REGISTRY;
use plugin::sql::Statement;
use plugin::store::Store;
use serde_json::{Value, json};

use crate::support::databases::{Database, Engine};
use crate::support::harness::NDJSON;
use crate::support::permissive::{PermissiveHost, permitted};
use crate::support::template::Template;

/// The database of a new store.
static INSTALLED: Template<()> = Template::new();

/// A store without a host.
pub struct Bare {
    pub app: App,
    pub database: Database,
}

/// A host that permits everything and has every user, so that orders may belong to any user.
#[derive(Clone)]
pub struct Directory {
    /// The address of each user.
    pub email: &'static str,
    /// The parameters that the site has set.
    pub set: Value,
    /// The entries of the trail, which stay when the host has been passed on.
    pub trail: Arc<Mutex<Vec<TrailEntry>>>,
}

impl Default for Directory {
    fn default() -> Directory {
        Directory { email: "ada@example.com", set: json!({}), trail: Arc::default() }
    }
}

impl Host for Directory {
    async fn find_user(self: Arc<Self>, query: UserQuery) -> Result<Option<User>, Error> {
        let UserQuery::Id(id) = query else { return Ok(None) };
        Ok(Some(User::new(id, "ada", "Ada", self.email)))
    }

    fn parameters(&self) -> String {
        self.set.to_string()
    }

    async fn send_mail(self: Arc<Self>, _mail: Mail) -> Result<(), Error> {
        Ok(())
    }

    async fn record(self: Arc<Self>, entry: TrailEntry) -> Result<(), Error> {
        self.trail.lock().unwrap().push(entry);
        Ok(())
    }

    /// A number that addresses share only by chance.
    fn email_hash(&self, email: &str) -> Result<String, Error> {
        let sum: u64 = email
            .trim()
            .to_lowercase()
            .bytes()
            .fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        Ok(format!("{sum:016x}"))
    }

    fn log(&self, record: &LogRecord<'_>) {
        PermissiveHost.log(record);
    }
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

/// The user who sends all requests.
fn ada() -> Caller {
    permitted(User::new(7, "ada", "Ada", "ada@example.com"))
}

/// The headers of a file of CSV, and another one.
pub struct FileHeaders(pub Option<(&'static str, String)>);

impl Headers for FileHeaders {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        let all = (0..).map_while(|position| self.at(position));
        all.filter(|(known, _)| *known == name).nth(nth).map(|(_, value)| value)
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        match nth {
            0 => Some(("content-type", "text/csv".as_bytes())),
            1 => Some(("accept", NDJSON.as_bytes())),
            2 => self.0.as_ref().map(|(name, value)| (*name, value.as_bytes())),
            _ => None,
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

    /// Opens a store whose statements may take this long.
    pub async fn hasty(answer: Duration) -> Bare {
        let Bare { app, database } = Bare::open().await;
        app.shop.store.close().await;
        let store = Store::open_for(&database.url(), answer).unwrap();
        Bare { app: App::new(HostHandle::new(PermissiveHost), store, ""), database }
    }

    /// Opens a store for a host with users.
    pub async fn of(engine: Engine, host: HostHandle) -> Bare {
        let (database, ()) = INSTALLED.copy(engine, async || (install(engine).await, ())).await;
        let store = Store::open(&database.url()).unwrap();
        Bare { app: App::new(host, store, ""), database }
    }

    /// The store and the database of a new store to which something has been done; that is done once for all
    /// copies of a template.
    pub async fn prepared(
        template: &Template<()>,
        prepare: impl AsyncFnOnce(&Store),
    ) -> (Store, Database) {
        let make = async || {
            let Bare { app, database } = Bare::open().await;
            prepare(&app.shop.store).await;
            app.shop.store.close().await;
            (database, ())
        };
        let (database, ()) = template.copy(Engine::of_this_run(), make).await;
        (Store::open(&database.url()).unwrap(), database)
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
        let mut ids = Vec::new();
        let segments = path.trim_start_matches('/').split('/').map(|segment| {
            if segment.starts_with(|first: char| first.is_ascii_digit()) {
                ids.push(segment);
                return "{id:digits}";
            }
            segment
        });
        let segments: Vec<&str> = segments.collect();
        let pattern = segments.join("/");
        let mut routes = self.app.routes.iter();
        let named = |path: &str| path.replace("{refund_id:digits}", "{id:digits}");
        let route =
            routes.position(|known| known.method == method && named(&known.path) == pattern);
        let mut request = Request::builder(route.unwrap() as u32, method)
            .path(path)
            .query(query)
            .headers(headers)
            .caller(ada())
            .body(body.to_string().into_bytes());
        for id in ids {
            request = request.param(id);
        }
        request.build()
    }

    /// Imports a file of CSV that comes in pieces, and returns the report, which does so, too.
    pub async fn import(&self, query: &str, headers: FileHeaders, file: Body) -> Body {
        let mut routes = self.app.routes.iter();
        let route = routes.position(|known| matches!(known.operation, Operation::Import));
        let request = Request::builder(route.unwrap() as u32, Method::Post)
            .path("/imports")
            .query(query)
            .headers(headers)
            .caller(ada())
            .stream(file);
        let answer = self.app.handle(request.build()).await;
        assert_eq!(answer.status(), 200, "{}", String::from_utf8_lossy(answer.body()));
        answer.into_body().expect_err("a report is a stream")
    }

    /// All records of a type, which come as they are read.
    pub async fn export(&self, kind: &str) -> Body {
        let mut routes = self.app.routes.iter();
        let route = routes.position(|known| known.path == "exports/{type}");
        let request = Request::builder(route.unwrap() as u32, Method::Get)
            .path(format!("/exports/{kind}"))
            .headers(JsonHeaders)
            .caller(ada())
            .param(kind);
        let answer = self.app.handle(request.build()).await;
        assert_eq!(answer.status(), 200);
        answer.into_body().expect_err("an export is a stream")
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

    /// Removes a trigger of a table again.
    pub async fn drop_trigger(&self, name: &str, table: &str) {
        let of = match self.database.engine {
            Engine::Postgres => format!(" ON {table}"),
            Engine::Sqlite | Engine::MariaDb => String::new(),
        };
        self.run(format!("DROP TRIGGER {name}{of}")).await;
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

/// A new database with the tables and the reference data of a store.
async fn install(engine: Engine) -> Database {
    let database = Database::on(engine).await;
    let store = Store::open(&database.url()).unwrap();
    store.migrate(REGISTRY).await.unwrap();
    reference::install(&store).await.unwrap();
    store.close().await;
    database
}
