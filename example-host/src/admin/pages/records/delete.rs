//! Deleting a record, after a question that lists what goes with it.

use askama::Template;

use crate::admin::problem::Problem;
use crate::admin::records::faults::Faults;
use crate::admin::records::record::Record;
use crate::admin::records::sending::{CHANGED, Sending, send};
use crate::admin::records::showing;
use crate::admin::view::{Layout, View};
use crate::admin::visit::{Outcome, Visit};

use super::at::At;
use super::form::{KEY, VERSION, form_key, layout, shown};

#[derive(Template)]
#[template(path = "admin/records/delete.html")]
struct DeletePage<'a> {
    layout: Layout,
    trail: Vec<(String, String)>,
    name: String,
    singular: &'a str,
    /// What is deleted with it.
    with_it: Vec<&'a str>,
    alerts: Vec<String>,
    hidden: [(&'static str, String); 2],
    action: String,
    back: String,
}

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    at.offered(at.kind.delete.as_ref())?;
    render(&at, &at.record().await?, Faults::default())
}

pub(crate) async fn delete(visit: Visit) -> Result<Outcome, Problem> {
    let at = At::of(&visit)?;
    let route = at.kind.delete.as_ref().ok_or(Problem::NotFound)?;
    let id = at.id()?;
    let (version, key) = (visit.form.get(VERSION), visit.form.get(KEY));
    let sending = Sending { route, id: &id, parent: "", body: None, version, key };
    let answer = send(&visit, sending).await?;
    let status = answer.status();
    if status.is_success() {
        let message = format!("The {} was deleted.", at.kind.singular);
        return Ok(Outcome::Written { to: at.list(), message });
    }
    let record = at.record().await?;
    let faults = match status.as_u16() {
        CHANGED => Faults::at(
            "",
            format!(
                "The {} has changed since this page was opened. Look at it before you delete it.",
                at.kind.singular
            ),
        ),
        _ => Faults::of_answer(&answer, route),
    };
    Ok(Outcome::Again(render(&at, &record, faults)?))
}

fn render(at: &At<'_>, record: &Record, faults: Faults) -> Result<View, Problem> {
    let name = showing::label(record, at.kind);
    let cascade = at.kind.delete.iter().flat_map(|route| &route.cascade);
    let status = faults.status;
    shown(
        &DeletePage {
            layout: layout(at.visit, &format!("Delete {name}?"), &faults),
            trail: at.trail(Some(record)),
            singular: &at.kind.singular,
            with_it: cascade
                .map(|of| at.types.kind(of).map_or(of.as_str(), |of| &of.title))
                .collect(),
            hidden: [(KEY, form_key(at.visit, &faults)?), (VERSION, record.version.clone())],
            action: format!("{}/delete", at.page(&record.id)),
            back: at.page(&record.id),
            alerts: faults.rest(),
            name,
        },
        status,
    )
}
