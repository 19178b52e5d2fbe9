//! What the pages with forms about records have in common.

use askama::Template;
use axum::http::StatusCode;

use crate::admin::problem::Problem;
use crate::admin::records::entered::Entered;
use crate::admin::records::faults::{Change, Faults};
use crate::admin::records::fields::{Filling, Part};
use crate::admin::records::model::Attribute;
use crate::admin::records::references::References;
use crate::admin::view::{Layout, Notice, View, show};
use crate::admin::visit::Visit;
use crate::base::secret;

/// The hidden field with the key that makes a form that is sent twice do something once.
pub(super) const KEY: &str = "key";
/// The hidden field with the version of the record that the form shows.
pub(super) const VERSION: &str = "version";
/// The hidden field with the hashes of the values that the form shows.
pub(super) const SEEN: &str = "seen";
/// The button that adds a row to a list.
pub(super) const ADD: &str = "add";

#[derive(Template)]
#[template(path = "admin/records/form.html")]
pub(super) struct FormPage<'a> {
    pub(super) layout: Layout,
    /// What leads to the page: addresses and titles.
    pub(super) trail: Vec<(String, String)>,
    pub(super) heading: String,
    pub(super) lead: String,
    /// What is wrong with the request as a whole.
    pub(super) alerts: Vec<String>,
    /// The address of the form, which is also that of the page.
    pub(super) action: String,
    pub(super) hidden: Vec<(&'static str, String)>,
    pub(super) parts: Vec<Part>,
    /// The attributes that are left out, because they are too many or too long.
    pub(super) left_out: Vec<&'a str>,
    pub(super) button: String,
    pub(super) back: String,
    /// The status of a page about what the extension has failed to do.
    pub(super) status: Option<StatusCode>,
}

/// How many attributes that are left out are named.
const NAMED: usize = 20;
/// The maximum number of characters of their names.
const NAME: usize = 60;

impl<'a> FormPage<'a> {
    /// What every form has: its heading, and fields for these attributes with what is wrong with them.
    pub(super) fn new(
        visit: &Visit,
        heading: String,
        attributes: &'a [Attribute],
        entered: &Entered,
        references: &References,
        mut faults: Faults,
        is_new: bool,
    ) -> Self {
        let layout = layout(visit, &heading, &faults);
        let (status, grown) = (faults.status, visit.form.get(ADD));
        let (parts, left_out) =
            Filling { entered, faults: &mut faults, references, is_new, grown }.parts(attributes);
        Self {
            layout,
            trail: Vec::new(),
            heading,
            lead: String::new(),
            alerts: faults.rest(),
            action: String::new(),
            hidden: Vec::new(),
            parts,
            left_out,
            button: String::new(),
            back: String::new(),
            status,
        }
    }

    pub(super) fn view(&self) -> Result<View, Problem> {
        shown(self, self.status)
    }

    /// The names of the first attributes that are left out.
    fn named(&self) -> Vec<String> {
        let titles = self.left_out.iter().take(NAMED);
        titles.map(|title| title.chars().take(NAME).collect()).collect()
    }

    /// How many more are left out.
    fn unnamed(&self) -> usize {
        self.left_out.len().saturating_sub(NAMED)
    }

    /// Whether rows can be added to a list of it.
    fn grows(&self) -> bool {
        self.parts.iter().any(Part::grows)
    }
}

/// Renders a page with a form. It has a status of its own where the extension has failed.
pub(super) fn shown(page: &impl Template, status: Option<StatusCode>) -> Result<View, Problem> {
    let view = show(page)?;
    Ok(match status {
        Some(status) => view.of_status(status),
        None => view,
    })
}

/// The layout of a form, with a notice if there are faults.
pub(super) fn layout(visit: &Visit, title: &str, faults: &Faults) -> Layout {
    let layout = visit.layout(title);
    let message = match faults.change {
        Change::UnknownOnce => {
            "It is not known whether this was done. Send the form again: it is done once at most."
        }
        Change::Unknown => {
            "It is not known whether this was done. Find out before you send the form again: it might be done twice."
        }
        Change::Postponed => {
            "Nothing was changed: the extension has too much to do. Send the form again in a few seconds."
        }
        Change::Refused if faults.is_empty() => return layout,
        Change::Refused => "Nothing was changed. See below.",
    };
    layout.with_notice(Notice::bad(message))
}

/// The key of a form: that of the form that was sent, as long as it may still be used, or a new one.
pub(super) fn form_key(visit: &Visit, faults: &Faults) -> Result<String, Problem> {
    match visit.form.given(KEY) {
        Some(key) if !faults.has_code("idempotency_key_reused") => Ok(key.to_owned()),
        _ => secret::random_text().map_err(|error| {
            tracing::error!(%error, "no key of a form could be made");
            Problem::Failed
        }),
    }
}
