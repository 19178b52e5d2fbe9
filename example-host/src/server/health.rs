//! Whether the site can answer: its database and each plugin, asked at the same time. Says which
//! part fails and nothing of how.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use host_interface::LoadedPlugin;
use tokio::sync::Mutex;

use crate::site::Site;

/// How long each part may take.
const TIME: Duration = Duration::from_secs(2);

/// The names of what does not answer, or not in time: the database, the site where what this host
/// knows of it is too old, and extensions in use.
pub(crate) async fn failing(site: &Site) -> Vec<String> {
    let plugins: Vec<_> = site
        .plugins()
        .filter(|(description, _)| site.state().snapshot().enabled(&description.name))
        .map(|(description, plugin)| {
            let plugin = Arc::clone(plugin);
            (description.name.clone(), tokio::spawn(async move { plugin_fails(&plugin).await }))
        })
        .collect();
    let mut failing = Vec::new();
    if database_fails(site).await {
        failing.push("database".to_owned());
    }
    // A database that answers is of no use to a host that does not ask it.
    if !site.state().is_trusted() {
        failing.push("site".to_owned());
    }
    for (name, asked) in plugins {
        match asked.await {
            Ok(None) => {}
            Ok(Some(reason)) => {
                tracing::warn!(extension = name, reason, "is not well");
                failing.push(name);
            }
            Err(error) => {
                tracing::error!(extension = name, %error, "could not be asked");
                failing.push(name);
            }
        }
    }
    failing
}

/// How a site is, found out once for all who ask at the same moment: anybody may ask, and as often as
/// they like.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// What was found last, and when that was begun.
    last: Mutex<Option<(Instant, Vec<String>)>>,
}

impl Watch {
    /// The same as [`failing`], by a look that was begun after it was asked for.
    async fn failing(&self, site: &Site) -> Vec<String> {
        let asked = Instant::now();
        let mut last = self.last.lock().await;
        if let Some((began, failing)) = &*last
            && *began >= asked
        {
            return failing.clone();
        }
        let began = Instant::now();
        let found = failing(site).await;
        *last = Some((began, found.clone()));
        found
    }
}

/// The answer to `GET /health`.
pub(crate) async fn answer(site: &Site, watch: &Watch) -> Response<Body> {
    let failing = watch.failing(site).await;
    if failing.is_empty() {
        return response(StatusCode::OK, &serde_json::json!({ "status": "ok" }));
    }
    let body = serde_json::json!({ "status": "unavailable", "failing": failing });
    let mut response = response(StatusCode::SERVICE_UNAVAILABLE, &body);
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

async fn database_fails(site: &Site) -> bool {
    match tokio::time::timeout(TIME, site.state().answers()).await {
        Ok(Ok(_)) => false,
        Ok(Err(error)) => {
            tracing::error!(%error, "the host's database does not answer");
            true
        }
        Err(_) => {
            tracing::error!("the host's database does not answer in time");
            true
        }
    }
}

async fn plugin_fails(plugin: &LoadedPlugin) -> Option<String> {
    match tokio::time::timeout(TIME, plugin.health()).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("does not answer in time".to_owned()),
    }
}

fn response(status: StatusCode, body: &serde_json::Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
