//! What is shown after the API has done something: the page of the record, or the answer itself where it has something
//! that no later one has, such as a secret.

use askama::Template;
use axum::body::Bytes;
use axum::http::{Response, StatusCode};
use serde_json::Value;

use crate::admin::openapi::plain;
use crate::admin::problem::Problem;
use crate::admin::records::asking;
use crate::admin::records::model::Kind;
use crate::admin::records::record::Record;
use crate::admin::records::showing::{self, Names};
use crate::admin::view::{Layout, View, show};
use crate::admin::visit::Outcome;

use super::at::At;

/// The maximum number of characters of a record's name in a message, which is kept in a cookie.
const NAME: usize = 60;
/// The maximum number of characters of a value that is not shown only once.
const VALUE: usize = 2000;

#[derive(Template)]
#[template(path = "admin/records/result.html")]
struct ResultPage {
    layout: Layout,
    trail: Vec<(String, String)>,
    heading: String,
    /// What is shown only here: titles and values.
    once: Vec<(String, String)>,
    facts: Vec<(String, String)>,
    on: String,
}

/// A record was made.
pub(super) async fn made(at: &At<'_>, answer: Response<Bytes>) -> Result<Outcome, Problem> {
    let Some(record) = record_of(at.kind, &answer).filter(|record| record.kind == at.kind.name)
    else {
        let message = format!("The {} was added.", at.kind.singular);
        return Ok(Outcome::Written { to: at.list(), message });
    };
    let message = format!("{} was added.", name(at.kind, &record));
    written(at, &record, message).await
}

/// Something was done with a record. The answer has the record, or what was made of it.
pub(super) async fn acted(
    at: &At<'_>,
    id: &str,
    title: &str,
    answer: Response<Bytes>,
) -> Result<Outcome, Problem> {
    let message = format!("{title}: done.");
    match record_of(at.kind, &answer) {
        Some(record) if record.kind == at.kind.name && record.id == id => {
            written(at, &record, message).await
        }
        // Nothing was made that could be looked at later, so the answer is shown.
        Some(record) if answer.status() == StatusCode::OK => {
            let facts = at.types.kind(&record.kind).map(|kind| facts(&record, kind));
            let view = result(at, id, &message, Vec::new(), facts.unwrap_or_default())?;
            Ok(Outcome::Answered(view))
        }
        _ => Ok(Outcome::Written { to: at.page(id), message }),
    }
}

/// The page of the record, unless the answer has values that it does not have any more.
async fn written(at: &At<'_>, record: &Record, message: String) -> Result<Outcome, Problem> {
    let to = at.page(&record.id);
    if at.offered(at.kind.show.as_ref()).is_err() {
        return Ok(Outcome::Written { to: at.list(), message });
    }
    let later = asking::show(at.visit, at.kind, &record.id, &[]).await;
    let once = later.map_or_else(|_| Vec::new(), |(later, _)| shown_once(at.kind, record, &later));
    if once.is_empty() {
        Ok(Outcome::Written { to, message })
    } else {
        Ok(Outcome::Answered(result(at, &record.id, &message, once, Vec::new())?))
    }
}

/// The values of a record that a later answer does not have.
fn shown_once(kind: &Kind, first: &Record, later: &Record) -> Vec<(String, String)> {
    let is_gone = |name: &str| later.attributes.get(name).is_none_or(is_empty);
    let once = kind.attributes.iter().filter_map(|attribute| {
        let value = first.attributes.get(&attribute.name).filter(|value| !is_empty(value))?;
        is_gone(&attribute.name).then(|| (attribute.title.clone(), plain(value)))
    });
    once.collect()
}

/// The values of a record that has no page.
fn facts(record: &Record, kind: &Kind) -> Vec<(String, String)> {
    let facts = kind.attributes.iter().map(|attribute| {
        let shown = showing::of_record(record, attribute, &Names::default(), VALUE);
        (attribute.title.clone(), shown.text)
    });
    facts.filter(|(_, text)| !text.is_empty()).collect()
}

fn result(
    at: &At<'_>,
    id: &str,
    heading: &str,
    once: Vec<(String, String)>,
    facts: Vec<(String, String)>,
) -> Result<View, Problem> {
    show(&ResultPage {
        layout: at.visit.layout(heading),
        trail: at.trail(None),
        heading: heading.to_owned(),
        once,
        facts,
        on: at.page(id),
    })
}

/// The name of a record in a message.
pub(super) fn name(kind: &Kind, record: &Record) -> String {
    showing::label(record, kind).chars().take(NAME).collect()
}

/// The record in an answer, which may be of another type.
fn record_of(kind: &Kind, answer: &Response<Bytes>) -> Option<Record> {
    let answer: Value = serde_json::from_slice(answer.body()).ok()?;
    Record::of_answer(kind, &answer)
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || *value == "" || value.as_array().is_some_and(Vec::is_empty)
}
