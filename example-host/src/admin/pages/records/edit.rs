//! The form that changes a record. Only what was changed is sent; what was changed by others meanwhile is shown beside it.

use crate::admin::problem::Problem;
use crate::admin::records::entered::{Entered, below};
use crate::admin::records::faults::Faults;
use crate::admin::records::model::Attribute;
use crate::admin::records::record::Record;
use crate::admin::records::references::{self, Candidates, References};
use crate::admin::records::sending::{CHANGED, Sending, send};
use crate::admin::records::{body, showing};
use crate::admin::view::View;
use crate::admin::visit::{Outcome, Visit};

use super::at::At;
use super::conflict::{self, Conflict};
use super::done;
use super::form::{ADD, FormPage, KEY, SEEN, VERSION, form_key};

pub(crate) async fn page(visit: Visit) -> Result<View, Problem> {
    let at = At::of(&visit)?;
    let members = at.offered(at.kind.update.as_ref())?.members();
    let record = at.record().await?;
    let entered = Entered::of_record(members, &record.values());
    let form = Form { at, members, record };
    let seen = (form.record.version.clone(), entered.hashes(members).join(" "));
    form.render(&entered, Candidates::new(), Faults::default(), seen).await
}

pub(crate) async fn save(visit: Visit) -> Result<Outcome, Problem> {
    let at = At::of(&visit)?;
    let route = at.kind.update.as_ref().ok_or(Problem::NotFound)?;
    let members = route.members();
    let record = at.record().await?;
    let form = Form { at, members, record };
    let mut entered = Entered::of_form(members, &visit.form);
    if visit.form.given(ADD).is_some() {
        let faults = Faults::default();
        let view = form.render(&entered, Candidates::new(), faults, seen(&visit)).await?;
        return Ok(Outcome::Answered(view));
    }
    let found = references::resolve(&visit, form.at.types, members, &mut entered).await?;
    let (mut faults, candidates) = found;
    let (version, hashes) = seen(&visit);
    let changed = changed(members, &entered, &hashes, &visit);
    if conflict::is_undecided(&visit) {
        return form.conflict(&changed, &entered).await;
    }
    let body = body::of_changes(&changed, &entered, &form.record.values());
    let body = body.map_err(|wrong| faults.extend(wrong));
    let (Ok(body), true) = (body, faults.is_empty()) else {
        return form.again(&entered, candidates, faults).await;
    };
    let page = form.at.page(&form.record.id);
    if changed.is_empty() {
        let message = "Nothing has changed, so nothing was saved.".to_owned();
        return Ok(Outcome::Unchanged { to: page, message });
    }
    // Without versions, what was seen is compared with what there is.
    let now = Entered::of_record(members, &form.record.values()).hashes(members).join(" ");
    if !route.takes_version && hashes != now {
        return form.conflict(&changed, &entered).await;
    }
    let (id, key) = (form.record.id.as_str(), visit.form.get(KEY));
    let sending = Sending { route, id, parent: "", body: Some(body), version: &version, key };
    let answer = send(&visit, sending).await?;
    match answer.status().as_u16() {
        200..300 => {
            let message = format!("{} was saved.", done::name(form.at.kind, &form.record));
            Ok(Outcome::Written { to: page, message })
        }
        CHANGED => {
            let record = form.at.record().await?;
            Form { record, ..form }.conflict(&changed, &entered).await
        }
        _ => form.again(&entered, candidates, Faults::of_answer(&answer, route)).await,
    }
}

/// A form for these members of a record.
struct Form<'v> {
    at: At<'v>,
    members: &'v [Attribute],
    record: Record,
}

impl Form<'_> {
    async fn again(
        &self,
        entered: &Entered,
        candidates: Candidates,
        faults: Faults,
    ) -> Result<Outcome, Problem> {
        let view = self.render(entered, candidates, faults, seen(self.at.visit)).await?;
        Ok(Outcome::Again(view))
    }

    async fn conflict(
        &self,
        changed: &[&Attribute],
        entered: &Entered,
    ) -> Result<Outcome, Problem> {
        let Self { at, members, record } = self;
        let theirs = Entered::of_record(members, &record.values());
        let references = &self.references(entered, Candidates::new()).await;
        let of = Conflict { members, changed, mine: entered, theirs: &theirs, references };
        Ok(Outcome::Again(of.view(at, record)?))
    }

    async fn references(&self, entered: &Entered, candidates: Candidates) -> References {
        let Self { at, members, .. } = self;
        References::look_up(at.visit, at.types, members, entered, &[], candidates).await
    }

    async fn render(
        &self,
        entered: &Entered,
        candidates: Candidates,
        faults: Faults,
        (version, hashes): (String, String),
    ) -> Result<View, Problem> {
        let references = self.references(entered, candidates).await;
        let Self { at, members, record } = self;
        let heading = format!("Edit {}", showing::label(record, at.kind));
        let key = form_key(at.visit, &faults)?;
        FormPage {
            trail: at.trail(Some(record)),
            action: format!("{}/edit", at.page(&record.id)),
            hidden: vec![(KEY, key), (VERSION, version), (SEEN, hashes)],
            button: "Save".to_owned(),
            back: at.page(&record.id),
            ..FormPage::new(at.visit, heading, members, entered, &references, faults, false)
        }
        .view()
    }
}

/// The version and the hashes of the values that the form has shown.
fn seen(visit: &Visit) -> (String, String) {
    (visit.form.get(VERSION).to_owned(), visit.form.get(SEEN).to_owned())
}

/// The attributes whose values are not those that the form has shown, without those that were given up.
fn changed<'a>(
    members: &'a [Attribute],
    entered: &Entered,
    hashes: &str,
    visit: &Visit,
) -> Vec<&'a Attribute> {
    let now = entered.hashes(members);
    let all = members.iter().zip(now).zip(hashes.split(' '));
    let changed = all.filter(|((attribute, now), seen)| now != seen && entered.has(attribute));
    let changed = changed.map(|((attribute, _), _)| attribute);
    let kept = changed.filter(|attribute| {
        !attribute.read_only && !conflict::is_given_up(visit, &below("", &attribute.name))
    });
    kept.collect()
}
