//! The form for a new record.

use crate::admin::problem::Problem;
use crate::admin::records::body;
use crate::admin::records::entered::Entered;
use crate::admin::records::faults::Faults;
use crate::admin::records::model::Attribute;
use crate::admin::records::references::{self, Candidates, References};
use crate::admin::records::sending::{Sending, send};
use crate::admin::view::View;
use crate::admin::visit::{Outcome, Visit};

use super::at::At;
use super::done;
use super::form::{ADD, FormPage, KEY, form_key};

pub(crate) async fn blank(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let members = at.offered(at.kind.create.as_ref())?.members();
    let entered = Entered::of_defaults(members);
    render(&at, members, &entered, Candidates::new(), Faults::default()).await
}

pub(crate) async fn add(visit: Visit) -> Result<Outcome, Problem> {
    let at = At::of(&visit)?;
    let route = at.kind.create.as_ref().ok_or(Problem::NotFound)?;
    let members = route.members();
    let mut entered = Entered::of_form(members, &visit.form);
    if visit.form.given(ADD).is_some() {
        let view = render(&at, members, &entered, Candidates::new(), Faults::default()).await?;
        return Ok(Outcome::Answered(view));
    }
    let found = references::resolve(&visit, at.types, members, &mut entered).await?;
    let (mut faults, candidates) = found;
    let body = body::of_new(members, &entered).map_err(|wrong| faults.extend(wrong));
    let (Ok(body), true) = (body, faults.is_empty()) else {
        return Ok(Outcome::Again(render(&at, members, &entered, candidates, faults).await?));
    };
    let (body, key) = (Some(body), visit.form.get(KEY));
    let sending = Sending { route, id: "", parent: "", body, version: "", key };
    let answer = send(&visit, sending).await?;
    if answer.status().is_success() {
        return done::made(&at, answer).await;
    }
    let faults = Faults::of_answer(&answer, route);
    Ok(Outcome::Again(render(&at, members, &entered, candidates, faults).await?))
}

async fn render(
    at: &At<'_>,
    members: &[Attribute],
    entered: &Entered,
    candidates: Candidates,
    faults: Faults,
) -> Result<View, Problem> {
    let visit = at.visit;
    let references = References::look_up(visit, at.types, members, entered, &[], candidates).await;
    let heading = format!("New {}", at.kind.singular);
    FormPage {
        trail: at.trail(None),
        action: format!("{}/new", at.list()),
        hidden: vec![(KEY, form_key(visit, &faults)?)],
        button: format!("Add the {}", at.kind.singular),
        back: at.list(),
        ..FormPage::new(visit, heading, members, entered, &references, faults, true)
    }
    .view()
}
