//! The dashboard: health, requests in the last hour, panels of extensions, and recently refused
//! requests, with links to the pages with details.

use askama::Template;
use host_interface::with_separators;

use crate::extensions::registry::ExtensionEntry;
use crate::identity::directory;
use crate::site::storage::{Stored, format_size};
use crate::site::{BASE_PATH, health};
use crate::watch::traffic::{Minute, Refused};

use super::chart::{Chart, Shown};
use super::panels::{self, Drawn};
use super::tokens;
use crate::admin::problem::Problem;
use crate::admin::view::{Exactly, Layout, Moment, View, show};
use crate::admin::visit::Visit;

/// Users are counted only up to this number, because counting more takes too long.
const COUNTED: i64 = 10_000;

#[derive(Template)]
#[template(path = "admin/dashboard.html")]
struct DashboardPage {
    layout: Layout,
    /// The parts that do not answer.
    failing: Vec<String>,
    users: String,
    groups: usize,
    routes: usize,
    /// How many tokens expire soon, in words; empty for none.
    expiring: String,
    hour: Hour,
    panels: Vec<Drawn>,
    refusals: Vec<Refused>,
    extensions: Vec<ExtensionEntry>,
    version: &'static str,
    stored: Stored,
    api: String,
}

/// The requests to the API in the last hour.
struct Hour {
    requests: u64,
    refused: u64,
    failed: u64,
    /// The minutes with requests, newest first.
    busy: Vec<Minute>,
    charts: [Chart; 2],
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let state = visit.site.state();
    let users = directory::count(state.database(), COUNTED + 1).await?;
    let users = if users > COUNTED {
        format!("over {}", with_separators(COUNTED))
    } else {
        with_separators(users)
    };
    // The health is checked first, before a query of this page can fail.
    let failing = health::failing(&visit.site).await;
    show(&DashboardPage {
        layout: visit.layout("Dashboard"),
        failing,
        users,
        groups: visit.site.groups().await?.len(),
        routes: state.descriptions().iter().map(|of| of.routes.len()).sum(),
        expiring: tokens::expiring(&visit).await?.count(),
        hour: hour(visit.site.traffic().hour()),
        panels: panels::of_dashboard(&visit).await,
        refusals: visit.site.traffic().refusals(),
        extensions: visit.site.extensions().await?,
        version: env!("CARGO_PKG_VERSION"),
        stored: visit.site.storage().stored(state.database()).await?,
        api: format!("{}{BASE_PATH}/v1/", visit.origin),
    })
}

fn hour(minutes: Vec<Minute>) -> Hour {
    let sum = |of: fn(&Minute) -> u64| minutes.iter().map(of).sum();
    let (requests, refused, failed): (u64, u64, u64) =
        (sum(|of| of.requests), sum(|of| of.refused), sum(|of| of.failed));
    let most = |of: fn(&Minute) -> u64| minutes.iter().map(of).max().unwrap_or_default();
    let (busiest, worst) = (most(|of| of.requests), most(|of| of.refused + of.failed));
    let chart = |name, title, description, shown: fn(&Minute) -> Shown, most: u64| {
        let ends = ["An hour ago".to_owned(), "Now".to_owned()];
        let most = format!("{} a minute", with_separators(most));
        Chart::new(name, title, description, most, ends, minutes.iter().map(shown).collect())
    };
    let counts = [requests, busiest, refused, failed, worst].map(with_separators);
    let [all, highest, all_refused, all_failed, highest_errors] = counts;
    let charts = [
        chart(
            "requests",
            "Requests in each minute of the last hour",
            format!("Requests: {all} in total, at most {highest} in one minute."),
            |minute| Shown {
                label: format!("{}: {} requests", clock(minute), with_separators(minute.requests)),
                amounts: vec![("usual", u128::from(minute.requests))],
            },
            busiest,
        ),
        chart(
            "errors",
            "Errors in each minute of the last hour",
            format!(
                "Refused: {all_refused}, failed: {all_failed}, at most {highest_errors} in one minute."
            ),
            |minute| {
                let [refused, failed] = [minute.refused, minute.failed].map(with_separators);
                Shown {
                    label: format!("{}: {refused} refused, {failed} failed", clock(minute)),
                    amounts: vec![
                        ("failed", minute.failed.into()),
                        ("refused", minute.refused.into()),
                    ],
                }
            },
            worst,
        ),
    ];
    let busy = minutes.iter().rev().filter(|minute| minute.requests > 0).copied().collect();
    Hour { requests, refused, failed, busy, charts }
}

/// The time of day of a minute.
fn clock(minute: &Minute) -> String {
    let began = minute.began();
    format!("{:02}:{:02}", began.hour(), began.minute())
}
