//! The form that gives an API token a new secret, while the old one may work for some time.

use std::time::Duration;

use askama::Template;

use crate::site::operations::tokens as operations;

use super::token::{Facts, in_path, which, with_secret};
use super::token_new::{end_field, entered_moment};
use crate::admin::problem::Problem;
use crate::admin::view::{Field, Layout, View, show};
use crate::admin::visit::{Outcome, Visit};

/// For how many hours the old secret may work.
const OVERLAPS: [(u32, &str); 4] = [
    (0, "Not at all: it stops working at once"),
    (1, "For 1 hour"),
    (24, "For 24 hours"),
    (72, "For 72 hours"),
];

#[derive(Template)]
#[template(path = "admin/token_rotate.html")]
struct RotationPage {
    layout: Layout,
    facts: Facts,
    fields: [Field; 2],
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    render(&visit, None).await
}

pub(crate) async fn rotate(visit: Visit) -> Result<Outcome, Problem> {
    let token = in_path(&visit).await?;
    let overlap = visit.form.get("overlap");
    let hours = OVERLAPS.iter().find(|(hours, _)| hours.to_string() == overlap);
    let (hours, _) = hours.ok_or_else(|| Problem::Refused("choose an overlap".to_owned()))?;
    let overlap = Duration::from_secs(u64::from(*hours) * 60 * 60);
    let expires_on = match entered_moment(visit.form.get("expires")) {
        Ok(expires_on) => expires_on,
        Err(why) => return Ok(Outcome::Again(render(&visit, Some(&why)).await?)),
    };
    let site = visit.site.shown();
    match operations::rotate(&site, which(&token), overlap, expires_on).await? {
        Ok(made) => with_secret(&visit, &token.name, made).await,
        Err(why) => Ok(Outcome::Again(render(&visit, Some(&why)).await?)),
    }
}

async fn render(visit: &Visit, fault: Option<&str>) -> Result<View, Problem> {
    let token = in_path(visit).await?;
    let layout = visit
        .layout(format!("Rotate {} of {}", token.name, token.username))
        .warning_if(fault.is_some(), "The token was not rotated. See below.");
    let overlaps = OVERLAPS.map(|(hours, called)| (hours.to_string(), called));
    let empty = match token.expires_on {
        Some(_) if token.is_expired() => Some("It has expired and needs another end."),
        Some(_) => Some("Empty: when it did before."),
        None => None,
    };
    let fields = [
        Field::choice("overlap", "The old secret still works", overlaps)
            .value(visit.form.get("overlap")),
        end_field(visit, empty).value(visit.form.get("expires")).fault(fault),
    ];
    show(&RotationPage { layout, facts: Facts { token }, fields })
}
