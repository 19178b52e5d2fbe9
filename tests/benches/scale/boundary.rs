//! The cost of the boundary: routes through the loaded library, against the same handler linked
//! into the server.
//!
//! Each variant runs in a process of its own, because two copies of SQLite must not open one file
//! in one process. Both use the same minimal host and the same axum handler, so that they differ
//! only in the boundary.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::permissive::{PermissiveHost, permitted};
use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use bytes::Bytes;
use host_interface::{
    Environment, Headers, HostHandle, LoadedPlugin, Method, ProgressHandle, Request, Response, User,
};
use plugin::app::{self, App};
use plugin::bulk::{demo, reference};
use plugin::resources::REGISTRY;
use plugin::store::Store;
use plugin::wire::document::MEDIA_TYPE;
use serde_json::Map;

use super::load::ROOT;
use super::race;
use super::stores::Host;

/// The share of the linked handler's requests per second that the loaded one must reach.
const BAR: f64 = 0.92;

/// A route with a query and one without. The cost of the boundary shows most where there is little
/// other work.
const ROUTES: [(&str, &str); 2] =
    [("/manufacturers", "manufacturers.list"), ("/config", "config.show")];

/// Measures both alternately.
pub async fn measure(rounds: usize) {
    let data = tempfile::tempdir().unwrap();
    let serve = |variant: &str| {
        let database = data.path().join(variant).with_extension("db");
        Host::of_this_program(variant, &database.display().to_string())
    };
    let (linked, loaded) = (serve("linked"), serve("loaded"));
    println!("## The boundary\n");
    race::head(["linked", "loaded"], rounds);
    for (path, _) in ROUTES {
        race::row(path, [&linked, &loaded], rounds, BAR).await;
    }
    println!();
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

/// The routes of one variant, on a demo store at this path.
pub async fn router(variant: &str, database: &str) -> Router {
    let environment = Environment::new(format!("sqlite://{database}")).base_path("/api/index.php");
    let handler = match variant {
        "loaded" => {
            let library = host_interface::open(&library()).unwrap();
            let loaded = library.create(PermissiveHost, &environment).unwrap();
            loaded.install().await.unwrap();
            let options = demo::options().map(|option| (option.name, option.default));
            loaded.command("demo", Map::from_iter(options), ()).await.unwrap();
            Handler::Loaded(loaded)
        }
        _ => {
            let store = Store::open(&environment.database_url).unwrap();
            store.migrate(REGISTRY).await.unwrap();
            reference::install(&store).await.unwrap();
            demo::fill(&store, demo::Size::default(), &ProgressHandle::new(())).await.unwrap();
            Handler::Linked(Box::new(App::new(
                HostHandle::new(PermissiveHost),
                store,
                &environment.base_path,
            )))
        }
    };
    let user = permitted(User::new(1, "bench", "Bench", "bench@example.com"));
    let handler = Arc::new(handler);
    let described = app::describe().routes;
    ROUTES.into_iter().fold(Router::new(), |router, (path, name)| {
        let route = described.iter().find(|route| route.name == name).unwrap().handler;
        let (handler, user, path) = (Arc::clone(&handler), user.clone(), format!("{ROOT}{path}"));
        let at = path.clone();
        let answer = move |headers: HeaderMap| {
            let (handler, user, path) = (Arc::clone(&handler), user.clone(), path.clone());
            async move {
                let request = Request::builder(route, Method::Get)
                    .path(path)
                    .headers(Sent(headers))
                    .caller(user)
                    .id("bench")
                    .build();
                let response = handler.handle(request).await;
                let status = StatusCode::from_u16(response.status()).unwrap();
                let kind = [(header::CONTENT_TYPE, MEDIA_TYPE)];
                (status, kind, Bytes::from_owner(response.into_body().unwrap())).into_response()
            }
        };
        router.route(&at, get(answer))
    })
}

/// The library from the same build as this program.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let name = format!("{}plugin{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    program.parent().map(Path::to_path_buf).unwrap().join(name)
}

struct Sent(HeaderMap);

impl Headers for Sent {
    fn get(&self, name: &str, nth: usize) -> Option<&[u8]> {
        self.0.get_all(name).iter().nth(nth).map(|value| value.as_bytes())
    }

    fn at(&self, nth: usize) -> Option<(&str, &[u8])> {
        self.0.iter().nth(nth).map(|(name, value)| (name.as_str(), value.as_bytes()))
    }
}
