//! The health of a site: its database and each enabled extension, checked concurrently. The result
//! names the failing parts; the reasons are logged.

use std::time::Duration;

use host_interface::LoadedPlugin;

use super::Site;

/// The time limit for each check.
const TIME: Duration = Duration::from_secs(2);

/// The names of the failing parts: `database`, `site` if the state in memory is too old, and
/// enabled extensions that fail or do not answer in time.
pub(crate) async fn failing(site: &Site) -> Vec<String> {
    let plugins = site.ask_enabled(|plugin| async move { plugin_fails(&plugin).await });
    let mut failing = Vec::new();
    if database_fails(site).await {
        failing.push("database".to_owned());
    }
    // The database may answer here although the task that reads changes fails.
    if !site.state().is_trusted() {
        failing.push("site".to_owned());
    }
    for (name, asked) in plugins {
        match asked.await {
            Ok(None) => {}
            Ok(Some(reason)) => {
                tracing::warn!(extension = name, reason, "an extension is failing");
                failing.push(name);
            }
            Err(error) => {
                let extension = &name;
                tracing::error!(extension, %error, "the health of an extension is unknown");
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
