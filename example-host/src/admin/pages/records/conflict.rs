//! What is shown where a record was changed by others while a user has changed it too: both values of each attribute, and
//! the question which is to be kept.

use askama::Template;

use crate::admin::problem::Problem;
use crate::admin::records::entered::{Entered, LISTS, below};
use crate::admin::records::faults::Faults;
use crate::admin::records::model::{Attribute, Shape};
use crate::admin::records::record::Record;
use crate::admin::records::references::References;
use crate::admin::records::showing;
use crate::admin::view::{Layout, Notice, View, show};
use crate::admin::visit::Visit;

use super::at::At;
use super::form::{KEY, SEEN, VERSION, form_key};

/// The hidden field with each attribute that is asked about.
const ASKED: &str = "asked";
/// The beginning of the names of the answers, before the pointer of the attribute.
const TAKE: &str = "take";
/// The answer that gives up the user's own value.
const THEIRS: &str = "theirs";

/// The maximum number of characters of a value that are shown.
const SHOWN: usize = 2000;

#[derive(Template)]
#[template(path = "admin/records/conflict.html")]
struct ConflictPage {
    layout: Layout,
    trail: Vec<(String, String)>,
    heading: String,
    action: String,
    /// What the user has entered, and what makes it a form.
    hidden: Vec<(String, String)>,
    asked: Vec<Difference>,
    /// What others have changed, and the user has not.
    others: Vec<(String, String)>,
    back: String,
}

/// An attribute with two values.
struct Difference {
    pointer: String,
    title: String,
    mine: String,
    theirs: String,
}

/// A change of a user, and the values that the record has by now.
pub(super) struct Conflict<'a> {
    pub(super) members: &'a [Attribute],
    /// The attributes that the user has changed.
    pub(super) changed: &'a [&'a Attribute],
    pub(super) mine: &'a Entered,
    pub(super) theirs: &'a Entered,
    pub(super) references: &'a References,
}

/// Whether a question of this page was left open.
pub(super) fn is_undecided(visit: &Visit) -> bool {
    let mut asked = visit.form.all(ASKED);
    asked.any(|pointer| visit.form.given(&format!("{TAKE}{pointer}")).is_none())
}

/// Whether the user has given up the own value of an attribute.
pub(super) fn is_given_up(visit: &Visit, pointer: &str) -> bool {
    visit.form.get(&format!("{TAKE}{pointer}")) == THEIRS
}

impl Conflict<'_> {
    pub(super) fn view(&self, at: &At<'_>, record: &Record) -> Result<View, Problem> {
        let now = self.theirs.hashes(self.members);
        let heading = format!("{} has changed", showing::label(record, at.kind));
        let notice =
            Notice::bad("Nothing was saved: the record was changed since the form was opened.");
        show(&ConflictPage {
            layout: at.visit.layout(heading.clone()).with_notice(notice),
            trail: at.trail(Some(record)),
            action: format!("{}/edit", at.page(&record.id)),
            hidden: self.hidden(at.visit, record, &now)?,
            asked: self.differences(),
            others: self.others(at.visit, &now),
            back: at.page(&record.id),
            heading,
        })
    }

    /// What the user has changed, beside what there is now.
    fn differences(&self) -> Vec<Difference> {
        let differences = self.changed.iter().map(|attribute| Difference {
            pointer: below("", &attribute.name),
            title: attribute.title.clone(),
            mine: self.text(attribute, self.mine),
            theirs: self.text(attribute, self.theirs),
        });
        differences.filter(|of| of.mine != of.theirs).collect()
    }

    /// The attributes that have other values than the user has seen, and that the user has not changed.
    fn others(&self, visit: &Visit, now: &[String]) -> Vec<(String, String)> {
        let seen = visit.form.get(SEEN).split(' ');
        let all = self.members.iter().zip(now).zip(seen);
        let others = all.filter(|((attribute, now), seen)| {
            now != seen && !self.changed.contains(attribute) && !attribute.read_only
        });
        others.map(|((of, _), _)| (of.title.clone(), self.text(of, self.theirs))).collect()
    }

    /// The fields of the form: it is about the record as it is now.
    fn hidden(
        &self,
        visit: &Visit,
        record: &Record,
        now: &[String],
    ) -> Result<Vec<(String, String)>, Problem> {
        let own = [
            (KEY, form_key(visit, &Faults::default())?),
            (VERSION, record.version.clone()),
            (SEEN, now.join(" ")),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        let entered = self.changed.iter().flat_map(|attribute| {
            let pointer = below("", &attribute.name);
            let list = matches!(attribute.shape, Shape::Parts(_));
            let list = list.then(|| (LISTS.to_owned(), pointer.clone()));
            list.into_iter().chain(self.mine.at(&pointer))
        });
        Ok(own.into_iter().chain(entered).collect())
    }

    /// A value as people read it.
    fn text(&self, attribute: &Attribute, of: &Entered) -> String {
        let texts = of.at(&below("", &attribute.name)).into_iter().map(|(_, text)| text);
        let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(", ");
        let name = self.references.name(attribute, &text);
        match (&attribute.shape, text.as_str(), name) {
            (_, "", _) => "empty".to_owned(),
            (_, _, Some(name)) => name.to_owned(),
            (Shape::Flag, "1", _) => "Yes".to_owned(),
            (Shape::Flag, "0", _) => "No".to_owned(),
            _ => text.chars().take(SHOWN).collect(),
        }
    }
}
