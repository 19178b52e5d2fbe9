//! What else can be done with a record, such as to change its status: a form for each, with the fields of the request.

use crate::admin::problem::Problem;
use crate::admin::records::entered::Entered;
use crate::admin::records::faults::Faults;
use crate::admin::records::model::Action;
use crate::admin::records::record::Record;
use crate::admin::records::references::{self, Below, Candidates, References};
use crate::admin::records::sending::{Sending, send};
use crate::admin::records::{asking, body, showing};
use crate::admin::view::View;
use crate::admin::visit::{Outcome, Visit};

use super::at::At;
use super::done;
use super::form::{ADD, FormPage, KEY, VERSION, form_key};

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let action = action(&at)?;
    at.offered(Some(&action.route))?;
    let record = at.record().await?;
    let entered = Entered::of_defaults(action.route.members());
    render(&at, action, &record, &entered, Candidates::new(), Faults::default()).await
}

pub(crate) async fn run(visit: Visit) -> Result<Outcome, Problem> {
    let at = At::of(&visit)?;
    let action = action(&at)?;
    let record = at.record().await?;
    let members = action.route.members();
    let mut entered = Entered::of_form(members, &visit.form);
    if visit.form.given(ADD).is_some() {
        let faults = Faults::default();
        let view = render(&at, action, &record, &entered, Candidates::new(), faults).await?;
        return Ok(Outcome::Answered(view));
    }
    let found = references::resolve(&visit, at.types, members, &mut entered).await?;
    let (mut faults, candidates) = found;
    let body = body::of_new(members, &entered).map_err(|wrong| faults.extend(wrong));
    let (Ok(body), true) = (body, faults.is_empty()) else {
        let view = render(&at, action, &record, &entered, candidates, faults).await?;
        return Ok(Outcome::Again(view));
    };
    let sending = Sending {
        route: &action.route,
        id: &record.id,
        parent: &parent(&at, action, &record)?,
        body: action.route.body.as_ref().map(|_| body),
        version: visit.form.get(VERSION),
        key: visit.form.get(KEY),
    };
    let answer = send(&visit, sending).await?;
    if answer.status().is_success() {
        return done::acted(&at, &record.id, &action.title, answer).await;
    }
    let faults = Faults::of_answer(&answer, &action.route);
    Ok(Outcome::Again(render(&at, action, &record, &entered, candidates, faults).await?))
}

/// The action in the address.
fn action<'v>(at: &At<'v>) -> Result<&'v Action, Problem> {
    let name = at.visit.params.get(3).ok_or(Problem::NotFound)?;
    at.kind.action(name).ok_or(Problem::NotFound)
}

/// The key of the record that the record belongs to, where the path of the request has it.
fn parent(at: &At<'_>, action: &Action, record: &Record) -> Result<String, Problem> {
    match &action.parent {
        Some(parent) => record.parent(at.kind, parent).ok_or(Problem::NotFound),
        None => Ok(String::new()),
    }
}

/// The version that a request is about: that of the record, or of the one that it belongs to, if the path begins with
/// that.
async fn version(at: &At<'_>, action: &Action, record: &Record) -> Result<String, Problem> {
    let Some(kind) = action.parent.as_deref().and_then(|parent| at.types.kind(parent)) else {
        return Ok(record.version.clone());
    };
    let parent = parent(at, action, record)?;
    match at.offered(kind.show.as_ref()) {
        Ok(_) => Ok(asking::show(at.visit, kind, &parent, &[]).await?.0.version),
        Err(_) => Ok(String::new()),
    }
}

async fn look_up(
    at: &At<'_>,
    action: &Action,
    record: &Record,
    entered: &Entered,
    candidates: Candidates,
) -> References {
    let lists = at.kind.nested.iter().filter(|nested| !nested.single);
    let below = lists.map(|nested| Below {
        kind: &nested.kind,
        route: &nested.route,
        query: &nested.query,
        id: &record.id,
    });
    let below: Vec<Below<'_>> = below.collect();
    let members = action.route.members();
    References::look_up(at.visit, at.types, members, entered, &below, candidates).await
}

async fn render(
    at: &At<'_>,
    action: &Action,
    record: &Record,
    entered: &Entered,
    candidates: Candidates,
    faults: Faults,
) -> Result<View, Problem> {
    let references = look_up(at, action, record, entered, candidates).await;
    let heading = format!("{}: {}", showing::label(record, at.kind), action.title);
    let key = form_key(at.visit, &faults)?;
    // What was entered is about the version that the form showed, unless the page shows a later one.
    let version = match at.visit.form.given(VERSION) {
        Some(version) if !faults.has_code("version_mismatch") => version.to_owned(),
        _ => version(at, action, record).await?,
    };
    let members = action.route.members();
    FormPage {
        trail: at.trail(Some(record)),
        lead: action.route.summary.clone(),
        action: format!("{}/do/{}", at.page(&record.id), action.name),
        hidden: vec![(KEY, key), (VERSION, version)],
        button: action.title.clone(),
        back: at.page(&record.id),
        ..FormPage::new(at.visit, heading, members, entered, &references, faults, true)
    }
    .view()
}
