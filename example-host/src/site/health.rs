//! Whether a site can answer: its database and each extension in use, asked at the same time. Names which
//! part fails and nothing of how; who asks is not known here.

use std::sync::Arc;
use std::time::Duration;

use host_interface::LoadedPlugin;

use super::Site;

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
                tracing::warn!(extension = name, reason, "is failing");
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
