//! The first page: what this site is, and where to go on.

use askama::Template;

use crate::database::{Database, Engine};
use crate::directory;
use crate::extensions::ExtensionEntry;
use crate::site::BASE_PATH;

use super::view::{Layout, View};
use super::visit::{Problem, Visit, show};

/// Beyond this many nobody wants to know how many users there are, and counting takes its time.
const COUNTED: i64 = 10_000;

#[derive(Template)]
#[template(path = "admin/dashboard.html")]
struct Page {
    layout: Layout,
    version: &'static str,
    engine: &'static str,
    api: String,
    users: String,
    groups: usize,
    routes: usize,
    extensions: Vec<ExtensionEntry>,
}

pub(super) async fn page(visit: Visit) -> Result<View, Problem> {
    let state = visit.site.state();
    let users = directory::count(state.database(), COUNTED + 1).await?;
    let users = if users > COUNTED { format!("over {COUNTED}") } else { users.to_string() };
    show(&Page {
        layout: visit.layout("Dashboard"),
        version: env!("CARGO_PKG_VERSION"),
        engine: engine(state.database()),
        api: format!("{}{BASE_PATH}/v1/", visit.origin),
        users,
        groups: visit.site.groups().await?.len(),
        routes: state.descriptions().iter().map(|of| of.routes.len()).sum(),
        extensions: visit.site.extensions().await?,
    })
}

fn engine(database: &Database) -> &'static str {
    match database.engine() {
        Engine::Sqlite => "SQLite",
        Engine::Postgres => "PostgreSQL",
        Engine::MySql => "MariaDB or MySQL",
    }
}
