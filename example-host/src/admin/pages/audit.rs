//! The page of the audit trail: who changed what, newest first, with filters. It is read-only.

use askama::Template;
use axum::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{Date, PrimitiveDateTime, Time};

use crate::watch::audit::{self, Cursor, Entry, Filter, Listed, Origin, Place, Record};

use crate::admin::form::Form;
use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::view::show;
use crate::admin::view::{Exactly, Layout, View};
use crate::admin::visit::Visit;

/// A moment in an address.
const MOMENT: StaticFormatDescription =
    format_description!("[year][month][day]T[hour][minute][second]");

#[derive(Template)]
#[template(path = "admin/audit.html")]
struct Page {
    layout: Layout,
    listed: Listed,
    wanted: Filter,
    /// The days of the filter, for the form.
    since: String,
    until: String,
    /// The addresses of the previous and the next page.
    newer: Option<String>,
    older: Option<String>,
}

impl Page {
    /// Whether a filter is set.
    fn is_filtered(&self) -> bool {
        let Filter { username, origin, record, request, since, until, .. } = &self.wanted;
        let texts = [username, &record.kind, &record.id, request];
        let asked = texts.iter().any(|text| !text.is_empty());
        asked || origin.is_some() || since.is_some() || until.is_some()
    }
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let query = &visit.query;
    let wanted = wanted(query);
    let listed = audit::list(visit.site.state().database(), &wanted).await?;
    let beside = |way: &str, place: &Place| {
        let asked = ["user", "origin", "type", "id", "request", "since", "until"]
            .into_iter()
            .filter_map(|name| Some((name, query.given(name)?)))
            .map(|(name, value)| {
                format!("{name}={}&", utf8_percent_encode(value, NON_ALPHANUMERIC))
            });
        let asked: String = asked.collect();
        let at = place.at.format(MOMENT).unwrap_or_default();
        href(&format!("/audit?{asked}{way}={at}-{}", place.id))
    };
    let newer = listed.newer.as_ref().map(|place| beside("before", place));
    let older = listed.older.as_ref().map(|place| beside("after", place));
    show(&Page {
        layout: visit.layout("Audit trail"),
        listed,
        since: day(&wanted.since),
        until: day(&wanted.until),
        wanted,
        newer,
        older,
    })
}

fn wanted(query: &Form) -> Filter {
    let text = |name: &str| query.get(name).trim().chars().take(150).collect::<String>();
    let day =
        |name: &str| Date::parse(query.get(name), format_description!("[year]-[month]-[day]")).ok();
    let last = Time::MIDNIGHT - time::Duration::SECOND;
    Filter {
        username: text("user"),
        origin: Origin::named(query.get("origin")),
        record: Record { kind: text("type"), id: text("id") },
        request: text("request"),
        since: day("since").map(|day| PrimitiveDateTime::new(day, Time::MIDNIGHT)),
        until: day("until").map(|day| PrimitiveDateTime::new(day, last)),
        from: match (place(query.get("after")), place(query.get("before"))) {
            (Some(place), _) => Cursor::After(place),
            (_, Some(place)) => Cursor::Before(place),
            _ => Cursor::Start,
        },
    }
}

/// Parses a position from an address.
fn place(text: &str) -> Option<Place> {
    let (at, id) = text.split_once('-')?;
    Some(Place { at: PrimitiveDateTime::parse(at, MOMENT).ok()?, id: id.parse().ok()? })
}

/// A day in the format of form fields.
fn day(moment: &Option<PrimitiveDateTime>) -> String {
    moment.map_or_else(String::new, |moment| moment.date().to_string())
}

/// A short description of the action.
fn action(entry: &Entry) -> String {
    let mut letters = entry.what.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => match entry.method.as_str() {
            "DELETE" => "Delete".to_owned(),
            _ if entry.status == StatusCode::CREATED.as_u16() => "Add".to_owned(),
            _ => "Change".to_owned(),
        },
    }
}
