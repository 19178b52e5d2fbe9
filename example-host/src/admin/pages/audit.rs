//! The page of the audit trail: who changed what, newest first, with filters. It is read-only. Where the
//! filter is about one request or record, the panels of extensions about it come first; what is in them
//! is theirs.

use std::collections::BTreeSet;

use askama::Template;
use axum::body::Body;
use axum::http::StatusCode;
use futures_util::stream;
use host_interface::Subject;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{Date, PrimitiveDateTime, Time};

use crate::base::error::Error;
use crate::base::text::capitalised;
use crate::watch::audit::{self, Cursor, Entry, Export, Filter, Format, Origin, Place, Record};

use super::panels::{self, Detail, Drawn};
use crate::admin::form::Form;
use crate::admin::paths::href;
use crate::admin::problem::Problem;
use crate::admin::view::{Exactly, Layout, View, show};
use crate::admin::visit::Visit;

/// A moment in an address.
const MOMENT: StaticFormatDescription =
    format_description!("[year][month][day]T[hour][minute][second]");

#[derive(Template)]
#[template(path = "admin/audit.html")]
struct AuditPage {
    layout: Layout,
    /// The panels about the request or the record of the filter.
    panels: Vec<Drawn>,
    /// The entries, each with the titles of the panels about its request.
    entries: Vec<(Entry, String)>,
    wanted: Filter,
    /// The days of the filter, for the form.
    since: String,
    until: String,
    /// The addresses of the previous and the next page.
    newer: Option<String>,
    older: Option<String>,
    /// The addresses of the exports of all entries that match, each with its title.
    exports: [(String, &'static str); 2],
}

impl AuditPage {
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
    let asked = ["user", "origin", "type", "id", "request", "since", "until"]
        .into_iter()
        .filter_map(|name| Some((name, query.given(name)?)))
        .map(|(name, value)| format!("{name}={}&", utf8_percent_encode(value, NON_ALPHANUMERIC)));
    let asked: String = asked.collect();
    let beside = |way: &str, place: &Place| {
        let at = place.at.format(MOMENT).unwrap_or_default();
        href(&format!("/audit?{asked}{way}={at}-{}", place.id))
    };
    let exports = [("ndjson", "Export as NDJSON"), ("csv", "Export as CSV")]
        .map(|(format, title)| (href(&format!("/audit/export?{asked}format={format}")), title));
    let newer = listed.newer.as_ref().map(|place| beside("before", place));
    let older = listed.older.as_ref().map(|place| beside("after", place));
    let details = panels::details(&visit);
    let subject = subject(&wanted, &listed.entries);
    let panels = match &subject {
        Some(subject) => {
            let chosen = chosen(&details, subject, &listed.entries);
            panels::about(&visit, subject, chosen).await
        }
        None => Vec::new(),
    };
    let entries = listed.entries.into_iter().map(|entry| {
        let titles = titles(&details, &entry, subject.as_ref());
        (entry, titles)
    });
    show(&AuditPage {
        layout: visit.layout("Audit trail"),
        panels,
        entries: entries.collect(),
        since: day(&wanted.since),
        until: day(&wanted.until),
        wanted,
        newer,
        older,
        exports,
    })
}

/// All entries that match the filter, which are read while they are sent.
pub(crate) async fn export(visit: Visit) -> Result<View, Problem> {
    let (format, media_type, name) = match visit.query.get("format") {
        "csv" => (Format::Csv, "text/csv; charset=utf-8", "audit.csv"),
        _ => (Format::Ndjson, "application/x-ndjson", "audit.ndjson"),
    };
    let export = Export::new(visit.site.state().database(), format, wanted(&visit.query));
    let pieces = stream::try_unfold(export, async |mut export| {
        let piece = export.next().await.inspect_err(|error| {
            tracing::error!(%error, "an export of the audit trail was interrupted");
        })?;
        Ok::<_, Error>(piece.map(|piece| (piece, export)))
    });
    Ok(View::file(media_type, name, Body::from_stream(pieces)))
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

/// What the filter is about: one request, or else one record.
fn subject(wanted: &Filter, entries: &[Entry]) -> Option<Subject> {
    let Record { kind, id } = &wanted.record;
    if wanted.request.is_empty() {
        let is_one = !kind.is_empty() && !id.is_empty();
        return is_one.then(|| Subject::Record { kind: kind.clone(), id: id.clone() });
    }
    let ids: BTreeSet<&str> = entries.iter().map(|entry| &*entry.request).collect();
    let id = match ids.first() {
        // The id may be that of a client, which can send the same one many times.
        Some(own) if !ids.contains(&*wanted.request) => (ids.len() == 1).then_some(own)?,
        // A request without an entry has changed nothing, or its entry is no longer kept.
        _ => wanted.request.as_str(),
    };
    Some(Subject::Request(id.to_owned()))
}

/// The panels about a request or a record.
fn chosen<'a>(details: &[Detail<'a>], subject: &Subject, entries: &[Entry]) -> Vec<Detail<'a>> {
    let is_about = |detail: &&Detail<'a>| match subject {
        Subject::Record { kind, .. } => detail.is_about_records(kind),
        Subject::Request(id) => {
            let mut routes = entries.iter().filter(|entry| entry.request == *id).peekable();
            match routes.peek() {
                Some(_) => routes.any(|entry| detail.is_about_requests_to(&entry.route)),
                None => detail.is_about_requests(),
            }
        }
        _ => false,
    };
    details.iter().filter(is_about).copied().collect()
}

/// The titles of the panels about the request of an entry, unless the page shows them already.
fn titles(details: &[Detail<'_>], entry: &Entry, shown: Option<&Subject>) -> String {
    let is_shown = matches!(shown, Some(Subject::Request(id)) if *id == entry.request);
    if entry.request.is_empty() || is_shown {
        return String::new();
    }
    let about = details.iter().filter(|detail| detail.is_about_requests_to(&entry.route));
    about.map(Detail::title).collect::<Vec<_>>().join(", ")
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
    let what = match (entry.what.as_str(), entry.method.as_str()) {
        ("", "DELETE") => "delete",
        ("", _) if entry.status == StatusCode::CREATED.as_u16() => "add",
        ("", _) => "change",
        (what, _) => what,
    };
    capitalised(what)
}
