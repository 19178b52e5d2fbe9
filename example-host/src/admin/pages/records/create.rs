//! The form for a new record.

use crate::admin::problem::Problem;
use crate::admin::records::body;
use crate::admin::records::entered::Entered;
use crate::admin::records::faults::Faults;
use crate::admin::records::model::Attribute;
use crate::admin::records::references::References;
use crate::admin::records::sending::{Sending, send};
use crate::admin::view::{View, show};
use crate::admin::visit::{Outcome, Visit};

use super::at::At;
use super::done;
use super::form::{ADD, FormPage, KEY, form_key, layout, parts};

pub(crate) async fn blank(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let members = at.offered(at.kind.create.as_ref())?.members();
    let entered = Entered::of_defaults(members);
    let references = References::look_up(&visit, at.types, members, &entered, &[]).await?;
    render(&at, members, &entered, &references, Faults::default())
}

pub(crate) async fn add(visit: Visit) -> Result<Outcome, Problem> {
    let at = At::of(&visit)?;
    let route = at.kind.create.as_ref().ok_or(Problem::NotFound)?;
    let members = route.members();
    let mut entered = Entered::of_form(members, &visit.form);
    let mut references = References::look_up(&visit, at.types, members, &entered, &[]).await?;
    if visit.form.given(ADD).is_some() {
        let view = render(&at, members, &entered, &references, Faults::default())?;
        return Ok(Outcome::Answered(view));
    }
    let unknown = references.resolve(&visit, at.types, members, &mut entered).await?;
    let body = match body::of_new(members, &entered) {
        Ok(body) if unknown.is_empty() => body,
        Ok(_) => return again(&at, members, &entered, &references, unknown),
        Err(mut faults) => {
            faults.extend(unknown);
            return again(&at, members, &entered, &references, faults);
        }
    };
    let (body, key) = (Some(body), visit.form.get(KEY));
    let sending = Sending { route, id: "", parent: "", body, version: "", key };
    let answer = send(&visit, sending).await?;
    if answer.status().is_success() {
        return done::made(&at, answer).await;
    }
    let faults = Faults::of_answer(&answer);
    again(&at, members, &entered, &references, faults)
}

fn again(
    at: &At<'_>,
    members: &[Attribute],
    entered: &Entered,
    references: &References,
    faults: Faults,
) -> Result<Outcome, Problem> {
    Ok(Outcome::Again(render(at, members, entered, references, faults)?))
}

fn render(
    at: &At<'_>,
    members: &[Attribute],
    entered: &Entered,
    references: &References,
    mut faults: Faults,
) -> Result<View, Problem> {
    let heading = format!("New {}", at.kind.singular);
    let layout = layout(at.visit, &heading, &faults);
    let key = form_key(at.visit, &faults)?;
    let (parts, left_out) = parts(at.visit, members, entered, references, &mut faults, true);
    show(&FormPage {
        layout,
        trail: at.trail(None),
        lead: String::new(),
        alerts: faults.rest(),
        action: format!("{}/new", at.list()),
        hidden: vec![(KEY, key)],
        parts,
        left_out,
        button: format!("Add the {}", at.kind.singular),
        back: at.list(),
        heading,
    })
}
