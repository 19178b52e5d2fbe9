//! The forms for something new: a record, or what else can be done with one, such as to change its status. Each has the
//! fields of a request.

use crate::admin::problem::Problem;
use crate::admin::records::entered::Entered;
use crate::admin::records::faults::Faults;
use crate::admin::records::model::{Action, Route};
use crate::admin::records::record::Record;
use crate::admin::records::references::{self, Below, Candidates, References};
use crate::admin::records::sending::{Sending, send};
use crate::admin::records::{asking, body, showing};
use crate::admin::view::View;
use crate::admin::visit::{Outcome, Visit};

use super::at::At;
use super::done;
use super::form::{ADD, FormPage, KEY, VERSION, form_key};

/// The form for a new record.
pub(crate) async fn blank(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let route = at.offered(at.kind.create.as_ref())?;
    Form { at, route, about: None }.blank().await
}

pub(crate) async fn add(visit: Visit) -> Result<Outcome, Problem> {
    let at = At::of(&visit)?;
    let route = at.kind.create.as_ref().ok_or(Problem::NotFound)?;
    Form { at, route, about: None }.submit().await
}

/// The form for what is done with a record.
pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let action = action(&at)?;
    let route = at.offered(Some(&action.route))?;
    let about = Some((action, at.record().await?));
    Form { at, route, about }.blank().await
}

pub(crate) async fn run(visit: Visit) -> Result<Outcome, Problem> {
    let at = At::of(&visit)?;
    let action = action(&at)?;
    let about = Some((action, at.record().await?));
    Form { at, route: &action.route, about }.submit().await
}

/// Whether the action may change what is kept about a person.
pub(crate) fn is_about_persons(visit: &Visit) -> bool {
    let action = At::of(visit).and_then(|at| action(&at));
    action.is_ok_and(|action| {
        action.route.permissions.iter().any(|needed| needed.is_about_persons(&visit.site))
    })
}

/// The action in the address.
fn action<'v>(at: &At<'v>) -> Result<&'v Action, Problem> {
    let name = at.visit.params.get(3).ok_or(Problem::NotFound)?;
    at.kind.actions.iter().find(|action| action.name == *name).ok_or(Problem::NotFound)
}

struct Form<'v> {
    at: At<'v>,
    route: &'v Route,
    /// What is done with which record; `None` for a new record.
    about: Option<(&'v Action, Record)>,
}

impl Form<'_> {
    async fn blank(&self) -> Result<View, Problem> {
        let entered = Entered::of_defaults(self.route.members());
        self.render(&entered, Candidates::new(), Faults::default()).await
    }

    async fn submit(&self) -> Result<Outcome, Problem> {
        let Self { at, route, about } = self;
        let (visit, members) = (at.visit, route.members());
        let mut entered = Entered::of_form(members, &visit.form);
        if visit.form.given(ADD).is_some() {
            let view = self.render(&entered, Candidates::new(), Faults::default()).await?;
            return Ok(Outcome::Answered(view));
        }
        let found = references::resolve(visit, at.types, members, &mut entered).await?;
        let (mut faults, candidates) = found;
        let body = body::of_new(members, &entered).map_err(|wrong| faults.extend(wrong));
        let (Ok(body), true) = (body, faults.is_empty()) else {
            return Ok(Outcome::Again(self.render(&entered, candidates, faults).await?));
        };
        let (id, parent, version) = match about {
            Some((action, record)) => {
                (record.id.as_str(), parent(at, action, record)?, visit.form.get(VERSION))
            }
            None => ("", String::new(), ""),
        };
        let (body, key) = (route.body.as_ref().map(|_| body), visit.form.get(KEY));
        let sending = Sending { route, id, parent: &parent, body, version, key };
        let answer = send(visit, sending).await?;
        if answer.status().is_success() {
            return match about {
                Some((action, record)) => done::acted(at, &record.id, &action.title, answer).await,
                None => done::made(at, answer).await,
            };
        }
        let faults = Faults::of_answer(&answer, route);
        Ok(Outcome::Again(self.render(&entered, candidates, faults).await?))
    }

    async fn render(
        &self,
        entered: &Entered,
        candidates: Candidates,
        faults: Faults,
    ) -> Result<View, Problem> {
        let Self { at, route, about } = self;
        let (visit, members) = (at.visit, route.members());
        let mut below = Vec::new();
        if let Some((_, record)) = about {
            let lists = at.kind.nested.iter().filter(|nested| !nested.single);
            below.extend(lists.map(|nested| Below {
                kind: &nested.kind,
                route: &nested.route,
                query: &nested.query,
                id: &record.id,
            }));
        }
        let references =
            References::look_up(visit, at.types, members, entered, &below, candidates).await;
        let key = form_key(visit, &faults)?;
        let Some((action, record)) = about else {
            let heading = format!("New {}", at.kind.singular);
            return FormPage {
                trail: at.trail(None),
                action: format!("{}/new", at.list()),
                hidden: vec![(KEY, key)],
                button: format!("Add the {}", at.kind.singular),
                back: at.list(),
                ..FormPage::new(visit, heading, members, entered, &references, faults, true)
            }
            .view();
        };
        let heading = format!("{}: {}", showing::label(record, at.kind), action.title);
        // What was entered is about the version that the form showed, unless the page shows a later one.
        let version = match visit.form.given(VERSION) {
            Some(version) if !faults.has_code("version_mismatch") => version.to_owned(),
            _ => version(at, action, record).await?,
        };
        FormPage {
            trail: at.trail(Some(record)),
            lead: action.route.summary.clone(),
            action: format!("{}/do/{}", at.page(&record.id), action.name),
            hidden: vec![(KEY, key), (VERSION, version)],
            button: action.title.clone(),
            back: at.page(&record.id),
            ..FormPage::new(visit, heading, members, entered, &references, faults, true)
        }
        .view()
    }
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
